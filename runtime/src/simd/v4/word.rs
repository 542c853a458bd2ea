//! Sixteen 32-bit integers in one register: what does not depend on the sign.

use super::long;
use super::mask::{self, M};
use core::arch::x86_64::*;

pub(super) type V = __m512i;

binary! {
    add = _mm512_add_epi32;
    sub = _mm512_sub_epi32;
    mul = _mm512_mullo_epi32;
    and = _mm512_and_si512;
    or = _mm512_or_si512;
    xor = _mm512_xor_si512;
    shl = _mm512_sllv_epi32;
    shr_zero = _mm512_srlv_epi32;
}

fns! {
    pub(super) fn select(m: M, a: V, b: V) -> V { _mm512_mask_blend_epi32(m, b, a) }
    pub(super) fn eq(a: V, b: V) -> M { _mm512_cmpeq_epi32_mask(a, b) }
    pub(super) fn to_word(a: V) -> V { a }
    pub(super) fn low(a: V) -> __m256i { _mm512_castsi512_si256(a) }
    pub(super) fn high(a: V) -> __m256i { _mm512_extracti32x8_epi32::<1>(a) }
    pub(super) fn join(low: __m256i, high: __m256i) -> V { _mm512_inserti32x8::<1>(_mm512_castsi256_si512(low), high) }

    pub(super) fn popcount(a: V) -> V {
        // Sums of neighbours: bytes to pairs to words of 32 bits.
        let pairs = _mm512_maddubs_epi16(long::popcount_bytes(a), _mm512_set1_epi8(1));
        _mm512_madd_epi16(pairs, _mm512_set1_epi16(1))
    }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        match N {
            8 => _mm512_shuffle_i32x4::<0b01_00_11_10>(a, a),
            4 => _mm512_shuffle_i32x4::<0b00_00_00_01>(a, a),
            2 => _mm512_shuffle_epi32::<0b00_00_11_10>(a),
            _ => _mm512_shuffle_epi32::<0b00_00_00_01>(a),
        }
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const i32) -> V { _mm512_loadu_epi32(p) }
    pub(super) fn load_masked(p: *const i32, m: M) -> V { _mm512_maskz_loadu_epi32(m, p) }
    pub(super) fn store(p: *mut i32, a: V) { _mm512_storeu_epi32(p, a) }
    pub(super) fn store_masked(p: *mut i32, a: V, m: M) { _mm512_mask_storeu_epi32(p, m, a) }
    pub(super) fn gather(p: *const i32, i: V) -> V { _mm512_i32gather_epi32::<4>(i, p) }
    pub(super) fn gather_masked(p: *const i32, i: V, m: M) -> V {
        _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), m, i, p)
    }
    pub(super) fn gather_at(p: *const i32, i: long::V, m: M) -> V {
        let (m, zero) = (mask::split(m), _mm256_setzero_si256());
        join(
            _mm512_mask_i64gather_epi32::<4>(zero, m[0], i[0], p),
            _mm512_mask_i64gather_epi32::<4>(zero, m[1], i[1], p),
        )
    }
    pub(super) fn scatter_at(p: *mut i32, i: long::V, m: M, a: V) {
        let m = mask::split(m);
        _mm512_mask_i64scatter_epi32::<4>(p, m[0], i[0], low(a));
        _mm512_mask_i64scatter_epi32::<4>(p, m[1], i[1], high(a));
    }
}
