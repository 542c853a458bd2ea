//! Functions of scalars as CUDA C++.
//!
//! Owns what each of `ir::Func` is called there; `device` has the text of those that CUDA lacks.

use pragma_spec::Scalar;

use crate::ir::interp::int_bits;
use crate::ir::{Expr, Func};

use super::expr::{Bind, Code, Spell, unsigned_type, wrapping_type};

impl Spell<'_> {
    pub(super) fn call(&self, func: Func, args: &[Expr]) -> Code {
        let Some(first) = args.first() else {
            // `verify` refuses a call without arguments.
            return Code::atom("0");
        };
        let scalar = first.scalar(self.program);
        let codes: Vec<Code> = args.iter().map(|arg| self.expr(arg)).collect();
        let x = codes[0].clone();
        let list = codes
            .iter()
            .map(|code| code.text.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        match func {
            Func::IsNan => {
                let x = x.at(Bind::Postfix);
                return Code::new(format!("{x} != {x}"), Bind::Equal);
            }
            Func::IsFinite => {
                self.helper("infinity");
                let (abs, wide) = if scalar == Scalar::F64 {
                    ("fabs", "f64")
                } else {
                    ("fabsf", "f32")
                };
                let text = format!("{abs}({}) < infinity_{wide}()", x.text);
                return Code::new(text, Bind::Compare);
            }
            Func::ToBits => {
                return match scalar {
                    Scalar::F64 => Code::atom(format!("(u64)__double_as_longlong({})", x.text)),
                    Scalar::Bf16 => {
                        self.helper("bf16");
                        Code::atom(format!("narrow_bf16({}).bits", x.text))
                    }
                    _ => Code::atom(format!("__float_as_uint({})", x.text)),
                };
            }
            Func::FromBits => {
                return match scalar {
                    Scalar::U64 => {
                        Code::atom(format!("__longlong_as_double((i64){})", x.at(Bind::Unary)))
                    }
                    _ => Code::atom(format!("__uint_as_float({})", x.text)),
                };
            }
            _ => {}
        }
        if scalar.is_float() {
            let code = self.float_call(func, scalar, &x, &list);
            return self.rounded(scalar, code);
        }
        if scalar == Scalar::Bool {
            return match func {
                Func::Not => Code::new(format!("!{}", x.at(Bind::Unary)), Bind::Unary),
                Func::Max => x.infix("||", &codes[1], Bind::OrElse),
                _ => x.infix("&&", codes.get(1).unwrap_or(&x), Bind::AndThen),
            };
        }
        self.int_call(func, scalar, &codes, &list)
    }

    fn float_call(&self, func: Func, scalar: Scalar, x: &Code, list: &str) -> Code {
        let suffix = if scalar == Scalar::F64 { "" } else { "f" };
        let one = if scalar == Scalar::F64 { "1.0" } else { "1.0f" };
        let name = match func {
            Func::Neg => return Code::new(format!("-{}", x.at(Bind::Postfix)), Bind::Unary),
            Func::Recip => {
                return Code::atom(one).infix("/", x, Bind::Product);
            }
            Func::Signum => {
                self.helper("float_signum");
                return Code::atom(format!("signum({list})"));
            }
            Func::RemEuclid | Func::DivEuclid => {
                self.helper("float_euclid");
                return Code::atom(format!("{}({list})", func.name()));
            }
            Func::Powi => {
                self.helper("powi");
                return Code::atom(format!("powi({list})"));
            }
            Func::Abs => "fabs",
            Func::Sqrt => "sqrt",
            Func::Cbrt => "cbrt",
            Func::Floor => "floor",
            Func::Ceil => "ceil",
            Func::Trunc => "trunc",
            Func::Round => "round",
            Func::RoundTiesEven => "rint",
            Func::Exp => "exp",
            Func::Exp2 => "exp2",
            Func::ExpM1 => "expm1",
            Func::Ln => "log",
            Func::Log2 => "log2",
            Func::Log10 => "log10",
            Func::Ln1p => "log1p",
            Func::Sin => "sin",
            Func::Cos => "cos",
            Func::Tan => "tan",
            Func::Asin => "asin",
            Func::Acos => "acos",
            Func::Atan => "atan",
            Func::Sinh => "sinh",
            Func::Cosh => "cosh",
            Func::Tanh => "tanh",
            Func::Max => "fmax",
            Func::Min => "fmin",
            Func::Copysign => "copysign",
            Func::Powf => "pow",
            Func::Atan2 => "atan2",
            Func::Hypot => "hypot",
            // The rest has no meaning on floats: `verify` refuses it.
            _ => "fma",
        };
        Code::atom(format!("{name}{suffix}({list})"))
    }

    fn int_call(&self, func: Func, scalar: Scalar, codes: &[Code], list: &str) -> Code {
        let name = scalar.name();
        let x = &codes[0];
        let bits = int_bits(scalar);
        let unsigned = unsigned_type(scalar);
        let wide = || x.cast(unsigned).cast("u64");
        let two = |helper: &'static str, function: &str| {
            self.helper(helper);
            Code::atom(format!("{function}<{name}>({list})"))
        };
        let failing = |function: &str| {
            self.helper("euclid");
            let fault = self.fault();
            Code::atom(format!("{function}<{name}>({list}, {fault})"))
        };
        match func {
            Func::Neg => Code::atom("0u")
                .infix("-", &x.cast(wrapping_type(scalar)), Bind::Sum)
                .cast(name),
            Func::Not => Code::new(format!("~{}", x.at(Bind::Unary)), Bind::Unary).cast(name),
            Func::Abs if !scalar.is_signed() => x.clone(),
            Func::Abs => {
                let x = x.at(Bind::Postfix);
                let wrapping = wrapping_type(scalar);
                Code::new(
                    format!("{x} < 0 ? ({name})(0u - ({wrapping}){x}) : {x}"),
                    Bind::Choice,
                )
            }
            Func::Signum => {
                let x = x.at(Bind::Postfix);
                Code::new(format!("({x} > 0) - ({x} < 0)"), Bind::Sum).cast(name)
            }
            Func::CountOnes => Code::atom(format!("__popcll({})", wide().text)).cast("u32"),
            Func::LeadingZeros => Code::atom(format!("__clzll((i64){})", wide().at(Bind::Unary)))
                .infix("-", &Code::atom((64 - bits).to_string()), Bind::Sum)
                .cast("u32"),
            Func::TrailingZeros => {
                let value = x.at(Bind::Postfix);
                let wide = wide().at(Bind::Unary);
                Code::new(
                    format!("{value} == 0 ? {bits}u : (u32)(__ffsll((i64){wide}) - 1)"),
                    Bind::Choice,
                )
            }
            Func::Max => two("extremes", "max_of"),
            Func::Min => two("extremes", "min_of"),
            Func::RemEuclid => failing("rem_euclid"),
            Func::DivEuclid => failing("div_euclid"),
            Func::AbsDiff => {
                let result = func.result(scalar).name();
                let (a, b) = (x.at(Bind::Postfix), codes[1].at(Bind::Postfix));
                let wrapping = wrapping_type(scalar);
                Code::new(
                    format!("({a} > {b} ? ({wrapping}){a} - ({wrapping}){b} : ({wrapping}){b} - ({wrapping}){a})"),
                    Bind::Postfix,
                )
                .cast(result)
            }
            Func::SaturatingAdd => two("saturating", "saturating_add"),
            Func::SaturatingSub => two("saturating", "saturating_sub"),
            Func::RotateLeft | Func::RotateRight => {
                self.helper("rotate");
                let count = codes[1].at(Bind::Postfix);
                let count = if func == Func::RotateLeft {
                    format!("{count} % {bits}u")
                } else {
                    format!("{bits}u - {count} % {bits}u")
                };
                Code::atom(format!(
                    "({name})rotate_left<{unsigned}>(({unsigned}){}, {count})",
                    x.at(Bind::Unary)
                ))
            }
            _ => x.clone(),
        }
    }
}
