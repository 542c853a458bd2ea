//! `cargo pragma explain`: how a function was read, and what was tried, why, and what it gave.

use std::collections::BTreeMap;

use pragma_synth::lift::Lifted;
use serde::Serialize;
use serde_json::{Value, json};

use super::project::{Loaded, Project};
use crate::cli::args::ExplainArgs;
use crate::cli::exit::{CommandResult, ExitCode};
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::KernelSource;
use crate::history::{CandidateRecord, History, SearchRecord};
use crate::report;
use crate::tune::lifting::Lifter;
use crate::verify::Evidence;

/// Searches shown: the last ones.
const SEARCHES: u32 = 8;

/// One line of `--format json`; documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Line {
    package: String,
    kernel: String,
    state: &'static str,
    lifted: bool,
    reason: Option<String>,
    program: Option<String>,
    searches: Vec<Value>,
}

/// Runs the command.
///
/// # Errors
/// If there is no such kernel.
pub fn run(args: &ExplainArgs, shell: &Shell) -> CommandResult {
    let project = Project::load(&args.common, shell)?;
    let history = History::open_existing(&project.workspace.private_dir());
    for at in project.choose(std::slice::from_ref(&args.kernel))? {
        let (loaded, kernel) = project.kernel(at);
        let lifted = Lifter::new(&project.workspace, &loaded.source).lift(kernel);
        let searches = history
            .as_ref()
            .and_then(|history| {
                history
                    .searches(&kernel.package, kernel.id.as_str(), SEARCHES)
                    .ok()
            })
            .unwrap_or_default();
        let state = loaded.states.kernels[at.1].name();
        shell.json(&Line {
            package: kernel.package.clone(),
            kernel: kernel.id.to_string(),
            state,
            lifted: lifted.is_ok(),
            reason: lifted.as_ref().err().map(|refusal| refusal.message.clone()),
            program: lifted
                .as_ref()
                .ok()
                .map(|lifted| lifted.program.to_string()),
            searches: searches.iter().map(search_json).collect(),
        });
        if !shell.is_json() {
            shell.human(format!(
                "{} ({}:{}), {state}",
                kernel.id, kernel.shown, kernel.line
            ));
            match &lifted {
                Ok(lifted) => show_lifted(lifted, shell),
                Err(refusal) => shell.diagnostic(refusal),
            }
            show_vendored(loaded, kernel, shell);
            if searches.is_empty() {
                shell.human("\nNo search is on record here; `cargo pragma tune` makes one.");
            }
            for search in searches.iter().rev() {
                show_search(search, kernel, shell);
            }
        }
    }
    Ok(ExitCode::Ok)
}

fn show_lifted(lifted: &Lifted, shell: &Shell) {
    shell.human("\nRead as:\n");
    for line in lifted.program.to_string().lines() {
        shell.human(format!("    {line}"));
    }
    if !lifted.shapes.is_empty() {
        let shapes: Vec<String> = lifted
            .shapes
            .iter()
            .map(|(name, shape)| format!("{name} = {shape}"))
            .collect();
        shell.human(format!("\nShapes: {}", shapes.join(", ")));
    }
    if !lifted.dependencies.is_empty() {
        let paths: Vec<&str> = lifted
            .dependencies
            .iter()
            .map(|(path, _)| path.as_str())
            .collect();
        shell.human(format!("Uses: {}", paths.join(", ")));
    }
    for note in &lifted.notes {
        shell.diagnostic(&Diagnostic::remark(note));
    }
}

fn show_vendored(loaded: &Loaded, kernel: &KernelSource, shell: &Shell) {
    let Some(vendored) = loaded.vendored.kernels.get(&kernel.id) else {
        return;
    };
    shell.human("\nVendored:\n");
    for artefact in &vendored.manifest.artefacts {
        let reason = artefact
            .reason
            .as_ref()
            .map_or_else(String::new, |reason| format!(": {reason}"));
        shell.human(format!(
            "    {} {}{reason}",
            artefact.target,
            artefact.outcome.name()
        ));
        for variant in &artefact.variants {
            let bound = variant.max_elements.map_or_else(
                || "any size".to_owned(),
                |most| format!("up to {most} elements"),
            );
            let actions = if variant.actions.is_empty() {
                "-".to_owned()
            } else {
                variant.actions.join(", ")
            };
            shell.human(format!(
                "        {bound}: `{}` (tuned for {}): {actions}",
                variant.entry, variant.tune
            ));
        }
    }
    let verification = &vendored.manifest.verification;
    shell.human(format!("    accuracy: {}", verification.accuracy));
    for checked in &verification.checked {
        shell.human(format!("    checked: {checked}"));
    }
    for unchecked in &verification.unchecked {
        shell.human(format!("    not checked: {unchecked}"));
    }
}

