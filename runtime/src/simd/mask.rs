//! The public mask type, written once for both tiers.
//!
//! The comparisons that make masks are methods of the vectors.

/// Defines `Mask` over the tier's `mask` module.
macro_rules! mask_type {
    () => {
        /// One bit of truth per lane.
        #[derive(Clone, Copy)]
        pub struct Mask(pub(super) mask::M);

        impl Mask {
            fns! {
                /// All lanes `value`.
                pub fn splat(value: bool) -> Mask { Mask::from_bits(if value { u32::MAX } else { 0 }) }
                /// True in the first `n` lanes; in all of them if `n >= LANES`.
                pub fn first(n: usize) -> Mask { Mask(mask::first(n)) }
                /// Lane-wise and.
                pub fn and(self, o: Mask) -> Mask { Mask(mask::and(self.0, o.0)) }
                /// Lane-wise or.
                pub fn or(self, o: Mask) -> Mask { Mask(mask::or(self.0, o.0)) }
                /// Lane-wise exclusive or.
                pub fn xor(self, o: Mask) -> Mask { Mask(mask::xor(self.0, o.0)) }
                /// Lane-wise not.
                pub fn not(self) -> Mask { Mask(mask::not(self.0)) }
                /// Whether any lane is true.
                pub fn any(self) -> bool { self.to_bits() != 0 }
                /// Whether every lane is true.
                pub fn all(self) -> bool { self.to_bits() == u32::MAX >> (32 - LANES) }
                /// Whether no lane is true.
                pub fn none(self) -> bool { self.to_bits() == 0 }
                /// How many lanes are true.
                pub fn count(self) -> u32 { self.to_bits().count_ones() }
                /// Lane `i` as bit `i`; higher bits are 0.
                pub fn to_bits(self) -> u32 { mask::to_bits(self.0) }
                /// Lane `i` from bit `i`; higher bits are ignored.
                pub fn from_bits(bits: u32) -> Mask { Mask(mask::from_bits(bits)) }
                /// Where true `a`, elsewhere `b`.
                pub fn select_f32(self, a: F32, b: F32) -> F32 { F32(f32x::select(self.0, a.0, b.0)) }
                /// Where true `a`, elsewhere `b`.
                pub fn select_f64(self, a: F64, b: F64) -> F64 { F64(f64x::select(self.0, a.0, b.0)) }
                /// Where true `a`, elsewhere `b`.
                pub fn select_i32(self, a: I32, b: I32) -> I32 { I32(word::select(self.0, a.0, b.0)) }
                /// Where true `a`, elsewhere `b`.
                pub fn select_u32(self, a: U32, b: U32) -> U32 { U32(word::select(self.0, a.0, b.0)) }
                /// Where true `a`, elsewhere `b`.
                pub fn select_i64(self, a: I64, b: I64) -> I64 { I64(long::select(self.0, a.0, b.0)) }
                /// Where true `a`, elsewhere `b`.
                pub fn select_u64(self, a: U64, b: U64) -> U64 { U64(long::select(self.0, a.0, b.0)) }
            }
        }
    };
}
