// scan(i, threads = 32, vector = 4, items = 2)
// cumsum_i: grid (n.div_ceil(256), 1, 1), block (32, 1, 1), shared 1024
// scratch s_status: ((n.div_ceil(256) + n.div_ceil(256).div_ceil(256)) * 8) + 8 bytes, zeroed
// requires Aligned { buf: BufId(0), bytes: 16 }
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

// Values that other blocks wait for. A value of up to 4 bytes travels in one word with its flag;
// a longer one is followed by its flag. All words are 0 before the launch.
template <class T>
struct Status {
    static constexpr int WORDS = sizeof(T) <= 4 ? 1 : 2;
};
template <class T>
__device__ __forceinline__ void publish(u64* at, T value) {
    Words<T> words;
    words.value = value;
    if constexpr (sizeof(T) <= 4) {
        *(volatile u64*)at = 1ull << 32 | words.word[0];
    } else {
        *(volatile u64*)at = (u64)words.word[1] << 32 | words.word[0];
        __threadfence();
        *(volatile u64*)(at + 1) = 1;
    }
}
// Waits for the first `count` of `MOST` neighbouring values; all of them are asked for at once.
template <int MOST, class T>
__device__ __forceinline__ void await(T* values, const u64* at, int count) {
    constexpr int WORDS = Status<T>::WORDS;
    u64 flags[MOST];
    bool all;
    do {
        all = true;
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            if (i < count) flags[i] = *(const volatile u64*)(at + (i + 1) * WORDS - 1);
        }
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            if (i < count) all &= (WORDS == 1 ? flags[i] >> 32 : flags[i]) != 0;
        }
    } while (!all);
    if constexpr (WORDS > 1) __threadfence();
#pragma unroll
    for (int i = 0; i < MOST; i++) {
        if (i < count) {
            Words<T> words;
            u64 word = flags[i];
            if constexpr (WORDS > 1) word = *(const volatile u64*)(at + i * WORDS);
            words.word[0] = (u32)word;
            if constexpr (WORDS > 1) words.word[1] = (u32)(word >> 32);
            values[i] = words.value;
        }
    }
}

// Each lane's value combined with those of the lanes below.
template <class T, class Combine>
__device__ __forceinline__ T scan_warp(T value, Combine combine) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        const T below = shuffle_up(value, by);
        if (lane >= by) value = combine(below, value);
    }
    return value;
}
// By the first warp: turns the totals of warps into what comes before each in the tile; returns
// the total of the tile.
template <int COUNT, class T, class Combine>
__device__ __forceinline__ T scan_totals(T* totals, T identity, Combine combine) {
    constexpr int EACH = (COUNT + 31) / 32;
    const int lane = threadIdx.x % 32;
    T mine[EACH];
    T sum = identity;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        mine[i] = lane * EACH + i < COUNT ? totals[lane * EACH + i] : identity;
        sum = combine(sum, mine[i]);
    }
    const T upto = scan_warp(sum, combine);
    T before = shuffle_up(upto, 1);
    if (lane == 0) before = identity;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (lane * EACH + i < COUNT) totals[lane * EACH + i] = before;
        before = combine(before, mine[i]);
    }
    return shuffle(upto, 31);
}
// By the first warp: what comes before a tile in the whole array. Tiles come in groups of 32 * EACH;
// a tile combines those before it in its group and the total of the groups before, always in
// the same order, so that the result does not depend on which block is faster.
template <int EACH, class T, class Combine>
__device__ __forceinline__ T look_back(u64* status, usize tiles, usize tile, T total, T start, T identity, Combine combine) {
    constexpr int GROUP = 32 * EACH;
    constexpr int WORDS = Status<T>::WORDS;
    const int lane = threadIdx.x % 32;
    const usize group = tile / GROUP;
    const int place = (int)(tile % GROUP);
    if (lane == 0) publish(status + tile * WORDS, total);
    T others[EACH];
    const int left = place - lane * EACH;
    const int count = left < 0 ? 0 : left > EACH ? EACH : left;
    await<EACH>(others, status + (group * GROUP + lane * EACH) * WORDS, count);
    T sum = identity;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (i < count) sum = combine(sum, others[i]);
    }
    sum = across_team<32>(sum, (T*)nullptr, combine);
    if (group > 0) await<1>(&start, status + (tiles + group - 1) * WORDS, 1);
    const T before = combine(start, sum);
    if (place == GROUP - 1 && lane == 0) publish(status + (tiles + group) * WORDS, combine(before, total));
    return before;
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

