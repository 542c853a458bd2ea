//! Building expressions with the obvious simplifications, exactly as release Rust computes.

use pragma_spec::Scalar;

use crate::ir::{BinaryOp, CompareOp, Const, Expr, Func};

/// Whether `value` is a value of the integer type `scalar`.
pub(super) fn in_range(value: i128, scalar: Scalar) -> bool {
    wrap(value, scalar) == value
}

/// `value` as the integer type `scalar`, wrapping.
pub(super) fn wrap(value: i128, scalar: Scalar) -> i128 {
    let bits = 8 * scalar.bytes() as u32;
    let low = value & ((1i128 << bits) - 1);
    if scalar.is_signed() && low >> (bits - 1) != 0 {
        low - (1i128 << bits)
    } else {
        low
    }
}

/// The integer that `expr` is.
pub(super) fn as_int(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Const(Const::Int(_, value)) => Some(*value),
        _ => None,
    }
}

/// The boolean that `expr` is.
pub(super) fn as_bool(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Const(Const::Bool(value)) => Some(*value),
        _ => None,
    }
}

/// `a op b`.
pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    match (&a, &b) {
        (Expr::Const(Const::Int(scalar, x)), Expr::Const(Const::Int(_, y))) => {
            if let Some(value) = int_binary(op, *scalar, *x, *y) {
                return Expr::Const(Const::Int(*scalar, value));
            }
        }
        (Expr::Const(Const::Float(s, x)), Expr::Const(Const::Float(t, y))) if s == t => {
            if let Some(value) = float_binary(op, *s, *x, *y) {
                return Expr::Const(Const::Float(*s, value));
            }
        }
        _ => {}
    }
    match (op, as_int(&a), as_int(&b)) {
        (BinaryOp::Add | BinaryOp::Or | BinaryOp::Xor, Some(0), _) => return b,
        (
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr,
            _,
            Some(0),
        ) => return a,
        (BinaryOp::Mul, Some(1), _) => return b,
        (BinaryOp::Mul | BinaryOp::Div, _, Some(1)) => return a,
        (BinaryOp::Mul, Some(0), _) if pure(&b) => return a,
        (BinaryOp::Mul, _, Some(0)) if pure(&a) => return b,
        _ => {}
    }
    // `a < b || a == b`: NaN makes both forms false.
    if let (BinaryOp::Or, Expr::Compare(CompareOp::Lt, p, q), Expr::Compare(CompareOp::Eq, r, s)) =
        (op, &a, &b)
        && p == r
        && q == s
    {
        return Expr::Compare(CompareOp::Le, p.clone(), q.clone());
    }
    match (op, as_bool(&a), as_bool(&b)) {
        (BinaryOp::And, Some(true), _) | (BinaryOp::Or, Some(false), _) => return b,
        (BinaryOp::And, _, Some(true)) | (BinaryOp::Or, _, Some(false)) => return a,
        (BinaryOp::And, Some(false), _) | (BinaryOp::Or, Some(true), _) => return a,
        _ => {}
    }
    Expr::binary(op, a, b)
}

/// Whether dropping `expr` drops nothing but a value: no element is read.
pub(super) fn pure(expr: &Expr) -> bool {
    let mut pure = true;
    expr.walk(&mut |part| {
        pure &= !matches!(
            part,
            Expr::Load { .. } | Expr::Binary(BinaryOp::Div | BinaryOp::Rem, ..)
        );
    });
    pure
}

fn int_binary(op: BinaryOp, scalar: Scalar, x: i128, y: i128) -> Option<i128> {
    let bits = 8 * scalar.bytes() as u32;
    let count = u32::try_from(y.rem_euclid(i128::from(bits))).ok()?;
    let value = match op {
        BinaryOp::Add => x.checked_add(y)?,
        BinaryOp::Sub => x.checked_sub(y)?,
        BinaryOp::Mul => x.checked_mul(y)?,
        // Division by zero and overflow panic: left for the run.
        BinaryOp::Div => return x.checked_div(y).filter(|q| in_range(*q, scalar)),
        BinaryOp::Rem => {
            return x
                .checked_rem(y)
                .filter(|_| in_range(x.checked_div(y).unwrap_or(0), scalar));
        }
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl => x.checked_shl(count)?,
        BinaryOp::Shr => x >> count,
    };
    Some(wrap(value, scalar))
}

fn float_binary(op: BinaryOp, scalar: Scalar, x: f64, y: f64) -> Option<f64> {
    let value = match scalar {
        Scalar::F64 => match op {
            BinaryOp::Add => x + y,
            BinaryOp::Sub => x - y,
            BinaryOp::Mul => x * y,
            BinaryOp::Div => x / y,
            _ => return None,
        },
        Scalar::F32 => {
            let (x, y) = (x as f32, y as f32);
            f64::from(match op {
                BinaryOp::Add => x + y,
                BinaryOp::Sub => x - y,
                BinaryOp::Mul => x * y,
                BinaryOp::Div => x / y,
                _ => return None,
            })
        }
        _ => return None,
    };
    value.is_finite().then_some(value)
}

/// `a op b` as a `bool`.
pub(super) fn compare(op: CompareOp, a: Expr, b: Expr) -> Expr {
    if let (Some(x), Some(y)) = (as_int(&a), as_int(&b)) {
        return Expr::Const(Const::Bool(match op {
            CompareOp::Lt => x < y,
            CompareOp::Le => x <= y,
            CompareOp::Gt => x > y,
            CompareOp::Ge => x >= y,
            CompareOp::Eq => x == y,
            CompareOp::Ne => x != y,
        }));
    }
    Expr::compare(op, a, b)
}

/// `!cond` of a `bool`. Not pushed into float comparisons, which NaN makes different.
pub(super) fn not(cond: Expr) -> Expr {
    match cond {
        Expr::Const(Const::Bool(value)) => Expr::Const(Const::Bool(!value)),
        Expr::Call(Func::Not, mut args) if args.len() == 1 => args.remove(0),
        other => Expr::Call(Func::Not, vec![other]),
    }
}

/// `if cond { then } else { otherwise }`.
pub(super) fn select(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    match as_bool(&cond) {
        Some(true) => return then,
        Some(false) => return otherwise,
        None => {}
    }
    if then == otherwise && pure(&cond) {
        return then;
    }
    match (as_bool(&then), as_bool(&otherwise)) {
        (Some(true), Some(false)) => return cond,
        (Some(false), Some(true)) => return not(cond),
        (Some(false), None) => return binary(BinaryOp::And, not(cond), otherwise),
        (None, Some(false)) => return binary(BinaryOp::And, cond, then),
        _ => {}
    }
    Expr::Select {
        cond: Box::new(cond),
        then: Box::new(then),
        otherwise: Box::new(otherwise),
    }
}

/// `expr as to`, where `expr` has type `from`.
pub(super) fn cast(to: Scalar, from: Option<Scalar>, expr: Expr) -> Expr {
    if from == Some(to) {
        return expr;
    }
    match &expr {
        Expr::Const(Const::Int(_, value)) if to.is_integer() => {
            Expr::Const(Const::Int(to, wrap(*value, to)))
        }
        // Exact where the value is small enough for the float type.
        Expr::Const(Const::Int(_, value))
            if matches!(to, Scalar::F32 | Scalar::F64) && value.unsigned_abs() < 1 << 24 =>
        {
            Expr::Const(Const::Float(to, *value as f64))
        }
        Expr::Const(Const::Float(Scalar::F32, value)) if to == Scalar::F64 => {
            Expr::Const(Const::Float(to, *value))
        }
        _ => Expr::Cast(to, Box::new(expr)),
    }
}
