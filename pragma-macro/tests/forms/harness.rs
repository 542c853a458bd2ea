//! Harness builds of such functions.
