//! Eight 32-bit integers in one register: what does not depend on the sign.

use super::long;
use super::mask::{self, M};
use core::arch::x86_64::*;

pub(super) type V = __m256i;

binary! {
    add = _mm256_add_epi32;
    sub = _mm256_sub_epi32;
    mul = _mm256_mullo_epi32;
    and = _mm256_and_si256;
    or = _mm256_or_si256;
    xor = _mm256_xor_si256;
    shl = _mm256_sllv_epi32;
    shr_zero = _mm256_srlv_epi32;
}

fns! {
    pub(super) fn select(m: M, a: V, b: V) -> V { _mm256_blendv_epi8(b, a, m) }
    pub(super) fn eq(a: V, b: V) -> M { _mm256_cmpeq_epi32(a, b) }
    pub(super) fn to_word(a: V) -> V { a }
    pub(super) fn low(a: V) -> __m128i { _mm256_castsi256_si128(a) }
    pub(super) fn high(a: V) -> __m128i { _mm256_extracti128_si256::<1>(a) }
    pub(super) fn join(low: __m128i, high: __m128i) -> V { _mm256_set_m128i(high, low) }

    pub(super) fn popcount(a: V) -> V {
        // Sums of neighbours: bytes to pairs to words of 32 bits.
        let pairs = _mm256_maddubs_epi16(long::popcount_bytes(a), _mm256_set1_epi8(1));
        _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
    }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        match N {
            4 => _mm256_permute2x128_si256::<1>(a, a),
            2 => _mm256_shuffle_epi32::<0b00_00_11_10>(a),
            _ => _mm256_shuffle_epi32::<0b00_00_00_01>(a),
        }
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const i32) -> V { _mm256_loadu_si256(p.cast()) }
    pub(super) fn load_masked(p: *const i32, m: M) -> V { _mm256_maskload_epi32(p, m) }
    pub(super) fn store(p: *mut i32, a: V) { _mm256_storeu_si256(p.cast(), a) }
    pub(super) fn store_masked(p: *mut i32, a: V, m: M) { _mm256_maskstore_epi32(p, m, a) }
    pub(super) fn gather(p: *const i32, i: V) -> V { _mm256_i32gather_epi32::<4>(p, i) }
    pub(super) fn gather_masked(p: *const i32, i: V, m: M) -> V {
        _mm256_mask_i32gather_epi32::<4>(_mm256_setzero_si256(), p, i, m)
    }
    pub(super) fn gather_at(p: *const i32, i: long::V, m: M) -> V {
        let zero = _mm_setzero_si128();
        join(
            _mm256_mask_i64gather_epi32::<4>(zero, p, i[0], low(m)),
            _mm256_mask_i64gather_epi32::<4>(zero, p, i[1], high(m)),
        )
    }
    pub(super) fn scatter_at(p: *mut i32, i: long::V, m: M, a: V) {
        // AVX2 has no scatter.
        let (at, on, lanes) = (long::lanes(i), mask::to_bits(m), std::mem::transmute::<V, [i32; 8]>(a));
        for lane in 0..8 {
            if on >> lane & 1 == 1 {
                *p.add(at[lane] as usize) = lanes[lane];
            }
        }
    }
}
