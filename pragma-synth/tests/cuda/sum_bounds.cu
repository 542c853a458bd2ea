// grid(i, j, threads = 32, vector = 1, unroll = 1)
// sum_bounds_i_j: grid ((((a + b) + 2) * ((a + b) + 4)).div_ceil(32), 1, 1), block (32, 1, 1), shared 0
// requires AtMost { size: Mul(Add(Add(Dim(0, "a"), Dim(1, "b")), Const(2)), Add(Add(Dim(0, "a"), Dim(1, "b")), Const(4))), limit: 4294967295 }
// requires AtMost { size: DivCeil(Mul(Add(Add(Dim(0, "a"), Dim(1, "b")), Const(2)), Add(Add(Dim(0, "a"), Dim(1, "b")), Const(4))), Const(32)), limit: 2147483647 }
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

// One thread per iteration of `i`, `j`.
extern "C" __global__ void __launch_bounds__(32) sum_bounds_i_j(
    usize a,
    usize b,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const usize thread = (usize)blockIdx.x * 32 + threadIdx.x;
    if (thread >= (a + b + 2ull) * (a + b + 4ull)) return;
    u32 left = (u32)thread;
    const usize j = left % (u32)((a + b + 4ull));
    left /= (u32)((a + b + 4ull));
    const usize i = left;
    out[i * (a + b + 4ull) + j] = x[i * (a + b + 4ull) + j] * 2.0f;
}

// grid(i, j, threads = 32, vector = 4, unroll = 1)
// sum_bounds_i_j: grid ((((a + b) + 2) * ((a + b) + 4)).div_ceil(128), 1, 1), block (32, 1, 1), shared 0
// requires Multiple { size: Dim(0, "a"), of: 4 }
// requires Multiple { size: Dim(1, "b"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
// requires AtMost { size: Mul(Add(Add(Dim(0, "a"), Dim(1, "b")), Const(2)), Add(Add(Dim(0, "a"), Dim(1, "b")), Const(4))), limit: 17179869180 }
// requires AtMost { size: DivCeil(Mul(Add(Add(Dim(0, "a"), Dim(1, "b")), Const(2)), Add(Add(Dim(0, "a"), Dim(1, "b")), Const(4))), Const(128)), limit: 2147483647 }
// requires Multiple { size: Add(Add(Dim(0, "a"), Dim(1, "b")), Const(4)), of: 4 }
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

// One thread per 4 iterations of `i`, `j`.
extern "C" __global__ void __launch_bounds__(32) sum_bounds_i_j(
    usize a,
    usize b,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const usize thread = (usize)blockIdx.x * 32 + threadIdx.x;
    if (thread >= (a + b + 2ull) * (a + b + 4ull) / 4) return;
    u32 left = (u32)thread;
    const usize j_first = left % (u32)((a + b + 4ull) / 4) * 4;
    left /= (u32)((a + b + 4ull) / 4);
    const usize i = left;
    Pack<f32, 4> x_pack = load_pack<4>(x + (4 * i + b * i + a * i + j_first));
    Pack<f32, 4> out_pack;
    #pragma unroll
    for (int lane = 0; lane < 4; lane++) {
        const usize j = j_first + lane;
        out_pack.at[lane] = x_pack.at[lane] * 2.0f;
    }
    store_pack<4>(out + (4 * i + b * i + a * i + j_first), out_pack);
}

// team(i, j, threads = 32, vector = 1, items = 0)
// sum_bounds_i_j: grid ((((a + b) + 2) * ((a + b) + 4)).div_ceil(4), 1, 1), block (128, 1, 1), shared 0
// requires AtMost { size: DivCeil(Mul(Add(Add(Dim(0, "a"), Dim(1, "b")), Const(2)), Add(Add(Dim(0, "a"), Dim(1, "b")), Const(4))), Const(4)), limit: 2147483647 }
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

// One warp per iteration of `i`, `j`.
extern "C" __global__ void __launch_bounds__(128) sum_bounds_i_j(
    usize a,
    usize b,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const u32 rank = threadIdx.x % 32;
    const usize row = (usize)blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= (a + b + 2ull) * (a + b + 4ull)) return;
    u32 left = (u32)row;
    const usize j = left % (u32)(a + b + 4ull);
    left /= (u32)(a + b + 4ull);
    const usize i = left;
    if (rank == 0) {
        out[i * (a + b + 4ull) + j] = x[i * (a + b + 4ull) + j] * 2.0f;
    }
}

// team(i, threads = 64, vector = 1, items = 0)
// sum_bounds_i: grid ((a + b) + 2, 1, 1), block (64, 1, 1), shared 0
// requires AtMost { size: Add(Add(Dim(0, "a"), Dim(1, "b")), Const(2)), limit: 2147483647 }
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

// One block per iteration of `i`.
extern "C" __global__ void __launch_bounds__(64) sum_bounds_i(
    usize a,
    usize b,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    const u32 rank = threadIdx.x;
    const usize row = blockIdx.x;
    const usize i = row;
    for (usize j = rank; j < (a + b + 4ull); j += 64) {
        out[i * (a + b + 4ull) + j] = x[i * (a + b + 4ull) + j] * 2.0f;
    }
}

