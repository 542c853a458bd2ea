//! The record that lies beside the kernels of one function.
//!
//! Owns the data and its text. The text is byte-stable: the same data gives the same bytes, and nothing in
//! it depends on the machine, the time or the path of the crate.

use std::str::FromStr;

use crate::device::{DeviceArtefact, GpuArch};
use crate::form::SignatureForm;
use crate::record::{Record, RecordError, quote_text, strings};
use crate::{Fingerprint, KernelId, Shape, Target};

/// The newest manifest format this version reads and writes.
pub const MANIFEST_FORMAT: u32 = 1;

/// `pragma/<kernel>/manifest.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Format version of the file.
    pub format: u32,
    /// The kernel's directory.
    pub kernel: KernelId,
    /// The function's name.
    pub function: String,
    /// The package it belongs to.
    pub package: String,
    /// The module path inside the crate: `a::b`, empty for the root.
    pub module: String,
    /// What the function looked like when its kernels were made.
    pub fingerprint: Fingerprint,
    /// What the helpers and constants it uses looked like.
    pub dependencies: Fingerprint,
    /// The signature, for readers.
    pub signature: String,
    /// Dimensions, in the order in which kernels take them.
    pub dims: Vec<String>,
    /// The shape of every slice parameter, and of `return` where the function returns a `Vec`; inferred ones included.
    pub shapes: Vec<(String, Shape)>,
    /// What else the code around a kernel depends on.
    pub interface: Interface,
    /// One entry per target that was tuned for.
    pub artefacts: Vec<Artefact>,
    /// One entry per GPU architecture that was tuned for.
    pub devices: Vec<DeviceArtefact>,
    /// What the kernels were tested for.
    pub verification: VerificationRecord,
}

/// How a kernel is called, beyond its parameters. A plain function of slices and scalars has the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interface {
    /// The source's parameters and result, where they are more than leaves: written as lines under the key `form`.
    pub form: Option<SignatureForm>,
    /// Whether kernels can decline, so that the reference runs after all: `declines = true`.
    pub declines: bool,
    /// Pairs of leaves whose owners (`Vec`s of the same type) are exchanged after a kernel has run.
    pub swaps: Vec<(String, String)>,
    /// Whether a build with debug assertions runs the reference, for its overflow checks: kernels wrap.
    /// Written `overflow = "checked in debug"`.
    pub overflow_checked_in_debug: bool,
}

/// The value of the key `overflow`.
const CHECKED_IN_DEBUG: &str = "checked in debug";

/// What tuning for one target came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Artefact {
    /// The target.
    pub target: Target,
    /// Whether there is a kernel.
    pub outcome: TargetOutcome,
    /// Why there is none, where that is so.
    pub reason: Option<String>,
    /// The file in the kernel's directory.
    pub file: Option<String>,
    /// [`crate::text_sha256`] of that file.
    pub sha256: Option<String>,
    /// What to run for which problem size: ascending by `max_elements`, the last without bound.
    pub variants: Vec<Variant>,
}

/// How tuning for one target ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOutcome {
    /// There is a kernel that is faster than the reference.
    Tuned,
    /// No kernel is faster than the reference.
    ReferenceFastest,
    /// No candidate could be proven.
    Unproven,
}

/// What to run up to some problem size.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The function in the file, or `reference`.
    pub entry: String,
    /// The most elements, summed over all slice parameters, that this is for; `None` is no bound.
    pub max_elements: Option<u64>,
    /// The problem size it was tuned for, as `TuneSize` prints it.
    pub tune: String,
    /// Who wrote it: `synth`, ..
    pub engine: String,
    /// The schedule that reproduces it; empty where no schedule does.
    pub actions: Vec<String>,
    /// The seed of the search.
    pub seed: u64,
    /// Which model wrote it, if one did.
    pub authorship: Option<Authorship>,
}

/// Where a text comes from that no schedule makes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorship {
    /// The model, as `provider:name`.
    pub model: String,
    /// The version of the prompts.
    pub prompt: String,
    /// Hash of all that was said.
    pub transcript: Fingerprint,
}

/// What a winner has survived, and what nobody looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerificationRecord {
    /// Properties that were tested.
    pub checked: Vec<String>,
    /// Properties that were not.
    pub unchecked: Vec<String>,
    /// The accuracy policy, in words.
    pub accuracy: String,
}

