//! Scalar Rust for a program: one statement of Rust for one statement of the IR.
//!
//! Owns expressions with their parentheses, statements and indentation. How floats are
//! represented and how buffers are reached is the [`ScalarStyle`]'s; marks are ignored. Callers
//! add the function around it.
//!
//! Exactness: integers wrap (`wrapping_add`) except where both operands are made of dimensions,
//! loop counters and literals by `+` and `*` alone. Such sums and products are indices and sizes
//! that a shape guard has found to fit, and are written with plain operators.

pub mod strength;

use pragma_spec::Scalar;

use crate::ir::interp::int_bits;
use crate::ir::{
    BinaryOp, BufId, BufRole, CompareOp, Const, Expr, Func, Loop, Program, Stmt, StoreHint, VarId,
};

/// A piece of Rust: an expression that knows when it needs parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    text: String,
    strength: u8,
    /// A literal without a suffix, whose type follows from where it stands.
    literal: Option<Scalar>,
    /// Ends in `as T`, after which `<` would open a list of type parameters.
    ends_in_type: bool,
}

impl Code {
    /// Text that binds as tightly as `strength` says.
    pub fn new(text: impl Into<String>, strength: u8) -> Self {
        Code {
            text: text.into(),
            strength,
            literal: None,
            ends_in_type: false,
        }
    }

    /// A name, call, field or index expression.
    pub fn atom(text: impl Into<String>) -> Self {
        Code::new(text, strength::POSTFIX)
    }

    /// The text as an operand that must bind at least as tightly as `min`.
    pub fn at(&self, min: u8) -> String {
        if self.strength < min {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }

    /// The text where nothing follows or precedes that could bind to it.
    pub fn bare(&self) -> &str {
        &self.text
    }

    /// The same with a type suffix if it is a bare literal, for places that give it no type.
    #[must_use]
    pub fn typed(mut self) -> Self {
        if let Some(scalar) = self.literal.take() {
            self.text.push_str(scalar.name());
        }
        self
    }

    /// `self.name(args)`.
    #[must_use]
    pub fn method(self, name: &str, args: &[Code]) -> Self {
        let args: Vec<_> = args.iter().map(Code::bare).collect();
        let receiver = self.typed().at(strength::POSTFIX);
        Code::atom(format!("{receiver}.{name}({})", args.join(", ")))
    }

    /// `self op other`, associating to the left.
    #[must_use]
    pub fn infix(self, symbol: &str, other: Code, level: u8) -> Self {
        let left = if other.literal.is_some() {
            self.typed()
        } else {
            self
        };
        // Comparisons bind their operands more tightly on both sides: they do not chain.
        let left_min = level + u8::from(level == strength::COMPARE);
        let a = if left.ends_in_type && matches!(symbol, "<" | "<<") {
            format!("({})", left.text)
        } else {
            left.at(left_min)
        };
        let b = other.at(level + 1);
        let ends_in_type = other.ends_in_type && other.strength > level;
        Code {
            ends_in_type,
            ..Code::new(format!("{a} {symbol} {b}"), level)
        }
    }

    /// `self as to`.
    #[must_use]
    pub fn cast(self, to: &str) -> Self {
        let value = self.typed().at(strength::CAST);
        Code {
            ends_in_type: true,
            ..Code::new(format!("{value} as {to}"), strength::CAST)
        }
    }

    /// `if cond { self } else { other }`.
    #[must_use]
    pub fn choose(self, cond: &Code, other: Code) -> Self {
        let then = if other.literal.is_some() {
            self.typed()
        } else {
            self
        };
        let cond = cond.at(strength::OR_ELSE);
        Code::new(
            format!("if {cond} {{ {} }} else {{ {} }}", then.text, other.text),
            strength::ANY,
        )
    }
}

/// What a literal looks like in native Rust; types without a suffix follow from the context.
pub fn literal(value: Const) -> Code {
    let (text, negative) = match value {
        Const::Bool(value) => return Code::atom(value.to_string()),
        Const::Int(_, value) => (value.to_string(), value < 0),
        Const::Float(scalar, value) if value.is_nan() => {
            return Code::atom(format!("{scalar}::NAN"));
        }
        Const::Float(scalar, value) if value.is_infinite() => {
            let sign = if value < 0.0 { "NEG_" } else { "" };
            return Code::atom(format!("{scalar}::{sign}INFINITY"));
        }
        Const::Float(scalar, value) => {
            // The shortest text that reads back as this value of this type.
            let text = match scalar {
                Scalar::F32 => format!("{:?}", value as f32),
                _ => format!("{value:?}"),
            };
            (text, value.is_sign_negative())
        }
    };
    let level = if negative {
        strength::UNARY
    } else {
        strength::POSTFIX
    };
    Code {
        literal: Some(value.scalar()),
        ..Code::new(text, level)
    }
}

/// How floats and buffers look. The defaults are native Rust over bounds-checked slices, where the
/// returned buffer is a `&mut [MaybeUninit<T>]`, as a kernel gets it.
pub trait ScalarStyle {
    /// The type of variables and elements.
    fn type_name(&self, scalar: Scalar) -> String {
        scalar.name().to_owned()
    }

