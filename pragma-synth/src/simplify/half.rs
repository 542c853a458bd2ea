//! Half-precision numbers as the integers that hold their bits.
//!
//! Owns rewriting a program so that `f16` and `bf16` buffers and variables are `u16` ones, and every conversion is integer
//! arithmetic on bits. Kernels take the bits, and what runs in vectors for `u32` runs in vectors for these. Conversions round to
//! nearest, ties to even; a NaN stays one, with other bits. Operations on half-precision values round each result, by
//! way of `f32`, which gives the same bits for one operation.

use pragma_spec::Scalar;

use crate::ir::interp::float_bits;
use crate::ir::{
    BinaryOp, CompareOp, Const, Expr, Func, Loop, Program, Returned, Returns, Stmt, VarDecl, VarId,
};

/// The same program over bits; an equal one if it has no half-precision number.
pub(crate) fn on_bits(program: &Program) -> Program {
    let vars = program.vars.iter().any(|var| is_half(var.scalar));
    let bufs = program.bufs.iter().any(|buf| is_half(buf.elem));
    if !vars && !bufs {
        return program.clone();
    }
    let mut lower = Lower {
        old: program,
        new: program.clone(),
        pending: Vec::new(),
        conditional: false,
    };
    let bits = |scalar: &mut Scalar| {
        if is_half(*scalar) {
            *scalar = Scalar::U16;
        }
    };
    lower
        .new
        .vars
        .iter_mut()
        .for_each(|var| bits(&mut var.scalar));
    lower
        .new
        .bufs
        .iter_mut()
        .for_each(|buf| bits(&mut buf.elem));
    match &mut lower.new.returns {
        Returns::Nothing | Returns::Buffer(_) => {}
        Returns::Scalars(scalars) => scalars.iter_mut().for_each(bits),
        Returns::Mixed(parts) => parts.iter_mut().for_each(|part| {
            if let Returned::Scalar(scalar) = part {
                bits(scalar);
            }
        }),
    }
    lower.new.body = lower.block(&program.body);
    lower.new
}

fn is_half(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F16 | Scalar::Bf16)
}

struct Lower<'a> {
    old: &'a Program,
    new: Program,
    /// What has to stand in front of the current statement.
    pending: Vec<Stmt>,
    /// Whether the current expression is evaluated only in some cases, so that nothing may be moved in front.
    conditional: bool,
}

