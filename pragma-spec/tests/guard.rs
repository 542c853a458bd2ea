//! Guards: what they accept, and that the emitted code accepts the same.

use std::fmt::Write as _;
use std::process::Command;

use pragma_spec::{Guard, GuardError, GuardParam, Shape, dims_of};

/// A guard over slices (and integers, written `name: i64`) with these shapes.
struct Case {
    integers: &'static [&'static str],
    shapes: &'static [(&'static str, &'static str)],
}

impl Case {
    fn shapes(&self) -> Vec<(String, Shape)> {
        let parse = |text: &str| text.parse().expect("a shape");
        let shapes = self.shapes.iter();
        shapes
            .map(|(name, shape)| ((*name).to_owned(), parse(shape)))
            .collect()
    }

    fn buffers(&self) -> Vec<&'static str> {
        let names = self.shapes.iter().map(|(name, _)| *name);
        names
            .filter(|name| *name != "return" && !self.integers.contains(name))
            .collect()
    }

    fn plan(&self) -> Result<Guard, GuardError> {
        let integers = self
            .integers
            .iter()
            .map(|name| ((*name).to_owned(), GuardParam::Integer));
        let slices = self
            .buffers()
            .into_iter()
            .map(|name| (name.to_owned(), GuardParam::Slice));
        let params: Vec<_> = integers.chain(slices).collect();
        Guard::plan(&dims_of(&self.shapes()), &params, &self.shapes())
    }

    fn guard(&self) -> Guard {
        self.plan().expect("a guard")
    }

    fn eval(&self, integers: &[i64], lens: &[u64]) -> Option<Vec<u64>> {
        self.eval_with(&self.guard(), integers, lens)
    }

    fn eval_with(&self, guard: &Guard, integers: &[i64], lens: &[u64]) -> Option<Vec<u64>> {
        let at = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
        guard.eval(
            &|name| Some(i128::from(integers[at(self.integers, name)?])),
            &|name| Some(lens[at(&self.buffers(), name)?]),
        )
    }
}

const VECTOR: Case = Case {
    integers: &[],
    shapes: &[("x", "[n]"), ("y", "[n]")],
};
const ROWS: Case = Case {
    integers: &[],
    shapes: &[("x", "[rows, d]"), ("w", "[d]"), ("out", "[rows, d]")],
};
const GIVEN: Case = Case {
    integers: &["d"],
    shapes: &[("x", "[rows, d]"), ("out", "[rows]")],
};
const MATMUL: Case = Case {
    integers: &["m", "n", "k"],
    shapes: &[("a", "[m, k]"), ("b", "[k, n]"), ("c", "[m, n]")],
};
const WINDOW: Case = Case {
    integers: &[],
    shapes: &[("x", "[n]"), ("k", "[w]"), ("out", "[n - w + 1]")],
};
const BACKWARDS: Case = Case {
    integers: &[],
    shapes: &[("k", "[w]"), ("out", "[n - w + 1]")],
};
const AFFINE: Case = Case {
    integers: &[],
    shapes: &[("x", "[3, 2 * n + 1]"), ("y", "[(n + 1) / 2]")],
};
const RETURNS: Case = Case {
    integers: &[],
    shapes: &[("x", "[n]"), ("return", "[n - 3]")],
};
/// Extents of an array, as integers beside its length.
const EXTENTS: Case = Case {
    integers: &["h", "w"],
    shapes: &[
        ("h", "[2 * n]"),
        ("w", "[d]"),
        ("x", "[2 * n, d]"),
        ("y", "[d]"),
    ],
};
const ALL: [Case; 9] = [
    VECTOR, ROWS, GIVEN, MATMUL, WINDOW, BACKWARDS, AFFINE, RETURNS, EXTENTS,
];

