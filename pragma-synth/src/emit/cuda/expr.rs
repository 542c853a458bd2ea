//! Expressions as CUDA C++ with the meaning they have in Rust.
//!
//! Owns operators, literals and casts; `functions` has the functions. Integers wrap (through unsigned arithmetic),
//! shifts mask their count, casts of floats saturate. Half types are computed with as `f32` and
//! rounded after every operation.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pragma_spec::Scalar;

use crate::analyze::bounds::Scope;
use crate::analyze::poly::{self, Atom, Poly};
use crate::ir::interp::int_bits;
use crate::ir::{BinaryOp, BufId, BufRole, CompareOp, Const, Expr, Program, VarId};

/// What one kernel mentions, so that its parameters can be listed.
#[derive(Debug, Default)]
pub(super) struct Uses {
    pub helpers: BTreeSet<&'static str>,
    pub dims: BTreeSet<usize>,
    pub scalars: BTreeSet<VarId>,
    pub bufs: BTreeSet<BufId>,
    pub scratch: BTreeSet<usize>,
    pub requires: Vec<super::plan::Requirement>,
    pub results: bool,
    pub fault: bool,
}

/// Elements of a buffer that live elsewhere: those at `base` plus the counter of a loop.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub buf: BufId,
    /// The loop whose counter is the position.
    pub counter: VarId,
    /// The index where the counter is 0.
    pub base: Poly,
    /// Where the element is: an lvalue.
    pub place: String,
}

/// Writes expressions at one place of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Spell<'a> {
    pub program: &'a Program,
    pub scope: Scope,
    pub held: Vec<Held>,
    /// Buffers that are arrays of the kernel itself (thread-local or shared), with their length.
    pub own: Vec<(BufId, String)>,
    /// Buffers made at the top level of the function, with their length.
    pub locals: Vec<(BufId, Expr)>,
    /// Variables that go by another name here.
    pub renamed: Vec<(VarId, String)>,
    /// Variables with a statement that follows every assignment to them.
    pub origins: Vec<(VarId, String)>,
    pub uses: &'a RefCell<Uses>,
}

/// How tightly C++ binds, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bind {
    Choice,
    OrElse,
    AndThen,
    Or,
    Xor,
    And,
    Equal,
    Compare,
    Shift,
    Sum,
    Product,
    Unary,
    Postfix,
}

/// A piece of C++.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub text: String,
    bind: Bind,
}

impl Code {
    pub fn new(text: impl Into<String>, bind: Bind) -> Code {
        Code {
            text: text.into(),
            bind,
        }
    }

    pub fn atom(text: impl Into<String>) -> Code {
        Code::new(text, Bind::Postfix)
    }

    pub fn at(&self, min: Bind) -> String {
        if self.bind < min {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }

    pub fn infix(&self, op: &str, other: &Code, bind: Bind) -> Code {
        // One more on the right: operators associate to the left.
        let right = if other.bind <= bind {
            format!("({})", other.text)
        } else {
            other.text.clone()
        };
        Code::new(format!("{} {op} {right}", self.at(bind)), bind)
    }

    pub fn cast(&self, to: &str) -> Code {
        Code::new(format!("({to}){}", self.at(Bind::Unary)), Bind::Unary)
    }
}

/// The C++ name of a value of this type.
pub(super) fn value_type(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F16 | Scalar::Bf16 => "f32",
        other => other.name(),
    }
}

/// The C++ name of an element of this type.
pub(super) fn element_type(scalar: Scalar) -> &'static str {
    scalar.name()
}

/// The unsigned type in which integers of this type wrap.
pub(super) fn wrapping_type(scalar: Scalar) -> &'static str {
    if scalar.bytes() == 8 { "u64" } else { "u32" }
}

/// The unsigned type of the same width.
pub(super) fn unsigned_type(scalar: Scalar) -> &'static str {
    match scalar.bytes() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    }
}

