// contract(p, ffma, tile_m = 64, tile_n = 64, tile_k = 8, stages = 3)
// gram_i_j: grid (n.div_ceil(64) * n.div_ceil(64), 1, 1), block (256, 1, 1), shared 13824
// requires Multiple { size: Dim(1, "n"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
// requires AtMost { size: Mul(DivCeil(Dim(1, "n"), Const(64)), DivCeil(Dim(1, "n"), Const(64))), limit: 2147483647 }
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

// Starts a copy of 16 bytes to shared memory; zeros where `valid` does not hold.
__device__ __forceinline__ void copy_async_16(void* to, const void* from, bool valid) {
    const u32 at = (u32)__cvta_generic_to_shared(to);
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}

// Ends a group of copies.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most so many of this thread's groups are on their way.
template <int GROUPS>
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory"); }

// Contracts `p` by tiles of 64 by 64, 8 terms at a time.
extern "C" __global__ void __launch_bounds__(256) gram_i_j(
    usize k,
    usize n,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    u32 left = blockIdx.x;
    const u32 i_tiles = (u32)((n + 63) / 64);
    const usize i_block = (usize)(left % i_tiles) * 64;
    left /= i_tiles;
    const u32 j_tiles = (u32)((n + 63) / 64);
    const usize j_block = (usize)(left % j_tiles) * 64;
    left /= j_tiles;
    const u32 lane = threadIdx.x % 32;
    const u32 warp = threadIdx.x / 32;
    extern __shared__ uint4 shared[];
    f32* const a_tiles = reinterpret_cast<f32*>(shared);
    f32* const b_tiles = a_tiles + 1728;
    const f32* a_part_from[1];
    #pragma unroll
    for (int own = 0; own < 1; own++) {
        const u32 piece = threadIdx.x + own * 256;
        if (piece >= 128) break;
        const usize p_block = 0;
        const u32 line = piece / 16;
        const u32 along = piece % 16 * 4;
        const usize i = i_block + along;
        const usize p = p_block + line;
        a_part_from[own] = i < n ? x + (p * n + i) : nullptr;
    }
    const f32* b_part_from[1];
    #pragma unroll
    for (int own = 0; own < 1; own++) {
        const u32 piece = threadIdx.x + own * 256;
        if (piece >= 128) break;
        const usize p_block = 0;
        const u32 line = piece / 16;
        const u32 along = piece % 16 * 4;
        const usize j = j_block + along;
        const usize p = p_block + line;
        b_part_from[own] = j < n ? x + (p * n + j) : nullptr;
    }
    // Copies the terms from a given one on to a stage.
    const auto fetch = [&](u32 stage, usize p_block) {
        #pragma unroll
        for (int own = 0; own < 1; own++) {
            const u32 piece = threadIdx.x + own * 256;
            if (piece >= 128) break;
            const u32 line = piece / 16;
            const u32 along = piece % 16 * 4;
            const usize i = i_block + along;
            const usize p = p_block + line;
            const bool inside = a_part_from[own] != nullptr && p < k;
            copy_async_16(a_tiles + stage * 576 + line * 72 + along, inside ? a_part_from[own] : x, inside);
            if (a_part_from[own] != nullptr) a_part_from[own] += 8 * (n);
        }
        #pragma unroll
        for (int own = 0; own < 1; own++) {
            const u32 piece = threadIdx.x + own * 256;
            if (piece >= 128) break;
            const u32 line = piece / 16;
            const u32 along = piece % 16 * 4;
            const usize j = j_block + along;
            const usize p = p_block + line;
            const bool inside = b_part_from[own] != nullptr && p < k;
            copy_async_16(b_tiles + stage * 576 + line * 72 + along, inside ? b_part_from[own] : x, inside);
            if (b_part_from[own] != nullptr) b_part_from[own] += 8 * (n);
        }
        commit_copies();
    };
    const u32 own_x = lane % 8 + warp % 2 * 8;
    const u32 own_y = lane / 8 + warp / 2 * 4;
    f32 sums[4][4] = {};
    #pragma unroll
    for (u32 stage = 0; stage < 2; stage++) fetch(stage, stage * 8);
    u32 stage = 0;
    for (usize p_block = 0; p_block < k; p_block += 8) {
        wait_for_copies<1>();
        __syncthreads();
        fetch(stage == 0 ? 2 : stage - 1, p_block + 16);
        const f32* const a_part = a_tiles + stage * 576;
        const f32* const b_part = b_tiles + stage * 576;
        #pragma unroll
        for (u32 step = 0; step < 8; step += 4) {
            Pack<f32, 4> a[4][1];
            #pragma unroll
            for (int term = 0; term < 4; term++) {
                #pragma unroll
                for (int i = 0; i < 1; i++) a[term][i] = load_pack<4>(a_part + (step + term) * 72 + i * 64 + own_y * 4);
            }
            Pack<f32, 4> b[4][1];
            #pragma unroll
            for (int term = 0; term < 4; term++) {
                #pragma unroll
                for (int i = 0; i < 1; i++) b[term][i] = load_pack<4>(b_part + (step + term) * 72 + i * 64 + own_x * 4);
            }
            #pragma unroll
            for (int term = 0; term < 4; term++) {
                #pragma unroll
                for (int i = 0; i < 4; i++) {
                    #pragma unroll
                    for (int j = 0; j < 4; j++) sums[i][j] = fmaf(a[term][i / 4].at[i % 4], b[term][j / 4].at[j % 4], sums[i][j]);
                }
            }
        }
        stage = stage == 2 ? 0 : stage + 1;
    }
    wait_for_copies<0>();
    #pragma unroll
    for (int own_row = 0; own_row < 4; own_row++) {
        #pragma unroll
        for (int own_column = 0; own_column < 4; own_column += 4) {
            const usize i = i_block + own_row / 4 * 64 + own_y * 4 + own_row % 4;
            const usize j_first = j_block + own_column * 16 + own_x * 4;
            if (i < n && j_first < n) {
                Pack<f32, 4> out_pack;
                #pragma unroll
                for (int lane = 0; lane < 4; lane++) {
                    const usize j = j_first + lane;
                    f32 s = 0.0f;
                    s = s + sums[own_row][own_column + lane];
                    out_pack.at[lane] = s;
                }
                store_pack<4>(out + (n * i + j_first), out_pack);
            }
        }
    }
}

