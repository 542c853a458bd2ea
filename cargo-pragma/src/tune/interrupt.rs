//! Ctrl-C: the first one asks the run to stop at the next step, the second one stops the process.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::exit::{ExitCode, Failure};
use crate::process::group;

static ASKED: AtomicBool = AtomicBool::new(false);
static INSTALL: Once = Once::new();

/// Takes over Ctrl-C and polite termination for the rest of the process.
pub fn install() {
    INSTALL.call_once(|| {
        // If it fails, Ctrl-C ends the process at once, which loses nothing but the last step.
        let _ = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::SeqCst) {
                // They lead groups of their own, which the terminal's signals do not reach.
                group::kill_all();
                std::process::exit(ExitCode::Interrupted as i32);
            }
            eprintln!("\nstopping after this step; press Ctrl-C again to stop now");
        });
    });
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// A failure if the user asked to stop.
///
/// # Errors
/// [`Failure::Interrupted`].
pub fn check() -> Result<(), Failure> {
    if asked() {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}
