//! Running what was lifted against the function itself: the case files are compiled into this
//! test too. Both must give the same bits, or both must panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use pragma_spec::{InputSpec, KernelAttribute, Scalar};
use pragma_synth::ir::interp::{
    Argument, Arguments, Buffer, Limits, Native, Outcome, Returned, Trap, Value, run,
};
use pragma_synth::ir::{Param, Program};

use crate::support::{kernels, source_crate};

/// An argument or result of a native call.
#[derive(Clone, Debug)]
pub enum Arg {
    Int(i128),
    Float(f64),
    Bool(bool),
    F32(Vec<f32>),
    F64(Vec<f64>),
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    U32(Vec<u32>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    Usize(Vec<usize>),
    Bools(Vec<bool>),
    /// The result of a function that gave `Err` or `None`.
    Failed,
}

/// The leaves of a native call.
pub struct Leaves<'a> {
    names: &'a [String],
    /// In the order of the signature.
    pub args: &'a mut [Arg],
}

/// Types of single numbers.
pub trait One {
    fn of(arg: &Arg) -> Self;
}

/// Types of elements.
pub trait Many: Sized + Copy {
    fn of(arg: &Arg) -> Vec<Self>;
    fn put(values: Vec<Self>) -> Arg;
}

impl Leaves<'_> {
    fn arg(&mut self, name: &str) -> &mut Arg {
        let at = self.names.iter().position(|leaf| leaf == name);
        let at = at.unwrap_or_else(|| panic!("no leaf `{name}` in {:?}", self.names));
        &mut self.args[at]
    }

    /// The scalar called `name`.
    pub fn get<T: One>(&mut self, name: &str) -> T {
        T::of(self.arg(name))
    }

    /// The elements of the buffer called `name`.
    pub fn vec<T: Many>(&mut self, name: &str) -> Vec<T> {
        T::of(self.arg(name))
    }

    /// Whether there is such a leaf.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|leaf| leaf == name)
    }

    /// What the function left in the buffer called `name`.
    pub fn set<T: Many>(&mut self, name: &str, values: Vec<T>) {
        *self.arg(name) = T::put(values);
    }
}

/// Types that parameters have.
pub trait FromArg<'a> {
    fn from_arg(arg: &'a mut Arg) -> Self;
}

/// The next argument.
pub fn next<'a, T: FromArg<'a>>(args: &mut impl Iterator<Item = &'a mut Arg>) -> T {
    T::from_arg(args.next().expect("as many arguments as parameters"))
}

/// Types that functions return.
pub trait IntoArgs {
    fn into_args(self) -> Vec<Arg>;
}

impl IntoArgs for () {
    fn into_args(self) -> Vec<Arg> {
        Vec::new()
    }
}

