// reduce(i, threads = 64, vector = 4, unroll = 2, blocks = 3)
// dot_i: grid (n.div_ceil(512).min(3), 1, 1), block (64, 1, 1), shared 0
// dot_i_total: grid (1, 1, 1), block (256, 1, 1), shared 0
// scratch s_partials: n.div_ceil(512).min(3) * 8 bytes
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
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
extern "C" __global__ void __launch_bounds__(64) dot_i(
    usize n,
    const f32* __restrict__ x,
    const f32* __restrict__ y,
    u64* s_partials) {
    f32 s_part = -0.0f;
    for (usize i_block = (usize)blockIdx.x * 512; i_block < n; i_block += (usize)gridDim.x * 512) {
        const usize i_first = i_block + threadIdx.x * 4;
        Pack<f32, 4> x_packs[2];
        Pack<f32, 4> y_packs[2];
        #pragma unroll
        for (int group = 0; group < 2; group++) {
            const usize i_at = i_first + group * 256;
            if (i_at + 4 <= n) {
                x_packs[group] = load_pack<4>(x + i_at);
                y_packs[group] = load_pack<4>(y + i_at);
            }
        }
        #pragma unroll
        for (int group = 0; group < 2; group++) {
            const usize i_at = i_first + group * 256;
            if (i_at + 4 <= n) {
                #pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    const usize i = i_at + lane;
                    s_part = s_part + x_packs[group].at[lane] * y_packs[group].at[lane];
                }
            } else {
                for (usize i = i_at; i < n; i++) {
                    s_part = s_part + x[i] * y[i];
                }
            }
        }
    }
    __shared__ f32 s_slots[2];
    const f32 s_total =
        across_team<64>(s_part, s_slots, [](f32 a, f32 b) { return a + b; });
    if (threadIdx.x == 0) reinterpret_cast<f32*>(s_partials)[blockIdx.x] = s_total;
}

// Combines what the blocks of `i` found.
extern "C" __global__ void __launch_bounds__(256) dot_i_total(
    usize n,
    u64* s_partials,
    u64* results) {
    f32 s = 0.0f;
    usize count = (n + 511) / 512;
    if (count > 3) count = 3;
    const auto s_combine = [](f32 a, f32 b) { return a + b; };
    f32 s_part = -0.0f;
    for (usize at = threadIdx.x; at < count; at += 256) {
        s_part = s_combine(s_part, reinterpret_cast<f32*>(s_partials)[at]);
    }
    __shared__ f32 s_slots[8];
    const f32 s_total =
        across_team<256>(s_part, s_slots, s_combine);
    s = s + s_total;
    if (threadIdx.x != 0) return;
    *reinterpret_cast<f32*>(results + 0) = s;
    return;
}

// reduce(i, threads = 32, vector = 1, unroll = 1, blocks = 8)
// dot_i: grid (n.div_ceil(32).min(8), 1, 1), block (32, 1, 1), shared 0
// dot_i_total: grid (1, 1, 1), block (256, 1, 1), shared 0
// scratch s_partials: n.div_ceil(32).min(8) * 8 bytes
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
extern "C" __global__ void __launch_bounds__(32) dot_i(
    usize n,
    const f32* __restrict__ x,
    const f32* __restrict__ y,
    u64* s_partials) {
    f32 s_part = -0.0f;
    for (usize i_block = (usize)blockIdx.x * 32; i_block < n; i_block += (usize)gridDim.x * 32) {
        const usize i = i_block + threadIdx.x;
        if (i < n) {
            s_part = s_part + x[i] * y[i];
        }
    }
    const f32 s_total =
        across_team<32>(s_part, (f32*)nullptr, [](f32 a, f32 b) { return a + b; });
    if (threadIdx.x == 0) reinterpret_cast<f32*>(s_partials)[blockIdx.x] = s_total;
}

// Combines what the blocks of `i` found.
extern "C" __global__ void __launch_bounds__(256) dot_i_total(
    usize n,
    u64* s_partials,
    u64* results) {
    f32 s = 0.0f;
    usize count = (n + 31) / 32;
    if (count > 8) count = 8;
    const auto s_combine = [](f32 a, f32 b) { return a + b; };
    f32 s_part = -0.0f;
    for (usize at = threadIdx.x; at < count; at += 256) {
        s_part = s_combine(s_part, reinterpret_cast<f32*>(s_partials)[at]);
    }
    __shared__ f32 s_slots[8];
    const f32 s_total =
        across_team<256>(s_part, s_slots, s_combine);
    s = s + s_total;
    if (threadIdx.x != 0) return;
    *reinterpret_cast<f32*>(results + 0) = s;
    return;
}

