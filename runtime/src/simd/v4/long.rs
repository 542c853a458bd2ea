//! Sixteen 64-bit integers in two registers: what does not depend on the sign.

use super::mask::{M, join as join_mask, split as split_mask};
use super::word;
use core::arch::x86_64::*;

pub(super) type V = [__m512i; 2];

binary_pair! {
    add = _mm512_add_epi64;
    sub = _mm512_sub_epi64;
    mul = _mm512_mullo_epi64;
    and = _mm512_and_si512;
    or = _mm512_or_si512;
    xor = _mm512_xor_si512;
    shl = _mm512_sllv_epi64;
    shr_zero = _mm512_srlv_epi64;
}

fns! {
    pub(super) fn select(m: M, a: V, b: V) -> V {
        let m = split_mask(m);
        [_mm512_mask_blend_epi64(m[0], b[0], a[0]), _mm512_mask_blend_epi64(m[1], b[1], a[1])]
    }
    pub(super) fn eq(a: V, b: V) -> M {
        join_mask([_mm512_cmpeq_epi64_mask(a[0], b[0]), _mm512_cmpeq_epi64_mask(a[1], b[1])])
    }
    pub(super) fn to_word(a: V) -> word::V { word::join(_mm512_cvtepi64_epi32(a[0]), _mm512_cvtepi64_epi32(a[1])) }
    pub(super) fn to_long(a: V) -> V { a }

    pub(super) fn popcount(a: V) -> V {
        let zero = _mm512_setzero_si512();
        [_mm512_sad_epu8(popcount_bytes(a[0]), zero), _mm512_sad_epu8(popcount_bytes(a[1]), zero)]
    }

    /// The number of one bits in each byte, by a table of the 16 half bytes.
    pub(super) fn popcount_bytes(a: __m512i) -> __m512i {
        let table = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        let nibble = _mm512_set1_epi8(0x0f);
        let low = _mm512_shuffle_epi8(table, _mm512_and_si512(a, nibble));
        let high = _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16::<4>(a), nibble));
        _mm512_add_epi8(low, high)
    }

    /// Lanes `N..2N` moved to `0..N`; the others are anything.
    pub(super) fn upper<const N: usize>(a: V) -> V {
        let v = match N {
            8 => a[1],
            4 => _mm512_shuffle_i64x2::<0b00_00_11_10>(a[0], a[0]),
            2 => _mm512_shuffle_i64x2::<0b00_00_00_01>(a[0], a[0]),
            _ => _mm512_shuffle_epi32::<0b00_00_11_10>(a[0]),
        };
        [v, v]
    }
}

unsafe_fns! {
    pub(super) fn load(p: *const i64) -> V { [_mm512_loadu_epi64(p), _mm512_loadu_epi64(p.add(8))] }
    pub(super) fn load_masked(p: *const i64, m: M) -> V {
        let m = split_mask(m);
        // The second half may lie outside the allocation if its mask is empty, hence the wrapping sum.
        [_mm512_maskz_loadu_epi64(m[0], p), _mm512_maskz_loadu_epi64(m[1], p.wrapping_add(8))]
    }
    pub(super) fn store(p: *mut i64, a: V) {
        _mm512_storeu_epi64(p, a[0]);
        _mm512_storeu_epi64(p.add(8), a[1]);
    }
    pub(super) fn store_masked(p: *mut i64, a: V, m: M) {
        let m = split_mask(m);
        _mm512_mask_storeu_epi64(p, m[0], a[0]);
        _mm512_mask_storeu_epi64(p.wrapping_add(8), m[1], a[1]);
    }
    pub(super) fn gather(p: *const i64, i: word::V) -> V {
        [_mm512_i32gather_epi64::<8>(word::low(i), p), _mm512_i32gather_epi64::<8>(word::high(i), p)]
    }
    pub(super) fn gather_masked(p: *const i64, i: word::V, m: M) -> V {
        let (m, zero) = (split_mask(m), _mm512_setzero_si512());
        [
            _mm512_mask_i32gather_epi64::<8>(zero, m[0], word::low(i), p),
            _mm512_mask_i32gather_epi64::<8>(zero, m[1], word::high(i), p),
        ]
    }
    pub(super) fn gather_at(p: *const i64, i: V, m: M) -> V {
        let (m, zero) = (split_mask(m), _mm512_setzero_si512());
        [_mm512_mask_i64gather_epi64::<8>(zero, m[0], i[0], p), _mm512_mask_i64gather_epi64::<8>(zero, m[1], i[1], p)]
    }
    pub(super) fn scatter_at(p: *mut i64, i: V, m: M, a: V) {
        let m = split_mask(m);
        _mm512_mask_i64scatter_epi64::<8>(p, m[0], i[0], a[0]);
        _mm512_mask_i64scatter_epi64::<8>(p, m[1], i[1], a[1]);
    }
}