macro_rules! scalars {
    ($($ty:ty => $one:ident, $many:ident;)*) => {$(
        impl<'a> FromArg<'a> for $ty {
            fn from_arg(arg: &'a mut Arg) -> Self {
                match arg {
                    Arg::$one(value) => *value as $ty,
                    other => panic!("{other:?}"),
                }
            }
        }
        impl<'a> FromArg<'a> for &'a [$ty] {
            fn from_arg(arg: &'a mut Arg) -> Self {
                match arg {
                    Arg::$many(values) => values,
                    other => panic!("{other:?}"),
                }
            }
        }
        impl<'a> FromArg<'a> for &'a mut [$ty] {
            fn from_arg(arg: &'a mut Arg) -> Self {
                match arg {
                    Arg::$many(values) => values,
                    other => panic!("{other:?}"),
                }
            }
        }
        impl<'a, const N: usize> FromArg<'a> for &'a [$ty; N] {
            fn from_arg(arg: &'a mut Arg) -> Self {
                match arg {
                    Arg::$many(values) => values[..].try_into().unwrap(),
                    other => panic!("{other:?}"),
                }
            }
        }
        impl<'a, const N: usize> FromArg<'a> for &'a mut [$ty; N] {
            fn from_arg(arg: &'a mut Arg) -> Self {
                match arg {
                    Arg::$many(values) => (&mut values[..]).try_into().unwrap(),
                    other => panic!("{other:?}"),
                }
            }
        }
        impl IntoArgs for $ty {
            fn into_args(self) -> Vec<Arg> {
                vec![Arg::$one(self.into_one())]
            }
        }
        impl One for $ty {
            fn of(arg: &Arg) -> Self {
                match arg {
                    Arg::$one(value) => *value as $ty,
                    other => panic!("{other:?}"),
                }
            }
        }
        impl Many for $ty {
            fn of(arg: &Arg) -> Vec<Self> {
                match arg {
                    Arg::$many(values) => values.clone(),
                    other => panic!("{other:?}"),
                }
            }
            fn put(values: Vec<Self>) -> Arg {
                Arg::$many(values)
            }
        }
        impl<'a, const N: usize> FromArg<'a> for &'a [[$ty; N]] {
            fn from_arg(arg: &'a mut Arg) -> Self {
                match arg {
                    Arg::$many(values) => values.as_chunks().0,
                    other => panic!("{other:?}"),
                }
            }
        }
        impl<'a, const N: usize, const M: usize> FromArg<'a> for &'a [[$ty; N]; M] {
            fn from_arg(arg: &'a mut Arg) -> Self {
                match arg {
                    Arg::$many(values) => values.as_chunks().0.try_into().unwrap(),
                    other => panic!("{other:?}"),
                }
            }
        }
        impl<const N: usize, const M: usize> IntoArgs for [[$ty; N]; M] {
            fn into_args(self) -> Vec<Arg> {
                vec![Arg::$many(self.concat())]
            }
        }
        impl<const N: usize> IntoArgs for [$ty; N] {
            fn into_args(self) -> Vec<Arg> {
                vec![Arg::$many(self.to_vec())]
            }
        }
        impl<const N: usize> IntoArgs for Vec<[$ty; N]> {
            fn into_args(self) -> Vec<Arg> {
                vec![Arg::$many(self.concat())]
            }
        }
        impl IntoArgs for Vec<$ty> {
            fn into_args(self) -> Vec<Arg> {
                vec![Arg::$many(self)]
            }
        }
    )*};
}
trait IntoOne<T> {
    fn into_one(self) -> T;
}
macro_rules! ones {
    ($($ty:ty => $to:ty;)*) => {$(
        impl IntoOne<$to> for $ty {
            fn into_one(self) -> $to {
                self as $to
            }
        }
    )*};
}
ones! { f32 => f64; f64 => f64; u8 => i128; i8 => i128; u16 => i128; i16 => i128; i32 => i128; u32 => i128;
i64 => i128; u64 => i128; usize => i128; }
scalars! {
    f32 => Float, F32; f64 => Float, F64; u8 => Int, U8; i8 => Int, I8; u16 => Int, U16; i16 => Int, I16;
    i32 => Int, I32; u32 => Int, U32; i64 => Int, I64; u64 => Int, U64; usize => Int, Usize;
}

impl<'a> FromArg<'a> for bool {
    fn from_arg(arg: &'a mut Arg) -> Self {
        matches!(arg, Arg::Bool(true))
    }
}

impl<'a> FromArg<'a> for &'a [bool] {
    fn from_arg(arg: &'a mut Arg) -> Self {
        match arg {
            Arg::Bools(values) => values,
            other => panic!("{other:?}"),
        }
    }
}

impl<'a> FromArg<'a> for &'a mut [bool] {
    fn from_arg(arg: &'a mut Arg) -> Self {
        match arg {
            Arg::Bools(values) => values,
            other => panic!("{other:?}"),
        }
    }
}

impl One for bool {
    fn of(arg: &Arg) -> Self {
        matches!(arg, Arg::Bool(true))
    }
}

impl IntoArgs for bool {
    fn into_args(self) -> Vec<Arg> {
        vec![Arg::Bool(self)]
    }
}

impl<T: IntoArgs> IntoArgs for Option<T> {
    fn into_args(self) -> Vec<Arg> {
        self.map_or_else(|| vec![Arg::Failed], T::into_args)
    }
}

impl<T: IntoArgs, E> IntoArgs for Result<T, E> {
    fn into_args(self) -> Vec<Arg> {
        self.map_or_else(|_| vec![Arg::Failed], T::into_args)
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt),*))*) => {$(
        impl<$($name: IntoArgs),*> IntoArgs for ($($name,)*) {
            fn into_args(self) -> Vec<Arg> {
                let mut all = Vec::new();
                $(all.extend(self.$at.into_args());)*
                all
            }
        }
    )*};
}
tuples! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }

