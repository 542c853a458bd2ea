// columns(j, r, lanes = 8, rows = 4, vector = 4, chunk = 3)
// column_mean_j_r: grid (d.div_ceil(32), rows.div_ceil(3), 1), block (8, 4, 1), shared 0
// column_mean_j_total: grid (d.div_ceil(32), 1, 1), block (32, 8, 1), shared 0
// scratch s_partials: (rows.div_ceil(3) * d) * 8 bytes
// requires Multiple { size: Dim(1, "d"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires AtMost { size: DivCeil(Dim(0, "rows"), Const(3)), limit: 65535 }
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

// Reduces blocks of rows of `r`, a thread for 4 columns.
extern "C" __global__ void __launch_bounds__(32) column_mean_j_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    const f32* __restrict__ shift,
    u64* s_partials) {
    const usize j_first = ((usize)blockIdx.x * 8 + threadIdx.x) * 4;
    const usize r_first = (usize)blockIdx.y * 3;
    const usize r_end = r_first + 3 < rows ? r_first + 3 : rows;
    f32 s_part[4];
    #pragma unroll
    for (int lane = 0; lane < 4; lane++) s_part[lane] = -0.0f;
    if (j_first < d) {
        #pragma unroll 8
        for (usize r = r_first + threadIdx.y; r < r_end; r += 4) {
            const Pack<f32, 4> x_pack = load_pack<4>(x + (d * r + j_first));
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize j = j_first + lane;
                const f32 by = shift[j];
                s_part[lane] = s_part[lane] + (x_pack.at[lane] - by);
            }
        }
    }
    __shared__ f32 s_slots[4][32];
    #pragma unroll
    for (int lane = 0; lane < 4; lane++) {
        s_slots[threadIdx.y][threadIdx.x * 4 + lane] = s_part[lane];
    }
    __syncthreads();
    for (u32 at = threadIdx.y * 8 + threadIdx.x; at < 32; at += 32) {
        const usize j = (usize)blockIdx.x * 32 + at;
        if (j >= d) break;
        f32 s_total = s_slots[0][at];
        #pragma unroll
        for (int row = 1; row < 4; row++) s_total = s_total + s_slots[row][at];
        reinterpret_cast<f32*>(s_partials)[blockIdx.y * d + j] = s_total;
    }
}

// Combines what the blocks found for every `j`.
extern "C" __global__ void __launch_bounds__(256) column_mean_j_total(
    usize rows,
    usize d,
    const f32* __restrict__ shift,
    f32* __restrict__ out,
    u64* s_partials) {
    const usize j = (usize)blockIdx.x * 32 + threadIdx.x;
    const usize count = (rows + 2) / 3;
    __shared__ f32 s_slots[8][32];
    if (j < d) {
        const f32 by = shift[j];
        f32 s = 0.0f;
        f32 s_part = -0.0f;
        for (usize at = threadIdx.y; at < count; at += 8) s_part = s_part + reinterpret_cast<f32*>(s_partials)[at * d + j];
        s_slots[threadIdx.y][threadIdx.x] = s_part;
    }
    __syncthreads();
    if (threadIdx.y != 0 || j >= d) return;
    const f32 by = shift[j];
    f32 s = 0.0f;
    f32 s_total = s_slots[0][threadIdx.x];
    #pragma unroll
    for (int row = 1; row < 8; row++) s_total = s_total + s_slots[row][threadIdx.x];
    s = s + s_total;
    out[j] = s / (f32)rows;
}

// columns(j, r, lanes = 32, rows = 2, vector = 1, chunk = 64)
// column_mean_j_r: grid (d.div_ceil(32), rows.div_ceil(64), 1), block (32, 2, 1), shared 0
// column_mean_j_total: grid (d.div_ceil(32), 1, 1), block (32, 8, 1), shared 0
// scratch s_partials: (rows.div_ceil(64) * d) * 8 bytes
// requires AtMost { size: DivCeil(Dim(0, "rows"), Const(64)), limit: 65535 }
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

// Reduces blocks of rows of `r`, a thread for 1 columns.
extern "C" __global__ void __launch_bounds__(64) column_mean_j_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    const f32* __restrict__ shift,
    u64* s_partials) {
    const usize j_first = ((usize)blockIdx.x * 32 + threadIdx.x) * 1;
    const usize r_first = (usize)blockIdx.y * 64;
    const usize r_end = r_first + 64 < rows ? r_first + 64 : rows;
    f32 s_part[1];
    #pragma unroll
    for (int lane = 0; lane < 1; lane++) s_part[lane] = -0.0f;
    if (j_first < d) {
        #pragma unroll 8
        for (usize r = r_first + threadIdx.y; r < r_end; r += 2) {
            #pragma unroll
            for (int lane = 0; lane < 1; lane++) {
                const usize j = j_first + lane;
                const f32 by = shift[j];
                s_part[lane] = s_part[lane] + (x[r * d + j] - by);
            }
        }
    }
    __shared__ f32 s_slots[2][32];
    #pragma unroll
    for (int lane = 0; lane < 1; lane++) {
        s_slots[threadIdx.y][threadIdx.x * 1 + lane] = s_part[lane];
    }
    __syncthreads();
    for (u32 at = threadIdx.y * 32 + threadIdx.x; at < 32; at += 64) {
        const usize j = (usize)blockIdx.x * 32 + at;
        if (j >= d) break;
        f32 s_total = s_slots[0][at];
        #pragma unroll
        for (int row = 1; row < 2; row++) s_total = s_total + s_slots[row][at];
        reinterpret_cast<f32*>(s_partials)[blockIdx.y * d + j] = s_total;
    }
}

// Combines what the blocks found for every `j`.
extern "C" __global__ void __launch_bounds__(256) column_mean_j_total(
    usize rows,
    usize d,
    const f32* __restrict__ shift,
    f32* __restrict__ out,
    u64* s_partials) {
    const usize j = (usize)blockIdx.x * 32 + threadIdx.x;
    const usize count = (rows + 63) / 64;
    __shared__ f32 s_slots[8][32];
    if (j < d) {
        const f32 by = shift[j];
        f32 s = 0.0f;
        f32 s_part = -0.0f;
        for (usize at = threadIdx.y; at < count; at += 8) s_part = s_part + reinterpret_cast<f32*>(s_partials)[at * d + j];
        s_slots[threadIdx.y][threadIdx.x] = s_part;
    }
    __syncthreads();
    if (threadIdx.y != 0 || j >= d) return;
    const f32 by = shift[j];
    f32 s = 0.0f;
    f32 s_total = s_slots[0][threadIdx.x];
    #pragma unroll
    for (int row = 1; row < 8; row++) s_total = s_total + s_slots[row][threadIdx.x];
    s = s + s_total;
    out[j] = s / (f32)rows;
}

// grid(j, threads = 32, vector = 1, unroll = 1)
// column_mean_j: grid (d.div_ceil(32), 1, 1), block (32, 1, 1), shared 0
// requires AtMost { size: DivCeil(Dim(1, "d"), Const(32)), limit: 2147483647 }
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

// One thread per iteration of `j`.
extern "C" __global__ void __launch_bounds__(32) column_mean_j(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    const f32* __restrict__ shift,
    f32* __restrict__ out) {
    const usize j = (usize)blockIdx.x * 32 + threadIdx.x;
    if (j < d) {
        const f32 by = shift[j];
        f32 s = 0.0f;
        for (usize r = 0; r < rows; r++) {
            s = s + (x[r * d + j] - by);
        }
        out[j] = s / (f32)rows;
    }
}

