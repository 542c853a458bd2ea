//! Eight `u64`: what depends on the sign.

pub(super) use super::long::*;
use super::mask::{M, join as join_mask};
use super::{f32x, f64x};
use core::arch::x86_64::*;

fns! {
    pub(super) fn splat(value: u64) -> V { [_mm256_set1_epi64x(value as i64); 2] }
    pub(super) fn gt(a: V, b: V) -> M {
        let sign = splat(1 << 63);
        let (a, b) = (xor(a, sign), xor(b, sign));
        join_mask([_mm256_cmpgt_epi64(a[0], b[0]), _mm256_cmpgt_epi64(a[1], b[1])])
    }
    pub(super) fn min(a: V, b: V) -> V { select(gt(a, b), b, a) }
    pub(super) fn max(a: V, b: V) -> V { select(gt(a, b), a, b) }
    pub(super) fn shr(a: V, n: V) -> V { shr_zero(a, n) }
    /// Lane by lane: going through `f64` would round twice.
    pub(super) fn to_f32(a: V) -> f32x::V { f32x::from_lanes(lanes(a).map(|v| v as u64 as f32)) }
    pub(super) fn to_f64(a: V) -> f64x::V {
        // The upper half as 2^84 + upper * 2^32, the lower one as 2^52 + lower; the last sum alone rounds.
        let convert = |a: __m256i| {
            let low = _mm256_blend_epi32::<0b01010101>(_mm256_set1_epi64x(0x4330_0000_0000_0000), a);
            let high = _mm256_xor_si256(_mm256_srli_epi64::<32>(a), _mm256_set1_epi64x(0x4530_0000_0000_0000));
            let offset = _mm256_castsi256_pd(_mm256_set1_epi64x(0x4530_0000_0010_0000));
            _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), offset), _mm256_castsi256_pd(low))
        };
        [convert(a[0]), convert(a[1])]
    }
}
