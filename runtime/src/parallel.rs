//! A parallel loop over blocks whose results do not depend on the number of threads.
//!
//! Owns how many threads a kernel may use and how blocks reach them. It has no threads of its own: work goes to the
//! rayon pool that is current for the caller, so kernels compose with a program that already uses rayon. Without the
//! feature `parallel` everything runs on the calling thread.
//!
//! What a [`for_blocks`] call itself costs, on two Zen 4 cores of a busy machine: 20 ns with one range, up to 170 ns from
//! inside a pool. From outside, the caller never waits for a thread that comes too late: two empty ranges take 0.2
//! microseconds (median), two of 20 microseconds 22.7, sixteen of 5 microseconds 44. Below some microseconds of work,
//! threads are no help.

#[cfg(feature = "parallel")]
mod share;

#[cfg(feature = "parallel")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Set by [`set_limit`]; 0 for none.
static LIMIT: AtomicUsize = AtomicUsize::new(0);

/// Limits every later call in this process to `n` threads, over `PRAGMA_THREADS`; 0 lifts the limit.
pub(crate) fn set_limit(n: usize) {
    LIMIT.store(n, Ordering::Relaxed);
}

/// How many threads [`for_blocks`] may use here, at least 1.
///
/// The size of the current rayon pool, or less where the environment variable `PRAGMA_THREADS` (read once) says so.
/// Always 1 without the feature `parallel`.
pub fn threads() -> usize {
    #[cfg(feature = "parallel")]
    {
        match limit() {
            // Asking rayon would start its global pool, which a one-thread program does not want.
            1 => 1,
            limit => rayon::current_num_threads().min(limit),
        }
    }
    #[cfg(not(feature = "parallel"))]
    {
        1
    }
}

/// The most threads that settings allow.
#[cfg(feature = "parallel")]
fn limit() -> usize {
    static ENV: OnceLock<usize> = OnceLock::new();
    match LIMIT.load(Ordering::Relaxed) {
        0 => *ENV.get_or_init(|| parse_limit(std::env::var("PRAGMA_THREADS").ok().as_deref())),
        limit => limit,
    }
}

/// The meaning of `PRAGMA_THREADS`: a positive number is a limit, anything else is none.
#[cfg(feature = "parallel")]
fn parse_limit(value: Option<&str>) -> usize {
    let Some(value) = value else {
        return usize::MAX;
    };
    match value.trim().parse() {
        Ok(0) => usize::MAX,
        Ok(n) => n,
        Err(_) => {
            eprintln!("pragma: PRAGMA_THREADS={value} ignored: expected a number");
            usize::MAX
        }
    }
}

/// Calls `body(begin, end)` for consecutive ranges of exactly `block` elements that cover `0..n`; the last range may be
/// shorter. A `block` of 0 counts as 1.
///
/// The ranges depend on `n` and `block` only, never on the number of threads, so a kernel that reduces each range by
/// itself and combines the results in order gives the same bits on any machine. Ranges may run in any order and at the
/// same time; with one range or one thread they run in order on the calling thread.
///
/// # Panics
/// If `body` panics, after the ranges already started have ended.
pub fn for_blocks(n: usize, block: usize, body: impl Fn(usize, usize) + Sync) {
    for_blocks_if(true, n, block, body);
}

/// [`for_blocks`] where it is `worthwhile`, otherwise the same ranges in order on the calling thread: a kernel's cut-over
/// for sizes too small to share out.
///
/// # Panics
/// If `body` panics, after the ranges already started have ended.
pub fn for_blocks_if(worthwhile: bool, n: usize, block: usize, body: impl Fn(usize, usize) + Sync) {
    let block = block.max(1);
    let blocks = n.div_ceil(block);
    let run = |index: usize| {
        let begin = index * block;
        body(begin, n.min(begin.saturating_add(block)));
    };
    if blocks <= 1 {
        if blocks == 1 {
            run(0);
        }
        return;
    }
    #[cfg(feature = "parallel")]
    if worthwhile {
        let threads = threads().min(blocks);
        if threads > 1 {
            return share_out(blocks, threads, &run);
        }
    }
    let _ = worthwhile;
    for index in 0..blocks {
        run(index);
    }
}

/// Runs `run` for every index below `blocks` on `threads` threads, the caller's among them.
#[cfg(feature = "parallel")]
fn share_out(blocks: usize, threads: usize, run: &(impl Fn(usize) + Sync)) {
    // A few claims per thread even out unequal blocks; one claim per block would make tiny blocks fight over `next`.
    const CLAIMS_PER_THREAD: usize = 8;
    let claim = (blocks / (threads * CLAIMS_PER_THREAD)).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let first = next.fetch_add(claim, Ordering::Relaxed);
            if first >= blocks {
                break;
            }
            for index in first..blocks.min(first + claim) {
                run(index);
            }
        }
    };
    if rayon::current_thread_index().is_none() {
        return share::share(threads - 1, &work);
    }
    // The caller works too, so the blocks get done even while every other thread of the pool is busy.
    rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
}

/// Runs `f` in a pool of its own with `n` threads (0 counts as 1), to measure how a kernel scales.
///
/// Both [`for_blocks`] and the caller's own rayon code use that pool inside `f`. `PRAGMA_THREADS` still applies. Without
/// the feature `parallel`, `f` just runs.
///
/// # Errors
/// If the operating system refuses the threads.
pub fn with_threads<R: Send>(n: usize, f: impl FnOnce() -> R + Send) -> std::io::Result<R> {
    #[cfg(feature = "parallel")]
    {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n.max(1))
            .build()
            .map_err(std::io::Error::other)?;
        Ok(pool.install(f))
    }
    #[cfg(not(feature = "parallel"))]
    {
        let _ = n;
        Ok(f())
    }
}

