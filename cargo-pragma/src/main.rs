//! The `cargo pragma` command.
fn main() {}
