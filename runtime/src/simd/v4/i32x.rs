//! Sixteen `i32`: what depends on the sign.

use super::mask::M;
pub(super) use super::word::*;
use super::{f32x, f64x, long};
use core::arch::x86_64::*;

binary! {
    min = _mm512_min_epi32;
    max = _mm512_max_epi32;
    shr = _mm512_srav_epi32;
}

fns! {
    pub(super) fn splat(value: i32) -> V { _mm512_set1_epi32(value) }
    pub(super) fn gt(a: V, b: V) -> M { _mm512_cmpgt_epi32_mask(a, b) }
    pub(super) fn to_long(a: V) -> long::V { [_mm512_cvtepi32_epi64(low(a)), _mm512_cvtepi32_epi64(high(a))] }
    pub(super) fn to_f32(a: V) -> f32x::V { _mm512_cvtepi32_ps(a) }
    pub(super) fn to_f64(a: V) -> f64x::V { [_mm512_cvtepi32_pd(low(a)), _mm512_cvtepi32_pd(high(a))] }
}
