//! Sixteen `u64`: what depends on the sign.

pub(super) use super::long::*;
use super::mask::{M, join as join_mask};
use super::{f32x, f64x};
use core::arch::x86_64::*;

binary_pair! {
    min = _mm512_min_epu64;
    max = _mm512_max_epu64;
    shr = _mm512_srlv_epi64;
}

fns! {
    pub(super) fn splat(value: u64) -> V { [_mm512_set1_epi64(value as i64); 2] }
    pub(super) fn gt(a: V, b: V) -> M {
        join_mask([_mm512_cmpgt_epu64_mask(a[0], b[0]), _mm512_cmpgt_epu64_mask(a[1], b[1])])
    }
    pub(super) fn to_f32(a: V) -> f32x::V { f32x::join(_mm512_cvtepu64_ps(a[0]), _mm512_cvtepu64_ps(a[1])) }
    pub(super) fn to_f64(a: V) -> f64x::V { [_mm512_cvtepu64_pd(a[0]), _mm512_cvtepu64_pd(a[1])] }
}