/// A mutable pointer that may be used from several threads.
///
/// For kernels whose blocks write disjoint ranges of one slice. The wrapper promises nothing by itself: whoever
/// dereferences the pointer guarantees that it is in bounds and that no two threads touch the same element at the same
/// time, one of them writing. The `T` behind it must be fit for use from another thread.
#[derive(Debug)]
pub struct Shared<T>(*mut T);

/// A read-only pointer that may be used from several threads.
///
/// Whoever dereferences it guarantees that it is in bounds and that nobody writes to what it reads.
#[derive(Debug)]
pub struct SharedConst<T>(*const T);

impl<T> Shared<T> {
    /// Wraps a pointer, usually a slice's `as_mut_ptr()`.
    #[inline]
    pub fn new(ptr: *mut T) -> Self {
        Shared(ptr)
    }

    /// The pointer. A method, so that closures capture the wrapper and not the bare pointer inside.
    #[inline]
    pub fn get(self) -> *mut T {
        self.0
    }
}

impl<T> SharedConst<T> {
    /// Wraps a pointer, usually a slice's `as_ptr()`.
    #[inline]
    pub fn new(ptr: *const T) -> Self {
        SharedConst(ptr)
    }

    /// The pointer. A method, so that closures capture the wrapper and not the bare pointer inside.
    #[inline]
    pub fn get(self) -> *const T {
        self.0
    }
}

impl<T> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}
impl<T> Clone for SharedConst<T> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SharedConst<T> {}

// SAFETY: moving the pointer is harmless; each dereference is unsafe and bound by the contract above, and `T: Send`
// lets its values be used from another thread.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Send> Sync for Shared<T> {}
// SAFETY: moving the pointer is harmless; each dereference is unsafe and only reads, which `T: Sync` allows from
// several threads.
unsafe impl<T: Sync> Send for SharedConst<T> {}
// SAFETY: as for `Send`.
unsafe impl<T: Sync> Sync for SharedConst<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn ranges(n: usize, block: usize) -> Vec<(usize, usize)> {
        let seen = Mutex::new(Vec::new());
        for_blocks(n, block, |begin, end| {
            seen.lock().expect("no panic while held").push((begin, end))
        });
        let mut seen = seen.into_inner().expect("no panic while held");
        seen.sort_unstable();
        seen
    }

    fn expected(n: usize, block: usize) -> Vec<(usize, usize)> {
        (0..n)
            .step_by(block)
            .map(|begin| (begin, n.min(begin + block)))
            .collect()
    }

    #[test]
    fn the_partition_does_not_depend_on_the_threads() {
        for threads in [1, 2, 3, 8] {
            for n in [0, 1, 2, 7, 8, 9, 64, 1000] {
                for block in [1, 2, 7, 8, 64, 2000] {
                    let got = with_threads(threads, || ranges(n, block)).expect("threads start");
                    assert_eq!(
                        got,
                        expected(n, block),
                        "threads {threads}, n {n}, block {block}"
                    );
                }
            }
        }
        assert_eq!(ranges(10, 3), expected(10, 3));
        assert_eq!(ranges(2, 0), expected(2, 1));
        assert_eq!(ranges(5, usize::MAX), [(0, 5)]);
    }

    #[test]
    fn disjoint_writes_from_many_threads() {
        let mut out = vec![0u32; 10_000];
        let shared = Shared::new(out.as_mut_ptr());
        with_threads(4, || {
            for_blocks(out.len(), 17, |begin, end| {
                for i in begin..end {
                    // SAFETY: `i` is in bounds and the ranges are disjoint.
                    unsafe { *shared.get().add(i) += i as u32 }
                }
            });
        })
        .expect("threads start");
        assert!(out.iter().enumerate().all(|(i, &v)| v == i as u32));
    }

    #[test]
    fn nested_loops_end() {
        let count = AtomicUsize::new(0);
        with_threads(3, || {
            for_blocks(20, 1, |_, _| {
                for_blocks(20, 1, |_, _| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
            });
        })
        .expect("threads start");
        assert_eq!(count.into_inner(), 400);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        for threads in [1, 4] {
            let caught = std::panic::catch_unwind(|| {
                with_threads(threads, || {
                    for_blocks(100, 1, |begin, _| {
                        assert!(begin != 57, "expected by this test")
                    });
                })
            });
            assert!(caught.is_err());
        }
    }

    #[cfg(feature = "parallel")]
    #[test]
    fn the_pool_and_the_setting_bound_the_threads() {
        assert_eq!(
            with_threads(3, threads).expect("threads start"),
            3.min(limit())
        );
        assert_eq!(parse_limit(None), usize::MAX);
        assert_eq!(parse_limit(Some("0")), usize::MAX);
        assert_eq!(parse_limit(Some(" 4 ")), 4);
        assert_eq!(parse_limit(Some("many")), usize::MAX);
    }

    #[cfg(not(feature = "parallel"))]
    #[test]
    fn without_the_feature_there_is_one_thread() {
        assert_eq!(threads(), 1);
        assert_eq!(with_threads(8, threads).expect("no threads are needed"), 1);
    }
}
