//! Kernels for GPUs in manifests: architectures, launch plans, files.
//!
//! Owns the words. Compiling, loading and launching are the tool's and the runtime's business.

mod formula;
mod plan;

use std::fmt;
use std::str::FromStr;

pub use formula::{Formula, InvalidFormula, Op};
pub use plan::{KernelArg, Launch, LaunchPlan, Requirement, Scratch};

use crate::TargetOutcome;
use crate::record::{Record, RecordError, quote_text, strings};

/// A GPU architecture that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GpuArch {
    /// Compute capability 8.0 (Ampere).
    Sm80,
    /// Compute capability 9.0 (Hopper).
    Sm90,
}

impl GpuArch {
    /// Every architecture, weakest first.
    pub const ALL: [GpuArch; 2] = [GpuArch::Sm80, GpuArch::Sm90];

    /// The name, as compilers take it: `sm_90`.
    pub const fn name(self) -> &'static str {
        match self {
            GpuArch::Sm80 => "sm_80",
            GpuArch::Sm90 => "sm_90",
        }
    }

    /// The compute capability.
    pub const fn capability(self) -> (u32, u32) {
        match self {
            GpuArch::Sm80 => (8, 0),
            GpuArch::Sm90 => (9, 0),
        }
    }

    /// Whether a device of this capability runs PTX for the architecture: every later one does.
    pub fn runs_on(self, capability: (u32, u32)) -> bool {
        capability >= self.capability()
    }

    /// Whether a device of this capability runs machine code for the architecture: only its own generation does.
    pub fn is_native_on(self, capability: (u32, u32)) -> bool {
        let (major, minor) = self.capability();
        capability.0 == major && capability.1 >= minor
    }
}

impl fmt::Display for GpuArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text does not name a GPU architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a GPU target; known ones are sm_80 and sm_90")]
pub struct UnknownArch(pub String);

impl FromStr for GpuArch {
    type Err = UnknownArch;

    fn from_str(name: &str) -> Result<Self, UnknownArch> {
        GpuArch::ALL
            .into_iter()
            .find(|arch| arch.name() == name)
            .ok_or_else(|| UnknownArch(name.to_owned()))
    }
}

/// What tuning for one GPU architecture came to: `[[device]]` in a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceArtefact {
    /// The architecture.
    pub arch: GpuArch,
    /// Whether there is a kernel.
    pub outcome: TargetOutcome,
    /// Why there is none, where that is so.
    pub reason: Option<String>,
    /// What to run for which problem size: ascending by `max_elements`, the last without bound.
    pub variants: Vec<DeviceVariant>,
    /// What these kernels were tested for, beyond what the manifest says of all.
    pub checked: Vec<String>,
    /// What they were not tested for.
    pub unchecked: Vec<String>,
}

/// A file of a kernel with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashedFile {
    /// Its name in the kernel's directory.
    pub name: String,
    /// [`crate::text_sha256`] of it.
    pub sha256: String,
}

/// A kernel up to some problem size.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceVariant {
    /// The CUDA C++ source.
    pub source: HashedFile,
    /// What the source was compiled to.
    pub ptx: HashedFile,
    /// The most elements, summed over all slice parameters, that this is for; `None` is no bound.
    pub max_elements: Option<u64>,
    /// The problem size it was tuned for, as `TuneSize` prints it.
    pub tune: String,
    /// Who wrote it: `synth`, ..
    pub engine: String,
    /// The schedule that reproduces it.
    pub actions: Vec<String>,
    /// How to launch it.
    pub plan: LaunchPlan,
}

impl DeviceArtefact {
    /// Every file that a manifest with this artefact names.
    pub fn files(&self) -> impl Iterator<Item = &HashedFile> {
        self.variants
            .iter()
            .flat_map(|variant| [&variant.source, &variant.ptx])
    }

    /// As in a manifest, as a text of its own, which [`FromStr`] reads.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    pub(crate) fn read(record: &Record) -> Result<Self, RecordError> {
        let variants = record.tables("variant")?;
        Ok(DeviceArtefact {
            arch: record.parsed("target")?,
            outcome: record.parsed("outcome")?,
            reason: record.optional_text("reason")?,
            checked: record.texts("checked")?,
            unchecked: record.texts("unchecked")?,
            variants: variants
                .iter()
                .map(DeviceVariant::read)
                .collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn write(&self, out: &mut String) {
        out.push_str(&format!(
            "\n[[device]]\ntarget = {}\noutcome = {}\n",
            quote_text(self.arch.name()),
            quote_text(self.outcome.name())
        ));
        if let Some(reason) = &self.reason {
            out.push_str(&format!("reason = {}\n", quote_text(reason)));
        }
        out.push_str(&format!(
            "checked = {}\nunchecked = {}\n",
            strings(&self.checked),
            strings(&self.unchecked)
        ));
        for variant in &self.variants {
            variant.write(out);
        }
    }
}

impl FromStr for DeviceArtefact {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        let root = Record::parse(text)?;
        let mut devices = root.tables("device")?;
        match (devices.pop(), devices.is_empty()) {
            (Some(only), true) => DeviceArtefact::read(&only),
            _ => Err(RecordError(
                "there is not exactly one `[[device]]`".to_owned(),
            )),
        }
    }
}

impl DeviceVariant {
    fn read(record: &Record) -> Result<Self, RecordError> {
        let file = |name: &str, hash: &str| -> Result<HashedFile, RecordError> {
            Ok(HashedFile {
                name: record.text(name)?,
                sha256: record.text(hash)?,
            })
        };
        Ok(DeviceVariant {
            source: file("source", "source_sha256")?,
            ptx: file("ptx", "ptx_sha256")?,
            max_elements: record.optional_number("max_elements")?,
            tune: record.text("tune")?,
            engine: record.text("engine")?,
            actions: record.texts("actions")?,
            plan: LaunchPlan::read(record)?,
        })
    }

    fn write(&self, out: &mut String) {
        out.push_str(&format!(
            "\n[[device.variant]]\nsource = {}\nsource_sha256 = {}\nptx = {}\nptx_sha256 = {}\n",
            quote_text(&self.source.name),
            quote_text(&self.source.sha256),
            quote_text(&self.ptx.name),
            quote_text(&self.ptx.sha256),
        ));
        if let Some(max) = self.max_elements {
            out.push_str(&format!("max_elements = {max}\n"));
        }
        out.push_str(&format!(
            "tune = {}\nengine = {}\nactions = {}\n",
            quote_text(&self.tune),
            quote_text(&self.engine),
            strings(&self.actions)
        ));
        self.plan.write("device.variant.", out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_runs_on_later_devices_and_machine_code_on_its_own_generation() {
        assert!(GpuArch::Sm80.runs_on((9, 0)) && !GpuArch::Sm90.runs_on((8, 9)));
        assert!(GpuArch::Sm80.is_native_on((8, 6)) && !GpuArch::Sm80.is_native_on((9, 0)));
        assert_eq!("sm_90".parse(), Ok(GpuArch::Sm90));
        assert!("sm_75".parse::<GpuArch>().is_err());
    }
}
