//! Masks of 8 lanes: all ones or all zeros in each 32-bit lane of an AVX register.

use core::arch::x86_64::*;

pub(super) type M = __m256i;

fns! {
    pub(super) fn first(n: usize) -> M {
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n.min(8) as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
    }
    pub(super) fn and(a: M, b: M) -> M { _mm256_and_si256(a, b) }
    pub(super) fn or(a: M, b: M) -> M { _mm256_or_si256(a, b) }
    pub(super) fn xor(a: M, b: M) -> M { _mm256_xor_si256(a, b) }
    pub(super) fn not(a: M) -> M { _mm256_xor_si256(a, _mm256_set1_epi32(-1)) }
    pub(super) fn to_bits(a: M) -> u32 { _mm256_movemask_ps(_mm256_castsi256_ps(a)) as u32 }
    pub(super) fn from_bits(bits: u32) -> M {
        let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(bits as i32), bit), bit)
    }

    /// The mask for two registers of 64-bit lanes.
    pub(super) fn split(a: M) -> [__m256i; 2] {
        [_mm256_cvtepi32_epi64(_mm256_castsi256_si128(a)), _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(a))]
    }
    /// The mask whose halves these are, as masks of 64-bit lanes.
    pub(super) fn join(a: [__m256i; 2]) -> M { halves(a) }

    /// The low 32 bits of each 64-bit lane.
    pub(super) fn halves(a: [__m256i; 2]) -> __m256i {
        let (low, high) = (_mm256_castsi256_ps(a[0]), _mm256_castsi256_ps(a[1]));
        let mixed = _mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(low, high));
        _mm256_permute4x64_epi64::<0b11_01_10_00>(mixed)
    }
}
