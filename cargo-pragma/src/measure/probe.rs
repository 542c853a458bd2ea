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
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            r#"
copy_probe!({copy}, "{features}", {block}, {lanes}, {mm}_loadu_ps, {mm}_storeu_ps);
copy_probe!({stream}, "{features}", {block}, {lanes}, {mm}_loadu_ps, {mm}_stream_ps);

#[target_feature(enable = "{features}")]
fn {read}_block(x: *const f32, n: usize) -> f32 {{
    unsafe {{
        {read_accumulators}
        let mut i = 0;
        while i + {step} <= n {{ {read_steps} i += {step}; }}
        {read_sum}
        let mut lanes = [0f32; {lanes}];
        {mm}_storeu_ps(lanes.as_mut_ptr(), a0);
        lanes[0]
    }}
}}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn {read}(args: *const h::RawArg, _: usize, _: *const h::RawReturn) -> u32 {{
    let x = unsafe {{ h::slice::<f32>(args, 0) }};
    for_blocks(x.len(), {block}, |lo, hi| {{ h::black_box(unsafe {{ {read}_block(x.as_ptr().add(lo), hi - lo) }}); }});
    h::STATUS_OK
}}

#[target_feature(enable = "{features}")]
fn {fma}_block(seed: f32) -> f32 {{
    let (b, c) = ({mm}_set1_ps(h::black_box(0.999_9)), {mm}_set1_ps(h::black_box(1e-4)));
    {start}
    for _ in 0..{FMA_STEPS} {{ {steps} }}
    {sum}
    let mut lanes = [0f32; {lanes}];
    unsafe {{ {mm}_storeu_ps(lanes.as_mut_ptr(), a0) }};
    lanes[0]
}}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn {fma}(args: *const h::RawArg, _: usize, _: *const h::RawReturn) -> u32 {{
    let x = unsafe {{ h::slice::<f32>(args, 0) }};
    for_blocks({FMA_BLOCKS}, 1, |lo, _| {{ h::black_box(unsafe {{ {fma}_block(x[0] + lo as f32) }}); }});
    h::STATUS_OK
}}
"#,
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
const PRELUDE: &str = r#"#![allow(warnings)]
use pragma_runtime::harness as h;
use pragma_runtime::parallel::{Shared, for_blocks};
use std::arch::x86_64::*;

#[unsafe(no_mangle)]
pub extern "C" fn pragma_set_threads(threads: usize) { h::set_thread_limit(threads) }
#[unsafe(no_mangle)]
pub extern "C" fn pragma_abi_version() -> u32 { h::ABI_VERSION }

#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_memcpy(args: *const h::RawArg, _: usize, _: *const h::RawReturn) -> u32 {
    let (x, y) = unsafe { (h::slice::<f32>(args, 0), h::slice_mut::<f32>(args, 1)) };
    let out = Shared::new(y.as_mut_ptr());
    for_blocks(x.len(), 1 << 16, |lo, hi| unsafe { std::ptr::copy_nonoverlapping(x.as_ptr().add(lo), out.get().add(lo), hi - lo) });
    h::STATUS_OK
}

macro_rules! copy_probe {
    ($name:ident, $features:literal, $block:literal, $lanes:literal, $load:ident, $store:ident) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(args: *const h::RawArg, _: usize, _: *const h::RawReturn) -> u32 {
            #[target_feature(enable = $features)]
            fn block(x: *const f32, y: *mut f32, n: usize) {
                unsafe {
                    // Scalars up to a boundary that streaming stores accept.
                    let mut i = 0;
                    while i < n && (y.add(i) as usize) % (4 * $lanes) != 0 { *y.add(i) = *x.add(i); i += 1; }
                    while i + 4 * $lanes <= n {
                        let (a, b) = ($load(x.add(i)), $load(x.add(i + $lanes)));
                        let (c, d) = ($load(x.add(i + 2 * $lanes)), $load(x.add(i + 3 * $lanes)));
                        $store(y.add(i), a);
                        $store(y.add(i + $lanes), b);
                        $store(y.add(i + 2 * $lanes), c);
                        $store(y.add(i + 3 * $lanes), d);
                        i += 4 * $lanes;
                    }
                    while i < n { *y.add(i) = *x.add(i); i += 1; }
                    _mm_sfence();
                }
            }
            let (x, y) = unsafe { (h::slice::<f32>(args, 0), h::slice_mut::<f32>(args, 1)) };
            let out = Shared::new(y.as_mut_ptr());
            for_blocks(x.len(), $block, |lo, hi| unsafe { block(x.as_ptr().add(lo), out.get().add(lo), hi - lo) });
            h::STATUS_OK
        }
    };
}
"#;

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
