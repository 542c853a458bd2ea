//! Where words go: data on standard output, everything else on standard error.
//!
//! Owns colour, the human/JSON switch and what happens when the reader of standard output has gone. Tables and JSON
//! objects are made in `report`.

use std::cell::Cell;
use std::fmt;
use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::diagnostic::{Diagnostic, Renderer};

/// How results are printed on standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables and prose.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// Whether to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal that shows it.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Makes this the setting of the whole process.
    pub fn apply(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// The two output streams of a command.
#[derive(Debug)]
pub struct Shell {
    format: Format,
    quiet: bool,
    /// Set once standard output is gone: a reader such as `head` has seen enough, which is no error.
    closed: Cell<bool>,
}

impl Shell {
    /// A shell that prints data as `format` says; `quiet` drops progress, never warnings.
    pub fn new(format: Format, quiet: bool) -> Self {
        Shell {
            format,
            quiet,
            closed: Cell::new(false),
        }
    }

    /// Whether data is JSON lines.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Whether standard error is a terminal that wants live progress.
    pub fn wants_bars(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Data for people: dropped in JSON mode.
    pub fn human(&self, text: impl fmt::Display) {
        if !self.is_json() {
            self.out(&format!("{text}\n"));
        }
    }

    /// Data for programs: one line, dropped in human mode.
    pub fn json(&self, value: &impl Serialize) {
        if self.is_json() {
            match serde_json::to_string(value) {
                Ok(line) => self.out(&format!("{line}\n")),
                Err(error) => self.diagnostic(&Diagnostic::warning(format!(
                    "cannot print a result as JSON: {error}"
                ))),
            }
        }
    }

    fn out(&self, text: &str) {
        if self.closed.get() {
            return;
        }
        let mut out = anstream::stdout();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.closed.set(true);
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.err(&format!(
                    "warning: cannot write to standard output: {error}\n"
                ));
            }
        }
    }

    /// A line of progress, with a verb in cargo's style. Dropped when quiet.
    pub fn status(&self, verb: &str, text: impl fmt::Display) {
        if !self.quiet {
            self.err(&format!("\u{1b}[1m\u{1b}[32m{verb:>12}\u{1b}[0m {text}\n"));
        }
    }

    /// An error, warning or note, rendered as rustc would.
    pub fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.err(&format!("{}\n", Renderer::new().render(diagnostic)));
    }

    /// Text that is already rendered, such as rustc's messages.
    pub fn raw(&self, text: &str) {
        if !text.is_empty() {
            self.err(text);
            if !text.ends_with('\n') {
                self.err("\n");
            }
        }
    }

    /// Nothing can be done about a standard error that does not take text.
    fn err(&self, text: &str) {
        let _ = anstream::stderr().write_all(text.as_bytes());
    }
}
