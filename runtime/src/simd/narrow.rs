//! Memory types narrower than their vectors, written once for both tiers.
//!
//! The intrinsics are in each tier's `narrow.rs`. Kernels compute in 32 bits; these convert at loads and stores.

/// Defines the integer loads and stores of one narrow type, and their partial forms.
macro_rules! narrow_int {
    ($e:ident, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident, $from:ident, $extend:ident, $to:ident, $truncate:ident, $store_masked:ident, $gather_at:ident, $scatter_at:ident) => {
        impl I32 {
            unsafe_fns! {
                #[doc = concat!("The lanes where `mask` is true, each `as ", stringify!($e), "`, to `ptr`. Touches nothing else.")]
                ///
                /// # Safety
                /// The elements of those lanes are writable.
                pub fn $store_masked(self, ptr: *mut $e, mask: Mask) {
                    let lanes = self.to_array();
                    let mut left = mask.to_bits();
                    while left != 0 {
                        let lane = left.trailing_zeros() as usize;
                        *ptr.add(lane) = lanes[lane] as $e;
                        left &= left - 1;
                    }
                }
                #[doc = concat!("Lane `i` from the `", stringify!($e), "` at `base + index[i]` where `mask` is true, 0 elsewhere.")]
                ///
                /// # Safety
                /// Each of those elements is readable.
                pub fn $gather_at(base: *const $e, index: U64, mask: Mask) -> I32 {
                    let (at, on) = (index.to_array(), mask.to_bits());
                    let mut lanes = [0i32; LANES];
                    for lane in 0..LANES {
                        if on >> lane & 1 == 1 {
                            lanes[lane] = i32::from(*base.add(at[lane] as usize));
                        }
                    }
                    I32::from_array(lanes)
                }
                #[doc = concat!("Lane `i`, `as ", stringify!($e), "`, to `base + index[i]` where `mask` is true; of lanes with one index the last one stays.")]
                ///
                /// # Safety
                /// Each of those elements is writable.
                pub fn $scatter_at(self, base: *mut $e, index: U64, mask: Mask) {
                    let (at, on, lanes) = (index.to_array(), mask.to_bits(), self.to_array());
                    for lane in 0..LANES {
                        if on >> lane & 1 == 1 {
                            *base.add(at[lane] as usize) = lanes[lane] as $e;
                        }
                    }
                }
                #[doc = concat!("`LANES` elements of `", stringify!($e), "` from `ptr`, each as `i32`.")]
                ///
                /// # Safety
                /// They are readable.
                pub fn $load(ptr: *const $e) -> I32 { I32(narrow::$extend(narrow::$from(ptr.cast()))) }
                #[doc = concat!("The first `n` elements of `", stringify!($e), "` (at most `LANES`) from `ptr`, each as `i32`; the other lanes 0.")]
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are readable.
                pub fn $load_partial(ptr: *const $e, n: usize) -> I32 {
                    I32(narrow::$extend(narrow::partial::$from(ptr.cast(), n)))
                }
                #[doc = concat!("All lanes, each `as ", stringify!($e), "`, to `ptr`.")]
                ///
                /// # Safety
                /// `LANES` elements are writable.
                pub fn $store(self, ptr: *mut $e) { narrow::$to(ptr.cast(), narrow::$truncate(self.0)) }
                #[doc = concat!("The first `n` lanes (at most `LANES`), each `as ", stringify!($e), "`, to `ptr`.")]
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are writable.
                pub fn $store_partial(self, ptr: *mut $e, n: usize) {
                    narrow::partial::$to(ptr.cast(), narrow::$truncate(self.0), n)
                }
            }
        }
    };
}

/// Defines loads of every second, third or fourth byte.
macro_rules! strided_bytes {
    ($($name:ident: $e:ident, $s:literal, $extend:ident;)*) => {
        impl I32 {
            unsafe_fns! {
                $(
                    #[doc = concat!("Every element of `", stringify!($e), "` number `", $s, " * i` from `ptr`, each as `i32`.")]
                    ///
                    /// # Safety
                    /// The elements from the first to the last of them are readable.
                    pub fn $name(ptr: *const $e) -> I32 { I32(narrow::$extend(narrow::every::<$s>(ptr.cast()))) }
                )*
            }
        }
    };
}