/// A splitmix64 generator: the same inputs on every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn float(&mut self) -> f64 {
        match self.below(40) {
            0 => 0.0,
            1 => -0.0,
            2 => 1.0,
            _ => f64::from((self.next() >> 40) as u32) / f64::from(1u32 << 24) * 8.0 - 4.0,
        }
    }

    fn int(&mut self, scalar: Scalar) -> i128 {
        let value = i128::from(self.below(12));
        if scalar.is_signed() { value - 6 } else { value }
    }
}

fn buffer(random: &mut Random, elem: Scalar, len: usize, limit: Option<u64>) -> Arg {
    if let Some(limit) = limit {
        let values = (0..len).map(|_| random.below(limit));
        return match elem {
            Scalar::Usize => Arg::Usize(values.map(|v| v as usize).collect()),
            Scalar::U32 => Arg::U32(values.map(|v| v as u32).collect()),
            Scalar::U8 => Arg::U8(values.map(|v| v as u8).collect()),
            Scalar::I32 => Arg::I32(values.map(|v| v as i32).collect()),
            other => panic!("no limited inputs of type {other}"),
        };
    }
    macro_rules! ints {
        ($many:ident, $ty:ty) => {
            Arg::$many((0..len).map(|_| random.int(elem) as $ty).collect())
        };
    }
    match elem {
        Scalar::F32 => Arg::F32((0..len).map(|_| random.float() as f32).collect()),
        Scalar::F64 => Arg::F64((0..len).map(|_| random.float()).collect()),
        Scalar::U8 => ints!(U8, u8),
        Scalar::I8 => ints!(I8, i8),
        Scalar::U16 => ints!(U16, u16),
        Scalar::I16 => ints!(I16, i16),
        Scalar::I32 => ints!(I32, i32),
        Scalar::U32 => ints!(U32, u32),
        Scalar::I64 => ints!(I64, i64),
        Scalar::U64 => ints!(U64, u64),
        Scalar::Usize => ints!(Usize, usize),
        Scalar::Bool => Arg::Bools((0..len).map(|_| random.below(2) == 1).collect()),
        other => panic!("no inputs of type {other}"),
    }
}

fn argument(arg: &Arg, scalar: Scalar) -> Argument<f64> {
    let floats = |values: Vec<f64>| Argument::Buffer(Buffer::floats::<Native>(scalar, values));
    let ints = |values: Vec<i128>| Argument::Buffer(Buffer::ints(scalar, values));
    macro_rules! wide {
        ($values:ident) => {
            ints($values.iter().map(|value| *value as i128).collect())
        };
    }
    match arg {
        Arg::Int(value) => Argument::Scalar(Value::Int(*value)),
        Arg::Float(value) => Argument::Scalar(Value::Float(*value)),
        Arg::Bool(value) => Argument::Scalar(Value::Bool(*value)),
        Arg::F32(values) => floats(values.iter().map(|value| f64::from(*value)).collect()),
        Arg::F64(values) => floats(values.clone()),
        Arg::U8(values) => wide!(values),
        Arg::I8(values) => wide!(values),
        Arg::U16(values) => wide!(values),
        Arg::I16(values) => wide!(values),
        Arg::I32(values) => wide!(values),
        Arg::U32(values) => wide!(values),
        Arg::I64(values) => wide!(values),
        Arg::U64(values) => wide!(values),
        Arg::Usize(values) => wide!(values),
        Arg::Bools(values) => Argument::Buffer(Buffer::bools(values.iter().copied())),
        Arg::Failed => panic!("no argument"),
    }
}

