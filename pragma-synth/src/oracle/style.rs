//! Scalar Rust in which every float is a `Dual`.

use pragma_spec::{DimExpr, Scalar};

use crate::emit::scalar::{Code, ScalarStyle, strength};
use crate::ir::{BufId, BufRole, CompareOp, Program, StoreHint};

/// Floats are `Dual`; inputs are slices of the parameter's type, others of `Dual` or integers.
pub(super) struct DualStyle;

impl ScalarStyle for DualStyle {
    fn type_name(&self, scalar: Scalar) -> String {
        if scalar.is_float() {
            "Dual".to_owned()
        } else {
            scalar.name().to_owned()
        }
    }

    fn float(&self, _: Scalar, value: f64) -> Code {
        // An `f32` literal is its exact value, as many digits as that takes.
        let value = if value.is_nan() {
            "f64::NAN".to_owned()
        } else if value.is_infinite() {
            let sign = if value < 0.0 { "NEG_" } else { "" };
            format!("f64::{sign}INFINITY")
        } else {
            format!("{value:?}")
        };
        Code::atom(format!("Dual::exact({value})"))
    }

    fn load(&self, program: &Program, buf: BufId, index: Code) -> Code {
        let decl = program.buf(buf);
        let element = format!("{}[{}]", decl.name, index.bare());
        match decl.role {
            BufRole::Input if decl.elem.is_float() => {
                Code::atom(format!("Dual::exact({element} as f64)"))
            }
            _ => Code::atom(element),
        }
    }

    fn store(
        &self,
        program: &Program,
        buf: BufId,
        index: Code,
        value: Code,
        _: StoreHint,
    ) -> String {
        let name = &program.buf(buf).name;
        format!("{name}[{}] = {};", index.bare(), value.bare())
    }

    fn alloc(&self, program: &Program, buf: BufId, len: Code, fill: Code) -> String {
        let decl = program.buf(buf);
        let (name, len) = (&decl.name, len.bare());
        let fill = if decl.elem.is_integer() {
            format!("({}) as {}", fill.bare(), decl.elem)
        } else {
            fill.bare().to_owned()
        };
        match decl.role {
            BufRole::Return => format!("assert_eq!({name}.len(), {len}); {name}.fill({fill});"),
            // A slice, since an index into a `Vec` cannot mention the `Vec`.
            _ => format!(
                "let mut {name} = ::std::vec![{fill}; {len}]; let {name} = &mut {name}[..];"
            ),
        }
    }

    fn cast(&self, from: Scalar, to: Scalar, value: Code) -> Code {
        match (from.is_float(), to.is_float()) {
            (true, true) => value,
            (true, false) => {
                Code::atom(format!("{}.v", value.at(strength::POSTFIX))).cast(to.name())
            }
            _ => Code::atom(format!("Dual::exact({})", value.cast("f64").bare())),
        }
    }

    fn float_to_bits(&self, scalar: Scalar, value: Code) -> Code {
        let value = Code::atom(format!("{}.v", value.at(strength::POSTFIX)));
        match scalar {
            Scalar::F32 => value.cast("f32").method("to_bits", &[]),
            _ => value.method("to_bits", &[]),
        }
    }

    fn bits_to_float(&self, scalar: Scalar, bits: Code) -> Code {
        Code::atom(format!(
            "Dual::exact({scalar}::from_bits({}) as f64)",
            bits.bare()
        ))
    }

    fn select(
        &self,
        op: CompareOp,
        [a, b]: [&Code; 2],
        then: &Code,
        otherwise: &Code,
    ) -> Option<Code> {
        let name = match op {
            CompareOp::Lt => "lt",
            CompareOp::Le => "le",
            CompareOp::Gt => "gt",
            CompareOp::Ge => "ge",
            CompareOp::Eq => "eq",
            CompareOp::Ne => "ne",
        };
        let args = [a, b, then, otherwise].map(Code::bare).join(", ");
        Some(Code::atom(format!("Dual::choose_{name}({args})")))
    }

    fn returns(&self, values: &[Code]) -> String {
        if values.is_empty() {
            return "return;".to_owned();
        }
        let values: Vec<_> = values
            .iter()
            .map(|value| value.bare().to_owned() + ",")
            .collect();
        format!("return ({});", values.join(" "))
    }
}

/// A size as Rust over the entry's variables for dimensions, `d0`, `d1`, ..; the guard has found
/// that it does not overflow.
pub(super) fn extent(program: &Program, expr: &DimExpr) -> String {
    let (a, op, b) = match expr {
        DimExpr::Const(value) => return format!("{value}usize"),
        DimExpr::Dim(name) => {
            let index = program.dims.iter().position(|dim| dim == name);
            return format!("d{}", index.unwrap_or(usize::MAX));
        }
        DimExpr::Add(a, b) => (a, '+', b),
        DimExpr::Sub(a, b) => (a, '-', b),
        DimExpr::Mul(a, b) => (a, '*', b),
        DimExpr::Div(a, b) => (a, '/', b),
    };
    format!("({} {op} {})", extent(program, a), extent(program, b))
}
