//! What lints say about annotated functions: what they would say without the annotation, once.

mod support;

use pragma_spec::Target;
use support::{Crate, HandWritten, sum_kernel};

fn check(krate: &Crate) -> String {
    let outcome = krate.cargo(&["check", "--quiet"]);
    assert!(outcome.ok, "{}", outcome.stderr);
    outcome.stderr
}

fn tune(krate: &Crate) {
    let text = sum_kernel(Target::X86_64V3, "sum", 1.0);
    let kernel = HandWritten {
        shapes: &[("x", "[n]")],
        files: &[(Target::X86_64V3, &text, &[("sum", None)])],
    };
    krate.tune("src/main.rs", "", "sum", &kernel);
}

#[test]
fn an_unused_function_is_reported_once() {
    let krate = Crate::new("lints-unused");
    krate.write(
        "src/main.rs",
        "#[pragma_runtime::pragma_kernel(shape(x = [n]))]\nfn sum(x: &[f32]) -> f32 {\n    let unused = 1;\n    x.iter().sum()\n}\nfn main() {}\n",
    );
    let expect = |stderr: &str| {
        assert_eq!(
            stderr.matches("warning: unused variable: `unused`").count(),
            1,
            "{stderr}"
        );
        assert_eq!(
            stderr
                .matches("warning: function `sum` is never used")
                .count(),
            1,
            "{stderr}"
        );
        assert_eq!(stderr.matches("warning: ").count(), 2, "{stderr}");
        assert!(
            stderr.contains("src/main.rs:2:4") && stderr.contains("src/main.rs:3:9"),
            "{stderr}"
        );
    };
    expect(&check(&krate));
    tune(&krate);
    expect(&check(&krate));
}

#[test]
fn a_generic_function_says_that_it_has_no_kernels() {
    let krate = Crate::new("lints-generic");
    krate.write(
        "src/main.rs",
        "#[pragma_runtime::pragma_kernel]\nfn first<T: Copy>(x: &[T]) -> T {\n    x[0]\n}\n\
         fn main() { println!(\"{} {}\", first(&[1]), first::reference(&[2.5])); }\n",
    );
    let expected = "\
warning: use of deprecated constant `_::pragma_kernel_is_generic`: `first` is generic and has no kernels: say which \
types to make them for, `instantiate(T = f32)`
 --> src/main.rs:2:4
  |
2 | fn first<T: Copy>(x: &[T]) -> T {
  |    ^^^^^
  |
  = note: `#[warn(deprecated)]` on by default";
    assert_eq!(check(&krate).trim(), expected);
    assert_eq!(krate.run(), "1 2.5");
}

/// The macro cannot see the lint; the compiler's own message must at least point at the annotation.
#[test]
fn a_crate_that_forbids_unsafe_code_is_told_where() {
    let krate = Crate::new("lints-forbid");
    krate.write(
        "src/main.rs",
        "#![forbid(unsafe_code)]\n#[pragma_runtime::pragma_kernel(shape(x = [n]))]\nfn sum(x: &[f32]) -> f32 {\n    x[0]\n}\nfn main() { sum(&[1.0]); }\n",
    );
    assert_eq!(check(&krate), "");
    tune(&krate);
    let outcome = krate.cargo(&["check", "--quiet"]);
    assert!(!outcome.ok);
    let message =
        "error[E0453]: allow(unsafe_code) incompatible with previous forbid\n --> src/main.rs:2:1";
    assert!(outcome.stderr.starts_with(message), "{}", outcome.stderr);
}
