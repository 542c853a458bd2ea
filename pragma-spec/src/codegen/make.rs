//! Making the function's result out of what a kernel returns.
//!
//! Owns the memory for returned vectors and arrays, which has the types of the caller's code from the start, and the
//! expression that puts the values together.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::{
    KernelCall, before_else, field_ident, flat_values, kernel_type, literal_path, own, type_tokens,
};
use crate::form::{Elements, Form, ReturnedKind};
use crate::guard::plain_tokens;

/// A statement list that runs the kernel and returns from the function with its result.
///
/// Leaves and dimensions are in scope. `after` runs once the kernel has; `leave` diverges and leaves the dispatch, as
/// long as nothing has been written.
pub fn run_and_return(
    call: &KernelCall<'_>,
    after: &TokenStream,
    runtime: &TokenStream,
    leave: &TokenStream,
) -> TokenStream {
    let form = &call.sig.form;
    let mut outputs = Outputs {
        runtime,
        leave,
        before: TokenStream::new(),
        room: Vec::new(),
        finish: TokenStream::new(),
        names: Vec::new(),
    };
    for buffer in buffers(form.result.success()) {
        outputs.add(buffer, call);
    }
    let run = call.raw(&outputs.room);
    let kinds = call.sig.returns.kinds();
    let scalars = own("__pragma_scalars");
    let values = flat_values(&kinds, &outputs.names, &scalars);
    let mut values = Values {
        runtime,
        at: values.into_iter(),
    };
    let made = values.make(form.result.success());
    let made = match &form.result {
        Form::Option(_) => quote!(::core::option::Option::Some(#made)),
        Form::Result(_) => quote!(::core::result::Result::Ok(#made)),
        _ => made,
    };
    let (before, finish) = (outputs.before, outputs.finish);
    let run = before_else(run);
    let run = if call.declines {
        quote!(let ::core::option::Option::Some(#scalars) = #run else { #leave };)
    } else {
        quote!(let #scalars = #run;)
    };
    // SAFETY (of the emitted code): a kernel writes every element of the buffers it returns, unless it declines.
    quote! {
        #before
        #[allow(clippy::let_unit_value)]
        #run
        #finish
        #after
        return #made;
    }
}

/// The parts of a result that a kernel fills, in order.
fn buffers(form: &Form) -> Vec<&Form> {
    match form {
        Form::Vec(_) | Form::Boxed(_) | Form::Array(..) | Form::Ndarray { .. } => vec![form],
        Form::Record(record) => {
            let fields = record.fields.iter();
            fields.flat_map(|field| buffers(&field.form)).collect()
        }
        Form::Tuple(items) => items.iter().flat_map(buffers).collect(),
        _ => Vec::new(),
    }
}

struct Outputs<'a> {
    runtime: &'a TokenStream,
    leave: &'a TokenStream,
    before: TokenStream,
    /// What the kernel gets.
    room: Vec<TokenStream>,
    finish: TokenStream,
    names: Vec<Ident>,
}

impl Outputs<'_> {
    fn add(&mut self, form: &Form, call: &KernelCall<'_>) {
        let (i, runtime, leave) = (self.names.len(), self.runtime, self.leave);
        let [out, room, len] =
            ["out", "room", "len"].map(|name| format_ident!("__pragma_{name}_{i}"));
        let vecs = call.sig.returned().into_iter();
        let value = vecs
            .filter(|value| matches!(value.kind, ReturnedKind::Vec(_)))
            .nth(i);
        let Some(value) = value else { return };
        let number = kernel_type(value.kind.elem());
        let shape = call.shapes.iter().find(|(name, _)| *name == value.name);
        // Without a shape nothing is returned; the tool never writes such a manifest.
        let length = shape.map_or_else(|| quote!(0), |(_, shape)| plain_tokens(&shape.len()));
        match form {
            Form::Array(..) => {
                let of = type_tokens(form);
                self.before.extend(quote! {
                    let mut #out = ::core::mem::MaybeUninit::uninit();
                    let ::core::option::Option::Some(#room) =
                        (unsafe { #runtime::dispatch::spare_one::<_, #of, #number>(&mut #out) }) else { #leave };
                });
                self.finish
                    .extend(quote!(let #out = unsafe { #out.assume_init() };));
            }
            Form::Vec(elem) if matches!(Elements::of(elem), Some(Elements::Rows(..))) => {
                self.before.extend(quote! {
                    let #len: ::core::primitive::usize = #length;
                    let mut #out = ::std::vec::Vec::<#number>::with_capacity(#len);
                    let #room = &mut #out.spare_capacity_mut()[..#len];
                });
                self.finish.extend(quote!(unsafe { #out.set_len(#len); }));
            }
            Form::Vec(elem) | Form::Boxed(elem) | Form::Ndarray { elem, .. } => {
                let of = type_tokens(elem);
                self.before.extend(quote! {
                    let #len: ::core::primitive::usize = #length;
                    let mut #out = ::std::vec::Vec::new();
                    let ::core::option::Option::Some(#room) =
                        (unsafe { #runtime::dispatch::spare::<_, #of, #number>(&mut #out, #len) }) else { #leave };
                });
                let per = value.inner.iter().product::<u64>();
                let per = match form {
                    Form::Ndarray { .. } | Form::Vec(_) | Form::Boxed(_) => {
                        proc_macro2::Literal::u64_unsuffixed(per.max(1))
                    }
                    _ => return,
                };
                self.finish
                    .extend(quote!(unsafe { #out.set_len(#len / #per); }));
            }
            _ => return,
        }
        self.room.push(quote!(#room));
        self.names.push(out);
    }
}

/// The flat values that have not been used yet.
struct Values<'a, I> {
    runtime: &'a TokenStream,
    at: I,
}

impl<I: Iterator<Item = TokenStream>> Values<'_, I> {
    fn next(&mut self) -> TokenStream {
        self.at.next().unwrap_or_else(|| quote!(()))
    }

    fn make(&mut self, form: &Form) -> TokenStream {
        match form {
            Form::Scalar { scalar, .. } => {
                let (value, runtime) = (self.next(), self.runtime);
                let (number, of) = (kernel_type(*scalar), type_tokens(form));
                quote!(unsafe { #runtime::dispatch::give::<#number, #of, _>(#value) })
            }
            Form::Enum { path, variants } => {
                let (value, path) = (self.next(), super::path_tokens(path));
                let last = variants.len().saturating_sub(1);
                let arms = variants.iter().enumerate().map(|(i, variant)| {
                    let (index, variant) = (i as u8, field_ident(variant));
                    if i == last {
                        quote!(_ => #path::#variant)
                    } else {
                        quote!(#index => #path::#variant)
                    }
                });
                quote!(match #value { #(#arms,)* })
            }
            Form::Vec(elem) => match Elements::of(elem) {
                Some(Elements::Rows(scalar, _)) => {
                    let (all, rows, width) = (self.next(), self.next(), self.next());
                    let (number, runtime) = (kernel_type(scalar), self.runtime);
                    let of = match elem.peeled() {
                        Form::Vec(inner) => type_tokens(inner),
                        _ => quote!(()),
                    };
                    quote!(unsafe { #runtime::dispatch::split_rows::<_, #of, #number>(&#all, #rows, #width) })
                }
                _ => self.next(),
            },
            Form::Boxed(_) => {
                let out = self.next();
                quote!(#out.into_boxed_slice())
            }
            Form::Array(..) => self.next(),
            Form::Ndarray { path, rank, .. } => {
                let (out, path) = (self.next(), super::path_tokens(path));
                let extents: Vec<TokenStream> = (0..*rank).map(|_| self.next()).collect();
                quote! {
                    #path::from_shape_vec([#(#extents),*], #out)
                        .expect("a kernel returned an array of another size than it said")
                }
            }
            Form::Record(record) => {
                let path = literal_path(&record.path);
                let fields: Vec<TokenStream> = record
                    .fields
                    .iter()
                    .map(|field| {
                        let (name, value) = (field_ident(&field.name), self.make(&field.form));
                        quote!(#name: #value)
                    })
                    .collect();
                quote!(#path { #(#fields),* })
            }
            Form::Tuple(items) => {
                let items: Vec<TokenStream> = items.iter().map(|item| self.make(item)).collect();
                quote!((#(#items,)*))
            }
            _ => quote!(()),
        }
    }
}