    /// A variable.
    fn var(&self, program: &Program, var: VarId) -> Code {
        Code::atom(&program.var(var).name)
    }

    /// A dimension.
    fn dim(&self, program: &Program, dim: usize) -> Code {
        Code::atom(&program.dims[dim])
    }

    /// A literal of a float type.
    fn float(&self, scalar: Scalar, value: f64) -> Code {
        literal(Const::Float(scalar, value))
    }

    /// An element.
    fn load(&self, program: &Program, buf: BufId, index: Code) -> Code {
        let decl = program.buf(buf);
        let element = format!("{}[{}]", decl.name, index.bare());
        match decl.role {
            // SAFETY (of the emitted code): a program reads only elements that it has written.
            BufRole::Return => {
                let text = format!("unsafe {{ {element}.assume_init() }}");
                Code::new(text, strength::ANY)
            }
            _ => Code::atom(element),
        }
    }

    /// A statement that writes an element.
    fn store(
        &self,
        program: &Program,
        buf: BufId,
        index: Code,
        value: Code,
        _hint: StoreHint,
    ) -> String {
        let decl = program.buf(buf);
        let (name, index, value) = (&decl.name, index.bare(), value.bare());
        match decl.role {
            BufRole::Return => format!("{name}[{index}].write({value});"),
            _ => format!("{name}[{index}] = {value};"),
        }
    }

    /// A statement that makes a buffer.
    fn alloc(&self, program: &Program, buf: BufId, len: Code, fill: Code) -> String {
        let decl = program.buf(buf);
        let name = &decl.name;
        let fill = fill.typed();
        let fill = fill.bare();
        match decl.role {
            BufRole::Return => format!("{name}.fill(::core::mem::MaybeUninit::new({fill}));"),
            // A slice, since an index into a `Vec` cannot mention the `Vec`.
            _ => format!(
                "let mut {name} = ::std::vec![{fill}; {}]; let {name} = &mut {name}[..];",
                len.bare()
            ),
        }
    }

    /// A float or integer as a float of type `to`, or a float as an integer.
    fn cast(&self, _from: Scalar, to: Scalar, value: Code) -> Code {
        value.cast(to.name())
    }

    /// The bits of a float of type `scalar`.
    fn float_to_bits(&self, _scalar: Scalar, value: Code) -> Code {
        value.method("to_bits", &[])
    }

    /// The float of type `scalar` with these bits.
    fn bits_to_float(&self, scalar: Scalar, bits: Code) -> Code {
        Code::atom(format!("{scalar}::from_bits({})", bits.bare()))
    }

    /// `if a < b { then } else { otherwise }` on floats, where both sides are safe to evaluate;
    /// `None` for the ordinary form.
    fn select(
        &self,
        _op: CompareOp,
        _compared: [&Code; 2],
        _then: &Code,
        _otherwise: &Code,
    ) -> Option<Code> {
        None
    }

