// reduce(i, threads = 64, vector = 4, unroll = 1, blocks = 2); grid(j, threads = 64, vector = 4, unroll = 1)
// normalise_i: grid (n.div_ceil(256).min(2), 1, 1), block (64, 1, 1), shared 0
// normalise_i_total: grid (1, 1, 1), block (256, 1, 1), shared 0
// normalise_j: grid (n.div_ceil(256), 1, 1), block (64, 1, 1), shared 0
// normalise_rest: grid (1, 1, 1), block (1, 1, 1), shared 0
// scratch s_partials: n.div_ceil(256).min(2) * 8 bytes
// scratch carry: 8 bytes
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires AtMost { size: DivCeil(Dim(0, "n"), Const(256)), limit: 2147483647 }
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

// Partial results of blocks of `i`.
extern "C" __global__ void __launch_bounds__(64) normalise_i(
    usize n,
    f32* __restrict__ x,
    u64* s_partials) {
    f32 s_part = -0.0f;
    for (usize i_block = (usize)blockIdx.x * 256; i_block < n; i_block += (usize)gridDim.x * 256) {
        const usize i_first = i_block + threadIdx.x * 4;
        if (i_first + 4 <= n) {
            Pack<f32, 4> x_pack = load_pack<4>(x + i_first);
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_first + lane;
                s_part = s_part + x_pack.at[lane] * x_pack.at[lane];
            }
        } else {
            for (usize i = i_first; i < n; i++) {
                s_part = s_part + x[i] * x[i];
            }
        }
    }
    __shared__ f32 s_slots[2];
    const f32 s_total =
        across_team<64>(s_part, s_slots, [](f32 a, f32 b) { return a + b; });
    if (threadIdx.x == 0) reinterpret_cast<f32*>(s_partials)[blockIdx.x] = s_total;
}

// Combines what the blocks of `i` found.
extern "C" __global__ void __launch_bounds__(256) normalise_i_total(
    usize n,
    u64* s_partials,
    u64* carry) {
    f32 s = 0.0f;
    usize count = (n + 255) / 256;
    if (count > 2) count = 2;
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
    *reinterpret_cast<f32*>(carry + 0) = s;
}

// One thread per 4 iterations of `j`.
extern "C" __global__ void __launch_bounds__(64) normalise_j(
    usize n,
    f32* __restrict__ x,
    u64* carry) {
    f32 s = 0.0f;
    s = *reinterpret_cast<f32*>(carry + 0);
    const f32 norm = sqrtf(s);
    const usize j_first = (usize)blockIdx.x * 256 + threadIdx.x * 4;
    if (j_first + 4 <= n) {
        Pack<f32, 4> x_pack = load_pack<4>(x + j_first);
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            const usize j = j_first + lane;
            x_pack.at[lane] = x_pack.at[lane] / norm;
        }
        store_pack<4>(x + j_first, x_pack);
    } else {
        for (usize j = j_first; j < n; j++) {
            x[j] = x[j] / norm;
        }
    }
}

// Writes the results.
extern "C" __global__ void __launch_bounds__(1) normalise_rest(u64* carry, u64* results) {
    f32 s = 0.0f;
    s = *reinterpret_cast<f32*>(carry + 0);
    const f32 norm = sqrtf(s);
    *reinterpret_cast<f32*>(results + 0) = norm;
    return;
}

// grid(j, threads = 32, vector = 1, unroll = 1)
// normalise_rest: grid (1, 1, 1), block (1, 1, 1), shared 0
// normalise_j: grid (n.div_ceil(32), 1, 1), block (32, 1, 1), shared 0
// normalise_rest_2: grid (1, 1, 1), block (1, 1, 1), shared 0
// scratch carry: 8 bytes
// requires AtMost { size: DivCeil(Dim(0, "n"), Const(32)), limit: 2147483647 }
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

// One thread: what no action shares out.
extern "C" __global__ void __launch_bounds__(1) normalise_rest(
    usize n,
    f32* __restrict__ x,
    u64* carry) {
    f32 s = 0.0f;
    for (usize i = 0; i < n; i++) {
        s = s + x[i] * x[i];
    }
    *reinterpret_cast<f32*>(carry + 0) = s;
}

// One thread per iteration of `j`.
extern "C" __global__ void __launch_bounds__(32) normalise_j(
    usize n,
    f32* __restrict__ x,
    u64* carry) {
    f32 s = 0.0f;
    s = *reinterpret_cast<f32*>(carry + 0);
    const f32 norm = sqrtf(s);
    const usize j = (usize)blockIdx.x * 32 + threadIdx.x;
    if (j < n) {
        x[j] = x[j] / norm;
    }
}

// Writes the results.
extern "C" __global__ void __launch_bounds__(1) normalise_rest_2(u64* carry, u64* results) {
    f32 s = 0.0f;
    s = *reinterpret_cast<f32*>(carry + 0);
    const f32 norm = sqrtf(s);
    *reinterpret_cast<f32*>(results + 0) = norm;
    return;
}