impl Spell<'_> {
    pub fn helper(&self, name: &'static str) {
        self.uses.borrow_mut().helpers.insert(name);
    }

    /// The fault word, for operations that may fail.
    pub fn fault(&self) -> &'static str {
        self.uses.borrow_mut().fault = true;
        "fault"
    }

    /// An expression, to stand where nothing binds to it.
    pub fn text(&self, expr: &Expr) -> String {
        self.expr(expr).text
    }

    /// A loop bound, to stand as any operand: sizes are multiplied, divided and cast. Bare numbers
    /// need no suffix there.
    pub fn bound(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(Const::Int(_, value)) => value.to_string(),
            other => self.expr(other).at(Bind::Postfix),
        }
    }

    /// A polynomial that is at least 0, as an index.
    pub fn poly(&self, poly: &Poly) -> String {
        poly.spell_signed(&|atom| match atom {
            Atom::Dim(dim) => self.dim(*dim),
            Atom::Var(var) => self.var(*var),
            Atom::Quotient(parts) => {
                format!("(({}) / ({}))", self.poly(&parts.0), self.poly(&parts.1))
            }
        })
    }

    pub fn dim(&self, dim: usize) -> String {
        self.uses.borrow_mut().dims.insert(dim);
        self.program.dims[dim].clone()
    }

    pub fn var(&self, var: VarId) -> String {
        if let Some((_, name)) = self.renamed.iter().find(|(renamed, _)| *renamed == var) {
            return name.clone();
        }
        self.uses.borrow_mut().scalars.insert(var);
        self.program.var(var).name.clone()
    }

    /// The name of a buffer.
    pub fn buf(&self, buf: BufId) -> String {
        self.uses.borrow_mut().bufs.insert(buf);
        self.program.buf(buf).name.clone()
    }

    pub fn expr(&self, expr: &Expr) -> Code {
        let program = self.program;
        match expr {
            Expr::Const(value) => self.literal(*value),
            Expr::Var(var) => Code::atom(self.var(*var)),
            Expr::Dim(dim) => Code::atom(self.dim(*dim)),
            Expr::Load { buf, index } => self.load(*buf, index),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Compare(op, a, b) => {
                let bind = match op {
                    CompareOp::Eq | CompareOp::Ne => Bind::Equal,
                    _ => Bind::Compare,
                };
                self.expr(a).infix(op.symbol(), &self.expr(b), bind)
            }
            Expr::Select {
                cond,
                then,
                otherwise,
            } => {
                let (cond, then) = (self.expr(cond), self.expr(then));
                let otherwise = self.expr(otherwise);
                let text = format!(
                    "{} ? {} : {}",
                    cond.at(Bind::OrElse),
                    then.at(Bind::OrElse),
                    otherwise.at(Bind::OrElse)
                );
                Code::new(text, Bind::Choice)
            }
            Expr::Cast(to, value) => self.cast(*to, value.scalar(program), self.expr(value)),
            Expr::Call(func, args) => self.call(*func, args),
        }
    }

    /// Rounds a result in a half type.
    pub fn rounded(&self, scalar: Scalar, code: Code) -> Code {
        match scalar {
            Scalar::Bf16 => {
                self.helper("bf16");
                Code::atom(format!("round_bf16({})", code.text))
            }
            _ => code,
        }
    }

    pub fn literal_text(&self, value: Const) -> String {
        self.literal(value).text
    }

    fn literal(&self, value: Const) -> Code {
        match value {
            Const::Bool(value) => Code::atom(value.to_string()),
            Const::Int(scalar, value) => {
                let negative = value < 0;
                let suffix = match scalar {
                    Scalar::U32 => "u",
                    Scalar::U64 | Scalar::Usize => "ull",
                    Scalar::I64 | Scalar::Isize => "ll",
                    _ => "",
                };
                // The least value of a type is no literal in C++.
                let text = if negative && value == -(1i128 << (int_bits(scalar) - 1)) {
                    format!("(-{}{suffix} - 1)", -(value + 1))
                } else {
                    format!("{value}{suffix}")
                };
                let bind = if negative { Bind::Unary } else { Bind::Postfix };
                let code = Code::new(text, bind);
                if scalar.bytes() < 4 {
                    code.cast(scalar.name())
                } else {
                    code
                }
            }
            Const::Float(scalar, value) => {
                let single = scalar != Scalar::F64;
                let suffix = if single { "f32" } else { "f64" };
                if value.is_nan() {
                    self.helper("nan");
                    return Code::atom(format!("nan_{suffix}()"));
                }
                let sign = if value.is_sign_negative() { "-" } else { "" };
                let text = if value.is_infinite() {
                    self.helper("infinity");
                    format!("{sign}infinity_{suffix}()")
                } else if single {
                    format!("{:?}f", value as f32)
                } else {
                    format!("{value:?}")
                };
                let bind = if sign.is_empty() {
                    Bind::Postfix
                } else {
                    Bind::Unary
                };
                Code::new(text, bind)
            }
        }
    }

    /// Where the element is, if it is held or shown to be in bounds; what stands for it.
    fn held(&self, buf: BufId, index: &Expr) -> Option<&str> {
        let candidates = self.held.iter().filter(|held| held.buf == buf);
        for held in candidates {
            let poly = poly::read(self.program, &self.scope.definitions, index)?;
            let wanted = held.base.plus(&Poly::atom(Atom::Var(held.counter)));
            if poly == wanted {
                return Some(&held.place);
            }
        }
        None
    }

    fn len(&self, buf: BufId) -> String {
        if let Some((_, len)) = self.own.iter().find(|(own, _)| *own == buf) {
            return len.clone();
        }
        if let Some((_, len)) = self.locals.iter().find(|(local, _)| *local == buf) {
            return self.text(len);
        }
        let len = self.program.buf(buf).shape.len();
        let mut names = Vec::new();
        len.for_each_dim(&mut |name| names.push(name.to_owned()));
        for name in names {
            if let Some(dim) = self.program.dims.iter().position(|dim| *dim == name) {
                self.uses.borrow_mut().dims.insert(dim);
            }
        }
        len.to_string()
    }

    fn load(&self, buf: BufId, index: &Expr) -> Code {
        let elem = self.program.buf(buf).elem;
        let element = if let Some(place) = self.held(buf, index) {
            Code::atom(place)
        } else if self.scope.is_in_bounds(self.program, buf, index) {
            Code::atom(format!("{}[{}]", self.buf(buf), self.text(index)))
        } else {
            self.helper("load_checked");
            let (name, index) = (self.buf(buf), self.text(index));
            let (len, fault) = (self.len(buf), self.fault());
            Code::atom(format!("load_checked({name}, {index}, {len}, {fault})"))
        };
        self.widened(elem, element)
    }

    /// The value of an element.
    fn widened(&self, elem: Scalar, element: Code) -> Code {
        match elem {
            Scalar::Bf16 => {
                self.helper("bf16");
                Code::atom(format!("widen({})", element.text))
            }
            _ => element,
        }
    }

    /// The element that holds a value.
    pub fn narrowed(&self, elem: Scalar, value: String) -> String {
        match elem {
            Scalar::Bf16 => {
                self.helper("bf16");
                format!("narrow_bf16({value})")
            }
            _ => value,
        }
    }

    /// A statement that writes an element.
    pub fn store(&self, buf: BufId, index: &Expr, value: &Expr) -> String {
        let elem = self.program.buf(buf).elem;
        let value = self.narrowed(elem, self.text(value));
        if let Some(place) = self.held(buf, index) {
            return format!("{place} = {value};");
        }
        let name = self.buf(buf);
        let at = self.text(index);
        if self.scope.is_in_bounds(self.program, buf, index) {
            return format!("{name}[{at}] = {value};");
        }
        self.helper("store_checked");
        let (len, fault) = (self.len(buf), self.fault());
        let value = match elem {
            Scalar::Bf16 => value,
            _ => format!("({}){}", element_type(elem), parenthesised(&value)),
        };
        format!("store_checked({name}, {at}, {len}, {value}, {fault});")
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Code {
        let scalar = a.scalar(self.program);
        let (left, right) = (self.expr(a), self.expr(b));
        if scalar.is_float() {
            let code = match op {
                BinaryOp::Add => left.infix("+", &right, Bind::Sum),
                BinaryOp::Sub => left.infix("-", &right, Bind::Sum),
                BinaryOp::Mul => left.infix("*", &right, Bind::Product),
                BinaryOp::Div => left.infix("/", &right, Bind::Product),
                _ if scalar == Scalar::F64 => {
                    Code::atom(format!("fmod({}, {})", left.text, right.text))
                }
                _ => Code::atom(format!("fmodf({}, {})", left.text, right.text)),
            };
            return self.rounded(scalar, code);
        }
        if scalar == Scalar::Bool {
            return match op {
                BinaryOp::And => left.infix("&&", &right, Bind::AndThen),
                BinaryOp::Or => left.infix("||", &right, Bind::OrElse),
                _ => left.infix("!=", &right, Bind::Equal),
            };
        }
        let name = scalar.name();
        let (symbol, bind) = match op {
            BinaryOp::Add => ("+", Bind::Sum),
            BinaryOp::Sub => ("-", Bind::Sum),
            BinaryOp::Mul => ("*", Bind::Product),
            BinaryOp::Div => ("/", Bind::Product),
            BinaryOp::Rem => ("%", Bind::Product),
            BinaryOp::And => ("&", Bind::And),
            BinaryOp::Or => ("|", Bind::Or),
            BinaryOp::Xor => ("^", Bind::Xor),
            BinaryOp::Shl => ("<<", Bind::Shift),
            BinaryOp::Shr => (">>", Bind::Shift),
        };
        let natural = scalar.bytes() >= 4 && !scalar.is_signed();
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if natural => {
                left.infix(symbol, &right, bind)
            }
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                let wide = wrapping_type(scalar);
                let code = left.cast(wide).infix(symbol, &right.cast(wide), bind);
                code.cast(name)
            }
            BinaryOp::Div | BinaryOp::Rem if is_safe_divisor(b) => {
                let code = left.infix(symbol, &right, bind);
                if scalar.bytes() < 4 {
                    code.cast(name)
                } else {
                    code
                }
            }
            BinaryOp::Div | BinaryOp::Rem => {
                self.helper("quotient");
                let function = if op == BinaryOp::Div {
                    "quotient"
                } else {
                    "remainder_of"
                };
                let fault = self.fault();
                Code::atom(format!(
                    "{function}<{name}>({}, {}, {fault})",
                    left.text, right.text
                ))
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                let code = left.infix(symbol, &right, bind);
                if scalar.bytes() < 4 {
                    code.cast(name)
                } else {
                    code
                }
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                let mask = int_bits(scalar) - 1;
                let count = match b {
                    Expr::Const(Const::Int(_, count)) => {
                        Code::atom((count & i128::from(mask)).to_string())
                    }
                    _ => right
                        .cast("u32")
                        .infix("&", &Code::atom(format!("{mask}u")), Bind::And),
                };
                if op == BinaryOp::Shl && !natural {
                    let wide = left.cast(wrapping_type(scalar));
                    wide.infix(symbol, &count, bind).cast(name)
                } else {
                    let code = left.infix(symbol, &count, bind);
                    if scalar.bytes() < 4 {
                        code.cast(name)
                    } else {
                        code
                    }
                }
            }
        }
    }

    fn cast(&self, to: Scalar, from: Scalar, value: Code) -> Code {
        if from == to {
            return value;
        }
        if from.is_float() && to.is_integer() {
            self.helper("saturating_cast");
            return Code::atom(format!("saturating_cast<{}>({})", to.name(), value.text));
        }
        if matches!(to, Scalar::Bf16 | Scalar::F16) {
            let single = if from == Scalar::F32 {
                value
            } else {
                value.cast("f32")
            };
            return self.rounded(to, single);
        }
        if from.is_float() && value_type(from) == value_type(to) {
            return value;
        }
        value.cast(value_type(to))
    }
}

/// Whether a division by this can neither trap nor overflow.
fn is_safe_divisor(divisor: &Expr) -> bool {
    match divisor {
        Expr::Const(Const::Int(_, value)) => *value != 0 && *value != -1,
        // Dimensions are at least 1.
        Expr::Dim(_) => true,
        _ => false,
    }
}

fn parenthesised(text: &str) -> String {
    format!("({text})")
}

/// Whether the emitter can compute with this type.
pub(super) fn is_supported(scalar: Scalar) -> bool {
    scalar != Scalar::F16
}

/// Whether a kernel may write to a buffer of this role.
pub(super) fn is_written(role: BufRole) -> bool {
    role != BufRole::Input
}
