//! Pairs of operations that vectors do as one, rounded differently than one by one.
//!
//! Owns the patterns. Whether they are wanted is `EmitOptions::contract`; that results stay within the accuracy budget
//! is for verification to say.

use crate::ir::{BinaryOp, Const, Expr, Func};

use super::vector::{Lanes, Outcome};

impl Lanes<'_> {
    /// `a op b` of floats as one operation, if there is one.
    pub(super) fn contracted(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
    ) -> Outcome<Option<String>> {
        if op == BinaryOp::Div && self.is_uniform(b) {
            let divisor = self.native.text(b);
            return Ok(Some(format!("{}.div_uniform({divisor})", self.lanes(a)?)));
        }
        if op == BinaryOp::Add {
            for (one, other) in [(a, b), (b, a)] {
                if let (Expr::Const(Const::Float(_, 1.0)), Expr::Call(Func::Tanh, args)) =
                    (one, other)
                    && let [arg] = args.as_slice()
                {
                    return Ok(Some(format!("{}.one_plus_tanh()", self.lanes(arg)?)));
                }
            }
        }
        self.fused(op, a, b)
    }

    /// `a * b + c` and its relatives as one operation.
    fn fused(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Outcome<Option<String>> {
        fn product(expr: &Expr) -> Option<(&Expr, &Expr)> {
            match expr {
                Expr::Binary(BinaryOp::Mul, x, y) => Some((x, y)),
                _ => None,
            }
        }
        let left = product(a).filter(|_| !self.is_uniform(a));
        let right = product(b).filter(|_| !self.is_uniform(b));
        Ok(match (op, left, right) {
            (BinaryOp::Add, _, Some((x, y))) => Some(format!(
                "{}.mul_add({}, {})",
                self.lanes(x)?,
                self.lanes(y)?,
                self.lanes(a)?
            )),
            (BinaryOp::Add, Some((x, y)), None) => Some(format!(
                "{}.mul_add({}, {})",
                self.lanes(x)?,
                self.lanes(y)?,
                self.lanes(b)?
            )),
            (BinaryOp::Sub, _, Some((x, y))) => Some(format!(
                "{}.neg_mul_add({}, {})",
                self.lanes(x)?,
                self.lanes(y)?,
                self.lanes(a)?
            )),
            (BinaryOp::Sub, Some((x, y)), None) => Some(format!(
                "{}.mul_add({}, {}.neg())",
                self.lanes(x)?,
                self.lanes(y)?,
                self.lanes(b)?
            )),
            _ => None,
        })
    }
}
