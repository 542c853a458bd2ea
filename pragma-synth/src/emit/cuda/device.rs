//! Device functions that kernels call, written into a source only where they are used.
//!
//! Owns their text. Each is small, says what it does in the words of Rust's methods, and needs no
//! header: NVRTC compiles a kernel on a host without a toolkit.

use std::collections::BTreeSet;

/// One device function, or a few that belong together.
struct Helper {
    name: &'static str,
    /// Helpers that this one calls.
    needs: &'static [&'static str],
    text: &'static str,
}

/// The names of the types, as in Rust; every source begins with them.
pub(super) const TYPES: &str = "\
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
";

/// Every helper, callees before callers.
const HELPERS: &[Helper] = &[
    Helper {
        name: "infinity",
        needs: &[],
        text: "\
__device__ __forceinline__ f32 infinity_f32() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ f64 infinity_f64() { return __longlong_as_double(0x7ff0000000000000ll); }
",
    },
    Helper {
        name: "nan",
        needs: &[],
        text: "\
__device__ __forceinline__ f32 nan_f32() { return __uint_as_float(0x7fc00000u); }
__device__ __forceinline__ f64 nan_f64() { return __longlong_as_double(0x7ff8000000000000ll); }
",
    },
    Helper {
        name: "bf16",
        needs: &[],
        text: "\
// An element of a bf16 array: the upper half of an f32. Values are computed with as f32.
struct bf16 {
    u16 bits;
};
__device__ __forceinline__ f32 widen(bf16 value) { return __uint_as_float((u32)value.bits << 16); }
// The nearest bf16, ties to even.
__device__ __forceinline__ f32 round_bf16(f32 value) {
    u32 bits = __float_as_uint(value);
    if (value != value) return __uint_as_float((bits | 0x00400000u) & 0xffff0000u);
    return __uint_as_float((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}
__device__ __forceinline__ bf16 narrow_bf16(f32 value) {
    bf16 result;
    result.bits = (u16)(__float_as_uint(round_bf16(value)) >> 16);
    return result;
}
",
    },
    Helper {
        name: "limits",
        needs: &[],
        text: "\
template <class T>
struct Limits {
    static constexpr bool is_signed = (T)-1 < (T)0;
    static constexpr T max = is_signed ? (T)((1ull << (8 * sizeof(T) - 1)) - 1) : (T)~0ull;
    static constexpr T min = is_signed ? (T)(-max - 1) : (T)0;
};
",
    },
    Helper {
        name: "saturating_cast",
        needs: &["limits"],
        text: "\
// `value as To` of a float: NaN is 0, what does not fit the nearest that does.
template <class To, class From>
__device__ __forceinline__ To saturating_cast(From value) {
    if (value != value) return 0;
    if (value <= (From)Limits<To>::min) return Limits<To>::min;
    if (value >= (From)Limits<To>::max) return Limits<To>::max;
    return (To)value;
}
",
    },
    Helper {
        name: "fault",
        needs: &[],
        text: "\
// Takes note that the reference would panic here.
__device__ __forceinline__ void report(u32* fault) { *(volatile u32*)fault = 1; }
",
    },
    Helper {
        name: "load_checked",
        needs: &["fault"],
        text: "\
// The element, if the index is inside the buffer.
template <class T>
__device__ __forceinline__ T load_checked(const T* buffer, usize index, usize len, u32* fault) {
    if (index < len) return buffer[index];
    report(fault);
    return T();
}
",
    },
    Helper {
        name: "store_checked",
        needs: &["fault"],
        text: "\
// Writes the element, if the index is inside the buffer.
template <class T>
__device__ __forceinline__ void store_checked(T* buffer, usize index, usize len, T value, u32* fault) {
    if (index < len) {
        buffer[index] = value;
    } else {
        report(fault);
    }
}
",
    },
    Helper {
        name: "quotient",
        needs: &["fault", "limits"],
        text: "\
template <class T>
__device__ __forceinline__ bool divides(T a, T b, u32* fault) {
    if (b != 0 && !(Limits<T>::is_signed && b == (T)-1 && a == Limits<T>::min)) return true;
    report(fault);
    return false;
}
template <class T>
__device__ __forceinline__ T quotient(T a, T b, u32* fault) {
    return divides(a, b, fault) ? (T)(a / b) : (T)0;
}
template <class T>
__device__ __forceinline__ T remainder_of(T a, T b, u32* fault) {
    return divides(a, b, fault) ? (T)(a % b) : (T)0;
}
",
    },
    Helper {
        name: "euclid",
        needs: &["quotient"],
        text: "\
template <class T>
__device__ __forceinline__ T rem_euclid(T a, T b, u32* fault) {
    T r = remainder_of(a, b, fault);
    return r < 0 ? (T)(b < 0 ? r - b : r + b) : r;
}
template <class T>
__device__ __forceinline__ T div_euclid(T a, T b, u32* fault) {
    T q = quotient(a, b, fault);
    return remainder_of(a, b, fault) < 0 ? (T)(b > 0 ? q - 1 : q + 1) : q;
}
",
    },
    Helper {
        name: "float_euclid",
        needs: &[],
        text: "\
template <class T>
__device__ __forceinline__ T rem_euclid(T a, T b) {
    T r = fmod(a, b);
    return r < (T)0 ? r + fabs(b) : r;
}
template <class T>
__device__ __forceinline__ T div_euclid(T a, T b) {
    T q = trunc(a / b);
    if (fmod(a, b) < (T)0) return b > (T)0 ? q - (T)1 : q + (T)1;
    return q;
}
",
    },
    Helper {
        name: "float_signum",
        needs: &[],
        text: "\
template <class T>
__device__ __forceinline__ T signum(T value) {
    return value != value ? value : copysign((T)1, value);
}
",
    },
    Helper {
        name: "powi",
        needs: &[],
        text: "\
template <class T>
__device__ __forceinline__ T powi(T base, i32 exponent) {
    T result = (T)1;
    for (u32 left = exponent < 0 ? 0u - (u32)exponent : (u32)exponent;;) {
        if (left & 1u) result *= base;
        left >>= 1;
        if (left == 0) break;
        base *= base;
    }
    return exponent < 0 ? (T)1 / result : result;
}
",
    },
    Helper {
        name: "extremes",
        needs: &[],
        text: "\
template <class T>
__device__ __forceinline__ T max_of(T a, T b) { return b > a ? b : a; }
template <class T>
__device__ __forceinline__ T min_of(T a, T b) { return b < a ? b : a; }
",
    },
    Helper {
        name: "rotate",
        needs: &[],
        text: "\
// Of an unsigned value.
template <class T>
__device__ __forceinline__ T rotate_left(T value, u32 by) {
    constexpr u32 bits = 8 * sizeof(T);
    by %= bits;
    return by == 0 ? value : (T)((value << by) | (value >> (bits - by)));
}
",
    },
    Helper {
        name: "saturating",
        needs: &["limits"],
        text: "\
template <class T>
__device__ __forceinline__ T saturating_add(T a, T b) {
    if (b > 0 && a > (T)(Limits<T>::max - b)) return Limits<T>::max;
    if (b < 0 && a < (T)(Limits<T>::min - b)) return Limits<T>::min;
    return (T)(a + b);
}
template <class T>
__device__ __forceinline__ T saturating_sub(T a, T b) {
    if (b > 0 && a < (T)(Limits<T>::min + b)) return Limits<T>::min;
    if (b < 0 && a > (T)(Limits<T>::max + b)) return Limits<T>::max;
    return (T)(a - b);
}
",
    },
    Helper {
        name: "pack",
        needs: &[],
        text: "\
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
",
    },
    Helper {
        name: "load_pack",
        needs: &["pack"],
        text: "\
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from) {
    union {
        typename Word<sizeof(T) * N>::Type word;
        Pack<T, N> pack;
    } value;
    value.word = *reinterpret_cast<const decltype(value.word)*>(from);
    return value.pack;
}
",
    },
    Helper {
        name: "store_pack",
        needs: &["pack"],
        text: "\
template <int N, class T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
    union {
        typename Word<sizeof(T) * N>::Type word;
        Pack<T, N> pack;
    } value;
    value.pack = pack;
    *reinterpret_cast<decltype(value.word)*>(to) = value.word;
}
",
    },
    Helper {
        name: "shuffle",
        needs: &[],
        text: "\
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
",
    },
    Helper {
        name: "across_team",
        needs: &["shuffle"],
        text: "\
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
",
    },
    Helper {
        name: "status",
        needs: &["shuffle"],
        text: "\
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
",
    },
    Helper {
        name: "scan",
        needs: &["status", "across_team"],
        text: "\
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
",
    },
    Helper {
        name: "copy_async",
        needs: &[],
        text: "\
// Starts a copy of 16 bytes to shared memory; zeros where `valid` does not hold.
__device__ __forceinline__ void copy_async_16(void* to, const void* from, bool valid) {
    const u32 at = (u32)__cvta_generic_to_shared(to);
    const int bytes = valid ? 16 : 0;
    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" ::\"r\"(at), \"l\"(from), \"r\"(bytes) : \"memory\");
}

// Ends a group of copies.
__device__ __forceinline__ void commit_copies() { asm volatile(\"cp.async.commit_group;\" ::: \"memory\"); }

// Waits until at most so many of this thread's groups are on their way.
template <int GROUPS>
__device__ __forceinline__ void wait_for_copies() { asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(GROUPS) : \"memory\"); }
",
    },
    Helper {
        name: "mma_tf32",
        needs: &[],
        text: "\
// A value as the sum of two that TF32 holds, but for the last bits.
__device__ __forceinline__ void split_tf32(f32 value, u32& high, u32& low) {
    high = __float_as_uint(value) & 0xffffe000u;
    low = __float_as_uint(value - __uint_as_float(high));
}

// sum += a * b for a 16 by 8 times an 8 by 8 matrix, spread over a warp.
__device__ __forceinline__ void mma_tf32(f32 (&sum)[4], const u32 (&a)[4], const u32 (&b)[2]) {
    asm(
        \"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"
        : \"+f\"(sum[0]), \"+f\"(sum[1]), \"+f\"(sum[2]), \"+f\"(sum[3])
        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]), \"r\"(b[1]));
}
",
    },
];

/// The texts of the helpers in `used` and of those they need, in order.
pub(super) fn texts(used: &BTreeSet<&'static str>) -> String {
    let mut wanted = used.clone();
    // Callees come before callers, so one pass from the end finds them all.
    for helper in HELPERS.iter().rev() {
        if wanted.contains(helper.name) {
            wanted.extend(helper.needs);
        }
    }
    let chosen = HELPERS.iter().filter(|helper| wanted.contains(helper.name));
    chosen
        .map(|helper| format!("\n{}", helper.text))
        .collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_first_and_exist() {
        for (at, helper) in HELPERS.iter().enumerate() {
            for need in helper.needs {
                let found = HELPERS.iter().position(|other| other.name == *need);
                assert!(
                    found.is_some_and(|found| found < at),
                    "{}: {need}",
                    helper.name
                );
            }
        }
    }
}