/// A manifest cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Written by a later version of Pragma.
    #[error("format {0} is newer than this version of pragma understands ({MANIFEST_FORMAT})")]
    Newer(u32),
    /// Not what a manifest looks like.
    #[error(transparent)]
    Malformed(#[from] RecordError),
}

impl TargetOutcome {
    /// The word in the manifest and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            TargetOutcome::Tuned => "tuned",
            TargetOutcome::ReferenceFastest => "reference-fastest",
            TargetOutcome::Unproven => "unproven",
        }
    }
}

impl FromStr for TargetOutcome {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Self, RecordError> {
        [
            TargetOutcome::Tuned,
            TargetOutcome::ReferenceFastest,
            TargetOutcome::Unproven,
        ]
        .into_iter()
        .find(|outcome| outcome.name() == text)
        .ok_or_else(|| RecordError(format!("`{text}` is not an outcome")))
    }
}

impl Manifest {
    /// Reads the text of a manifest. Keys it does not know are ignored.
    ///
    /// # Errors
    /// If the text is not TOML, its format is newer, or something is missing or of the wrong kind.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        let root = Record::parse(text)?;
        let format = root.number("format")?;
        if format > MANIFEST_FORMAT {
            return Err(ManifestError::Newer(format));
        }
        let shapes = root
            .tables("shapes")?
            .iter()
            .map(|shape| Ok((shape.text("name")?, shape.parsed("shape")?)))
            .collect::<Result<_, RecordError>>()?;
        let artefacts = root.tables("artefact")?;
        let devices = root.tables("device")?;
        let verification = root.table("verification")?;
        Ok(Manifest {
            format,
            kernel: root.parsed("kernel")?,
            function: root.text("function")?,
            package: root.text("package")?,
            module: root.text("module")?,
            fingerprint: root.parsed("fingerprint")?,
            dependencies: root.parsed("dependencies")?,
            signature: root.text("signature")?,
            dims: root.texts("dims")?,
            shapes,
            interface: Interface::read(&root)?,
            artefacts: artefacts
                .iter()
                .map(Artefact::read)
                .collect::<Result<_, _>>()?,
            devices: devices
                .iter()
                .map(DeviceArtefact::read)
                .collect::<Result<_, _>>()?,
            verification: VerificationRecord {
                checked: verification.texts("checked")?,
                unchecked: verification.texts("unchecked")?,
                accuracy: verification.text("accuracy")?,
            },
        })
    }

    /// The text of the manifest, with LF line ends and a final one.
    pub fn to_toml(&self) -> String {
        let mut out = String::from(
            "# Written by `cargo pragma tune`; do not edit. `cargo pragma check` compares it with the source.\n",
        );
        let mut line = |key: &str, value: &str| {
            out.push_str(&format!("{key} = {value}\n"));
        };
        line("format", &self.format.to_string());
        line("kernel", &quote_text(self.kernel.as_str()));
        line("function", &quote_text(&self.function));
        line("package", &quote_text(&self.package));
        line("module", &quote_text(&self.module));
        line("fingerprint", &quote_text(self.fingerprint.as_str()));
        line("dependencies", &quote_text(self.dependencies.as_str()));
        line("signature", &quote_text(&self.signature));
        line("dims", &strings(&self.dims));
        out.push_str("shapes = [\n");
        for (name, shape) in &self.shapes {
            out.push_str(&format!(
                "    {{ name = {}, shape = {} }},\n",
                quote_text(name),
                quote_text(&shape.to_string())
            ));
        }
        out.push_str("]\n");
        self.interface.write(&mut out);
        for artefact in &self.artefacts {
            artefact.write(&mut out);
        }
        for device in &self.devices {
            device.write(&mut out);
        }
        out.push_str(&format!(
            "\n[verification]\naccuracy = {}\nchecked = {}\nunchecked = {}\n",
            quote_text(&self.verification.accuracy),
            strings(&self.verification.checked),
            strings(&self.verification.unchecked)
        ));
        out
    }

    /// What tuning for a GPU architecture came to, if it was tuned for.
    pub fn device(&self, arch: GpuArch) -> Option<&DeviceArtefact> {
        self.devices.iter().find(|device| device.arch == arch)
    }

    /// What tuning for `target` came to, if it was tuned for.
    pub fn artefact(&self, target: Target) -> Option<&Artefact> {
        self.artefacts
            .iter()
            .find(|artefact| artefact.target == target)
    }
}

