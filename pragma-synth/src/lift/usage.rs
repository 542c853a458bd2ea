//! What a function does with the parts of its parameters, as far as its source shows: which
//! scalars behind `&mut` it writes to, and which fields it never looks at.
//!
//! Needed before a signature is flattened, hence without types. Helpers of the crate that are
//! handed a parameter are looked into by name. In doubt a scalar is written and a field is read.

use std::collections::BTreeSet;

use pragma_spec::form::{FlattenPlace, Form, Instance, Owner, Pattern};
use pragma_spec::{KernelSignature, SpecError};
use syn::visit::{self, Visit};

use super::SourceCrate;

/// Helpers inside helpers, at most.
const MAX_DEPTH: usize = 6;

/// What a function does with its parameters.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Scalars that it writes to, as leaves are called: `self.count`, `sum`.
    pub written: BTreeSet<String>,
    members: BTreeSet<String>,
    /// Whether some parameter is used as a whole, so that all of it may be read.
    whole: bool,
}

impl Usage {
    /// The fields of structs among the parameters that the function does not read, as leaves are
    /// called. `signature` is that of the function with all fields.
    pub fn unread(&self, signature: &KernelSignature) -> BTreeSet<String> {
        let mut unread = BTreeSet::new();
        if self.whole {
            return unread;
        }
        for param in &signature.form.params {
            if let Pattern::Name(name) = &param.pattern {
                self.unread_in(name, &param.form, &mut unread);
            }
        }
        unread
    }

