//! The range of a single integer value: remainders, masks, clamps, casts from narrow types.
//!
//! Owns what an expression says about its own value where it is no polynomial of counters and
//! sizes. What that proves about an access is `bounds`' business.

use pragma_spec::Scalar;

use crate::ir::{BinaryOp, Const, Expr, Func, Program};

use super::bounds::Scope;
use super::poly::{self, Poly};

/// The least and the greatest value, each where it is known.
type Ends = (Option<Poly>, Option<Poly>);

/// The least and greatest value that an integer expression can have, as polynomials of sizes
/// and variables of the scope.
pub fn range(scope: &Scope, program: &Program, expr: &Expr) -> Ends {
    let own = of(scope, program, expr);
    let (least, greatest) = type_range(expr.scalar(program));
    (own.0.or(least), own.1.or(greatest))
}

fn type_range(scalar: Scalar) -> Ends {
    let ends = match scalar {
        Scalar::Bool => (0, 1),
        Scalar::U8 => (0, 255),
        Scalar::I8 => (-128, 127),
        Scalar::U16 => (0, 65535),
        Scalar::I16 => (-32768, 32767),
        Scalar::U32 => (0, i64::from(u32::MAX)),
        Scalar::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Scalar::U64 | Scalar::Usize => return (Some(Poly::default()), None),
        _ => return (None, None),
    };
    (Some(Poly::constant(ends.0)), Some(Poly::constant(ends.1)))
}

fn constant(ends: &Ends) -> (Option<i64>, Option<i64>) {
    let end = |poly: &Option<Poly>| poly.as_ref().and_then(Poly::as_constant);
    (end(&ends.0), end(&ends.1))
}

/// Whether the value is known not to be negative.
fn is_nonnegative(scope: &Scope, ends: &Ends) -> bool {
    ends.0
        .as_ref()
        .is_some_and(|least| scope.is_nonnegative(least))
}

fn of(scope: &Scope, program: &Program, expr: &Expr) -> Ends {
    let scalar = expr.scalar(program);
    if let Expr::Const(Const::Int(_, value)) = expr {
        let value = i64::try_from(*value).ok().map(Poly::constant);
        return (value.clone(), value);
    }
    if matches!(scalar, Scalar::Usize | Scalar::Isize)
        && let Some(poly) = poly::read(program, &scope.definitions, expr)
        && (scalar == Scalar::Isize && poly.is_over_dims() || scope.is_nonnegative(&poly))
    {
        return (Some(poly.clone()), Some(poly));
    }
    match expr {
        Expr::Var(var) => {
            let range = scope.ranges.iter().rev().find(|range| range.var == *var);
            range.map_or((None, None), |range| {
                let greatest = range.hi.minus(&Poly::constant(1));
                (Some(range.lo.clone()), Some(greatest))
            })
        }
        Expr::Cast(_, value) => {
            let inner = value.scalar(program);
            if inner == Scalar::Bool {
                return type_range(Scalar::Bool);
            }
            if !inner.is_integer() {
                return (None, None);
            }
            let ends = range(scope, program, value);
            if fits(scope, &ends, inner, scalar) {
                ends
            } else {
                (None, None)
            }
        }
        Expr::Select {
            then, otherwise, ..
        } => {
            let (a, b) = (
                range(scope, program, then),
                range(scope, program, otherwise),
            );
            (
                join(scope, &a.0, &b.0, true),
                join(scope, &a.1, &b.1, false),
            )
        }
        Expr::Binary(op, a, b) => binary(scope, program, *op, a, b),
        Expr::Call(func, args) => match (func, args.as_slice()) {
            (Func::Min, [a, b]) => {
                let (a, b) = (range(scope, program, a), range(scope, program, b));
                (
                    join(scope, &a.0, &b.0, true),
                    tighter(&a.1, &b.1, scalar, false),
                )
            }
            (Func::Max, [a, b]) => {
                let (a, b) = (range(scope, program, a), range(scope, program, b));
                (
                    tighter(&a.0, &b.0, scalar, true),
                    join(scope, &a.1, &b.1, false),
                )
            }
            (Func::RemEuclid, [_, b]) => remainder(scope, program, b),
            (Func::CountOnes | Func::LeadingZeros | Func::TrailingZeros, _) => {
                (Some(Poly::default()), Some(Poly::constant(128)))
            }
            _ => (None, None),
        },
        _ => (None, None),
    }
}

