//! The command line, as clap reads it.
//!
//! Owns names, defaults and help texts of commands and flags. What they mean is in `command`.

use crate::process::confine::Confinement;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, builder::Styles};

use super::budget::Budget;
use super::shell::{Color, Format};

const STYLES: Styles = Styles::styled()
    .header(anstyle_bold_green())
    .usage(anstyle_bold_green())
    .literal(anstyle_bold_cyan());

const fn anstyle_bold_green() -> clap::builder::styling::Style {
    clap::builder::styling::AnsiColor::BrightGreen
        .on_default()
        .bold()
}

const fn anstyle_bold_cyan() -> clap::builder::styling::Style {
    clap::builder::styling::AnsiColor::BrightCyan
        .on_default()
        .bold()
}

/// Tunes functions marked `#[pragma_kernel]`: writes faster kernels for them, proves each against the function itself,
/// and vendors the winners as plain source.
#[derive(Debug, Parser)]
#[command(name = "cargo pragma", bin_name = "cargo pragma", version, styles = STYLES, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Prepare a package: the dependency, pragma/index.toml, a commented [package.metadata.pragma]
    Init(InitArgs),
    /// List every kernel with its state
    List(ListArgs),
    /// Search faster kernels, prove them, vendor the winners
    Tune(Box<TuneArgs>),
    /// Pack a tuning job for a host with a GPU and without Rust
    Bundle(BundleArgs),
    /// Vendor what tuning a bundle came to
    Import(ImportArgs),
    /// For CI: do functions and kernels still belong together, and are the kernels right?
    Check(CheckArgs),
    /// Time the reference against the vendored kernels on this machine
    Bench(BenchArgs),
    /// Show how a function was read and what was tried, or why it could not be read
    Explain(ExplainArgs),
    /// Show what this machine can do, and how to get what is missing
    Doctor(DoctorArgs),
    /// Remove orphaned kernels and caches
    Clean(CleanArgs),
}

impl Command {
    /// The flags that every command has.
    pub fn common(&self) -> &Common {
        match self {
            Command::Init(args) => &args.common,
            Command::List(args) => &args.common,
            Command::Tune(args) => &args.common,
            Command::Bundle(args) => &args.common,
            Command::Import(args) => &args.common,
            Command::Check(args) => &args.common,
            Command::Bench(args) => &args.common,
            Command::Explain(args) => &args.common,
            Command::Doctor(args) => &args.common,
            Command::Clean(args) => &args.common,
        }
    }
}

/// The flags that every command has.
#[derive(Clone, Debug, Default, Args)]
pub struct Common {
    /// Path to Cargo.toml
    #[arg(long, value_name = "PATH", help_heading = "Package selection")]
    pub manifest_path: Option<PathBuf>,
    /// Package to work on (repeatable)
    #[arg(short, long, value_name = "NAME", help_heading = "Package selection")]
    pub package: Vec<String>,
    /// All packages of the workspace
    #[arg(long, help_heading = "Package selection")]
    pub workspace: bool,
    /// Features to build with, comma separated (repeatable)
    #[arg(
        short = 'F',
        long,
        value_name = "FEATURES",
        value_delimiter = ',',
        help_heading = "Features and build"
    )]
    pub features: Vec<String>,
    /// Build with all features
    #[arg(long, help_heading = "Features and build")]
    pub all_features: bool,
    /// Build without the default feature
    #[arg(long, help_heading = "Features and build")]
    pub no_default_features: bool,
    /// Profile in which the reference is compiled
    #[arg(
        long,
        value_name = "PROFILE",
        default_value = "release",
        help_heading = "Features and build"
    )]
    pub profile: String,
    /// Do not touch the network
    #[arg(long, help_heading = "Features and build")]
    pub offline: bool,
    /// Require that Cargo.lock is up to date
    #[arg(long, help_heading = "Features and build")]
    pub locked: bool,
    /// How results are printed on standard output
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub format: Format,
    /// When to use colour
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = "Output"
    )]
    pub color: Color,
    /// No progress messages; warnings and errors remain
    #[arg(short, long, action = ArgAction::SetTrue, help_heading = "Output")]
    pub quiet: bool,
}

