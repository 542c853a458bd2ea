//! Launch plans: what a host must do to run the kernels of one version.
//!
//! Owns the data and its text in manifests. The names of parameters and dimensions are the function's.

use std::fmt;
use std::str::FromStr;

use super::Formula;
use crate::Scalar;
use crate::record::{Record, RecordError, quote_text, strings};

/// How to run one version: the launches in order, on one stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchPlan {
    /// Conditions, all of which must hold.
    pub requires: Vec<Requirement>,
    /// Device memory beside the arguments.
    pub scratch: Vec<Scratch>,
    /// Types of the returned scalars: each lies at the start of a slot of 8 bytes.
    pub results: Vec<Scalar>,
    /// Whether the kernels report faults.
    pub fault: bool,
    /// Options for the compiler beside the architecture.
    pub options: Vec<String>,
    /// The launches.
    pub launches: Vec<Launch>,
}

/// What must hold for a version to be used; otherwise another one, or the reference, runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Requirement {
    /// The parameter's first element lies at a multiple of so many bytes: `aligned(x, 16)`.
    Aligned(String, u64),
    /// The size is a multiple of a number: `multiple(n, 4)`.
    Multiple(Formula, u64),
    /// The size is at most a number: `at_most(n, 1024)`.
    AtMost(Formula, u64),
}

/// Device memory that a version needs beside its arguments: `partials: 4 * n`, `flags: n, zeroed`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scratch {
    /// Its name among the arguments.
    pub name: String,
    /// Its size.
    pub bytes: Formula,
    /// Whether it must be all zeros before the first launch of every call.
    pub zeroed: bool,
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelArg {
    /// A dimension, as a 64-bit unsigned integer: `dim rows`.
    Dim(String),
    /// A scalar parameter, in its own type, or the device address of a slice parameter: `param x`. A returned `Vec`
    /// is the parameter `return`.
    Param(String),
    /// The device address of a scratch buffer: `scratch partials`.
    Scratch(String),
    /// The device address of the returned scalars: `results`.
    Results,
    /// The device address of a 32-bit word that is 0 before the call; otherwise afterwards, the reference would have
    /// panicked: `fault`.
    Fault,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The name of the kernel's function.
    pub kernel: String,
    /// Blocks along x, y and z.
    pub grid: [Formula; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: Formula,
    /// The arguments.
    pub args: Vec<KernelArg>,
}

impl LaunchPlan {
    /// Whether the conditions on sizes hold; `false` also if a dimension is unknown. Alignment is the caller's to check.
    pub fn fits(&self, lookup: &dyn Fn(&str) -> Option<u64>) -> bool {
        self.requires.iter().all(|condition| match condition {
            Requirement::Aligned(..) => true,
            Requirement::Multiple(size, of) => size
                .eval(lookup)
                .is_some_and(|size| size % (*of).max(1) == 0),
            Requirement::AtMost(size, limit) => {
                size.eval(lookup).is_some_and(|size| size <= *limit)
            }
        })
    }

    pub(crate) fn read(record: &Record) -> Result<Self, RecordError> {
        Ok(LaunchPlan {
            requires: parsed(record, "requires")?,
            scratch: parsed(record, "scratch")?,
            results: parsed(record, "results")?,
            fault: record.optional_flag("fault")?,
            options: record.texts("options")?,
            launches: record
                .tables("launch")?
                .iter()
                .map(Launch::read)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The plan as a text of its own, which [`FromStr`] reads.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        self.write("", &mut out);
        out
    }

    /// Writes the keys of the plan; launches become tables whose names begin with `prefix`.
    pub(crate) fn write(&self, prefix: &str, out: &mut String) {
        let texts = |values: &[String]| strings(values);
        out.push_str(&format!("requires = {}\n", texts(&shown(&self.requires))));
        out.push_str(&format!("scratch = {}\n", texts(&shown(&self.scratch))));
        out.push_str(&format!("results = {}\n", texts(&shown(&self.results))));
        if self.fault {
            out.push_str("fault = true\n");
        }
        out.push_str(&format!("options = {}\n", texts(&self.options)));
        for launch in &self.launches {
            out.push_str(&format!(
                "\n[[{prefix}launch]]\nkernel = {}\ngrid = {}\nblock = {}\nshared = {}\nargs = {}\n",
                quote_text(&launch.kernel),
                strings(&shown(&launch.grid)),
                strings(&shown(&launch.block)),
                quote_text(&launch.shared.to_string()),
                strings(&shown(&launch.args)),
            ));
        }
    }
}

impl FromStr for LaunchPlan {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        LaunchPlan::read(&Record::parse(text)?)
    }
}

fn shown<T: fmt::Display>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

fn parsed<T: FromStr>(record: &Record, key: &str) -> Result<Vec<T>, RecordError>
where
    T::Err: fmt::Display,
{
    record
        .texts(key)?
        .iter()
        .map(|text| {
            text.parse()
                .map_err(|error| RecordError(format!("`{key}`: {error}")))
        })
        .collect()
}

impl Launch {
    fn read(record: &Record) -> Result<Self, RecordError> {
        let three = |key: &str| RecordError(format!("`{key}` is not three sizes"));
        Ok(Launch {
            kernel: record.text("kernel")?,
            grid: parsed(record, "grid")?
                .try_into()
                .map_err(|_| three("grid"))?,
            block: parsed(record, "block")?
                .try_into()
                .map_err(|_| three("block"))?,
            shared: record.parsed("shared")?,
            args: parsed(record, "args")?,
        })
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requirement::Aligned(param, bytes) => write!(f, "aligned({param}, {bytes})"),
            Requirement::Multiple(size, of) => write!(f, "multiple({size}, {of})"),
            Requirement::AtMost(size, limit) => write!(f, "at_most({size}, {limit})"),
        }
    }
}

impl FromStr for Requirement {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let read = || {
            let (word, rest) = text.split_once('(')?;
            let (subject, number) = rest.strip_suffix(')')?.rsplit_once(',')?;
            let number = number.trim().parse().ok()?;
            Some(match word {
                "aligned" => Requirement::Aligned(subject.trim().to_owned(), number),
                "multiple" => Requirement::Multiple(subject.parse().ok()?, number),
                "at_most" => Requirement::AtMost(subject.parse().ok()?, number),
                _ => return None,
            })
        };
        read().ok_or_else(|| RecordError(format!("`{text}` is not a requirement")))
    }
}

