//! What earlier runs learned: every candidate with its verdict and times, in SQLite.
//!
//! Owns the database file below cargo's target directory. It is a memory, not an artefact: losing it costs time only.
//! Nothing here decides anything.

mod calls;
mod schema;

pub use calls::Call;

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};

use crate::diagnostic::Diagnostic;

pub use schema::FILE;

/// The database refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the history database: {0}")]
pub struct HistoryError(#[from] rusqlite::Error);

/// What verdicts and times of one kernel depend on. Results carry over between runs only where all of it is equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchKey {
    /// Of function and attribute.
    pub fingerprint: String,
    /// Of the helpers and constants it uses.
    pub dependencies: String,
    /// The target's name.
    pub target: String,
    /// CPU model and number of cores.
    pub machine: String,
    /// This tool's version.
    pub tool: String,
    /// The compiler and how the reference was compiled.
    pub build: String,
}

impl SearchKey {
    /// The key as stored.
    pub fn hash(&self) -> String {
        pragma_spec::text_sha256(&format!("{self:?}"))
    }
}

/// A row of `runs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunId(i64);

/// A row of `searches`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchId(i64);

/// A row of `candidates`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateId(i64);

/// A candidate as proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCandidate<'a> {
    /// The candidate it was derived from.
    pub parent: Option<CandidateId>,
    /// Who wrote it.
    pub engine: &'a str,
    /// The size it was written for.
    pub tune: &'a str,
    /// The actions that lead from the lifted function to it.
    pub actions: &'a [String],
    /// Why it was proposed.
    pub rationale: &'a str,
    /// Its source text.
    pub source: &'a str,
}

/// How a comparison with the reference came out.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Timing {
    /// The size.
    pub tune: String,
    /// Threads allowed.
    pub threads: u32,
    /// Median of the reference.
    pub reference_ns: f64,
    /// Median of the candidate.
    pub candidate_ns: f64,
    /// Reference over candidate, paired.
    pub speedup: f64,
    /// Its 95 % confidence interval.
    pub ci95: (f64, f64),
}

/// What an earlier run found out about a source text under the same key.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// `verified`, `wrong`, `unproven` or `does-not-build`.
    pub verdict: String,
    /// The evidence as JSON.
    pub evidence: String,
    /// Times, newest last.
    pub timings: Vec<Timing>,
}

/// One search as it was recorded, for `explain`.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchRecord {
    /// The target's name.
    pub target: String,
    /// Of function and attribute.
    pub fingerprint: String,
    /// How it ended, if it did.
    pub outcome: Option<String>,
    /// Why it ended so.
    pub reason: Option<String>,
    /// Why it stopped.
    pub stop: Option<String>,
    /// How long it took.
    pub seconds: Option<f64>,
    /// What was tried, in order.
    pub candidates: Vec<CandidateRecord>,
}

/// One candidate as it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateRecord {
    /// Its number in the database.
    pub id: i64,
    /// The number of the candidate it came from.
    pub parent: Option<i64>,
    /// Who wrote it.
    pub engine: String,
    /// The size it was written for.
    pub tune: String,
    /// Its actions.
    pub actions: Vec<String>,
    /// Why it was proposed.
    pub rationale: String,
    /// Last verdict and its evidence as JSON, if any.
    pub verdict: Option<(String, String)>,
    /// Times, in order.
    pub timings: Vec<Timing>,
    /// What limits it, as JSON, if it was profiled.
    pub profile: Option<String>,
}

/// The open database.
#[derive(Debug)]
pub struct History {
    connection: Connection,
}

impl History {
    /// Opens or makes the database in `dir`, which must exist. A damaged or newer file is moved aside with a warning.
    ///
    /// # Errors
    /// If the directory cannot be written, or another process holds the database.
    pub fn open(dir: &Path) -> Result<(Self, Vec<Diagnostic>), HistoryError> {
        let (connection, warnings) = schema::open(dir)?;
        Ok((History { connection }, warnings))
    }

