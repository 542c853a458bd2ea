//! Taking leaves out of the caller's arguments.
//!
//! Owns the statements at the start of a dispatch. They read each leaf from the place that its path names, test that it
//! has the type that kernels were made for, and leave the dispatch where it has not, so that the reference runs.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{before_else, field_ident, kernel_type, param_ident, path_tokens, type_tokens};
use crate::form::{Access, Elements, Form, NdarrayKind, Pattern, SignatureForm};
use crate::{KernelSignature, Scalar};

/// Statements around a kernel call.
pub struct Reading {
    /// What binds the leaves, before the guard.
    pub before: TokenStream,
    /// What a kernel's results need once it has run: rows that go back, owners that are exchanged.
    pub after: TokenStream,
}

/// Reads all leaves of `sig` into variables of their names ([`param_ident`]).
///
/// The source's parameters are in scope under the names of their patterns; what has none of its own is not read.
/// `leave` diverges: it leaves the dispatch. `swaps` are pairs of leaves whose owners are exchanged afterwards.
pub fn read_leaves(
    sig: &KernelSignature,
    swaps: &[(String, String)],
    runtime: &TokenStream,
    leave: &TokenStream,
) -> Reading {
    let mut reader = Reader {
        runtime,
        leave,
        sources: TokenStream::new(),
        before: TokenStream::new(),
        after: TokenStream::new(),
        owners: Vec::new(),
        receiver: quote!(self),
    };
    reader.params(&sig.form, &|_| true);
    for (a, b) in swaps {
        let owner = |name: &str| {
            let found = reader.owners.iter().find(|(known, _)| known == name);
            found.map(|(_, place)| place.clone())
        };
        if let (Some(a), Some(b)) = (owner(a), owner(b)) {
            reader
                .after
                .extend(quote!(::core::mem::swap(&mut #a, &mut #b);));
        }
    }
    let (sources, before) = (reader.sources, reader.before);
    Reading {
        before: quote!(#sources #before),
        after: reader.after,
    }
}

/// The same for some source parameters, outside of a method; a receiver is in a variable, [`receiver_or`].
pub(super) fn read_some(
    sig: &KernelSignature,
    names: &[&str],
    runtime: &TokenStream,
    leave: &TokenStream,
) -> TokenStream {
    let receiver = receiver_or("self");
    let mut reader = Reader {
        runtime,
        leave,
        sources: TokenStream::new(),
        before: TokenStream::new(),
        after: TokenStream::new(),
        owners: Vec::new(),
        receiver: quote!(#receiver),
    };
    reader.params(
        &sig.form,
        &|pattern| matches!(pattern, Pattern::Name(name) if names.contains(&name.as_str())),
    );
    let (sources, before) = (reader.sources, reader.before);
    quote!(#sources #before)
}

/// The variable of a parameter outside of a method, where nothing can be called `self`.
pub(super) fn receiver_or(name: &str) -> Ident {
    match name {
        "self" => format_ident!("__pragma_receiver"),
        other => param_ident(other),
    }
}

struct Reader<'a> {
    runtime: &'a TokenStream,
    leave: &'a TokenStream,
    /// Borrows of the arguments, taken before leaves hide their names.
    sources: TokenStream,
    before: TokenStream,
    after: TokenStream,
    /// Places of `Vec`s by leaf.
    owners: Vec<(String, TokenStream)>,
    /// What a receiver is called.
    receiver: TokenStream,
}

impl Reader<'_> {
    fn params(&mut self, form: &SignatureForm, wanted: &dyn Fn(&Pattern) -> bool) {
        for (i, param) in form.params.iter().enumerate() {
            if !wanted(&param.pattern) {
                continue;
            }
            let bound = Bound {
                by_reference: false,
                access: Access::Owned,
            };
            self.pattern(&param.pattern, &param.form, &format!("{i}"), bound);
        }
    }

    /// Names that a pattern binds. `id` keeps the variables of different ones apart.
    fn pattern(&mut self, pattern: &Pattern, form: &Form, id: &str, bound: Bound) {
        match (pattern, form) {
            (Pattern::Name(name), _) => self.name(name, form, id, bound),
            (Pattern::Unnamed, _) => {}
            (Pattern::Ref(pattern), Form::Ref { mutable, inner }) => {
                let bound = Bound {
                    by_reference: false,
                    access: bound.access.behind(*mutable),
                };
                self.pattern(pattern, inner, id, bound);
            }
            (Pattern::Tuple(_), Form::Ref { mutable, inner }) => {
                let bound = Bound {
                    by_reference: true,
                    access: bound.access.behind(*mutable),
                };
                self.pattern(pattern, inner, id, bound);
            }
            (Pattern::Tuple(patterns), Form::Tuple(items)) => {
                for (i, (pattern, item)) in patterns.iter().zip(items).enumerate() {
                    self.pattern(pattern, item, &format!("{id}_{i}"), bound);
                }
            }
            (Pattern::Tuple(_) | Pattern::Ref(_), _) => {}
        }
    }

    fn name(&mut self, name: &str, form: &Form, id: &str, bound: Bound) {
        if name == "self" {
            return self.leaf(name, form, self.receiver.clone(), bound.access);
        }
        let (ident, source) = (param_ident(name), format_ident!("__pragma_source_{id}"));
        // The binding's own reference, or one to it.
        let (borrow, access, inner) = match form {
            _ if bound.by_reference => {
                let borrow = match bound.access {
                    Access::Mutable => quote!(&mut *#ident),
                    Access::Owned | Access::Shared => quote!(&*#ident),
                };
                (borrow, bound.access, form)
            }
            Form::Ref { mutable, inner } => {
                let borrow = if *mutable {
                    quote!(&mut *#ident)
                } else {
                    quote!(&*#ident)
                };
                (borrow, bound.access.behind(*mutable), &**inner)
            }
            form if needs_mut(form) => (quote!(&mut #ident), bound.access, form),
            form => (quote!(&#ident), bound.access, form),
        };
        self.sources.extend(quote!(let #source = #borrow;));
        self.leaf(name, inner, quote!((*#source)), access);
    }

    /// Binds the leaves of the value at `place`.
    fn leaf(&mut self, name: &str, form: &Form, place: TokenStream, access: Access) {
        let mutable = access == Access::Mutable;
        match form {
            Form::Ref { mutable, inner } => {
                self.leaf(name, inner, quote!((*#place)), access.behind(*mutable));
            }
            Form::Record(record) => {
                for field in &record.fields {
                    let ident = field_ident(&field.name);
                    let place = quote!(#place.#ident);
                    self.leaf(
                        &format!("{name}.{}", field.name),
                        &field.form,
                        place,
                        access,
                    );
                }
            }
            Form::Tuple(items) => {
                for (i, item) in items.iter().enumerate() {
                    let index = syn::Index::from(i);
                    let place = quote!(#place.#index);
                    self.leaf(&format!("{name}.{i}"), item, place, access);
                }
            }
            Form::Option(inner) => {
                self.bind(
                    &format!("{name}.is_some"),
                    quote!(::core::option::Option::Some(#place.is_some())),
                );
                self.option(name, inner, &place, access);
            }
            Form::Ndarray { kind, rank, .. } => {
                for axis in 0..*rank {
                    let extent = quote!(#place.shape().get(#axis).copied());
                    self.bind(&format!("{name}.shape.{axis}"), extent);
                }
                let mutable = mutable || *kind == NdarrayKind::ViewMut && access != Access::Shared;
                if let Some(value) = self.value(form, &place, mutable) {
                    self.bind(name, value);
                }
            }
            Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) => {
                self.owners.push((name.to_owned(), place.clone()));
                match Elements::of(elem) {
                    Some(Elements::Rows(scalar, _)) => {
                        self.rows(name, elem, scalar, &place, mutable);
                    }
                    Some(Elements::Records(layout)) if layout.views().len() > 1 => {
                        for view in layout.views() {
                            let numbers =
                                self.numbers(elem, view.scalar, &quote!(&#place[..]), false);
                            self.bind(&format!("{name}.{}", view.scalar), numbers);
                        }
                    }
                    _ => {
                        if let Some(value) = self.value(form, &place, mutable) {
                            self.bind(name, value);
                        }
                    }
                }
            }
            Form::Scalar { .. } | Form::Array(..) | Form::Enum { .. } => {
                if let Some(value) = self.value(form, &place, mutable) {
                    self.bind(name, value);
                }
            }
            Form::Unit | Form::Result(_) | Form::Unread(_) | Form::Untouched => {}
        }
    }

    /// `let NAME = VALUE`, where the value is an `Option` of the leaf.
    fn bind(&mut self, name: &str, value: TokenStream) {
        let (ident, leave) = (param_ident(name), self.leave);
        let value = before_else(value);
        self.before.extend(quote! {
            let ::core::option::Option::Some(#ident) = #value else { #leave };
        });
    }

    /// An expression of type `Option` of the only leaf of the value at `place`.
    fn value(&self, form: &Form, place: &TokenStream, mutable: bool) -> Option<TokenStream> {
        Some(match form {
            Form::Ref { inner, .. } => return self.value(inner, &quote!((*#place)), mutable),
            Form::Scalar {
                scalar, written, ..
            } => {
                if *written && mutable {
                    let place = quote!(::core::slice::from_mut(&mut #place));
                    return Some(self.numbers(form, *scalar, &place, true));
                }
                let (runtime, of, number) = (self.runtime, type_tokens(form), kernel_type(*scalar));
                quote!(unsafe { #runtime::dispatch::number::<_, #of, #number>(#place) })
            }
            Form::Enum { path, variants } => {
                let path = path_tokens(path);
                let arms = variants.iter().enumerate().map(|(i, variant)| {
                    let (i, variant) = (i as u8, field_ident(variant));
                    quote!(#path::#variant => ::core::option::Option::Some(#i),)
                });
                quote! {
                    match #place {
                        #(#arms)*
                        #[allow(unreachable_patterns)]
                        _ => ::core::option::Option::None,
                    }
                }
            }
            Form::Slice(elem) | Form::Vec(elem) | Form::Boxed(elem) => {
                let scalar = only_scalar(elem)?;
                let place = if mutable {
                    quote!(&mut #place[..])
                } else {
                    quote!(&#place[..])
                };
                self.numbers(elem, scalar, &place, mutable)
            }
            Form::Array(_, elem) => {
                let scalar = only_scalar(elem)?;
                let place = if mutable {
                    quote!(::core::slice::from_mut(&mut #place))
                } else {
                    quote!(::core::slice::from_ref(&#place))
                };
                self.numbers(form, scalar, &place, mutable)
            }
            Form::Ndarray { elem, .. } => {
                let scalar = only_scalar(elem)?;
                let slice = if mutable {
                    quote!(#place.as_slice_mut())
                } else {
                    quote!(#place.as_slice())
                };
                let numbers = self.numbers(elem, scalar, &quote!(__pragma_slice), mutable);
                quote! {
                    match #slice {
                        ::core::option::Option::Some(__pragma_slice) => #numbers,
                        ::core::option::Option::None => ::core::option::Option::None,
                    }
                }
            }
            _ => return None,
        })
    }

    /// The numbers of `slice`, an expression of a slice of `elem`s.
    fn numbers(
        &self,
        elem: &Form,
        scalar: Scalar,
        slice: &TokenStream,
        mutable: bool,
    ) -> TokenStream {
        let (runtime, of, number) = (self.runtime, type_tokens(elem), kernel_type(scalar));
        let function = if mutable {
            quote!(numbers_mut)
        } else {
            quote!(numbers)
        };
        // SAFETY (of the emitted code): `elem` consists of numbers of that type without padding. For records the
        // dispatch has compared the layout.
        quote!(unsafe { #runtime::dispatch::#function::<_, #of, #number>(#slice) })
    }

    /// The leaf of what may be in the option at `place`, empty or zero where nothing is.
    fn option(&mut self, name: &str, inner: &Form, place: &TokenStream, access: Access) {
        let access = match inner {
            Form::Ref { mutable, .. } => access.behind(*mutable),
            _ => access,
        };
        let mutable = access == Access::Mutable;
        let Some(value) = self.value(inner, &quote!((*__pragma_some)), mutable) else {
            return;
        };
        let none = match inner.peeled() {
            Form::Slice(_) | Form::Vec(_) | Form::Boxed(_) => {
                quote!(::core::default::Default::default())
            }
            Form::Array(len, elem) if !mutable => {
                let count = super::array_count(*len, elem);
                let zero = zero(only_scalar(elem).unwrap_or(Scalar::U8));
                quote!(const { &[#zero; #count] }.as_slice())
            }
            // Nobody can lend memory for nothing.
            Form::Array(..) => {
                let borrow = quote!(&mut #place);
                let value = quote! {
                    match #borrow {
                        ::core::option::Option::Some(__pragma_some) => #value,
                        ::core::option::Option::None => ::core::option::Option::None,
                    }
                };
                return self.bind(name, value);
            }
            Form::Enum { .. } => quote!(0u8),
            Form::Scalar { scalar, .. } => zero(*scalar),
            _ => return,
        };
        let borrow = if mutable {
            quote!(&mut #place)
        } else {
            quote!(&#place)
        };
        self.bind(
            name,
            quote! {
                match #borrow {
                    ::core::option::Option::Some(__pragma_some) => #value,
                    ::core::option::Option::None => ::core::option::Option::Some(#none),
                }
            },
        );
    }

    /// Rows are copied into one buffer, and back if they are written to.
    fn rows(
        &mut self,
        name: &str,
        elem: &Form,
        scalar: Scalar,
        place: &TokenStream,
        mutable: bool,
    ) {
        let inner = match elem.peeled() {
            Form::Vec(inner) | Form::Boxed(inner) | Form::Slice(inner) => inner,
            _ => return,
        };
        let (runtime, of, number) = (self.runtime, type_tokens(inner), kernel_type(scalar));
        let leave = self.leave;
        let [all, count, width] = ["rows", "count", "width"]
            .map(|part| format_ident!("__pragma_{part}{}", param_ident(&format!("{name}.r"))));
        let leaf = param_ident(name);
        let borrow = if mutable {
            quote!(&mut #all[..])
        } else {
            quote!(&#all[..])
        };
        let shape: [Ident; 2] = [0, 1].map(|axis| param_ident(&format!("{name}.shape.{axis}")));
        let (rows, columns) = (&shape[0], &shape[1]);
        // SAFETY (of the emitted code): as in `numbers`.
        self.before.extend(quote! {
            #[allow(unused_mut)]
            let ::core::option::Option::Some((mut #all, #count, #width)) =
                (unsafe { #runtime::dispatch::gather_rows::<_, _, #of, #number>(&#place[..]) }) else { #leave };
            let #leaf = #borrow;
            let (#rows, #columns) = (#count, #width);
        });
        if mutable {
            self.after.extend(quote! {
                unsafe { #runtime::dispatch::scatter_rows::<_, _, #of, #number>(&mut #place[..], &#all); }
            });
        }
    }
}

/// How a name of a pattern is bound.
#[derive(Clone, Copy)]
struct Bound {
    /// Whether the binding is a reference to what the form says, because its pattern looks through one.
    by_reference: bool,
    access: Access,
}

/// Whether something of a parameter by value can be written to only if its binding is `mut`.
pub fn needs_mut(form: &Form) -> bool {
    match form {
        Form::Ndarray { kind, .. } => *kind == NdarrayKind::ViewMut,
        Form::Option(inner) => matches!(**inner, Form::Ref { mutable: true, .. }),
        Form::Record(record) => record.fields.iter().any(|field| holds_mut(&field.form)),
        Form::Tuple(items) => items.iter().any(holds_mut),
        _ => false,
    }
}

fn holds_mut(form: &Form) -> bool {
    matches!(form, Form::Ref { mutable: true, .. }) || needs_mut(form)
}

/// The type of all numbers of an element, if there is only one.
fn only_scalar(elem: &Form) -> Option<Scalar> {
    match Elements::of(elem)? {
        Elements::Numbers(scalar, _) => Some(scalar),
        Elements::Records(layout) => match layout.views()[..] {
            [view] => Some(view.scalar),
            _ => None,
        },
        Elements::Rows(..) => None,
    }
}

fn zero(scalar: Scalar) -> TokenStream {
    match scalar {
        Scalar::Bool => quote!(false),
        Scalar::F32 | Scalar::F64 => quote!(0.0),
        _ => quote!(0),
    }
}