fn show_search(search: &SearchRecord, kernel: &KernelSource, shell: &Shell) {
    let outcome = search.outcome.as_deref().unwrap_or("interrupted");
    let size = search
        .candidates
        .first()
        .map_or("", |candidate| candidate.tune.as_str());
    let old = if search.fingerprint == kernel.fingerprint.as_str() {
        ""
    } else {
        ", for an earlier version of the function"
    };
    let seconds = search
        .seconds
        .map_or_else(String::new, |seconds| format!(" in {seconds:.1} s"));
    shell.human(format!(
        "\nSearch for {} ({size}): {outcome}{seconds}{old}\n",
        search.target
    ));
    let best = search
        .candidates
        .iter()
        .filter_map(|candidate| {
            candidate
                .timings
                .first()
                .map(|timing| (timing.speedup, candidate.id))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, id)| id);
    let mut children: BTreeMap<Option<i64>, Vec<&CandidateRecord>> = BTreeMap::new();
    let known = |id: i64| search.candidates.iter().any(|candidate| candidate.id == id);
    for candidate in &search.candidates {
        children
            .entry(candidate.parent.filter(|parent| known(*parent)))
            .or_default()
            .push(candidate);
    }
    show_branch(&children, None, 1, best, shell);
    if let Some(reason) = &search.reason {
        shell.human(format!("    result: {reason}"));
    }
    if let Some(stop) = &search.stop {
        shell.human(format!("    stopped: {stop}"));
    }
}

fn show_branch(
    children: &BTreeMap<Option<i64>, Vec<&CandidateRecord>>,
    parent: Option<i64>,
    depth: usize,
    best: Option<i64>,
    shell: &Shell,
) {
    for candidate in children.get(&parent).into_iter().flatten() {
        let indent = "    ".repeat(depth);
        let mark = if Some(candidate.id) == best { "*" } else { "-" };
        let actions = if candidate.actions.is_empty() {
            "no actions".to_owned()
        } else {
            candidate.actions.join(", ")
        };
        let result = match (&candidate.verdict, candidate.timings.first()) {
            // The full verification, after the timing, may find what the search did not.
            (Some((verdict, evidence)), _) if verdict == "wrong" => {
                format!("{verdict}{}", first_line(evidence))
            }
            (_, Some(timing)) => {
                format!(
                    "{} ({})",
                    report::time(timing.candidate_ns),
                    report::speedup(timing.speedup, timing.ci95)
                )
            }
            (Some((verdict, evidence)), None) => format!("{verdict}{}", first_line(evidence)),
            (None, None) => "never judged".to_owned(),
        };
        shell.human(format!("{indent}{mark} {actions}"));
        if !candidate.rationale.is_empty() {
            shell.human(format!("{indent}  why: {}", candidate.rationale));
        }
        shell.human(format!("{indent}  gave: {result}"));
        show_branch(children, Some(candidate.id), depth + 1, best, shell);
    }
}

/// The sentence in a verdict's evidence.
fn first_line(evidence: &str) -> String {
    if let Ok(wrong) = serde_json::from_str::<Evidence>(evidence) {
        return format!(": {}", wrong.sentence());
    }
    let value: Value = serde_json::from_str(evidence).unwrap_or(Value::Null);
    ["message", "reason", "rustc"]
        .iter()
        .find_map(|key| value[*key].as_str())
        .and_then(|text| text.lines().next())
        .map_or_else(String::new, |line| format!(": {line}"))
}

fn search_json(search: &SearchRecord) -> Value {
    let candidates: Vec<Value> = search
        .candidates
        .iter()
        .map(|candidate| {
            let timing = candidate.timings.first();
            json!({
                "id": candidate.id,
                "parent": candidate.parent,
                "engine": candidate.engine,
                "tune": candidate.tune,
                "actions": candidate.actions,
                "rationale": candidate.rationale,
                "verdict": candidate.verdict.as_ref().map(|(verdict, _)| verdict),
                "evidence": candidate.verdict.as_ref().and_then(|(_, text)| serde_json::from_str::<Value>(text).ok()),
                "profile": candidate.profile.as_ref().and_then(|text| serde_json::from_str::<Value>(text).ok()),
                "candidate_ns": timing.map(|timing| timing.candidate_ns),
                "reference_ns": timing.map(|timing| timing.reference_ns),
                "speedup": timing.map(|timing| timing.speedup),
                "ci95": timing.map(|timing| timing.ci95),
            })
        })
        .collect();
    json!({
        "target": search.target,
        "fingerprint": search.fingerprint,
        "outcome": search.outcome,
        "reason": search.reason,
        "stop": search.stop,
        "seconds": search.seconds,
        "candidates": candidates,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_in_one_line() {
        let wrong = r#"{"message":"wrong result","case":"constant values, n = 257","dims":[257],"seed":7,
            "output":"y","index":3,"exact":1.5,"reference":"1.5e0","got":"2e0","allowed":0.25}"#;
        assert_eq!(
            first_line(wrong),
            ": wrong result at `y`[3]: expected 1.5e0 (f64), reference 1.5e0, got 2e0, allowed error 2.50e-1 \
             (constant values, n = 257)"
        );
        let panics = r#"{"message":"the candidate panics","case":"n = 1","dims":[1],"seed":7,"output":null,
            "index":null,"exact":null,"reference":null,"got":null,"allowed":null}"#;
        assert_eq!(first_line(panics), ": the candidate panics (n = 1)");
        assert_eq!(first_line(r#"{"rustc":"error: a\nb"}"#), ": error: a");
        assert_eq!(first_line("{}"), "");
    }
}
