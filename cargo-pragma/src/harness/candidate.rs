//! The text of a candidate's crate: the kernel as it will be vendored, and the exports that a worker calls.
//!
//! Owns what stands around the kernel. The kernel is called through the same tokens as in the user's crate.

use pragma_spec::{Guard, KernelSignature, Shape, codegen};
use proc_macro2::{Ident, Span};
use quote::quote;

use super::BuildError;
use crate::worker::abi;

/// A kernel to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct CandidateText<'a> {
    /// The source, exactly as it would be vendored.
    pub source: &'a str,
    /// The kernel's function in it.
    pub entry: &'a str,
    /// The signature of the user's function.
    pub signature: &'a KernelSignature,
    /// How dimensions follow from arguments.
    pub guard: &'a Guard,
    /// The shapes behind the guard, with `return` where the function returns a `Vec`.
    pub shapes: &'a [(String, Shape)],
    /// Whether the kernel can decline.
    pub declines: bool,
}

/// The complete source of the candidate's crate.
///
/// # Errors
/// If the signature or the entry's name cannot be used.
pub fn candidate_source(text: &CandidateText<'_>) -> Result<String, BuildError> {
    let entry = syn::parse_str::<Ident>(text.entry)
        .map_err(|_| BuildError::Unsupported(format!("`{}` is not a function name", text.entry)))?;
    let runtime = quote!(::pragma_runtime);
    let path = quote!(kernel::#entry);
    let call = codegen::KernelCall {
        path: &path,
        sig: text.signature,
        guard: text.guard,
        shapes: text.shapes,
        declines: text.declines,
    };
    let candidate = codegen::candidate_entry(abi::CANDIDATE, &call, &runtime);
    let into = codegen::candidate_into_entry(abi::CANDIDATE_INTO, &call, &runtime);
    let set_threads = Ident::new(abi::SET_THREADS, Span::call_site());
    let get_version = Ident::new(abi::GET_ABI_VERSION, Span::call_site());
    let exports = quote! {
        #candidate
        #into
        #[unsafe(no_mangle)]
        pub extern "C" fn #set_threads(threads: usize) { ::pragma_runtime::harness::set_thread_limit(threads) }
        #[unsafe(no_mangle)]
        pub extern "C" fn #get_version() -> u32 { ::pragma_runtime::harness::ABI_VERSION }
    };
    Ok(format!(
        "#![allow(warnings)]\nmod kernel {{\n{}\n}}\n{exports}\n",
        text.source
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pragma_spec::GuardParam;

    #[test]
    fn the_text_parses_and_keeps_the_kernel() {
        let item: syn::ItemFn =
            syn::parse_str("fn f(x: &[f32], k: f32) -> Vec<f32> { Vec::new() }").expect("parses");
        let signature = KernelSignature::from_syn(&item.sig).expect("is supported");
        let shape = |text: &str| text.parse::<Shape>().expect("is a shape");
        let shapes = [
            ("x".to_owned(), shape("[n]")),
            ("return".to_owned(), shape("[n]")),
        ];
        let guard = Guard::plan(&["n".into()], &GuardParam::all(&signature), &shapes)
            .expect("n is the length");
        let text = CandidateText {
            source: "// a comment\npub fn f(n: usize) {}",
            entry: "f",
            signature: &signature,
            guard: &guard,
            shapes: &shapes,
            declines: false,
        };
        let source = candidate_source(&text).expect("is supported");
        assert!(source.contains("// a comment\n"));
        let file = syn::parse_file(&source).expect("is Rust");
        let names: Vec<String> = file
            .items
            .iter()
            .filter_map(|item| match item {
                syn::Item::Fn(item) => Some(item.sig.ident.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(
            names,
            [
                abi::CANDIDATE,
                abi::CANDIDATE_INTO,
                abi::SET_THREADS,
                abi::GET_ABI_VERSION
            ]
        );
        assert!(
            candidate_source(&CandidateText {
                entry: "a b",
                ..text
            })
            .is_err()
        );
    }
}
