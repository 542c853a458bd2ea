// grid(r, j, threads = 32, vector = 4, unroll = 1)
// scale_rows_r_j: grid ((rows * d).div_ceil(128), 1, 1), block (32, 1, 1), shared 0
// requires Multiple { size: Dim(1, "d"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(2), bytes: 16 }
// requires Aligned { buf: BufId(3), bytes: 16 }
// requires AtMost { size: Mul(Dim(0, "rows"), Dim(1, "d")), limit: 17179869180 }
// requires AtMost { size: DivCeil(Mul(Dim(0, "rows"), Dim(1, "d")), Const(128)), limit: 2147483647 }
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

// One thread per 4 iterations of `r`, `j`.
extern "C" __global__ void __launch_bounds__(32) scale_rows_r_j(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    const f32* __restrict__ s,
    const f32* __restrict__ w,
    f32* __restrict__ out) {
    const usize thread = (usize)blockIdx.x * 32 + threadIdx.x;
    if (thread >= rows * d / 4) return;
    u32 left = (u32)thread;
    const usize j_first = left % (u32)(d / 4) * 4;
    left /= (u32)(d / 4);
    const usize r = left;
    const f32 f = s[r] * 2.0f;
    Pack<f32, 4> x_pack = load_pack<4>(x + (d * r + j_first));
    Pack<f32, 4> w_pack = load_pack<4>(w + j_first);
    Pack<f32, 4> out_pack;
    #pragma unroll
    for (int lane = 0; lane < 4; lane++) {
        const usize j = j_first + lane;
        out_pack.at[lane] = x_pack.at[lane] * f + w_pack.at[lane];
    }
    store_pack<4>(out + (d * r + j_first), out_pack);
}

// grid(r, j, threads = 32, vector = 1, unroll = 1)
// scale_rows_r_j: grid ((rows * d).div_ceil(32), 1, 1), block (32, 1, 1), shared 0
// requires AtMost { size: Mul(Dim(0, "rows"), Dim(1, "d")), limit: 4294967295 }
// requires AtMost { size: DivCeil(Mul(Dim(0, "rows"), Dim(1, "d")), Const(32)), limit: 2147483647 }
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

// One thread per iteration of `r`, `j`.
extern "C" __global__ void __launch_bounds__(32) scale_rows_r_j(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    const f32* __restrict__ s,
    const f32* __restrict__ w,
    f32* __restrict__ out) {
    const usize thread = (usize)blockIdx.x * 32 + threadIdx.x;
    if (thread >= rows * d) return;
    u32 left = (u32)thread;
    const usize j = left % (u32)(d);
    left /= (u32)(d);
    const usize r = left;
    const f32 f = s[r] * 2.0f;
    out[r * d + j] = x[r * d + j] * f + w[j];
}

// grid(r, threads = 32, vector = 1, unroll = 1)
// scale_rows_r: grid (rows.div_ceil(32), 1, 1), block (32, 1, 1), shared 0
// requires AtMost { size: DivCeil(Dim(0, "rows"), Const(32)), limit: 2147483647 }
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

// One thread per iteration of `r`.
extern "C" __global__ void __launch_bounds__(32) scale_rows_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    const f32* __restrict__ s,
    const f32* __restrict__ w,
    f32* __restrict__ out) {
    const usize r = (usize)blockIdx.x * 32 + threadIdx.x;
    if (r < rows) {
        const f32 f = s[r] * 2.0f;
        for (usize j = 0; j < d; j++) {
            out[r * d + j] = x[r * d + j] * f + w[j];
        }
    }
}

