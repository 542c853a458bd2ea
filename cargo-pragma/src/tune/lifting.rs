//! Reading marked functions into the IR, with refusals as diagnostics.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use pragma_spec::{Fingerprint, dependency_hash};
use pragma_synth::lift::{self, KernelRequest, Lifted, SourceCrate, SourceModule, Unliftable};

use crate::diagnostic::{Diagnostic, Location};
use crate::discover::{KernelSource, PackageSource, Workspace};

/// Lifts functions of one package. Each crate's sources are handed over once.
#[derive(Debug)]
pub struct Lifter<'a> {
    workspace: &'a Workspace,
    source: &'a PackageSource,
    crates: RefCell<BTreeMap<usize, Rc<SourceCrate>>>,
}

impl<'a> Lifter<'a> {
    /// A lifter for `source`.
    pub fn new(workspace: &'a Workspace, source: &'a PackageSource) -> Self {
        Lifter {
            workspace,
            source,
            crates: RefCell::default(),
        }
    }

    /// Reads one function.
    ///
    /// # Errors
    /// Why it cannot be read, at the place in the source.
    pub fn lift(&self, kernel: &KernelSource) -> Result<Lifted, Box<Diagnostic>> {
        let (attribute, signature) = match (&kernel.attribute, &kernel.signature) {
            (Ok(attribute), Ok(signature)) => (attribute, signature),
            (Err(error), _) | (_, Err(error)) => {
                return Err(Box::new(
                    Diagnostic::error(format!(
                        "`{}` cannot have kernels: {}",
                        kernel.title(),
                        error.message
                    ))
                    .at(kernel.locate(error.span, ""))
                    .help(error.help.as_deref().unwrap_or("")),
                ));
            }
        };
        let krate = self.krate(kernel.krate);
        let request = KernelRequest {
            krate: &krate,
            module: &kernel.module,
            function: &kernel.function,
            attribute,
            signature,
        };
        let mut lifted =
            lift::lift(&request).map_err(|refusal| Box::new(self.explain(kernel, &refusal)))?;
        // Kernels also depend on what the types behind the signature are.
        lifted
            .dependencies
            .extend(kernel.definitions.iter().cloned());
        lifted.dependencies.sort_by(|a, b| a.0.cmp(&b.0));
        lifted
            .dependencies
            .dedup_by(|a, b| a.0 == b.0 && a.1.to_string() == b.1.to_string());
        Ok(lifted)
    }

    fn krate(&self, index: usize) -> Rc<SourceCrate> {
        let mut crates = self.crates.borrow_mut();
        let krate = crates.entry(index).or_insert_with(|| {
            let modules = self
                .source
                .crates
                .get(index)
                .map(|krate| krate.modules.as_slice())
                .unwrap_or_default();
            let modules = modules.iter().map(|module| SourceModule {
                path: module.path.clone(),
                file: self.workspace.shown(&module.file),
                items: module.items.clone(),
            });
            Rc::new(SourceCrate {
                modules: modules.collect(),
            })
        });
        Rc::clone(krate)
    }

    fn explain(&self, kernel: &KernelSource, refusal: &Unliftable) -> Diagnostic {
        let span = &refusal.span;
        let file = self
            .source
            .crates
            .iter()
            .flat_map(|krate| &krate.modules)
            .map(|module| &module.file)
            .find(|file| self.workspace.shown(file) == span.file)
            .unwrap_or(&kernel.file);
        Diagnostic::error(format!(
            "cannot read `{}`: {}",
            kernel.title(),
            refusal.message
        ))
        .at(Location::in_file(
            &span.file, file, span.start, span.end, "",
        ))
        .note(&refusal.why)
        .help(&refusal.help)
    }
}

/// The hash over helpers, types and constants that a lifted function uses.
pub fn dependencies(lifted: &Lifted) -> Fingerprint {
    dependency_hash(&lifted.dependencies)
}
