//! Sixteen `u32`: what depends on the sign.

use super::mask::M;
pub(super) use super::word::*;
use super::{f32x, f64x, long};
use core::arch::x86_64::*;

binary! {
    min = _mm512_min_epu32;
    max = _mm512_max_epu32;
    shr = _mm512_srlv_epi32;
}

fns! {
    pub(super) fn splat(value: u32) -> V { _mm512_set1_epi32(value as i32) }
    pub(super) fn gt(a: V, b: V) -> M { _mm512_cmpgt_epu32_mask(a, b) }
    pub(super) fn to_long(a: V) -> long::V { [_mm512_cvtepu32_epi64(low(a)), _mm512_cvtepu32_epi64(high(a))] }
    pub(super) fn to_f32(a: V) -> f32x::V { _mm512_cvtepu32_ps(a) }
    pub(super) fn to_f64(a: V) -> f64x::V { [_mm512_cvtepu32_pd(low(a)), _mm512_cvtepu32_pd(high(a))] }
}
