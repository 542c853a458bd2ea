//! Sixteen `f32` in one register.

use super::mask::{self, M};
use super::{f64x, long, word};
use core::arch::x86_64::*;

pub(super) type V = __m512;

/// Rounding modes of `roundscale`: to this direction, no exception.
const NEAREST: i32 = 0x08;
const DOWN: i32 = 0x09;
const UP: i32 = 0x0a;
const TOWARDS_ZERO: i32 = 0x0b;

binary! {
    add = _mm512_add_ps;
    sub = _mm512_sub_ps;
    mul = _mm512_mul_ps;
    div = _mm512_div_ps;
    max = _mm512_max_ps;
    min = _mm512_min_ps;
    and = _mm512_and_ps;
    andnot = _mm512_andnot_ps;
    or = _mm512_or_ps;
    xor = _mm512_xor_ps;
    scale = _mm512_scalef_ps;
}

unary! {
    sqrt = _mm512_sqrt_ps;
    floor = _mm512_roundscale_ps::<DOWN>;
    ceil = _mm512_roundscale_ps::<UP>;
    trunc = _mm512_roundscale_ps::<TOWARDS_ZERO>;
    round_ties_even = _mm512_roundscale_ps::<NEAREST>;
}

fns! {
    pub(super) fn splat(value: f32) -> V { _mm512_set1_ps(value) }
    pub(super) fn from_bits(bits: word::V) -> V { _mm512_castsi512_ps(bits) }
    pub(super) fn to_bits(a: V) -> word::V { _mm512_castps_si512(a) }
    pub(super) fn fma(a: V, b: V, c: V) -> V { _mm512_fmadd_ps(a, b, c) }
    pub(super) fn fnma(a: V, b: V, c: V) -> V { _mm512_fnmadd_ps(a, b, c) }
    pub(super) fn select(m: M, a: V, b: V) -> V { _mm512_mask_blend_ps(m, b, a) }

    pub(super) fn lt(a: V, b: V) -> M { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b) }
    pub(super) fn le(a: V, b: V) -> M { _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b) }
    pub(super) fn eq(a: V, b: V) -> M { _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b) }
    pub(super) fn ne(a: V, b: V) -> M { _mm512_cmp_ps_mask::<_CMP_NEQ_UQ>(a, b) }

    pub(super) fn to_i32(a: V) -> word::V {
        // Out of range gives i32::MIN, wrong only for large positive lanes and NaN.
        let t = _mm512_cvttps_epi32(a);
        let large = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, splat(2147483648.0));
        let t = _mm512_mask_mov_epi32(t, large, _mm512_set1_epi32(i32::MAX));
        _mm512_maskz_mov_epi32(eq(a, a), t)
    }
    pub(super) fn to_u32(a: V) -> word::V {
        // The maximum turns negative lanes and NaN to 0; above the range the conversion gives all ones.
        _mm512_cvttps_epu32(max(a, splat(0.0)))
    }
    pub(super) fn to_i64(a: V) -> long::V {
        let convert = |a: __m256| {
            let t = _mm512_cvttps_epi64(a);
            let large = _mm256_cmp_ps_mask::<_CMP_GE_OQ>(a, _mm256_set1_ps(9223372036854775808.0));
            let t = _mm512_mask_mov_epi64(t, large, _mm512_set1_epi64(i64::MAX));
            _mm512_maskz_mov_epi64(_mm256_cmp_ps_mask::<_CMP_ORD_Q>(a, a), t)
        };
        [convert(low(a)), convert(high(a))]
    }
    pub(super) fn to_u64(a: V) -> long::V {
        let a = max(a, splat(0.0));
        [_mm512_cvttps_epu64(low(a)), _mm512_cvttps_epu64(high(a))]
    }
    pub(super) fn to_f64(a: V) -> f64x::V { [_mm512_cvtps_pd(low(a)), _mm512_cvtps_pd(high(a))] }

    pub(super) fn low(a: V) -> __m256 { _mm512_castps512_ps256(a) }
    pub(super) fn high(a: V) -> __m256 { _mm512_extractf32x8_ps::<1>(a) }
    pub(super) fn join(low: __m256, high: __m256) -> V { _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high) }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        match N {
            8 => _mm512_shuffle_f32x4::<0b01_00_11_10>(a, a),
            4 => _mm512_shuffle_f32x4::<0b00_00_00_01>(a, a),
            2 => _mm512_permute_ps::<0b00_00_11_10>(a),
            _ => _mm512_permute_ps::<0b00_00_00_01>(a),
        }
    }

    /// `(m, k)` with `a == m * 2^k` and `m` in [0.75, 1.5). A zero has `k` -inf, infinity has `k` inf and `m` 1,
    /// negative numbers and NaN have `m` NaN; of -0 `m` is any number.
    pub(super) fn split(a: V) -> (V, V) {
        let m = _mm512_getmant_ps::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_NAN>(a);
        // `getmant` does not tell which way it went, but the exponent of its result does.
        let k = sub(_mm512_getexp_ps(a), _mm512_getexp_ps(m));
        (m, k)
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const f32) -> V { _mm512_loadu_ps(p) }
    pub(super) fn load_masked(p: *const f32, m: M) -> V { _mm512_maskz_loadu_ps(m, p) }
    pub(super) fn store(p: *mut f32, a: V) { _mm512_storeu_ps(p, a) }
    pub(super) fn store_masked(p: *mut f32, a: V, m: M) { _mm512_mask_storeu_ps(p, m, a) }
    pub(super) fn stream(p: *mut f32, a: V) { _mm512_stream_ps(p, a) }
    pub(super) fn gather(p: *const f32, i: word::V) -> V { _mm512_i32gather_ps::<4>(i, p) }
    pub(super) fn gather_masked(p: *const f32, i: word::V, m: M) -> V {
        _mm512_mask_i32gather_ps::<4>(_mm512_setzero_ps(), m, i, p)
    }
    pub(super) fn gather_at(p: *const f32, i: long::V, m: M) -> V {
        let (m, zero) = (mask::split(m), _mm256_setzero_ps());
        join(
            _mm512_mask_i64gather_ps::<4>(zero, m[0], i[0], p),
            _mm512_mask_i64gather_ps::<4>(zero, m[1], i[1], p),
        )
    }
    pub(super) fn scatter_at(p: *mut f32, i: long::V, m: M, a: V) {
        let m = mask::split(m);
        _mm512_mask_i64scatter_ps::<4>(p, m[0], i[0], low(a));
        _mm512_mask_i64scatter_ps::<4>(p, m[1], i[1], high(a));
    }
}
