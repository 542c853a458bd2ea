//! The arguments of a reference, built over a worker's buffers.
//!
//! A reference takes what its author wrote: vectors, boxes, rows, structs of those. Here they are made of the worker's
//! memory without copying, so that timing a reference times nothing else. The price: what is made here must never be
//! dropped, grown or shrunk, which is why emitted code keeps it in `ManuallyDrop`. `E` is the element type of the
//! source, `S` the number that it consists of and that the worker counts in.

use std::mem::{forget, size_of, take};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{RawArg, RawReturn};

/// Whether argument `i` is `outer` elements of type `E`.
///
/// # Safety
/// `args` points to more than `i` arguments.
pub unsafe fn fits<E, S>(args: *const RawArg, i: usize, outer: Option<usize>) -> bool {
    // SAFETY: as promised by the caller.
    let len = unsafe { (*args.add(i)).len };
    let per = size_of::<E>() / size_of::<S>();
    match outer {
        Some(outer) => outer.checked_mul(per) == Some(len),
        None => per > 0 && len.is_multiple_of(per),
    }
}

/// First element and number of elements of argument `i`.
///
/// # Panics
/// If it is not a whole number of elements.
///
/// # Safety
/// As [`elements`].
unsafe fn parts<E, S>(args: *const RawArg, i: usize) -> (*mut E, usize) {
    // SAFETY: the caller promises that argument `i` exists.
    let arg = unsafe { *args.add(i) };
    let per = size_of::<E>() / size_of::<S>();
    assert!(
        per > 0 && size_of::<E>().is_multiple_of(size_of::<S>()) && arg.len.is_multiple_of(per),
        "argument {i} is {} numbers, which are no elements of {per}",
        arg.len
    );
    (arg.ptr.cast::<E>(), arg.len / per)
}

/// Argument `i` as a shared slice of elements.
///
/// # Panics
/// If it is not a whole number of elements.
///
/// # Safety
/// `args` points to more than `i` arguments, and argument `i` describes initialised values of `S`, aligned for `E`,
/// that nobody writes to during `'a`. `E` is made of `S`s without padding.
pub unsafe fn elements<'a, E, S>(args: *const RawArg, i: usize) -> &'a [E] {
    // SAFETY: as promised by the caller.
    unsafe {
        let (ptr, len) = parts::<E, S>(args, i);
        std::slice::from_raw_parts(ptr, len)
    }
}

/// Argument `i` as an exclusive slice of elements.
///
/// # Panics
/// As [`elements`].
///
/// # Safety
/// As [`elements`], and nothing else reads or writes those values during `'a`.
pub unsafe fn elements_mut<'a, E, S>(args: *const RawArg, i: usize) -> &'a mut [E] {
    // SAFETY: as promised by the caller.
    unsafe {
        let (ptr, len) = parts::<E, S>(args, i);
        std::slice::from_raw_parts_mut(ptr, len)
    }
}

/// Argument `i` as one shared element: a number or an array.
///
/// # Panics
/// If it is not exactly one.
///
/// # Safety
/// As [`elements`].
pub unsafe fn element<'a, E, S>(args: *const RawArg, i: usize) -> &'a E {
    // SAFETY: as promised by the caller.
    match unsafe { elements::<E, S>(args, i) } {
        [one] => one,
        other => panic!("argument {i} is {} elements, not one", other.len()),
    }
}

/// Argument `i` as one exclusive element.
///
/// # Panics
/// As [`element`].
///
/// # Safety
/// As [`elements_mut`].
pub unsafe fn element_mut<'a, E, S>(args: *const RawArg, i: usize) -> &'a mut E {
    // SAFETY: as promised by the caller.
    match unsafe { elements_mut::<E, S>(args, i) } {
        [one] => one,
        other => panic!("argument {i} is {} elements, not one", other.len()),
    }
}

/// Argument `i` as a vector over the worker's memory.
///
/// # Panics
/// As [`elements`].
///
/// # Safety
/// As [`elements_mut`], and the vector is neither dropped nor does it change its capacity.
pub unsafe fn vec<E, S>(args: *const RawArg, i: usize) -> Vec<E> {
    // SAFETY: the caller promises memory of so many values and that no allocator will see it.
    unsafe {
        let (ptr, len) = parts::<E, S>(args, i);
        Vec::from_raw_parts(ptr, len, len)
    }
}

