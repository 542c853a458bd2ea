//! Reading case files: modules, kernels, attributes.

use pragma_spec::{KernelAttribute, KernelSignature};
use pragma_synth::ir;
use pragma_synth::lift::{
    KernelRequest, Lifted, SourceCrate, SourceModule, Unliftable, flatten, lift,
};

/// A crate of one file, with its inline modules.
pub fn source_crate(file: &str, text: &str) -> SourceCrate {
    let parsed = syn::parse_file(text).unwrap();
    let mut krate = SourceCrate::default();
    add_module(&mut krate, Vec::new(), file, parsed.items);
    krate
}

/// Adds a module and those inside it.
pub fn add_module(krate: &mut SourceCrate, path: Vec<String>, file: &str, items: Vec<syn::Item>) {
    for item in &items {
        if let syn::Item::Mod(module) = item
            && let Some((_, inner)) = &module.content
        {
            let mut path = path.clone();
            path.push(module.ident.to_string());
            add_module(krate, path, file, inner.clone());
        }
    }
    krate.modules.push(SourceModule {
        path,
        file: file.to_owned(),
        items,
    });
}

/// A function to be read.
pub struct Kernel {
    pub module: Vec<String>,
    pub function: syn::ItemFn,
    pub owner: Option<syn::ItemImpl>,
    pub attribute: KernelAttribute,
}

/// The `pub fn`s of a crate and its inherent impls, in order.
pub fn kernels(krate: &SourceCrate) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for module in &krate.modules {
        let mut add = |function: syn::ItemFn, owner: Option<&syn::ItemImpl>| {
            if matches!(function.vis, syn::Visibility::Public(_)) {
                kernels.push(Kernel {
                    module: module.path.clone(),
                    attribute: attribute(&function),
                    function,
                    owner: owner.cloned(),
                });
            }
        };
        for item in &module.items {
            match item {
                syn::Item::Fn(function) => add(function.clone(), None),
                syn::Item::Impl(owner) if owner.trait_.is_none() => {
                    for member in &owner.items {
                        if let syn::ImplItem::Fn(member) = member {
                            let function = syn::ItemFn {
                                attrs: member.attrs.clone(),
                                vis: member.vis.clone(),
                                modifiers: member.modifiers.clone(),
                                sig: member.sig.clone(),
                                block: Box::new(member.block.clone()),
                            };
                            add(function, Some(owner));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    kernels
}

/// The functions marked `#[pragma_kernel(..)]`.
pub fn marked(krate: &SourceCrate) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for module in &krate.modules {
        for item in &module.items {
            let syn::Item::Fn(function) = item else {
                continue;
            };
            for attr in &function.attrs {
                if let syn::Meta::List(list) = &attr.meta
                    && list.path.is_ident("pragma_kernel")
                {
                    kernels.push(Kernel {
                        module: module.path.clone(),
                        function: function.clone(),
                        owner: None,
                        attribute: KernelAttribute::parse(list.tokens.clone()).unwrap(),
                    });
                }
            }
        }
    }
    kernels
}

fn attribute(function: &syn::ItemFn) -> KernelAttribute {
    let mut text = String::new();
    for attr in &function.attrs {
        if let syn::Meta::NameValue(meta) = &attr.meta
            && let syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(doc),
                ..
            }) = &meta.value
            && let Some(rest) = doc.value().trim().strip_prefix("attr:")
        {
            text.push_str(rest);
        }
    }
    KernelAttribute::parse(text.parse().unwrap()).unwrap()
}

impl Kernel {
    /// Its flat signature.
    pub fn signature(&self, krate: &SourceCrate) -> KernelSignature {
        let name = &self.function.sig.ident;
        let instance = self.attribute.instances().remove(0);
        let owner = self.owner.as_ref();
        flatten(krate, &self.module, &self.function, owner, &instance)
            .unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    /// Its attribute in terms of that.
    pub fn resolved(&self, krate: &SourceCrate) -> KernelAttribute {
        let name = &self.function.sig.ident;
        self.attribute
            .resolve(&self.signature(krate), &|_| None)
            .unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    pub fn lift(&self, krate: &SourceCrate) -> Result<Lifted, Box<Unliftable>> {
        let (signature, attribute) = (self.signature(krate), self.resolved(krate));
        lift(&KernelRequest {
            krate,
            module: &self.module,
            function: &self.function,
            attribute: &attribute,
            signature: &signature,
        })
        .map_err(Box::new)
    }

    /// The program as text, or the refusal.
    pub fn describe(&self, krate: &SourceCrate) -> String {
        match self.lift(krate) {
            Ok(lifted) => {
                if let Err(errors) = ir::verify::verify(&lifted.program) {
                    panic!("{}\n{errors:#?}", ir_text(&lifted.program));
                }
                ir_text(&lifted.program)
            }
            Err(refusal) => format!(
                "# {refusal}\n# why: {}\n# help: {}\n",
                refusal.why, refusal.help
            ),
        }
    }
}

fn ir_text(program: &ir::Program) -> String {
    program.to_string()
}
