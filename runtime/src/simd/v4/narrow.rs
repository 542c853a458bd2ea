//! Sixteen narrow values and their conversions to and from 32 bits.

use super::{f32x, u32x, word};
use core::arch::x86_64::*;

/// Sixteen 16-bit values.
type Half = __m256i;

fns! {
    pub(super) fn from_i8(a: __m128i) -> word::V { _mm512_cvtepi8_epi32(a) }
    pub(super) fn from_u8(a: __m128i) -> word::V { _mm512_cvtepu8_epi32(a) }
    pub(super) fn from_i16(a: Half) -> word::V { _mm512_cvtepi16_epi32(a) }
    pub(super) fn from_u16(a: Half) -> word::V { _mm512_cvtepu16_epi32(a) }
    pub(super) fn to_8(a: word::V) -> __m128i { _mm512_cvtepi32_epi8(a) }
    pub(super) fn to_16(a: word::V) -> Half { _mm512_cvtepi32_epi16(a) }
    pub(super) fn from_f16(a: Half) -> f32x::V { _mm512_cvtph_ps(a) }
    pub(super) fn to_f16(a: f32x::V) -> Half { _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(a) }
}

bfloat16!();

unsafe_fns! {
    pub(super) fn load8(p: *const u8) -> __m128i { _mm_loadu_si128(p.cast()) }
    pub(super) fn store8(p: *mut u8, a: __m128i) { _mm_storeu_si128(p.cast(), a) }
    pub(super) fn load16(p: *const u16) -> Half { _mm256_loadu_si256(p.cast()) }
    pub(super) fn store16(p: *mut u16, a: Half) { _mm256_storeu_si256(p.cast(), a) }
}

/// The same for the first `n` values.
pub(super) mod partial {
    use super::super::mask::first;
    use core::arch::x86_64::*;

    unsafe_fns! {
        pub fn load8(p: *const u8, n: usize) -> __m128i { _mm_maskz_loadu_epi8(first(n), p.cast()) }
        pub fn store8(p: *mut u8, a: __m128i, n: usize) { _mm_mask_storeu_epi8(p.cast(), first(n), a) }
        pub fn load16(p: *const u16, n: usize) -> __m256i { _mm256_maskz_loadu_epi16(first(n), p.cast()) }
        pub fn store16(p: *mut u16, a: __m256i, n: usize) { _mm256_mask_storeu_epi16(p.cast(), first(n), a) }
    }
}

/// Which of the bytes that [`every`] loads go where, for each of its loads.
const fn picks<const S: usize>() -> [[i8; 16]; S] {
    let mut picks = [[-1; 16]; S];
    let mut lane = 0;
    while lane < 16 {
        let at = S * lane;
        let load = if at / 16 < S - 1 { at / 16 } else { S - 1 };
        picks[load][lane] = (at - start::<S>(load)) as i8;
        lane += 1;
    }
    picks
}

/// Where load `load` of [`every`] starts: the last one ends with the last byte that is wanted.
const fn start<const S: usize>(load: usize) -> usize {
    if load + 1 < S {
        16 * load
    } else {
        15 * S + 1 - 16
    }
}

/// Bytes `0`, `S`, `2 * S` and so on, one for each lane.
///
/// # Safety
/// The `15 * S + 1` bytes at `p` are readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,f16c,bmi2,popcnt")]
pub(super) unsafe fn every<const S: usize>(p: *const u8) -> __m128i {
    let picks = const { picks::<S>() };
    let mut all = _mm_setzero_si128();
    for (load, pick) in picks.iter().enumerate() {
        // SAFETY: every load lies between the first and the last byte that is wanted; the picks
        // are an array of 16 bytes.
        let (bytes, pick) = unsafe {
            (
                _mm_loadu_si128(p.add(start::<S>(load)).cast()),
                _mm_loadu_si128(pick.as_ptr().cast()),
            )
        };
        all = _mm_or_si128(all, _mm_shuffle_epi8(bytes, pick));
    }
    all
}
