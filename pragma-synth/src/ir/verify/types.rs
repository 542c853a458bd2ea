//! The types of expressions.

use pragma_spec::Scalar;

use crate::ir::interp::representable;
use crate::ir::text::expr_text;
use crate::ir::{BinaryOp, Const, Expr, Func, Program};

/// The type of `expr`; on the way, `complain` hears of everything ill-typed inside it.
pub(super) fn check(program: &Program, expr: &Expr, complain: &mut dyn FnMut(String)) -> Scalar {
    match expr {
        Expr::Const(value) => {
            if !fits(*value) {
                complain(format!("{value:?} is not a literal of its type"));
            }
            value.scalar()
        }
        Expr::Var(_) | Expr::Dim(_) => expr.scalar(program),
        Expr::Load { buf, index } => {
            let index = check(program, index, complain);
            if index != Scalar::Usize {
                complain(format!(
                    "the index in `{}` is {index}",
                    expr_text(program, expr)
                ));
            }
            program.buf(*buf).elem
        }
        Expr::Binary(op, a, b) => {
            let left = check(program, a, complain);
            let right = check(program, b, complain);
            if !binary_takes(*op, left, right) {
                complain(format!(
                    "operands of `{}` in `{}` are {left} and {right}",
                    op.symbol(),
                    expr_text(program, expr)
                ));
            }
            left
        }
        Expr::Compare(_, a, b) => {
            let left = check(program, a, complain);
            let right = check(program, b, complain);
            if left != right {
                complain(format!(
                    "operands of `{}` are {left} and {right}",
                    expr_text(program, expr)
                ));
            }
            Scalar::Bool
        }
        Expr::Select {
            cond,
            then,
            otherwise,
        } => {
            let cond = check(program, cond, complain);
            let then = check(program, then, complain);
            let otherwise = check(program, otherwise, complain);
            if cond != Scalar::Bool {
                complain(format!(
                    "the condition of `{}` is {cond}",
                    expr_text(program, expr)
                ));
            }
            if then != otherwise {
                complain(format!(
                    "the branches of `{}` are {then} and {otherwise}",
                    expr_text(program, expr)
                ));
            }
            then
        }
        Expr::Cast(to, value) => {
            let from = check(program, value, complain);
            let ok = *to == from
                || match from {
                    Scalar::Bool => to.is_integer(),
                    _ => *to != Scalar::Bool,
                };
            if !ok {
                complain(format!("Rust has no cast from {from} to {to}"));
            }
            *to
        }
        Expr::Call(func, args) => {
            let types: Vec<_> = args
                .iter()
                .map(|arg| check(program, arg, complain))
                .collect();
            if args.len() != func.arity() {
                complain(format!(
                    "`{}` takes {} arguments, not {}",
                    func.name(),
                    func.arity(),
                    args.len()
                ));
            } else if !call_takes(*func, &types) {
                let names: Vec<_> = types.iter().map(|scalar| scalar.name()).collect();
                complain(format!(
                    "`{}` does not take ({})",
                    func.name(),
                    names.join(", ")
                ));
            }
            func.result(types.first().copied().unwrap_or(Scalar::Bool))
        }
    }
}

fn fits(value: Const) -> bool {
    match value {
        Const::Bool(_) => true,
        Const::Int(scalar, value) => {
            scalar.is_integer() && crate::ir::interp::int_range(scalar).contains(&value)
        }
        Const::Float(scalar, value) => scalar.is_float() && representable(scalar, value),
    }
}

fn binary_takes(op: BinaryOp, left: Scalar, right: Scalar) -> bool {
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
            left == right && left != Scalar::Bool
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => left == right && !left.is_float(),
        BinaryOp::Shl | BinaryOp::Shr => left.is_integer() && right.is_integer(),
    }
}

fn call_takes(func: Func, args: &[Scalar]) -> bool {
    let first = args[0];
    let same = args.iter().all(|arg| *arg == first);
    match func {
        Func::Neg | Func::Signum => first.is_float() || first.is_signed(),
        Func::Abs => first.is_float() || first.is_signed(),
        Func::Not => !first.is_float(),
        Func::CountOnes | Func::LeadingZeros | Func::TrailingZeros => first.is_integer(),
        Func::ToBits => first.is_float(),
        Func::FromBits => matches!(first, Scalar::U32 | Scalar::U64),
        Func::Max | Func::Min => same && first != Scalar::Bool,
        Func::RemEuclid | Func::DivEuclid => same && first != Scalar::Bool,
        Func::AbsDiff | Func::SaturatingAdd | Func::SaturatingSub => same && first.is_integer(),
        Func::RotateLeft | Func::RotateRight => first.is_integer() && args[1] == Scalar::U32,
        Func::Powi => first.is_float() && args[1] == Scalar::I32,
        _ => same && first.is_float(),
    }
}
