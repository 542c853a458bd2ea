// team(r, threads = 64, vector = 4, items = 1)
// argmax_r: grid (rows, 1, 1), block (64, 1, 1), shared 0
// requires Multiple { size: Dim(1, "d"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires AtMost { size: Dim(1, "d"), limit: 256 }
// requires AtMost { size: Dim(0, "rows"), limit: 2147483647 }
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

__device__ __forceinline__ f32 infinity_f32() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ f64 infinity_f64() { return __longlong_as_double(0x7ff0000000000000ll); }

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

// One block per iteration of `r`.
extern "C" __global__ void __launch_bounds__(64) argmax_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    u32* __restrict__ out) {
    const u32 rank = threadIdx.x;
    const usize row = blockIdx.x;
    const usize r = row;
    f32 best = -infinity_f32();
    u32 at_v = 0u;
    Pack<f32, 4> x_row[1];
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 64 + rank) * 4;
        if (j_first < d) {
            x_row[item] = load_pack<4>(x + (d * r + j_first));
        }
    }
    f32 best_part = best;
    u32 at_v_part = at_v;
    usize best_from = 0;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 64 + rank) * 4;
        if (j_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize j = j_first + lane;
                if (x_row[item].at[lane] > best_part) {
                    best_part = x_row[item].at[lane];
                    best_from = j + 1;
                    at_v_part = (u32)j;
                }
            }
        }
    }
    struct best_candidate { f32 best; u32 at_v; usize from; };
    __shared__ best_candidate best_slots[2];
    const best_candidate best_total =
        across_team<64>(best_candidate{best_part, at_v_part, best_from}, best_slots, [](const best_candidate& a, const best_candidate& b) { return b.best > a.best || (b.best == a.best && b.from < a.from) ? b : a; });
    best = best_total.best;
    at_v = best_total.at_v;
    if (rank == 0) {
        out[r] = at_v;
    }
}

// team(r, threads = 32, vector = 1, items = 0)
// argmax_r: grid (rows.div_ceil(4), 1, 1), block (128, 1, 1), shared 0
// requires AtMost { size: DivCeil(Dim(0, "rows"), Const(4)), limit: 2147483647 }
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

__device__ __forceinline__ f32 infinity_f32() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ f64 infinity_f64() { return __longlong_as_double(0x7ff0000000000000ll); }

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

// One warp per iteration of `r`.
extern "C" __global__ void __launch_bounds__(128) argmax_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    u32* __restrict__ out) {
    const u32 rank = threadIdx.x % 32;
    const usize row = (usize)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    const usize r = row;
    f32 best = -infinity_f32();
    u32 at_v = 0u;
    f32 best_part = best;
    u32 at_v_part = at_v;
    usize best_from = 0;
    for (usize j = rank; j < d; j += 32) {
        if (x[r * d + j] > best_part) {
            best_part = x[r * d + j];
            best_from = j + 1;
            at_v_part = (u32)j;
        }
    }
    struct best_candidate { f32 best; u32 at_v; usize from; };
    const best_candidate best_total =
        across_team<32>(best_candidate{best_part, at_v_part, best_from}, (best_candidate*)nullptr, [](const best_candidate& a, const best_candidate& b) { return b.best > a.best || (b.best == a.best && b.from < a.from) ? b : a; });
    best = best_total.best;
    at_v = best_total.at_v;
    if (rank == 0) {
        out[r] = at_v;
    }
}