// contract(p, tf32x3, tile_m = 64, tile_n = 64, tile_k = 8, stages = 2)
// gram_i_j: grid (n.div_ceil(64) * n.div_ceil(64), 1, 1), block (256, 1, 1), shared 9216
// requires Multiple { size: Dim(1, "n"), of: 4 }
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Multiple { size: Dim(1, "n"), of: 2 }
// requires Aligned { buf: BufId(1), bytes: 8 }
// requires AtMost { size: Mul(DivCeil(Dim(1, "n"), Const(64)), DivCeil(Dim(1, "n"), Const(64))), limit: 2147483647 }
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
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
    union {
        typename Word<sizeof(T) * N>::Type word;
        Pack<T, N> pack;
    } value;
    value.pack = pack;
    *reinterpret_cast<decltype(value.word)*>(to) = value.word;
}

// Starts a copy of 16 bytes to shared memory; zeros where `valid` does not hold.
__device__ __forceinline__ void copy_async_16(void* to, const void* from, bool valid) {
    const u32 at = (u32)__cvta_generic_to_shared(to);
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
}

// Ends a group of copies.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most so many of this thread's groups are on their way.
template <int GROUPS>
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory"); }

// A value as the sum of two that TF32 holds, but for the last bits.
__device__ __forceinline__ void split_tf32(f32 value, u32& high, u32& low) {
    high = __float_as_uint(value) & 0xffffe000u;
    low = __float_as_uint(value - __uint_as_float(high));
}

