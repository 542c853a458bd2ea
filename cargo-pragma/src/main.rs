//! The `cargo pragma` command: everything is in the library.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    cargo_pragma::cli::main()
}
