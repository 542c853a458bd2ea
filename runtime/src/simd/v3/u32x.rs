//! Eight `u32`: what depends on the sign.

use super::mask::M;
pub(super) use super::word::*;
use super::{f32x, f64x, long};
use core::arch::x86_64::*;

binary! {
    min = _mm256_min_epu32;
    max = _mm256_max_epu32;
    shr = _mm256_srlv_epi32;
}

fns! {
    pub(super) fn splat(value: u32) -> V { _mm256_set1_epi32(value as i32) }
    pub(super) fn gt(a: V, b: V) -> M {
        let sign = splat(1 << 31);
        _mm256_cmpgt_epi32(xor(a, sign), xor(b, sign))
    }
    pub(super) fn to_long(a: V) -> long::V { [_mm256_cvtepu32_epi64(low(a)), _mm256_cvtepu32_epi64(high(a))] }
    pub(super) fn to_f32(a: V) -> f32x::V {
        // Both halves convert exactly, so that the sum is the only rounding.
        let high = _mm256_cvtepi32_ps(_mm256_srli_epi32::<16>(a));
        let low = _mm256_cvtepi32_ps(and(a, splat(0xffff)));
        f32x::fma(high, f32x::splat(65536.0), low)
    }
    pub(super) fn to_f64(a: V) -> f64x::V {
        // The signed conversion of a - 2^31, exact like the sum.
        let a = xor(a, splat(1 << 31));
        f64x::add([_mm256_cvtepi32_pd(low(a)), _mm256_cvtepi32_pd(high(a))], f64x::splat(2147483648.0))
    }
}
