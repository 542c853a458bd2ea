//! Methods of numbers.

use pragma_spec::Scalar;
use proc_macro2::Span;

use super::error::Lift;
use super::fold;
use super::reader::{Literal, Reader, bool_num, call1};
use super::types::{Class, Ty};
use super::value::{Num, Value};
use crate::ir::{BinaryOp, CompareOp, Const, Expr, Func};

/// Whether `name` is a method of scalars without effects.
pub(super) fn is_scalar_method(name: &str) -> bool {
    one(name).is_some()
        || two(name).is_some()
        || matches!(
            name,
            "clone"
                | "copied"
                | "cloned"
                | "to_owned"
                | "mul_add"
                | "clamp"
                | "powi"
                | "pow"
                | "wrapping_add"
                | "wrapping_sub"
                | "wrapping_mul"
                | "wrapping_neg"
                | "wrapping_shl"
                | "wrapping_shr"
                | "is_positive"
                | "is_negative"
                | "is_sign_negative"
                | "is_sign_positive"
                | "is_infinite"
                | "partial_cmp"
                | "cmp"
                | "total_cmp"
                | "to_radians"
                | "to_degrees"
                | "fract"
                | "exp"
                | "sin_cos"
                | "count_zeros"
                | "is_power_of_two"
                | "div_ceil"
                | "unsigned_abs"
        )
}

fn one(name: &str) -> Option<Func> {
    Some(match name {
        "abs" | "wrapping_abs" => Func::Abs,
        "signum" => Func::Signum,
        "sqrt" => Func::Sqrt,
        "cbrt" => Func::Cbrt,
        "recip" => Func::Recip,
        "floor" => Func::Floor,
        "ceil" => Func::Ceil,
        "trunc" => Func::Trunc,
        "round" => Func::Round,
        "round_ties_even" => Func::RoundTiesEven,
        "exp" => Func::Exp,
        "exp2" => Func::Exp2,
        "exp_m1" => Func::ExpM1,
        "ln" => Func::Ln,
        "log2" => Func::Log2,
        "log10" => Func::Log10,
        "ln_1p" => Func::Ln1p,
        "sin" => Func::Sin,
        "cos" => Func::Cos,
        "tan" => Func::Tan,
        "asin" => Func::Asin,
        "acos" => Func::Acos,
        "atan" => Func::Atan,
        "sinh" => Func::Sinh,
        "cosh" => Func::Cosh,
        "tanh" => Func::Tanh,
        "is_nan" => Func::IsNan,
        "is_finite" => Func::IsFinite,
        "count_ones" => Func::CountOnes,
        "leading_zeros" => Func::LeadingZeros,
        "trailing_zeros" => Func::TrailingZeros,
        "to_bits" => Func::ToBits,
        "neg" => Func::Neg,
        _ => return None,
    })
}

fn two(name: &str) -> Option<Func> {
    Some(match name {
        "max" => Func::Max,
        "min" => Func::Min,
        "copysign" => Func::Copysign,
        "powf" => Func::Powf,
        "atan2" => Func::Atan2,
        "hypot" => Func::Hypot,
        "rem_euclid" => Func::RemEuclid,
        "div_euclid" => Func::DivEuclid,
        "abs_diff" => Func::AbsDiff,
        "saturating_add" => Func::SaturatingAdd,
        "saturating_sub" => Func::SaturatingSub,
        "rotate_left" => Func::RotateLeft,
        "rotate_right" => Func::RotateRight,
        _ => return None,
    })
}

/// Methods that only floats have; the others differ or also exist on integers.
fn floats_only(func: Func) -> bool {
    !matches!(
        func,
        Func::Abs
            | Func::Signum
            | Func::CountOnes
            | Func::LeadingZeros
            | Func::TrailingZeros
            | Func::Neg
            | Func::Max
            | Func::Min
            | Func::RemEuclid
            | Func::DivEuclid
            | Func::AbsDiff
            | Func::SaturatingAdd
            | Func::SaturatingSub
            | Func::RotateLeft
            | Func::RotateRight
    )
}