// Scans `i` in tiles of 256.
extern "C" __global__ void __launch_bounds__(32) cumsum_i(
    usize n,
    i32* __restrict__ x,
    u64* s_status) {
    i32 s = 0;
    __shared__ u32 ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<u32*>(s_status), 1u);
    __syncthreads();
    const usize tile = ticket;
    const auto combine = [](i32 a, i32 b) { return (i32)((i32)((u32)a + (u32)b)); };
    const usize i_first = tile * 256 + threadIdx.x * 4;
    extern __shared__ uint4 shared[];
    Pack<i32, 4>* const x_packs = reinterpret_cast<Pack<i32, 4>*>(shared + 0) + threadIdx.x;
    #pragma unroll
    for (int group = 0; group < 2; group++) {
        const usize i_at = i_first + group * 128;
        if (i_at + 4 <= n) {
            copy_async_16(&x_packs[group * 32], x + i_at, true);
        }
    }
    commit_copies();
    wait_for_copies<0>();
    i32 s_before[2];
    __shared__ i32 s_slots[2];
    #pragma unroll
    for (int group = 0; group < 2; group++) {
        const usize i_at = i_first + group * 128;
        i32 s_part = 0;
        if (i_at + 4 <= n) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_at + lane;
                s_part = (i32)((u32)s_part + (u32)x_packs[group * 32].at[lane]);
            }
        } else {
            for (usize i = i_at; i < n; i++) {
                s_part = (i32)((u32)s_part + (u32)x[i]);
            }
        }
        const i32 upto = scan_warp(s_part, combine);
        s_before[group] = shuffle_up(upto, 1);
        if (threadIdx.x % 32 == 0) s_before[group] = 0;
        if (threadIdx.x % 32 == 31) s_slots[group * 1 + threadIdx.x / 32] = upto;
    }
    __syncthreads();
    __shared__ i32 s_start;
    if (threadIdx.x < 32) {
        const i32 total = scan_totals<2>(s_slots, (i32)0, combine);
        const usize tiles = (n + 255) / 256;
        const i32 start = look_back<8>(s_status + 1, tiles, tile, total, (i32)s, (i32)0, combine);
        if (threadIdx.x == 0) s_start = start;
    }
    __syncthreads();
    #pragma unroll
    for (int group = 0; group < 2; group++) {
        const usize i_at = i_first + group * 128;
        i32 s_part = combine(combine(s_start, s_slots[group * 1 + threadIdx.x / 32]), s_before[group]);
        if (i_at + 4 <= n) {
            #pragma unroll
            for (int lane = 0; lane < 4; lane++) {
                const usize i = i_at + lane;
                s_part = (i32)((u32)s_part + (u32)x_packs[group * 32].at[lane]);
                x_packs[group * 32].at[lane] = s_part;
            }
            store_pack<4>(x + i_at, x_packs[group * 32]);
        } else {
            for (usize i = i_at; i < n; i++) {
                s_part = (i32)((u32)s_part + (u32)x[i]);
                x[i] = s_part;
            }
        }
    }
}

// scan(i, threads = 64, vector = 1, items = 3)
// cumsum_i: grid (n.div_ceil(192), 1, 1), block (64, 1, 1), shared 0
// scratch s_status: ((n.div_ceil(192) + n.div_ceil(192).div_ceil(256)) * 8) + 8 bytes, zeroed
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

// Values that other blocks wait for. A value of up to 4 bytes travels in one word with its flag;
// a longer one is followed by its flag. All words are 0 before the launch.
template <class T>
struct Status {
    static constexpr int WORDS = sizeof(T) <= 4 ? 1 : 2;
};
template <class T>
__device__ __forceinline__ void publish(u64* at, T value) {
    Words<T> words;
    words.value = value;
    if constexpr (sizeof(T) <= 4) {
        *(volatile u64*)at = 1ull << 32 | words.word[0];
    } else {
        *(volatile u64*)at = (u64)words.word[1] << 32 | words.word[0];
        __threadfence();
        *(volatile u64*)(at + 1) = 1;
    }
}
// Waits for the first `count` of `MOST` neighbouring values; all of them are asked for at once.
template <int MOST, class T>
__device__ __forceinline__ void await(T* values, const u64* at, int count) {
    constexpr int WORDS = Status<T>::WORDS;
    u64 flags[MOST];
    bool all;
    do {
        all = true;
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            if (i < count) flags[i] = *(const volatile u64*)(at + (i + 1) * WORDS - 1);
        }
#pragma unroll
        for (int i = 0; i < MOST; i++) {
            if (i < count) all &= (WORDS == 1 ? flags[i] >> 32 : flags[i]) != 0;
        }
    } while (!all);
    if constexpr (WORDS > 1) __threadfence();
