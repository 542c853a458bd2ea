//! The packages of a command with all that is known about them.

use std::collections::BTreeSet;

use pragma_spec::KernelId;

use crate::cli::args::Common;
use crate::cli::exit::Failure;
use crate::cli::shell::Shell;
use crate::diagnostic::Diagnostic;
use crate::discover::{self, KernelSource, PackageRef, PackageSource, Workspace, closest};
use crate::vendor::{self, Problem, States, Vendored};

/// One package.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its sources.
    pub source: PackageSource,
    /// Its `pragma/`.
    pub vendored: Vendored,
    /// How both belong together.
    pub states: States,
}

impl Loaded {
    /// What is wrong in `pragma/`. A package without marked functions needs no index.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        let bare = self.source.kernels.is_empty();
        self.vendored
            .problems
            .iter()
            .filter(move |problem| !(bare && **problem == Problem::NoIndex))
    }
}

/// What a command works on.
#[derive(Clone, Debug)]
pub struct Project {
    /// The workspace.
    pub workspace: Workspace,
    /// Its chosen packages.
    pub packages: Vec<Loaded>,
}

impl Project {
    /// Reads the packages that the flags choose, with warnings about what they hold.
    ///
    /// # Errors
    /// If the selection makes no sense or a package does not parse.
    pub fn load(common: &Common, shell: &Shell) -> Result<Self, Failure> {
        Project::read(discover::select(common)?, common, shell)
    }

    /// The same for packages that are chosen already.
    ///
    /// # Errors
    /// If a package does not parse.
    pub fn read(workspace: Workspace, common: &Common, shell: &Shell) -> Result<Self, Failure> {
        let mut packages = Vec::with_capacity(workspace.packages.len());
        for package in &workspace.packages {
            packages.push(load(&workspace, package, common, shell)?);
        }
        Ok(Project {
            workspace,
            packages,
        })
    }

    /// The kernels that `names` mean, as (package, kernel) indices; all of them where there are no names.
    ///
    /// # Errors
    /// A usage failure where a name means nothing, or more than one kernel of a package.
    pub fn choose(&self, names: &[String]) -> Result<Vec<(usize, usize)>, Failure> {
        let all = self
            .packages
            .iter()
            .enumerate()
            .flat_map(|(p, loaded)| (0..loaded.source.kernels.len()).map(move |k| (p, k)));
        if names.is_empty() {
            return Ok(all.collect());
        }
        let mut chosen = Vec::new();
        for name in names {
            let before = chosen.len();
            for (p, loaded) in self.packages.iter().enumerate() {
                let found = loaded.source.find(name);
                let same = |kernel: &&KernelSource| {
                    let first = found.first().map(|one| (&one.file, one.line, one.column));
                    first == Some((&kernel.file, kernel.line, kernel.column))
                };
                if !found.iter().all(same) {
                    let ids: Vec<&str> = found.iter().map(|kernel| kernel.id.as_str()).collect();
                    return Err(Failure::usage(
                        format!("`{name}` means more than one kernel"),
                        format!("name one of {}", ids.join(", ")),
                    ));
                }
                let found: BTreeSet<&KernelId> = found.iter().map(|kernel| &kernel.id).collect();
                let kernels = loaded.source.kernels.iter().enumerate();
                chosen.extend(
                    kernels
                        .filter(|(_, kernel)| found.contains(&kernel.id))
                        .map(|(k, _)| (p, k)),
                );
            }
            if chosen.len() == before {
                return Err(self.unknown(name));
            }
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(chosen)
    }

    fn unknown(&self, name: &str) -> Failure {
        let known: Vec<&str> = self
            .packages
            .iter()
            .flat_map(|loaded| &loaded.source.kernels)
            .map(|kernel| kernel.id.as_str())
            .collect();
        let packages: Vec<&str> = self
            .workspace
            .packages
            .iter()
            .map(|package| package.name.as_str())
            .collect();
        let help = match closest(name, &known) {
            Some(near) => format!("a kernel with a similar name exists: `{near}`"),
            None if known.is_empty() => "mark a function with `#[pragma_kernel]` first".to_owned(),
            None => format!(
                "`cargo pragma list` shows the kernels; searched in: {}",
                packages.join(", ")
            ),
        };
        Failure::usage(format!("there is no kernel `{name}`"), help)
    }

    /// The kernel at an index that [`Project::choose`] gave.
    pub fn kernel(&self, (package, kernel): (usize, usize)) -> (&Loaded, &KernelSource) {
        let loaded = &self.packages[package];
        (loaded, &loaded.source.kernels[kernel])
    }
}

fn load(
    workspace: &Workspace,
    package: &PackageRef,
    common: &Common,
    shell: &Shell,
) -> Result<Loaded, Failure> {
    let dir = package.pragma_dir();
    match vendor::recover(&dir) {
        Ok(None) => {}
        Ok(Some(kernel)) => shell.diagnostic(&Diagnostic::remark(format!(
            "an earlier run was interrupted while it wrote the kernel `{kernel}`; it is complete now"
        ))),
        Err(error) => shell.diagnostic(
            &Diagnostic::warning("an earlier run was interrupted while it wrote a kernel, and its work cannot be ended")
                .note(error)
                .help("make the directory writable and run the command again"),
        ),
    }
    let vendored = vendor::read(&dir, &package.name);
    let source = discover::read_package(workspace, package, &vendored.names(), common)?;
    for warning in &source.warnings {
        shell.diagnostic(warning);
    }
    let states = vendor::judge(&source, &vendored);
    Ok(Loaded {
        source,
        vendored,
        states,
    })
}
