//! Where a kernel's arguments come from: sizes, value distributions, seeds.
//!
//! Owns turning a seed into bytes and a kernel's shapes into cases. The same code runs in every worker, so that
//! reference, oracle and candidate see the same values without sending them around. Calling and judging are elsewhere.

mod fill;
mod rng;

pub use fill::{Base, Column, Fill, Specials, Values, draw_one, fill, first};
pub use rng::Rng;