impl Interface {
    fn read(root: &Record<'_>) -> Result<Self, RecordError> {
        let form = match root.optional_texts("form")? {
            None => None,
            Some(lines) => {
                let form = SignatureForm::parse_lines(&lines);
                Some(form.map_err(|error| RecordError(format!("`form`: {error}")))?)
            }
        };
        let pair = |text: String| match text.split_once(" <-> ") {
            Some((a, b)) => Ok((a.to_owned(), b.to_owned())),
            None => Err(RecordError(format!("`swaps`: `{text}` is no pair"))),
        };
        let swaps = root.optional_texts("swaps")?.unwrap_or_default();
        let overflow = root.optional_text("overflow")?;
        if let Some(other) = overflow.as_deref().filter(|text| *text != CHECKED_IN_DEBUG) {
            return Err(RecordError(format!("`overflow`: `{other}` is unknown")));
        }
        Ok(Interface {
            form,
            declines: root.optional_flag("declines")?,
            swaps: swaps.into_iter().map(pair).collect::<Result<_, _>>()?,
            overflow_checked_in_debug: overflow.is_some(),
        })
    }

    fn write(&self, out: &mut String) {
        if let Some(form) = &self.form {
            out.push_str("form = [\n");
            for line in form.to_lines() {
                out.push_str(&format!("    {},\n", quote_text(&line)));
            }
            out.push_str("]\n");
        }
        if self.declines {
            out.push_str("declines = true\n");
        }
        if !self.swaps.is_empty() {
            let pairs = self.swaps.iter().map(|(a, b)| format!("{a} <-> {b}"));
            out.push_str(&format!(
                "swaps = {}\n",
                strings(&pairs.collect::<Vec<_>>())
            ));
        }
        if self.overflow_checked_in_debug {
            out.push_str(&format!("overflow = {}\n", quote_text(CHECKED_IN_DEBUG)));
        }
    }
}

impl Artefact {
    fn read(record: &Record) -> Result<Self, RecordError> {
        let variants = record.tables("variant")?;
        Ok(Artefact {
            target: record.parsed("target")?,
            outcome: record.parsed("outcome")?,
            reason: record.optional_text("reason")?,
            file: record.optional_text("file")?,
            sha256: record.optional_text("sha256")?,
            variants: variants
                .iter()
                .map(Variant::read)
                .collect::<Result<_, _>>()?,
        })
    }

    fn write(&self, out: &mut String) {
        out.push_str("\n[[artefact]]\n");
        out.push_str(&format!("target = {}\n", quote_text(self.target.name())));
        out.push_str(&format!("outcome = {}\n", quote_text(self.outcome.name())));
        let optional = [
            ("reason", &self.reason),
            ("file", &self.file),
            ("sha256", &self.sha256),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                out.push_str(&format!("{key} = {}\n", quote_text(value)));
            }
        }
        for variant in &self.variants {
            variant.write(out);
        }
    }
}

impl Variant {
    fn read(record: &Record) -> Result<Self, RecordError> {
        Ok(Variant {
            entry: record.text("entry")?,
            max_elements: record.optional_number("max_elements")?,
            tune: record.text("tune")?,
            engine: record.text("engine")?,
            actions: record.texts("actions")?,
            seed: record.number("seed")?,
            authorship: match record.optional_text("model")? {
                Some(model) => Some(Authorship {
                    model,
                    prompt: record.text("prompt")?,
                    transcript: record.parsed("transcript")?,
                }),
                None => None,
            },
        })
    }

    fn write(&self, out: &mut String) {
        out.push_str("\n[[artefact.variant]]\n");
        out.push_str(&format!("entry = {}\n", quote_text(&self.entry)));
        if let Some(max) = self.max_elements {
            out.push_str(&format!("max_elements = {max}\n"));
        }
        out.push_str(&format!(
            "tune = {}\nengine = {}\nactions = {}\nseed = {}\n",
            quote_text(&self.tune),
            quote_text(&self.engine),
            strings(&self.actions),
            self.seed
        ));
        if let Some(by) = &self.authorship {
            out.push_str(&format!(
                "model = {}\nprompt = {}\ntranscript = {}\n",
                quote_text(&by.model),
                quote_text(&by.prompt),
                quote_text(by.transcript.as_str())
            ));
        }
    }
}
