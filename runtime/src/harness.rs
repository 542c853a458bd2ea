//! The C ABI between a tuning worker and a compiled reference or candidate.
//!
//! `#[pragma_kernel]` emits one [`Entry`] per kernel when a crate is built for tuning, and candidates export the same;
//! both sides agree on nothing but this file. Loading libraries, building arguments and judging results are the worker's.
//! Not for hand-written code: nothing here is part of the stable interface, only [`ABI_VERSION`] guards it.

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use std::hint::black_box;

mod arguments;

pub use arguments::{
    boxed, copied, element, element_mut, elements, elements_mut, fits, made, release, row_slices,
    row_slices_mut, rows, settle, vec,
};

/// Version of this ABI. A worker refuses a library that was built against another one.
pub const ABI_VERSION: u32 = 2;

/// The call returned normally.
pub const STATUS_OK: u32 = 0;
/// The kernel panicked; its message went to standard error.
pub const STATUS_PANIC: u32 = 1;
/// The argument list does not fit the kernel's signature.
pub const STATUS_BAD_ARGS: u32 = 2;
/// The candidate's shape guard refused these arguments: in the user's crate the reference would have run.
pub const STATUS_GUARD: u32 = 3;
/// The reference has no result for these arguments: it returned an `Err` or a `None`.
pub const STATUS_REFUSED: u32 = 4;
/// The compiler lays out a record otherwise than the argument list assumes: nothing was called.
pub const STATUS_LAYOUT: u32 = 5;

/// One argument: where its data is and how many elements it has.
///
/// Slices and arrays: the first element and the element count. Scalars: the value, count 1. A count of zero may come
/// with a dangling pointer, which must still be non-null and aligned.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawArg {
    /// First element, aligned for its type.
    pub ptr: *mut u8,
    /// Number of elements, not bytes.
    pub len: usize,
}

/// Where returned values go: the callee hands each one to `sink`, which copies it before returning.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawReturn {
    /// Passed through to `sink` untouched. Null where nobody looks at results, as in timing.
    pub context: *mut u8,
    /// Receives value `index` of the return tuple as `bytes` bytes at `data`.
    pub sink: unsafe extern "C" fn(context: *mut u8, index: usize, data: *const u8, bytes: usize),
}

/// An exported reference or candidate. Returns one of the `STATUS_` values.
pub type Entry =
    unsafe extern "C" fn(args: *const RawArg, count: usize, ret: *const RawReturn) -> u32;

/// Argument `i` as a shared slice.
///
/// # Safety
/// `args` points to more than `i` arguments, and argument `i` describes `len` initialised, aligned values of `T` that
/// nobody writes to during `'a`.
pub unsafe fn slice<'a, T>(args: *const RawArg, i: usize) -> &'a [T] {
    // SAFETY: the caller promises that argument `i` exists and holds `len` values of `T`.
    unsafe {
        let arg = *args.add(i);
        std::slice::from_raw_parts(arg.ptr.cast::<T>().cast_const(), arg.len)
    }
}

/// Argument `i` as an exclusive slice.
///
/// # Safety
/// As [`slice`], and nothing else reads or writes those values during `'a`.
pub unsafe fn slice_mut<'a, T>(args: *const RawArg, i: usize) -> &'a mut [T] {
    // SAFETY: the caller promises that argument `i` exists and holds `len` values of `T` that are ours alone.
    unsafe {
        let arg = *args.add(i);
        std::slice::from_raw_parts_mut(arg.ptr.cast::<T>(), arg.len)
    }
}

/// Argument `i` as a shared array.
///
/// # Panics
/// If the argument does not have exactly `N` elements.
///
/// # Safety
/// As [`slice`].
pub unsafe fn array<'a, T, const N: usize>(args: *const RawArg, i: usize) -> &'a [T; N] {
    // SAFETY: as promised by the caller.
    let slice = unsafe { slice::<T>(args, i) };
    match slice.try_into() {
        Ok(array) => array,
        Err(_) => panic!("argument {i} has {} elements, not {N}", slice.len()),
    }
}

/// Argument `i` as an exclusive array.
///
/// # Panics
/// If the argument does not have exactly `N` elements.
///
/// # Safety
/// As [`slice_mut`].
pub unsafe fn array_mut<'a, T, const N: usize>(args: *const RawArg, i: usize) -> &'a mut [T; N] {
    // SAFETY: as promised by the caller.
    let slice = unsafe { slice_mut::<T>(args, i) };
    let len = slice.len();
    match slice.try_into() {
        Ok(array) => array,
        Err(_) => panic!("argument {i} has {len} elements, not {N}"),
    }
}

/// The value of scalar argument `i`.
///
/// # Safety
/// `args` points to more than `i` arguments, and argument `i` points to an initialised, aligned `T`.
pub unsafe fn scalar<T: Copy>(args: *const RawArg, i: usize) -> T {
    // SAFETY: the caller promises that argument `i` exists and points to a `T`.
    unsafe { *(*args.add(i)).ptr.cast::<T>() }
}

/// Hands value `index` of the return tuple to the worker.
///
/// # Safety
/// `ret` points to a [`RawReturn`] whose sink is sound to call.
pub unsafe fn return_value<T>(ret: *const RawReturn, index: usize, value: &T) {
    // SAFETY: as promised by the caller; the data is one live `T`.
    unsafe { return_slice(ret, index, std::slice::from_ref(value)) }
}

