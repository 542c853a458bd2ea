// grid(i, threads = 64, vector = 4, unroll = 4)
// saxpy_i: grid (n.div_ceil(1024), 1, 1), block (64, 1, 1), shared 0
// requires Aligned { buf: BufId(0), bytes: 16 }
// requires Aligned { buf: BufId(1), bytes: 16 }
// requires AtMost { size: DivCeil(Dim(0, "n"), Const(1024)), limit: 2147483647 }
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
extern "C" __global__ void __launch_bounds__(64) saxpy_i(
    usize n,
    f32 a,
    const f32* __restrict__ x,
    f32* __restrict__ y) {
    const usize i_first = (usize)blockIdx.x * 1024 + threadIdx.x * 4;
    Pack<f32, 4> x_packs[4];
    Pack<f32, 4> y_packs[4];
    #pragma unroll
    for (int group = 0; group < 4; group++) {
        const usize i_at = i_first + group * 256;
        if (i_at + 4 <= n) {
            x_packs[group] = load_pack<4>(x + i_at);
            y_packs[group] = load_pack<4>(y + i_at);
        }
    }
    #pragma unroll
    for (int group = 0; group < 4; group++) {
        const usize i_at = i_first + group * 256;
        if (i_at + 4 <= n) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_at + lane;
                y_packs[group].at[lane] = a * x_packs[group].at[lane] + y_packs[group].at[lane];
            }
            store_pack<4>(y + i_at, y_packs[group]);
        } else {
            for (usize i = i_at; i < n; i++) {
                y[i] = a * x[i] + y[i];
            }
        }
    }
}

