//! Which places behind a `&mut` a function may write to.
//!
//! Owns a syntactic guess that errs on the side of writing: a number that is taken for written is handed to kernels as a
//! buffer of one. What the function really does is the lifter's finding.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};
use syn::{Expr, ItemFn, Member};

use super::kernels::ImplOwner;
use super::types::CrateTypes;

/// The paths that `function` assigns to, or hands out mutably, as leaves are called: `self.count`, `state.z.0`.
///
/// Methods of the same type that it calls on `self` count as a part of it.
pub fn written(
    function: &ItemFn,
    owner: Option<&ImplOwner>,
    types: &CrateTypes<'_>,
) -> BTreeSet<String> {
    let mut search = Search::default();
    search.visit_block(&function.block);
    let mut seen = BTreeSet::new();
    while let (Some(name), Some(owner)) = (search.called.pop(), owner) {
        if seen.insert(name.clone()) {
            for method in types.methods(&owner.name, &name) {
                search.visit_block(&method.block);
            }
        }
    }
    search.written
}

#[derive(Default)]
struct Search {
    written: BTreeSet<String>,
    /// Methods called on `self`.
    called: Vec<String>,
}

impl<'ast> Visit<'ast> for Search {
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        self.write(&assign.left);
        visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        use syn::BinOp::{
            AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign,
            ShlAssign, ShrAssign, SubAssign,
        };
        if matches!(
            binary.op,
            AddAssign(_)
                | SubAssign(_)
                | MulAssign(_)
                | DivAssign(_)
                | RemAssign(_)
                | BitAndAssign(_)
                | BitOrAssign(_)
                | BitXorAssign(_)
                | ShlAssign(_)
                | ShrAssign(_)
        ) {
            self.write(&binary.left);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        if reference.mutability.is_some() {
            self.write(&reference.expr);
        }
        visit::visit_expr_reference(self, reference);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if matches!(&*call.receiver, Expr::Path(path) if path.path.is_ident("self")) {
            self.called.push(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }
}

impl Search {
    fn write(&mut self, target: &Expr) {
        if let Expr::Tuple(tuple) = target {
            tuple.elems.iter().for_each(|part| self.write(part));
        } else if let Some(path) = place(target) {
            self.written.insert(path);
        }
    }
}

/// The path of a place: `*x` is `x`.
fn place(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Path(path) => path.path.get_ident().map(|ident| {
            let name = ident.to_string();
            name.strip_prefix("r#").unwrap_or(&name).to_owned()
        }),
        Expr::Field(field) => {
            let member = match &field.member {
                Member::Named(name) => name.to_string(),
                Member::Unnamed(index) => index.index.to_string(),
            };
            let member = member.strip_prefix("r#").unwrap_or(&member);
            Some(format!("{}.{member}", place(&field.base)?))
        }
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => place(&unary.expr),
        Expr::Paren(paren) => place(&paren.expr),
        Expr::Group(group) => place(&group.expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::modules::Module;

    #[test]
    fn assignments_and_what_helpers_assign() {
        let text = "struct C { n: u32 } impl C { \
            fn f(&mut self, acc: &mut f32, s: &mut State) { \
                *acc += 1.0; (s.a, s.b.0) = (1, 2); self.bump(); let mut local = 0; local += 1; g(&mut s.c); s.d[0] = 3; } \
            fn bump(&mut self) { self.n += 1; self.bump(); } }";
        let items = syn::parse_file(text).expect("valid source").items;
        let modules = [Module {
            path: Vec::new(),
            file: "lib.rs".into(),
            items,
        }];
        let types = CrateTypes::new(&modules);
        let method = types.methods("C", "f").next().expect("a method").clone();
        let function = ItemFn {
            attrs: Vec::new(),
            vis: method.vis,
            modifiers: method.modifiers,
            sig: method.sig,
            block: Box::new(method.block),
        };
        let owner = ImplOwner {
            ty: syn::parse_str("C").expect("a type"),
            generics: syn::Generics::default(),
            name: "C".to_owned(),
        };
        let found = written(&function, Some(&owner), &types);
        let expected = ["acc", "local", "s.a", "s.b.0", "s.c", "self.n"];
        assert_eq!(
            found.iter().map(String::as_str).collect::<Vec<_>>(),
            expected
        );
    }
}