#[test]
fn lengths_that_fit_give_the_dimensions() {
    assert_eq!(VECTOR.eval(&[], &[5, 5]), Some(vec![5]));
    assert_eq!(VECTOR.eval(&[], &[5, 6]), None);
    assert_eq!(ROWS.eval(&[], &[12, 4, 12]), Some(vec![3, 4]));
    assert_eq!(ROWS.eval(&[], &[13, 4, 13]), None);
    assert_eq!(ROWS.eval(&[], &[12, 4, 8]), None);
    assert_eq!(GIVEN.eval(&[4], &[12, 3]), Some(vec![3, 4]));
    assert_eq!(GIVEN.eval(&[-4], &[12, 3]), None);
    assert_eq!(MATMUL.eval(&[2, 3, 4], &[8, 12, 6]), Some(vec![2, 4, 3]));
    assert_eq!(WINDOW.eval(&[], &[10, 3, 8]), Some(vec![10, 3]));
    assert_eq!(WINDOW.eval(&[], &[2, 3, 0]), None);
    assert_eq!(BACKWARDS.eval(&[], &[3, 8]), Some(vec![3, 10]));
    assert_eq!(AFFINE.eval(&[], &[15, 1]), Some(vec![2]));
    assert_eq!(AFFINE.eval(&[], &[18, 1]), None);
    assert_eq!(RETURNS.eval(&[], &[7]), Some(vec![7]));
    assert_eq!(RETURNS.eval(&[], &[2]), None);
    assert_eq!(EXTENTS.eval(&[4, 3], &[12, 3]), Some(vec![2, 3]));
    assert_eq!(EXTENTS.eval(&[3, 4], &[12, 4]), None);
    assert_eq!(EXTENTS.eval(&[4, 3], &[12, 4]), None);
    assert_eq!(EXTENTS.eval(&[-4, 3], &[12, 3]), None);
}

#[test]
fn empty_dimensions_are_refused() {
    assert_eq!(VECTOR.eval(&[], &[0, 0]), None);
    assert_eq!(ROWS.eval(&[], &[0, 4, 0]), None);
    assert_eq!(ROWS.eval(&[], &[0, 0, 0]), None);
    assert_eq!(GIVEN.eval(&[0], &[0, 0]), None);
    assert_eq!(MATMUL.eval(&[2, 0, 4], &[8, 0, 0]), None);
}

#[test]
fn nothing_wraps() {
    let huge = i64::MAX;
    assert_eq!(MATMUL.eval(&[huge, huge, huge], &[1, 1, 1]), None);
    assert_eq!(MATMUL.eval(&[1 << 32, 1 << 32, 1 << 32], &[0, 0, 0]), None);
    assert_eq!(GIVEN.eval(&[huge], &[12, 3]), None);
}

#[test]
fn shapes_that_leave_sizes_open_are_refused() {
    let undetermined = |dim: &str| {
        Err(GuardError::Undetermined {
            dim: dim.to_owned(),
        })
    };
    let two = Case {
        integers: &[],
        shapes: &[("x", "[rows, d]"), ("y", "[rows, d]")],
    };
    assert_eq!(two.plan(), undetermined("rows"));
    let square = Case {
        integers: &[],
        shapes: &[("x", "[n, n]")],
    };
    assert_eq!(square.plan(), undetermined("n"));
    let quotient = Case {
        integers: &[],
        shapes: &[("x", "[n / 2]")],
    };
    assert_eq!(quotient.plan(), undetermined("n"));
    let result = Case {
        integers: &[],
        shapes: &[("x", "[n]"), ("return", "[k]")],
    };
    assert_eq!(result.plan(), undetermined("k"));
    let shapes = [("x".to_owned(), "[n]".parse().expect("a shape"))];
    let params = [("x".to_owned(), GuardParam::Slice)];
    assert_eq!(
        Guard::plan(&[], &params, &shapes),
        Err(GuardError::Undeclared("n".to_owned()))
    );
    let scalar = [("x".to_owned(), GuardParam::Other)];
    let dims = ["n".to_owned()];
    assert_eq!(
        Guard::plan(&dims, &scalar, &shapes),
        Err(GuardError::NotABuffer("x".to_owned()))
    );
}

