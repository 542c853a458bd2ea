//! Sixteen `f64` in two registers.

use super::mask::{self, M, join as join_mask, split as split_mask};
use super::{f32x, long, word};
use core::arch::x86_64::*;

pub(super) type V = [__m512d; 2];

/// Rounding modes of `roundscale`: to this direction, no exception.
const NEAREST: i32 = 0x08;
const DOWN: i32 = 0x09;
const UP: i32 = 0x0a;
const TOWARDS_ZERO: i32 = 0x0b;

binary_pair! {
    add = _mm512_add_pd;
    sub = _mm512_sub_pd;
    mul = _mm512_mul_pd;
    div = _mm512_div_pd;
    max = _mm512_max_pd;
    min = _mm512_min_pd;
    and = _mm512_and_pd;
    andnot = _mm512_andnot_pd;
    or = _mm512_or_pd;
    xor = _mm512_xor_pd;
    scale = _mm512_scalef_pd;
}

unary_pair! {
    sqrt = _mm512_sqrt_pd;
    floor = _mm512_roundscale_pd::<DOWN>;
    ceil = _mm512_roundscale_pd::<UP>;
    trunc = _mm512_roundscale_pd::<TOWARDS_ZERO>;
    round_ties_even = _mm512_roundscale_pd::<NEAREST>;
}