/// Defines the loads and stores of one 16-bit floating-point format, and their partial forms.
macro_rules! narrow_float {
    ($name:literal, $load:ident, $load_partial:ident, $store:ident, $store_partial:ident, $widen:ident, $round:ident) => {
        impl F32 {
            unsafe_fns! {
                #[doc = concat!("`LANES` ", $name, " values, as raw bits, from `ptr`, each exactly as `f32`.")]
                ///
                /// # Safety
                /// They are readable.
                pub fn $load(ptr: *const u16) -> F32 { F32(narrow::$widen(narrow::load16(ptr.cast()))) }
                #[doc = concat!("The first `n` ", $name, " values (at most `LANES`) from `ptr`; the other lanes 0.")]
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are readable.
                pub fn $load_partial(ptr: *const u16, n: usize) -> F32 {
                    F32(narrow::$widen(narrow::partial::load16(ptr.cast(), n)))
                }
                #[doc = concat!("All lanes, rounded to ", $name, " (to nearest, ties to even; NaN stays NaN), as raw bits to `ptr`.")]
                ///
                /// # Safety
                /// `LANES` elements are writable.
                pub fn $store(self, ptr: *mut u16) { narrow::store16(ptr.cast(), narrow::$round(self.0)) }
                #[doc = concat!("The first `n` lanes (at most `LANES`), rounded to ", $name, ", as raw bits to `ptr`.")]
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are writable.
                pub fn $store_partial(self, ptr: *mut u16, n: usize) {
                    narrow::partial::store16(ptr.cast(), narrow::$round(self.0), n)
                }
            }
        }
    };
}

/// Defines every narrow access of a tier.
macro_rules! narrow_memory {
    () => {
        strided_bytes! {
            load_u8_every2: u8, 2, from_u8;
            load_u8_every3: u8, 3, from_u8;
            load_u8_every4: u8, 4, from_u8;
            load_i8_every2: i8, 2, from_i8;
            load_i8_every3: i8, 3, from_i8;
            load_i8_every4: i8, 4, from_i8;
        }
        narrow_int!(
            i8,
            load_i8,
            load_i8_partial,
            store_i8,
            store_i8_partial,
            load8,
            from_i8,
            store8,
            to_8,
            store_i8_masked,
            gather_i8_at,
            scatter_i8_at
        );
        narrow_int!(
            u8,
            load_u8,
            load_u8_partial,
            store_u8,
            store_u8_partial,
            load8,
            from_u8,
            store8,
            to_8,
            store_u8_masked,
            gather_u8_at,
            scatter_u8_at
        );
        narrow_int!(
            i16,
            load_i16,
            load_i16_partial,
            store_i16,
            store_i16_partial,
            load16,
            from_i16,
            store16,
            to_16,
            store_i16_masked,
            gather_i16_at,
            scatter_i16_at
        );
        narrow_int!(
            u16,
            load_u16,
            load_u16_partial,
            store_u16,
            store_u16_partial,
            load16,
            from_u16,
            store16,
            to_16,
            store_u16_masked,
            gather_u16_at,
            scatter_u16_at
        );
        narrow_float!(
            "IEEE half",
            load_f16,
            load_f16_partial,
            store_f16,
            store_f16_partial,
            from_f16,
            to_f16
        );
        narrow_float!(
            "bfloat16",
            load_bf16,
            load_bf16_partial,
            store_bf16,
            store_bf16_partial,
            from_bf16,
            to_bf16
        );
    };
}

/// Defines the conversions between bfloat16 and `f32` from a tier's integer operations.
macro_rules! bfloat16 {
    () => {
        fns! {
            pub(super) fn from_bf16(a: Half) -> f32x::V {
                f32x::from_bits(word::shl(from_u16(a), u32x::splat(16)))
            }
            pub(super) fn to_bf16(a: f32x::V) -> Half {
                let bits = f32x::to_bits(a);
                let upper = word::shr_zero(bits, u32x::splat(16));
                // Just under half of the last bit kept, plus that bit: ties go to even.
                let odd = word::and(upper, u32x::splat(1));
                let rounded = word::shr_zero(word::add(bits, word::add(odd, u32x::splat(0x7fff))), u32x::splat(16));
                let quiet = word::or(upper, u32x::splat(0x40));
                to_16(word::select(f32x::ne(a, a), quiet, rounded))
            }
        }
    };
}
