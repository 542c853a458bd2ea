//! Eight `f64` in two registers.

use super::mask::{self, M, join as join_mask, split as split_mask};
use super::{f32x, long, word};
use core::arch::x86_64::*;

pub(super) type V = [__m256d; 2];

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

binary_pair! {
    add = _mm256_add_pd;
    sub = _mm256_sub_pd;
    mul = _mm256_mul_pd;
    div = _mm256_div_pd;
    max = _mm256_max_pd;
    min = _mm256_min_pd;
    and = _mm256_and_pd;
    andnot = _mm256_andnot_pd;
    or = _mm256_or_pd;
    xor = _mm256_xor_pd;
}

unary_pair! {
    sqrt = _mm256_sqrt_pd;
    floor = _mm256_floor_pd;
    ceil = _mm256_ceil_pd;
    trunc = _mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>;
    round_ties_even = _mm256_round_pd::<NEAREST>;
}

fns! {
    pub(super) fn splat(value: f64) -> V { [_mm256_set1_pd(value); 2] }
    pub(super) fn from_bits(a: long::V) -> V { [_mm256_castsi256_pd(a[0]), _mm256_castsi256_pd(a[1])] }
    pub(super) fn to_bits(a: V) -> long::V { [_mm256_castpd_si256(a[0]), _mm256_castpd_si256(a[1])] }
    pub(super) fn fma(a: V, b: V, c: V) -> V {
        [_mm256_fmadd_pd(a[0], b[0], c[0]), _mm256_fmadd_pd(a[1], b[1], c[1])]
    }
    pub(super) fn fnma(a: V, b: V, c: V) -> V {
        [_mm256_fnmadd_pd(a[0], b[0], c[0]), _mm256_fnmadd_pd(a[1], b[1], c[1])]
    }
    pub(super) fn select(m: M, a: V, b: V) -> V {
        let m = from_bits(split_mask(m));
        [_mm256_blendv_pd(b[0], a[0], m[0]), _mm256_blendv_pd(b[1], a[1], m[1])]
    }

    pub(super) fn lt(a: V, b: V) -> M {
        join_mask(to_bits([_mm256_cmp_pd::<_CMP_LT_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_LT_OQ>(a[1], b[1])]))
    }
    pub(super) fn le(a: V, b: V) -> M {
        join_mask(to_bits([_mm256_cmp_pd::<_CMP_LE_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_LE_OQ>(a[1], b[1])]))
    }
    pub(super) fn eq(a: V, b: V) -> M {
        join_mask(to_bits([_mm256_cmp_pd::<_CMP_EQ_OQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_EQ_OQ>(a[1], b[1])]))
    }
    pub(super) fn ne(a: V, b: V) -> M {
        join_mask(to_bits([_mm256_cmp_pd::<_CMP_NEQ_UQ>(a[0], b[0]), _mm256_cmp_pd::<_CMP_NEQ_UQ>(a[1], b[1])]))
    }

    pub(super) fn to_i32(a: V) -> word::V {
        // Both ends of the range are exact in f64, so clamping is enough; NaN goes to 0 at the end.
        let inside = min(max(splat(-2147483648.0), a), splat(2147483647.0));
        let t = word::join(_mm256_cvttpd_epi32(inside[0]), _mm256_cvttpd_epi32(inside[1]));
        _mm256_and_si256(eq(a, a), t)
    }
    pub(super) fn to_u32(a: V) -> word::V {
        // As in `to_i32`; the upper half of the range is converted 2^31 lower.
        let a = min(max(a, splat(0.0)), splat(4294967295.0));
        let half = splat(2147483648.0);
        let large = le(half, a);
        let a = sub(a, and(half, from_bits(split_mask(large))));
        let t = word::join(_mm256_cvttpd_epi32(a[0]), _mm256_cvttpd_epi32(a[1]));
        _mm256_xor_si256(t, _mm256_slli_epi32::<31>(large))
    }
    pub(super) fn to_i64(a: V) -> long::V { long::from_lanes(lanes(a).map(|v| v as i64)) }
    pub(super) fn to_u64(a: V) -> long::V { long::from_lanes(lanes(a).map(|v| v as u64 as i64)) }
    pub(super) fn to_f32(a: V) -> f32x::V { f32x::join(_mm256_cvtpd_ps(a[0]), _mm256_cvtpd_ps(a[1])) }

    pub(super) fn lanes(a: V) -> [f64; 8] {
        // SAFETY: the registers and the array are plain data of the same size.
        unsafe { std::mem::transmute::<V, [f64; 8]>(a) }
    }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        let v = match N {
            4 => a[1],
            2 => _mm256_permute2f128_pd::<1>(a[0], a[0]),
            _ => _mm256_permute_pd::<1>(a[0]),
        };
        [v, v]
    }

    /// `a * 2^n` with one rounding, for integral `n` from -2044 to 2046.
    pub(super) fn scale(a: V, n: V) -> V {
        // 2^n itself may be out of range, its two halves are not.
        let power = |n: __m128i| {
            let n = _mm256_cvtepi32_epi64(_mm_add_epi32(n, _mm_set1_epi32(1023)));
            _mm256_castsi256_pd(_mm256_slli_epi64::<52>(n))
        };
        let scale = |a: __m256d, n: __m256d| {
            let n = _mm256_cvtpd_epi32(n);
            let half = _mm_srai_epi32::<1>(n);
            _mm256_mul_pd(_mm256_mul_pd(a, power(half)), power(_mm_sub_epi32(n, half)))
        };
        [scale(a[0], n[0]), scale(a[1], n[1])]
    }

    /// As in `f32x`.
    pub(super) fn split(a: V) -> (V, V) {
        let tiny = lt(a, splat(f64::MIN_POSITIVE));
        let bits = to_bits(select(tiny, mul(a, splat(18014398509481984.0)), a));
        // The top 12 bits of a sum that cannot be negative for positive `a`: the exponent, biased by 1023 + 1024.
        let biased = |b: __m256i| _mm256_add_epi64(b, _mm256_set1_epi64x((1024 << 52) - 0x3fe8_0000_0000_0000 + (1023 << 52)));
        let shift = |b: __m256i| _mm256_srli_epi64::<52>(biased(b));
        let k = [shift(bits[0]), shift(bits[1])];
        let mantissa = |b: __m256i, k: __m256i| {
            _mm256_sub_epi64(b, _mm256_slli_epi64::<52>(_mm256_sub_epi64(k, _mm256_set1_epi64x(2047))))
        };
        let m = from_bits([mantissa(bits[0], k[0]), mantissa(bits[1], k[1])]);
        // A small integer or-ed into 2^52 and subtracted again is that integer as a float.
        let magic = splat(4503599627370496.0);
        let k = sub(or(from_bits(k), magic), splat(4503599627370496.0 + 2047.0));
        let k = select(tiny, sub(k, splat(54.0)), k);
        let k = select(eq(a, splat(0.0)), splat(f64::NEG_INFINITY), k);
        let k = select(eq(a, splat(f64::INFINITY)), a, k);
        let m = select(le(splat(0.0), a), m, splat(f64::NAN));
        (m, k)
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const f64) -> V { [_mm256_loadu_pd(p), _mm256_loadu_pd(p.add(4))] }
    pub(super) fn load_masked(p: *const f64, m: M) -> V {
        let m = split_mask(m);
        // The second half may lie outside the allocation if its mask is empty, hence the wrapping sum.
        [_mm256_maskload_pd(p, m[0]), _mm256_maskload_pd(p.wrapping_add(4), m[1])]
    }
    pub(super) fn store(p: *mut f64, a: V) {
        _mm256_storeu_pd(p, a[0]);
        _mm256_storeu_pd(p.add(4), a[1]);
    }
    pub(super) fn store_masked(p: *mut f64, a: V, m: M) {
        let m = split_mask(m);
        _mm256_maskstore_pd(p, m[0], a[0]);
        _mm256_maskstore_pd(p.wrapping_add(4), m[1], a[1]);
    }
    pub(super) fn stream(p: *mut f64, a: V) {
        _mm256_stream_pd(p, a[0]);
        _mm256_stream_pd(p.add(4), a[1]);
    }
    pub(super) fn gather(p: *const f64, i: word::V) -> V {
        [_mm256_i32gather_pd::<8>(p, word::low(i)), _mm256_i32gather_pd::<8>(p, word::high(i))]
    }
    pub(super) fn gather_masked(p: *const f64, i: word::V, m: M) -> V {
        let m = from_bits(split_mask(m));
        let zero = _mm256_setzero_pd();
        [
            _mm256_mask_i32gather_pd::<8>(zero, p, word::low(i), m[0]),
            _mm256_mask_i32gather_pd::<8>(zero, p, word::high(i), m[1]),
        ]
    }
    pub(super) fn gather_at(p: *const f64, i: long::V, m: M) -> V {
        let (m, zero) = (mask::split(m), _mm256_setzero_pd());
        [
            _mm256_mask_i64gather_pd::<8>(zero, p, i[0], _mm256_castsi256_pd(m[0])),
            _mm256_mask_i64gather_pd::<8>(zero, p, i[1], _mm256_castsi256_pd(m[1])),
        ]
    }
    pub(super) fn scatter_at(p: *mut f64, i: long::V, m: M, a: V) {
        // AVX2 has no scatter.
        let (at, on, lanes) = (long::lanes(i), mask::to_bits(m), std::mem::transmute::<V, [f64; 8]>(a));
        for lane in 0..8 {
            if on >> lane & 1 == 1 {
                *p.add(at[lane] as usize) = lanes[lane];
            }
        }
    }
}
