//! Eight lanes: AVX2, FMA, F16C. See [`crate::simd`].
//!
//! Owns the list of the tier's modules and features. The public types are written in `simd/float.rs`, `int.rs`, `mask.rs`
//! and `narrow.rs`, vector math in `simd/math/`.

/// Lanes in every vector of this tier.
pub const LANES: usize = 8;
/// Bytes in one register: the alignment that [`F32::stream`] needs.
pub const REGISTER_BYTES: usize = 32;

/// Functions that inline into any function with this tier's features and are safe to call there.
macro_rules! fns {
    ($($(#[$m:meta])* $vis:vis fn $name:ident $(<const $N:ident: usize>)? ($($args:tt)*) $(-> $ret:ty)? $body:block)*) => {
        $(
            $(#[$m])*
            #[allow(clippy::missing_safety_doc, reason = "safe wherever the features are enabled")]
            #[inline]
            #[target_feature(enable = "avx2,fma,f16c,bmi2,popcnt")]
            $vis fn $name $(<const $N: usize>)? ($($args)*) $(-> $ret)? $body
        )*
    };
}

/// As `fns!`, for functions that access memory through pointers.
macro_rules! unsafe_fns {
    ($($(#[$m:meta])* $vis:vis fn $name:ident ($($args:tt)*) $(-> $ret:ty)? $body:block)*) => {
        $(
            $(#[$m])*
            #[inline]
            #[target_feature(enable = "avx2,fma,f16c,bmi2,popcnt")]
            $vis unsafe fn $name($($args)*) $(-> $ret)? {
                // SAFETY: the body accesses only the memory that the function's own contract asks the caller for.
                unsafe { $body }
            }
        )*
    };
}

mod f32x;
mod f64x;
mod i32x;
mod i64x;
mod long;
mod mask;
mod narrow;
mod u32x;
mod u64x;
mod word;

mask_type!();
float_type!(F32, f32, f32x, U32);
float_type!(F64, f64, f64x, U64);
int_type!(I32, i32, i32x);
int_type!(U32, u32, u32x);
int_type!(I64, i64, i64x);
int_type!(U64, u64, u64x);
signed_int_type!(I32);
signed_int_type!(I64);
narrow_memory!();

#[path = "../math/arc.rs"]
mod arc;
#[path = "../math/erf.rs"]
mod erf;
#[path = "../math/exp.rs"]
mod exp;
#[path = "../math/log.rs"]
mod log;
#[path = "../math/poly.rs"]
mod poly;
#[path = "../math/power.rs"]
mod power;
#[path = "../math/trig.rs"]
mod trig;

impl U64 {
    fns! {
        /// The lanes as indices into a buffer of `len` elements.
        ///
        /// # Panics
        /// If a lane where `mask` is true is not below `len`.
        pub fn checked(self, len: usize, mask: Mask) -> U64 {
            let outside = self.ge(U64::splat(len as u64)).and(mask);
            if outside.any() {
                let index = self.to_array()[outside.to_bits().trailing_zeros() as usize];
                panic!("index out of bounds: the len is {len} but the index is {index}");
            }
            self
        }
    }
}

impl F32 {
    fns! {
        /// Each lane in double precision, exactly.
        pub fn to_f64(self) -> F64 { F64(f32x::to_f64(self.0)) }
    }
}

impl F64 {
    fns! {
        /// `self as f32`: rounded to nearest, ties to even.
        pub fn to_f32(self) -> F32 { F32(f64x::to_f32(self.0)) }
    }
}

fns! {
    /// Orders the stores of [`F32::stream`] and [`F64::stream`] before everything that follows on this thread.
    pub fn stream_fence() { core::arch::x86_64::_mm_sfence() }
}
