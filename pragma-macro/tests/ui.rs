//! Every message about an attribute or a signature, and code that must compile.
//!
//! `.stderr` files hold what the compiler of the pinned toolchain prints; `TRYBUILD=overwrite` rewrites them. Messages about
//! the files under `pragma/` are in `artefacts.rs`.

#[test]
fn ui() {
    let tests = trybuild::TestCases::new();
    tests.pass("tests/ui/pass/*.rs");
    tests.compile_fail("tests/ui/fail/*.rs");
}