impl fmt::Display for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zeroed = if self.zeroed { ", zeroed" } else { "" };
        write!(f, "{}: {}{zeroed}", self.name, self.bytes)
    }
}

impl FromStr for Scratch {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let read = || {
            let (name, rest) = text.split_once(':')?;
            let (bytes, zeroed) = match rest.strip_suffix(", zeroed") {
                Some(bytes) => (bytes, true),
                None => (rest, false),
            };
            Some(Scratch {
                name: name.trim().to_owned(),
                bytes: bytes.parse().ok()?,
                zeroed,
            })
        };
        read().ok_or_else(|| RecordError(format!("`{text}` is not scratch memory")))
    }
}

impl fmt::Display for KernelArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelArg::Dim(name) => write!(f, "dim {name}"),
            KernelArg::Param(name) => write!(f, "param {name}"),
            KernelArg::Scratch(name) => write!(f, "scratch {name}"),
            KernelArg::Results => f.write_str("results"),
            KernelArg::Fault => f.write_str("fault"),
        }
    }
}

impl FromStr for KernelArg {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        match text.split_once(' ') {
            Some(("dim", name)) => Ok(KernelArg::Dim(name.to_owned())),
            Some(("param", name)) => Ok(KernelArg::Param(name.to_owned())),
            Some(("scratch", name)) => Ok(KernelArg::Scratch(name.to_owned())),
            None if text == "results" => Ok(KernelArg::Results),
            None if text == "fault" => Ok(KernelArg::Fault),
            _ => Err(RecordError(format!("`{text}` is not an argument"))),
        }
    }
}
