//! Reading a kernel's source before a compiler does: what it may contain is listed, everything else is refused.
//!
//! Owns the walk over items, types and expressions; the lists of names are in `names`. A kernel that is refused here
//! may be harmless: the screen is the second wall, behind what running the kernel shows. It is not meant to stop writes
//! through wild pointers, which the sandbox and the comparison of results are for.

mod names;
mod uses;

use proc_macro2::Span;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, Item, Pat, Stmt, Token, Type};

use uses::Scope;

/// Why a source is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct Refusal {
    /// What it contains, one sentence without its end.
    pub what: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

/// Screens the source of a kernel, as it would be vendored.
///
/// # Errors
/// The first thing in it that is not on the list.
pub fn screen(source: &str) -> Result<(), Refusal> {
    let mut file = syn::parse_file(source)
        .map_err(|error| refusal(error.span(), format!("not Rust: {error}")))?;
    // A file may hold several texts, each in a module of its own and screened by itself.
    let mut texts: Vec<(syn::Ident, syn::File)> = Vec::new();
    file.items.retain_mut(|item| match item {
        Item::Mod(item) if item.attrs.is_empty() && item.unsafety.is_none() => {
            match item.content.take() {
                Some((_, items)) => {
                    let text = syn::File {
                        shebang: None,
                        frontmatter: None,
                        attrs: Vec::new(),
                        items,
                    };
                    texts.push((item.ident.clone(), text));
                    false
                }
                None => true,
            }
        }
        _ => true,
    });
    file.items.retain(|item| {
        !uses::is_reexport(item, |module| texts.iter().any(|(name, _)| name == module))
    });
    walk(&file)?;
    texts.iter().try_for_each(|(_, text)| walk(text))
}

