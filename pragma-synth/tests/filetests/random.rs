//! Random programs that `verify` accepts, with arguments, made from a string of bytes.
//!
//! Every choice reads bytes, and the choice for a missing or zero byte is the simplest one, so that
//! shortening and zeroing bytes makes simpler programs: what proptest does to find a small failure.
//! Programs end, and index only in bounds; they may divide an integer `MIN` by -1.

use pragma_spec::{DimExpr, Scalar, Shape};
use pragma_synth::ir::interp::{int_range, round_to, wrap};
use pragma_synth::ir::{
    BinaryOp, BufId, BufRole, CompareOp, Const, Expr, Func, Loop, Mark, Param, Program, Returns,
    Stmt, StoreHint, VarId,
};

use super::case::{Case, Expect};

/// Types without half-precision ones, simplest first.
const TYPES: [Scalar; 13] = [
    Scalar::F32,
    Scalar::Usize,
    Scalar::I32,
    Scalar::Bool,
    Scalar::F64,
    Scalar::U8,
    Scalar::I64,
    Scalar::U32,
    Scalar::I8,
    Scalar::U64,
    Scalar::I16,
    Scalar::U16,
    Scalar::Isize,
];

/// How iterations of a loop may end early.
#[derive(Clone, Copy, PartialEq)]
enum Jumps {
    Nowhere,
    Continue,
    Anywhere,
}

pub struct Random<'a> {
    bytes: std::slice::Iter<'a, u8>,
    program: Program,
    /// Visible variables, innermost last; the flag says that `Assign` may be tried.
    vars: Vec<(VarId, bool)>,
    /// Visible loop counters, each with the dimension that it stays below.
    counters: Vec<(VarId, usize)>,
    /// Visible buffers, each with the dimension that is its length.
    bufs: Vec<(BufId, usize)>,
    /// Enclosing loops.
    loops: Vec<Jumps>,
    names: u32,
    statements: u32,
    /// Only functions whose results are the same wherever they are compiled.
    exact: bool,
}

/// A program, and a case without expectation, from `bytes`.
pub fn program(bytes: &[u8], exact: bool) -> (Program, Case) {
    let mut random = Random {
        bytes: bytes.iter(),
        program: Program {
            name: "random".to_owned(),
            ..Program::default()
        },
        vars: Vec::new(),
        counters: Vec::new(),
        bufs: Vec::new(),
        loops: Vec::new(),
        names: 0,
        statements: 0,
        exact,
    };
    let case = random.declare();
    random.program.body = random.block(3);
    if let Returns::Scalars(scalars) = random.program.returns.clone() {
        let values = scalars.iter().map(|scalar| random.expr(*scalar, 2));
        let values = values.collect();
        random.program.body.push(Stmt::Return(values));
    }
    (random.program, case)
}