    fn unread_in(&self, name: &str, form: &Form, into: &mut BTreeSet<String>) {
        match form {
            Form::Ref { inner, .. } => self.unread_in(name, inner, into),
            Form::Record(record) => {
                for field in &record.fields {
                    let path = format!("{name}.{}", field.name);
                    if self.members.contains(&field.name) {
                        self.unread_in(&path, &field.form, into);
                    } else {
                        into.insert(path);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The flat signature of a function or method: with leaves for what it uses only.
///
/// # Errors
/// As [`KernelSignature::flatten`] says.
pub fn flatten(
    krate: &SourceCrate,
    module: &[String],
    function: &syn::ItemFn,
    owner: Option<&syn::ItemImpl>,
    instance: &Instance,
) -> Result<KernelSignature, SpecError> {
    let usage = usage(krate, function);
    let none = BTreeSet::new();
    let all = FlattenPlace {
        module,
        owner: owner.map(|owner| Owner {
            ty: &owner.self_ty,
            generics: &owner.generics,
        }),
        instance,
        lookup: krate,
        written: &usage.written,
        unread: &none,
    };
    let signature = KernelSignature::flatten(&function.sig, &all)?;
    let unread = usage.unread(&signature);
    if unread.is_empty() {
        return Ok(signature);
    }
    let used = FlattenPlace {
        unread: &unread,
        ..all
    };
    KernelSignature::flatten(&function.sig, &used)
}

/// What `function` does with its parameters.
pub fn usage(krate: &SourceCrate, function: &syn::ItemFn) -> Usage {
    let mut finder = Finder {
        krate,
        usage: Usage::default(),
        roots: names_of(&function.sig)
            .into_iter()
            .map(|name| (name.clone(), name))
            .collect(),
        depth: 0,
    };
    finder.visit_block(&function.block);
    finder.usage
}

fn names_of(sig: &syn::Signature) -> Vec<String> {
    sig.inputs
        .iter()
        .map(|input| match input {
            syn::FnArg::Receiver(_) => "self".to_owned(),
            syn::FnArg::Typed(typed) => match &*typed.pat {
                syn::Pat::Ident(pat) => pat.ident.to_string(),
                _ => String::new(),
            },
        })
        .collect()
}

struct Finder<'k> {
    krate: &'k SourceCrate,
    usage: Usage,
    /// Names in the function being looked at, and what they are of the kernel's parameters.
    roots: Vec<(String, String)>,
    depth: usize,
}

impl Finder<'_> {
    /// The way from a parameter of the kernel to what an expression denotes.
    fn path(&self, expr: &syn::Expr) -> Option<String> {
        match expr {
            syn::Expr::Path(path) => {
                let name = path.path.get_ident()?.to_string();
                let found = self.roots.iter().find(|(local, _)| *local == name);
                found.map(|(_, root)| root.clone())
            }
            syn::Expr::Field(field) => {
                let base = self.path(&field.base)?;
                Some(match &field.member {
                    syn::Member::Named(name) => format!("{base}.{name}"),
                    syn::Member::Unnamed(index) => format!("{base}.{}", index.index),
                })
            }
            syn::Expr::Paren(inner) => self.path(&inner.expr),
            syn::Expr::Group(inner) => self.path(&inner.expr),
            syn::Expr::Reference(inner) => self.path(&inner.expr),
            syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => {
                self.path(&unary.expr)
            }
            _ => None,
        }
    }

    fn write(&mut self, target: &syn::Expr) {
        match target {
            syn::Expr::Tuple(list) => list.elems.iter().for_each(|elem| self.write(elem)),
            target => {
                if let Some(path) = self.path(target) {
                    self.usage.written.insert(path);
                }
            }
        }
    }

    /// Looks into a helper that is handed these.
    fn enter(&mut self, sig: &syn::Signature, block: &syn::Block, args: Vec<Option<String>>) {
        if self.depth >= MAX_DEPTH {
            self.usage.whole = true;
            return;
        }
        let roots = names_of(sig)
            .into_iter()
            .zip(args)
            .filter_map(|(name, arg)| Some((name, arg?)))
            .collect();
        let outer = std::mem::replace(&mut self.roots, roots);
        self.depth += 1;
        self.visit_block(block);
        self.depth -= 1;
        self.roots = outer;
    }

    fn call(&mut self, name: &str, args: Vec<Option<String>>) {
        let mut found = false;
        let krate = self.krate;
        for module in &krate.modules {
            for item in &module.items {
                match item {
                    syn::Item::Fn(item) if item.sig.ident == name => {
                        found = true;
                        self.enter(&item.sig, &item.block, args.clone());
                    }
                    syn::Item::Impl(item) => {
                        for member in &item.items {
                            if let syn::ImplItem::Fn(member) = member
                                && member.sig.ident == name
                            {
                                found = true;
                                self.enter(&member.sig, &member.block, args.clone());
                            }
                        }
                    }
                    syn::Item::Trait(item) => {
                        for member in &item.items {
                            if let syn::TraitItem::Fn(member) = member
                                && member.sig.ident == name
                                && let Some(block) = &member.default
                            {
                                found = true;
                                self.enter(&member.sig, block, args.clone());
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
        // A struct as a whole goes to someone unknown: `self.clone()`.
        if !found && args.iter().flatten().any(|path| !path.contains('.')) {
            self.usage.whole |= args.iter().flatten().any(|path| path == "self");
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        match expr {
            syn::Expr::Assign(assign) => self.write(&assign.left),
            syn::Expr::Binary(binary) if is_assignment(&binary.op) => self.write(&binary.left),
            syn::Expr::Reference(reference) if reference.mutability.is_some() => {
                self.write(&reference.expr);
            }
            syn::Expr::Field(field) => {
                if let syn::Member::Named(name) = &field.member {
                    self.usage.members.insert(name.to_string());
                } else if let syn::Member::Unnamed(index) = &field.member {
                    self.usage.members.insert(index.index.to_string());
                }
            }
            syn::Expr::MethodCall(call) if self.depth < MAX_DEPTH => {
                let receiver = self.path(&call.receiver);
                let args: Vec<Option<String>> = std::iter::once(receiver.clone())
                    .chain(call.args.iter().map(|arg| self.path(arg)))
                    .collect();
                if args.iter().any(Option::is_some) {
                    self.call(&call.method.to_string(), args);
                }
            }
            syn::Expr::Call(call) => {
                let args: Vec<Option<String>> =
                    call.args.iter().map(|arg| self.path(arg)).collect();
                if let syn::Expr::Path(path) = &*call.func
                    && let Some(last) = path.path.segments.last()
                    && args.iter().any(Option::is_some)
                {
                    self.call(&last.ident.to_string(), args);
                }
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_field_pat(&mut self, pat: &'ast syn::FieldPat) {
        if let syn::Member::Named(name) = &pat.member {
            self.usage.members.insert(name.to_string());
        }
        visit::visit_field_pat(self, pat);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        // Fields named in the arguments of `assert!` and the like.
        for token in mac.tokens.clone() {
            note_idents(&token, &mut self.usage.members);
        }
        let parse = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(args) = mac.parse_body_with(parse) {
            args.iter().for_each(|arg| self.visit_expr(arg));
        }
    }
}

fn note_idents(token: &proc_macro2::TokenTree, into: &mut BTreeSet<String>) {
    match token {
        proc_macro2::TokenTree::Ident(ident) => {
            into.insert(ident.to_string());
        }
        proc_macro2::TokenTree::Group(group) => {
            group
                .stream()
                .into_iter()
                .for_each(|token| note_idents(&token, into));
        }
        _ => {}
    }
}

fn is_assignment(op: &syn::BinOp) -> bool {
    matches!(
        op,
        syn::BinOp::AddAssign(_)
            | syn::BinOp::SubAssign(_)
            | syn::BinOp::MulAssign(_)
            | syn::BinOp::DivAssign(_)
            | syn::BinOp::RemAssign(_)
            | syn::BinOp::BitXorAssign(_)
            | syn::BinOp::BitAndAssign(_)
            | syn::BinOp::BitOrAssign(_)
            | syn::BinOp::ShlAssign(_)
            | syn::BinOp::ShrAssign(_)
    )
}
