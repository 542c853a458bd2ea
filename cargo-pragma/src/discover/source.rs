//! A marked function as one kernel: one for every instance that its attribute asks for.
//!
//! Owns reading attribute and signature together, with the types behind them. Ids are given by `ids`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pragma_spec::form::{FlattenPlace, HarnessForm, Instance, Owner};
use pragma_spec::{
    Fingerprint, InputSpec, KernelAttribute, KernelId, KernelSignature, SpecError, fingerprint,
    harness_symbol,
};
use pragma_synth::lift::{self, SourceCrate};
use proc_macro2::{Span, TokenStream};
use syn::ItemFn;

use super::kernels::{ImplOwner, Marked};
use super::modules::Module;
use super::types::CrateTypes;
use crate::diagnostic::Location;

/// One marked function, at one instance.
#[derive(Clone, Debug)]
pub struct KernelSource {
    /// Its name in `pragma/`.
    pub id: KernelId,
    /// The package's name.
    pub package: String,
    /// Which of [`super::PackageSource::crates`] it is in.
    pub krate: usize,
    /// Its module, from the crate root.
    pub module: Vec<String>,
    /// Its file, absolute.
    pub file: PathBuf,
    /// The file as users know it.
    pub shown: String,
    /// Line of the function's name, from 1.
    pub line: usize,
    /// Column of the function's name in characters, from 0.
    pub column: usize,
    /// The function with all its attributes; a method as if it were free.
    pub function: ItemFn,
    /// The impl that it is in.
    pub owner: Option<ImplOwner>,
    /// What its type and const parameters, and those of the impl, stand for.
    pub instance: Instance,
    /// Which of the function's instances this is, from 0.
    pub nth: usize,
    /// The attribute's arguments as written.
    pub tokens: TokenStream,
    /// The attribute in terms of leaves, if it makes sense.
    pub attribute: Result<KernelAttribute, SpecError>,
    /// The signature, if a kernel can have it.
    pub signature: Result<KernelSignature, SpecError>,
    /// Identifies function and attribute; the same for all instances.
    pub fingerprint: Fingerprint,
    /// Types and constants behind the signature: path and definition.
    pub definitions: Vec<(String, TokenStream)>,
}

impl KernelSource {
    /// The kernels of a marked function. Their ids are still to be given.
    pub(super) fn of(
        package: &str,
        krate: usize,
        module: &Module,
        shown: &str,
        marked: &Marked,
        types: &CrateTypes<'_>,
        whole: &SourceCrate,
    ) -> Vec<KernelSource> {
        let Ok(unnamed) = KernelId::new("unnamed") else {
            return Vec::new();
        };
        let written_attribute = KernelAttribute::parse(marked.tokens.clone());
        let instances = match &written_attribute {
            Ok(attribute) => attribute.instances(),
            Err(_) => vec![Instance::default()],
        };
        let start = marked.function.sig.ident.span().start();
        let fingerprint = fingerprint(&marked.tokens, &marked.function);
        let one = |(nth, instance): (usize, Instance)| {
            let signature = signature(marked, &module.path, &instance, types, whole);
            let attribute = written_attribute.clone().and_then(|attribute| {
                let Ok(signature) = &signature else {
                    return Ok(attribute);
                };
                let constant = |name: &str| {
                    let segments: Vec<String> = name.split("::").map(str::to_owned).collect();
                    pragma_spec::form::TypeLookup::constant(types, &module.path, &segments)
                };
                attribute.resolve(signature, &constant)
            });
            KernelSource {
                id: unnamed.clone(),
                package: package.to_owned(),
                krate,
                module: module.path.clone(),
                file: module.file.clone(),
                shown: shown.to_owned(),
                line: start.line,
                column: start.column,
                function: marked.function.clone(),
                owner: marked.owner.clone(),
                instance,
                nth,
                tokens: marked.tokens.clone(),
                attribute,
                signature,
                fingerprint: fingerprint.clone(),
                definitions: types.take_used(),
            }
        };
        instances.into_iter().enumerate().map(one).collect()
    }

    /// The function's name.
    pub fn name(&self) -> String {
        let name = self.function.sig.ident.to_string();
        name.strip_prefix("r#").unwrap_or(&name).to_owned()
    }

    /// The function's name with that of its type: `Plane::blur`.
    pub fn title(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{}::{}", owner.name, self.name()),
            None => self.name(),
        }
    }

    /// The module as manifests write it: `a::b`, empty for the crate root.
    pub fn module_text(&self) -> String {
        self.module.join("::")
    }

    /// The place of a span in this function's file.
    pub fn locate(&self, span: Span, label: &str) -> Option<Location> {
        let (start, end) = (span.start(), span.end());
        Location::in_file(
            &self.shown,
            &self.file,
            (start.line, start.column),
            (end.line, end.column),
            label,
        )
    }

    /// The place of the function's name.
    pub fn location(&self, label: &str) -> Option<Location> {
        self.locate(self.function.sig.ident.span(), label)
    }

    /// Why the macro refuses this function, if it does.
    pub fn refusal(&self) -> Option<&SpecError> {
        self.attribute
            .as_ref()
            .err()
            .or(self.signature.as_ref().err())
    }

    /// The symbol that the macro derives from the function alone.
    fn harness_function(&self) -> String {
        let file_name = self.file.file_name().unwrap_or_default().to_string_lossy();
        harness_symbol(
            &self.function.sig.ident,
            &self.fingerprint,
            &file_name,
            self.line,
            self.column,
        )
    }

    /// The symbol of the reference in a harness library.
    pub fn harness_symbol(&self) -> String {
        match self.nth {
            0 => self.harness_function(),
            nth => format!("{}_{nth}", self.harness_function()),
        }
    }

    /// What a harness build must know of it beyond its tokens; `None` for plain functions and refused ones.
    pub fn harness_form(&self) -> Option<HarnessForm> {
        let (Ok(signature), Ok(attribute)) = (&self.signature, &self.attribute) else {
            return None;
        };
        let made: Vec<(String, String)> = attribute
            .inputs
            .iter()
            .filter_map(|(name, spec)| match spec {
                InputSpec::Expr(text) => Some((name.clone(), text.clone())),
                _ => None,
            })
            .collect();
        if signature.form.is_plain() && made.is_empty() {
            return None;
        }
        Some(HarnessForm {
            function: self.harness_function(),
            symbol: self.harness_symbol(),
            form: signature.form.clone(),
            made,
        })
    }
}

/// The signature of a marked function at an instance.
fn signature(
    marked: &Marked,
    module: &[String],
    instance: &Instance,
    types: &CrateTypes<'_>,
    whole: &SourceCrate,
) -> Result<KernelSignature, SpecError> {
    let usage = lift::usage(whole, &marked.function);
    let nothing = BTreeSet::new();
    let place = FlattenPlace {
        module,
        owner: marked.owner.as_ref().map(|owner| Owner {
            ty: &owner.ty,
            generics: &owner.generics,
        }),
        instance,
        lookup: types,
        written: &usage.written,
        unread: &nothing,
    };
    let signature = KernelSignature::flatten(&marked.function.sig, &place)?;
    let unread = usage.unread(&signature);
    if unread.is_empty() {
        return Ok(signature);
    }
    // Fields that nobody looks at cost nothing, and are free to change.
    let place = FlattenPlace {
        unread: &unread,
        ..place
    };
    KernelSignature::flatten(&marked.function.sig, &place)
}
