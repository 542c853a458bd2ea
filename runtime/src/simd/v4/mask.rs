//! Masks of 16 lanes: one AVX-512 mask register.

use core::arch::x86_64::*;

pub(super) type M = __mmask16;

fns! {
    pub(super) fn first(n: usize) -> M { _bzhi_u32(0xffff, n.min(16) as u32) as M }
    pub(super) fn and(a: M, b: M) -> M { a & b }
    pub(super) fn or(a: M, b: M) -> M { a | b }
    pub(super) fn xor(a: M, b: M) -> M { a ^ b }
    pub(super) fn not(a: M) -> M { !a }
    pub(super) fn to_bits(a: M) -> u32 { u32::from(a) }
    pub(super) fn from_bits(bits: u32) -> M { bits as M }

    /// The masks of lanes 0..8 and 8..16.
    pub(super) fn split(a: M) -> [__mmask8; 2] { [a as __mmask8, (a >> 8) as __mmask8] }
    /// The mask whose halves these are.
    pub(super) fn join(a: [__mmask8; 2]) -> M { M::from(a[0]) | M::from(a[1]) << 8 }
}
