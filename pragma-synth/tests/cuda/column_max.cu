// columns(j, r, lanes = 8, rows = 4, vector = 2, chunk = 2)
// column_max_j_r: grid (d.div_ceil(16), rows.saturating_sub(1).div_ceil(2), 1), block (8, 4, 1), shared 0
// column_max_j_total: grid (d.div_ceil(32), 1, 1), block (32, 8, 1), shared 0
// scratch top_partials: (rows.saturating_sub(1).div_ceil(2) * d) * 8 bytes
// requires Multiple { size: Dim(1, "d"), of: 2 }
// requires Aligned { buf: BufId(0), bytes: 8 }
// requires AtMost { size: DivCeil(Sub(Dim(0, "rows"), Const(1)), Const(2)), limit: 65535 }
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

// Reduces blocks of rows of `r`, a thread for 2 columns.
extern "C" __global__ void __launch_bounds__(32) column_max_j_r(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    u64* top_partials) {
    const usize j_first = ((usize)blockIdx.x * 8 + threadIdx.x) * 2;
    const usize r_first = 1 + (usize)blockIdx.y * 2;
    const usize r_end = r_first + 2 < rows ? r_first + 2 : rows;
    f32 top_part[2];
    if (j_first < d) {
        #pragma unroll
        for (int lane = 0; lane < 2; lane++) {
            const usize j = j_first + lane;
            f32 top = x[j];
            top_part[lane] = top;
        }
        #pragma unroll 8
        for (usize r = r_first + threadIdx.y; r < r_end; r += 4) {
            const Pack<f32, 2> x_pack = load_pack<2>(x + (d * r + j_first));
            #pragma unroll
            for (int lane = 0; lane < 2; lane++) {
                const usize j = j_first + lane;
                top_part[lane] = fmaxf(top_part[lane], x_pack.at[lane]);
            }
        }
    }
    __shared__ f32 top_slots[4][16];
    #pragma unroll
    for (int lane = 0; lane < 2; lane++) {
        top_slots[threadIdx.y][threadIdx.x * 2 + lane] = top_part[lane];
    }
    __syncthreads();
    for (u32 at = threadIdx.y * 8 + threadIdx.x; at < 16; at += 32) {
        const usize j = (usize)blockIdx.x * 16 + at;
        if (j >= d) break;
        f32 top_total = top_slots[0][at];
        #pragma unroll
        for (int row = 1; row < 4; row++) top_total = fmaxf(top_total, top_slots[row][at]);
        reinterpret_cast<f32*>(top_partials)[blockIdx.y * d + j] = top_total;
    }
}

// Combines what the blocks found for every `j`.
extern "C" __global__ void __launch_bounds__(256) column_max_j_total(
    usize rows,
    usize d,
    const f32* __restrict__ x,
    f32* __restrict__ out,
    u64* top_partials) {
    const usize j = (usize)blockIdx.x * 32 + threadIdx.x;
    const usize count = ((rows - 1) + 1) / 2;
    __shared__ f32 top_slots[8][32];
    if (j < d) {
        f32 top = x[j];
        f32 top_part = top;
        for (usize at = threadIdx.y; at < count; at += 8) top_part = fmaxf(top_part, reinterpret_cast<f32*>(top_partials)[at * d + j]);
        top_slots[threadIdx.y][threadIdx.x] = top_part;
    }
    __syncthreads();
    if (threadIdx.y != 0 || j >= d) return;
    f32 top = x[j];
    f32 top_total = top_slots[0][threadIdx.x];
    #pragma unroll
    for (int row = 1; row < 8; row++) top_total = fmaxf(top_total, top_slots[row][threadIdx.x]);
    top = top_total;
    out[j] = top;
}