#pragma unroll
    for (int i = 0; i < MOST; i++) {
        if (i < count) {
            Words<T> words;
            u64 word = flags[i];
            if constexpr (WORDS > 1) word = *(const volatile u64*)(at + i * WORDS);
            words.word[0] = (u32)word;
            if constexpr (WORDS > 1) words.word[1] = (u32)(word >> 32);
            values[i] = words.value;
        }
    }
}

// Each lane's value combined with those of the lanes below.
template <class T, class Combine>
__device__ __forceinline__ T scan_warp(T value, Combine combine) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        const T below = shuffle_up(value, by);
        if (lane >= by) value = combine(below, value);
    }
    return value;
}
// By the first warp: turns the totals of warps into what comes before each in the tile; returns
// the total of the tile.
template <int COUNT, class T, class Combine>
__device__ __forceinline__ T scan_totals(T* totals, T identity, Combine combine) {
    constexpr int EACH = (COUNT + 31) / 32;
    const int lane = threadIdx.x % 32;
    T mine[EACH];
    T sum = identity;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        mine[i] = lane * EACH + i < COUNT ? totals[lane * EACH + i] : identity;
        sum = combine(sum, mine[i]);
    }
    const T upto = scan_warp(sum, combine);
    T before = shuffle_up(upto, 1);
    if (lane == 0) before = identity;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (lane * EACH + i < COUNT) totals[lane * EACH + i] = before;
        before = combine(before, mine[i]);
    }
    return shuffle(upto, 31);
}
// By the first warp: what comes before a tile in the whole array. Tiles come in groups of 32 * EACH;
// a tile combines those before it in its group and the total of the groups before, always in
// the same order, so that the result does not depend on which block is faster.
template <int EACH, class T, class Combine>
__device__ __forceinline__ T look_back(u64* status, usize tiles, usize tile, T total, T start, T identity, Combine combine) {
    constexpr int GROUP = 32 * EACH;
    constexpr int WORDS = Status<T>::WORDS;
    const int lane = threadIdx.x % 32;
    const usize group = tile / GROUP;
    const int place = (int)(tile % GROUP);
    if (lane == 0) publish(status + tile * WORDS, total);
    T others[EACH];
    const int left = place - lane * EACH;
    const int count = left < 0 ? 0 : left > EACH ? EACH : left;
    await<EACH>(others, status + (group * GROUP + lane * EACH) * WORDS, count);
    T sum = identity;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (i < count) sum = combine(sum, others[i]);
    }
    sum = across_team<32>(sum, (T*)nullptr, combine);
    if (group > 0) await<1>(&start, status + (tiles + group - 1) * WORDS, 1);
    const T before = combine(start, sum);
    if (place == GROUP - 1 && lane == 0) publish(status + (tiles + group) * WORDS, combine(before, total));
    return before;
}

// Scans `i` in tiles of 192.
extern "C" __global__ void __launch_bounds__(64) cumsum_i(
    usize n,
    i32* __restrict__ x,
    u64* s_status) {
    i32 s = 0;
    __shared__ u32 ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(reinterpret_cast<u32*>(s_status), 1u);
    __syncthreads();
    const usize tile = ticket;
    const auto combine = [](i32 a, i32 b) { return (i32)((i32)((u32)a + (u32)b)); };
    const usize i_first = tile * 192 + threadIdx.x;
    i32 s_before[3];
    __shared__ i32 s_slots[6];
    #pragma unroll
    for (int group = 0; group < 3; group++) {
        const usize i_at = i_first + group * 64;
        i32 s_part = 0;
        const usize i = i_at;
        if (i < n) {
            s_part = (i32)((u32)s_part + (u32)x[i]);
        }
        const i32 upto = scan_warp(s_part, combine);
        s_before[group] = shuffle_up(upto, 1);
        if (threadIdx.x % 32 == 0) s_before[group] = 0;
        if (threadIdx.x % 32 == 31) s_slots[group * 2 + threadIdx.x / 32] = upto;
    }
    __syncthreads();
    __shared__ i32 s_start;
    if (threadIdx.x < 32) {
        const i32 total = scan_totals<6>(s_slots, (i32)0, combine);
        const usize tiles = (n + 191) / 192;
        const i32 start = look_back<8>(s_status + 1, tiles, tile, total, (i32)s, (i32)0, combine);
        if (threadIdx.x == 0) s_start = start;
    }
    __syncthreads();
    #pragma unroll
    for (int group = 0; group < 3; group++) {
        const usize i_at = i_first + group * 64;
        i32 s_part = combine(combine(s_start, s_slots[group * 2 + threadIdx.x / 32]), s_before[group]);
        const usize i = i_at;
        if (i < n) {
            s_part = (i32)((u32)s_part + (u32)x[i]);
            x[i] = s_part;
        }
    }
}