impl Lower<'_> {
    fn block(&mut self, stmts: &[Stmt]) -> Vec<Stmt> {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts {
            let lowered = self.stmt(stmt);
            out.append(&mut self.pending);
            out.push(lowered);
        }
        out
    }

    fn stmt(&mut self, stmt: &Stmt) -> Stmt {
        match stmt {
            Stmt::For(inner) => {
                let (lo, hi) = (self.expr(&inner.lo), self.expr(&inner.hi));
                let bounds = std::mem::take(&mut self.pending);
                let body = self.block(&inner.body);
                self.pending = bounds;
                Stmt::For(Loop {
                    lo,
                    hi,
                    body,
                    ..inner.clone()
                })
            }
            Stmt::While { cond, body } => {
                // Evaluated before every iteration, not once in front.
                let cond = self.in_place(cond);
                let body = self.block(body);
                Stmt::While { cond, body }
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = self.expr(cond);
                let before = std::mem::take(&mut self.pending);
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                self.pending = before;
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                }
            }
            plain => {
                let mut plain = plain.clone();
                for expr in plain.exprs_mut() {
                    *expr = self.expr(expr);
                }
                plain
            }
        }
    }

    fn in_place(&mut self, expr: &Expr) -> Expr {
        let outer = std::mem::replace(&mut self.conditional, true);
        let lowered = self.expr(expr);
        self.conditional = outer;
        lowered
    }

    fn type_of(&self, expr: &Expr) -> Scalar {
        expr.scalar(self.old)
    }

    /// The expression over bits: what was a half-precision number is its `u16`.
    fn expr(&mut self, expr: &Expr) -> Expr {
        let scalar = self.type_of(expr);
        match expr {
            Expr::Const(Const::Float(kind, value)) if is_half(*kind) => {
                Expr::Const(Const::Int(Scalar::U16, float_bits(*kind, *value)))
            }
            Expr::Const(_) | Expr::Var(_) | Expr::Dim(_) => expr.clone(),
            Expr::Load { buf, index } => Expr::load(*buf, self.expr(index)),
            Expr::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) if scalar == Scalar::Bool => {
                Expr::binary(*op, self.expr(a), self.in_place(b))
            }
            Expr::Binary(op, a, b) => {
                let half = self.type_of(a);
                let (a, b) = (self.wide(a), self.wide(b));
                self.narrow_if(half, Expr::binary(*op, a, b))
            }
            Expr::Compare(op, a, b) => Expr::compare(*op, self.wide(a), self.wide(b)),
            Expr::Select {
                cond,
                then,
                otherwise,
            } => Expr::Select {
                cond: Box::new(self.expr(cond)),
                then: Box::new(self.in_place(then)),
                otherwise: Box::new(self.in_place(otherwise)),
            },
            Expr::Cast(to, value) => {
                let from = self.type_of(value);
                if from == *to {
                    return self.expr(value);
                }
                let value = self.wide(value);
                if !is_half(*to) {
                    let from = if is_half(from) { Scalar::F32 } else { from };
                    return if from == *to {
                        value
                    } else {
                        Expr::Cast(*to, Box::new(value))
                    };
                }
                let value = if matches!(from, Scalar::F32) || is_half(from) {
                    value
                } else {
                    Expr::Cast(Scalar::F32, Box::new(value))
                };
                self.narrow(*to, value)
            }
            Expr::Call(Func::ToBits, args)
                if args.first().is_some_and(|arg| is_half(self.type_of(arg))) =>
            {
                self.expr(&args[0])
            }
            Expr::Call(func, args) => {
                let args = args.iter().map(|arg| self.wide(arg)).collect();
                self.narrow_if(scalar, Expr::Call(*func, args))
            }
        }
    }

    /// The expression with a half-precision value as an `f32`.
    fn wide(&mut self, expr: &Expr) -> Expr {
        let kind = self.type_of(expr);
        let bits = self.expr(expr);
        match kind {
            Scalar::Bf16 => from_bits(shl(cast(Scalar::U32, bits), 16)),
            Scalar::F16 => {
                // The exponent is short by 112, which a product makes up for, subnormal numbers included.
                let sign = cast(Scalar::U32, cast(Scalar::I32, cast(Scalar::I16, bits)));
                let placed = binary(BinaryOp::And, shl(sign, 13), word(0x8fff_e000));
                let scaled = binary(
                    BinaryOp::Mul,
                    from_bits(placed),
                    Expr::Const(Const::Float(Scalar::F32, 2f64.powi(112))),
                );
                let scaled = self.named(Scalar::F32, scaled);
                let size = Expr::Call(Func::Abs, vec![scaled.clone()]);
                let beyond = Expr::compare(
                    CompareOp::Ge,
                    size,
                    Expr::Const(Const::Float(Scalar::F32, 65536.0)),
                );
                let special = binary(BinaryOp::Or, to_bits(scaled.clone()), word(0x7f80_0000));
                select(beyond, from_bits(special), scaled)
            }
            _ => bits,
        }
    }

    fn narrow_if(&mut self, kind: Scalar, value: Expr) -> Expr {
        if is_half(kind) {
            self.narrow(kind, value)
        } else {
            value
        }
    }

    /// The bits of the half-precision number nearest to an `f32`.
    fn narrow(&mut self, kind: Scalar, value: Expr) -> Expr {
        let bits = self.named(Scalar::U32, to_bits(value));
        let size = self.named(
            Scalar::U32,
            binary(BinaryOp::And, bits.clone(), word(0x7fff_ffff)),
        );
        let is_nan = Expr::compare(CompareOp::Gt, size.clone(), word(0x7f80_0000));
        let odd = |bit: i128| binary(BinaryOp::And, shr(size.clone(), bit), word(1));
        let rounded = match kind {
            Scalar::Bf16 => {
                let up = binary(
                    BinaryOp::Add,
                    binary(BinaryOp::Add, size.clone(), word(0x7fff)),
                    odd(16),
                );
                select(is_nan, word(0x7fc0), shr(up, 16))
            }
            _ => {
                // What is too small for a normal number is rounded by adding a half, whose last bit is the right one.
                let half = Expr::Const(Const::Float(Scalar::F32, 0.5));
                let shifted = binary(BinaryOp::Add, from_bits(size.clone()), half);
                let small = binary(BinaryOp::Sub, to_bits(shifted), word(0x3f00_0000));
                let up = binary(
                    BinaryOp::Add,
                    binary(BinaryOp::Add, size.clone(), word(0xc800_0fff)),
                    odd(13),
                );
                let finite = select(
                    Expr::compare(CompareOp::Lt, size.clone(), word(0x3880_0000)),
                    small,
                    shr(up, 13),
                );
                let special = select(is_nan, word(0x7e00), word(0x7c00));
                select(
                    Expr::compare(CompareOp::Ge, size.clone(), word(0x4780_0000)),
                    special,
                    finite,
                )
            }
        };
        let sign = binary(BinaryOp::And, shr(bits, 16), word(0x8000));
        cast(Scalar::U16, binary(BinaryOp::Or, rounded, sign))
    }

    /// The value under a name, so that it is computed once, unless it must stay where it is.
    fn named(&mut self, scalar: Scalar, value: Expr) -> Expr {
        if self.conditional || matches!(value, Expr::Var(_) | Expr::Const(_)) {
            return value;
        }
        let id = VarId(u32::try_from(self.new.vars.len()).unwrap_or(u32::MAX));
        let name = (0..)
            .map(|n| format!("half_{}", n + self.new.vars.len()))
            .find(|name| self.is_free(name))
            .unwrap_or_default();
        self.new.vars.push(VarDecl {
            name,
            scalar,
            mutable: false,
        });
        self.pending.push(Stmt::Let { var: id, value });
        Expr::Var(id)
    }

    fn is_free(&self, name: &str) -> bool {
        self.new.vars.iter().all(|var| var.name != name)
            && self.new.bufs.iter().all(|buf| buf.name != name)
            && self.new.dims.iter().all(|dim| dim != name)
    }
}

