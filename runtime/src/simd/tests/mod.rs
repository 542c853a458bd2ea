//! Every method of every vector against scalar Rust, lane by lane, on each tier that this CPU has.

#![allow(clippy::duplicate_mod, reason = "the same tests run once per tier")]

use crate::tier::Tier;

#[cfg(target_os = "linux")]
mod page;
mod values;

/// Whether the CPU has `tier`; says so where it has not.
fn available(tier: Tier) -> bool {
    let available = Tier::supported() >= tier;
    if !available {
        eprintln!("skipped: this CPU lacks {}", tier.name());
    }
    available
}

mod v3;
mod v4;