/// Whether kernels may run unconfined.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ConfinementArgs {
    /// Run kernels with your own rights where they cannot be confined; the manifest says so
    #[arg(long)]
    pub allow_unsandboxed: bool,
}

impl From<ConfinementArgs> for Confinement {
    fn from(args: ConfinementArgs) -> Self {
        if args.allow_unsandboxed {
            Confinement::Waived
        } else {
            Confinement::Required
        }
    }
}

/// Flags of `init`.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// Depend on pragma-runtime from this directory
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    pub path: Option<PathBuf>,
    /// Depend on pragma-runtime from this git repository
    #[arg(long, value_name = "URL")]
    pub git: Option<String>,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `list`.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `tune`.
#[derive(Clone, Debug, Args)]
pub struct TuneArgs {
    /// Kernels to tune, even where nothing has changed [default: all that are not fresh]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// Targets: cpu (every tier this machine has), x86-64-v3, x86-64-v4, cuda (every architecture the GPU runs), sm_80, sm_90 [default: cpu]
    #[arg(long, value_name = "TARGETS", value_delimiter = ',')]
    pub target: Vec<String>,
    /// Engines that write kernels: synth (embedded), llm (a language model), command (a coding agent)
    #[arg(
        long,
        value_name = "ENGINES",
        value_delimiter = ',',
        default_value = "synth"
    )]
    pub engine: Vec<String>,
    /// Language model of the llm engine: anthropic:NAME, openai:NAME
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Command line of the command engine: it reads the prompt on standard input and writes `kernel.rs`
    #[arg(long, value_name = "LINE")]
    pub command: Option<String>,
    /// Write every answer of the model into this directory
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Take the answers from this directory instead of from the network
    #[arg(long, value_name = "DIR")]
    pub replay: Option<PathBuf>,
    /// Limits of the run: time, candidates per kernel and target, money, tokens: 5m,200c,$2,500kt [default: 18 s per
    /// kernel, 10 minutes with a language model]
    #[arg(long, value_name = "LIMITS")]
    pub budget: Option<Budget>,
    /// Tune this job for the GPU of this host, without a package; `cargo pragma bundle` makes it
    #[arg(long, value_name = "FILE", requires = "output", conflicts_with_all = ["kernels", "dry_run", "resume"])]
    pub bundle: Option<PathBuf>,
    /// Where the results of a bundle go; `cargo pragma import` takes them
    #[arg(short, long, value_name = "FILE", requires = "bundle")]
    pub output: Option<PathBuf>,
    /// The GPU to use, by number
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u32,
    /// Search and report, but write nothing into the package
    #[arg(long)]
    pub dry_run: bool,
    /// Jobs that cargo runs at once while it builds the package [default: cargo's own]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// Continue an interrupted run: what was judged before is not judged again
    #[arg(long)]
    pub resume: bool,
    /// Tune fresh kernels too
    #[arg(long)]
    pub force: bool,
    /// See [`ConfinementArgs`].
    #[command(flatten)]
    pub confinement: ConfinementArgs,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `bundle`.
#[derive(Clone, Debug, Args)]
pub struct BundleArgs {
    /// Kernels to pack [default: all]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// See [`ConfinementArgs`].
    #[command(flatten)]
    pub confinement: ConfinementArgs,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// The results that `tune --bundle` wrote
    #[arg(value_name = "FILE")]
    pub results: PathBuf,
    /// Say what would be vendored, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Do not run kernels: compare files and compile only
    #[arg(long)]
    pub no_run: bool,
    /// See [`ConfinementArgs`].
    #[command(flatten)]
    pub confinement: ConfinementArgs,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `bench`.
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// Kernels to time [default: all that are fresh]
    #[arg(value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// See [`ConfinementArgs`].
    #[command(flatten)]
    pub confinement: ConfinementArgs,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainArgs {
    /// The kernel to explain
    #[arg(value_name = "KERNEL")]
    pub kernel: String,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}

/// Flags of `clean`.
#[derive(Clone, Debug, Args)]
pub struct CleanArgs {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Remove the history of earlier runs too
    #[arg(long)]
    pub all: bool,
    /// See [`Common`].
    #[command(flatten)]
    pub common: Common,
}