impl Reader<'_> {
    /// `num.name(args)`.
    pub(super) fn scalar_method(
        &mut self,
        num: Num,
        name: &str,
        args: Vec<Value>,
        span: Span,
    ) -> Lift<Value> {
        let num = Num {
            expr: self.settle(num.expr),
            ty: num.ty,
        };
        let ty = num.ty;
        if matches!(name, "clone" | "copied" | "cloned" | "to_owned" | "borrow") {
            return Ok(Value::Scalar(num));
        }
        if matches!(
            name,
            "partial_cmp" | "cmp" | "total_cmp" | "then" | "then_some"
        ) {
            return self.compare_method(num, name, args, span);
        }
        let mut nums = Vec::with_capacity(args.len());
        for arg in args {
            let arg = self.num(arg, span)?;
            nums.push(Num {
                expr: self.settle(arg.expr),
                ty: arg.ty,
            });
        }
        if name == "wrapping_neg" && nums.is_empty() {
            let Ty::Known(scalar) = self.types.resolve(ty) else {
                return Err(self.unknown(span, "`wrapping_neg` of this type"));
            };
            let zero = Expr::Const(Const::Int(scalar, 0));
            return Ok(Value::scalar(
                fold::binary(BinaryOp::Sub, zero, num.expr),
                ty,
            ));
        }
        if let (Some(func), 0) = (one(name), nums.len()) {
            let class = self.types.class(ty);
            if floats_only(func) && class != Class::Float {
                return Err(self.unknown(span, format!("`{name}` of this type")));
            }
            let result = match func {
                Func::IsNan | Func::IsFinite => Ty::Known(Scalar::Bool),
                Func::CountOnes | Func::LeadingZeros | Func::TrailingZeros => {
                    Ty::Known(Scalar::U32)
                }
                Func::ToBits => match self.types.resolve(ty) {
                    Ty::Known(scalar) => Ty::Known(func.result(scalar)),
                    Ty::Open(_) => return Err(self.unknown(span, "`to_bits` of this type")),
                },
                _ => ty,
            };
            return Ok(Value::Scalar(call1(func, num, result)));
        }
        if let (Some(func), 1) = (two(name), nums.len()) {
            return self.two_argument(func, name, num, nums.remove(0), span);
        }
        self.other_method(num, name, nums, span)
    }

    fn two_argument(
        &mut self,
        func: Func,
        name: &str,
        num: Num,
        other: Num,
        span: Span,
    ) -> Lift<Value> {
        let class = self.types.class(num.ty);
        if floats_only(func) && class != Class::Float {
            return Err(self.unknown(span, format!("`{name}` of this type")));
        }
        if matches!(func, Func::RotateLeft | Func::RotateRight) {
            self.unify(other.ty, Ty::Known(Scalar::U32), span)?;
        } else {
            self.unify(num.ty, other.ty, span)?;
        }
        let other = Num {
            expr: self.settle(other.expr),
            ty: other.ty,
        };
        let num = Num {
            expr: self.settle(num.expr),
            ty: num.ty,
        };
        let known = self.types.resolve(num.ty);
        if known == Ty::Known(Scalar::Usize) && matches!(func, Func::Max | Func::Min) {
            let (a, b) = (num.expr, other.expr);
            if self.is_stable(&a) && self.is_stable(&b) {
                if func == Func::Min {
                    let expr = self.shorter(a, b)?;
                    return Ok(Value::scalar(expr, known));
                }
                if self.le(&a, &b) {
                    return Ok(Value::scalar(b, known));
                }
                if self.le(&b, &a) {
                    return Ok(Value::scalar(a, known));
                }
            }
            let expr = Expr::Call(func, vec![a, b]);
            return Ok(Value::scalar(expr, known));
        }
        if known == Ty::Known(Scalar::Usize) && func == Func::SaturatingSub {
            let expr = self.saturating_sub(num.expr, other.expr);
            return Ok(Value::scalar(expr, known));
        }
        if matches!(func, Func::DivEuclid | Func::RemEuclid) && class == Class::Int {
            let divisor = self.stable("divisor", other);
            let Ty::Known(scalar) = known else {
                return Err(self.unknown(span, "dividing integers whose type is not known yet"));
            };
            let constant = fold::as_int(&divisor.expr);
            if constant.is_none() {
                let zero = Expr::Const(Const::Int(scalar, 0));
                if scalar == Scalar::Usize {
                    if !self.positive(&divisor.expr) {
                        let bad = self.decide(CompareOp::Eq, divisor.expr.clone(), zero);
                        self.panic_if(bad);
                    }
                } else {
                    self.panic_if(fold::compare(CompareOp::Eq, divisor.expr.clone(), zero));
                }
                if scalar.is_signed() {
                    let int = |value| Expr::Const(Const::Int(scalar, value));
                    let least = -(1i128 << (8 * scalar.bytes() - 1));
                    let a = fold::compare(CompareOp::Eq, num.expr.clone(), int(least));
                    let b = fold::compare(CompareOp::Eq, divisor.expr.clone(), int(-1));
                    self.panic_if(fold::binary(BinaryOp::And, b, a));
                }
            } else if matches!(constant, Some(0 | -1)) {
                return Err(self.unknown(span, "dividing by this constant"));
            }
            let expr = Expr::Call(func, vec![num.expr, divisor.expr]);
            return Ok(Value::scalar(expr, num.ty));
        }
        let result = match (func, known) {
            (Func::AbsDiff, Ty::Known(scalar)) => Ty::Known(func.result(scalar)),
            (Func::AbsDiff, Ty::Open(_)) => {
                return Err(self.unknown(span, "`abs_diff` of this type"));
            }
            _ => num.ty,
        };
        let expr = Expr::Call(func, vec![num.expr, other.expr]);
        Ok(Value::scalar(expr, result))
    }

    fn other_method(
        &mut self,
        num: Num,
        name: &str,
        mut nums: Vec<Num>,
        span: Span,
    ) -> Lift<Value> {
        let ty = num.ty;
        let float = self.types.class(ty) == Class::Float;
        let int = self.types.class(ty) == Class::Int;
        let call = |func, args: Vec<Num>| {
            Value::scalar(
                Expr::Call(func, args.into_iter().map(|num| num.expr).collect()),
                ty,
            )
        };
        let wrapping = |name: &str| match name {
            "wrapping_add" => Some(BinaryOp::Add),
            "wrapping_sub" => Some(BinaryOp::Sub),
            "wrapping_mul" => Some(BinaryOp::Mul),
            "wrapping_shl" => Some(BinaryOp::Shl),
            "wrapping_shr" => Some(BinaryOp::Shr),
            _ => None,
        };
        Ok(match (name, nums.len()) {
            ("mul_add", 2) if float => {
                self.unify(ty, nums[0].ty, span)?;
                self.unify(ty, nums[1].ty, span)?;
                let mut args = vec![num];
                args.append(&mut nums);
                for arg in &mut args {
                    arg.expr = self.settle(arg.expr.clone());
                }
                call(Func::MulAdd, args)
            }
            ("clamp", 2) => {
                self.unify(ty, nums[0].ty, span)?;
                self.unify(ty, nums[1].ty, span)?;
                let hi = self.settle(nums.remove(1).expr);
                let lo = self.settle(nums.remove(0).expr);
                self.clamp(num, lo, hi)
            }
            ("powi", 1) if float => {
                self.unify(nums[0].ty, Ty::Known(Scalar::I32), span)?;
                let exponent = self.settle(nums.remove(0).expr);
                match fold::as_int(&exponent) {
                    Some(0) => {
                        let one = self.literal(Literal::Float("1.0".into()), span);
                        self.unify(one.ty, ty, span)?;
                        Value::scalar(self.settle(one.expr), ty)
                    }
                    // Squaring and multiplying, as `powi` does it.
                    Some(n @ 1..=8) => {
                        let base = self.shared("base", num);
                        let (mut square, mut n) = (base.expr, n);
                        let mut power: Option<Expr> = None;
                        while n > 0 {
                            if n % 2 == 1 {
                                power = Some(match power {
                                    None => square.clone(),
                                    Some(power) => {
                                        fold::binary(BinaryOp::Mul, power, square.clone())
                                    }
                                });
                            }
                            n /= 2;
                            if n > 0 {
                                let next = fold::binary(BinaryOp::Mul, square.clone(), square);
                                square = self.let_temp("square", Num { expr: next, ty }).expr;
                            }
                        }
                        match power {
                            Some(expr) => Value::scalar(expr, ty),
                            None => return Err(self.unknown(span, "this power")),
                        }
                    }
                    _ => Value::scalar(Expr::Call(Func::Powi, vec![num.expr, exponent]), ty),
                }
            }
            ("pow", 1) if int => {
                self.unify(nums[0].ty, Ty::Known(Scalar::U32), span)?;
                let exponent = self.settle(nums.remove(0).expr);
                match fold::as_int(&exponent) {
                    Some(n @ 1..=8) => {
                        let num = self.shared("base", num);
                        let mut product = num.expr.clone();
                        for _ in 1..n {
                            product = fold::binary(BinaryOp::Mul, product, num.expr.clone());
                        }
                        Value::scalar(product, ty)
                    }
                    _ => return Err(self.unknown(span, "this power of an integer")),
                }
            }
            (name, 1) if wrapping(name).is_some() && int => {
                let op = wrapping(name).unwrap_or(BinaryOp::Add);
                let other = nums.remove(0);
                if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
                    self.unify(other.ty, Ty::Known(Scalar::U32), span)?;
                } else {
                    self.unify(other.ty, ty, span)?;
                }
                let (a, b) = (self.settle(num.expr), self.settle(other.expr));
                Value::scalar(fold::binary(op, a, b), ty)
            }
            ("is_infinite", 0) if float => {
                let num = self.shared("value", num);
                let nan = Expr::Call(Func::IsNan, vec![num.expr.clone()]);
                let finite = Expr::Call(Func::IsFinite, vec![num.expr]);
                Value::Scalar(bool_num(fold::not(fold::binary(BinaryOp::Or, nan, finite))))
            }
            ("fract", 0) if float => {
                let num = self.shared("value", num);
                let whole = Expr::Call(Func::Trunc, vec![num.expr.clone()]);
                Value::scalar(fold::binary(BinaryOp::Sub, num.expr, whole), ty)
            }
            ("to_radians" | "to_degrees", 0) if float => {
                let radians = name == "to_radians";
                let (single, double) = if radians {
                    (std::f32::consts::PI / 180.0, std::f64::consts::PI / 180.0)
                } else {
                    (180.0 / std::f32::consts::PI, 180.0 / std::f64::consts::PI)
                };
                let factor = match self.types.resolve(ty) {
                    Ty::Known(Scalar::F32) if radians => {
                        Const::Float(Scalar::F32, f64::from(single))
                    }
                    Ty::Known(Scalar::F32) => Const::Float(Scalar::F32, f64::from(57.295_78_f32)),
                    Ty::Known(Scalar::F64) => Const::Float(Scalar::F64, double),
                    _ => return Err(self.unknown(span, "this method of this type")),
                };
                Value::scalar(
                    fold::binary(BinaryOp::Mul, num.expr, Expr::Const(factor)),
                    ty,
                )
            }
            ("sin_cos", 0) if float => {
                let num = self.shared("value", num);
                Value::Tuple(vec![
                    call(Func::Sin, vec![num.clone()]),
                    call(Func::Cos, vec![num]),
                ])
            }
            ("is_positive" | "is_negative", 0) if int => {
                let Ty::Known(scalar) = self.types.resolve(ty) else {
                    return Err(self.unknown(span, "this method of this type"));
                };
                let zero = Expr::Const(Const::Int(scalar, 0));
                let op = if name == "is_positive" {
                    CompareOp::Gt
                } else {
                    CompareOp::Lt
                };
                Value::Scalar(bool_num(fold::compare(op, num.expr, zero)))
            }
            ("div_ceil", 1) if self.types.resolve(ty) == Ty::Known(Scalar::Usize) => {
                let divisor = self.stable("divisor", nums.remove(0));
                self.unify(divisor.ty, ty, span)?;
                let divisor = self.settle(divisor.expr);
                if !self.positive(&divisor) {
                    let bad = self.decide(CompareOp::Eq, divisor.clone(), Expr::index(0));
                    self.panic_if(bad);
                }
                let a = self.shared("value", num);
                let less = fold::binary(BinaryOp::Sub, divisor.clone(), Expr::index(1));
                let up = fold::binary(BinaryOp::Add, a.expr, less);
                Value::scalar(self.quotient(up, divisor, false)?, ty)
            }
            ("to_f32" | "to_f64", 0)
                if matches!(
                    self.types.resolve(ty),
                    Ty::Known(Scalar::F16 | Scalar::Bf16)
                ) =>
            {
                let to = if name == "to_f32" {
                    Scalar::F32
                } else {
                    Scalar::F64
                };
                Value::scalar(Expr::Cast(to, Box::new(num.expr)), Ty::Known(to))
            }
            ("unsigned_abs", 0) if int => {
                let Ty::Known(scalar) = self.types.resolve(ty) else {
                    return Err(self.unknown(span, "this method of this type"));
                };
                let unsigned = Func::AbsDiff.result(scalar);
                let abs = Expr::Call(Func::Abs, vec![num.expr]);
                Value::scalar(fold::cast(unsigned, Some(scalar), abs), Ty::Known(unsigned))
            }
            ("count_zeros", 0) if int => {
                let not = Expr::Call(Func::Not, vec![num.expr]);
                Value::scalar(
                    Expr::Call(Func::CountOnes, vec![not]),
                    Ty::Known(Scalar::U32),
                )
            }
            _ => {
                return Err(self.unknown(span, format!("the method `{name}` of a number")));
            }
        })
    }

    /// `clamp` with bounds whose order is known; NaN stays NaN.
    fn clamp(&mut self, num: Num, lo: Expr, hi: Expr) -> Value {
        let ty = num.ty;
        let in_order = match (&lo, &hi) {
            (Expr::Const(Const::Int(_, a)), Expr::Const(Const::Int(_, b))) => a <= b,
            (Expr::Const(Const::Float(_, a)), Expr::Const(Const::Float(_, b))) => a <= b,
            _ => false,
        };
        if !in_order {
            let (lo_held, hi_held) = (
                self.stable(
                    "low",
                    Num {
                        expr: lo.clone(),
                        ty,
                    },
                )
                .expr,
                self.stable(
                    "high",
                    Num {
                        expr: hi.clone(),
                        ty,
                    },
                )
                .expr,
            );
            let fine = fold::compare(CompareOp::Le, lo_held.clone(), hi_held.clone());
            self.panic_if(fold::not(fine));
            return self.clamp_between(num, lo_held, hi_held);
        }
        self.clamp_between(num, lo, hi)
    }

    fn clamp_between(&mut self, num: Num, lo: Expr, hi: Expr) -> Value {
        let ty = num.ty;
        if self.types.class(ty) == Class::Int {
            let low = Expr::Call(Func::Max, vec![num.expr, lo]);
            return Value::scalar(Expr::Call(Func::Min, vec![low, hi]), ty);
        }
        // `max` would drop a NaN; `clamp` keeps it.
        let num = self.shared("value", num);
        let below = fold::compare(CompareOp::Lt, num.expr.clone(), lo.clone());
        let above = fold::compare(CompareOp::Gt, num.expr.clone(), hi.clone());
        let upper = fold::select(above, hi, num.expr);
        Value::scalar(fold::select(below, lo, upper), ty)
    }
}