fns! {
    pub(super) fn splat(value: f64) -> V { [_mm512_set1_pd(value); 2] }
    pub(super) fn from_bits(a: long::V) -> V { [_mm512_castsi512_pd(a[0]), _mm512_castsi512_pd(a[1])] }
    pub(super) fn to_bits(a: V) -> long::V { [_mm512_castpd_si512(a[0]), _mm512_castpd_si512(a[1])] }
    pub(super) fn fma(a: V, b: V, c: V) -> V {
        [_mm512_fmadd_pd(a[0], b[0], c[0]), _mm512_fmadd_pd(a[1], b[1], c[1])]
    }
    pub(super) fn fnma(a: V, b: V, c: V) -> V {
        [_mm512_fnmadd_pd(a[0], b[0], c[0]), _mm512_fnmadd_pd(a[1], b[1], c[1])]
    }
    pub(super) fn select(m: M, a: V, b: V) -> V {
        let m = split_mask(m);
        [_mm512_mask_blend_pd(m[0], b[0], a[0]), _mm512_mask_blend_pd(m[1], b[1], a[1])]
    }

    pub(super) fn lt(a: V, b: V) -> M {
        join_mask([_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a[0], b[0]), _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a[1], b[1])])
    }
    pub(super) fn le(a: V, b: V) -> M {
        join_mask([_mm512_cmp_pd_mask::<_CMP_LE_OQ>(a[0], b[0]), _mm512_cmp_pd_mask::<_CMP_LE_OQ>(a[1], b[1])])
    }
    pub(super) fn eq(a: V, b: V) -> M {
        join_mask([_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(a[0], b[0]), _mm512_cmp_pd_mask::<_CMP_EQ_OQ>(a[1], b[1])])
    }
    pub(super) fn ne(a: V, b: V) -> M {
        join_mask([_mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(a[0], b[0]), _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(a[1], b[1])])
    }

    pub(super) fn to_i32(a: V) -> word::V {
        // Both ends of the range are exact in f64, so clamping is enough; NaN goes to 0 at the end.
        let inside = min(max(splat(-2147483648.0), a), splat(2147483647.0));
        let t = word::join(_mm512_cvttpd_epi32(inside[0]), _mm512_cvttpd_epi32(inside[1]));
        _mm512_maskz_mov_epi32(eq(a, a), t)
    }
    pub(super) fn to_u32(a: V) -> word::V {
        // The maximum turns negative lanes and NaN to 0; above the range the conversion gives all ones.
        let a = max(a, splat(0.0));
        word::join(_mm512_cvttpd_epu32(a[0]), _mm512_cvttpd_epu32(a[1]))
    }
    pub(super) fn to_i64(a: V) -> long::V {
        // Out of range gives i64::MIN, wrong only for large positive lanes and NaN.
        let convert = |a: __m512d| {
            let t = _mm512_cvttpd_epi64(a);
            let large = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a, _mm512_set1_pd(9223372036854775808.0));
            let t = _mm512_mask_mov_epi64(t, large, _mm512_set1_epi64(i64::MAX));
            _mm512_maskz_mov_epi64(_mm512_cmp_pd_mask::<_CMP_ORD_Q>(a, a), t)
        };
        [convert(a[0]), convert(a[1])]
    }
    pub(super) fn to_u64(a: V) -> long::V {
        let a = max(a, splat(0.0));
        [_mm512_cvttpd_epu64(a[0]), _mm512_cvttpd_epu64(a[1])]
    }
    pub(super) fn to_f32(a: V) -> f32x::V { f32x::join(_mm512_cvtpd_ps(a[0]), _mm512_cvtpd_ps(a[1])) }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        let v = match N {
            8 => a[1],
            4 => _mm512_shuffle_f64x2::<0b00_00_11_10>(a[0], a[0]),
            2 => _mm512_shuffle_f64x2::<0b00_00_00_01>(a[0], a[0]),
            _ => _mm512_permute_pd::<1>(a[0]),
        };
        [v, v]
    }

    /// As in `f32x`.
    pub(super) fn split(a: V) -> (V, V) {
        let m = [
            _mm512_getmant_pd::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_NAN>(a[0]),
            _mm512_getmant_pd::<_MM_MANT_NORM_P75_1P5, _MM_MANT_SIGN_NAN>(a[1]),
        ];
        let exponent = |a: V| [_mm512_getexp_pd(a[0]), _mm512_getexp_pd(a[1])];
        (m, sub(exponent(a), exponent(m)))
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const f64) -> V { [_mm512_loadu_pd(p), _mm512_loadu_pd(p.add(8))] }
    pub(super) fn load_masked(p: *const f64, m: M) -> V {
        let m = split_mask(m);
        // The second half may lie outside the allocation if its mask is empty, hence the wrapping sum.
        [_mm512_maskz_loadu_pd(m[0], p), _mm512_maskz_loadu_pd(m[1], p.wrapping_add(8))]
    }
    pub(super) fn store(p: *mut f64, a: V) {
        _mm512_storeu_pd(p, a[0]);
        _mm512_storeu_pd(p.add(8), a[1]);
    }
    pub(super) fn store_masked(p: *mut f64, a: V, m: M) {
        let m = split_mask(m);
        _mm512_mask_storeu_pd(p, m[0], a[0]);
        _mm512_mask_storeu_pd(p.wrapping_add(8), m[1], a[1]);
    }
    pub(super) fn stream(p: *mut f64, a: V) {
        _mm512_stream_pd(p, a[0]);
        _mm512_stream_pd(p.add(8), a[1]);
    }
    pub(super) fn gather(p: *const f64, i: word::V) -> V {
        [_mm512_i32gather_pd::<8>(word::low(i), p), _mm512_i32gather_pd::<8>(word::high(i), p)]
    }
    pub(super) fn gather_masked(p: *const f64, i: word::V, m: M) -> V {
        let m = split_mask(m);
        let zero = _mm512_setzero_pd();
        [
            _mm512_mask_i32gather_pd::<8>(zero, m[0], word::low(i), p),
            _mm512_mask_i32gather_pd::<8>(zero, m[1], word::high(i), p),
        ]
    }
    pub(super) fn gather_at(p: *const f64, i: long::V, m: M) -> V {
        let (m, zero) = (mask::split(m), _mm512_setzero_pd());
        [_mm512_mask_i64gather_pd::<8>(zero, m[0], i[0], p), _mm512_mask_i64gather_pd::<8>(zero, m[1], i[1], p)]
    }
    pub(super) fn scatter_at(p: *mut f64, i: long::V, m: M, a: V) {
        let m = mask::split(m);
        _mm512_mask_i64scatter_pd::<8>(p, m[0], i[0], a[0]);
        _mm512_mask_i64scatter_pd::<8>(p, m[1], i[1], a[1]);
    }
}
