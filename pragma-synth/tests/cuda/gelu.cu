// grid(i, threads = 32, vector = 1, unroll = 1)
// gelu_i: grid (n.div_ceil(32), 1, 1), block (32, 1, 1), shared 0
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

// One thread per iteration of `i`.
extern "C" __global__ void __launch_bounds__(32) gelu_i(
    usize n,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const usize i = (usize)blockIdx.x * 32 + threadIdx.x;
    if (i < n) {
        const f32 v = x[i];
        out[i] = 0.5f * v * (1.0f + tanhf(0.7978846f * (v + 0.044715f * v * v * v)));
    }
}

// grid(i, threads = 32, vector = 4, unroll = 1)
// gelu_i: grid (n.div_ceil(128), 1, 1), block (32, 1, 1), shared 0
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
// requires AtMost { size: DivCeil(Dim(0, "n"), Const(128)), limit: 2147483647 }
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

// One thread per 4 iterations of `i`.
extern "C" __global__ void __launch_bounds__(32) gelu_i(
    usize n,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const usize i_first = (usize)blockIdx.x * 128 + threadIdx.x * 4;
    if (i_first + 4 <= n) {
        Pack<f32, 4> x_pack = load_pack<4>(x + i_first);
        Pack<f32, 4> out_pack;
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) {
            const usize i = i_first + lane;
            const f32 v = x_pack.at[lane];
            out_pack.at[lane] = 0.5f * v * (1.0f + tanhf(0.7978846f * (v + 0.044715f * v * v * v)));
        }
        store_pack<4>(out + i_first, out_pack);
    } else {
        for (usize i = i_first; i < n; i++) {
            const f32 v = x[i];
            out[i] = 0.5f * v * (1.0f + tanhf(0.7978846f * (v + 0.044715f * v * v * v)));
        }
    }
}

// grid(i, threads = 32, vector = 4, unroll = 2)
// gelu_i: grid (n.div_ceil(256), 1, 1), block (32, 1, 1), shared 0
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
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

// One thread per 4 iterations of `i`.
extern "C" __global__ void __launch_bounds__(32) gelu_i(
    usize n,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const usize i_first = (usize)blockIdx.x * 256 + threadIdx.x * 4;
    Pack<f32, 4> x_packs[2];
    #pragma unroll
    for (int group = 0; group < 2; group++) {
        const usize i_at = i_first + group * 128;
        if (i_at + 4 <= n) {
            x_packs[group] = load_pack<4>(x + i_at);
        }
    }
    #pragma unroll
    for (int group = 0; group < 2; group++) {
        const usize i_at = i_first + group * 128;
        if (i_at + 4 <= n) {
            Pack<f32, 4> out_pack;
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_at + lane;
                const f32 v = x_packs[group].at[lane];
                out_pack.at[lane] = 0.5f * v * (1.0f + tanhf(0.7978846f * (v + 0.044715f * v * v * v)));
            }
            store_pack<4>(out + i_at, out_pack);
        } else {
            for (usize i = i_at; i < n; i++) {
                const f32 v = x[i];
                out[i] = 0.5f * v * (1.0f + tanhf(0.7978846f * (v + 0.044715f * v * v * v)));
            }
        }
    }
}

// 
// gelu_rest: grid (1, 1, 1), block (1, 1, 1), shared 0
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
extern "C" __global__ void __launch_bounds__(1) gelu_rest(
    usize n,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    for (usize i = 0; i < n; i++) {
        const f32 v = x[i];
        out[i] = 0.5f * v * (1.0f + tanhf(0.7978846f * (v + 0.044715f * v * v * v)));
    }
}

