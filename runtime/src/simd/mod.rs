//! Vectors of one width per tier.
