//! The exported entry of a reference: from leaves to the source's arguments, and back.
//!
//! Owns building what the author's function takes over the worker's buffers. What is built is never dropped, since its
//! memory is the worker's.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::empty::empty;
use super::encode::encode;
use super::harness::{ARGS, RET, entry};
use super::layout::layouts_fit;
use super::made::made_of;
use super::{field_ident, kernel_type, own, path_tokens, type_tokens};
use crate::form::{Access, Elements, Form, NdarrayKind, Pattern};
use crate::{KernelSignature, Scalar};

/// The exported function `symbol` that calls `callee` (a path) with the source's arguments.
///
/// `made` are source parameters that an expression of the crate makes, whatever their leaves are.
///
/// An `Err` or a `None` has the status `STATUS_REFUSED`; a record laid out otherwise than assumed `STATUS_LAYOUT`.
pub fn reference_entry(
    symbol: &str,
    sig: &KernelSignature,
    callee: &TokenStream,
    made: &[(String, String)],
    runtime: &TokenStream,
) -> TokenStream {
    let leaves = sig.form.leaves();
    let mut builder = Builder {
        names: leaves.into_iter().map(|leaf| leaf.name).collect(),
        runtime,
        before: TokenStream::new(),
        after: TokenStream::new(),
        homes: Vec::new(),
        release: TokenStream::new(),
        count: 0,
    };
    let args: Vec<TokenStream> = sig
        .form
        .params
        .iter()
        .enumerate()
        .map(|(i, param)| match made_of(param, sig, made) {
            Some(expr) => builder.made(&param.form, &expr),
            None => builder.pattern(
                &param.pattern,
                &param.form,
                &format!("unnamed.{i}"),
                Access::Owned,
            ),
        })
        .collect();
    let result = encode(sig, runtime);
    let layout = layouts_fit(&sig.form, runtime)
        .map(|fits| quote!(if !#fits { return #runtime::harness::STATUS_LAYOUT; }));
    let (args_name, ret_name) = (own(ARGS), own(RET));
    let homes = &builder.homes;
    // SAFETY (of the emitted code): the arguments are the worker's, as the harness ABI says.
    let settle = (!homes.is_empty()).then(
        || quote!(unsafe { #runtime::harness::settle(#args_name, #ret_name, &[#(#homes),*]); }),
    );
    let (before, after, release) = (&builder.before, &builder.after, &builder.release);
    let body = quote! {
        #layout
        #before
        #[allow(clippy::let_unit_value)]
        let __pragma_value = #callee(#(#args),*);
        #after
        #settle
        #result
        #release
    };
    entry(symbol, sig.params.len(), runtime, &body)
}

struct Builder<'a> {
    /// Leaves by argument number.
    names: Vec<String>,
    runtime: &'a TokenStream,
    before: TokenStream,
    /// Copies scalars and small arrays back to where the worker sees them.
    after: TokenStream,
    /// Owners of memory that the function may exchange.
    homes: Vec<TokenStream>,
    /// Frees what was allocated here.
    release: TokenStream,
    count: usize,
}

/// How a value is held while it is built.
#[derive(Clone, Copy)]
struct Held<'a> {
    access: Access,
    /// The place it will be at, if it can be reached after the call.
    place: Option<&'a TokenStream>,
    /// Whether the function takes it away, so that it needs memory of its own.
    moved: bool,
}

impl Builder<'_> {
    fn arg(&self, name: &str) -> TokenStream {
        let found = self.names.iter().position(|known| known == name);
        let i = found.unwrap_or(usize::MAX);
        let args = own(ARGS);
        quote!(#args, #i)
    }

    /// The argument that the elements at `name` are: of several views of records the first.
    fn elements(&self, name: &str, elem: &Form) -> TokenStream {
        match Elements::of(elem) {
            Some(Elements::Records(layout)) if layout.views().len() > 1 => {
                self.arg(&format!("{name}.{}", layout.views()[0].scalar))
            }
            _ => self.arg(name),
        }
    }

    fn fresh(&mut self) -> Ident {
        self.count += 1;
        format_ident!("__pragma_argument_{}", self.count - 1)
    }

    /// The argument for a parameter that `expr` makes. What the function only reads is made once, so that the time it
    /// takes is not the function's.
    fn made(&mut self, form: &Form, expr: &TokenStream) -> TokenStream {
        let variable = self.fresh();
        let runtime = self.runtime;
        match form {
            Form::Ref { mutable: false, .. } => {
                // SAFETY (of the emitted code): no other call uses this static.
                self.before.extend(quote! {
                    let #variable = {
                        static __PRAGMA_MADE: ::core::sync::atomic::AtomicPtr<::core::primitive::u8> =
                            ::core::sync::atomic::AtomicPtr::new(::core::ptr::null_mut());
                        unsafe { #runtime::harness::made(&__PRAGMA_MADE, || #expr) }
                    };
                });
                quote!(#variable)
            }
            Form::Ref { .. } => {
                self.before.extend(quote!(let mut #variable = #expr;));
                quote!(&mut #variable)
            }
            _ => expr.clone(),
        }
    }

    /// The argument for a parameter.
    fn pattern(
        &mut self,
        pattern: &Pattern,
        form: &Form,
        unnamed: &str,
        access: Access,
    ) -> TokenStream {
        match (pattern, form) {
            (Pattern::Tuple(_) | Pattern::Ref(_), Form::Ref { mutable, inner }) => {
                let pattern = match pattern {
                    Pattern::Ref(pattern) => pattern,
                    other => other,
                };
                let value = self.pattern(pattern, inner, unnamed, access.behind(*mutable));
                if *mutable {
                    quote!(&mut #value)
                } else {
                    quote!(&#value)
                }
            }
            (Pattern::Tuple(patterns), Form::Tuple(items)) => {
                let items = patterns.iter().zip(items).enumerate();
                let items: Vec<TokenStream> = items
                    .map(|(i, (pattern, item))| {
                        self.pattern(pattern, item, &format!("{unnamed}.{i}"), access)
                    })
                    .collect();
                quote!((#(#items,)*))
            }
            (pattern, form) => {
                let name = match pattern {
                    Pattern::Name(name) => name,
                    _ => unnamed,
                };
                let held = Held {
                    access,
                    place: None,
                    moved: true,
                };
                self.build(name, form, held)
            }
        }
    }

    /// An expression of the value at `name`.
    fn build(&mut self, name: &str, form: &Form, held: Held<'_>) -> TokenStream {
        let runtime = self.runtime;
        let harness = quote!(#runtime::harness);
        let arg = self.arg(name);
        let mutable = held.access == Access::Mutable;
        // SAFETY (of the emitted code): the worker passes one argument per leaf, of its type, and nothing that is built
        // of its memory is dropped: it is behind a reference, or in `ManuallyDrop`.
        match form {
            Form::Scalar {
                scalar, written, ..
            } => {
                let (of, number) = (type_tokens(form), kernel_type(*scalar));
                if *written && mutable {
                    if let Some(place) = held.place {
                        self.after.extend(quote! {
                            unsafe { *#harness::element_mut::<#of, #number>(#arg) = #place; }
                        });
                    }
                    return quote!(*unsafe { #harness::element::<#of, #number>(#arg) });
                }
                quote!(unsafe { #harness::scalar::<#of>(#arg) })
            }
            Form::Enum { path, variants } => {
                let path = path_tokens(path);
                let arms = variants.iter().enumerate().map(|(i, variant)| {
                    let (i, variant) = (i as u8, field_ident(variant));
                    quote!(#i => #path::#variant)
                });
                quote! {
                    match unsafe { #harness::scalar::<::core::primitive::u8>(#arg) } {
                        #(#arms,)*
                        _ => return #harness::STATUS_BAD_ARGS,
                    }
                }
            }
            Form::Array(_, elem) => {
                let Some(number) = number_of(elem) else {
                    return empty(form);
                };
                let of = type_tokens(form);
                if mutable && let Some(place) = held.place {
                    self.after.extend(quote! {
                        unsafe { *#harness::element_mut::<#of, #number>(#arg) = ::core::ptr::read(&#place); }
                    });
                }
                quote!(unsafe { ::core::ptr::read(#harness::element::<#of, #number>(#arg)) })
            }
            Form::Vec(elem) | Form::Boxed(elem) => {
                if let Some(Elements::Rows(..)) = Elements::of(elem) {
                    return self.rows(name, elem, held);
                }
                let Some((number, bytes)) = number_of(elem).zip(bytes_of(elem)) else {
                    return empty(form);
                };
                let of = type_tokens(elem);
                let arg = self.elements(name, elem);
                let boxed = matches!(form, Form::Boxed(_));
                if held.moved {
                    let copied = quote!(unsafe { #harness::copied::<#of, #number>(#arg) });
                    return if boxed {
                        quote!(#copied.into_boxed_slice())
                    } else {
                        copied
                    };
                }
                if mutable && let Some(place) = held.place {
                    self.home(name, bytes, quote!(#place.as_ptr()));
                }
                let function = if boxed { quote!(boxed) } else { quote!(vec) };
                quote!(unsafe { #harness::#function::<#of, #number>(#arg) })
            }
            Form::Ndarray {
                kind,
                path,
                rank,
                elem,
            } => self.ndarray(name, (*kind, path.as_str(), *rank), elem, held),
            Form::Record(record) => {
                let path = path_tokens(&record.path);
                let fields: Vec<TokenStream> = record
                    .fields
                    .iter()
                    .map(|field| {
                        let ident = field_ident(&field.name);
                        let place = held.place.map(|place| quote!(#place.#ident));
                        let held = Held {
                            place: place.as_ref(),
                            ..held
                        };
                        let value =
                            self.build(&format!("{name}.{}", field.name), &field.form, held);
                        quote!(#ident: #value)
                    })
                    .collect();
                quote!(#path { #(#fields),* })
            }
            Form::Tuple(items) => {
                let items: Vec<TokenStream> = items
                    .iter()
                    .enumerate()
                    .map(|(i, item)| {
                        let index = syn::Index::from(i);
                        let place = held.place.map(|place| quote!(#place.#index));
                        let held = Held {
                            place: place.as_ref(),
                            ..held
                        };
                        self.build(&format!("{name}.{i}"), item, held)
                    })
                    .collect();
                quote!((#(#items,)*))
            }
            Form::Option(inner) => {
                let is_some = self.arg(&format!("{name}.is_some"));
                let value = self.build(
                    name,
                    inner,
                    Held {
                        place: None,
                        ..held
                    },
                );
                quote! {
                    if unsafe { #harness::scalar::<::core::primitive::bool>(#is_some) } {
                        ::core::option::Option::Some(#value)
                    } else {
                        ::core::option::Option::None
                    }
                }
            }
            Form::Ref { mutable, inner } => self.reference(name, *mutable, inner, held.access),
            Form::Unread(inner) => empty(inner),
            Form::Untouched => quote!(::core::default::Default::default()),
            Form::Unit | Form::Slice(_) | Form::Result(_) => quote!(()),
        }
    }

    /// A reference to the value at `name`.
    fn reference(
        &mut self,
        name: &str,
        mutable: bool,
        inner: &Form,
        access: Access,
    ) -> TokenStream {
        let runtime = self.runtime;
        let harness = quote!(#runtime::harness);
        let arg = self.arg(name);
        let access = access.behind(mutable);
        let suffix = |function: &str| {
            let suffix = if mutable { "_mut" } else { "" };
            format_ident!("{function}{suffix}")
        };
        match inner {
            Form::Slice(elem) => {
                if let Some(Elements::Rows(..)) = Elements::of(elem) {
                    let held = Held {
                        access,
                        place: None,
                        moved: false,
                    };
                    let rows = self.rows(name, elem, held);
                    let list = self.fresh();
                    self.before
                        .extend(quote!(let mut #list = ::core::mem::ManuallyDrop::new(#rows);));
                    self.let_go(elem, &quote!(#list));
                    return if mutable {
                        quote!(&mut #list[..])
                    } else {
                        quote!(&#list[..])
                    };
                }
                let Some(number) = number_of(elem) else {
                    return quote!(&[]);
                };
                let (of, function) = (type_tokens(elem), suffix("elements"));
                let arg = self.elements(name, elem);
                return quote!(unsafe { #harness::#function::<#of, #number>(#arg) });
            }
            Form::Array(_, elem) => {
                if let Some(number) = number_of(elem) {
                    let (of, function) = (type_tokens(inner), suffix("element"));
                    return quote!(unsafe { #harness::#function::<#of, #number>(#arg) });
                }
            }
            Form::Scalar {
                scalar, written, ..
            } if *written => {
                let (of, number) = (type_tokens(inner), kernel_type(*scalar));
                let function = suffix("element");
                return quote!(unsafe { #harness::#function::<#of, #number>(#arg) });
            }
            _ => {}
        }
        let variable = self.fresh();
        let place = quote!((*#variable));
        let held = Held {
            access,
            place: Some(&place),
            moved: false,
        };
        let value = self.build(name, inner, held);
        self.before.extend(quote! {
            #[allow(unused_mut)]
            let mut #variable = ::core::mem::ManuallyDrop::new(#value);
        });
        if mutable {
            quote!(&mut *#variable)
        } else {
            quote!(&*#variable)
        }
    }

    fn ndarray(
        &mut self,
        name: &str,
        (kind, path, rank): (NdarrayKind, &str, usize),
        elem: &Form,
        held: Held<'_>,
    ) -> TokenStream {
        let runtime = self.runtime;
        let harness = quote!(#runtime::harness);
        let arg = self.arg(name);
        let Some((number, bytes)) = number_of(elem).zip(bytes_of(elem)) else {
            return quote!(::core::default::Default::default());
        };
        let (of, path) = (type_tokens(elem), path_tokens(path));
        let extents: Vec<TokenStream> = (0..rank)
            .map(|axis| {
                let arg = self.arg(&format!("{name}.shape.{axis}"));
                quote!(unsafe { #harness::scalar::<::core::primitive::usize>(#arg) })
            })
            .collect();
        let shape = self.fresh();
        // An array that does not fit its memory is never made: it would free that memory.
        self.before.extend(quote! {
            let #shape: [::core::primitive::usize; #rank] = [#(#extents),*];
            {
                let mut __pragma_product = ::core::option::Option::Some(1usize);
                for __pragma_extent in #shape {
                    __pragma_product = __pragma_product.and_then(|all: ::core::primitive::usize| all.checked_mul(__pragma_extent));
                }
                if __pragma_product.is_none() || !unsafe { #harness::fits::<#of, #number>(#arg, __pragma_product) } {
                    return #harness::STATUS_BAD_ARGS;
                }
            }
        });
        let make = |function: TokenStream, memory: TokenStream| quote!(#path::#function(#shape, #memory).expect("the length was tested"));
        match kind {
            NdarrayKind::View => make(
                quote!(from_shape),
                quote!(unsafe { #harness::elements::<#of, #number>(#arg) }),
            ),
            NdarrayKind::ViewMut => make(
                quote!(from_shape),
                quote!(unsafe { #harness::elements_mut::<#of, #number>(#arg) }),
            ),
            NdarrayKind::Owned => {
                if held.access == Access::Mutable
                    && let Some(place) = held.place
                {
                    self.home(name, bytes, quote!(#place.as_ptr()));
                }
                let function = if held.moved {
                    quote!(copied)
                } else {
                    quote!(vec)
                };
                make(
                    quote!(from_shape_vec),
                    quote!(unsafe { #harness::#function::<#of, #number>(#arg) }),
                )
            }
        }
    }

    /// The list of rows at `name`, a `Vec` of what `elem` is.
    fn rows(&mut self, name: &str, elem: &Form, held: Held<'_>) -> TokenStream {
        let runtime = self.runtime;
        let harness = quote!(#runtime::harness);
        let arg = self.arg(name);
        let [count, width] = [0, 1].map(|axis| {
            let arg = self.arg(&format!("{name}.shape.{axis}"));
            quote!(unsafe { #harness::scalar::<::core::primitive::usize>(#arg) })
        });
        let (inner, function) = match elem {
            Form::Vec(inner) => (inner, "rows"),
            Form::Ref { mutable, inner } => match &**inner {
                Form::Slice(inner) if *mutable => (inner, "row_slices_mut"),
                Form::Slice(inner) => (inner, "row_slices"),
                _ => return quote!(::std::vec::Vec::new()),
            },
            _ => return quote!(::std::vec::Vec::new()),
        };
        let Some(number) = number_of(inner) else {
            return quote!(::std::vec::Vec::new());
        };
        let (of, function) = (type_tokens(inner), format_ident!("{function}"));
        let rows = quote!(unsafe { #harness::#function::<#of, #number>(#arg, #count, #width) });
        if let Some(place) = held.place {
            self.let_go(elem, place);
        }
        if held.moved && matches!(elem, Form::Vec(_)) {
            // Taken away and dropped there: rows of their own.
            return quote! {
                unsafe { #harness::row_slices::<#of, #number>(#arg, #count, #width) }
                    .into_iter().map(|row| row.to_vec()).collect::<::std::vec::Vec<_>>()
            };
        }
        rows
    }

    /// Ends a list of rows after the call.
    fn let_go(&mut self, elem: &Form, place: &TokenStream) {
        let runtime = self.runtime;
        if matches!(elem, Form::Vec(_)) {
            self.release
                .extend(quote!(#runtime::harness::release(&mut #place);));
        } else {
            self.release
                .extend(quote!(drop(::core::mem::take(&mut *#place));));
        }
    }

    fn home(&mut self, name: &str, bytes: usize, pointer: TokenStream) {
        let found = self.names.iter().position(|known| known == name);
        // Records of several types are never written to.
        if let Some(i) = found {
            self.homes
                .push(quote!((#i, #bytes, #pointer.cast::<::core::primitive::u8>())));
        }
    }
}

/// The type of the numbers that `elem` consists of, the strictest if there are several.
fn number_of(elem: &Form) -> Option<TokenStream> {
    scalar_of(elem).map(kernel_type)
}

fn bytes_of(elem: &Form) -> Option<usize> {
    scalar_of(elem).map(Scalar::bytes)
}

fn scalar_of(elem: &Form) -> Option<Scalar> {
    match Elements::of(elem)? {
        Elements::Numbers(scalar, _) | Elements::Rows(scalar, _) => Some(scalar),
        Elements::Records(layout) => layout.views().first().map(|view| view.scalar),
    }
}