fn word(value: i128) -> Expr {
    Expr::Const(Const::Int(Scalar::U32, value))
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

fn shl(value: Expr, by: i128) -> Expr {
    binary(BinaryOp::Shl, value, word(by))
}

fn shr(value: Expr, by: i128) -> Expr {
    binary(BinaryOp::Shr, value, word(by))
}

fn cast(to: Scalar, value: Expr) -> Expr {
    Expr::Cast(to, Box::new(value))
}

fn from_bits(value: Expr) -> Expr {
    Expr::Call(Func::FromBits, vec![value])
}

fn to_bits(value: Expr) -> Expr {
    Expr::Call(Func::ToBits, vec![value])
}

fn select(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    Expr::Select {
        cond: Box::new(cond),
        then: Box::new(then),
        otherwise: Box::new(otherwise),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::interp::{Argument, Arguments, Buffer, Limits, Native, run};
    use crate::ir::{text, verify};

    /// The lowered program's second buffer, given the first.
    fn through(program: &str, input: Buffer<f64>, output: Buffer<f64>, len: usize) -> Buffer<f64> {
        let program = on_bits(&text::parse(program).expect("parses"));
        verify::verify(&program).expect("is a program");
        let mut arguments = Arguments {
            dims: vec![len as u64],
            params: vec![Argument::Buffer(input), Argument::Buffer(output)],
        };
        let limits = Limits {
            steps: 1 << 24,
            elements: 1 << 24,
        };
        run::<Native>(&program, &mut arguments, limits).expect("runs");
        match arguments.params.swap_remove(1) {
            Argument::Buffer(buffer) => buffer,
            _ => panic!("is a buffer"),
        }
    }

    fn widened(kind: &str) -> Vec<f64> {
        let program = format!(
            "kernel k(x: [{kind}; n], out: mut [f32; n]) dims(n) {{ for i in 0..n {{ out[i] = x[i] as f32 }} }}"
        );
        let zeros = Buffer::floats::<Native>(Scalar::F32, vec![0.0; 1 << 16]);
        let all = Buffer::ints(Scalar::U16, 0..1 << 16);
        through(&program, all, zeros, 1 << 16)
            .as_floats()
            .expect("are floats")
    }

    fn narrowed(kind: &str, values: &[f32]) -> Vec<u16> {
        let program = format!(
            "kernel k(x: [f32; n], out: mut [{kind}; n]) dims(n) {{ for i in 0..n {{ out[i] = x[i] as {kind} }} }}"
        );
        let zeros = Buffer::ints(Scalar::U16, vec![0; values.len()]);
        let input = Buffer::floats::<Native>(Scalar::F32, values.iter().map(|v| f64::from(*v)));
        let bits = through(&program, input, zeros, values.len())
            .as_ints()
            .expect("are integers");
        bits.iter().map(|bits| *bits as u16).collect()
    }

    #[test]
    fn every_half_widens_to_itself() {
        let same = |got: f64, want: f32| {
            got.to_bits() == f64::from(want).to_bits() || (got.is_nan() && want.is_nan())
        };
        for (bits, got) in (0u16..=u16::MAX).zip(widened("f16")) {
            assert!(
                same(got, half::f16::from_bits(bits).to_f32()),
                "{bits:#x}: {got}"
            );
        }
        for (bits, got) in (0u16..=u16::MAX).zip(widened("bf16")) {
            assert!(
                same(got, half::bf16::from_bits(bits).to_f32()),
                "{bits:#x}: {got}"
            );
        }
    }

    #[test]
    fn numbers_narrow_to_the_nearest_half() {
        // Every half, the middle to the next one, and what is beside the middle.
        let mut values = vec![
            f32::INFINITY,
            f32::MAX,
            f32::MIN_POSITIVE,
            1e-45,
            65519.0,
            65520.0,
            2f32.powi(-25),
            f32::NAN,
        ];
        let around = |low: f32, high: f32| {
            let middle = low + (high - low) / 2.0;
            [
                low,
                f32::from_bits(middle.to_bits().wrapping_sub(1)),
                middle,
                f32::from_bits(middle.to_bits() + 1),
            ]
        };
        for bits in (0u16..0x7bff).step_by(3) {
            values.extend(around(
                half::f16::from_bits(bits).to_f32(),
                half::f16::from_bits(bits + 1).to_f32(),
            ));
        }
        for bits in (0u16..0x7f7f).step_by(5) {
            values.extend(around(
                half::bf16::from_bits(bits).to_f32(),
                half::bf16::from_bits(bits + 1).to_f32(),
            ));
        }
        values.extend(values.clone().iter().map(|v| -v));
        for (value, got) in values.iter().zip(narrowed("f16", &values)) {
            let want = half::f16::from_f32(*value);
            assert!(
                got == want.to_bits() || (want.is_nan() && half::f16::from_bits(got).is_nan()),
                "{value:e}: {got:#x}, not {want:?}"
            );
        }
        for (value, got) in values.iter().zip(narrowed("bf16", &values)) {
            let want = half::bf16::from_f32(*value);
            assert!(
                got == want.to_bits() || (want.is_nan() && half::bf16::from_bits(got).is_nan()),
                "{value:e}: {got:#x}, not {want:?}"
            );
        }
    }

    #[test]
    fn conditions_keep_their_loads() {
        let program = "kernel k(x: [f16; n], out: mut [f16; n]) dims(n) {
            for i in 0..n { out[i] = select(i > 0, x[i - 1] as f32 + 1.0, 0.5) as f16 } }";
        let lowered = on_bits(&text::parse(program).expect("parses"));
        verify::verify(&lowered).expect("is a program");
        let printed = lowered.to_string();
        // Nothing of `x[i - 1]` moved in front of the condition.
        assert!(
            !printed.lines().any(|line| line.contains("let")
                && line.contains("x[")
                && !line.contains("select(i > 0")),
            "{printed}"
        );
    }
}
