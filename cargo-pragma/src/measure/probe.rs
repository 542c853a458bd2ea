//! The source of the library that measures the machine.
//!
//! Owns the probes: copies, reads and chains of fused multiply-adds, one set per tier, written against the same runtime
//! and compiled with the same flags as kernels, so that a ceiling is what a kernel could reach and not a data sheet.

use std::fmt::Write as _;

use pragma_spec::Target;

/// Independent accumulators of the multiply-add probe: enough to hide four cycles on two or three ports.
pub const FMA_CHAINS: usize = 12;
/// Blocks that the multiply-add probe runs, so that it can be shared out among threads.
pub const FMA_BLOCKS: usize = 64;
/// Iterations of the multiply-add probe per block.
pub const FMA_STEPS: usize = 2_000;

/// The entry of a probe: `probe_copy_x86_64_v3`.
pub fn symbol(probe: &str, target: Target) -> String {
    format!("probe_{probe}_{}", target.name().replace('-', "_"))
}

/// Native register names of a tier: type, lanes of f32, intrinsic prefix, suffix of float loads.
fn native(target: Target) -> (&'static str, usize, &'static str) {
    match target {
        Target::X86_64V3 => ("__m256", 8, "_mm256"),
        Target::X86_64V4 => ("__m512", 16, "_mm512"),
    }
}

/// The library's complete source, for these tiers.
pub fn source(targets: &[Target]) -> String {
    let mut text = String::from(PRELUDE);
    for &target in targets {
        let (vector, lanes, mm) = native(target);
        let features = target.features();
        let block = 1 << 16;
        let [copy, stream, read, fma] =
            ["copy", "stream", "read", "fma"].map(|probe| symbol(probe, target));
        let accumulators = |f: &dyn Fn(usize) -> String| (0..FMA_CHAINS).map(f).collect::<String>();
        let read_accumulators = (0..8)
            .map(|i| format!("let mut a{i} = {mm}_setzero_ps(); "))
            .collect::<String>();
        let read_steps = (0..8)
            .map(|i| {
                format!(
                    "a{i} = {mm}_add_ps(a{i}, {mm}_loadu_ps(x.add(i + {}))); ",
                    i * lanes
                )
            })
            .collect::<String>();
        let read_sum = (1..8)
            .map(|i| format!("a0 = {mm}_add_ps(a0, a{i}); "))
            .collect::<String>();
        // Writing to a string cannot fail. The template is a format string, with doubled braces.
        let _ = write!(
            text,
            include_str!("probe_tier.rs.in"),
            copy = copy,
            stream = stream,
            read = read,
            fma = fma,
            features = features,
            block = block,
            lanes = lanes,
            mm = mm,
            read_accumulators = read_accumulators,
            read_steps = read_steps,
            read_sum = read_sum,
            FMA_STEPS = FMA_STEPS,
            FMA_BLOCKS = FMA_BLOCKS,
            step = 8 * lanes,
            start =
                accumulators(&|i| format!("let mut a{i}: {vector} = {mm}_set1_ps(seed + {i}.0); ")),
            steps = accumulators(&|i| format!("a{i} = {mm}_fmadd_ps(a{i}, b, c); ")),
            sum = (1..FMA_CHAINS)
                .map(|i| format!("a0 = {mm}_add_ps(a0, a{i}); "))
                .collect::<String>(),
        );
    }
    text
}

/// Imports, the plain copy, and the copies with vectors.
const PRELUDE: &str = include_str!("probe_prelude.rs.in");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_parses() {
        let text = source(&Target::ALL);
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}"));
        assert!(file.items.len() > 10);
        assert!(text.contains("fn probe_fma_x86_64_v4_block"));
    }
}