    /// A statement that leaves the function with these results.
    fn returns(&self, values: &[Code]) -> String {
        match values {
            [] => "return;".to_owned(),
            [value] => format!("return {};", value.bare()),
            values => {
                let values: Vec<_> = values.iter().map(Code::bare).collect();
                format!("return ({});", values.join(", "))
            }
        }
    }

    /// A statement for a place that is never reached.
    fn panic(&self) -> String {
        "panic!(\"the reference panics here\");".to_owned()
    }
}

/// Native Rust over slices, bounds-checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeStyle;

impl ScalarStyle for NativeStyle {}

/// Writes parts of one program in one style.
#[derive(Clone, Debug)]
pub struct ScalarEmitter<'a, S> {
    program: &'a Program,
    style: &'a S,
    /// By variable: counts a loop.
    counters: Vec<bool>,
}

/// The body of `program` as statements, indented by `indent` levels of four spaces.
pub fn emit_scalar(program: &Program, style: &impl ScalarStyle, indent: usize) -> String {
    let emitter = ScalarEmitter::new(program, style);
    let mut out = String::new();
    emitter.block(&program.body, indent, &mut out);
    out
}

impl<'a, S: ScalarStyle> ScalarEmitter<'a, S> {
    /// An emitter for parts of `program`, which `verify` accepts.
    pub fn new(program: &'a Program, style: &'a S) -> Self {
        let mut counters = vec![false; program.vars.len()];
        program.walk(&mut |stmt| {
            if let Stmt::For(inner) = stmt {
                counters[inner.var.0 as usize] = true;
            }
        });
        ScalarEmitter {
            program,
            style,
            counters,
        }
    }