/// Screens the items of one text.
fn walk(file: &syn::File) -> Result<(), Refusal> {
    let scope = Scope::of(file);
    let mut walk = Walk {
        scope: &scope,
        found: None,
        as_callee: false,
    };
    if file.shebang.is_some() {
        walk.refuse(Span::call_site(), "an interpreter line");
    }
    walk.visit_file(file);
    match walk.found {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

fn refusal(span: Span, what: String) -> Refusal {
    let start = span.start();
    Refusal {
        what,
        line: start.line,
        column: start.column + 1,
    }
}

struct Walk<'a> {
    scope: &'a Scope,
    found: Option<Refusal>,
    /// Whether the expression that is visited next is called, or handed to a call: functions may be named there.
    as_callee: bool,
}

impl Walk<'_> {
    fn refuse(&mut self, span: Span, what: impl Into<String>) {
        if self.found.is_none() {
            self.found = Some(refusal(span, what.into()));
        }
    }

    /// The arguments of a macro, which are tokens until someone reads them.
    fn macro_call(&mut self, mac: &syn::Macro) {
        let path = uses::text(&mac.path);
        let name = ["core::", "std::", "core::ptr::", "std::ptr::"]
            .iter()
            .find_map(|root| path.strip_prefix(root).filter(|rest| !rest.contains("::")))
            .unwrap_or(&path);
        if !names::MACROS.contains(&name) {
            return self.refuse(mac.path.span(), format!("the macro `{path}!`"));
        }
        let tokens = mac.tokens.clone();
        let list = Punctuated::<Expr, Token![,]>::parse_terminated;
        let repeat = |input: syn::parse::ParseStream<'_>| {
            let value: Expr = input.parse()?;
            input.parse::<Token![;]>()?;
            Ok((value, input.parse::<Expr>()?))
        };
        let matches = |input: syn::parse::ParseStream<'_>| {
            let value: Expr = input.parse()?;
            input.parse::<Token![,]>()?;
            let pattern = Pat::parse_multi_with_leading_vert(input)?;
            let guard = match input.parse::<Option<Token![if]>>()? {
                Some(_) => Some(input.parse::<Expr>()?),
                None => None,
            };
            input.parse::<Option<Token![,]>>()?;
            Ok((value, pattern, guard))
        };
        if name == "matches" {
            match matches.parse2(tokens) {
                Ok((value, pattern, guard)) => {
                    self.visit_expr(&value);
                    self.visit_pat(&pattern);
                    guard.iter().for_each(|guard| self.visit_expr(guard));
                }
                Err(error) => self.refuse(
                    error.span(),
                    format!("arguments of `{path}!` that cannot be read"),
                ),
            }
        } else if let Ok(exprs) = list.parse2(tokens.clone()) {
            exprs.iter().for_each(|expr| self.visit_expr(expr));
        } else if let (Ok((value, count)), "vec") = (repeat.parse2(tokens), name) {
            self.visit_expr(&value);
            self.visit_expr(&count);
        } else {
            self.refuse(
                mac.path.span(),
                format!("arguments of `{path}!` that cannot be read"),
            );
        }
    }

    /// Checks a path that names something; `span` is where.
    fn path(&mut self, path: &syn::Path) {
        if let Err(what) = self.scope.check(path) {
            self.refuse(path.span(), what);
        }
    }

    /// A static may hold nothing that changes.
    fn is_plain_data(ty: &Type) -> bool {
        match ty {
            Type::Array(array) => Self::is_plain_data(&array.elem),
            Type::Slice(slice) => Self::is_plain_data(&slice.elem),
            Type::Paren(paren) => Self::is_plain_data(&paren.elem),
            Type::Group(group) => Self::is_plain_data(&group.elem),
            Type::Tuple(tuple) => tuple.elems.iter().all(Self::is_plain_data),
            Type::Reference(reference) => {
                reference.mutability.is_none() && Self::is_plain_data(&reference.elem)
            }
            Type::Path(path) => path.path.get_ident().is_some_and(|name| {
                let name = name.to_string();
                name.parse::<pragma_spec::Scalar>().is_ok() || name == "str" || name == "char"
            }),
            _ => false,
        }
    }

    /// Visits arguments of a call, which may be functions and closures.
    fn arguments(&mut self, args: &Punctuated<Expr, Token![,]>) {
        for arg in args {
            self.as_callee = true;
            self.visit_expr(arg);
        }
    }

    /// Whether an expression names a function that could turn into a pointer where it is not called.
    fn names_function(&self, path: &syn::ExprPath) -> bool {
        let Some(last) = path.path.segments.last() else {
            return false;
        };
        let name = last.ident.to_string();
        if path.path.segments.len() == 1 && path.qself.is_none() {
            return self.scope.is_callable(&name);
        }
        // Constants and variants begin with a capital, functions do not; constructors are functions too.
        name.starts_with(|first: char| first.is_lowercase() || first == '_')
            || self.scope.is_callable(&name)
    }
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let path = uses::text(attribute.path());
        if !names::ATTRIBUTES.contains(&path.as_str()) {
            return self.refuse(attribute.span(), format!("the attribute `{path}`"));
        }
        match &attribute.meta {
            syn::Meta::Path(_) => {}
            // A value may be an expression that includes a file.
            syn::Meta::NameValue(pair) => {
                if !matches!(&pair.value, Expr::Lit(_)) {
                    self.refuse(
                        attribute.span(),
                        format!("a computed value of the attribute `{path}`"),
                    );
                }
            }
            syn::Meta::List(list) if path == "derive" => {
                let derives = Punctuated::<syn::Path, Token![,]>::parse_terminated
                    .parse2(list.tokens.clone());
                for derive in derives.iter().flatten() {
                    let name = uses::text(derive);
                    if !names::DERIVES.contains(&name.as_str()) {
                        self.refuse(derive.span(), format!("the derived trait `{name}`"));
                    }
                }
                if derives.is_err() {
                    self.refuse(attribute.span(), "a derive that cannot be read");
                }
            }
            syn::Meta::List(_) => {}
        }
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Const(_)
            | Item::Fn(_)
            | Item::Impl(_)
            | Item::Struct(_)
            | Item::Enum(_)
            | Item::Type(_) => {}
            Item::Use(item) => {
                item.attrs
                    .iter()
                    .for_each(|attribute| self.visit_attribute(attribute));
                if let Err((span, what)) = uses::check(item) {
                    self.refuse(span, what);
                }
                return;
            }
            Item::Static(item) if matches!(item.mutability, syn::StaticMutability::None) => {
                if !Self::is_plain_data(&item.ty) {
                    self.refuse(item.ty.span(), "a static of a type that may hold state");
                }
            }
            Item::Static(_) => return self.refuse(item.span(), "a mutable static"),
            Item::ExternCrate(_) => return self.refuse(item.span(), "`extern crate`"),
            Item::ForeignMod(_) => return self.refuse(item.span(), "foreign functions"),
            Item::Macro(item) => return self.refuse(item.mac.span(), "a macro"),
            Item::Mod(_) => return self.refuse(item.span(), "a module"),
            Item::Trait(_) => return self.refuse(item.span(), "a trait"),
            Item::Union(_) => return self.refuse(item.span(), "a union"),
            _ => return self.refuse(item.span(), "an item of an unknown kind"),
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        match item {
            syn::ImplItem::Const(_) | syn::ImplItem::Fn(_) | syn::ImplItem::Type(_) => {
                visit::visit_impl_item(self, item);
            }
            _ => self.refuse(item.span(), "an item of an unknown kind"),
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if signature.abi.is_some() || signature.variadic.is_some() {
            return self.refuse(signature.ident.span(), "a function with a foreign ABI");
        }
        if signature.asyncness.is_some() {
            return self.refuse(signature.ident.span(), "an async function");
        }
        visit::visit_signature(self, signature);
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        match stmt {
            Stmt::Local(local) => {
                local
                    .attrs
                    .iter()
                    .for_each(|attribute| self.visit_attribute(attribute));
                self.visit_pat(&local.pat);
                if let Some(init) = &local.init {
                    // A closure may be given a name; that name may then be called.
                    self.as_callee = matches!(&*init.expr, Expr::Closure(_));
                    self.visit_expr(&init.expr);
                    if let Some((_, diverge)) = &init.diverge {
                        self.visit_expr(diverge);
                    }
                }
            }
            Stmt::Macro(stmt) => {
                stmt.attrs
                    .iter()
                    .for_each(|attribute| self.visit_attribute(attribute));
                self.macro_call(&stmt.mac);
            }
            _ => visit::visit_stmt(self, stmt),
        }
    }

    fn visit_type(&mut self, ty: &'ast Type) {
        match ty {
            Type::Array(_)
            | Type::Group(_)
            | Type::ImplTrait(_)
            | Type::Infer(_)
            | Type::Never(_)
            | Type::Paren(_)
            | Type::Path(_)
            | Type::Ptr(_)
            | Type::Reference(_)
            | Type::Slice(_)
            | Type::Tuple(_) => visit::visit_type(self, ty),
            Type::FnPtr(_) => self.refuse(ty.span(), "a function pointer"),
            Type::TraitObject(_) => self.refuse(ty.span(), "a trait object"),
            Type::Macro(_) => self.refuse(ty.span(), "a macro in place of a type"),
            _ => self.refuse(ty.span(), "a type of an unknown kind"),
        }
    }

    fn visit_pat(&mut self, pat: &'ast Pat) {
        match pat {
            Pat::Macro(_) => self.refuse(pat.span(), "a macro in place of a pattern"),
            Pat::Verbatim(_) => self.refuse(pat.span(), "a pattern of an unknown kind"),
            _ => visit::visit_pat(self, pat),
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let as_callee = std::mem::take(&mut self.as_callee);
        match expr {
            Expr::Async(_) | Expr::Await(_) | Expr::Yield(_) | Expr::TryBlock(_) => {
                self.refuse(expr.span(), "a suspended computation");
            }
            Expr::Verbatim(_) => self.refuse(expr.span(), "an expression of an unknown kind"),
            Expr::Macro(expr) => {
                expr.attrs
                    .iter()
                    .for_each(|attribute| self.visit_attribute(attribute));
                self.macro_call(&expr.mac);
            }
            Expr::Closure(closure) => {
                if !as_callee {
                    self.refuse(
                        closure.inputs_begin.span(),
                        "a closure that is neither named nor handed to a call",
                    );
                }
                visit::visit_expr_closure(self, closure);
            }
            Expr::Path(path) => {
                if !as_callee && self.names_function(path) {
                    self.refuse(
                        path.span(),
                        format!("the function `{}` as a value", uses::text(&path.path)),
                    );
                }
                visit::visit_expr_path(self, path);
            }
            Expr::Paren(paren) => {
                self.as_callee = as_callee;
                self.visit_expr(&paren.expr);
            }
            Expr::Reference(reference) => {
                self.as_callee = as_callee;
                self.visit_expr(&reference.expr);
            }
            Expr::Call(call) => {
                match &*call.func {
                    Expr::Path(path) => {
                        if self.scope.resolves_to(&path.path, "core::mem::transmute")
                            && !is_plain_transmute(&path.path)
                        {
                            self.refuse(path.span(), "`transmute` without both of its types, or between others than numbers and vectors");
                        }
                    }
                    Expr::Paren(paren) if matches!(&*paren.expr, Expr::Closure(_)) => {}
                    other => self.refuse(other.span(), "a call of a computed function"),
                }
                self.as_callee = true;
                self.visit_expr(&call.func);
                self.arguments(&call.args);
            }
            Expr::MethodCall(call) => {
                self.visit_expr(&call.receiver);
                if let Some(turbofish) = &call.turbofish {
                    self.visit_angle_bracketed_generic_arguments(turbofish);
                }
                self.arguments(&call.args);
            }
            _ => visit::visit_expr(self, expr),
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.macro_call(mac);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path);
        visit::visit_path(self, path);
    }
}

/// Whether a call of `transmute` says that it converts between numbers, vectors or arrays of them.
fn is_plain_transmute(path: &syn::Path) -> bool {
    let Some(syn::PathArguments::AngleBracketed(args)) =
        path.segments.last().map(|last| &last.arguments)
    else {
        return false;
    };
    fn is_plain(ty: &Type) -> bool {
        match ty {
            Type::Array(array) => is_plain(&array.elem),
            Type::Path(path) => path.path.get_ident().is_some_and(|name| {
                let name = name.to_string();
                name.parse::<pragma_spec::Scalar>().is_ok() || name.starts_with("__m")
            }),
            _ => false,
        }
    }
    args.args.len() == 2
        && args
            .args
            .iter()
            .all(|arg| matches!(arg, syn::GenericArgument::Type(ty) if is_plain(ty)))
}

#[cfg(test)]
mod tests;
