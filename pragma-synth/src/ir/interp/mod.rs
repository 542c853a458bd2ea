//! The meaning of a program: running it on concrete arguments.
//!
//! One walker serves two number systems: [`Native`], which is Rust's arithmetic bit for bit, and
//! [`Magnitude`], the oracle's. Marks and store hints are ignored: they may not change what a
//! program computes. Whatever a program or its arguments do wrong is a [`Trap`], never a panic.
//!
//! Leaves alone where arguments come from and how results are judged. It is made for tests and
//! small sizes: the compiled form of the same meaning is `oracle`.

mod domain;
mod int;
mod outcome;
mod value;

pub use domain::{Domain, Magnitude, Native};
pub use outcome::{Outcome, Returned, Trap};
use value::has_type;
pub use value::{Buffer, Value, float_bits, int_bits, int_range, representable, round_to, wrap};

use pragma_spec::Scalar;

use super::verify::verify;
use super::{
    BinaryOp, BufId, BufRole, Const, Expr, Func, Loop, Param, Program, Returns, Stmt, VarId,
};

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument<F> {
    /// For `Param::Scalar`.
    Scalar(Value<F>),
    /// For `Param::Buffer`; its length is the product of the declared extents.
    Buffer(Buffer<F>),
    /// For `Param::Dim`, whose value is in `Arguments::dims`.
    Dim,
}

/// What a program runs on; `Mutable` buffers are changed in place.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments<F> {
    /// Values of `Program::dims`.
    pub dims: Vec<u64>,
    /// One for each of `Program::params`.
    pub params: Vec<Argument<F>>,
}

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Statements and loop iterations.
    pub steps: u64,
    /// Elements of all buffers the program allocates, `Return` included.
    pub elements: u64,
}

impl Default for Limits {
    /// Ten million steps, sixteen million elements.
    fn default() -> Self {
        Limits {
            steps: 10_000_000,
            elements: 1 << 24,
        }
    }
}

/// Runs `program` on `arguments` in the number system `D`.
///
/// # Errors
/// As listed in [`Trap`]. `Mutable` buffers keep what was written to them until then.
pub fn run<D: Domain>(
    program: &Program,
    arguments: &mut Arguments<D::Float>,
    limits: Limits,
) -> Result<Outcome<D::Float>, Trap> {
    verify(program).map_err(Trap::Unverified)?;
    let mut machine = Machine::<D> {
        program,
        dims: &arguments.dims,
        vars: vec![None; program.vars.len()],
        bufs: vec![None; program.bufs.len()],
        steps: limits.steps,
        elements: limits.elements,
        limits,
    };
    machine.bind(&arguments.params)?;
    let result = machine.body();
    let bufs = machine.bufs;
    for (param, argument) in program.params.iter().zip(&mut arguments.params) {
        if let (Param::Buffer(buf), Argument::Buffer(argument)) = (param, argument)
            && program.buf(*buf).role == BufRole::Mutable
            && let Some(buffer) = &bufs[buf.0 as usize]
        {
            argument.clone_from(buffer);
        }
    }
    let Some(values) = result? else {
        return Ok(Outcome::Declined);
    };
    let finished = |buf: BufId| {
        let name = &program.buf(buf).name;
        let buffer = bufs
            .get(buf.0 as usize)
            .cloned()
            .flatten()
            .ok_or_else(|| Trap::Malformed(format!("`{name}` was never made")))?;
        match buffer.values.iter().position(Option::is_none) {
            Some(index) => Err(Trap::Unwritten {
                buffer: name.clone(),
                index: index as u64,
            }),
            None => Ok(buffer),
        }
    };
    match &program.returns {
        Returns::Nothing => Ok(Outcome::Nothing),
        Returns::Scalars(_) => Ok(Outcome::Scalars(values)),
        Returns::Buffer(buf) => Ok(Outcome::Buffer(finished(*buf)?)),
        Returns::Mixed(parts) => {
            let mut values = values.into_iter();
            let mut results = Vec::with_capacity(parts.len());
            for part in parts {
                results.push(match part {
                    super::Returned::Buffer(buf) => Returned::Buffer(finished(*buf)?),
                    super::Returned::Scalar(_) => match values.next() {
                        Some(value) => Returned::Scalar(value),
                        None => return Err(Trap::Malformed("too few values returned".to_owned())),
                    },
                });
            }
            Ok(Outcome::Mixed(results))
        }
    }
}

struct Machine<'a, D: Domain> {
    program: &'a Program,
    dims: &'a [u64],
    vars: Vec<Option<Value<D::Float>>>,
    bufs: Vec<Option<Buffer<D::Float>>>,
    steps: u64,
    elements: u64,
    limits: Limits,
}

