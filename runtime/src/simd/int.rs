//! The public integer vectors, written once for both tiers, widths and signs.
//!
//! The intrinsics are in each tier's `word.rs` (32 bits) and `long.rs` (64 bits), with what depends on the sign in
//! `i32.rs`, `u32.rs`, `i64.rs` and `u64.rs`.

/// Defines an integer vector type.
///
/// `$T` the type, `$e` its element, `$n` the tier's module for it.
macro_rules! int_type {
    ($T:ident, $e:ident, $n:ident) => {
        #[doc = concat!("`LANES` values of [`", stringify!($e), "`](core::primitive::", stringify!($e), "). Arithmetic wraps.")]
        #[derive(Clone, Copy)]
        pub struct $T(pub(super) $n::V);

        impl std::fmt::Debug for $T {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                // SAFETY: the vector and the array are plain data of the same size.
                let lanes: [$e; LANES] = unsafe { std::mem::transmute(self.0) };
                f.debug_tuple(stringify!($T)).field(&lanes).finish()
            }
        }

        impl $T {
            fns! {
                /// All lanes `value`.
                pub fn splat(value: $e) -> $T { $T($n::splat(value)) }
                /// All lanes 0.
                pub fn zero() -> $T { $T::splat(0) }
                /// 0, 1, 2, ...
                pub fn iota() -> $T { $T::from_array(std::array::from_fn(|i| i as $e)) }
                /// Lane `i` from element `i`.
                pub fn from_array(lanes: [$e; LANES]) -> $T {
                    // SAFETY: the vector and the array are plain data of the same size.
                    $T(unsafe { std::mem::transmute::<[$e; LANES], $n::V>(lanes) })
                }
                /// Element `i` from lane `i`.
                pub fn to_array(self) -> [$e; LANES] {
                    // SAFETY: the vector and the array are plain data of the same size.
                    unsafe { std::mem::transmute::<$n::V, [$e; LANES]>(self.0) }
                }
                /// Lane `lane`.
                ///
                /// # Panics
                /// If `lane >= LANES`.
                pub fn extract(self, lane: usize) -> $e { self.to_array()[lane] }

                /// `self + o`, wrapping.
                pub fn add(self, o: $T) -> $T { $T($n::add(self.0, o.0)) }
                /// `self - o`, wrapping.
                pub fn sub(self, o: $T) -> $T { $T($n::sub(self.0, o.0)) }
                /// `self * o`, wrapping.
                pub fn mul(self, o: $T) -> $T { $T($n::mul(self.0, o.0)) }
                /// `0 - self`, wrapping.
                pub fn neg(self) -> $T { $T::zero().sub(self) }
                /// Bitwise and.
                pub fn and(self, o: $T) -> $T { $T($n::and(self.0, o.0)) }
                /// Bitwise or.
                pub fn or(self, o: $T) -> $T { $T($n::or(self.0, o.0)) }
                /// Bitwise exclusive or.
                pub fn xor(self, o: $T) -> $T { $T($n::xor(self.0, o.0)) }
                /// Bitwise not.
                pub fn not(self) -> $T { self.xor($T::splat(!0)) }
                /// All lanes shifted left by `count` modulo the width, as `wrapping_shl`.
                pub fn shl(self, count: u32) -> $T { self.shl_lanes($T::splat(count as $e)) }
                /// All lanes shifted right by `count` modulo the width, as `wrapping_shr`; a signed type keeps its sign.
                pub fn shr(self, count: u32) -> $T { self.shr_lanes($T::splat(count as $e)) }
                /// Each lane shifted left by its own count modulo the width.
                pub fn shl_lanes(self, counts: $T) -> $T {
                    $T($n::shl(self.0, counts.and($T::splat($e::BITS as $e - 1)).0))
                }
                /// Each lane shifted right by its own count modulo the width; a signed type keeps its sign.
                pub fn shr_lanes(self, counts: $T) -> $T {
                    $T($n::shr(self.0, counts.and($T::splat($e::BITS as $e - 1)).0))
                }
                /// All lanes rotated left by `count` modulo the width.
                pub fn rotate_left(self, count: u32) -> $T {
                    let left = $n::shl(self.0, $n::splat((count % $e::BITS) as $e));
                    let right = $n::shr_zero(self.0, $n::splat((count.wrapping_neg() % $e::BITS) as $e));
                    $T($n::or(left, right))
                }
                /// All lanes rotated right by `count` modulo the width.
                pub fn rotate_right(self, count: u32) -> $T { self.rotate_left(count.wrapping_neg() % $e::BITS) }
                /// The number of one bits in each lane.
                pub fn popcount(self) -> $T { $T($n::popcount(self.0)) }
                /// The smaller.
                pub fn min(self, o: $T) -> $T { $T($n::min(self.0, o.0)) }
                /// The larger.
                pub fn max(self, o: $T) -> $T { $T($n::max(self.0, o.0)) }

                /// `self < o`.
                pub fn lt(self, o: $T) -> Mask { Mask($n::gt(o.0, self.0)) }
                /// `self <= o`.
                pub fn le(self, o: $T) -> Mask { Mask(mask::not($n::gt(self.0, o.0))) }
                /// `self > o`.
                pub fn gt(self, o: $T) -> Mask { Mask($n::gt(self.0, o.0)) }
                /// `self >= o`.
                pub fn ge(self, o: $T) -> Mask { Mask(mask::not($n::gt(o.0, self.0))) }
                /// `self == o`.
                pub fn eq(self, o: $T) -> Mask { Mask($n::eq(self.0, o.0)) }
                /// `self != o`.
                pub fn ne(self, o: $T) -> Mask { Mask(mask::not($n::eq(self.0, o.0))) }

                /// `self as i32`: extended, truncated or reinterpreted.
                pub fn to_i32(self) -> I32 { I32($n::to_word(self.0)) }
                /// `self as u32`: extended, truncated or reinterpreted.
                pub fn to_u32(self) -> U32 { U32($n::to_word(self.0)) }
                /// `self as i64`: extended, truncated or reinterpreted.
                pub fn to_i64(self) -> I64 { I64($n::to_long(self.0)) }
                /// `self as u64`: extended, truncated or reinterpreted.
                pub fn to_u64(self) -> U64 { U64($n::to_long(self.0)) }
                /// `self as f32`: rounded to nearest, ties to even.
                pub fn to_f32(self) -> F32 { F32($n::to_f32(self.0)) }
                /// `self as f64`: rounded to nearest, ties to even.
                pub fn to_f64(self) -> F64 { F64($n::to_f64(self.0)) }

                /// The sum of the lanes, wrapping.
                pub fn reduce_add(self) -> $e { reduce!($T, $n, self, a, b, a.add(b)) }
                /// The smallest lane.
                pub fn reduce_min(self) -> $e { reduce!($T, $n, self, a, b, a.min(b)) }
                /// The largest lane.
                pub fn reduce_max(self) -> $e { reduce!($T, $n, self, a, b, a.max(b)) }
                /// The and of the lanes.
                pub fn reduce_and(self) -> $e { reduce!($T, $n, self, a, b, a.and(b)) }
                /// The or of the lanes.
                pub fn reduce_or(self) -> $e { reduce!($T, $n, self, a, b, a.or(b)) }
                /// The exclusive or of the lanes.
                pub fn reduce_xor(self) -> $e { reduce!($T, $n, self, a, b, a.xor(b)) }
            }

            fns! {
                /// Asks for the cache lines of a vector at `ptr`, of which nothing is required: a prefetch never faults.
                pub fn prefetch(ptr: *const $e) { super::prefetch_bytes::<{ LANES * size_of::<$e>() }>(ptr.cast()) }
            }

            unsafe_fns! {
                /// `LANES` elements from `ptr`.
                ///
                /// # Safety
                /// They are readable.
                pub fn load(ptr: *const $e) -> $T { $T($n::load(ptr.cast())) }
                /// The first `n` lanes from `ptr` (all, if `n >= LANES`), the others 0. Touches nothing beyond.
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are readable.
                pub fn load_partial(ptr: *const $e, n: usize) -> $T {
                    $T($n::load_masked(ptr.cast(), mask::first(n)))
                }
                /// The lanes where `mask` is true from `ptr`, the others 0. Touches nothing else.
                ///
                /// # Safety
                /// The elements of those lanes are readable.
                pub fn load_masked(ptr: *const $e, mask: Mask) -> $T { $T($n::load_masked(ptr.cast(), mask.0)) }
                /// All lanes to `ptr`.
                ///
                /// # Safety
                /// `LANES` elements are writable.
                pub fn store(self, ptr: *mut $e) { $n::store(ptr.cast(), self.0) }
                /// The first `n` lanes (all, if `n >= LANES`) to `ptr`. Touches nothing beyond.
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are writable.
                pub fn store_partial(self, ptr: *mut $e, n: usize) {
                    $n::store_masked(ptr.cast(), self.0, mask::first(n))
                }
                /// The lanes where `mask` is true to `ptr`. Touches nothing else.
                ///
                /// # Safety
                /// The elements of those lanes are writable.
                pub fn store_masked(self, ptr: *mut $e, mask: Mask) {
                    $n::store_masked(ptr.cast(), self.0, mask.0)
                }
                /// Lane `i` from `base + index[i]`, in elements.
                ///
                /// # Safety
                /// Each of those elements is readable.
                pub fn gather(base: *const $e, index: I32) -> $T { $T($n::gather(base.cast(), index.0)) }
                /// Lane `i` from `base + index[i]` where `mask` is true, 0 elsewhere; the other indices are not used.
                ///
                /// # Safety
                /// Each of those elements is readable.
                pub fn gather_masked(base: *const $e, index: I32, mask: Mask) -> $T {
                    $T($n::gather_masked(base.cast(), index.0, mask.0))
                }
                /// Lane `i` from `base + index[i]` where `mask` is true, 0 elsewhere; the other indices are not used.
                ///
                /// # Safety
                /// Each of those elements is readable.
                pub fn gather_at(base: *const $e, index: U64, mask: Mask) -> $T {
                    $T($n::gather_at(base.cast(), index.0, mask.0))
                }
                /// Lane `i` to `base + index[i]` where `mask` is true; of lanes with one index the last one stays.
                ///
                /// # Safety
                /// Each of those elements is writable.
                pub fn scatter_at(self, base: *mut $e, index: U64, mask: Mask) {
                    $n::scatter_at(base.cast(), index.0, mask.0, self.0)
                }
            }
        }
    };
}

/// Defines what only signed types have.
macro_rules! signed_int_type {
    ($T:ident) => {
        impl $T {
            fns! {
                /// The magnitude; the smallest value stays itself, as `wrapping_abs`.
                pub fn abs(self) -> $T { self.max(self.neg()) }
            }
        }
    };
}
