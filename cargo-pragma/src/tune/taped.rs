//! What was measured in a recorded run, so that it can be played back where measuring would give other numbers.
//!
//! Owns the file `measured.jsonl` of `--record` and `--replay`: one value a line, in the order in which they were asked
//! for. Verdicts are not on it: they are reached anew.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};

use pragma_spec::TuneSize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::engine::StaticFacts;
use super::evaluator::{Depth, Effort, Evaluator, Judgement};
use crate::history::Timing;

/// The file's name.
const FILE: &str = "measured.jsonl";

/// A tape of measurements.
pub struct Tape {
    path: PathBuf,
    mode: Mode,
}

enum Mode {
    Off,
    Record(File),
    Replay(Lines<BufReader<File>>),
}

#[derive(Serialize, Deserialize)]
struct Entry<T> {
    kind: String,
    value: T,
}

impl Tape {
    /// Neither records nor plays.
    pub fn off() -> Self {
        Tape {
            path: PathBuf::new(),
            mode: Mode::Off,
        }
    }

    /// Records into `dir`, which exists.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn record(dir: &Path) -> std::io::Result<Self> {
        let path = dir.join(FILE);
        let mode = Mode::Record(File::create_new(&path)?);
        Ok(Tape { path, mode })
    }

    /// Plays what lies in `dir`.
    ///
    /// # Errors
    /// If there is nothing.
    pub fn replay(dir: &Path) -> std::io::Result<Self> {
        let path = dir.join(FILE);
        let mode = Mode::Replay(BufReader::new(File::open(&path)?).lines());
        Ok(Tape { path, mode })
    }

    /// The value of `measure`, written down, or the recorded one instead.
    ///
    /// # Errors
    /// A sentence if the tape cannot be written, or has something else at this place.
    pub fn through<T: Serialize + DeserializeOwned>(
        &mut self,
        kind: &str,
        measure: impl FnOnce() -> T,
    ) -> Result<T, String> {
        let place = self.path.display();
        match &mut self.mode {
            Mode::Off => Ok(measure()),
            Mode::Record(file) => {
                let entry = Entry {
                    kind: kind.to_owned(),
                    value: measure(),
                };
                let line = serde_json::to_string(&entry).map_err(|error| error.to_string())?;
                writeln!(file, "{line}")
                    .map_err(|error| format!("cannot record to {place}: {error}"))?;
                Ok(entry.value)
            }
            Mode::Replay(lines) => {
                let line = match lines.next() {
                    Some(Ok(line)) => line,
                    Some(Err(error)) => return Err(format!("cannot read {place}: {error}")),
                    None => return Err(format!("{place} ends before this run does")),
                };
                let entry: Entry<serde_json::Value> =
                    serde_json::from_str(&line).map_err(|error| format!("{place}: {error}"))?;
                if entry.kind == kind {
                    serde_json::from_value(entry.value).map_err(|error| format!("{place}: {error}"))
                } else {
                    Err(format!(
                        "{place}: this run asks for `{kind}` where the recorded one asked for `{}`",
                        entry.kind
                    ))
                }
            }
        }
    }
}

/// An evaluator whose measurements go through a tape.
pub struct Taped<'a, E> {
    /// Who measures.
    pub inner: &'a mut E,
    /// The tape.
    pub tape: &'a RefCell<Tape>,
}

impl<E: Evaluator> Evaluator for Taped<'_, E> {
    type Proven = E::Proven;

    fn judge(&mut self, source: &str, entry: &str, depth: Depth) -> Judgement<Self::Proven> {
        self.inner.judge(source, entry, depth)
    }

    fn time(
        &mut self,
        new: &Self::Proven,
        best: Option<&Self::Proven>,
        tune: &TuneSize,
        threads: usize,
        effort: Effort,
    ) -> Result<Timing, String> {
        let inner = &mut self.inner;
        self.tape
            .borrow_mut()
            .through("time", || inner.time(new, best, tune, threads, effort))?
    }

    fn facts(&mut self, proven: &Self::Proven) -> Option<StaticFacts> {
        let inner = &mut self.inner;
        self.tape
            .borrow_mut()
            .through("facts", || inner.facts(proven))
            .ok()
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_order() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut tape = Tape::record(dir.path()).expect("is new");
        assert_eq!(tape.through("a", || 1.5), Ok(1.5));
        assert_eq!(
            tape.through("b", || Some("x".to_owned())),
            Ok(Some("x".to_owned()))
        );
        assert!(
            Tape::record(dir.path()).is_err(),
            "a tape is not written over"
        );
        let mut tape = Tape::replay(dir.path()).expect("is there");
        assert_eq!(tape.through("a", || 7.0), Ok(1.5));
        let other = tape.through("a", || 7.0).expect_err("is another kind");
        assert!(other.contains("asked for `b`"), "{other}");
        assert!(
            tape.through("a", || 7.0)
                .expect_err("is over")
                .contains("ends before")
        );
        assert_eq!(Tape::off().through("a", || 7.0), Ok(7.0));
    }
}