/// Whether a cast from `from` keeps every value of the range.
fn fits(scope: &Scope, ends: &Ends, from: Scalar, to: Scalar) -> bool {
    let (least, greatest) = (type_range(to).0, type_range(to).1);
    let (low, high) = constant(ends);
    let above = match (low, least.as_ref().and_then(Poly::as_constant)) {
        (Some(low), Some(least)) => low >= least,
        (None, Some(0)) => is_nonnegative(scope, ends),
        // The widest signed types hold every size.
        (_, None) => true,
        _ => false,
    };
    let below = match (high, greatest.as_ref().and_then(Poly::as_constant)) {
        (Some(high), Some(greatest)) => high <= greatest,
        (_, None) => from.bytes() < to.bytes() || high.is_some() || ends.1.is_some(),
        _ => false,
    };
    above && below
}

fn remainder(scope: &Scope, program: &Program, by: &Expr) -> Ends {
    let Some(by) = poly::read(program, &scope.definitions, by) else {
        return (None, None);
    };
    let last = by.minus(&Poly::constant(1));
    if scope.is_nonnegative(&last) {
        (Some(Poly::default()), Some(last))
    } else {
        (None, None)
    }
}

fn binary(scope: &Scope, program: &Program, op: BinaryOp, a: &Expr, b: &Expr) -> Ends {
    let unsigned = !a.scalar(program).is_signed();
    let nothing = (None, None);
    match op {
        BinaryOp::Rem => {
            let dividend = range(scope, program, a);
            if unsigned || is_nonnegative(scope, &dividend) {
                remainder(scope, program, b)
            } else {
                nothing
            }
        }
        BinaryOp::And => {
            let masks = [
                constant(&of(scope, program, a)),
                constant(&of(scope, program, b)),
            ];
            let mask = masks.iter().find_map(|ends| match ends {
                (Some(low), Some(high)) if low == high && *low >= 0 => Some(*low),
                _ => None,
            });
            match mask {
                Some(mask) => (Some(Poly::default()), Some(Poly::constant(mask))),
                None => nothing,
            }
        }
        BinaryOp::Shr | BinaryOp::Div => {
            let (low, high) = constant(&range(scope, program, a));
            let by = match b {
                Expr::Const(Const::Int(_, by)) => i64::try_from(*by).ok(),
                _ => None,
            };
            match (low, high, by) {
                (Some(low), Some(high), Some(by)) if low >= 0 => {
                    let by = match op {
                        BinaryOp::Shr if (0..32).contains(&by) => 1i64 << by,
                        BinaryOp::Div if by > 0 => by,
                        _ => return nothing,
                    };
                    (
                        Some(Poly::constant(low / by)),
                        Some(Poly::constant(high / by)),
                    )
                }
                _ => nothing,
            }
        }
        _ => nothing,
    }
}

/// One end of what is one of two values.
fn join(scope: &Scope, a: &Option<Poly>, b: &Option<Poly>, least: bool) -> Option<Poly> {
    let (a, b) = (a.as_ref()?, b.as_ref()?);
    if a == b {
        return Some(a.clone());
    }
    let a_is_less = scope.is_nonnegative(&b.minus(a));
    let b_is_less = scope.is_nonnegative(&a.minus(b));
    match (a_is_less, b_is_less, least) {
        (true, _, true) | (_, true, false) => Some(a.clone()),
        (_, true, true) | (true, _, false) => Some(b.clone()),
        _ if least && scope.is_nonnegative(a) && scope.is_nonnegative(b) => Some(Poly::default()),
        _ => None,
    }
}

/// The end that both of two give, the more useful one: one without variables, and not one that
/// the type alone gives.
fn tighter(a: &Option<Poly>, b: &Option<Poly>, scalar: Scalar, least: bool) -> Option<Poly> {
    let (Some(a), Some(b)) = (a, b) else {
        return a.clone().or(b.clone());
    };
    let own = if least {
        type_range(scalar).0
    } else {
        type_range(scalar).1
    };
    match (a.as_constant(), b.as_constant()) {
        (Some(x), Some(y)) => Some(Poly::constant(if least { x.max(y) } else { x.min(y) })),
        _ if Some(a) == own.as_ref() => Some(b.clone()),
        _ if Some(b) == own.as_ref() => Some(a.clone()),
        _ if a.is_over_dims() => Some(a.clone()),
        _ => Some(b.clone()),
    }
}
