//! Giving functions of any signature kernels by hand.

use pragma_spec::{
    Interface, KernelId, Manifest, Target, VerificationRecord, dependency_hash, dims_of,
    fingerprint,
};

use crate::source::Source;
use crate::support::{Crate, HandWritten, find};

/// A kernel of the v3 tier.
pub struct ByHand<'a> {
    /// The function, a method as `Type::method`.
    pub function: &'a str,
    /// What its parameters stand for.
    pub instance: &'a [(&'a str, &'a str)],
    /// Shapes of leaves.
    pub shapes: &'a [(&'a str, &'a str)],
    /// Scalars that the function writes to.
    pub written: &'a [&'a str],
    /// Fields that it does not read.
    pub unread: &'a [&'a str],
    /// Declines, swaps, overflow.
    pub interface: Interface,
    /// Parameters and result of the kernel function.
    pub signature: &'a str,
    /// Its body.
    pub body: &'a str,
}

impl Default for ByHand<'_> {
    fn default() -> Self {
        ByHand {
            function: "",
            instance: &[],
            shapes: &[],
            written: &[],
            unread: &[],
            interface: Interface::default(),
            signature: "()",
            body: "",
        }
    }
}

/// Gives a function of `src/main.rs` a kernel.
pub fn tune(krate: &Crate, kernel: &ByHand<'_>) {
    let text = krate.read("src/main.rs");
    let file = syn::parse_file(&text).expect("the source parses");
    let function = kernel.function;
    let name = function.rsplit("::").next().expect("a name");
    let (attribute, item) = find_member(&file.items, function).expect("the function is there");
    let sig = Source::new(&text)
        .flatten_with(
            &[],
            function,
            kernel.instance,
            kernel.written,
            kernel.unread,
        )
        .unwrap_or_else(|error| panic!("{function}: {error}"));
    let id = [function.replace("::", "."), sig.form.instance.suffix()].join(".");
    let id = id.trim_end_matches('.');
    let code = format!(
        "#[target_feature(enable = \"{}\")]\npub unsafe fn entry{} {{ {} }}\n",
        Target::X86_64V3.features(),
        kernel.signature,
        kernel.body
    );
    let written = HandWritten {
        shapes: kernel.shapes,
        files: &[(Target::X86_64V3, &code, &[("entry", None)])],
    };
    let shapes = written.shapes();
    krate.write_manifest(&Manifest {
        format: 1,
        kernel: KernelId::new(id).expect("a plain name"),
        function: name.to_owned(),
        package: krate.name.clone(),
        module: String::new(),
        fingerprint: fingerprint(&attribute, &item),
        dependencies: dependency_hash(&[]),
        signature: sig.to_string(),
        dims: dims_of(&shapes),
        shapes,
        interface: Interface {
            form: Some(sig.form),
            ..kernel.interface.clone()
        },
        artefacts: krate.files(id, &written),
        devices: Vec::new(),
        verification: VerificationRecord::default(),
    });
}

/// The annotated function or method of the items.
pub fn find_member(
    items: &[syn::Item],
    function: &str,
) -> Option<(proc_macro2::TokenStream, syn::ItemFn)> {
    let Some((_, method)) = function.split_once("::") else {
        return find(items, function);
    };
    let mut members = items.iter().flat_map(|item| match item {
        syn::Item::Impl(block) => &block.items[..],
        _ => &[],
    });
    members.find_map(|member| match member {
        syn::ImplItem::Fn(member) if member.sig.ident == method => {
            let text = quote::ToTokens::to_token_stream(member);
            let item: syn::ItemFn = syn::parse2(text).expect("a method is a function");
            find(&[syn::Item::Fn(item)], method)
        }
        _ => None,
    })
}
