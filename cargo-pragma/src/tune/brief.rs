//! What a language model is told of a search, in words.

use pragma_spec::{Accuracy, Shape, Target};
use pragma_synth::conduct::{Machine, RULES};
use quote::ToTokens;

use super::kernel::Job;
use super::search::Found;
use super::sizes::Size;
use super::synth;
use crate::llm::{Start, Task};
use crate::machine;
use crate::vendor::formatted;

/// The task of one search. `found` is what another engine found in it before; `roof_ns` the least time that the
/// machine's ceilings allow.
pub fn task(
    job: &Job<'_>,
    target: Target,
    size: &Size,
    entry: &str,
    found: Option<&Found>,
    roof_ns: Option<f64>,
) -> Task {
    let exact = job.attribute.accuracy == Accuracy::Exact;
    let attribute = &job.kernel.tokens;
    let function = job.kernel.function.to_token_stream();
    let start = found.and_then(|found| {
        let best = found.ranked.first()?;
        Some(Start {
            source: best.proposal.source.clone(),
            timing: best.timing.clone(),
            limit: found.limit.clone(),
        })
    });
    let helpers: Vec<String> = job
        .lifted
        .dependencies
        .iter()
        .map(|(path, tokens)| format!("// {path}\n{}", formatted(&tokens.to_string())))
        .collect();
    Task {
        function: formatted(&format!("#[pragma_kernel({attribute})]\n{function}")),
        helpers: helpers.join("\n"),
        machine: machine_text(&(job.machine)(target), target),
        signature: signature(job, target, entry, exact),
        shapes: shapes(&job.lifted.shapes),
        accuracy: accuracy(&job.attribute.accuracy),
        rules: rules(),
        target: target.to_string(),
        tune: format!("{} ({} elements in all slices)", size.tune, size.elements),
        entry: entry.to_owned(),
        start,
        roof_ns,
    }
}

/// The entry's signature, read off the plainest version, so that it cannot differ from what engines write.
fn signature(job: &Job<'_>, target: Target, entry: &str, exact: bool) -> String {
    synth::realise(&job.lifted.program, target, entry, exact, &[])
        .and_then(|plain| {
            let file = syn::parse_file(&plain.source).ok()?;
            file.items.into_iter().find_map(|item| match item {
                syn::Item::Fn(item) if item.sig.ident == entry => {
                    let (vis, sig) = (&item.vis, &item.sig);
                    Some(formatted(&quote::quote!(#vis #sig {}).to_string()))
                }
                _ => None,
            })
        })
        .unwrap_or_else(|| format!("pub unsafe fn {entry}(..)"))
}

fn shapes(shapes: &[(String, Shape)]) -> String {
    let each = shapes
        .iter()
        .map(|(name, shape)| format!("`{name}` is {shape}"));
    each.collect::<Vec<_>>().join(", ")
}

fn accuracy(accuracy: &Accuracy) -> String {
    match accuracy {
        Accuracy::Exact => "Results are the same as the function's, bit for bit.".to_owned(),
        Accuracy::Tolerance { rtol, atol } => {
            format!("Results differ from the function's by at most {atol:e} + {rtol:e} times their size.")
        }
        Accuracy::Default => "Results are as close to the exact ones (computed in f64) as the function's own, up to a few roundings of the sum of all absolute terms. Sums may be reordered and multiplications fused; shorter formats and fast approximations are refused. Integers are exact; NaN and infinities come out where the function has them.".to_owned(),
    }
}

fn machine_text(ceilings: &Machine, target: Target) -> String {
    let mut text = format!(
        "{}; kernels for {target} may use {} threads.\nMeasured here:\n",
        machine::description(),
        ceilings.threads
    );
    for level in &ceilings.levels {
        text.push_str(&format!(
            "- {}: copy {:.1} GB/s on one thread, {:.1} on all; read {:.1} and {:.1}\n",
            level.name, level.copy_one, level.copy_all, level.read_one, level.read_all
        ));
    }
    if ceilings.flops_one.is_finite() {
        text.push_str(&format!(
            "- fused multiply-adds: {:.0} Gflop/s on one thread, {:.0} on all\n",
            ceilings.flops_one, ceilings.flops_all
        ));
    }
    text.push_str(&format!(
        "- sharing work out to all threads costs about {:.0} ns\n",
        ceilings.fork_ns
    ));
    text
}

/// The Conductor's rules in their own words.
fn rules() -> String {
    RULES
        .iter()
        .map(|rule| {
            format!(
                "- {}: seen by {}; then {}, because {}.\n",
                rule.bottleneck, rule.evidence, rule.remedy, rule.because
            )
        })
        .collect()
}
