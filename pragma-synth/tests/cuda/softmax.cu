// team(r, threads = 32, vector = 4, items = 1)
// softmax_r: grid (rows.div_ceil(4), 1, 1), block (128, 1, 1), shared 0
// requires Multiple { size: Dim(1, "d"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
// requires AtMost { size: Dim(1, "d"), limit: 128 }
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
extern "C" __global__ void __launch_bounds__(128) softmax_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const u32 rank = threadIdx.x % 32;
    const usize row = (usize)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    const usize r = row;
    f32 top = -infinity_f32();
    Pack<f32, 4> x_row[1];
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 32 + rank) * 4;
        if (j_first < d) {
            x_row[item] = load_pack<4>(x + (d * r + j_first));
        }
    }
    f32 top_part = top;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 32 + rank) * 4;
        if (j_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize j = j_first + lane;
                top_part = fmaxf(top_part, x_row[item].at[lane]);
            }
        }
    }
    const f32 top_total =
        across_team<32>(top_part, (f32*)nullptr, [](f32 a, f32 b) { return fmaxf(a, b); });
    top = top_total;
    f32 sum = 0.0f;
    Pack<f32, 4> out_row[1];
    f32 sum_part = -0.0f;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize i_first = (item * 32 + rank) * 4;
        if (i_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_first + lane;
                const f32 e = expf(x_row[item].at[lane] - top);
                out_row[item].at[lane] = e;
                sum_part = sum_part + e;
            }
        }
    }
    const f32 sum_total =
        across_team<32>(sum_part, (f32*)nullptr, [](f32 a, f32 b) { return a + b; });
    sum = sum + sum_total;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize k_first = (item * 32 + rank) * 4;
        if (k_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize k = k_first + lane;
                out_row[item].at[lane] = out_row[item].at[lane] / sum;
            }
            store_pack<4>(out + (d * r + k_first), out_row[item]);
        }
    }
}

// team(r, threads = 64, vector = 1, items = 1)
// softmax_r: grid (rows, 1, 1), block (64, 1, 1), shared 0
// requires AtMost { size: Dim(1, "d"), limit: 64 }
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
extern "C" __global__ void __launch_bounds__(64) softmax_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const u32 rank = threadIdx.x;
    const usize row = blockIdx.x;
    const usize r = row;
    f32 top = -infinity_f32();
    Pack<f32, 1> x_row[1];
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 64 + rank) * 1;
        if (j_first < d) {
            x_row[item] = load_pack<1>(x + (d * r + j_first));
        }
    }
    f32 top_part = top;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize j_first = (item * 64 + rank) * 1;
        if (j_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 1; lane++) {
                const usize j = j_first + lane;
                top_part = fmaxf(top_part, x_row[item].at[lane]);
            }
        }
    }
    __shared__ f32 top_slots[2];
    const f32 top_total =
        across_team<64>(top_part, top_slots, [](f32 a, f32 b) { return fmaxf(a, b); });
    top = top_total;
    f32 sum = 0.0f;
    Pack<f32, 1> out_row[1];
    f32 sum_part = -0.0f;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize i_first = (item * 64 + rank) * 1;
        if (i_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 1; lane++) {
                const usize i = i_first + lane;
                const f32 e = expf(x_row[item].at[lane] - top);
                out_row[item].at[lane] = e;
                sum_part = sum_part + e;
            }
        }
    }
    __shared__ f32 sum_slots[2];
    const f32 sum_total =
        across_team<64>(sum_part, sum_slots, [](f32 a, f32 b) { return a + b; });
    sum = sum + sum_total;
    #pragma unroll
    for (int item = 0; item < 1; item++) {
        const usize k_first = (item * 64 + rank) * 1;
        if (k_first < d) {
            #pragma unroll
            for (int lane = 0; lane < 1; lane++) {
                const usize k = k_first + lane;
                out_row[item].at[lane] = out_row[item].at[lane] / sum;
            }
            store_pack<1>(out + (d * r + k_first), out_row[item]);
        }
    }
}

// team(r, threads = 64, vector = 4, items = 0)
// softmax_r: grid (rows, 1, 1), block (64, 1, 1), shared 0
// requires Multiple { size: Dim(1, "d"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
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
extern "C" __global__ void __launch_bounds__(64) softmax_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const u32 rank = threadIdx.x;
    const usize row = blockIdx.x;
    const usize r = row;
    f32 top = -infinity_f32();
    f32 top_part = top;
    #pragma unroll 4
    for (usize j_first = rank * 4; j_first < d; j_first += 256) {
        Pack<f32, 4> x_pack = load_pack<4>(x + (d * r + j_first));
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            const usize j = j_first + lane;
            top_part = fmaxf(top_part, x_pack.at[lane]);
        }
    }
    __shared__ f32 top_slots[2];
    const f32 top_total =
        across_team<64>(top_part, top_slots, [](f32 a, f32 b) { return fmaxf(a, b); });
    top = top_total;
    f32 sum = 0.0f;
    f32 sum_part = -0.0f;
    #pragma unroll 4
    for (usize i_first = rank * 4; i_first < d; i_first += 256) {
        Pack<f32, 4> x_pack = load_pack<4>(x + (d * r + i_first));
        Pack<f32, 4> out_pack;
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            const usize i = i_first + lane;
            const f32 e = expf(x_pack.at[lane] - top);
            out_pack.at[lane] = e;
            sum_part = sum_part + e;
        }
        store_pack<4>(out + (d * r + i_first), out_pack);
    }
    __shared__ f32 sum_slots[2];
    const f32 sum_total =
        across_team<64>(sum_part, sum_slots, [](f32 a, f32 b) { return a + b; });
    sum = sum + sum_total;
    #pragma unroll 4
    for (usize k_first = rank * 4; k_first < d; k_first += 256) {
        Pack<f32, 4> out_pack = load_pack<4>(out + (d * r + k_first));
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            const usize k = k_first + lane;
            out_pack.at[lane] = out_pack.at[lane] / sum;
        }
        store_pack<4>(out + (d * r + k_first), out_pack);
    }
}

// team(r, threads = 32, vector = 1, items = 0)
// softmax_r: grid (rows.div_ceil(4), 1, 1), block (128, 1, 1), shared 0
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
extern "C" __global__ void __launch_bounds__(128) softmax_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const u32 rank = threadIdx.x % 32;
    const usize row = (usize)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows) return;
    const usize r = row;
    f32 top = -infinity_f32();
    f32 top_part = top;
    for (usize j = rank; j < d; j += 32) {
        top_part = fmaxf(top_part, x[r * d + j]);
    }
    const f32 top_total =
        across_team<32>(top_part, (f32*)nullptr, [](f32 a, f32 b) { return fmaxf(a, b); });
    top = top_total;
    f32 sum = 0.0f;
    f32 sum_part = -0.0f;
    for (usize i = rank; i < d; i += 32) {
        const f32 e = expf(x[r * d + i] - top);
        out[r * d + i] = e;
        sum_part = sum_part + e;
    }
    const f32 sum_total =
        across_team<32>(sum_part, (f32*)nullptr, [](f32 a, f32 b) { return a + b; });
    sum = sum + sum_total;
    __syncwarp();
    for (usize k = rank; k < d; k += 32) {
        out[r * d + k] = out[r * d + k] / sum;
    }
}

