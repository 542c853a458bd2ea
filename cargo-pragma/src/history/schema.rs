//! The tables of the history database, and opening it whatever state it is in.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::diagnostic::Diagnostic;

/// Version of the tables below, kept in SQLite's `user_version`.
const VERSION: i64 = 2;

/// The file in Pragma's directory below cargo's target directory.
pub const FILE: &str = "history.sqlite";

const TABLES: &str = "
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    started_ms INTEGER NOT NULL,
    tool TEXT NOT NULL,
    machine TEXT NOT NULL,
    command TEXT NOT NULL
);
-- One kernel for one target in one run.
CREATE TABLE searches (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id),
    package TEXT NOT NULL,
    kernel TEXT NOT NULL,
    target TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    -- Hash over everything that a verdict or a time depends on; see `SearchKey`.
    key TEXT NOT NULL,
    outcome TEXT,
    reason TEXT,
    stop TEXT,
    seconds REAL
);
CREATE INDEX searches_by_kernel ON searches (package, kernel, id);
CREATE INDEX searches_by_key ON searches (key);
CREATE TABLE candidates (
    id INTEGER PRIMARY KEY,
    search INTEGER NOT NULL REFERENCES searches (id),
    parent INTEGER REFERENCES candidates (id),
    engine TEXT NOT NULL,
    tune TEXT NOT NULL,
    actions TEXT NOT NULL,
    -- Why the Conductor proposed it.
    rationale TEXT NOT NULL,
    source TEXT NOT NULL,
    source_sha256 TEXT NOT NULL
);
CREATE INDEX candidates_by_search ON candidates (search, id);
CREATE INDEX candidates_by_source ON candidates (source_sha256);
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY,
    candidate INTEGER NOT NULL REFERENCES candidates (id),
    level TEXT NOT NULL,
    verdict TEXT NOT NULL,
    evidence TEXT NOT NULL
);
CREATE INDEX verdicts_by_candidate ON verdicts (candidate);
CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    candidate INTEGER NOT NULL REFERENCES candidates (id),
    tune TEXT NOT NULL,
    threads INTEGER NOT NULL,
    reference_ns REAL NOT NULL,
    candidate_ns REAL NOT NULL,
    speedup REAL NOT NULL,
    ci_low REAL NOT NULL,
    ci_high REAL NOT NULL
);
CREATE INDEX measurements_by_candidate ON measurements (candidate);
CREATE TABLE profiles (
    id INTEGER PRIMARY KEY,
    candidate INTEGER NOT NULL REFERENCES candidates (id),
    profile TEXT NOT NULL
);
CREATE INDEX profiles_by_candidate ON profiles (candidate);
-- What was said to a language model and what it said. Keys are not part of either.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    search INTEGER NOT NULL REFERENCES searches (id),
    model TEXT NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_cached INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    dollars REAL
);
CREATE INDEX calls_by_search ON calls (search, id);
";

/// Opens or makes the database in `dir`, which must exist. A file that cannot be used is moved aside with a warning.
pub fn open(dir: &Path) -> Result<(Connection, Vec<Diagnostic>), rusqlite::Error> {
    let file = dir.join(FILE);
    let mut warnings = Vec::new();
    match try_open(&file) {
        Ok(connection) => return Ok((connection, warnings)),
        Err(Unusable::Sqlite(error)) if is_busy(&error) => return Err(error),
        Err(unusable) => {
            let why = match &unusable {
                Unusable::Version(found) => {
                    format!("it has format {found}, this version reads {VERSION}")
                }
                Unusable::Sqlite(error) => error.to_string(),
            };
            if let Some(aside) = move_aside(&file) {
                warnings.push(
                    Diagnostic::warning(
                        "cannot use the history of earlier runs; starting a new one",
                    )
                    .note(why)
                    .note(format!("the old file is kept as `{}`", aside.display())),
                );
            }
        }
    }
    match try_open(&file) {
        Ok(connection) => Ok((connection, warnings)),
        Err(Unusable::Sqlite(error)) => Err(error),
        Err(Unusable::Version(_)) => Err(rusqlite::Error::InvalidPath(file)),
    }
}

/// Opens the database in `dir` for reading, if there is one that can be read.
pub fn open_existing(dir: &Path) -> Option<Connection> {
    let connection =
        Connection::open_with_flags(dir.join(FILE), OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    (version(&connection).ok()? == VERSION).then_some(connection)
}

enum Unusable {
    Version(i64),
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        Unusable::Sqlite(error)
    }
}

fn try_open(file: &Path) -> Result<Connection, Unusable> {
    let mut connection = Connection::open(file)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // Losing the last transactions in a power cut is fine here; a torn file is not.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    match version(&connection)? {
        0 => {
            let transaction = connection.transaction()?;
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
            Ok(connection)
        }
        VERSION => {
            // Reads every table's root page, which is where damage shows first.
            connection.query_row(
                "SELECT (SELECT COUNT(*) FROM runs), (SELECT MAX(id) FROM searches), (SELECT MAX(id) FROM candidates), \
                 (SELECT MAX(id) FROM verdicts), (SELECT MAX(id) FROM measurements), (SELECT MAX(id) FROM profiles)",
                [],
                |_| Ok(()),
            )?;
            Ok(connection)
        }
        other => Err(Unusable::Version(other)),
    }
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
    )
}

/// Renames the database to the first free `history.sqlite.old-N`; its journals go, as they mean nothing without it.
fn move_aside(file: &Path) -> Option<PathBuf> {
    let aside = (1..10_000)
        .map(|n| with_suffix(file, &format!(".old-{n}")))
        .find(|path| !path.exists())?;
    std::fs::rename(file, &aside).ok()?;
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(with_suffix(file, suffix));
    }
    Some(aside)
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_and_newer_files_are_moved_aside() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(
            dir.path().join(FILE),
            "this is not a database, but it is long enough to look like one".repeat(99),
        )
        .expect("a file");
        let (connection, warnings) = open(dir.path()).expect("a new database");
        assert_eq!(warnings.len(), 1);
        assert!(dir.path().join("history.sqlite.old-1").exists());
        connection
            .pragma_update(None, "user_version", 99)
            .expect("a version");
        drop(connection);
        let (connection, warnings) = open(dir.path()).expect("a new database");
        assert!(warnings[0].notes[0].contains("format 99"), "{warnings:?}");
        assert!(dir.path().join("history.sqlite.old-2").exists());
        drop(connection);
        let (_connection, warnings) = open(dir.path()).expect("the same database");
        assert!(warnings.is_empty());
        assert!(open_existing(dir.path()).is_some());
    }
}
