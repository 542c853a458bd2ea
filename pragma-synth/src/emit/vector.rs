//! Expressions of a loop body as vectors of `pragma_runtime::simd`.
//!
//! Owns the mapping from IR operators to vector methods, and what may stand in a vector loop at
//! all. Whether iterations may run together is `analyze::depend`'s business.

use std::collections::{BTreeMap, BTreeSet};

use pragma_spec::Scalar;

use crate::analyze::poly::{self, Atom, Poly};
use crate::ir::{BinaryOp, BufId, CompareOp, Const, Expr, Func, VarId};

use super::native::{Native, Tightness};

/// A value in a vector loop: the same in all lanes, or one for each.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Scalar text.
    Uniform(String),
    /// Vector text; a method can be called on it.
    Lanes(String),
}

/// The vector type that holds lanes of `scalar`. Narrow integers live sign- or zero-extended
/// in `I32`.
pub(super) fn vector_type(scalar: Scalar) -> Option<&'static str> {
    match scalar {
        Scalar::F32 => Some("F32"),
        Scalar::F64 => Some("F64"),
        Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16 | Scalar::I32 => Some("I32"),
        Scalar::U32 => Some("U32"),
        Scalar::I64 | Scalar::Isize => Some("I64"),
        Scalar::U64 | Scalar::Usize => Some("U64"),
        Scalar::Bool => Some("Mask"),
        Scalar::F16 | Scalar::Bf16 => None,
    }
}

/// The scalar type of one lane of [`vector_type`].
fn lane_type(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16 => Scalar::I32,
        Scalar::Isize => Scalar::I64,
        Scalar::Usize => Scalar::U64,
        other => other,
    }
}

pub(super) fn is_narrow(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::U8 | Scalar::U16)
}

/// What the vector code around an expression is.
pub(super) struct Lanes<'a> {
    pub native: Native<'a>,
    /// The counter of the vector loop; stands for lane 0 in scalar text.
    pub axis: VarId,
    /// Variables that differ between lanes, other than the counter.
    pub varying: BTreeSet<VarId>,
    /// `usize` lets that are the counter's multiple plus something uniform: scalar text is
    /// their value in lane 0.
    pub linear: BTreeSet<VarId>,
    /// Whether operations may be spelled as in `contract`.
    pub contract: bool,
    /// With a value, only so many lanes (the name of a `usize`) are there.
    pub partial: Option<String>,
    /// Temporaries that each lane has for itself, with their name in each vector of the step.
    pub private: BTreeMap<BufId, Vec<String>>,
    /// Which vector of the step is being written.
    pub copy: usize,
    /// The mask of the lanes that get here, if they need not be all that there are.
    pub mask: Option<String>,
    /// Whether accesses are checked.
    pub checks: bool,
    /// Whether what is being written is guarded by a part of the same expression.
    pub guarded: bool,
    /// Whether runs of neighbours are checked.
    pub checks_runs: bool,
    /// Vector types used, for the `use` line.
    pub types: BTreeSet<&'static str>,
}

pub(super) type Outcome<T> = Result<T, String>;

impl<'a> Lanes<'a> {
    pub fn scalar(&self, expr: &Expr) -> Scalar {
        expr.scalar(self.native.program)
    }

    /// Whether all lanes agree on the value.
    pub fn is_uniform(&self, expr: &Expr) -> bool {
        let mut uniform = true;
        expr.walk(&mut |node| match node {
            Expr::Var(var) => {
                uniform &=
                    *var != self.axis && !self.varying.contains(var) && !self.linear.contains(var);
            }
            Expr::Load { buf, .. } => uniform &= !self.private.contains_key(buf),
            _ => {}
        });
        uniform
    }

    /// How far an index moves per lane, if that is the same everywhere and its scalar text is
    /// the value in lane 0.
    fn step(&self, expr: &Expr) -> Option<Poly> {
        let mut scalar = true;
        expr.walk(&mut |node| {
            if let Expr::Var(var) = node {
                scalar &= !self.varying.contains(var);
            }
        });
        let poly = poly::read(self.native.program, &self.native.scope.definitions, expr)?;
        if !scalar || poly.vars().iter().any(|var| self.varying.contains(var)) {
            return None;
        }
        let (slope, _) = poly.linear_in(&Atom::Var(self.axis))?;
        Some(slope)
    }

