// reduce(i, threads = 64, vector = 4, unroll = 2, blocks = 2)
// extremes_i: grid (n.div_ceil(512).min(2), 1, 1), block (64, 1, 1), shared 0
// extremes_i_total: grid (1, 1, 1), block (256, 1, 1), shared 0
// scratch low_partials: n.div_ceil(512).min(2) * 8 bytes
// scratch high_partials: n.div_ceil(512).min(2) * 24 bytes
// requires Aligned { buf: BufId(0), bytes: 16 }
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using usize = unsigned long long;
using isize = long long;
using f32 = float;
using f64 = double;

template <class T>
__device__ __forceinline__ T max_of(T a, T b) { return b > a ? b : a; }
template <class T>
__device__ __forceinline__ T min_of(T a, T b) { return b < a ? b : a; }

// Neighbouring elements that are read or written at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
    T at[N];
};
// Bytes that move as one access.
template <int BYTES>
struct Word;
template <>
struct Word<1> {
    using Type = u8;
};
template <>
struct Word<2> {
    using Type = u16;
};
template <>
struct Word<4> {
    using Type = u32;
};
template <>
struct Word<8> {
    using Type = uint2;
};
template <>
struct Word<16> {
    using Type = uint4;
};

template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from) {
    union {
        typename Word<sizeof(T) * N>::Type word;
        Pack<T, N> pack;
    } value;
    value.word = *reinterpret_cast<const decltype(value.word)*>(from);
    return value.pack;
}

// A value as words, since lanes exchange words.
template <class T>
union Words {
    static constexpr int COUNT = (sizeof(T) + 3) / 4;
    T value;
    u32 word[COUNT];
    __device__ __forceinline__ Words() {}
};
// The value of the lane whose number differs in the bits of `mask`.
template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
    Words<T> words;
    words.value = value;
#pragma unroll
    for (int i = 0; i < Words<T>::COUNT; i++) words.word[i] = __shfl_xor_sync(0xffffffffu, words.word[i], mask);
    return words.value;
}
// The value of a lane.
template <class T>
__device__ __forceinline__ T shuffle(T value, int lane) {
    Words<T> words;
    words.value = value;
#pragma unroll
    for (int i = 0; i < Words<T>::COUNT; i++) words.word[i] = __shfl_sync(0xffffffffu, words.word[i], lane);
    return words.value;
}
// The value of the lane `by` below; the lowest lanes get their own.
template <class T>
__device__ __forceinline__ T shuffle_up(T value, int by) {
    Words<T> words;
    words.value = value;
#pragma unroll
    for (int i = 0; i < Words<T>::COUNT; i++) words.word[i] = __shfl_up_sync(0xffffffffu, words.word[i], by);
    return words.value;
}

// Combines the values of a warp, or of a block of whole warps, in a fixed order; every thread
// gets the result.
template <int THREADS, class T, class Combine>
__device__ __forceinline__ T across_team(T value, T* slots, Combine combine) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) value = combine(value, shuffle_xor(value, mask));
    if constexpr (THREADS > 32) {
        if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
        __syncthreads();
        value = slots[0];
#pragma unroll
        for (int warp = 1; warp < THREADS / 32; warp++) value = combine(value, slots[warp]);
    } else {
        value = shuffle(value, 0);
    }
    return value;
}

// Partial results of blocks of `i`.
extern "C" __global__ void __launch_bounds__(64) extremes_i(
    usize n,
    const i32* __restrict__ x,
    u64* low_partials,
    u64* high_partials) {
    i32 low = x[0ull];
    i32 high = x[0ull];
    u64 at_v = 0ull;
    i32 low_part = low;
    i32 high_part = high;
    u64 at_v_part = at_v;
    usize high_from = 0;
    for (usize i_block = (usize)blockIdx.x * 512; i_block < n; i_block += (usize)gridDim.x * 512) {
        const usize i_first = i_block + threadIdx.x * 4;
        Pack<i32, 4> x_packs[2];
        #pragma unroll
        for (int group = 0; group < 2; group++) {
            const usize i_at = i_first + group * 256;
            if (i_at + 4 <= n) {
                x_packs[group] = load_pack<4>(x + i_at);
            }
        }
        #pragma unroll
        for (int group = 0; group < 2; group++) {
            const usize i_at = i_first + group * 256;
            if (i_at + 4 <= n) {
                #pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    const usize i = i_at + lane;
                    low_part = min_of<i32>(low_part, x_packs[group].at[lane]);
                    if (x_packs[group].at[lane] > high_part) {
                        high_part = x_packs[group].at[lane];
                        high_from = i + 1;
                        at_v_part = (u64)i;
                    }
                }
            } else {
                for (usize i = i_at; i < n; i++) {
                    low_part = min_of<i32>(low_part, x[i]);
                    if (x[i] > high_part) {
                        high_part = x[i];
                        high_from = i + 1;
                        at_v_part = (u64)i;
                    }
                }
            }
        }
    }
    __shared__ i32 low_slots[2];
    const i32 low_total =
        across_team<64>(low_part, low_slots, [](i32 a, i32 b) { return b < a ? b : a; });
    if (threadIdx.x == 0) reinterpret_cast<i32*>(low_partials)[blockIdx.x] = low_total;
    struct high_candidate { i32 high; u64 at_v; usize from; };
    __shared__ high_candidate high_slots[2];
    const high_candidate high_total =
        across_team<64>(high_candidate{high_part, at_v_part, high_from}, high_slots, [](const high_candidate& a, const high_candidate& b) { return b.high > a.high || (b.high == a.high && b.from < a.from) ? b : a; });
    if (threadIdx.x == 0) reinterpret_cast<high_candidate*>(high_partials)[blockIdx.x] = high_total;
}

// Combines what the blocks of `i` found.
extern "C" __global__ void __launch_bounds__(256) extremes_i_total(
    usize n,
    const i32* __restrict__ x,
    u64* low_partials,
    u64* high_partials,
    u64* results) {
    i32 low = x[0ull];
    i32 high = x[0ull];
    u64 at_v = 0ull;
    usize count = (n + 511) / 512;
    if (count > 2) count = 2;
    const auto low_combine = [](i32 a, i32 b) { return b < a ? b : a; };
    i32 low_part = low;
    for (usize at = threadIdx.x; at < count; at += 256) {
        low_part = low_combine(low_part, reinterpret_cast<i32*>(low_partials)[at]);
    }
    __shared__ i32 low_slots[8];
    const i32 low_total =
        across_team<256>(low_part, low_slots, low_combine);
    low = low_total;
    struct high_candidate { i32 high; u64 at_v; usize from; };
    const auto high_combine = [](const high_candidate& a, const high_candidate& b) { return b.high > a.high || (b.high == a.high && b.from < a.from) ? b : a; };
    high_candidate high_part = high_candidate{high, at_v, 0};
    for (usize at = threadIdx.x; at < count; at += 256) {
        high_part = high_combine(high_part, reinterpret_cast<high_candidate*>(high_partials)[at]);
    }
    __shared__ high_candidate high_slots[8];
    const high_candidate high_total =
        across_team<256>(high_part, high_slots, high_combine);
    high = high_total.high;
    at_v = high_total.at_v;
    if (threadIdx.x != 0) return;
    *reinterpret_cast<i32*>(results + 0) = low;
    *reinterpret_cast<i32*>(results + 1) = high;
    *reinterpret_cast<u64*>(results + 2) = at_v;
    return;
}

