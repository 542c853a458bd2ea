//! Facts about programs that actions and the emitter rest on.

pub mod bounds;
pub mod depend;
pub mod nest;
pub mod poly;
pub mod reduce;
pub mod traffic;
pub mod values;