    /// An expression.
    pub fn expr(&self, expr: &Expr) -> Code {
        let program = self.program;
        match expr {
            Expr::Const(Const::Float(scalar, value)) => self.style.float(*scalar, *value),
            Expr::Const(value) => literal(*value),
            Expr::Var(var) => self.style.var(program, *var),
            Expr::Dim(dim) => self.style.dim(program, *dim),
            Expr::Load { buf, index } => self.style.load(program, *buf, self.expr(index)),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                a.infix(op.symbol(), b, strength::COMPARE)
            }
            Expr::Select {
                cond,
                then,
                otherwise,
            } => self.select(cond, then, otherwise),
            Expr::Cast(to, value) => {
                let from = value.scalar(program);
                let value = self.expr(value);
                match () {
                    () if from == *to => value.typed(),
                    () if from.is_float() || to.is_float() => self.style.cast(from, *to, value),
                    () => value.cast(to.name()),
                }
            }
            Expr::Call(func, args) => self.call(*func, args),
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> Code {
        let scalar = a.scalar(self.program);
        let plain = !scalar.is_integer() || (self.is_tame(a) && self.is_tame(b));
        let (left, right) = (self.expr(a), self.expr(b));
        match op {
            BinaryOp::Add if plain => left.infix("+", right, strength::SUM),
            BinaryOp::Sub if !scalar.is_integer() => left.infix("-", right, strength::SUM),
            BinaryOp::Mul if plain => left.infix("*", right, strength::PRODUCT),
            BinaryOp::Add => left.method("wrapping_add", &[right]),
            BinaryOp::Sub => left.method("wrapping_sub", &[right]),
            BinaryOp::Mul => left.method("wrapping_mul", &[right]),
            BinaryOp::Div => left.infix("/", right, strength::PRODUCT),
            BinaryOp::Rem => left.infix("%", right, strength::PRODUCT),
            BinaryOp::And if scalar == Scalar::Bool => left.infix("&&", right, strength::AND_THEN),
            BinaryOp::Or if scalar == Scalar::Bool => left.infix("||", right, strength::OR_ELSE),
            BinaryOp::And => left.infix("&", right, strength::AND),
            BinaryOp::Or => left.infix("|", right, strength::OR),
            BinaryOp::Xor => left.infix("^", right, strength::XOR),
            BinaryOp::Shl | BinaryOp::Shr => {
                if let Expr::Const(Const::Int(_, count)) = b
                    && (0..i128::from(int_bits(scalar))).contains(count)
                {
                    let count = Code::atom(count.to_string());
                    return left.typed().infix(op.symbol(), count, strength::SHIFT);
                }
                let count = match b.scalar(self.program) {
                    Scalar::U32 => right,
                    // Masking looks at the low bits only, which this keeps.
                    _ => right.cast("u32"),
                };
                let name = if op == BinaryOp::Shl {
                    "wrapping_shl"
                } else {
                    "wrapping_shr"
                };
                left.method(name, &[count])
            }
        }
    }

    /// Whether the value is an index or size that cannot overflow: see the module documentation.
    fn is_tame(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Const(Const::Int(Scalar::Usize, value)) => *value < 1 << 32,
            Expr::Dim(_) => true,
            Expr::Var(var) => self.counters[var.0 as usize],
            Expr::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem, a, b) => {
                self.is_tame(a) && self.is_tame(b)
            }
            _ => false,
        }
    }

    fn select(&self, cond: &Expr, then: &Expr, otherwise: &Expr) -> Code {
        use crate::ir::interp::is_safe;
        let program = self.program;
        let (a, b) = (self.expr(then), self.expr(otherwise));
        if let Expr::Compare(op, x, y) = cond
            && x.scalar(program).is_float()
            && then.scalar(program).is_float()
            && is_safe(program, then)
            && is_safe(program, otherwise)
        {
            let (x, y) = (self.expr(x), self.expr(y));
            if let Some(code) = self.style.select(*op, [&x, &y], &a, &b) {
                return code;
            }
        }
        a.choose(&self.expr(cond), b)
    }

    fn call(&self, func: Func, args: &[Expr]) -> Code {
        let scalar = args
            .first()
            .map_or(Scalar::Bool, |arg| arg.scalar(self.program));
        let mut codes = args.iter().map(|arg| self.expr(arg));
        let Some(first) = codes.next() else {
            // `verify` refuses a call without arguments.
            return Code::atom(format!("{}()", func.name()));
        };
        let rest: Vec<_> = codes.collect();
        match func {
            Func::Neg if scalar.is_float() => {
                // The negation of a bare literal is one again; another sign needs parentheses.
                let value = match first.strength {
                    strength::POSTFIX => first,
                    _ => first.typed(),
                };
                Code {
                    literal: value.literal,
                    ..Code::new(format!("-{}", value.at(strength::POSTFIX)), strength::UNARY)
                }
            }
            Func::Not => {
                let value = first.typed().at(strength::UNARY);
                Code::new(format!("!{value}"), strength::UNARY)
            }
            Func::Neg => first.method("wrapping_neg", &[]),
            Func::Abs if scalar.is_integer() => first.method("wrapping_abs", &[]),
            Func::ToBits => self.style.float_to_bits(scalar, first),
            Func::FromBits if scalar == Scalar::U64 => self.style.bits_to_float(Scalar::F64, first),
            Func::FromBits => self.style.bits_to_float(Scalar::F32, first),
            _ => first.method(func.name(), &rest),
        }
    }

    /// Statements, each on lines of its own, indented by `indent` levels.
    pub fn block(&self, body: &[Stmt], indent: usize, out: &mut String) {
        for stmt in body {
            self.stmt(stmt, indent, out);
        }
    }

    /// One statement with everything in it.
    pub fn stmt(&self, stmt: &Stmt, indent: usize, out: &mut String) {
        let program = self.program;
        match stmt {
            Stmt::Let { var, value } => {
                let decl = program.var(*var);
                let keyword = if decl.mutable { "let mut" } else { "let" };
                let ty = self.style.type_name(decl.scalar);
                let value = self.expr(value);
                line(
                    out,
                    indent,
                    &format!("{keyword} {}: {ty} = {};", decl.name, value.bare()),
                );
            }
            Stmt::Assign { var, value } => {
                let value = self.expr(value);
                let var = self.style.var(program, *var);
                line(out, indent, &format!("{} = {};", var.bare(), value.bare()));
            }
            Stmt::Store {
                buf,
                index,
                value,
                hint,
            } => {
                let (index, value) = (self.expr(index), self.expr(value));
                line(
                    out,
                    indent,
                    &self.style.store(program, *buf, index, value, *hint),
                );
            }
            // Speed is the business of kernels.
            Stmt::Prefetch { .. } => {}
            Stmt::Alloc { buf, len, fill } => {
                let (len, fill) = (self.expr(len), self.expr(fill));
                line(out, indent, &self.style.alloc(program, *buf, len, fill));
            }
            Stmt::For(inner) => {
                line(out, indent, &format!("{} {{", self.loop_head(inner)));
                self.block(&inner.body, indent + 1, out);
                line(out, indent, "}");
            }
            Stmt::While { cond, body } => {
                let cond = self.expr(cond).at(strength::OR_ELSE);
                line(out, indent, &format!("while {cond} {{"));
                self.block(body, indent + 1, out);
                line(out, indent, "}");
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = self.expr(cond).at(strength::OR_ELSE);
                line(out, indent, &format!("if {cond} {{"));
                self.block(then, indent + 1, out);
                self.otherwise(otherwise, indent, out);
            }
            Stmt::Break => line(out, indent, "break;"),
            Stmt::Continue => line(out, indent, "continue;"),
            Stmt::Return(values) => {
                let values: Vec<_> = values.iter().map(|value| self.expr(value)).collect();
                let text = self.style.returns(&values);
                let text = match text
                    .strip_prefix("return ")
                    .and_then(|t| t.strip_suffix(';'))
                {
                    Some(value) if program.declines() => format!("return Some({value});"),
                    None if program.declines() => "return Some(());".to_owned(),
                    _ => text,
                };
                line(out, indent, &text);
            }
            Stmt::Panic => line(out, indent, &self.style.panic()),
            Stmt::Decline => line(out, indent, "return None;"),
        }
    }

    fn otherwise(&self, otherwise: &[Stmt], indent: usize, out: &mut String) {
        match otherwise {
            [] => line(out, indent, "}"),
            [
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                },
            ] => {
                let cond = self.expr(cond).at(strength::OR_ELSE);
                line(out, indent, &format!("}} else if {cond} {{"));
                self.block(then, indent + 1, out);
                self.otherwise(otherwise, indent, out);
            }
            body => {
                line(out, indent, "} else {");
                self.block(body, indent + 1, out);
                line(out, indent, "}");
            }
        }
    }

    /// `for i in lo..hi`, without the body.
    pub fn loop_head(&self, inner: &Loop) -> String {
        let name = &self.program.var(inner.var).name;
        let (lo, hi) = (self.expr(&inner.lo), self.expr(&inner.hi));
        // Between two bare literals the counter would have no type.
        let lo = if hi.literal.is_some() { lo.typed() } else { lo };
        let range = format!("{}..{}", lo.at(strength::OR_ELSE), hi.at(strength::OR_ELSE));
        if inner.step == 1 {
            format!("for {name} in {range}")
        } else {
            format!("for {name} in ({range}).step_by({})", inner.step)
        }
    }
}