/// Hands value `index` of the return tuple, a sequence, to the worker.
///
/// # Safety
/// As [`return_value`].
pub unsafe fn return_slice<T>(ret: *const RawReturn, index: usize, values: &[T]) {
    // SAFETY: the caller promises a valid `ret`; pointer and byte count describe `values`, which outlives the call.
    unsafe {
        let RawReturn { context, sink } = *ret;
        sink(context, index, values.as_ptr().cast(), size_of_val(values));
    }
}

/// Runs `f` and turns a panic into [`STATUS_PANIC`], so that none crosses the C ABI.
///
/// The panic hook has printed the message by then, as usual.
pub fn guard_panic(f: impl FnOnce() -> u32) -> u32 {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(status) => status,
        Err(payload) => {
            // Dropping a payload runs foreign code that may panic again; a leak in a worker is harmless.
            std::mem::forget(payload);
            STATUS_PANIC
        }
    }
}

/// Limits this copy of the runtime to `n` threads from now on, over `PRAGMA_THREADS`; 0 lifts the limit again.
///
/// A loaded library has its own copy of this crate and of its thread pool, so the worker cannot set it from outside:
/// libraries built for tuning export a call to this.
pub fn set_thread_limit(n: usize) {
    crate::parallel::set_limit(n);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arg<T>(data: &mut [T]) -> RawArg {
        RawArg {
            ptr: data.as_mut_ptr().cast(),
            len: data.len(),
        }
    }

    /// What a macro would emit for `fn axpy(a: f32, x: &[f32], y: &mut [f32; 3]) -> (f32, Vec<u16>)`.
    unsafe extern "C" fn axpy(args: *const RawArg, count: usize, ret: *const RawReturn) -> u32 {
        if count != 3 {
            return STATUS_BAD_ARGS;
        }
        guard_panic(|| {
            // SAFETY: the test passes a scalar, a slice and an array of these types, and a sink.
            unsafe {
                let a: f32 = scalar(args, 0);
                let x: &[f32] = slice(args, 1);
                let y: &mut [f32; 3] = array_mut(args, 2);
                for (y, x) in y.iter_mut().zip(x) {
                    *y += a * x;
                }
                return_value(ret, 0, &y[0]);
                return_slice(ret, 1, &[1u16, 2, 3]);
            }
            STATUS_OK
        })
    }

    unsafe extern "C" fn collect(context: *mut u8, index: usize, data: *const u8, bytes: usize) {
        // SAFETY: the tests pass a live vector as context, and the callee passes `bytes` readable bytes.
        unsafe {
            let out = &mut *context.cast::<Vec<(usize, Vec<u8>)>>();
            out.push((index, std::slice::from_raw_parts(data, bytes).to_vec()));
        }
    }

    #[test]
    fn arguments_go_in_and_values_come_out() {
        let (mut a, mut x, mut y) = ([2.0f32], [1.0f32, 2.0, 3.0], [10.0f32, 20.0, 30.0]);
        let args = [arg(&mut a), arg(&mut x), arg(&mut y)];
        let mut got: Vec<(usize, Vec<u8>)> = Vec::new();
        let ret = RawReturn {
            context: (&raw mut got).cast(),
            sink: collect,
        };
        // SAFETY: three live arguments of the types that `axpy` reads.
        let status = unsafe { axpy(args.as_ptr(), 3, &ret) };
        assert_eq!(status, STATUS_OK);
        assert_eq!(y, [12.0, 24.0, 36.0]);
        assert_eq!(got[0], (0, 12.0f32.to_ne_bytes().to_vec()));
        assert_eq!(
            got[1],
            (
                1,
                [1u16, 2, 3].iter().flat_map(|v| v.to_ne_bytes()).collect()
            )
        );
        // SAFETY: the callee refuses before it looks at the arguments.
        assert_eq!(unsafe { axpy(args.as_ptr(), 2, &ret) }, STATUS_BAD_ARGS);
    }

    #[test]
    fn a_wrong_array_length_is_a_panic_status() {
        let (mut a, mut x, mut y) = ([2.0f32], [1.0f32], [10.0f32, 20.0]);
        let args = [arg(&mut a), arg(&mut x), arg(&mut y)];
        let mut got: Vec<(usize, Vec<u8>)> = Vec::new();
        let ret = RawReturn {
            context: (&raw mut got).cast(),
            sink: collect,
        };
        // SAFETY: three live arguments; the short array is what is tested.
        assert_eq!(unsafe { axpy(args.as_ptr(), 3, &ret) }, STATUS_PANIC);
        assert_eq!(y, [10.0, 20.0]);
        assert!(got.is_empty());
    }

    #[test]
    fn empty_slices_may_dangle() {
        let args = [RawArg {
            ptr: std::ptr::dangling_mut::<u64>().cast(),
            len: 0,
        }];
        // SAFETY: a zero-length argument with an aligned dangling pointer, as the ABI allows.
        unsafe {
            assert!(slice::<u64>(args.as_ptr(), 0).is_empty());
            assert!(slice_mut::<u64>(args.as_ptr(), 0).is_empty());
            assert_eq!(array::<u64, 0>(args.as_ptr(), 0), &[0u64; 0]);
        }
    }

    #[test]
    fn panics_become_a_status() {
        assert_eq!(guard_panic(|| STATUS_GUARD), STATUS_GUARD);
        assert_eq!(
            guard_panic(|| panic!("expected by this test")),
            STATUS_PANIC
        );
    }
}