/// Comparable words: equal for equal bits, and for any two NaN.
fn words(arg: &Arg) -> Vec<i128> {
    let float = |value: f64| {
        if value.is_nan() {
            i128::MAX
        } else {
            i128::from(value.to_bits())
        }
    };
    macro_rules! wide {
        ($values:ident) => {
            $values.iter().map(|value| *value as i128).collect()
        };
    }
    match arg {
        Arg::Int(value) => vec![*value],
        Arg::Float(value) => vec![float(*value)],
        Arg::Bool(value) => vec![i128::from(*value)],
        Arg::F32(values) => values
            .iter()
            .map(|value| float(f64::from(*value)))
            .collect(),
        Arg::F64(values) => values.iter().map(|value| float(*value)).collect(),
        Arg::U8(values) => wide!(values),
        Arg::I8(values) => wide!(values),
        Arg::U16(values) => wide!(values),
        Arg::I16(values) => wide!(values),
        Arg::I32(values) => wide!(values),
        Arg::U32(values) => wide!(values),
        Arg::I64(values) => wide!(values),
        Arg::U64(values) => wide!(values),
        Arg::Usize(values) => wide!(values),
        Arg::Bools(values) => wide!(values),
        Arg::Failed => Vec::new(),
    }
}

fn value_words(value: &Option<Value<f64>>) -> i128 {
    match value {
        Some(Value::Int(value)) => *value,
        Some(Value::Bool(value)) => i128::from(*value),
        Some(Value::Float(value)) if value.is_nan() => i128::MAX,
        Some(Value::Float(value)) => i128::from(value.to_bits()),
        None => i128::MIN,
    }
}

