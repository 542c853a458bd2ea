//! The public floating-point vectors, written once for both tiers and both widths.
//!
//! Vector math is in `math/`; the intrinsics are in each tier's `f32.rs` and `f64.rs`.

/// Defines a floating-point vector type.
///
/// `$T` the type, `$e` its element, `$n` the tier's module for it, `$B` the unsigned vector of the same width.
macro_rules! float_type {
    ($T:ident, $e:ident, $n:ident, $B:ident) => {
        #[doc = concat!("`LANES` values of [`", stringify!($e), "`](core::primitive::", stringify!($e), ").")]
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
                pub fn zero() -> $T { $T::splat(0.0) }
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
                /// The lanes with these bits.
                pub fn from_bits(bits: $B) -> $T { $T($n::from_bits(bits.0)) }
                /// The bits of each lane.
                pub fn to_bits(self) -> $B { $B($n::to_bits(self.0)) }

                /// `self + o`.
                pub fn add(self, o: $T) -> $T { $T($n::add(self.0, o.0)) }
                /// `self - o`.
                pub fn sub(self, o: $T) -> $T { $T($n::sub(self.0, o.0)) }
                /// `self * o`.
                pub fn mul(self, o: $T) -> $T { $T($n::mul(self.0, o.0)) }
                /// `self / o`.
                pub fn div(self, o: $T) -> $T { $T($n::div(self.0, o.0)) }
                /// `-self`.
                pub fn neg(self) -> $T { $T($n::xor(self.0, $n::splat(-0.0))) }
                /// The magnitude.
                pub fn abs(self) -> $T { $T($n::andnot($n::splat(-0.0), self.0)) }
                /// `self / d` with one divisor for all lanes, by its reciprocal where that is as good: one division outside
                /// of a loop instead of one in each step.
                ///
                /// Error below 1.5 ulp, denormal results included.
                pub fn div_uniform(self, d: $e) -> $T {
                    let reciprocal = 1.0 / d;
                    // Denormal numbers have fewer digits; of zero, infinity and NaN the quotient has rules of its own.
                    if d.is_normal() && reciprocal.is_normal() {
                        self.mul($T::splat(reciprocal))
                    } else {
                        self.div($T::splat(d))
                    }
                }
                /// The square root, correctly rounded.
                pub fn sqrt(self) -> $T { $T($n::sqrt(self.0)) }
                /// `1.0 / self`, correctly rounded.
                pub fn recip(self) -> $T { $T::splat(1.0).div(self) }
                /// `self * b + c` with one rounding.
                pub fn mul_add(self, b: $T, c: $T) -> $T { $T($n::fma(self.0, b.0, c.0)) }
                /// `c - self * b` with one rounding.
                pub fn neg_mul_add(self, b: $T, c: $T) -> $T { $T($n::fnma(self.0, b.0, c.0)) }
                /// The magnitude of `self` with the sign of `sign`.
                pub fn copysign(self, sign: $T) -> $T {
                    let bit = $n::splat(-0.0);
                    $T($n::or($n::andnot(bit, self.0), $n::and(bit, sign.0)))
                }
                /// The largest integer that is not above.
                pub fn floor(self) -> $T { $T($n::floor(self.0)) }
                /// The smallest integer that is not below.
                pub fn ceil(self) -> $T { $T($n::ceil(self.0)) }
                /// The integer part.
                pub fn trunc(self) -> $T { $T($n::trunc(self.0)) }
                /// The nearest integer, halves away from zero.
                pub fn round(self) -> $T {
                    let t = self.trunc();
                    let up = self.sub(t).abs().ge($T::splat(0.5));
                    let one = $T($n::select(up.0, $n::splat(1.0), $n::splat(0.0)));
                    t.add(one.copysign(self))
                }
                /// The nearest integer, halves to the even one.
                pub fn round_ties_even(self) -> $T { $T($n::round_ties_even(self.0)) }

                /// The larger number; a NaN loses against a number. Of zeros with different signs, either.
                pub fn max_num(self, o: $T) -> $T {
                    let larger = $n::max(o.0, self.0);
                    $T($n::select(self.is_nan().0, o.0, larger))
                }
                /// The smaller number; a NaN loses against a number. Of zeros with different signs, either.
                pub fn min_num(self, o: $T) -> $T {
                    let smaller = $n::min(o.0, self.0);
                    $T($n::select(self.is_nan().0, o.0, smaller))
                }
                /// `if self > o { self } else { o }`.
                pub fn pick_gt(self, o: $T) -> $T { $T($n::max(self.0, o.0)) }
                /// `if self < o { self } else { o }`.
                pub fn pick_lt(self, o: $T) -> $T { $T($n::min(self.0, o.0)) }

                /// `self < o`.
                pub fn lt(self, o: $T) -> Mask { Mask($n::lt(self.0, o.0)) }
                /// `self <= o`.
                pub fn le(self, o: $T) -> Mask { Mask($n::le(self.0, o.0)) }
                /// `self > o`.
                pub fn gt(self, o: $T) -> Mask { Mask($n::lt(o.0, self.0)) }
                /// `self >= o`.
                pub fn ge(self, o: $T) -> Mask { Mask($n::le(o.0, self.0)) }
                /// `self == o`.
                pub fn eq(self, o: $T) -> Mask { Mask($n::eq(self.0, o.0)) }
                /// `self != o`, true for a NaN.
                pub fn ne(self, o: $T) -> Mask { Mask($n::ne(self.0, o.0)) }
                /// Whether each lane is a NaN.
                pub fn is_nan(self) -> Mask { Mask($n::ne(self.0, self.0)) }

                /// `self as i32`: towards zero, saturating, NaN to 0.
                pub fn to_i32(self) -> I32 { I32($n::to_i32(self.0)) }
                /// `self as u32`: towards zero, saturating, NaN to 0.
                pub fn to_u32(self) -> U32 { U32($n::to_u32(self.0)) }
                /// `self as i64`: towards zero, saturating, NaN to 0.
                pub fn to_i64(self) -> I64 { I64($n::to_i64(self.0)) }
                /// `self as u64`: towards zero, saturating, NaN to 0.
                pub fn to_u64(self) -> U64 { U64($n::to_u64(self.0)) }

                /// The sum of the lanes as a fixed tree: lane `i` plus lane `i + LANES / 2`, then the halves of that, and
                /// so on down to one.
                pub fn reduce_add(self) -> $e { reduce!($T, $n, self, a, b, a.add(b)) }
                /// The product of the lanes, in the tree of [`Self::reduce_add`].
                pub fn reduce_mul(self) -> $e { reduce!($T, $n, self, a, b, a.mul(b)) }
                /// The largest number among the lanes; NaN only if all are.
                pub fn reduce_max_num(self) -> $e { reduce!($T, $n, self, a, b, a.max_num(b)) }
                /// The smallest number among the lanes; NaN only if all are.
                pub fn reduce_min_num(self) -> $e { reduce!($T, $n, self, a, b, a.min_num(b)) }
                /// [`Self::pick_gt`] in the tree of [`Self::reduce_add`].
                pub fn reduce_pick_gt(self) -> $e { reduce!($T, $n, self, a, b, a.pick_gt(b)) }
                /// [`Self::pick_lt`] in the tree of [`Self::reduce_add`].
                pub fn reduce_pick_lt(self) -> $e { reduce!($T, $n, self, a, b, a.pick_lt(b)) }
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
                pub fn load(ptr: *const $e) -> $T { $T($n::load(ptr)) }
                /// The first `n` lanes from `ptr` (all, if `n >= LANES`), the others 0. Touches nothing beyond.
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are readable.
                pub fn load_partial(ptr: *const $e, n: usize) -> $T { $T($n::load_masked(ptr, mask::first(n))) }
                /// The lanes where `mask` is true from `ptr`, the others 0. Touches nothing else.
                ///
                /// # Safety
                /// The elements of those lanes are readable.
                pub fn load_masked(ptr: *const $e, mask: Mask) -> $T { $T($n::load_masked(ptr, mask.0)) }
                /// All lanes to `ptr`.
                ///
                /// # Safety
                /// `LANES` elements are writable.
                pub fn store(self, ptr: *mut $e) { $n::store(ptr, self.0) }
                /// The first `n` lanes (all, if `n >= LANES`) to `ptr`. Touches nothing beyond.
                ///
                /// # Safety
                /// The first `min(n, LANES)` elements are writable.
                pub fn store_partial(self, ptr: *mut $e, n: usize) {
                    $n::store_masked(ptr, self.0, mask::first(n))
                }
                /// The lanes where `mask` is true to `ptr`. Touches nothing else.
                ///
                /// # Safety
                /// The elements of those lanes are writable.
                pub fn store_masked(self, ptr: *mut $e, mask: Mask) { $n::store_masked(ptr, self.0, mask.0) }
                /// All lanes to `ptr` past the caches. For results too large to be read again soon.
                ///
                /// # Safety
                /// `LANES` elements are writable, `ptr` is aligned to a register (`REGISTER_BYTES`), and
                /// [`stream_fence`] is called before another thread, or this one through other accesses, relies on the
                /// data.
                pub fn stream(self, ptr: *mut $e) { $n::stream(ptr, self.0) }
                /// Lane `i` from `base + index[i]`, in elements.
                ///
                /// # Safety
                /// Each of those elements is readable.
                pub fn gather(base: *const $e, index: I32) -> $T { $T($n::gather(base, index.0)) }
                /// Lane `i` from `base + index[i]` where `mask` is true, 0 elsewhere; the other indices are not used.
                ///
                /// # Safety
                /// Each of those elements is readable.
                pub fn gather_masked(base: *const $e, index: I32, mask: Mask) -> $T {
                    $T($n::gather_masked(base, index.0, mask.0))
                }
                /// Lane `i` from `base + index[i]` where `mask` is true, 0 elsewhere; the other indices are not used.
                ///
                /// # Safety
                /// Each of those elements is readable.
                pub fn gather_at(base: *const $e, index: U64, mask: Mask) -> $T {
                    $T($n::gather_at(base, index.0, mask.0))
                }
                /// Lane `i` to `base + index[i]` where `mask` is true; of lanes with one index the last one stays.
                ///
                /// # Safety
                /// Each of those elements is writable.
                pub fn scatter_at(self, base: *mut $e, index: U64, mask: Mask) {
                    $n::scatter_at(base, index.0, mask.0, self.0)
                }
            }
        }
    };
}

/// Folds a vector to its lowest lane: halves, then halves of those. `upper::<N>` brings lanes `N..2N` down.
macro_rules! reduce {
    ($T:ident, $n:ident, $v:expr, $a:ident, $b:ident, $fold:expr) => {{
        let v: $T = $v;
        let step = |$a: $T, $b: $T| -> $T { $fold };
        let v = if LANES == 16 {
            step(v, $T($n::upper::<8>(v.0)))
        } else {
            v
        };
        let v = step(v, $T($n::upper::<4>(v.0)));
        let v = step(v, $T($n::upper::<2>(v.0)));
        let v = step(v, $T($n::upper::<1>(v.0)));
        v.to_array()[0]
    }};
}