fn line(out: &mut String, indent: usize, text: &str) {
    for _ in 0..indent {
        out.push_str("    ");
    }
    out.push_str(text);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text::parse;

    fn native(text: &str) -> String {
        let program = parse(text).unwrap();
        crate::ir::verify::verify(&program).unwrap();
        emit_scalar(&program, &NativeStyle, 0)
    }

    #[test]
    fn reads_like_rust() {
        let text = "kernel k(x: [f32; rows, d], eps: f32, out: mut [f32; rows, d]) dims(rows, d) {
            for r in 0..rows {
              let mut ms: f32 = 0.0
              for j in 0..d step 2 { ms = ms + x[r * d + j] * x[r * d + j] }
              let scale: f32 = 1.0 / sqrt(ms / d as f32 + eps)
              if ms > 1.0 { out[r * d] = scale } else { if is_nan(ms) { continue } else { out[0] = -ms } }
            } }";
        assert_eq!(
            native(text),
            "\
for r in 0..rows {
    let mut ms: f32 = 0.0;
    for j in (0..d).step_by(2) {
        ms = ms + x[r * d + j] * x[r * d + j];
    }
    let scale: f32 = 1.0 / (ms / d as f32 + eps).sqrt();
    if ms > 1.0 {
        out[r * d] = scale;
    } else if ms.is_nan() {
        continue;
    } else {
        out[0] = -ms;
    }
}
"
        );
    }

    #[test]
    fn parentheses_suffixes_and_wrapping() {
        let value = |expr: &str, ty: &str| {
            let text = format!(
                "kernel k(a: f32, b: f32, i: i32, u: u64, p: bool, n: dim) dims(n) {{ let v: {ty} = {expr} }}"
            );
            let line = native(&text);
            let (_, value) = line.trim_end().split_once(" = ").unwrap();
            value.trim_end_matches(';').to_owned()
        };
        assert_eq!(value("(a + b) * -(a - b)", "f32"), "(a + b) * -(a - b)");
        assert_eq!(value("a - (b - a)", "f32"), "a - (b - a)");
        assert_eq!(value("sqrt(1.0)", "f32"), "1.0f32.sqrt()");
        assert_eq!(value("abs(-1.5)", "f32"), "(-1.5f32).abs()");
        assert_eq!(value("1.0 + 2.0", "f32"), "1.0f32 + 2.0");
        assert_eq!(value("-(1.5)", "f32"), "-1.5");
        assert_eq!(value("abs(-(-1.5))", "f32"), "(-(-1.5f32)).abs()");
        assert_eq!(value("abs(-(1.5))", "f32"), "(-1.5f32).abs()");
        assert_eq!(value("(1.0 + 2.0) as f64", "f64"), "(1.0f32 + 2.0) as f64");
        assert_eq!(value("1.5 as i32", "i32"), "1.5f32 as i32");
        assert_eq!(value("i + 1i32", "i32"), "i.wrapping_add(1)");
        assert_eq!(value("-1i32 + i", "i32"), "(-1i32).wrapping_add(i)");
        assert_eq!(value("-i", "i32"), "i.wrapping_neg()");
        assert_eq!(value("n * 2 + 1", "usize"), "n * 2 + 1");
        assert_eq!(
            value("n - 1 + 1", "usize"),
            "n.wrapping_sub(1).wrapping_add(1)"
        );
        assert_eq!(
            value("i << 3 >> u", "i32"),
            "(i << 3).wrapping_shr(u as u32)"
        );
        assert_eq!(value("u << 64", "u64"), "u.wrapping_shl(64usize as u32)");
        assert_eq!(value("i as u64 < u", "bool"), "(i as u64) < u");
        assert_eq!(value("u / i as u64 < u", "bool"), "(u / i as u64) < u");
        assert_eq!(value("i as u64 << 1", "u64"), "(i as u64) << 1");
        assert_eq!(value("i as u64 <= u", "bool"), "i as u64 <= u");
        assert_eq!(
            value("p & (a < b) | p ^ (i == 0i32)", "bool"),
            "p && a < b || p ^ (i == 0)"
        );
        assert_eq!(value("(p | p) & p", "bool"), "(p || p) && p");
        assert_eq!(value("!(a < b)", "bool"), "!(a < b)");
        assert_eq!(
            value("select(p, a, 0.0) + b", "f32"),
            "(if p { a } else { 0.0 }) + b"
        );
        assert_eq!(
            value("select(p, 1.0, 0.0) as i32", "i32"),
            "(if p { 1.0f32 } else { 0.0 }) as i32"
        );
        assert_eq!(
            value("from_bits(to_bits(a) & 1u32)", "f32"),
            "f32::from_bits(a.to_bits() & 1)"
        );
        assert_eq!(value("mul_add(a, 2.0, b)", "f32"), "a.mul_add(2.0, b)");
        assert_eq!(value("f32::NEG_INFINITY", "f32"), "f32::NEG_INFINITY");
        assert_eq!(value("a as f32", "f32"), "a");
    }
}