/// Runs kernel `name` of the case file both ways, on random arguments.
pub fn check(file: &str, text: &str, name: &str, native: &dyn Fn(&mut Leaves<'_>) -> Vec<Arg>) {
    let krate = source_crate(file, text);
    let kernel = kernels(&krate)
        .into_iter()
        .find(|kernel| kernel.function.sig.ident == name)
        .unwrap_or_else(|| panic!("no `{name}` in {file}"));
    let names: Vec<String> = kernel
        .signature(&krate)
        .params
        .into_iter()
        .map(|param| param.name)
        .collect();
    let lifted = match kernel.lift(&krate) {
        Ok(lifted) => lifted,
        Err(refusal) => panic!("{name}: {refusal}\n{}\n{}", refusal.why, refusal.help),
    };
    let program = &lifted.program;
    let attribute = kernel.resolved(&krate);
    let mut random = Random(0xC0FFEE);
    let (mut outcomes, mut failures) = (0, 0);
    for round in 0..30u64 {
        let dims: Vec<u64> = program
            .dims
            .iter()
            .map(|_| 1 + random.below(3 + round / 2))
            .collect();
        let Some(mut args) = arguments(program, &attribute, &names, &dims, &mut random) else {
            continue;
        };
        let mut lifted_args = Arguments {
            dims: dims.clone(),
            params: program
                .params
                .iter()
                .zip(&args)
                .map(|(param, arg)| match param {
                    Param::Dim(_) => Argument::Dim,
                    Param::Scalar(var) => argument(arg, program.var(*var).scalar),
                    Param::Buffer(buf) => argument(arg, program.buf(*buf).elem),
                })
                .collect(),
        };
        let before = args.clone();
        quiet(true);
        let natively = catch_unwind(AssertUnwindSafe(|| {
            native(&mut Leaves {
                names: &names,
                args: &mut args,
            })
        }));
        quiet(false);
        let here = run::<Native>(program, &mut lifted_args, Limits::default());
        let context = || format!("{name} with dims {dims:?} on {before:?}\n{program}");
        match (natively, here) {
            (Ok(result), Ok(outcome)) => {
                outcomes += 1;
                let expected: Vec<i128> = result.iter().flat_map(words).collect();
                let got: Vec<i128> = match &outcome {
                    Outcome::Nothing => Vec::new(),
                    Outcome::Scalars(values) => values
                        .iter()
                        .map(|value| value_words(&Some(*value)))
                        .collect(),
                    Outcome::Buffer(buffer) => buffer.values.iter().map(value_words).collect(),
                    Outcome::Mixed(parts) => parts
                        .iter()
                        .flat_map(|part| match part {
                            Returned::Scalar(value) => vec![value_words(&Some(*value))],
                            Returned::Buffer(buffer) => {
                                buffer.values.iter().map(value_words).collect()
                            }
                        })
                        .collect(),
                    Outcome::Declined => {
                        // The reference does it, on arguments as they were.
                        for (arg, lifted) in before.iter().zip(&lifted_args.params) {
                            if let Argument::Buffer(buffer) = lifted {
                                let got: Vec<i128> =
                                    buffer.values.iter().map(value_words).collect();
                                assert_eq!(got, words(arg), "declined after {}", context());
                            }
                        }
                        if matches!(result[..], [Arg::Failed]) {
                            failures += 1;
                        } else {
                            outcomes -= 1;
                        }
                        continue;
                    }
                };
                assert!(
                    !matches!(result[..], [Arg::Failed]),
                    "the function fails, not so {got:?} of {}",
                    context()
                );
                assert_eq!(got, expected, "results of {}", context());
                for (arg, lifted) in args.iter().zip(&lifted_args.params) {
                    if let Argument::Buffer(buffer) = lifted {
                        let got: Vec<i128> = buffer.values.iter().map(value_words).collect();
                        assert_eq!(got, words(arg), "buffers of {}", context());
                    }
                }
            }
            (
                Err(_),
                Err(
                    Trap::Panic
                    | Trap::OutOfBounds { .. }
                    | Trap::DivideByZero
                    | Trap::DivideOverflow,
                ),
            ) => {}
            (Ok(_), Err(trap)) => panic!("{trap} in {}", context()),
            // A call that declines runs the reference, which panics.
            (Err(_), Ok(Outcome::Declined)) => {}
            (Err(_), here) => panic!("the function panics, not so {here:?} of {}", context()),
        }
    }
    assert!(outcomes > failures, "{name} never ran to its end");
}

/// Keeps the panics of the functions under test out of the output.
fn quiet(on: bool) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                usual(info);
            }
        }));
    });
    QUIET.set(on);
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Random arguments under these sizes; `None` if no arguments have them.
fn arguments(
    program: &Program,
    attribute: &KernelAttribute,
    names: &[String],
    dims: &[u64],
    random: &mut Random,
) -> Option<Vec<Arg>> {
    let lookup = |name: &str| {
        let at = program.dims.iter().position(|dim| dim == name)?;
        dims.get(at).copied()
    };
    // `inputs(x = 0..n)` of integers.
    let limit = |name: &str| match attribute.inputs.iter().find(|(input, _)| input == name)?.1 {
        InputSpec::Range { hi, .. } => Some(hi as u64),
        InputSpec::DimRange { ref hi, .. } => hi.eval(&lookup),
        _ => None,
    };
    let mut args = Vec::new();
    for (param, leaf) in program.params.iter().zip(names) {
        args.push(match param {
            Param::Dim(index) => Arg::Int(i128::from(dims[*index])),
            Param::Scalar(var) => match program.var(*var).scalar {
                Scalar::Bool => Arg::Bool(random.below(2) == 1),
                Scalar::F32 => Arg::Float(f64::from(random.float() as f32)),
                Scalar::F64 => Arg::Float(random.float()),
                scalar => Arg::Int(match limit(leaf) {
                    Some(limit) => i128::from(random.below(limit)),
                    None => random.int(scalar),
                }),
            },
            Param::Buffer(buf) => {
                let decl = program.buf(*buf);
                let mut len = 1u64;
                for extent in &decl.shape.0 {
                    len = len.checked_mul(extent.eval(&lookup)?)?;
                }
                buffer(random, decl.elem, usize::try_from(len).ok()?, limit(leaf))
            }
        });
    }
    Some(args)
}

/// `meanings!(module, test, "file.rs": f(_, _), ..)`: the functions of a case file, checked.
macro_rules! meanings {
    ($module:ident, $test:ident, $file:literal: $($name:ident($($arg:tt),*)),* $(,)?) => {
        #[allow(clippy::all, reason = "written as people write, not as clippy would")]
        #[path = $file]
        mod $module;

        #[test]
        fn $test() {
            let text = include_str!($file);
            $(
                $crate::meaning::check($file, text, stringify!($name), &|leaves| {
                    let mut args = leaves.args.iter_mut();
                    let result = $module::$name($(meanings!(@next args $arg)),*);
                    $crate::meaning::IntoArgs::into_args(result)
                });
            )*
        }
    };
    (@next $args:ident _) => {
        $crate::meaning::next(&mut $args)
    };
}
pub(crate) use meanings;
