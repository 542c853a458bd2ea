//! Errors, warnings and notes, shown the way rustc shows them.
//!
//! Owns the data of a message (what, where, why, what to do) and its rendering. Exit codes belong to `cli::exit`.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Snippet};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The command cannot do its work.
    Error,
    /// Work goes on; the user should know.
    Warning,
    /// For information.
    Note,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file as the user knows it.
    pub path: String,
    /// The file's text.
    pub source: String,
    /// The bytes meant.
    pub range: Range<usize>,
    /// What is said beside them; may be empty.
    pub label: String,
}

impl Location {
    /// The bytes between two positions as `proc_macro2` counts them: lines from 1, columns in characters from 0.
    pub fn from_lines(
        path: impl Into<String>,
        source: impl Into<String>,
        start: (usize, usize),
        end: (usize, usize),
        label: impl Into<String>,
    ) -> Self {
        let source = source.into();
        let from = offset(&source, start);
        let to = offset(&source, end).max(from);
        Location {
            path: path.into(),
            source,
            range: from..to,
            label: label.into(),
        }
    }

    /// As [`Location::from_lines`], reading the file; `None` if that fails.
    pub fn in_file(
        shown: &str,
        file: &Path,
        start: (usize, usize),
        end: (usize, usize),
        label: &str,
    ) -> Option<Self> {
        let source = std::fs::read_to_string(file).ok()?;
        Some(Location::from_lines(shown, source, start, end, label))
    }
}

/// The byte offset of a line (from 1) and column (characters, from 0), clamped into the text.
fn offset(source: &str, (line, column): (usize, usize)) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match source[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return source.len(),
        }
    }
    let text = source[start..].split('\n').next().unwrap_or("");
    start
        + text
            .char_indices()
            .nth(column)
            .map_or(text.len(), |(at, _)| at)
}

/// One message: what, where, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub locations: Vec<Location>,
    /// Why.
    pub notes: Vec<String>,
    /// What to do.
    pub helps: Vec<String>,
}

impl Diagnostic {
    fn new(severity: Severity, message: impl fmt::Display) -> Self {
        Diagnostic {
            severity,
            message: message.to_string(),
            locations: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
        }
    }

    /// An error.
    pub fn error(message: impl fmt::Display) -> Self {
        Diagnostic::new(Severity::Error, message)
    }

    /// A warning.
    pub fn warning(message: impl fmt::Display) -> Self {
        Diagnostic::new(Severity::Warning, message)
    }

    /// A note.
    pub fn remark(message: impl fmt::Display) -> Self {
        Diagnostic::new(Severity::Note, message)
    }

    /// The same message as a warning: work goes on.
    #[must_use]
    pub fn as_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Adds a place.
    #[must_use]
    pub fn at(mut self, location: impl Into<Option<Location>>) -> Self {
        self.locations.extend(location.into());
        self
    }

    /// Adds a reason; empty text adds nothing.
    #[must_use]
    pub fn note(mut self, text: impl fmt::Display) -> Self {
        let text = text.to_string();
        if !text.is_empty() {
            self.notes.push(text);
        }
        self
    }

    /// Adds a remedy; empty text adds nothing.
    #[must_use]
    pub fn help(mut self, text: impl fmt::Display) -> Self {
        let text = text.to_string();
        if !text.is_empty() {
            self.helps.push(text);
        }
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for note in &self.notes {
            write!(f, "; {note}")?;
        }
        for help in &self.helps {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

/// Turns diagnostics into text with terminal colours; the stream strips those it does not want.
#[derive(Debug, Default)]
pub struct Renderer(());

impl Renderer {
    /// A renderer with rustc's colours.
    pub fn new() -> Self {
        Renderer(())
    }

    /// The text of one diagnostic, without a final line break.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()));
        for location in &diagnostic.locations {
            let mut annotation = AnnotationKind::Primary.span(location.range.clone());
            if !location.label.is_empty() {
                annotation = annotation.label(location.label.as_str());
            }
            group = group.element(
                Snippet::source(location.source.as_str())
                    .path(location.path.as_str())
                    .annotation(annotation),
            );
        }
        for note in &diagnostic.notes {
            group = group.element(Level::NOTE.message(note.as_str()));
        }
        for help in &diagnostic.helps {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        annotate_snippets::Renderer::styled().render(&[group])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(diagnostic: &Diagnostic) -> String {
        anstream::adapter::strip_str(&Renderer::new().render(diagnostic)).to_string()
    }

    #[test]
    fn looks_like_rustc() {
        let source = "fn a() {}\nfn größe(x: f32) {}\n";
        let location = Location::from_lines("src/lib.rs", source, (2, 3), (2, 8), "here");
        assert_eq!(&source[location.range.clone()], "größe");
        let text = plain(
            &Diagnostic::error("cannot read `größe`")
                .at(location)
                .note("because")
                .help("do this"),
        );
        assert!(text.starts_with("error: cannot read `größe`\n"), "{text}");
        assert!(text.contains("--> src/lib.rs:2:4"), "{text}");
        assert!(text.contains("^^^^^ here"), "{text}");
        assert!(text.contains("= note: because"), "{text}");
        assert!(text.contains("= help: do this"), "{text}");
    }

    #[test]
    fn positions_outside_the_text_are_clamped() {
        let location = Location::from_lines("a", "x\n", (7, 3), (1, 0), "");
        assert_eq!(location.range, 2..2);
        let _ = plain(&Diagnostic::warning("w").at(location));
        let empty = Location::from_lines("a", "", (1, 0), (1, 5), "");
        let _ = plain(&Diagnostic::remark("w").at(empty));
    }
}
