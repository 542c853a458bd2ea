// columns(j, r, lanes = 32, rows = 2, vector = 1, chunk = 3)
// sum_bounds_columns_j_r: grid ((a + b).div_ceil(32), (a + 5).div_ceil(3), 1), block (32, 2, 1), shared 0
// sum_bounds_columns_j_total: grid ((a + b).div_ceil(32), 1, 1), block (32, 8, 1), shared 0
// scratch s_partials: ((a + 5).div_ceil(3) * (a + b)) * 8 bytes
// requires AtMost { size: DivCeil(Add(Dim(0, "a"), Const(5)), Const(3)), limit: 65535 }
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
extern "C" __global__ void __launch_bounds__(64) sum_bounds_columns_j_r(
    usize a,
    usize b,
    const f32* __restrict__ x,
    u64* s_partials) {
    const usize j_first = ((usize)blockIdx.x * 32 + threadIdx.x) * 1;
    const usize r_first = (usize)blockIdx.y * 3;
    const usize r_end = r_first + 3 < (a + 5ull) ? r_first + 3 : (a + 5ull);
    f32 s_part[1];
    #pragma unroll
    for (int lane = 0; lane < 1; lane++) s_part[lane] = -0.0f;
    if (j_first < (a + b)) {
        #pragma unroll 8
        for (usize r = r_first + threadIdx.y; r < r_end; r += 2) {
            #pragma unroll
            for (int lane = 0; lane < 1; lane++) {
                const usize j = j_first + lane;
                s_part[lane] = s_part[lane] + x[r * (a + b) + j];
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
        if (j >= (a + b)) break;
        f32 s_total = s_slots[0][at];
        #pragma unroll
        for (int row = 1; row < 2; row++) s_total = s_total + s_slots[row][at];
        reinterpret_cast<f32*>(s_partials)[blockIdx.y * (a + b) + j] = s_total;
    }
}

// Combines what the blocks found for every `j`.
extern "C" __global__ void __launch_bounds__(256) sum_bounds_columns_j_total(
    usize a,
    usize b,
    f32* __restrict__ out,
    u64* s_partials) {
    const usize j = (usize)blockIdx.x * 32 + threadIdx.x;
    const usize count = ((a + 5ull) + 2) / 3;
    __shared__ f32 s_slots[8][32];
    if (j < (a + b)) {
        f32 s = 0.0f;
        f32 s_part = -0.0f;
        for (usize at = threadIdx.y; at < count; at += 8) s_part = s_part + reinterpret_cast<f32*>(s_partials)[at * (a + b) + j];
        s_slots[threadIdx.y][threadIdx.x] = s_part;
    }
    __syncthreads();
    if (threadIdx.y != 0 || j >= (a + b)) return;
    f32 s = 0.0f;
    f32 s_total = s_slots[0][threadIdx.x];
    #pragma unroll
    for (int row = 1; row < 8; row++) s_total = s_total + s_slots[row][threadIdx.x];
    s = s + s_total;
    out[j] = s;
}

