//! Versions as texts: those that were best before, and several in one file.

use std::collections::BTreeMap;

use pragma_spec::{Target, Variant};

use super::engine::{Origin, Proposal};
use super::kernel::{Job, internal, is_exact};
use super::sizes::Size;
use super::synth;
use crate::cli::exit::Failure;
use crate::history::SearchKey;
use crate::vendor::{model_module, model_text, rename};

/// Versions that were best before: in the vendored manifest and in the history.
pub(super) fn seeds(
    job: &Job<'_>,
    target: Target,
    size: &Size,
    entry: &str,
    key: &SearchKey,
    threads: usize,
) -> Result<Vec<Proposal>, Failure> {
    let tune = size.tune.to_string();
    let artefact = job.previous.and_then(|old| old.manifest.artefact(target));
    let file = artefact
        .and_then(|artefact| artefact.file.as_ref())
        .and_then(|name| job.previous?.files.get(name));
    let vendored: Vec<&Variant> = artefact
        .into_iter()
        .flat_map(|artefact| &artefact.variants)
        .filter(|variant| variant.tune.split("; ").any(|one| one == tune))
        .collect();
    let mut lists: Vec<Vec<String>> = vendored
        .iter()
        .filter(|variant| variant.engine == synth::NAME)
        .map(|variant| variant.actions.clone())
        .collect();
    let written = vendored.iter().filter_map(|variant| {
        let by = variant.authorship.clone()?;
        let text = model_text(file?, &variant.entry)?;
        Some(Proposal {
            actions: Vec::new(),
            origin: Origin::Model(by),
            // The entry may have had another name when there were more sizes, or fewer.
            source: rename(&text, &variant.entry, entry),
            rationale: "it is vendored".to_owned(),
            parent: None,
        })
    });
    let written: Vec<Proposal> = written.collect();
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    lists.extend(job.history.best(key, &tune, threads).map_err(internal)?);
    lists.dedup();
    let realise = |actions: &Vec<String>| {
        synth::realise(&job.lifted.program, target, entry, is_exact(job), actions)
    };
    Ok(lists.iter().filter_map(realise).chain(written).collect())
}

/// One file's items: versions that schedules make, written together, and a module for every text of a model.
pub(super) fn combine(
    job: &Job<'_>,
    target: Target,
    kernels: &[&Variant],
    texts: &BTreeMap<String, String>,
) -> Result<String, String> {
    let (written, scheduled): (Vec<&Variant>, Vec<&Variant>) = kernels
        .iter()
        .partition(|variant| variant.authorship.is_some());
    let versions: Vec<(&str, &[String])> = scheduled
        .iter()
        .map(|variant| (variant.entry.as_str(), variant.actions.as_slice()))
        .collect();
    let mut code = if versions.is_empty() {
        String::new()
    } else {
        synth::combine(&job.lifted.program, target, is_exact(job), &versions)?
    };
    for variant in written {
        let text = texts
            .get(&variant.entry)
            .ok_or_else(|| format!("the text of `{}` is lost", variant.entry))?;
        code.push_str(&model_module(&variant.entry, text));
    }
    Ok(code)
}