/// Argument `i` as a boxed slice over the worker's memory.
///
/// # Panics
/// As [`elements`].
///
/// # Safety
/// As [`elements_mut`], and the box is not dropped.
pub unsafe fn boxed<E, S>(args: *const RawArg, i: usize) -> Box<[E]> {
    // SAFETY: as in `vec`.
    unsafe {
        let (ptr, len) = parts::<E, S>(args, i);
        Box::from_raw(std::ptr::slice_from_raw_parts_mut(ptr, len))
    }
}

/// A copy of argument `i` in memory of its own, for references that take a vector away.
///
/// # Panics
/// As [`elements`].
///
/// # Safety
/// As [`elements`].
pub unsafe fn copied<E, S>(args: *const RawArg, i: usize) -> Vec<E> {
    // SAFETY: as promised by the caller; `E` is made of numbers, so that a copy of its bytes is one of it.
    unsafe {
        let (ptr, len) = parts::<E, S>(args, i);
        let mut all = Vec::with_capacity(len);
        std::ptr::copy_nonoverlapping(ptr.cast_const(), all.as_mut_ptr(), len);
        all.set_len(len);
        all
    }
}

/// Argument `i` as `count` rows of `width` elements over the worker's memory. [`release`] ends them.
///
/// # Panics
/// If argument `i` is not so many elements.
///
/// # Safety
/// As [`vec`], for every row.
pub unsafe fn rows<E, S>(args: *const RawArg, i: usize, count: usize, width: usize) -> Vec<Vec<E>> {
    // SAFETY: as promised by the caller; the rows lie one after the other in the argument's memory.
    unsafe {
        let (ptr, len) = parts::<E, S>(args, i);
        assert_eq!(count.checked_mul(width), Some(len), "rows of argument {i}");
        let row = |at| Vec::from_raw_parts(ptr.add(at * width), width, width);
        (0..count).map(row).collect()
    }
}

/// Argument `i` as `count` shared slices of `width` elements.
///
/// # Panics
/// As [`rows`].
///
/// # Safety
/// As [`elements`].
pub unsafe fn row_slices<'a, E, S>(
    args: *const RawArg,
    i: usize,
    count: usize,
    width: usize,
) -> Vec<&'a [E]> {
    // SAFETY: as promised by the caller.
    let all = unsafe { elements::<E, S>(args, i) };
    assert_eq!(
        count.checked_mul(width),
        Some(all.len()),
        "rows of argument {i}"
    );
    (0..count).map(|at| &all[at * width..][..width]).collect()
}

/// Argument `i` as `count` exclusive slices of `width` elements.
///
/// # Panics
/// As [`rows`].
///
/// # Safety
/// As [`elements_mut`].
pub unsafe fn row_slices_mut<'a, E, S>(
    args: *const RawArg,
    i: usize,
    count: usize,
    width: usize,
) -> Vec<&'a mut [E]> {
    // SAFETY: as promised by the caller.
    let mut all = unsafe { elements_mut::<E, S>(args, i) };
    assert_eq!(
        count.checked_mul(width),
        Some(all.len()),
        "rows of argument {i}"
    );
    let next = |_| {
        let (row, rest) = take(&mut all).split_at_mut(width);
        all = rest;
        row
    };
    (0..count).map(next).collect()
}

/// What `make` gives, made at the first call with this `place` and never dropped.
///
/// # Safety
/// Every call with this `place` makes the same type, and nobody else writes to it. The calls are not concurrent.
pub unsafe fn made<T>(place: &AtomicPtr<u8>, make: impl FnOnce() -> T) -> &'static T {
    let mut known = place.load(Ordering::Acquire);
    if known.is_null() {
        known = Box::into_raw(Box::new(make())).cast();
        place.store(known, Ordering::Release);
    }
    // SAFETY: the place holds a value of this type, which is never dropped and never written to.
    unsafe { &*known.cast::<T>() }
}

/// Ends rows that are made of the worker's memory, and frees the list of them.
pub fn release<E>(rows: &mut Vec<Vec<E>>) {
    take(rows).into_iter().for_each(forget);
}

