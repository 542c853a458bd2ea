//! Shows what the lifter makes of the functions in some files.
//!
//! `cargo run -p pragma-synth --example lift -- [T=f32 C=3 ..] FILE.rs ..` reads the files as the
//! modules of one crate (`lib.rs` as its root) and prints the program of every `pub` function and
//! method, or why it is refused. A doc line `attr: shape(x = [n])` says what an attribute would.
//! `--short` prints one line each.

use std::path::Path;

use pragma_spec::KernelAttribute;
use pragma_spec::form::Instance;
use pragma_synth::lift::{KernelRequest, SourceCrate, SourceModule, flatten, lift};

fn main() {
    let mut instance = Vec::new();
    let mut krate = SourceCrate::default();
    let mut short = false;
    for arg in std::env::args().skip(1) {
        if arg == "--short" {
            short = true;
        } else if let Some((name, value)) = arg.split_once('=') {
            instance.push((name.to_owned(), value.to_owned()));
        } else {
            let text = match std::fs::read_to_string(&arg) {
                Ok(text) => text,
                Err(error) => {
                    eprintln!("{arg}: {error}");
                    std::process::exit(1);
                }
            };
            let items = match syn::parse_file(&text) {
                Ok(file) => file.items,
                Err(error) => {
                    eprintln!("{arg}: {error}");
                    std::process::exit(1);
                }
            };
            let stem = Path::new(&arg)
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            let path = if stem == "lib" {
                Vec::new()
            } else {
                vec![stem]
            };
            krate.modules.push(SourceModule {
                path,
                file: arg,
                items,
            });
        }
    }
    let mut counts = [0, 0];
    for module in &krate.modules {
        for item in &module.items {
            match item {
                syn::Item::Fn(function) if is_public(&function.vis) => {
                    show(
                        &krate,
                        module,
                        function,
                        None,
                        &instance,
                        short,
                        &mut counts,
                    );
                }
                syn::Item::Impl(owner) if owner.trait_.is_none() => {
                    for member in &owner.items {
                        if let syn::ImplItem::Fn(member) = member
                            && is_public(&member.vis)
                        {
                            let function = syn::ItemFn {
                                attrs: member.attrs.clone(),
                                vis: member.vis.clone(),
                                modifiers: member.modifiers.clone(),
                                sig: member.sig.clone(),
                                block: Box::new(member.block.clone()),
                            };
                            let owner = Some(owner);
                            show(
                                &krate,
                                module,
                                &function,
                                owner,
                                &instance,
                                short,
                                &mut counts,
                            );
                        }
                    }
                }
                _ => {}
            }
        }
    }
    println!("{} lifted, {} refused", counts[0], counts[1]);
}

/// What the doc lines `attr: ..` say.
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
    let tokens = text.parse().unwrap_or_default();
    KernelAttribute::parse(tokens).unwrap_or_else(|error| {
        eprintln!("{}: {}", function.sig.ident, error.message);
        KernelAttribute::default()
    })
}

fn is_public(vis: &syn::Visibility) -> bool {
    matches!(vis, syn::Visibility::Public(_))
}

fn show(
    krate: &SourceCrate,
    module: &SourceModule,
    function: &syn::ItemFn,
    owner: Option<&syn::ItemImpl>,
    instance: &[(String, String)],
    short: bool,
    counts: &mut [usize; 2],
) {
    let name = &function.sig.ident;
    let generics = function.sig.generics.params.iter();
    let wanted: Vec<String> = generics
        .chain(owner.into_iter().flat_map(|owner| &owner.generics.params))
        .filter_map(|param| match param {
            syn::GenericParam::Type(param) => Some(param.ident.to_string()),
            syn::GenericParam::Const(param) => Some(param.ident.to_string()),
            syn::GenericParam::Lifetime(_) => None,
        })
        .collect();
    let instance = Instance(
        instance
            .iter()
            .filter(|(name, _)| wanted.contains(name))
            .cloned()
            .collect(),
    );
    let flat = flatten(krate, &module.path, function, owner, &instance);
    let signature = match flat {
        Ok(signature) => signature,
        Err(error) => {
            counts[1] += 1;
            println!("{name}: signature: {}", error.message);
            return;
        }
    };
    let attribute = match attribute(function).resolve(&signature, &|_| None) {
        Ok(attribute) => attribute,
        Err(error) => {
            counts[1] += 1;
            println!("{name}: attribute: {}", error.message);
            return;
        }
    };
    let request = KernelRequest {
        krate,
        module: &module.path,
        function,
        attribute: &attribute,
        signature: &signature,
    };
    match lift(&request) {
        Ok(lifted) => {
            counts[0] += 1;
            if short {
                println!("{name}: lifted");
            } else {
                println!("{}", lifted.program);
                lifted.notes.iter().for_each(|note| println!("# {note}"));
                println!();
            }
        }
        Err(refusal) => {
            counts[1] += 1;
            println!("{name}: {refusal}");
            if !short {
                println!("  {}\n  {}\n", refusal.why, refusal.help);
            }
        }
    }
}
