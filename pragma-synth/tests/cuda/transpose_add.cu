// transpose(j, i, tile = 32, vector = 4)
// transpose_add_i_j: grid (n.div_ceil(32) * m.div_ceil(32), 1, 1), block (256, 1, 1), shared 4224
// requires Multiple { size: Dim(1, "m"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Multiple { size: Dim(0, "n"), of: 4 }
// requires Aligned { buf: BufId(1), bytes: 16 }
// requires AtMost { size: Mul(DivCeil(Dim(0, "n"), Const(32)), DivCeil(Dim(1, "m"), Const(32))), limit: 2147483647 }
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

// Tiles of 32 by 32: reads along `j`, writes along `i`.
extern "C" __global__ void __launch_bounds__(256) transpose_add_i_j(
    usize n,
    usize m,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    extern __shared__ uint4 shared[];
    f32 (*const x_tile)[33] = reinterpret_cast<f32 (*)[33]>(shared + 0);
    const u32 across = (u32)((m + 31) / 32);
    const usize j_block = (usize)(blockIdx.x % across) * 32;
    const usize i_block = (usize)(blockIdx.x / across) * 32;
    const u32 fast = threadIdx.x % 8 * 4;
    const u32 slow = threadIdx.x / 8;
    Pack<f32, 4> x_tile_packs[1];
    #pragma unroll
    for (int part = 0; part < 1; part++) {
        const u32 step = slow + part * 32;
        const usize i = i_block + step;
        const usize j_first = j_block + fast;
        if (i < n && j_first < m) {
            x_tile_packs[part] = load_pack<4>(x + (m * i + j_first));
        }
    }
    #pragma unroll
    for (int part = 0; part < 1; part++) {
        const u32 step = slow + part * 32;
        #pragma unroll
        for (int lane = 0; lane < 4; lane++) x_tile[step][fast + lane] = x_tile_packs[part].at[lane];
    }
    __syncthreads();
    #pragma unroll
    for (int part = 0; part < 1; part++) {
        const u32 step = slow + part * 32;
        const usize j = j_block + step;
        const usize i_first = i_block + fast;
        if (j < m && i_first < n) {
            Pack<f32, 4> out_pack = load_pack<4>(out + (n * j + i_first));
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_first + lane;
                out_pack.at[lane] = out_pack.at[lane] * 0.5f + x_tile[fast + lane][step];
            }
            store_pack<4>(out + (n * j + i_first), out_pack);
        }
    }
}