impl Random<'_> {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        let byte = self.bytes.next().copied().unwrap_or(0);
        usize::from(byte) % n
    }

    fn chance(&mut self, out_of: usize) -> bool {
        self.below(out_of) == out_of - 1
    }

    fn scalar(&mut self) -> Scalar {
        TYPES[self.below(TYPES.len())]
    }

    fn name(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    fn var(&mut self, scalar: Scalar, mutable: bool) -> VarId {
        let name = self.name("v");
        self.program.add_var(&name, scalar, mutable)
    }

    fn declare(&mut self) -> Case {
        const SIZES: [usize; 8] = [1, 2, 3, 5, 8, 17, 33, 40];
        let dims = [SIZES[self.below(8)], SIZES[self.below(4)]];
        self.program.dims = vec!["n".to_owned(), "m".to_owned()];
        let mut inputs = vec![
            ("n".to_owned(), vec![dims[0].to_string()]),
            ("m".to_owned(), vec![dims[1].to_string()]),
        ];
        self.program.params.push(Param::Dim(1));
        // Something must have the length `n`, or nothing tells its value.
        for i in 0..self.below(4) + 1 {
            let scalar = if i == 0 { Scalar::F32 } else { self.scalar() };
            let dim = if i == 0 { 0 } else { self.below(2) };
            let role = [BufRole::Input, BufRole::Mutable][self.below(2)];
            let shape = Shape(vec![DimExpr::dim(["n", "m"][dim])]);
            let name = self.name("b");
            let values = (0..dims[dim]).map(|_| self.value_text(scalar)).collect();
            inputs.push((name.clone(), values));
            let buf = self.program.add_buf(&name, scalar, role, shape);
            self.program.params.push(Param::Buffer(buf));
            self.bufs.push((buf, dim));
        }
        for _ in 0..self.below(4) {
            let (scalar, mutable) = (self.scalar(), self.chance(3));
            let var = self.var(scalar, mutable);
            inputs.push((
                self.program.var(var).name.clone(),
                vec![self.value_text(scalar)],
            ));
            self.program.params.push(Param::Scalar(var));
            self.vars.push((var, mutable));
        }
        match self.below(4) {
            0 | 1 => {
                let scalars = (0..self.below(3) + 1).map(|_| self.scalar()).collect();
                self.program.returns = Returns::Scalars(scalars);
            }
            2 => {}
            _ => {
                let (scalar, dim) = (self.scalar(), self.below(2));
                let shape = Shape(vec![DimExpr::dim(["n", "m"][dim])]);
                let name = self.name("r");
                let buf = self.program.add_buf(&name, scalar, BufRole::Return, shape);
                self.program.returns = Returns::Buffer(buf);
            }
        }
        Case {
            line: 0,
            inputs,
            expect: Expect::Unknown,
        }
    }

    fn value_text(&mut self, scalar: Scalar) -> String {
        match self.literal(scalar) {
            Const::Bool(value) => value.to_string(),
            Const::Int(_, value) => value.to_string(),
            Const::Float(Scalar::F32, value) => format!("{:?}", value as f32),
            Const::Float(_, value) => format!("{value:?}"),
        }
    }

    fn literal(&mut self, scalar: Scalar) -> Const {
        const FLOATS: [f64; 16] = [
            0.0,
            1.0,
            -1.0,
            0.5,
            2.5,
            -0.0,
            1e-3,
            0.1,
            3.0,
            100.0,
            1e-40,
            -7.25,
            1e30,
            f64::INFINITY,
            f64::NEG_INFINITY,
            16_777_217.0,
        ];
        match scalar {
            Scalar::Bool => Const::Bool(self.below(2) == 1),
            _ if scalar.is_float() => {
                Const::Float(scalar, round_to(scalar, FLOATS[self.below(FLOATS.len())]))
            }
            _ => {
                let range = int_range(scalar);
                let value = match self.below(8) {
                    6 => *range.start(),
                    7 => *range.end(),
                    _ => wrap(scalar, self.below(256) as i128 - 16),
                };
                Const::Int(scalar, value)
            }
        }
    }

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        let (vars, bufs) = (self.vars.len(), self.bufs.len());
        let mut body = Vec::new();
        if let (3, Returns::Buffer(buf)) = (depth, self.program.returns.clone()) {
            let dim = self.dim_of(buf);
            let fill = self.expr(self.program.buf(buf).elem, 1);
            let len = Expr::Dim(dim);
            body.push(Stmt::Alloc { buf, len, fill });
            self.bufs.push((buf, dim));
        }
        for _ in 0..self.below(6) + 1 {
            self.statements += 1;
            if self.statements > 40 {
                break;
            }
            let stmt = self.stmt(depth);
            if let Stmt::For(first) = &stmt
                && first.mark == Mark::Serial
                && self.chance(3)
            {
                let (lo, hi, step) = (first.lo.clone(), first.hi.clone(), first.step);
                body.push(stmt);
                body.push(self.loop_over(depth, lo, hi, step, Mark::Serial));
            } else {
                body.push(stmt);
            }
        }
        let jumps = self.loops.last().copied().unwrap_or(Jumps::Nowhere);
        if jumps != Jumps::Nowhere && self.chance(6) {
            let cond = self.expr(Scalar::Bool, 2);
            let out = if jumps == Jumps::Anywhere && self.chance(2) {
                Stmt::Break
            } else {
                Stmt::Continue
            };
            body.push(Stmt::If {
                cond,
                then: vec![out],
                otherwise: Vec::new(),
            });
        }
        self.vars.truncate(vars);
        self.bufs.truncate(bufs);
        body
    }

    fn dim_of(&self, buf: BufId) -> usize {
        let shape = &self.program.buf(buf).shape;
        usize::from(shape.0[0] == DimExpr::dim("m"))
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 | 1 => {
                let (scalar, mutable) = (self.scalar(), self.chance(2));
                let value = self.expr(scalar, 3);
                let var = self.var(scalar, mutable);
                self.vars.push((var, mutable));
                Stmt::Let { var, value }
            }
            2 | 3 => self.store(),
            4 => self.assign(),
            5 => {
                let (scalar, dim) = (self.scalar(), self.below(2));
                let fill = self.expr(scalar, 1);
                let name = self.name("t");
                let shape = Shape(vec![DimExpr::dim(["n", "m"][dim])]);
                let buf = self.program.add_buf(&name, scalar, BufRole::Local, shape);
                self.bufs.push((buf, dim));
                let len = Expr::Dim(dim);
                Stmt::Alloc { buf, len, fill }
            }
            6 | 7 => self.for_loop(depth),
            8 => {
                let cond = self.expr(Scalar::Bool, 2);
                let then = self.block(depth - 1);
                let otherwise = if self.chance(2) {
                    self.block(depth - 1)
                } else {
                    Vec::new()
                };
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                }
            }
            _ => self.while_loop(depth),
        }
    }

    fn store(&mut self) -> Stmt {
        let writable: Vec<_> = self
            .bufs
            .iter()
            .copied()
            .filter(|(buf, _)| self.program.buf(*buf).role != BufRole::Input)
            .collect();
        if writable.is_empty() {
            return self.assign();
        }
        let (buf, dim) = writable[self.below(writable.len())];
        let hint = if self.chance(3) {
            StoreHint::Stream
        } else {
            StoreHint::Cached
        };
        Stmt::Store {
            buf,
            index: self.index(dim),
            value: self.expr(self.program.buf(buf).elem, 3),
            hint,
        }
    }

    fn assign(&mut self) -> Stmt {
        let mutable: Vec<_> = self.vars.iter().filter(|(_, mutable)| *mutable).collect();
        if mutable.is_empty() {
            let var = self.var(Scalar::F32, true);
            self.vars.push((var, true));
            let value = self.expr(Scalar::F32, 2);
            // The variable is not yet in scope in its own first value.
            let value = if value.mentions(var) {
                Expr::Const(Const::Float(Scalar::F32, 1.0))
            } else {
                value
            };
            return Stmt::Let { var, value };
        }
        let count = mutable.len();
        let chosen = self.below(count);
        let var = self.vars.iter().filter(|(_, mutable)| *mutable).nth(chosen);
        let var = var.map_or(VarId(0), |(var, _)| *var);
        Stmt::Assign {
            var,
            value: self.expr(self.program.var(var).scalar, 3),
        }
    }

    fn for_loop(&mut self, depth: u32) -> Stmt {
        let lo = if self.chance(3) {
            Expr::index(1)
        } else {
            Expr::index(0)
        };
        let hi = match self.below(5) {
            2 => Expr::index(3),
            3 => {
                // May change while the loop runs, which evaluates it once.
                let any = self.expr(Scalar::Usize, 2);
                Expr::Call(Func::Min, vec![any, Expr::Dim(0)])
            }
            dim => Expr::Dim(dim % 2),
        };
        let step = [1, 1, 2, 3][self.below(4)];
        let outermost = self.loops.is_empty();
        // `verify` wants vector loops innermost and parallel loops outermost, both without a way
        // out; blocks of depth 0 contain no loop, but they may allocate.
        let mark = match self.below(5) {
            2 if outermost => Mark::Parallel {
                grain: 64,
                serial_below: 0,
            },
            3 | 4 => Mark::Unroll { factor: 2 },
            _ => Mark::Serial,
        };
        self.loop_over(depth, lo, hi, step, mark)
    }

    fn loop_over(&mut self, depth: u32, lo: Expr, hi: Expr, step: u64, mark: Mark) -> Stmt {
        let var = self.var(Scalar::Usize, false);
        self.vars.push((var, false));
        if let Expr::Dim(dim) = hi {
            self.counters.push((var, dim));
        }
        self.loops.push(match mark {
            Mark::Serial => Jumps::Anywhere,
            Mark::Unroll { .. } => Jumps::Nowhere,
            _ => Jumps::Continue,
        });
        let body = self.block(depth - 1);
        self.loops.pop();
        self.vars.pop();
        self.counters.retain(|(counter, _)| *counter != var);
        // Where what came out qualifies, make it a vector loop.
        let simple = body.iter().all(|stmt| {
            let mut simple = true;
            stmt.walk(&mut |stmt| {
                simple &= !matches!(
                    stmt,
                    Stmt::For(_) | Stmt::While { .. } | Stmt::Alloc { .. } | Stmt::Break
                );
            });
            simple
        });
        let mark = match mark {
            Mark::Parallel {
                grain,
                serial_below,
            } if simple => Mark::ParallelVector {
                grain,
                serial_below,
                unroll: 1,
            },
            Mark::Unroll { .. } if simple => Mark::Vector { unroll: 2 },
            other => other,
        };
        Stmt::For(Loop {
            var,
            lo,
            hi,
            step,
            mark,
            body,
        })
    }

    /// At most as many iterations as a counter that only the condition and the first statement
    /// touch allows.
    fn while_loop(&mut self, depth: u32) -> Stmt {
        let more = self.expr(Scalar::Bool, 2);
        let counter = self.var(Scalar::U8, true);
        let in_time = Expr::compare(
            CompareOp::Lt,
            Expr::Var(counter),
            Expr::Const(Const::Int(Scalar::U8, 4)),
        );
        self.loops.push(Jumps::Anywhere);
        let mut body = self.block(depth - 1);
        self.loops.pop();
        let next = Expr::binary(
            BinaryOp::Add,
            Expr::Var(counter),
            Expr::Const(Const::Int(Scalar::U8, 1)),
        );
        body.insert(
            0,
            Stmt::Assign {
                var: counter,
                value: next,
            },
        );
        Stmt::If {
            cond: Expr::Const(Const::Bool(true)),
            then: vec![
                Stmt::Let {
                    var: counter,
                    value: Expr::Const(Const::Int(Scalar::U8, 0)),
                },
                Stmt::While {
                    cond: Expr::binary(BinaryOp::And, in_time, more),
                    body,
                },
            ],
            otherwise: Vec::new(),
        }
    }

    /// An index below dimension `dim`.
    fn index(&mut self, dim: usize) -> Expr {
        let fitting: Vec<_> = self.counters.iter().filter(|(_, of)| *of == dim).collect();
        if let Some((counter, _)) = fitting.last() {
            let counter = *counter;
            if !self.chance(4) {
                return Expr::Var(counter);
            }
        }
        let any = self.expr(Scalar::Usize, 1);
        Expr::binary(BinaryOp::Rem, any, Expr::Dim(dim))
    }

    fn expr(&mut self, scalar: Scalar, depth: u32) -> Expr {
        let choice = if depth == 0 {
            self.below(3)
        } else {
            self.below(10)
        };
        match choice {
            0 => Expr::Const(self.literal(scalar)),
            1 | 2 => self.variable(scalar),
            3 => self.load(scalar, depth),
            4 => Expr::Select {
                cond: Box::new(self.expr(Scalar::Bool, depth - 1)),
                then: Box::new(self.expr(scalar, depth - 1)),
                otherwise: Box::new(self.expr(scalar, depth - 1)),
            },
            5 if scalar != Scalar::Bool => {
                let from = self.scalar();
                let from = match from {
                    Scalar::Bool if !scalar.is_integer() => Scalar::F32,
                    from => from,
                };
                Expr::Cast(scalar, Box::new(self.expr(from, depth - 1)))
            }
            6 | 7 => self.call(scalar, depth - 1),
            _ => self.binary(scalar, depth - 1),
        }
    }

    fn variable(&mut self, scalar: Scalar) -> Expr {
        let fitting: Vec<_> = self
            .vars
            .iter()
            .map(|(var, _)| *var)
            .filter(|var| self.program.var(*var).scalar == scalar)
            .collect();
        if scalar == Scalar::Usize && self.chance(3) {
            return Expr::Dim(self.below(2));
        }
        if fitting.is_empty() {
            return Expr::Const(self.literal(scalar));
        }
        Expr::Var(fitting[self.below(fitting.len())])
    }

    fn load(&mut self, scalar: Scalar, depth: u32) -> Expr {
        let fitting: Vec<_> = self
            .bufs
            .iter()
            .copied()
            .filter(|(buf, _)| self.program.buf(*buf).elem == scalar)
            .collect();
        if fitting.is_empty() {
            return self.variable(scalar);
        }
        let (buf, dim) = fitting[self.below(fitting.len())];
        if depth == 0 {
            return self.variable(scalar);
        }
        let index = self.index(dim);
        Expr::load(buf, index)
    }

    fn binary(&mut self, scalar: Scalar, depth: u32) -> Expr {
        if scalar == Scalar::Bool {
            if self.chance(3) {
                let op = [BinaryOp::And, BinaryOp::Or, BinaryOp::Xor][self.below(3)];
                let a = self.expr(scalar, depth);
                return Expr::binary(op, a, self.expr(scalar, depth));
            }
            let (of, op) = (self.scalar(), CompareOp::ALL[self.below(6)]);
            let a = self.expr(of, depth);
            return Expr::compare(op, a, self.expr(of, depth));
        }
        let count = if scalar.is_float() { 5 } else { 10 };
        let op = BinaryOp::ALL[self.below(count)];
        let a = self.expr(scalar, depth);
        let b = match op {
            BinaryOp::Shl | BinaryOp::Shr => {
                let mut of = self.scalar();
                if !of.is_integer() {
                    of = Scalar::U32;
                }
                self.expr(of, depth)
            }
            BinaryOp::Div | BinaryOp::Rem if scalar.is_integer() => self.divisor(scalar, depth),
            _ => self.expr(scalar, depth),
        };
        Expr::binary(op, a, b)
    }

    /// Anything but zero.
    fn divisor(&mut self, scalar: Scalar, depth: u32) -> Expr {
        let any = self.expr(scalar, depth);
        Expr::binary(BinaryOp::Or, any, Expr::Const(Const::Int(scalar, 1)))
    }

    fn call(&mut self, scalar: Scalar, depth: u32) -> Expr {
        let func = Func::ALL[self.below(Func::ALL.len())];
        // Results of the system's mathematical functions, and the sign of a NaN, depend on how
        // the code around them is compiled.
        let portable = matches!(
            func,
            Func::Neg
                | Func::Not
                | Func::Abs
                | Func::Signum
                | Func::Sqrt
                | Func::Recip
                | Func::Floor
                | Func::Ceil
                | Func::Trunc
                | Func::Round
                | Func::RoundTiesEven
                | Func::IsNan
                | Func::IsFinite
                | Func::CountOnes
                | Func::LeadingZeros
                | Func::TrailingZeros
                | Func::FromBits
                | Func::RemEuclid
                | Func::DivEuclid
                | Func::AbsDiff
                | Func::SaturatingAdd
                | Func::SaturatingSub
                | Func::RotateLeft
                | Func::RotateRight
                | Func::MulAdd
        ) || matches!(func, Func::Max | Func::Min) && scalar.is_integer();
        if self.exact && !portable {
            return self.variable(scalar);
        }
        let int = scalar.is_integer();
        let float = scalar.is_float();
        let of = match func {
            Func::IsNan | Func::IsFinite if scalar == Scalar::Bool => Scalar::F32,
            Func::CountOnes | Func::LeadingZeros | Func::TrailingZeros if scalar == Scalar::U32 => {
                [Scalar::I64, Scalar::U8, Scalar::U32][self.below(3)]
            }
            Func::ToBits if scalar == Scalar::U32 => Scalar::F32,
            Func::ToBits if scalar == Scalar::U64 => Scalar::F64,
            Func::FromBits if scalar == Scalar::F32 => Scalar::U32,
            Func::FromBits if scalar == Scalar::F64 => Scalar::U64,
            Func::AbsDiff if scalar == Scalar::U32 => [Scalar::I32, Scalar::U32][self.below(2)],
            Func::AbsDiff if scalar == Scalar::U8 => [Scalar::I8, Scalar::U8][self.below(2)],
            Func::Neg | Func::Abs | Func::Signum if float || scalar.is_signed() => scalar,
            Func::Not if !float => scalar,
            Func::Max | Func::Min if int || float => scalar,
            Func::RemEuclid | Func::DivEuclid if int || float => scalar,
            Func::SaturatingAdd | Func::SaturatingSub if int => scalar,
            Func::RotateLeft | Func::RotateRight if int => scalar,
            Func::IsNan
            | Func::IsFinite
            | Func::CountOnes
            | Func::LeadingZeros
            | Func::TrailingZeros
            | Func::ToBits
            | Func::FromBits
            | Func::AbsDiff
            | Func::Not
            | Func::SaturatingAdd
            | Func::SaturatingSub
            | Func::RotateLeft
            | Func::RotateRight => return self.variable(scalar),
            _ if float => scalar,
            _ => return self.variable(scalar),
        };
        let mut args = vec![self.expr(of, depth)];
        for _ in 1..func.arity() {
            let arg = match func {
                Func::Powi => self.expr(Scalar::I32, depth),
                Func::RotateLeft | Func::RotateRight => self.expr(Scalar::U32, depth),
                Func::RemEuclid | Func::DivEuclid if int => self.divisor(of, depth),
                _ => self.expr(of, depth),
            };
            args.push(arg);
        }
        Expr::Call(func, args)
    }
}

/// Bytes that a seed stands for.
pub fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..count).map(next).collect()
}
