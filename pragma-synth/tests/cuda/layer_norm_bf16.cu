// team(r, threads = 64, vector = 4, items = 1)
// layer_norm_bf16_r: grid (rows, 1, 1), block (64, 1, 1), shared 0
// requires Multiple { size: Dim(1, "d"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 8 }
// requires Aligned { buf: BufId(1), bytes: 8 }
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

template <int N, class T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
    union {
        typename Word<sizeof(T) * N>::Type word;
        Pack<T, N> pack;
    } value;
    value.pack = pack;
    *reinterpret_cast<decltype(value.word)*>(to) = value.word;
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
extern "C" __global__ void __launch_bounds__(64) layer_norm_bf16_r(
    usize rows,
    usize d,
    const u16* __restrict__ x,
    u16* __restrict__ out) {
    const u32 rank = threadIdx.x;
    const usize row = blockIdx.x;
    const usize r = row;
    f32 mean = 0.0f;
    Pack<u16, 4> x_row[1];
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize i_first = (item * 64 + rank) * 4;
        if (i_first < d) {
            x_row[item] = load_pack<4>(x + (d * r + i_first));
        }
    }
    f32 mean_part = -0.0f;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize i_first = (item * 64 + rank) * 4;
        if (i_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_first + lane;
                mean_part = mean_part + __uint_as_float((u32)x_row[item].at[lane] << 16);
            }
        }
    }
    __shared__ f32 mean_slots[2];
    const f32 mean_total =
        across_team<64>(mean_part, mean_slots, [](f32 a, f32 b) { return a + b; });
    mean = mean + mean_total;
    mean = mean / (f32)d;
    f32 var = 0.0f;
    f32 var_part = -0.0f;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 64 + rank) * 4;
        if (j_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize j = j_first + lane;
                const f32 centred = __uint_as_float((u32)x_row[item].at[lane] << 16) - mean;
                var_part = var_part + centred * centred;
            }
        }
    }
    __shared__ f32 var_slots[2];
    const f32 var_total =
        across_team<64>(var_part, var_slots, [](f32 a, f32 b) { return a + b; });
    var = var + var_total;
    const f32 scale = 1.0f / sqrtf(var / (f32)d + 1e-5f);
    Pack<u16, 4> out_row[1];
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize k_first = (item * 64 + rank) * 4;
        if (k_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize k = k_first + lane;
                const u32 half_8 = __float_as_uint((__uint_as_float((u32)x_row[item].at[lane] << 16) - mean) * scale);
                const u32 half_9 = half_8 & 2147483647u;
                out_row[item].at[lane] = (u16)((half_9 > 2139095040u ? 32704u : half_9 + 32767u + (half_9 >> 16 & 1u) >> 16) | half_8 >> 16 & 32768u);
            }
            store_pack<4>(out + (d * r + k_first), out_row[item]);
        }
    }
}

// team(r, threads = 32, vector = 8, items = 1)
// layer_norm_bf16_r: grid (rows.div_ceil(4), 1, 1), block (128, 1, 1), shared 0
// requires Multiple { size: Dim(1, "d"), of: 8 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
// requires AtMost { size: Dim(1, "d"), limit: 256 }
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

template <int N, class T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
    union {
        typename Word<sizeof(T) * N>::Type word;
        Pack<T, N> pack;
    } value;
    value.pack = pack;
    *reinterpret_cast<decltype(value.word)*>(to) = value.word;
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

// One warp per iteration of `r`.
extern "C" __global__ void __launch_bounds__(128) layer_norm_bf16_r(
    usize rows,
    usize d,
    const u16* __restrict__ x,
    u16* __restrict__ out) {
    const u32 rank = threadIdx.x % 32;
    const usize row = (usize)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    const usize r = row;
    f32 mean = 0.0f;
    Pack<u16, 8> x_row[1];
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize i_first = (item * 32 + rank) * 8;
        if (i_first < d) {
            x_row[item] = load_pack<8>(x + (d * r + i_first));
        }
    }
    f32 mean_part = -0.0f;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize i_first = (item * 32 + rank) * 8;
        if (i_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 8; lane++) {
                const usize i = i_first + lane;
                mean_part = mean_part + __uint_as_float((u32)x_row[item].at[lane] << 16);
            }
        }
    }
    const f32 mean_total =
        across_team<32>(mean_part, (f32*)nullptr, [](f32 a, f32 b) { return a + b; });
    mean = mean + mean_total;
    mean = mean / (f32)d;
    f32 var = 0.0f;
    f32 var_part = -0.0f;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 32 + rank) * 8;
        if (j_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 8; lane++) {
                const usize j = j_first + lane;
                const f32 centred = __uint_as_float((u32)x_row[item].at[lane] << 16) - mean;
                var_part = var_part + centred * centred;
            }
        }
    }
    const f32 var_total =
        across_team<32>(var_part, (f32*)nullptr, [](f32 a, f32 b) { return a + b; });
    var = var + var_total;
    const f32 scale = 1.0f / sqrtf(var / (f32)d + 1e-5f);
    Pack<u16, 8> out_row[1];
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize k_first = (item * 32 + rank) * 8;
        if (k_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 8; lane++) {
                const usize k = k_first + lane;
                const u32 half_8 = __float_as_uint((__uint_as_float((u32)x_row[item].at[lane] << 16) - mean) * scale);
                const u32 half_9 = half_8 & 2147483647u;
                out_row[item].at[lane] = (u16)((half_9 > 2139095040u ? 32704u : half_9 + 32767u + (half_9 >> 16 & 1u) >> 16) | half_8 >> 16 & 32768u);
            }
            store_pack<8>(out + (d * r + k_first), out_row[item]);
        }
    }
}