    /// How far an index moves per lane, if that is a constant.
    pub fn stride(&self, expr: &Expr) -> Option<i64> {
        self.step(expr)?.as_constant()
    }

    /// How far an index moves per lane, as text.
    pub fn slope(&self, expr: &Expr) -> Option<String> {
        let slope = self.step(expr)?;
        match slope.as_constant() {
            Some(slope) => Some(slope.to_string()),
            None => print_poly(self.native.program, &slope).map(|slope| format!("({slope})")),
        }
    }

    pub fn vector(&mut self, scalar: Scalar) -> Outcome<&'static str> {
        let name =
            vector_type(scalar).ok_or_else(|| format!("there are no vectors of `{scalar}` yet"))?;
        self.types.insert(name);
        Ok(name)
    }

    /// The expression as a vector, uniform values broadcast.
    pub fn lanes(&mut self, expr: &Expr) -> Outcome<String> {
        let scalar = self.scalar(expr);
        match self.value(expr)? {
            Value::Lanes(text) => Ok(text),
            Value::Uniform(text) => self.splat(scalar, expr, &text),
        }
    }

    fn splat(&mut self, scalar: Scalar, expr: &Expr, text: &str) -> Outcome<String> {
        let vector = self.vector(scalar)?;
        let is_zero = matches!(expr, Expr::Const(Const::Float(_, z)) if *z == 0.0 && z.is_sign_positive())
            || matches!(expr, Expr::Const(Const::Int(_, 0)));
        if is_zero {
            return Ok(format!("{vector}::zero()"));
        }
        let lane = lane_type(scalar);
        if lane == scalar {
            return Ok(format!("{vector}::splat({text})"));
        }
        let text = match expr {
            Expr::Const(_) | Expr::Dim(_) | Expr::Var(_) | Expr::Call(..) => text.to_owned(),
            _ => format!("({text})"),
        };
        Ok(format!("{vector}::splat({text} as {lane})"))
    }

    /// The expression as scalar or vector text.
    pub fn value(&mut self, expr: &Expr) -> Outcome<Value> {
        if self.is_uniform(expr) {
            self.require_reached(expr)?;
            return Ok(Value::Uniform(self.native.text(expr)));
        }
        let scalar = self.scalar(expr);
        if matches!(scalar, Scalar::Usize | Scalar::Isize)
            && let Some(slope) = self.slope(expr)
        {
            let (vector, lane) = (self.vector(scalar)?, lane_type(scalar));
            let base = self.native.print(expr).at_least(Tightness::Cast);
            let first = format!("{vector}::splat({base} as {lane})");
            return Ok(Value::Lanes(match slope.as_str() {
                "0" => first,
                "1" => format!("{first}.add({vector}::iota())"),
                _ => {
                    format!("{first}.add({vector}::iota().mul({vector}::splat({slope} as {lane})))")
                }
            }));
        }
        let text = match expr {
            Expr::Var(var) => self.native.var(*var),
            Expr::Load { buf, index } => self.load(*buf, index)?,
            Expr::Binary(op, a, b) => self.binary(*op, a, b)?,
            Expr::Compare(op, a, b) => self.compare(*op, a, b)?,
            Expr::Select {
                cond,
                then,
                otherwise,
            } => self.select(cond, then, otherwise)?,
            Expr::Cast(to, value) => self.cast(*to, value)?,
            Expr::Call(func, args) => self.call(*func, args)?,
            Expr::Const(_) | Expr::Dim(_) => self.native.text(expr),
        };
        Ok(Value::Lanes(text))
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Outcome<String> {
        let scalar = self.scalar(a);
        if scalar.is_float()
            && self.contract
            && let Some(text) = self.contracted(op, a, b)?
        {
            return Ok(text);
        }
        if scalar == Scalar::Bool {
            // The left side may guard a load on the right.
            let guard = match op {
                BinaryOp::And => Some(true),
                BinaryOp::Or => Some(false),
                _ => None,
            };
            let right = match guard {
                Some(holds) => self.guarded(a, holds, b)?,
                None => self.lanes(b)?,
            };
            let (a, b) = (self.lanes(a)?, right);
            return match op {
                BinaryOp::And => Ok(format!("{a}.and({b})")),
                BinaryOp::Or => Ok(format!("{a}.or({b})")),
                BinaryOp::Xor => Ok(format!("{a}.xor({b})")),
                _ => Err("no such operator on `bool`".to_owned()),
            };
        }
        if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            return self.shift(op, a, b);
        }
        if scalar.is_integer() && matches!(op, BinaryOp::Div | BinaryOp::Rem) {
            return self.divide(op, a, b);
        }
        let method = match op {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Div => "div",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            BinaryOp::Rem | BinaryOp::Shl | BinaryOp::Shr => {
                return Err("there is no vector remainder of floats".to_owned());
            }
        };
        let text = format!("{}.{method}({})", self.lanes(a)?, self.lanes(b)?);
        Ok(self.normalised(scalar, op, text))
    }

    fn shift(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Outcome<String> {
        let scalar = self.scalar(a);
        let value = self.lanes(a)?;
        let method = if op == BinaryOp::Shl { "shl" } else { "shr" };
        if !self.is_uniform(b) {
            if is_narrow(scalar) || self.scalar(b) != scalar {
                return Err("a shift by a different count in each lane needs one type".to_owned());
            }
            let counts = self.lanes(b)?;
            return Ok(format!("{value}.{method}_lanes({counts})"));
        }
        let mut count = match self.scalar(b) {
            Scalar::U32 => self.native.text(b),
            _ => match b {
                Expr::Const(Const::Int(_, count)) if *count >= 0 => count.to_string(),
                _ => format!("{} as u32", self.native.print(b).at_least(Tightness::Cast)),
            },
        };
        if is_narrow(scalar) {
            count = match b {
                Expr::Const(Const::Int(_, n)) if (0..8 * scalar.bytes() as i128).contains(n) => {
                    count
                }
                _ => format!("({count}) & {}", 8 * scalar.bytes() - 1),
            };
        }
        let text = format!("{value}.{method}({count})");
        Ok(self.normalised(scalar, op, text))
    }

    /// Division of unsigned integers by a power of two; there is no other in vectors.
    fn divide(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Outcome<String> {
        let scalar = self.scalar(a);
        let refusal = || "there is no vector division of integers".to_owned();
        let Expr::Const(Const::Int(_, by)) = b else {
            return Err(refusal());
        };
        let nonnegative = !scalar.is_signed();
        if *by <= 0 || by & (by - 1) != 0 || !nonnegative {
            return Err(refusal());
        }
        let vector = self.vector(scalar)?;
        let lane = lane_type(scalar);
        let value = self.lanes(a)?;
        Ok(match op {
            BinaryOp::Div => format!("{value}.shr({})", by.trailing_zeros()),
            _ => format!("{value}.and({vector}::splat({}_{lane}))", by - 1),
        })
    }

    /// Brings a narrow result back into the range of its type, as wrapping arithmetic does.
    fn normalised(&self, scalar: Scalar, op: BinaryOp, text: String) -> String {
        let wraps = matches!(
            op,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl
        );
        if wraps { wrap(scalar, text) } else { text }
    }

    fn compare(&mut self, op: CompareOp, a: &Expr, b: &Expr) -> Outcome<String> {
        self.types.insert("Mask");
        let boolean = self.scalar(a) == Scalar::Bool;
        let (a, b) = (self.lanes(a)?, self.lanes(b)?);
        let method = match op {
            CompareOp::Eq if boolean => return Ok(format!("{a}.xor({b}).not()")),
            CompareOp::Ne if boolean => return Ok(format!("{a}.xor({b})")),
            _ if boolean => return Err("`bool` is not ordered in vectors".to_owned()),
            CompareOp::Lt => "lt",
            CompareOp::Le => "le",
            CompareOp::Gt => "gt",
            CompareOp::Ge => "ge",
            CompareOp::Eq => "eq",
            CompareOp::Ne => "ne",
        };
        Ok(format!("{a}.{method}({b})"))
    }

    fn select(&mut self, cond: &Expr, then: &Expr, otherwise: &Expr) -> Outcome<String> {
        let scalar = self.scalar(then);
        if let Expr::Compare(op, a, b) = cond
            && scalar.is_float()
        {
            // `if a > b { a } else { b }` is one instruction with exactly this meaning.
            let method = match op {
                CompareOp::Gt if **a == *then && **b == *otherwise => Some("pick_gt"),
                CompareOp::Lt if **a == *then && **b == *otherwise => Some("pick_lt"),
                _ => None,
            };
            if let Some(method) = method {
                return Ok(format!("{}.{method}({})", self.lanes(a)?, self.lanes(b)?));
            }
        }
        if self.is_uniform(cond) {
            let text = self.native.text(cond);
            let then = self.guarded(cond, true, then)?;
            let otherwise = self.guarded(cond, false, otherwise)?;
            return Ok(format!("(if {text} {{ {then} }} else {{ {otherwise} }})"));
        }
        let mask = self.lanes(cond)?;
        let then = self.guarded(cond, true, then)?;
        let otherwise = self.guarded(cond, false, otherwise)?;
        self.blend(scalar, &mask, &then, &otherwise)
    }

    /// Lanes of `then` where `mask` is set, of `otherwise` elsewhere.
    pub fn blend(
        &mut self,
        scalar: Scalar,
        mask: &str,
        then: &str,
        otherwise: &str,
    ) -> Outcome<String> {
        self.types.insert("Mask");
        if scalar == Scalar::Bool {
            return Ok(format!(
                "{mask}.and({then}).or({mask}.not().and({otherwise}))"
            ));
        }
        let vector = self.vector(scalar)?.to_lowercase();
        Ok(format!("{mask}.select_{vector}({then}, {otherwise})"))
    }

    fn cast(&mut self, to: Scalar, value: &Expr) -> Outcome<String> {
        let from = self.scalar(value);
        let text = self.lanes(value)?;
        if from == to {
            return Ok(text);
        }
        let (source, target) = (self.vector(from)?, self.vector(to)?);
        if from == Scalar::Bool {
            let lane = lane_type(to);
            if to.is_float() {
                return Err("`bool` does not cast to a float".to_owned());
            }
            return Ok(format!(
                "{text}.select_{}({target}::splat(1_{lane}), {target}::zero())",
                target.to_lowercase()
            ));
        }
        if from.is_float() && is_narrow(to) {
            let (lo, hi) = range(to);
            return Ok(format!(
                "{text}.to_i32().max(I32::splat({lo})).min(I32::splat({hi}))"
            ));
        }
        let converted = if source == target {
            text
        } else {
            format!("{text}.to_{}()", target.to_lowercase())
        };
        let keeps = from.is_integer() && is_narrow(to) && fits(from, to);
        Ok(if from.is_integer() && is_narrow(to) && !keeps {
            wrap(to, converted)
        } else {
            converted
        })
    }

    fn call(&mut self, func: Func, args: &[Expr]) -> Outcome<String> {
        let Some(first) = args.first() else {
            return Err("a call without arguments".to_owned());
        };
        let scalar = self.scalar(first);
        let float = scalar.is_float();
        let missing = || format!("there is no vector `{func:?}` of `{scalar}`");
        if matches!(func, Func::RotateLeft | Func::RotateRight) {
            let count = &args[1];
            if is_narrow(scalar) || !self.is_uniform(count) {
                return Err(missing());
            }
            let name = if func == Func::RotateLeft {
                "rotate_left"
            } else {
                "rotate_right"
            };
            return Ok(format!(
                "{}.{name}({})",
                self.lanes(first)?,
                self.native.text(count)
            ));
        }
        if func == Func::FromBits && scalar == Scalar::U32 {
            self.types.insert("F32");
            return Ok(format!("F32::from_bits({})", self.lanes(first)?));
        }
        let method = match func {
            Func::Neg => "neg",
            Func::Not => "not",
            Func::Abs => "abs",
            Func::Sqrt if float => "sqrt",
            Func::Recip if float => "recip",
            Func::Floor if float => "floor",
            Func::Ceil if float => "ceil",
            Func::Trunc if float => "trunc",
            Func::Round if float => "round",
            Func::RoundTiesEven if float => "round_ties_even",
            Func::Exp => "exp",
            Func::Exp2 => "exp2",
            Func::ExpM1 => "exp_m1",
            Func::Ln => "ln",
            Func::Log2 => "log2",
            Func::Log10 if scalar == Scalar::F32 => "log10",
            Func::Ln1p => "ln_1p",
            Func::Sin => "sin",
            Func::Cos => "cos",
            Func::Tanh => "tanh",
            Func::Tan if scalar == Scalar::F32 => "tan",
            Func::Asin if scalar == Scalar::F32 => "asin",
            Func::Acos if scalar == Scalar::F32 => "acos",
            Func::Atan if scalar == Scalar::F32 => "atan",
            Func::Sinh if scalar == Scalar::F32 => "sinh",
            Func::Cosh if scalar == Scalar::F32 => "cosh",
            Func::Cbrt if scalar == Scalar::F32 => "cbrt",
            Func::Atan2 if scalar == Scalar::F32 => "atan2",
            Func::Powf => "pow",
            Func::Copysign => "copysign",
            Func::IsNan => "is_nan",
            Func::Max if float => "max_num",
            Func::Min if float => "min_num",
            Func::Max => "max",
            Func::Min => "min",
            Func::MulAdd => "mul_add",
            Func::CountOnes if !is_narrow(scalar) => "popcount",
            Func::ToBits if scalar == Scalar::F32 => "to_bits",
            _ => return Err(missing()),
        };
        let receiver = self.lanes(first)?;
        let rest = args[1..]
            .iter()
            .map(|arg| self.lanes(arg))
            .collect::<Outcome<Vec<_>>>()?;
        let text = format!("{receiver}.{method}({})", rest.join(", "));
        Ok(match func {
            Func::Not if scalar == Scalar::U8 || scalar == Scalar::U16 => wrap(scalar, text),
            Func::Neg | Func::Abs => wrap(scalar, text),
            Func::CountOnes if scalar != Scalar::U32 => {
                self.types.insert("U32");
                format!("{text}.to_u32()")
            }
            _ => text,
        })
    }
}

fn range(scalar: Scalar) -> (i32, i32) {
    match scalar {
        Scalar::I8 => (i32::from(i8::MIN), i32::from(i8::MAX)),
        Scalar::U8 => (0, i32::from(u8::MAX)),
        Scalar::I16 => (i32::from(i16::MIN), i32::from(i16::MAX)),
        _ => (0, i32::from(u16::MAX)),
    }
}

/// Whether every value of `from` is one of `to`.
fn fits(from: Scalar, to: Scalar) -> bool {
    if !is_narrow(from) {
        return false;
    }
    let ((a, b), (c, d)) = (range(from), range(to));
    c <= a && b <= d
}

fn wrap(scalar: Scalar, text: String) -> String {
    match scalar {
        Scalar::U8 => format!("{text}.and(I32::splat(0xff))"),
        Scalar::U16 => format!("{text}.and(I32::splat(0xffff))"),
        Scalar::I8 => format!("{text}.shl(24).shr(24)"),
        Scalar::I16 => format!("{text}.shl(16).shr(16)"),
        _ => text,
    }
}

/// A polynomial as Rust, or `None` if it has a negative coefficient.
pub(super) fn print_poly(program: &crate::ir::Program, poly: &Poly) -> Option<String> {
    poly.spell(&|atom| spell_atom(program, atom))
}

fn spell_atom(program: &crate::ir::Program, atom: &Atom) -> String {
    match atom {
        Atom::Dim(dim) => program.dims[*dim].clone(),
        Atom::Var(var) => program.var(*var).name.clone(),
        Atom::Quotient(parts) => {
            let (over, under) = &**parts;
            let spell = |poly: &Poly| poly.spell_signed(&|atom| spell_atom(program, atom));
            format!("(({}) / ({}))", spell(over), spell(under))
        }
    }
}
