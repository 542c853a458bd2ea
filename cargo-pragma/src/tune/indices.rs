//! Which buffers hold indices into others, and below what they must stay.
//!
//! Owns reading that off a lifted program, so that test data hits what it points to. A function that checks its indices
//! declines bad ones; one that does not would panic on nearly everything.

use std::collections::BTreeMap;

use pragma_spec::{DimExpr, KernelSignature, Shape};
use pragma_synth::ir::{BinaryOp, BufId, Const, Expr, Param, Program, Stmt, VarId};

/// Integer parameters whose elements are used as indices, and one more than the largest that fits everywhere.
pub fn indices(program: &Program, signature: &KernelSignature) -> Vec<(String, DimExpr)> {
    let mut search = Search {
        program,
        from: BTreeMap::new(),
        uses: Vec::new(),
    };
    search.block(&program.body);
    let mut found: Vec<(String, DimExpr)> = Vec::new();
    for (index, target, factor) in search.uses {
        let params = program.params.iter().zip(&signature.params);
        let name = params
            .filter(|(param, _)| **param == Param::Buffer(index))
            .map(|(_, sig)| sig)
            .find(|sig| sig.kind.elem().is_integer() && !sig.kind.is_mutable());
        let decl = program.bufs.get(target.0 as usize);
        let (Some(sig), Some(decl)) = (name, decl) else {
            continue;
        };
        let Some(bound) = bound(program, &decl.shape, &factor) else {
            continue;
        };
        // The first use decides; another one with a smaller bound would need the sizes to tell.
        if !found.iter().any(|(known, _)| *known == sig.name) {
            found.push((sig.name.clone(), bound));
        }
    }
    found
}

/// One more than the largest `i` for which `i * factor` lies in an array of this shape: the extent that has `factor`
/// elements behind it.
fn bound(program: &Program, shape: &Shape, factor: &DimExpr) -> Option<DimExpr> {
    // Different primes for different dimensions: equal values mean equal products.
    const PRIMES: [u64; 12] = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157];
    let value = |expr: &DimExpr| {
        expr.eval(&|name| {
            let at = program.dims.iter().position(|dim| dim == name)?;
            PRIMES.get(at).copied()
        })
    };
    let wanted = value(factor)?;
    let extents = &shape.0;
    let fits = |at: &usize| value(&DimExpr::product(&extents[at + 1..])) == Some(wanted);
    match (0..extents.len()).find(fits) {
        Some(at) => Some(extents[at].clone()),
        None if extents.is_empty() => None,
        None => Some(DimExpr::Div(
            Box::new(shape.len()),
            Box::new(factor.clone()),
        )),
    }
}

struct Search<'a> {
    program: &'a Program,
    /// Variables that hold an element of a buffer as it is.
    from: BTreeMap<VarId, BufId>,
    /// Where an element is used: its buffer, the buffer indexed, and what it is multiplied with.
    uses: Vec<(BufId, BufId, DimExpr)>,
}

impl Search<'_> {
    fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            for expr in stmt.exprs() {
                let mut loads = Vec::new();
                expr.walk(&mut |node| {
                    if let Expr::Load { buf, index } = node {
                        loads.push((*buf, (**index).clone()));
                    }
                });
                for (buf, index) in loads {
                    self.index(buf, &index, &DimExpr::Const(1));
                }
            }
            match stmt {
                Stmt::Let { var, value } => {
                    if let Some(buf) = self.element(value) {
                        self.from.insert(*var, buf);
                    }
                }
                Stmt::Store { buf, index, .. } => self.index(*buf, index, &DimExpr::Const(1)),
                _ => {}
            }
            for block in stmt.blocks() {
                self.block(block);
            }
        }
    }

    /// The buffer of which `expr` is an element.
    fn element(&self, expr: &Expr) -> Option<BufId> {
        match expr {
            Expr::Load { buf, .. } => Some(*buf),
            Expr::Var(var) => self.from.get(var).copied(),
            Expr::Cast(_, inner) => self.element(inner),
            _ => None,
        }
    }

    fn index(&mut self, target: BufId, expr: &Expr, factor: &DimExpr) {
        if let Some(buf) = self.element(expr) {
            self.uses.push((buf, target, factor.clone()));
            return;
        }
        match expr {
            Expr::Cast(_, inner) => self.index(target, inner, factor),
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
                self.index(target, a, factor);
                self.index(target, b, factor);
            }
            Expr::Binary(BinaryOp::Mul, a, b) => {
                for (inner, other) in [(a, b), (b, a)] {
                    if let Some(other) = self.size(other) {
                        let factor = match factor {
                            DimExpr::Const(1) => other,
                            factor => DimExpr::Mul(Box::new(factor.clone()), Box::new(other)),
                        };
                        self.index(target, inner, &factor);
                    }
                }
            }
            _ => {}
        }
    }

    /// An expression of dimensions and numbers.
    fn size(&self, expr: &Expr) -> Option<DimExpr> {
        match expr {
            Expr::Const(Const::Int(_, value)) => u64::try_from(*value).ok().map(DimExpr::Const),
            Expr::Dim(dim) => self.program.dims.get(*dim).map(DimExpr::dim),
            Expr::Cast(_, inner) => self.size(inner),
            Expr::Binary(BinaryOp::Mul, a, b) => Some(DimExpr::Mul(
                Box::new(self.size(a)?),
                Box::new(self.size(b)?),
            )),
            _ => None,
        }
    }
}