/// What to do after a statement.
enum Flow<F> {
    Next,
    Break,
    Continue,
    Return(Vec<Value<F>>),
    Decline,
}

impl<D: Domain> Machine<'_, D> {
    fn bind(&mut self, arguments: &[Argument<D::Float>]) -> Result<(), Trap> {
        let program = self.program;
        let bad = |message: String| Err(Trap::BadArguments(message));
        if self.dims.len() != program.dims.len() || arguments.len() != program.params.len() {
            return bad(format!(
                "{} dimensions and {} parameters, not {} and {}",
                program.dims.len(),
                program.params.len(),
                self.dims.len(),
                arguments.len()
            ));
        }
        for (param, argument) in program.params.iter().zip(arguments) {
            match (param, argument) {
                (Param::Scalar(var), Argument::Scalar(value)) => {
                    let decl = program.var(*var);
                    if !has_type(decl.scalar, value) {
                        return bad(format!("`{}` is {value:?}, no {}", decl.name, decl.scalar));
                    }
                    self.vars[var.0 as usize] = Some(*value);
                }
                (Param::Buffer(buf), Argument::Buffer(buffer)) => {
                    let decl = program.buf(*buf);
                    let typed = buffer.elem == decl.elem
                        && buffer
                            .values
                            .iter()
                            .flatten()
                            .all(|v| has_type(decl.elem, v));
                    let len = buffer.values.len() as u64;
                    if !typed || self.shape_len(*buf) != Some(len) {
                        return bad(format!(
                            "`{}` has {len} elements of {}, declared [{}; {}]",
                            decl.name,
                            buffer.elem,
                            decl.elem,
                            decl.shape.len()
                        ));
                    }
                    self.bufs[buf.0 as usize] = Some(buffer.clone());
                }
                (Param::Dim(_), Argument::Dim) => {}
                (param, _) => return bad(format!("{param:?} has an argument of another kind")),
            }
        }
        for buf in program.returns.buffers() {
            let decl = program.buf(buf);
            let Some(len) = self.shape_len(buf) else {
                return bad(format!("the shape of `{}` has no size", decl.name));
            };
            self.take_elements(len)?;
            self.bufs[buf.0 as usize] = Some(Buffer::unwritten(decl.elem, len as usize));
        }
        Ok(())
    }

    fn shape_len(&self, buf: BufId) -> Option<u64> {
        let lookup = |name: &str| {
            let index = self.program.dims.iter().position(|dim| dim == name)?;
            self.dims.get(index).copied()
        };
        self.program.buf(buf).shape.len().eval(&lookup)
    }

    fn take_elements(&mut self, count: u64) -> Result<(), Trap> {
        match self.elements.checked_sub(count) {
            Some(left) => {
                self.elements = left;
                Ok(())
            }
            None => Err(Trap::TooManyElements(self.limits.elements)),
        }
    }

    fn step(&mut self) -> Result<(), Trap> {
        match self.steps.checked_sub(1) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(Trap::TooManySteps(self.limits.steps)),
        }
    }

    /// The scalars that the body returns; `None` if it declines.
    fn body(&mut self) -> Result<Option<Vec<Value<D::Float>>>, Trap> {
        match self.block(&self.program.body)? {
            Flow::Return(values) => Ok(Some(values)),
            Flow::Decline => Ok(None),
            _ => Ok(Some(Vec::new())),
        }
    }

    fn block(&mut self, body: &[Stmt]) -> Result<Flow<D::Float>, Trap> {
        for stmt in body {
            match self.stmt(stmt)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<Flow<D::Float>, Trap> {
        self.step()?;
        match stmt {
            Stmt::Let { var, value } | Stmt::Assign { var, value } => {
                self.vars[var.0 as usize] = Some(self.eval(value)?);
            }
            Stmt::Store {
                buf, index, value, ..
            } => {
                let index = self.index(index)?;
                let value = self.eval(value)?;
                *self.element(*buf, index)? = Some(value);
            }
            // No effect but on speed.
            Stmt::Prefetch { .. } => {}
            Stmt::Alloc { buf, len, fill } => {
                let len = self.index(len)?;
                let fill = self.eval(fill)?;
                self.take_elements(len)?;
                let decl = self.program.buf(*buf);
                if decl.role == BufRole::Return && self.shape_len(*buf) != Some(len) {
                    let name = &decl.name;
                    return Err(Trap::Malformed(format!("`{name}` gets {len} elements")));
                }
                self.bufs[buf.0 as usize] = Some(Buffer {
                    elem: decl.elem,
                    values: vec![Some(fill); len as usize],
                });
            }
            Stmt::For(inner) => return self.for_loop(inner),
            Stmt::While { cond, body } => {
                while self.condition(cond)? {
                    self.step()?;
                    match self.block(body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        flow @ (Flow::Return(_) | Flow::Decline) => return Ok(flow),
                    }
                }
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                let block = if self.condition(cond)? {
                    then
                } else {
                    otherwise
                };
                return self.block(block);
            }
            Stmt::Break => return Ok(Flow::Break),
            Stmt::Continue => return Ok(Flow::Continue),
            Stmt::Return(values) => {
                let values: Result<_, _> = values.iter().map(|value| self.eval(value)).collect();
                return Ok(Flow::Return(values?));
            }
            Stmt::Panic => return Err(Trap::Panic),
            Stmt::Decline => return Ok(Flow::Decline),
        }
        Ok(Flow::Next)
    }

    fn for_loop(&mut self, inner: &Loop) -> Result<Flow<D::Float>, Trap> {
        let mut at = self.index(&inner.lo)?;
        let hi = self.index(&inner.hi)?;
        while at < hi {
            self.step()?;
            self.vars[inner.var.0 as usize] = Some(Value::Int(i128::from(at)));
            match self.block(&inner.body)? {
                Flow::Next | Flow::Continue => {}
                Flow::Break => break,
                flow @ (Flow::Return(_) | Flow::Decline) => return Ok(flow),
            }
            match at.checked_add(inner.step) {
                Some(next) => at = next,
                None => break,
            }
        }
        Ok(Flow::Next)
    }

    fn element(&mut self, buf: BufId, index: u64) -> Result<&mut Option<Value<D::Float>>, Trap> {
        let name = &self.program.buf(buf).name;
        let Some(buffer) = &mut self.bufs[buf.0 as usize] else {
            return Err(Trap::Malformed(format!("`{name}` was never made")));
        };
        let len = buffer.values.len() as u64;
        match buffer.values.get_mut(index as usize) {
            Some(element) if index < len => Ok(element),
            _ => Err(Trap::OutOfBounds {
                buffer: name.clone(),
                index,
                len,
            }),
        }
    }

    fn index(&mut self, expr: &Expr) -> Result<u64, Trap> {
        let value = self.int(expr)?;
        u64::try_from(value).map_err(|_| Trap::Malformed(format!("{value} as an index")))
    }

    fn int(&mut self, expr: &Expr) -> Result<i128, Trap> {
        match self.eval(expr)? {
            Value::Int(value) => Ok(value),
            other => Err(Trap::Malformed(format!("{other:?} as an integer"))),
        }
    }

    fn float(&mut self, expr: &Expr) -> Result<D::Float, Trap> {
        match self.eval(expr)? {
            Value::Float(value) => Ok(value),
            other => Err(Trap::Malformed(format!("{other:?} as a float"))),
        }
    }

    fn condition(&mut self, expr: &Expr) -> Result<bool, Trap> {
        match self.eval(expr)? {
            Value::Bool(value) => Ok(value),
            other => Err(Trap::Malformed(format!("{other:?} as a condition"))),
        }
    }

    fn var(&self, var: VarId) -> Result<Value<D::Float>, Trap> {
        self.vars[var.0 as usize].ok_or_else(|| {
            Trap::Malformed(format!("`{}` has no value", self.program.var(var).name))
        })
    }

    fn eval(&mut self, expr: &Expr) -> Result<Value<D::Float>, Trap> {
        match expr {
            Expr::Const(Const::Bool(value)) => Ok(Value::Bool(*value)),
            Expr::Const(Const::Int(_, value)) => Ok(Value::Int(*value)),
            Expr::Const(Const::Float(scalar, value)) => {
                Ok(Value::Float(D::constant(*scalar, *value)))
            }
            Expr::Var(var) => self.var(*var),
            Expr::Dim(dim) => Ok(Value::Int(i128::from(self.dims[*dim]))),
            Expr::Load { buf, index } => {
                let at = self.index(index)?;
                match *self.element(*buf, at)? {
                    Some(value) => Ok(value),
                    None => Err(Trap::Unwritten {
                        buffer: self.program.buf(*buf).name.clone(),
                        index: at,
                    }),
                }
            }
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Compare(op, a, b) => {
                let ordering = match (self.eval(a)?, self.eval(b)?) {
                    (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(&b)),
                    (Value::Int(a), Value::Int(b)) => Some(a.cmp(&b)),
                    (Value::Float(a), Value::Float(b)) => D::value(a).partial_cmp(&D::value(b)),
                    (a, b) => return Err(Trap::Malformed(format!("{a:?} against {b:?}"))),
                };
                Ok(Value::Bool(op.holds(ordering)))
            }
            Expr::Select {
                cond,
                then,
                otherwise,
            } => self.select(cond, then, otherwise),
            Expr::Cast(to, value) => self.cast(*to, value),
            Expr::Call(func, args) => self.call(*func, args),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Result<Value<D::Float>, Trap> {
        let scalar = a.scalar(self.program);
        let left = self.eval(a)?;
        // As `&&` and `||` do, so that a test may guard the load beside it.
        match (op, left) {
            (BinaryOp::And, Value::Bool(false)) | (BinaryOp::Or, Value::Bool(true)) => {
                return Ok(left);
            }
            _ => {}
        }
        match (left, self.eval(b)?) {
            (Value::Int(a), Value::Int(b)) => int::binary(op, scalar, a, b).map(Value::Int),
            (Value::Float(a), Value::Float(b)) => Ok(Value::Float(D::binary(op, scalar, a, b))),
            (Value::Bool(a), Value::Bool(b)) => match op {
                BinaryOp::And => Ok(Value::Bool(a & b)),
                BinaryOp::Or => Ok(Value::Bool(a | b)),
                BinaryOp::Xor => Ok(Value::Bool(a ^ b)),
                _ => Err(Trap::Malformed(format!("`{}` of bool", op.symbol()))),
            },
            (a, b) => Err(Trap::Malformed(format!(
                "`{}` of {a:?} and {b:?}",
                op.symbol()
            ))),
        }
    }

    fn select(
        &mut self,
        cond: &Expr,
        then: &Expr,
        otherwise: &Expr,
    ) -> Result<Value<D::Float>, Trap> {
        let (taken, other) = if self.condition(cond)? {
            (then, otherwise)
        } else {
            (otherwise, then)
        };
        let value = self.eval(taken)?;
        // Only what cannot trap is evaluated on the side that is not taken.
        if let (Value::Float(value), Expr::Compare(_, a, b)) = (value, cond)
            && a.scalar(self.program).is_float()
            && is_safe(self.program, other)
        {
            let compared = [self.float(a)?, self.float(b)?];
            let other = self.float(other)?;
            return Ok(Value::Float(D::select(value, other, compared)));
        }
        Ok(value)
    }

    fn cast(&mut self, to: Scalar, value: &Expr) -> Result<Value<D::Float>, Trap> {
        match self.eval(value)? {
            Value::Bool(value) if to.is_integer() => Ok(Value::Int(i128::from(value))),
            Value::Int(value) if to.is_integer() => Ok(Value::Int(wrap(to, value))),
            Value::Int(value) if to.is_float() => Ok(Value::Float(D::from_int(to, value))),
            Value::Float(value) if to.is_float() => Ok(Value::Float(D::cast(to, value))),
            Value::Float(value) if to.is_integer() => {
                Ok(Value::Int(int::from_float(to, D::value(value))))
            }
            value => Ok(value),
        }
    }

    fn call(&mut self, func: Func, args: &[Expr]) -> Result<Value<D::Float>, Trap> {
        let scalar = args[0].scalar(self.program);
        if func == Func::Powi {
            let base = self.float(&args[0])?;
            let exponent = self.int(&args[1])?;
            return Ok(Value::Float(D::powi(scalar, base, exponent as i32)));
        }
        if scalar.is_integer() {
            let values: Result<Vec<_>, _> = args.iter().map(|arg| self.int(arg)).collect();
            let values = values?;
            return match (func, scalar) {
                (Func::FromBits, Scalar::U64) => {
                    let value = f64::from_bits(values[0] as u64);
                    Ok(Value::Float(D::constant(Scalar::F64, value)))
                }
                (Func::FromBits, _) => {
                    let value = f32::from_bits(values[0] as u32);
                    Ok(Value::Float(D::constant(Scalar::F32, f64::from(value))))
                }
                _ => int::call(func, scalar, &values).map(Value::Int),
            };
        }
        if scalar == Scalar::Bool {
            return Ok(Value::Bool(!self.condition(&args[0])?));
        }
        let values: Result<Vec<_>, _> = args.iter().map(|arg| self.float(arg)).collect();
        let values = values?;
        let first = D::value(values[0]);
        Ok(match func {
            Func::IsNan => Value::Bool(first.is_nan()),
            Func::IsFinite => Value::Bool(first.is_finite()),
            Func::ToBits => Value::Int(float_bits(scalar, first)),
            _ => Value::Float(D::call(func, scalar, &values)),
        })
    }
}

/// Whether evaluating `expr` cannot trap and costs little: it loads nothing and divides no
/// integers.
pub(crate) fn is_safe(program: &Program, expr: &Expr) -> bool {
    let mut safe = true;
    expr.walk(&mut |inner| match inner {
        Expr::Load { .. } => safe = false,
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, a, _) => {
            safe &= a.scalar(program).is_float();
        }
        Expr::Call(Func::DivEuclid | Func::RemEuclid, args) => {
            safe &= args.iter().all(|arg| arg.scalar(program).is_float());
        }
        _ => {}
    });
    safe
}

#[cfg(test)]
mod tests;