/// Brings home what a reference moved between owners of the worker's memory: after `swap(&mut self.a, &mut self.b)`
/// the memory of `a` holds what `b` is. `now` has for every owner the argument number, the bytes of one of its numbers,
/// and where it points now. Where nobody looks at results, nothing is moved: a function that exchanges pointers is not to
/// be timed as if it copied.
///
/// # Panics
/// If an owner has other memory now, because the function has replaced it.
///
/// # Safety
/// `args` points to more arguments than any in `now`, which describe initialised values of that size that are ours
/// alone; `ret` points to a [`RawReturn`].
pub unsafe fn settle(
    args: *const RawArg,
    ret: *const RawReturn,
    now: &[(usize, usize, *const u8)],
) {
    // SAFETY: the caller promises that the arguments exist.
    let home = |i: usize| unsafe { *args.add(i) };
    // SAFETY: as promised by the caller.
    let looked_at = unsafe { !(*ret).context.is_null() };
    if now
        .iter()
        .all(|(i, _, at)| home(*i).ptr.cast_const() == *at)
    {
        return;
    }
    let bytes = |i: usize, each: usize| home(i).len * each;
    // What each owner holds, before any of it is overwritten.
    let held = now.iter().map(|&(i, each, at)| {
        let known = now.iter().any(|&(j, other, _)| {
            home(j).ptr.cast_const() == at && bytes(j, other) == bytes(i, each)
        });
        assert!(known, "the function replaces the memory of argument {i}");
        if !looked_at {
            return Vec::new();
        }
        // SAFETY: `at` is the memory of an argument of that many bytes.
        unsafe { std::slice::from_raw_parts(at, bytes(i, each)) }.to_vec()
    });
    let held: Vec<Vec<u8>> = held.collect();
    for (&(i, ..), held) in now.iter().zip(&held) {
        // SAFETY: the memory of argument `i` has that many bytes and is ours alone.
        unsafe { std::ptr::copy_nonoverlapping(held.as_ptr(), home(i).ptr, held.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;

    fn arg<T>(data: &mut [T]) -> RawArg {
        RawArg {
            ptr: data.as_mut_ptr().cast(),
            len: data.len(),
        }
    }

    #[test]
    fn vectors_and_rows_lie_in_the_arguments() {
        let (mut a, mut b) = ([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [9u8, 8]);
        let args = [arg(&mut a), arg(&mut b)];
        // SAFETY: the arguments are arrays of these types, used one after the other and not dropped through them.
        unsafe {
            let args = args.as_ptr();
            assert_eq!(
                elements::<[f32; 3], f32>(args, 0),
                [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
            );
            assert!(
                fits::<[f32; 3], f32>(args, 0, Some(2)) && !fits::<[f32; 4], f32>(args, 0, None)
            );
            assert_eq!(element::<[u8; 2], u8>(args, 1), &[9, 8]);
            let mut owned = ManuallyDrop::new(vec::<f32, f32>(args, 0));
            owned[0] = 7.0;
            let mut parts = ManuallyDrop::new(rows::<f32, f32>(args, 0, 2, 3));
            parts[1][2] = 0.5;
            release(&mut parts);
            assert!(parts.is_empty());
            row_slices_mut::<f32, f32>(args, 0, 3, 2)[2][0] = 0.25;
            assert_eq!(row_slices::<f32, f32>(args, 0, 3, 2)[0], [7.0, 2.0]);
            let boxed = ManuallyDrop::new(boxed::<u8, u8>(args, 1));
            assert_eq!(**boxed, [9, 8]);
            assert_eq!(copied::<u8, u8>(args, 1), [9, 8]);
        }
        assert_eq!(a, [7.0, 2.0, 3.0, 4.0, 0.25, 0.5]);
    }

    #[test]
    fn swapped_owners_come_home() {
        let (mut a, mut b, mut c) = ([1u16, 2], [3u16, 4], [5u16, 6]);
        let args = [arg(&mut a), arg(&mut b), arg(&mut c)];
        let at = |i: usize| args[i].ptr.cast_const();
        unsafe extern "C" fn sink(_: *mut u8, _: usize, _: *const u8, _: usize) {}
        let mut context = 0u8;
        let [timed, looked_at] =
            [std::ptr::null_mut(), &raw mut context].map(|context| RawReturn { context, sink });
        let turned = [(0, 2, at(1)), (1, 2, at(2)), (2, 2, at(0))];
        // SAFETY: three live arguments of two bytes a number.
        unsafe {
            let args = args.as_ptr();
            settle(
                args,
                &looked_at,
                &[(0, 2, at(0)), (1, 2, at(1)), (2, 2, at(2))],
            );
            settle(args, &timed, &turned);
            settle(args, &looked_at, &turned);
        }
        assert_eq!((a, b, c), ([3, 4], [5, 6], [1, 2]));
    }
}
