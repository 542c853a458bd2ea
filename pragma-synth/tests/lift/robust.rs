//! The lifter never panics: on whatever functions there are, and on damaged ones.

use std::path::{Path, PathBuf};

use pragma_spec::{KernelAttribute, KernelSignature};
use pragma_synth::lift::{KernelRequest, SourceCrate, lift};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::Visit;

use crate::support::add_module;

/// All functions of a file, also those in modules, impls and bodies.
#[derive(Default)]
struct Functions(Vec<syn::ItemFn>);

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.0.push(function.clone());
        syn::visit::visit_item_fn(self, function);
    }
}

fn rust_files(dir: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            into.push(path);
        }
    }
}

/// Reads a function, whatever comes of it; whether it could be.
fn try_lift(krate: &SourceCrate, function: &syn::ItemFn) -> Option<bool> {
    let signature = KernelSignature::from_syn(&function.sig).ok()?;
    let attribute = KernelAttribute::parse(TokenStream::new()).ok()?;
    let lifted = lift(&KernelRequest {
        krate,
        module: &[],
        function,
        attribute: &attribute,
        signature: &signature,
    });
    if let Ok(lifted) = &lifted
        && let Err(errors) = pragma_synth::ir::verify::verify(&lifted.program)
    {
        panic!("{}\n{errors:?}\n{}", function.sig.ident, lifted.program);
    }
    Some(lifted.is_ok())
}

fn functions_of(path: &Path) -> (SourceCrate, Vec<syn::ItemFn>) {
    let mut krate = SourceCrate::default();
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(file) = syn::parse_file(&text) else {
        return (krate, Vec::new());
    };
    let mut functions = Functions::default();
    functions.visit_file(&file);
    add_module(&mut krate, Vec::new(), "file.rs", file.items);
    (krate, functions.0)
}

#[test]
fn every_function_of_this_workspace() {
    let mut files = Vec::new();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    rust_files(here.parent().unwrap_or(here), &mut files);
    let (mut tried, mut read) = (0, 0);
    for path in files {
        let (krate, functions) = functions_of(&path);
        for function in functions {
            if let Some(lifted) = try_lift(&krate, &function) {
                tried += 1;
                read += u32::from(lifted);
            }
        }
    }
    assert!(tried > 100 && read > 50, "{read} of {tried}");
}

/// All single-token deletions and repetitions, and exchanges of neighbours.
#[test]
fn damaged_functions() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lift/cases");
    let mut files = Vec::new();
    rust_files(&cases, &mut files);
    let mut tried = 0u64;
    for path in files {
        let (krate, functions) = functions_of(&path);
        for function in functions {
            let count = count_tokens(&function.block.to_token_stream());
            for at in 0..count {
                // Every one would take minutes; which ones does not matter.
                if (at * 7 + function.block.stmts.len()) % 23 != 0 {
                    continue;
                }
                for how in [Damage::Delete, Damage::Repeat, Damage::Swap] {
                    let mut left = at;
                    let tokens = damage(function.block.to_token_stream(), &mut left, how);
                    if let Ok(block) = syn::parse2::<syn::Block>(tokens) {
                        let mut damaged = function.clone();
                        *damaged.block = block;
                        try_lift(&krate, &damaged);
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

#[derive(Clone, Copy)]
enum Damage {
    Delete,
    Repeat,
    Swap,
}

fn count_tokens(tokens: &TokenStream) -> usize {
    tokens
        .clone()
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => 1 + count_tokens(&group.stream()),
            _ => 1,
        })
        .sum()
}

fn damage(tokens: TokenStream, left: &mut usize, how: Damage) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    let mut pending: Option<TokenTree> = None;
    for token in tokens {
        let hit = *left == 0;
        *left = left.wrapping_sub(1);
        let token = match token {
            TokenTree::Group(group) if !hit => {
                let inner = damage(group.stream(), left, how);
                TokenTree::Group(proc_macro2::Group::new(group.delimiter(), inner))
            }
            other => other,
        };
        if hit {
            match how {
                Damage::Delete => continue,
                Damage::Repeat => out.push(token.clone()),
                Damage::Swap => {
                    pending = Some(token);
                    continue;
                }
            }
        }
        out.push(token);
        out.extend(pending.take());
    }
    out.extend(pending);
    out.into_iter().collect()
}
