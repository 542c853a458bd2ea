//! What tuned functions looked like, kept so that `check` can show what drifted.
//!
//! A convenience below cargo's target directory: where it is missing, `check` looks into git, or just names what changed.

use std::fs;
use std::path::{Path, PathBuf};

use pragma_spec::{Fingerprint, canonical_text, canonical_tokens};
use pragma_synth::lift::Lifted;

use super::lifting::dependencies;
use crate::discover::{self, KernelSource};
use crate::process;
use crate::vendor::formatted;

fn file(private: &Path, fingerprint: &Fingerprint) -> PathBuf {
    private.join("canonical").join(fingerprint.hex())
}

/// Keeps the canonical text of a function and of what it depends on. Failing to is no loss.
pub fn remember(private: &Path, kernel: &KernelSource, lifted: &Lifted) {
    let keep = |fingerprint: &Fingerprint, text: &str| {
        let path = file(private, fingerprint);
        if let Some(dir) = path.parent() {
            let _ = fs::create_dir_all(dir).and_then(|()| fs::write(&path, text));
        }
    };
    keep(&kernel.fingerprint, &function(kernel));
    keep(&dependencies(lifted), &helpers(lifted));
}

/// The text that had this fingerprint, if it was kept.
pub fn recall(private: &Path, fingerprint: &Fingerprint) -> Option<String> {
    fs::read_to_string(file(private, fingerprint)).ok()
}

/// Commits in which [`from_git`] looks for an earlier version.
const COMMITS: usize = 20;

/// The canonical text of the version of `kernel` that had this fingerprint, from the last commits that changed its
/// file; `None` where there is no git, or none of them had it.
pub fn from_git(kernel: &KernelSource, fingerprint: &Fingerprint) -> Option<String> {
    let dir = kernel.file.parent()?;
    let name = kernel.file.file_name()?.to_str()?;
    let git = |args: &[&str]| {
        let mut command = process::command("git");
        command.arg("-C").arg(dir).args(args);
        let output = process::output(&mut command).ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let most = COMMITS.to_string();
    let commits = git(&["log", "--format=%H", "-n", &most, "--", name])?;
    commits.lines().find_map(|commit| {
        let text = git(&["show", &format!("{commit}:./{name}")])?;
        let items = syn::parse_file(&text).ok()?.items;
        let versions = discover::marked_functions(items);
        let found = versions.iter().find(|(tokens, function)| {
            pragma_spec::fingerprint(tokens, function) == *fingerprint
        })?;
        Some(canonical_text(&found.0, &found.1))
    })
}

/// The canonical text of a function as it stands.
pub fn function(kernel: &KernelSource) -> String {
    canonical_text(&kernel.tokens, &kernel.function)
}

/// The canonical text of everything that a function depends on.
pub fn helpers(lifted: &Lifted) -> String {
    let item = |(path, tokens): &(String, _)| {
        format!("{path}: {}\n", canonical_tokens(Clone::clone(tokens)))
    };
    lifted.dependencies.iter().map(item).collect()
}

/// Two canonical texts as lines, with `-` before what went and `+` before what came; unchanged lines nearby stay.
pub fn diff(old: &str, new: &str) -> Vec<String> {
    const AROUND: usize = 1;
    let (old, new) = (lines(old), lines(new));
    let mut marked: Vec<(char, &str)> = Vec::new();
    let mut table = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            table[i][j] = if old[i] == new[j] {
                table[i + 1][j + 1] + 1
            } else {
                table[i + 1][j].max(table[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            marked.push((' ', &old[i]));
            i += 1;
            j += 1;
        } else if i < old.len() && (j == new.len() || table[i + 1][j] >= table[i][j + 1]) {
            marked.push(('-', &old[i]));
            i += 1;
        } else {
            marked.push(('+', &new[j]));
            j += 1;
        }
    }
    let changed = |at: usize| marked.get(at).is_some_and(|(mark, _)| *mark != ' ');
    (0..marked.len())
        .filter(|&at| (at.saturating_sub(AROUND)..=at + AROUND).any(changed))
        .map(|at| format!("{} {}", marked[at].0, marked[at].1))
        .collect()
}

/// Canonical text, which is long lines of tokens, as people write it: what parses is formatted, the rest is broken where
/// statements end.
fn lines(text: &str) -> Vec<String> {
    // A function is two lines, its signature and its block; every other line stands for itself.
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        match parts.last_mut() {
            Some(signature) if line.starts_with('{') => {
                signature.push(' ');
                signature.push_str(line);
            }
            _ => parts.push(line.to_owned()),
        }
    }
    parts.iter().flat_map(|part| readable(part)).collect()
}

fn readable(part: &str) -> Vec<String> {
    let (path, item) = match part.split_once(": ") {
        Some((path, item)) if !path.contains(' ') => (Some(path), item),
        _ => (None, part),
    };
    if syn::parse_str::<syn::Item>(item).is_err() {
        return statements(part);
    }
    let formatted = formatted(item);
    if formatted == item {
        return statements(part);
    }
    let heading = path.map(|path| format!("{path}:"));
    heading
        .into_iter()
        .chain(formatted.lines().map(str::to_owned))
        .collect()
}

fn statements(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if matches!(word, ";" | "{" | "}") {
            lines.push(std::mem::take(&mut line));
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_and_their_neighbours_show() {
        let old = "shape ( x = [ n ] )\nfn f ( )\n{ a ( ) ; b ( ) ; c ( ) ; d ( ) ; }\n";
        let new = "shape ( x = [ n ] )\nfn f ( )\n{ a ( ) ; b ( ) ; x ( ) ; d ( ) ; }\n";
        if process::first_line("rustfmt", &["--version"], None).is_some() {
            assert_eq!(
                diff(old, new),
                ["      b();", "-     c();", "+     x();", "      d();"]
            );
        } else {
            eprintln!("skipped: rustfmt is not installed");
        }
        assert!(diff(old, old).is_empty());
        assert_eq!(diff("", "a ;"), ["+ a ;"]);
    }

    #[test]
    fn what_is_no_item_is_broken_at_statements() {
        let (old, new) = ("a ; b ; c ; d ; e", "a ; b ; x ; d ; e");
        assert_eq!(diff(old, new), ["  b ;", "- c ;", "+ x ;", "  d ;"]);
    }
}