// sum += a * b for a 16 by 8 times an 8 by 8 matrix, spread over a warp.
__device__ __forceinline__ void mma_tf32(f32 (&sum)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    asm(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Contracts `p` by tiles of 64 by 64, 8 terms at a time.
extern "C" __global__ void __launch_bounds__(256) gram_i_j(
    usize k,
    usize n,
    const f32* __restrict__ x,
    f32* __restrict__ out) {
    u32 left = blockIdx.x;
    const u32 i_tiles = (u32)((n + 63) / 64);
    const usize i_block = (usize)(left % i_tiles) * 64;
    left /= i_tiles;
    const u32 j_tiles = (u32)((n + 63) / 64);
    const usize j_block = (usize)(left % j_tiles) * 64;
    left /= j_tiles;
    const u32 lane = threadIdx.x % 32;
    const u32 warp = threadIdx.x / 32;
    extern __shared__ uint4 shared[];
    f32* const a_tiles = reinterpret_cast<f32*>(shared);
    f32* const b_tiles = a_tiles + 1152;
    const f32* a_part_from[1];
    #pragma unroll
    for (int own = 0; own < 1; own++) {
        const u32 piece = threadIdx.x + own * 256;
        if (piece >= 128) break;
        const usize p_block = 0;
        const u32 line = piece / 16;
        const u32 along = piece % 16 * 4;
        const usize i = i_block + along;
        const usize p = p_block + line;
        a_part_from[own] = i < n ? x + (p * n + i) : nullptr;
    }
    const f32* b_part_from[1];
    #pragma unroll
    for (int own = 0; own < 1; own++) {
        const u32 piece = threadIdx.x + own * 256;
        if (piece >= 128) break;
        const usize p_block = 0;
        const u32 line = piece / 16;
        const u32 along = piece % 16 * 4;
        const usize j = j_block + along;
        const usize p = p_block + line;
        b_part_from[own] = j < n ? x + (p * n + j) : nullptr;
    }
    // Copies the terms from a given one on to a stage.
    const auto fetch = [&](u32 stage, usize p_block) {
        #pragma unroll
        for (int own = 0; own < 1; own++) {
            const u32 piece = threadIdx.x + own * 256;
            if (piece >= 128) break;
            const u32 line = piece / 16;
            const u32 along = piece % 16 * 4;
            const usize i = i_block + along;
            const usize p = p_block + line;
            const bool inside = a_part_from[own] != nullptr && p < k;
            copy_async_16(a_tiles + stage * 576 + line * 72 + along, inside ? a_part_from[own] : x, inside);
            if (a_part_from[own] != nullptr) a_part_from[own] += 8 * (n);
        }
        #pragma unroll
        for (int own = 0; own < 1; own++) {
            const u32 piece = threadIdx.x + own * 256;
            if (piece >= 128) break;
            const u32 line = piece / 16;
            const u32 along = piece % 16 * 4;
            const usize j = j_block + along;
            const usize p = p_block + line;
            const bool inside = b_part_from[own] != nullptr && p < k;
            copy_async_16(b_tiles + stage * 576 + line * 72 + along, inside ? b_part_from[own] : x, inside);
            if (b_part_from[own] != nullptr) b_part_from[own] += 8 * (n);
        }
        commit_copies();
    };
    const u32 own_y = warp % 2 * 32 + lane / 4;
    const u32 own_x = warp / 2 * 16;
    f32 sums[2][2][4] = {};
    #pragma unroll
    for (u32 stage = 0; stage < 1; stage++) fetch(stage, stage * 8);
    u32 stage = 0;
    for (usize p_block = 0; p_block < k; p_block += 8) {
        wait_for_copies<0>();
        __syncthreads();
        fetch(stage == 0 ? 1 : stage - 1, p_block + 8);
        const f32* const a_part = a_tiles + stage * 576;
        const f32* const b_part = b_tiles + stage * 576;
        f32 parts[2][2][4] = {};
        #pragma unroll
        for (u32 step = 0; step < 8; step += 8) {
            u32 a_high[2][4], a_low[2][4];
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int part = 0; part < 4; part++) {
                    split_tf32(a_part[(step + lane % 4 + part / 2 * 4) * 72 + own_y + 16 * i + part % 2 * 8], a_high[i][part], a_low[i][part]);
                }
            }
            u32 b_high[2][2], b_low[2][2];
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int part = 0; part < 2; part++) {
                    split_tf32(b_part[(step + lane % 4 + part * 4) * 72 + own_x + 8 * i + lane / 4], b_high[i][part], b_low[i][part]);
                }
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 2; j++) mma_tf32(parts[i][j], a_low[i], b_high[j]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 2; j++) mma_tf32(parts[i][j], a_high[i], b_low[j]);
            }
            #pragma unroll
            for (int i = 0; i < 2; i++) {
                #pragma unroll
                for (int j = 0; j < 2; j++) mma_tf32(parts[i][j], a_high[i], b_high[j]);
            }
        }
        #pragma unroll
        for (int i = 0; i < 2; i++) {
            #pragma unroll
            for (int j = 0; j < 2; j++) {
                #pragma unroll
                for (int part = 0; part < 4; part++) sums[i][j][part] += parts[i][j][part];
            }
        }
        stage = stage == 1 ? 0 : stage + 1;
    }
    wait_for_copies<0>();
    #pragma unroll
    for (int own_row = 0; own_row < 4; own_row++) {
        #pragma unroll
        for (int own_column = 0; own_column < 2; own_column++) {
            const usize i = i_block + own_y + own_row * 8;
            const usize j_first = j_block + own_x + own_column * 8 + threadIdx.x % 4 * 2;
            if (i < n && j_first < n) {
                Pack<f32, 2> out_pack;
                #pragma unroll
                for (int lane = 0; lane < 2; lane++) {
                    const usize j = j_first + lane;
                    f32 s = 0.0f;
                    s = s + sums[own_row / 2][own_column][own_row % 2 * 2 + lane];
                    out_pack.at[lane] = s;
                }
                store_pack<2>(out + (n * i + j_first), out_pack);
            }
        }
    }
}

