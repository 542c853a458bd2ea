//! Sharing blocks with a rayon pool from a thread outside it, without waiting for the pool to wake up.
//!
//! A rayon scope ends when all its jobs have run, and a job runs only once a sleeping thread has woken: microseconds that
//! a small loop does not have. Here the caller starts at once, helpers join if they come in time, and the caller returns
//! when every helper that did join has left. A helper that comes too late finds the loop closed and touches nothing.
//!
//! Owns that protocol. How blocks are cut, and callers inside a pool, are the parent module's.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// The loop is over: no helper may join any more.
const CLOSED: usize = 1;
/// One helper inside.
const HELPER: usize = 2;

/// Jobs given to pools that have not started. They hold no loop back, but a pool that is busy for long must not collect
/// them without bound.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// How many jobs may wait, per thread. Many more than wait while a pool wakes up, or the next loop would go without help.
const WAITING_PER_THREAD: usize = 256;

/// How often the caller looks for the last helper to leave before it sleeps: about as long as waking up would take.
const SPINS: usize = 2000;

/// A loop that helpers may join.
struct Loop {
    /// `CLOSED`, plus `HELPER` for each helper inside.
    state: AtomicUsize,
    /// Works until nothing is left to claim. Points to the caller's stack; only helpers inside may call it.
    work: *const (dyn Fn() + Sync),
    /// The first panic of a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Signalled, with `panic` locked, when the last helper leaves a closed loop.
    left: Condvar,
}

// SAFETY: `work` points to a `Sync` closure, and the protocol of `state` keeps it alive while anyone calls it; the other
// fields are `Send` and `Sync` by themselves.
unsafe impl Send for Loop {}
// SAFETY: as for `Send`.
unsafe impl Sync for Loop {}

impl Loop {
    /// What a helper does when its turn in the pool comes.
    fn help(&self) {
        if self.state.fetch_add(HELPER, Ordering::Acquire) & CLOSED == 0 {
            // SAFETY: the loop was open when this helper joined, so the caller is still in `share`, waiting for it to
            // leave, and the closure lives.
            let work = unsafe { &*self.work };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
                let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(payload);
            }
        }
        if self.state.fetch_sub(HELPER, Ordering::Release) == CLOSED + HELPER {
            // The lock orders this signal after the caller's decision to sleep.
            let _guard = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            self.left.notify_one();
        }
    }

    /// Lets no more helpers in and waits until those inside have left.
    fn close(&self) {
        let mut state = self.state.fetch_or(CLOSED, Ordering::Acquire) | CLOSED;
        for _ in 0..SPINS {
            if state == CLOSED {
                return;
            }
            std::hint::spin_loop();
            state = self.state.load(Ordering::Acquire);
        }
        let mut guard = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        while self.state.load(Ordering::Acquire) != CLOSED {
            guard = self
                .left
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Calls `work` here and, as far as the pool has time, on up to `helpers` of its threads at the same time. Returns when all
/// these calls have returned.
///
/// # Panics
/// If one of the calls does, after the others have returned.
pub(super) fn share(helpers: usize, work: &(dyn Fn() + Sync)) {
    // SAFETY: only the lifetime changes. The closure is called through the pointer by helpers inside the loop alone, and
    // this function does not return or unwind before `close` has seen the last of them leave.
    let work_forever: *const (dyn Fn() + Sync) =
        unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
    let shared = Arc::new(Loop {
        state: AtomicUsize::new(0),
        work: work_forever,
        panic: Mutex::new(None),
        left: Condvar::new(),
    });
    let room = WAITING_PER_THREAD * (helpers + 1);
    for _ in 0..helpers {
        if WAITING.fetch_add(1, Ordering::Relaxed) >= room {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            break;
        }
        let shared = Arc::clone(&shared);
        rayon::spawn(move || {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            shared.help();
        });
    }
    let own = catch_unwind(AssertUnwindSafe(work));
    shared.close();
    let helper_panic = shared
        .panic
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Err(payload) = own {
        resume_unwind(payload);
    }
    if let Some(payload) = helper_panic {
        resume_unwind(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    #[test]
    fn every_call_has_returned_at_the_end() {
        for round in 0..2000 {
            let inside = AtomicUsize::new(0);
            let calls = AtomicUsize::new(0);
            share(3, &|| {
                inside.fetch_add(1, Ordering::SeqCst);
                if round % 2 == 0 {
                    std::thread::yield_now();
                }
                calls.fetch_add(1, Ordering::SeqCst);
                inside.fetch_sub(1, Ordering::SeqCst);
            });
            // A helper that came after the end would use these two after they are gone.
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            assert!((1..=4).contains(&calls.load(Ordering::SeqCst)));
        }
    }

    #[test]
    fn the_caller_waits_for_a_slow_helper() {
        let caller = std::thread::current().id();
        let joined = AtomicBool::new(false);
        let done = AtomicBool::new(false);
        share(1, &|| {
            if std::thread::current().id() == caller {
                // Give the helper time to join; if the pool is too busy, this test proves nothing and passes.
                let start = Instant::now();
                while !joined.load(Ordering::SeqCst) && start.elapsed() < Duration::from_secs(5) {
                    std::thread::yield_now();
                }
            } else {
                joined.store(true, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(20));
                done.store(true, Ordering::SeqCst);
            }
        });
        assert_eq!(joined.load(Ordering::SeqCst), done.load(Ordering::SeqCst));
    }

    #[test]
    fn a_busy_pool_collects_a_bounded_number_of_jobs() {
        let release = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Nobody in this pool has time to help.
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(1)
                .build()
                .expect("a thread starts");
            let release = &release;
            scope.spawn(move || {
                pool.install(|| {
                    for _ in 0..10 * WAITING_PER_THREAD {
                        share(1, &|| {});
                    }
                    assert!(WAITING.load(Ordering::SeqCst) <= 4 * WAITING_PER_THREAD);
                    release.store(true, Ordering::SeqCst);
                });
            });
        });
        assert!(release.load(Ordering::SeqCst));
    }
}
