//! Arguments as numbers, and numbers as results.
//!
//! The letters are the same everywhere: `E` is the type that the caller's code has, `F` the type that the kernel was
//! made for, `S` the number that `F` consists of, as kernels take it.

use std::any::TypeId;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of, transmute, transmute_copy};

/// Whether `A` and `B` are the same type but for lifetimes. A constant once compiled.
///
/// ```
/// use pragma_runtime::dispatch::type_is;
/// assert!(type_is::<f32, f32>() && !type_is::<f32, u32>());
/// ```
#[inline(always)]
pub fn type_is<A: ?Sized, B: ?Sized>() -> bool {
    id_of::<A>() == id_of::<B>()
}

/// The id of a type whose lifetimes are all replaced by `'static`.
#[inline(always)]
fn id_of<T: ?Sized>() -> TypeId {
    trait Identity {
        fn id(&self) -> TypeId
        where
            Self: 'static;
    }
    impl<T: ?Sized> Identity for PhantomData<T> {
        #[inline(always)]
        fn id(&self) -> TypeId
        where
            Self: 'static,
        {
            TypeId::of::<T>()
        }
    }
    let phantom = PhantomData::<T>;
    let identity: &dyn Identity = &phantom;
    // SAFETY: only the bound on the lifetime of a reference to a zero-sized value changes; `id` uses no data, and ids
    // do not depend on lifetimes.
    let identity: &(dyn Identity + 'static) =
        unsafe { transmute::<&dyn Identity, &(dyn Identity + 'static)>(identity) };
    identity.id()
}

/// Whether a field, which `get` borrows, is of type `F`.
#[inline(always)]
pub fn field_is<R, E, F>(get: fn(&R) -> &E) -> bool {
    let _ = get;
    type_is::<E, F>()
}

/// The value of a number, if it is an `F`.
///
/// # Safety
/// Every `F` is a valid `S` bit for bit.
#[inline(always)]
pub unsafe fn number<E: Copy, F, S: Copy>(value: E) -> Option<S> {
    const { assert!(size_of::<F>() == size_of::<S>()) };
    if !type_is::<E, F>() {
        return None;
    }
    // SAFETY: `E` is `F`, and the caller says that an `F` is an `S`; the sizes are equal.
    Some(unsafe { transmute_copy::<E, S>(&value) })
}

/// All numbers of a slice, if its elements are `F`s.
///
/// # Safety
/// An `F` consists of `S`s without padding, bit for bit.
#[inline(always)]
pub unsafe fn numbers<E, F, S>(slice: &[E]) -> Option<&[S]> {
    let per = const { per::<F, S>() };
    if !type_is::<E, F>() {
        return None;
    }
    let data = slice.as_ptr().cast::<S>();
    // SAFETY: `E` is `F`, which the caller says is `per` values of `S`; the length cannot overflow, since it counts
    // parts of memory that exists.
    Some(unsafe { std::slice::from_raw_parts(data, slice.len() * per) })
}

/// The same, to be written to.
///
/// # Safety
/// As [`numbers`], and any `S`s make an `F`.
#[inline(always)]
pub unsafe fn numbers_mut<E, F, S>(slice: &mut [E]) -> Option<&mut [S]> {
    let per = const { per::<F, S>() };
    if !type_is::<E, F>() {
        return None;
    }
    let data = slice.as_mut_ptr().cast::<S>();
    // SAFETY: as in `numbers`; the exclusive borrow goes over to the result.
    Some(unsafe { std::slice::from_raw_parts_mut(data, slice.len() * per) })
}

/// The number of `S`s in an `F`.
const fn per<F, S>() -> usize {
    assert!(size_of::<S>() > 0 && size_of::<F>().is_multiple_of(size_of::<S>()));
    assert!(align_of::<F>() >= align_of::<S>());
    size_of::<F>() / size_of::<S>()
}

/// The first `len` numbers of the spare room of `vec`, if its elements are `F`s and so many fit in whole elements.
///
/// # Safety
/// As [`numbers_mut`].
#[inline(always)]
pub unsafe fn spare<E, F, S>(vec: &mut Vec<E>, len: usize) -> Option<&mut [MaybeUninit<S>]> {
    let per = const { per::<F, S>() };
    if !type_is::<E, F>() || per == 0 || !len.is_multiple_of(per) {
        return None;
    }
    vec.reserve_exact(len / per);
    let room = vec.spare_capacity_mut().get_mut(..len / per)?;
    let data = room.as_mut_ptr().cast::<MaybeUninit<S>>();
    // SAFETY: the room holds `len / per` values of `F`, each of which is `per` values of `S`.
    Some(unsafe { std::slice::from_raw_parts_mut(data, len) })
}

/// The numbers of a value to be, if it is an `F`.
///
/// # Safety
/// As [`numbers_mut`].
#[inline(always)]
pub unsafe fn spare_one<E, F, S>(room: &mut MaybeUninit<E>) -> Option<&mut [MaybeUninit<S>]> {
    let per = const { per::<F, S>() };
    if !type_is::<E, F>() {
        return None;
    }
    let data = std::ptr::from_mut(room).cast::<MaybeUninit<S>>();
    // SAFETY: the room is that of one `F`, which is `per` values of `S`.
    Some(unsafe { std::slice::from_raw_parts_mut(data, per) })
}

/// A number that a kernel made, as the type that the caller's code has.
///
/// # Panics
/// If that type is not `F`: a definition has changed in a way that the function's arguments did not show.
///
/// # Safety
/// Any `S` is a valid `F` bit for bit.
#[inline(always)]
pub unsafe fn give<S: Copy, F, E>(value: S) -> E {
    const { assert!(size_of::<F>() == size_of::<S>()) };
    assert!(
        type_is::<E, F>(),
        "a type has changed since the kernels were made: run `cargo pragma tune`"
    );
    // SAFETY: `E` is `F`, and the caller says that an `S` is an `F`; the sizes are equal.
    unsafe { transmute_copy::<S, E>(&value) }
}

/// The numbers of all rows one after the other, the number of rows and the numbers in each row; if the elements are
/// `F`s and all rows are equally long.
///
/// # Safety
/// As [`numbers`].
pub unsafe fn gather_rows<R, E, F, S>(rows: &[R]) -> Option<(Vec<S>, usize, usize)>
where
    R: AsRef<[E]>,
    S: Copy,
{
    let width = rows.first().map_or(0, |row| row.as_ref().len());
    if !type_is::<E, F>() || rows.iter().any(|row| row.as_ref().len() != width) {
        return None;
    }
    let mut all = Vec::with_capacity(rows.len() * width * const { per::<F, S>() });
    for row in rows {
        // SAFETY: as promised by the caller.
        all.extend_from_slice(unsafe { numbers::<E, F, S>(row.as_ref()) }?);
    }
    Some((all, rows.len(), width))
}

/// Puts numbers back from where [`gather_rows`] took them.
///
/// # Panics
/// If the rows are not those.
///
/// # Safety
/// As [`numbers_mut`].
pub unsafe fn scatter_rows<R, E, F, S>(rows: &mut [R], mut all: &[S])
where
    R: AsMut<[E]>,
    S: Copy,
{
    for row in rows {
        // SAFETY: as promised by the caller.
        let row = unsafe { numbers_mut::<E, F, S>(row.as_mut()) }.unwrap_or_default();
        let (first, rest) = all.split_at(row.len());
        row.copy_from_slice(first);
        all = rest;
    }
}

/// Rows out of the numbers of all of them.
///
/// # Panics
/// If the number of numbers is another one, or the elements are not `F`s.
///
/// # Safety
/// As [`numbers_mut`].
pub unsafe fn split_rows<E, F, S>(all: &[S], rows: usize, width: usize) -> Vec<Vec<E>>
where
    S: Copy,
{
    let per = const { per::<F, S>() };
    assert!(
        type_is::<E, F>()
            && Some(all.len()) == rows.checked_mul(width).and_then(|n| n.checked_mul(per)),
        "a kernel returned rows of another size than it said"
    );
    let row = |i: usize| {
        let mut row: Vec<E> = Vec::with_capacity(width);
        // SAFETY: `E` is `F`, made of `per` values of `S`, of which there are `rows * width * per`; the room is for
        // `width` of them, and all are written before the length says so.
        unsafe {
            let from = all.as_ptr().add(i * width * per);
            std::ptr::copy_nonoverlapping(from, row.as_mut_ptr().cast::<S>(), width * per);
            row.set_len(width);
        }
        row
    };
    (0..rows).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_apart_and_lifetimes_are_not() {
        fn same<'a>(_: &'a u8) -> bool {
            type_is::<&'a u8, &'static u8>()
        }
        let local = 1u8;
        assert!(same(&local));
        assert!(type_is::<[f32; 3], [f32; 3]>() && !type_is::<[f32; 3], [f32; 4]>());
        assert!(type_is::<str, str>() && !type_is::<i32, u32>());
    }

    #[test]
    fn slices_become_numbers_where_the_type_fits() {
        let points = [[1.0f32, 2.0], [3.0, 4.0]];
        // SAFETY: arrays of numbers are numbers.
        unsafe {
            let flat = numbers::<_, [f32; 2], f32>(&points);
            assert_eq!(flat, Some(&[1.0f32, 2.0, 3.0, 4.0][..]));
            assert_eq!(numbers::<_, [f64; 2], f64>(&points), None);
            let mut points = points;
            numbers_mut::<_, [f32; 2], f32>(&mut points).expect("the type")[3] = 9.0;
            assert_eq!(points[1], [3.0, 9.0]);
            assert_eq!(number::<_, f32, u32>(1.0f32), Some(1.0f32.to_bits()));
            assert_eq!(number::<_, f32, u32>(1u32), None);
            assert_eq!(give::<u32, f32, f32>(1.0f32.to_bits()), 1.0);
        }
        assert!(field_is::<(u8, [f32; 2]), _, [f32; 2]>(|pair| &pair.1));
        assert!(!field_is::<(u8, f32), _, u8>(|pair| &pair.1));
    }

    #[test]
    fn results_are_made_in_place() {
        let mut points: Vec<[u16; 2]> = Vec::new();
        // SAFETY: arrays of numbers are numbers; the length is set after both elements are written.
        unsafe {
            assert!(spare::<_, [u16; 2], u16>(&mut points, 3).is_none());
            for (i, room) in spare::<_, [u16; 2], u16>(&mut points, 4)
                .expect("it fits")
                .iter_mut()
                .enumerate()
            {
                room.write(i as u16);
            }
            points.set_len(2);
        }
        assert_eq!(points, [[0, 1], [2, 3]]);
        let mut one = MaybeUninit::<[u8; 3]>::uninit();
        // SAFETY: as above.
        let one = unsafe {
            assert!(spare_one::<_, [i8; 3], i8>(&mut one).is_none());
            let room = spare_one::<_, [u8; 3], u8>(&mut one).expect("the type");
            room.iter_mut().for_each(|room| *room = MaybeUninit::new(7));
            one.assume_init()
        };
        assert_eq!(one, [7; 3]);
    }

    #[test]
    fn rows_go_there_and_back() {
        let mut rows = vec![vec![1i32, 2], vec![3, 4]];
        // SAFETY: numbers are numbers.
        unsafe {
            let gathered = gather_rows::<_, _, i32, i32>(&rows);
            assert_eq!(gathered, Some((vec![1, 2, 3, 4], 2, 2)));
            scatter_rows::<_, _, i32, i32>(&mut rows, &[5, 6, 7, 8]);
            assert_eq!(rows, [[5, 6], [7, 8]]);
            rows[1].push(9);
            assert_eq!(gather_rows::<_, _, i32, i32>(&rows), None);
            let slices: [&[i32]; 2] = [&[1], &[2]];
            assert_eq!(
                gather_rows::<_, _, i32, i32>(&slices),
                Some((vec![1, 2], 2, 1))
            );
            assert_eq!(
                split_rows::<i32, i32, i32>(&[1, 2, 3, 4], 2, 2),
                [[1, 2], [3, 4]]
            );
            let none: [Vec<i32>; 0] = [];
            assert_eq!(gather_rows::<_, _, i32, i32>(&none), Some((vec![], 0, 0)));
        }
    }
}