    /// Opens the database in `dir` for reading; `None` if there is none, or none that can be read.
    pub fn open_existing(dir: &Path) -> Option<Self> {
        schema::open_existing(dir).map(|connection| History { connection })
    }

    /// Records the start of a run.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn begin_run(&self, machine: &str, command: &str) -> Result<RunId, HistoryError> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        self.connection.execute(
            "INSERT INTO runs (started_ms, tool, machine, command) VALUES (?, ?, ?, ?)",
            params![
                now.as_millis() as i64,
                env!("CARGO_PKG_VERSION"),
                machine,
                command
            ],
        )?;
        Ok(RunId(self.connection.last_insert_rowid()))
    }

    /// Records the start of a search.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn begin_search(
        &self,
        run: RunId,
        package: &str,
        kernel: &str,
        key: &SearchKey,
    ) -> Result<SearchId, HistoryError> {
        self.connection.execute(
            "INSERT INTO searches (run, package, kernel, target, fingerprint, key) VALUES (?, ?, ?, ?, ?, ?)",
            params![run.0, package, kernel, key.target, key.fingerprint, key.hash()],
        )?;
        Ok(SearchId(self.connection.last_insert_rowid()))
    }

    /// Records how a search ended.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn end_search(
        &self,
        search: SearchId,
        outcome: &str,
        reason: Option<&str>,
        stop: &str,
        seconds: f64,
    ) -> Result<(), HistoryError> {
        self.connection.execute(
            "UPDATE searches SET outcome = ?, reason = ?, stop = ?, seconds = ? WHERE id = ?",
            params![outcome, reason, stop, seconds, search.0],
        )?;
        Ok(())
    }

    /// Records a candidate before it is judged, so that a crash leaves a trace of what crashed.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn candidate(
        &self,
        search: SearchId,
        new: &NewCandidate<'_>,
    ) -> Result<CandidateId, HistoryError> {
        self.connection.execute(
            "INSERT INTO candidates (search, parent, engine, tune, actions, rationale, source, source_sha256) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                search.0,
                new.parent.map(|parent| parent.0),
                new.engine,
                new.tune,
                new.actions.join("\n"),
                new.rationale,
                new.source,
                pragma_spec::text_sha256(new.source)
            ],
        )?;
        Ok(CandidateId(self.connection.last_insert_rowid()))
    }

    /// Records a verdict; `evidence` is JSON.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn verdict(
        &self,
        candidate: CandidateId,
        level: &str,
        verdict: &str,
        evidence: &str,
    ) -> Result<(), HistoryError> {
        self.connection.execute(
            "INSERT INTO verdicts (candidate, level, verdict, evidence) VALUES (?, ?, ?, ?)",
            params![candidate.0, level, verdict, evidence],
        )?;
        Ok(())
    }

    /// Records a comparison with the reference.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn timing(&self, candidate: CandidateId, timing: &Timing) -> Result<(), HistoryError> {
        self.connection.execute(
            "INSERT INTO measurements (candidate, tune, threads, reference_ns, candidate_ns, speedup, ci_low, ci_high) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                candidate.0,
                timing.tune,
                timing.threads,
                timing.reference_ns,
                timing.candidate_ns,
                timing.speedup,
                timing.ci95.0,
                timing.ci95.1
            ],
        )?;
        Ok(())
    }

    /// Records a profile, as JSON.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn profile(&self, candidate: CandidateId, profile: &str) -> Result<(), HistoryError> {
        self.connection.execute(
            "INSERT INTO profiles (candidate, profile) VALUES (?, ?)",
            params![candidate.0, profile],
        )?;
        Ok(())
    }

    /// What earlier searches under the same key found out about this source at verification `level`, if it was judged.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn known(
        &self,
        key: &SearchKey,
        source: &str,
        level: &str,
    ) -> Result<Option<Known>, HistoryError> {
        let found = self
            .connection
            .query_row(
                "SELECT c.id, v.verdict, v.evidence FROM candidates c \
                 JOIN searches s ON s.id = c.search JOIN verdicts v ON v.candidate = c.id \
                 WHERE s.key = ? AND c.source_sha256 = ? AND c.source = ? AND v.level = ? ORDER BY v.id DESC LIMIT 1",
                params![key.hash(), pragma_spec::text_sha256(source), source, level],
                |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()?;
        let Some((candidate, verdict, evidence)) = found else {
            return Ok(None);
        };
        Ok(Some(Known {
            verdict,
            evidence,
            timings: self.timings(candidate)?,
        }))
    }

    /// The actions of the fastest verified candidate for a size under the same key, if there is one.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn best(
        &self,
        key: &SearchKey,
        tune: &str,
        threads: u32,
    ) -> Result<Option<Vec<String>>, HistoryError> {
        let actions: Option<String> = self
            .connection
            .query_row(
                "SELECT c.actions FROM measurements m JOIN candidates c ON c.id = m.candidate \
                 JOIN searches s ON s.id = c.search \
                 WHERE s.key = ? AND m.tune = ? AND m.threads = ? AND NOT EXISTS \
                 (SELECT 1 FROM verdicts v WHERE v.candidate = c.id AND v.verdict != 'verified') \
                 ORDER BY m.speedup DESC LIMIT 1",
                params![key.hash(), tune, threads],
                |row| row.get(0),
            )
            .optional()?;
        Ok(actions.map(|actions| actions.lines().map(str::to_owned).collect()))
    }

    /// The searches for a kernel, newest first, at most `limit`.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn searches(
        &self,
        package: &str,
        kernel: &str,
        limit: u32,
    ) -> Result<Vec<SearchRecord>, HistoryError> {
        let mut statement = self.connection.prepare(
            "SELECT id, target, fingerprint, outcome, reason, stop, seconds FROM searches \
             WHERE package = ? AND kernel = ? ORDER BY id DESC LIMIT ?",
        )?;
        let rows = statement.query_map(params![package, kernel, limit], |row| {
            let record = SearchRecord {
                target: row.get(1)?,
                fingerprint: row.get(2)?,
                outcome: row.get(3)?,
                reason: row.get(4)?,
                stop: row.get(5)?,
                seconds: row.get(6)?,
                candidates: Vec::new(),
            };
            Ok((row.get::<_, i64>(0)?, record))
        })?;
        let mut searches = Vec::new();
        for row in rows {
            let (id, mut record) = row?;
            record.candidates = self.candidates(id)?;
            searches.push(record);
        }
        Ok(searches)
    }

    fn candidates(&self, search: i64) -> Result<Vec<CandidateRecord>, HistoryError> {
        let mut statement = self.connection.prepare(
            "SELECT id, parent, engine, tune, actions, rationale, \
             (SELECT verdict FROM verdicts v WHERE v.candidate = c.id ORDER BY v.id DESC LIMIT 1), \
             (SELECT evidence FROM verdicts v WHERE v.candidate = c.id ORDER BY v.id DESC LIMIT 1), \
             (SELECT profile FROM profiles p WHERE p.candidate = c.id ORDER BY p.id DESC LIMIT 1) \
             FROM candidates c WHERE search = ? ORDER BY id",
        )?;
        let rows = statement.query_map(params![search], |row| {
            let actions: String = row.get(4)?;
            let verdict: Option<String> = row.get(6)?;
            let evidence: Option<String> = row.get(7)?;
            Ok(CandidateRecord {
                id: row.get(0)?,
                parent: row.get(1)?,
                engine: row.get(2)?,
                tune: row.get(3)?,
                actions: actions.lines().map(str::to_owned).collect(),
                rationale: row.get(5)?,
                verdict: verdict.zip(evidence),
                timings: Vec::new(),
                profile: row.get(8)?,
            })
        })?;
        let mut candidates = rows.collect::<Result<Vec<_>, _>>()?;
        for candidate in &mut candidates {
            candidate.timings = self.timings(candidate.id)?;
        }
        Ok(candidates)
    }

    fn timings(&self, candidate: i64) -> Result<Vec<Timing>, HistoryError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT tune, threads, reference_ns, candidate_ns, speedup, ci_low, ci_high FROM measurements \
             WHERE candidate = ? ORDER BY id",
        )?;
        let rows = statement.query_map(params![candidate], |row| {
            Ok(Timing {
                tune: row.get(0)?,
                threads: row.get(1)?,
                reference_ns: row.get(2)?,
                candidate_ns: row.get(3)?,
                speedup: row.get(4)?,
                ci95: (row.get(5)?, row.get(6)?),
            })
        })?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(fingerprint: &str) -> SearchKey {
        let text = |text: &str| text.to_owned();
        SearchKey {
            fingerprint: text(fingerprint),
            dependencies: text("d"),
            target: text("x86-64-v3"),
            machine: text("m"),
            tool: text("0"),
            build: text("b"),
        }
    }

    #[test]
    fn what_is_written_is_found_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let (history, _) = History::open(dir.path()).expect("a database");
        let run = history.begin_run("m", "tune").expect("a run");
        let search = history
            .begin_search(run, "p", "dot", &key("f"))
            .expect("a search");
        let new = NewCandidate {
            parent: None,
            engine: "synth",
            tune: "n = 4096",
            actions: &["vectorize(i)".to_owned(), "unroll(i, 4)".to_owned()],
            rationale: "first",
            source: "pub fn dot() {}",
        };
        let first = history.candidate(search, &new).expect("a candidate");
        let second = history
            .candidate(
                search,
                &NewCandidate {
                    parent: Some(first),
                    ..new.clone()
                },
            )
            .expect("another");
        history
            .verdict(first, "search", "verified", "{}")
            .expect("a verdict");
        let timing = Timing {
            tune: "n = 4096".to_owned(),
            threads: 1,
            reference_ns: 1000.0,
            candidate_ns: 100.0,
            speedup: 10.0,
            ci95: (9.5, 10.5),
        };
        history.timing(first, &timing).expect("a timing");
        history
            .profile(second, "{\"bottleneck\":\"x\"}")
            .expect("a profile");
        history
            .end_search(search, "tuned", None, "no gain", 1.5)
            .expect("an end");
        drop(history);

        let history = History::open_existing(dir.path()).expect("the database");
        let known = history
            .known(&key("f"), new.source, "search")
            .expect("an answer")
            .expect("a verdict");
        assert_eq!(known.verdict, "verified");
        assert_eq!(known.timings, [timing]);
        assert_eq!(
            history
                .known(&key("g"), new.source, "search")
                .expect("an answer"),
            None
        );
        assert_eq!(
            history
                .known(&key("f"), new.source, "full")
                .expect("an answer"),
            None
        );
        assert_eq!(
            history
                .known(&key("f"), "other", "search")
                .expect("an answer"),
            None
        );

        let best = history.best(&key("f"), "n = 4096", 1).expect("an answer");
        assert_eq!(best.as_deref(), Some(new.actions));
        assert_eq!(
            history.best(&key("f"), "n = 4096", 2).expect("an answer"),
            None
        );

        let searches = history.searches("p", "dot", 9).expect("searches");
        assert_eq!(searches.len(), 1);
        assert_eq!(searches[0].outcome.as_deref(), Some("tuned"));
        assert_eq!(searches[0].candidates.len(), 2);
        assert_eq!(
            searches[0].candidates[1].parent,
            Some(searches[0].candidates[0].id)
        );
        assert_eq!(searches[0].candidates[0].actions.len(), 2);
        assert!(searches[0].candidates[1].profile.is_some());
        assert!(
            history
                .searches("p", "other", 9)
                .expect("searches")
                .is_empty()
        );
    }
}
