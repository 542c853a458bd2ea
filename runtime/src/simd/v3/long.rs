//! Eight 64-bit integers in two registers: what does not depend on the sign.

use super::mask::{self, M, halves, join as join_mask, split as split_mask};
use super::word;
use core::arch::x86_64::*;

pub(super) type V = [__m256i; 2];

binary_pair! {
    add = _mm256_add_epi64;
    sub = _mm256_sub_epi64;
    mul = mul_register;
    and = _mm256_and_si256;
    or = _mm256_or_si256;
    xor = _mm256_xor_si256;
    shl = _mm256_sllv_epi64;
    shr_zero = _mm256_srlv_epi64;
}

fns! {
    pub(super) fn select(m: M, a: V, b: V) -> V {
        let m = split_mask(m);
        [_mm256_blendv_epi8(b[0], a[0], m[0]), _mm256_blendv_epi8(b[1], a[1], m[1])]
    }
    pub(super) fn eq(a: V, b: V) -> M {
        join_mask([_mm256_cmpeq_epi64(a[0], b[0]), _mm256_cmpeq_epi64(a[1], b[1])])
    }
    pub(super) fn to_word(a: V) -> word::V { halves(a) }
    pub(super) fn to_long(a: V) -> V { a }

    /// AVX2 multiplies 32 by 32 bits only: low product plus the two cross products.
    fn mul_register(a: __m256i, b: __m256i) -> __m256i {
        let low = _mm256_mul_epu32(a, b);
        let cross1 = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), b);
        let cross2 = _mm256_mul_epu32(a, _mm256_srli_epi64::<32>(b));
        _mm256_add_epi64(low, _mm256_slli_epi64::<32>(_mm256_add_epi64(cross1, cross2)))
    }

    pub(super) fn popcount(a: V) -> V {
        let zero = _mm256_setzero_si256();
        [_mm256_sad_epu8(popcount_bytes(a[0]), zero), _mm256_sad_epu8(popcount_bytes(a[1]), zero)]
    }

    /// The number of one bits in each byte, by a table of the 16 half bytes.
    pub(super) fn popcount_bytes(a: __m256i) -> __m256i {
        let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        let nibble = _mm256_set1_epi8(0x0f);
        let low = _mm256_shuffle_epi8(table, _mm256_and_si256(a, nibble));
        let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(a), nibble));
        _mm256_add_epi8(low, high)
    }

    pub(super) fn lanes(a: V) -> [i64; 8] {
        // SAFETY: the registers and the array are plain data of the same size.
        unsafe { std::mem::transmute::<V, [i64; 8]>(a) }
    }
    pub(super) fn from_lanes(a: [i64; 8]) -> V {
        // SAFETY: the registers and the array are plain data of the same size.
        unsafe { std::mem::transmute::<[i64; 8], V>(a) }
    }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        let v = match N {
            4 => a[1],
            2 => _mm256_permute2x128_si256::<1>(a[0], a[0]),
            _ => _mm256_shuffle_epi32::<0b00_00_11_10>(a[0]),
        };
        [v, v]
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const i64) -> V { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(4).cast())] }
    pub(super) fn load_masked(p: *const i64, m: M) -> V {
        let m = split_mask(m);
        // The second half may lie outside the allocation if its mask is empty, hence the wrapping sum.
        [_mm256_maskload_epi64(p, m[0]), _mm256_maskload_epi64(p.wrapping_add(4), m[1])]
    }
    pub(super) fn store(p: *mut i64, a: V) {
        _mm256_storeu_si256(p.cast(), a[0]);
        _mm256_storeu_si256(p.add(4).cast(), a[1]);
    }
    pub(super) fn store_masked(p: *mut i64, a: V, m: M) {
        let m = split_mask(m);
        _mm256_maskstore_epi64(p, m[0], a[0]);
        _mm256_maskstore_epi64(p.wrapping_add(4), m[1], a[1]);
    }
    pub(super) fn gather(p: *const i64, i: word::V) -> V {
        [_mm256_i32gather_epi64::<8>(p, word::low(i)), _mm256_i32gather_epi64::<8>(p, word::high(i))]
    }
    pub(super) fn gather_masked(p: *const i64, i: word::V, m: M) -> V {
        let (m, zero) = (mask::split(m), _mm256_setzero_si256());
        [
            _mm256_mask_i32gather_epi64::<8>(zero, p, word::low(i), m[0]),
            _mm256_mask_i32gather_epi64::<8>(zero, p, word::high(i), m[1]),
        ]
    }
    pub(super) fn gather_at(p: *const i64, i: V, m: M) -> V {
        let (m, zero) = (mask::split(m), _mm256_setzero_si256());
        [
            _mm256_mask_i64gather_epi64::<8>(zero, p, i[0], m[0]),
            _mm256_mask_i64gather_epi64::<8>(zero, p, i[1], m[1]),
        ]
    }
    pub(super) fn scatter_at(p: *mut i64, i: V, m: M, a: V) {
        // AVX2 has no scatter.
        let (at, on, values) = (lanes(i), mask::to_bits(m), lanes(a));
        for lane in 0..8 {
            if on >> lane & 1 == 1 {
                *p.add(at[lane] as usize) = values[lane];
            }
        }
    }
}