/// Compiles the emitted guards and compares them with the evaluated ones on a grid of lengths.
#[test]
fn emitted_guards_decide_the_same() {
    // Some values fit often, some never, one overflows.
    let integers: [i64; 5] = [-1, 0, 2, 3, i64::MAX];
    let lens: [u64; 8] = [0, 1, 2, 3, 4, 6, 9, 12];
    let mut source = String::from("fn main() {\n");
    let mut expected = String::new();
    let mut accepted = 0;
    for (i, case) in ALL.iter().enumerate() {
        let mut params: Vec<String> = case
            .integers
            .iter()
            .map(|name| format!("{name}: i64"))
            .collect();
        params.extend(case.buffers().iter().map(|name| format!("{name}: &[u8]")));
        let guard = case.guard();
        let count = guard.dims.len();
        let tokens = guard.to_tokens();
        let (n, b) = (case.integers.len(), case.buffers().len());
        let _ = writeln!(
            source,
            "fn guard_{i}({}) -> Option<[usize; {count}]> {{ {tokens} }}\nlet bytes = [0u8; 16];",
            params.join(", ")
        );
        let mut args = String::new();
        for j in 0..n {
            let _ = writeln!(source, "for i{j} in {integers:?} {{");
            let _ = write!(args, "i{j}, ");
        }
        for j in 0..b {
            let _ = writeln!(source, "for l{j} in {lens:?} {{");
            let _ = write!(args, "&bytes[..l{j}], ");
        }
        let _ = writeln!(
            source,
            "println!(\"{{:?}}\", guard_{i}({args}).map(Vec::from));"
        );
        source.push_str(&"}".repeat(n + b));
        source.push('\n');
        let total = integers.len().pow(n as u32) * lens.len().pow(b as u32);
        for mut index in 0..total {
            // The innermost loop, the last length, counts fastest.
            let mut digits = Vec::new();
            for base in
                std::iter::repeat_n(lens.len(), b).chain(std::iter::repeat_n(integers.len(), n))
            {
                digits.push(index % base);
                index /= base;
            }
            digits.reverse();
            let ints: Vec<i64> = digits[..n].iter().map(|d| integers[*d]).collect();
            let sizes: Vec<u64> = digits[n..].iter().map(|d| lens[*d]).collect();
            let dims = case.eval_with(&guard, &ints, &sizes);
            accepted += usize::from(dims.is_some());
            let _ = writeln!(expected, "{dims:?}");
        }
    }
    source.push_str("}\n");
    assert!(accepted > 100, "the grid must not be all refusals");
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (dir.join("guards.rs"), dir.join("guards"));
    std::fs::write(&file, source).expect("writable");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let compiled = Command::new(compiler)
        .args([
            "--edition=2024",
            "-Dwarnings",
            "-Cdebug-assertions=yes",
            "-o",
        ])
        .args([&program, &file])
        .output()
        .expect("rustc runs");
    assert!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let ran = Command::new(program).output().expect("it runs");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
}

#[test]
fn keywords_and_damaged_names_do_not_stop_the_compiler() {
    let shape: Shape = "[r#in * 2, r#type]".parse().expect("a shape");
    assert_eq!(shape.to_string(), "[r#in * 2, r#type]");
    assert_eq!(shape.to_string().parse::<Shape>().as_ref(), Ok(&shape));
    for dim in ["type", "r#type", "self", "a b", ""] {
        let params = [(dim.to_owned(), GuardParam::Integer)];
        let guard = Guard::plan(&[dim.to_owned()], &params, &[]).expect("the parameter is it");
        let tokens = guard.to_tokens();
        syn::parse2::<syn::Expr>(tokens).unwrap_or_else(|error| panic!("{dim:?}: {error}"));
    }
    let idents = ["self.a", "a.b_c", "a_b.c", "x.shape.0", "self.type"];
    let mut idents = idents.map(|name| pragma_spec::codegen::param_ident(name).to_string());
    assert_eq!(idents[0], "__pragma_leaf_self_a");
    idents.sort();
    assert!(
        idents.windows(2).all(|pair| pair[0] != pair[1]),
        "{idents:?}"
    );
    let path: Shape = "[self.r#type, x.shape.0, x.0.1]".parse().expect("a shape");
    assert_eq!(path.to_string(), "[self.r#type, x.shape.0, x.0.1]");
    let names = ["x", "type", "self", "a b", ""].map(pragma_spec::codegen::param_ident);
    let names = names.map(|name| name.to_string());
    let none = "__pragma_not_a_name";
    assert_eq!(names, ["x", "r#type", none, none, none]);
}
