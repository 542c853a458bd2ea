//! Kernels that are there run, for the functions, machines and arguments they are made for.

mod support;

use pragma_spec::Target;
use support::{Crate, HandWritten, sum_kernel};

const SUM: &str = r#"
use pragma_runtime::pragma_kernel;

/// Sums.
#[pragma_kernel(shape(x = [n]))]
pub fn sum(x: &[f32]) -> f32 {
    x.iter().sum()
}

fn main() {
    println!("{} {} {}", sum(&[1.0, 2.0]), sum(&[]), sum::reference(&[1.0, 2.0]));
}
"#;

const V3: Target = Target::X86_64V3;
const V4: Target = Target::X86_64V4;

fn has_v3() -> bool {
    let has = pragma_runtime::Tier::supported() >= pragma_runtime::Tier::V3;
    if !has {
        eprintln!("skipped: this CPU has no AVX2");
    }
    has
}

#[test]
fn a_fresh_kernel_runs_and_the_environment_overrides_it() {
    if !has_v3() {
        return;
    }
    let krate = Crate::new("dispatch-fresh");
    krate.write("src/main.rs", SUM);
    assert_eq!(krate.run(), "3 -0 3");
    let v3 = sum_kernel(V3, "sum", 300.0);
    let v4 = sum_kernel(V4, "sum", 400.0);
    krate.tune(
        "src/main.rs",
        "",
        "sum",
        &HandWritten {
            shapes: &[("x", "[n]")],
            files: &[(V3, &v3, &[("sum", None)]), (V4, &v4, &[("sum", None)])],
        },
    );
    // No source was touched: cargo notices the index.
    let best = match pragma_runtime::Tier::supported() {
        pragma_runtime::Tier::V4 => "403 -0 3",
        _ => "303 -0 3",
    };
    assert_eq!(krate.run(), best);
    let dispatch = |value| krate.run_with(&[("PRAGMA_DISPATCH", value)]);
    assert_eq!(dispatch("reference"), "3 -0 3");
    assert_eq!(dispatch("x86-64-v3"), "303 -0 3");
}
