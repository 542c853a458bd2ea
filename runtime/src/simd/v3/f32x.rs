//! Eight `f32` in one register.

use super::mask::{self, M};
use super::{f64x, long, word};
use core::arch::x86_64::*;

pub(super) type V = __m256;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

binary! {
    add = _mm256_add_ps;
    sub = _mm256_sub_ps;
    mul = _mm256_mul_ps;
    div = _mm256_div_ps;
    max = _mm256_max_ps;
    min = _mm256_min_ps;
    and = _mm256_and_ps;
    andnot = _mm256_andnot_ps;
    or = _mm256_or_ps;
    xor = _mm256_xor_ps;
}

unary! {
    sqrt = _mm256_sqrt_ps;
    floor = _mm256_floor_ps;
    ceil = _mm256_ceil_ps;
    trunc = _mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>;
    round_ties_even = _mm256_round_ps::<NEAREST>;
}

fns! {
    pub(super) fn splat(value: f32) -> V { _mm256_set1_ps(value) }
    pub(super) fn from_bits(bits: word::V) -> V { _mm256_castsi256_ps(bits) }
    pub(super) fn to_bits(a: V) -> word::V { _mm256_castps_si256(a) }
    pub(super) fn fma(a: V, b: V, c: V) -> V { _mm256_fmadd_ps(a, b, c) }
    pub(super) fn fnma(a: V, b: V, c: V) -> V { _mm256_fnmadd_ps(a, b, c) }
    pub(super) fn select(m: M, a: V, b: V) -> V { _mm256_blendv_ps(b, a, _mm256_castsi256_ps(m)) }

    pub(super) fn lt(a: V, b: V) -> M { to_bits(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
    pub(super) fn le(a: V, b: V) -> M { to_bits(_mm256_cmp_ps::<_CMP_LE_OQ>(a, b)) }
    pub(super) fn eq(a: V, b: V) -> M { to_bits(_mm256_cmp_ps::<_CMP_EQ_OQ>(a, b)) }
    pub(super) fn ne(a: V, b: V) -> M { to_bits(_mm256_cmp_ps::<_CMP_NEQ_UQ>(a, b)) }

    pub(super) fn to_i32(a: V) -> word::V {
        // Out of range gives i32::MIN, wrong only for large positive lanes and NaN.
        let t = _mm256_cvttps_epi32(a);
        let t = word::select(le(splat(2147483648.0), a), _mm256_set1_epi32(i32::MAX), t);
        _mm256_and_si256(eq(a, a), t)
    }
    pub(super) fn to_u32(a: V) -> word::V {
        // The maximum turns negative lanes and NaN to 0. The upper half of the range is converted 2^31 lower.
        let a = max(a, splat(0.0));
        let half = splat(2147483648.0);
        let large = le(half, a);
        let t = _mm256_cvttps_epi32(sub(a, and(half, from_bits(large))));
        let t = _mm256_xor_si256(t, _mm256_slli_epi32::<31>(large));
        _mm256_or_si256(t, le(splat(4294967296.0), a))
    }
    pub(super) fn to_i64(a: V) -> long::V { long::from_lanes(lanes(a).map(|v| v as i64)) }
    pub(super) fn to_u64(a: V) -> long::V { long::from_lanes(lanes(a).map(|v| v as u64 as i64)) }
    pub(super) fn to_f64(a: V) -> f64x::V { [_mm256_cvtps_pd(low(a)), _mm256_cvtps_pd(high(a))] }

    pub(super) fn low(a: V) -> __m128 { _mm256_castps256_ps128(a) }
    pub(super) fn high(a: V) -> __m128 { _mm256_extractf128_ps::<1>(a) }
    pub(super) fn join(low: __m128, high: __m128) -> V { _mm256_set_m128(high, low) }
    pub(super) fn lanes(a: V) -> [f32; 8] {
        // SAFETY: the register and the array are plain data of the same size.
        unsafe { std::mem::transmute::<V, [f32; 8]>(a) }
    }
    pub(super) fn from_lanes(a: [f32; 8]) -> V {
        // SAFETY: the register and the array are plain data of the same size.
        unsafe { std::mem::transmute::<[f32; 8], V>(a) }
    }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        match N {
            4 => _mm256_permute2f128_ps::<1>(a, a),
            2 => _mm256_permute_ps::<0b00_00_11_10>(a),
            _ => _mm256_permute_ps::<0b00_00_00_01>(a),
        }
    }

    /// `a * 2^n` with one rounding, for integral `n` from -252 to 254.
    pub(super) fn scale(a: V, n: V) -> V {
        // 2^n itself may be out of range, its two halves are not.
        let n = _mm256_cvtps_epi32(n);
        let half = _mm256_srai_epi32::<1>(n);
        let power = |n| from_bits(_mm256_slli_epi32::<23>(_mm256_add_epi32(n, _mm256_set1_epi32(127))));
        mul(mul(a, power(half)), power(_mm256_sub_epi32(n, half)))
    }

    /// `(m, k)` with `a == m * 2^k` and `m` in [0.75, 1.5). A zero has `k` -inf, infinity has `k` inf and `m` 1,
    /// negative numbers and NaN have `m` NaN; of -0 `m` is any number.
    pub(super) fn split(a: V) -> (V, V) {
        let tiny = lt(a, splat(f32::MIN_POSITIVE));
        let normal = select(tiny, mul(a, splat(33554432.0)), a);
        let bits = to_bits(normal);
        let k = _mm256_srai_epi32::<23>(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f40_0000)));
        let m = from_bits(_mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(k)));
        let k = _mm256_add_epi32(k, _mm256_and_si256(tiny, _mm256_set1_epi32(-25)));
        let k = _mm256_cvtepi32_ps(k);
        let k = select(eq(a, splat(0.0)), splat(f32::NEG_INFINITY), k);
        let k = select(eq(a, splat(f32::INFINITY)), a, k);
        let m = select(le(splat(0.0), a), m, splat(f32::NAN));
        (m, k)
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const f32) -> V { _mm256_loadu_ps(p) }
    pub(super) fn load_masked(p: *const f32, m: M) -> V { _mm256_maskload_ps(p, m) }
    pub(super) fn store(p: *mut f32, a: V) { _mm256_storeu_ps(p, a) }
    pub(super) fn store_masked(p: *mut f32, a: V, m: M) { _mm256_maskstore_ps(p, m, a) }
    pub(super) fn stream(p: *mut f32, a: V) { _mm256_stream_ps(p, a) }
    pub(super) fn gather(p: *const f32, i: word::V) -> V { _mm256_i32gather_ps::<4>(p, i) }
    pub(super) fn gather_masked(p: *const f32, i: word::V, m: M) -> V {
        _mm256_mask_i32gather_ps::<4>(_mm256_setzero_ps(), p, i, from_bits(m))
    }
    pub(super) fn gather_at(p: *const f32, i: long::V, m: M) -> V {
        let (m, zero) = (_mm256_castsi256_ps(m), _mm_setzero_ps());
        _mm256_set_m128(
            _mm256_mask_i64gather_ps::<4>(zero, p, i[1], _mm256_extractf128_ps::<1>(m)),
            _mm256_mask_i64gather_ps::<4>(zero, p, i[0], _mm256_castps256_ps128(m)),
        )
    }
    pub(super) fn scatter_at(p: *mut f32, i: long::V, m: M, a: V) {
        // AVX2 has no scatter.
        let (at, on, lanes) = (long::lanes(i), mask::to_bits(m), std::mem::transmute::<V, [f32; 8]>(a));
        for lane in 0..8 {
            if on >> lane & 1 == 1 {
                *p.add(at[lane] as usize) = lanes[lane];
            }
        }
    }
}
