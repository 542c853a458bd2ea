//! Eight narrow values and their conversions to and from 32 bits.

use super::{f32x, u32x, word};
use core::arch::x86_64::*;

/// Eight 16-bit values.
type Half = __m128i;

fns! {
    pub(super) fn from_i8(a: __m128i) -> word::V { _mm256_cvtepi8_epi32(a) }
    pub(super) fn from_u8(a: __m128i) -> word::V { _mm256_cvtepu8_epi32(a) }
    pub(super) fn from_i16(a: Half) -> word::V { _mm256_cvtepi16_epi32(a) }
    pub(super) fn from_u16(a: Half) -> word::V { _mm256_cvtepu16_epi32(a) }
    pub(super) fn to_8(a: word::V) -> __m128i {
        let pick = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
        let a = _mm256_shuffle_epi8(a, pick);
        _mm_unpacklo_epi32(word::low(a), word::high(a))
    }
    pub(super) fn to_16(a: word::V) -> Half {
        let pick = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 0, 0, 0, 0, 0, 0, 0, 0));
        let a = _mm256_shuffle_epi8(a, pick);
        _mm_unpacklo_epi64(word::low(a), word::high(a))
    }
    pub(super) fn from_f16(a: Half) -> f32x::V { _mm256_cvtph_ps(a) }
    pub(super) fn to_f16(a: f32x::V) -> Half { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(a) }
}

bfloat16!();

unsafe_fns! {
    pub(super) fn load8(p: *const u8) -> __m128i { _mm_loadl_epi64(p.cast()) }
    pub(super) fn store8(p: *mut u8, a: __m128i) { _mm_storel_epi64(p.cast(), a) }
    pub(super) fn load16(p: *const u16) -> Half { _mm_loadu_si128(p.cast()) }
    pub(super) fn store16(p: *mut u16, a: Half) { _mm_storeu_si128(p.cast(), a) }
}

/// The same for the first `n` values. AVX2 has no masks for narrow elements, so they go through the stack.
pub(super) mod partial {
    use core::arch::x86_64::*;

    unsafe_fns! {
        pub fn load8(p: *const u8, n: usize) -> __m128i {
            let mut buffer = [0u8; 8];
            p.copy_to_nonoverlapping(buffer.as_mut_ptr(), n.min(8));
            super::load8(buffer.as_ptr())
        }
        pub fn store8(p: *mut u8, a: __m128i, n: usize) {
            let mut buffer = [0u8; 8];
            super::store8(buffer.as_mut_ptr(), a);
            p.copy_from_nonoverlapping(buffer.as_ptr(), n.min(8));
        }
        pub fn load16(p: *const u16, n: usize) -> __m128i {
            let mut buffer = [0u16; 8];
            p.copy_to_nonoverlapping(buffer.as_mut_ptr(), n.min(8));
            super::load16(buffer.as_ptr())
        }
        pub fn store16(p: *mut u16, a: __m128i, n: usize) {
            let mut buffer = [0u16; 8];
            super::store16(buffer.as_mut_ptr(), a);
            p.copy_from_nonoverlapping(buffer.as_ptr(), n.min(8));
        }
    }
}

/// Which of the bytes that [`every`] loads go where, for each of its loads.
const fn picks<const S: usize>() -> [[i8; 16]; S] {
    let mut picks = [[-1; 16]; S];
    let mut lane = 0;
    while lane < 8 {
        let at = S * lane;
        let load = if at / 8 < S - 1 { at / 8 } else { S - 1 };
        picks[load][lane] = (at - start::<S>(load)) as i8;
        lane += 1;
    }
    picks
}

/// Where load `load` of [`every`] starts: the last one ends with the last byte that is wanted.
const fn start<const S: usize>(load: usize) -> usize {
    if load + 1 < S {
        8 * load
    } else {
        7 * S + 1 - 8
    }
}

/// Bytes `0`, `S`, `2 * S` and so on, one for each lane.
///
/// # Safety
/// The `7 * S + 1` bytes at `p` are readable.
#[inline]
#[target_feature(enable = "avx2,fma,f16c,bmi2,popcnt")]
pub(super) unsafe fn every<const S: usize>(p: *const u8) -> __m128i {
    let picks = const { picks::<S>() };
    let mut all = _mm_setzero_si128();
    for (load, pick) in picks.iter().enumerate() {
        // SAFETY: every load lies between the first and the last byte that is wanted; the picks
        // are an array of 16 bytes.
        let (bytes, pick) = unsafe {
            (
                _mm_loadl_epi64(p.add(start::<S>(load)).cast()),
                _mm_loadu_si128(pick.as_ptr().cast()),
            )
        };
        all = _mm_or_si128(all, _mm_shuffle_epi8(bytes, pick));
    }
    all
}
