//! Kernel files in the standard style, so that reviewers and editors see what they are used to.
//!
//! rustfmt does the work, with its default settings and not the user's. Where it is not installed
//! the text stays as the emitter wrote it: valid, only less pretty.

use std::io::Write;
use std::process::Stdio;

use crate::process;

/// The text as rustfmt writes it, or as it is.
pub fn formatted(text: &str) -> String {
    run_rustfmt(text).unwrap_or_else(|| text.to_owned())
}

fn run_rustfmt(text: &str) -> Option<String> {
    let mut child = process::command("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
        // Away from the user's crate, whose `rustfmt.toml` must not decide what we hash.
        .current_dir(std::env::temp_dir())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take()?;
    let input = text.to_owned();
    // From a thread, so that neither side waits for the other with a full pipe.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_and_comments_kept() {
        let text = "// A header.\n\npub fn f(x: f32) -> f32 {\n    // Why.\n    x.max(1.0).max(2.0).max(3.0).max(4.0).max(5.0).max(6.0).max(7.0).max(8.0).max(9.0).max(10.0).max(11.0)\n}\n";
        if process::first_line("rustfmt", &["--version"], None).is_none() {
            eprintln!("skipped: rustfmt is not installed");
            assert_eq!(formatted(text), text);
            return;
        }
        let formatted = formatted(text);
        assert!(
            formatted.lines().all(|line| line.len() <= 100),
            "{formatted}"
        );
        assert!(formatted.contains("// A header.") && formatted.contains("// Why."));
        assert_eq!(
            super::formatted(&formatted),
            formatted,
            "formatting is stable"
        );
    }

    #[test]
    fn what_does_not_parse_stays() {
        assert_eq!(formatted("fn {"), "fn {");
    }
}
