//! Reading and rewriting rustc's arguments.
//!
//! Owns which flags of the recorded call the reference and candidates keep. Pure.

use std::path::{Path, PathBuf};

/// Options of rustc that take a value as the next argument, where it is not attached.
const WITH_VALUE: [&str; 31] = [
    "-C",
    "-L",
    "-l",
    "-A",
    "-W",
    "-D",
    "-F",
    "-Z",
    "-o",
    "--allow",
    "--warn",
    "--deny",
    "--forbid",
    "--cap-lints",
    "--cfg",
    "--check-cfg",
    "--codegen",
    "--color",
    "--crate-name",
    "--crate-type",
    "--diagnostic-width",
    "--edition",
    "--emit",
    "--error-format",
    "--extern",
    "--json",
    "--out-dir",
    "--print",
    "--remap-path-prefix",
    "--sysroot",
    "--target",
];

/// One argument of rustc.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Flag {
    /// An option, its name as rustc's help spells it (`-C`, `--extern`), and its value if it takes one.
    Option(String, Option<String>),
    /// The source file.
    Input(String),
}

/// The arguments of one rustc call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags(Vec<Flag>);

impl Flags {
    /// Splits names from values.
    pub fn parse(args: &[String]) -> Self {
        let mut flags = Vec::new();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let flag = if !arg.starts_with('-') || arg == "-" {
                Flag::Input(arg.clone())
            } else if WITH_VALUE.contains(&arg.as_str()) {
                Flag::Option(long(arg), args.next().cloned())
            } else if let Some((name, value)) = arg
                .split_once('=')
                .filter(|(name, _)| name.starts_with("--"))
            {
                Flag::Option(long(name), Some(value.to_owned()))
            } else if let Some((name, value)) = arg
                .split_at_checked(2)
                .filter(|(name, _)| WITH_VALUE.contains(name))
            {
                Flag::Option(name.to_owned(), Some(value.to_owned()))
            } else {
                Flag::Option(arg.clone(), None)
            };
            flags.push(flag);
        }
        Flags(flags)
    }

    /// The value of the first option `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The values of all options `name`.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(move |flag| match flag {
            Flag::Option(n, Some(value)) if n == name => Some(value.as_str()),
            _ => None,
        })
    }

    /// Whether there is an option `name`, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|flag| matches!(flag, Flag::Option(n, _) if n == name))
    }

    /// The arguments that compile the same crate as a dynamic library at `output`.
    pub fn reference(&self, output: &Path) -> Vec<String> {
        let mut args = Vec::new();
        for flag in &self.0 {
            match flag {
                Flag::Input(path) => args.push(path.clone()),
                Flag::Option(name, value) => match (name.as_str(), value) {
                    (
                        "--crate-type" | "--emit" | "--out-dir" | "-o" | "--error-format"
                        | "--json" | "--color" | "--diagnostic-width" | "--cap-lints",
                        _,
                    ) => {}
                    ("-C", Some(value)) if replaced(value) => {}
                    ("--extern", Some(value)) => args.extend(["--extern".into(), linkable(value)]),
                    (name, Some(value)) => args.extend([name.to_owned(), value.clone()]),
                    (name, None) => args.push(name.to_owned()),
                },
            }
        }
        finish(args, output)
    }

    /// The arguments that compile a file of its own at `source` as the crate `name` with the code generation of the
    /// recorded crate, and the runtime as its only dependency.
    pub fn candidate(
        &self,
        name: &str,
        source: &Path,
        output: &Path,
        externs: &[(String, PathBuf)],
    ) -> Vec<String> {
        let mut args = vec![
            source.display().to_string(),
            "--crate-name".into(),
            name.into(),
        ];
        for flag in &self.0 {
            if let Flag::Option(name, Some(value)) = flag {
                match name.as_str() {
                    // Names of local functions are read by the disassembler, and debug information is not.
                    "-C" if !replaced(value)
                        && !value.starts_with("strip")
                        && !value.starts_with("debuginfo") =>
                    {
                        args.extend(["-C".into(), value.clone()]);
                    }
                    "-L" if value.starts_with("dependency=") || !value.contains('=') => {
                        args.extend(["-L".into(), value.clone()])
                    }
                    "--target" | "--sysroot" | "--edition" => {
                        args.extend([name.clone(), value.clone()])
                    }
                    _ => {}
                }
            }
        }
        for (name, path) in externs {
            args.extend(["--extern".into(), format!("{name}={}", path.display())]);
        }
        finish(args, output)
    }

    /// The runtime's library as this crate links it, with the name it goes by here.
    pub fn runtime(&self) -> Option<(String, PathBuf)> {
        self.all("--extern").find_map(|value| {
            let linkable = linkable(value);
            let (name, path) = linkable.split_once('=')?;
            let name = name.rsplit(':').next()?;
            let file = Path::new(path).file_name()?.to_str()?;
            let is_runtime =
                file.starts_with("libpragma_runtime-") || file == "libpragma_runtime.rlib";
            is_runtime.then(|| (name.to_owned(), PathBuf::from(path)))
        })
    }
}

/// The spelling that lookups use.
fn long(name: &str) -> String {
    match name {
        "--codegen" => "-C",
        other => other,
    }
    .to_owned()
}

/// Code generation options that name files or belong to incremental builds.
fn replaced(codegen: &str) -> bool {
    [
        "extra-filename=",
        "metadata=",
        "incremental=",
        "prefer-dynamic",
        "save-temps",
    ]
    .iter()
    .any(|part| codegen.starts_with(part))
}

/// The value of `--extern` with code instead of bare metadata behind it.
fn linkable(value: &str) -> String {
    match value.strip_suffix(".rmeta") {
        Some(stem) => format!("{stem}.rlib"),
        None => value.to_owned(),
    }
}

fn finish(mut args: Vec<String>, output: &Path) -> Vec<String> {
    args.extend(
        [
            "--crate-type",
            "cdylib",
            "--emit",
            "link",
            "--cap-lints",
            "allow",
            "-o",
        ]
        .map(str::to_owned),
    );
    args.push(output.display().to_string());
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Flags {
        let args = [
            "--crate-name",
            "demo",
            "--edition=2024",
            "src/lib.rs",
            "--error-format=json",
            "--json=artifacts",
            "--crate-type",
            "lib",
            "--emit=dep-info,metadata,link",
            "-C",
            "opt-level=3",
            "-Cembed-bitcode=no",
            "--codegen=target-cpu=native",
            "-C",
            "metadata=abc",
            "-C",
            "extra-filename=-abc",
            "--out-dir",
            "/t/release/deps",
            "-C",
            "strip=debuginfo",
            "-L",
            "dependency=/t/release/deps",
            "--extern",
            "noprelude:rt=/t/release/deps/libpragma_runtime-12.rmeta",
            "--extern",
            "serde=/t/release/deps/libserde-1.rmeta",
            "-L",
            "native=/usr/lib",
            "-C",
            "incremental=/t/inc",
            "--cfg",
            "feature=\"x\"",
        ];
        Flags::parse(&args.map(str::to_owned))
    }

    fn pair(args: &[String], name: &str) -> Vec<String> {
        args.windows(2)
            .filter(|w| w[0] == name)
            .map(|w| w[1].clone())
            .collect()
    }

    #[test]
    fn both_spellings_are_read() {
        let flags = recorded();
        assert_eq!(flags.get("--crate-name"), Some("demo"));
        assert_eq!(flags.get("--edition"), Some("2024"));
        assert!(flags.all("-C").any(|v| v == "target-cpu=native"));
        assert!(flags.all("-C").any(|v| v == "embed-bitcode=no"));
        assert_eq!(
            flags.runtime(),
            Some((
                "rt".into(),
                "/t/release/deps/libpragma_runtime-12.rlib".into()
            ))
        );
    }

    #[test]
    fn the_reference_keeps_everything_but_its_form() {
        let args = recorded().reference(Path::new("/o/ref.so"));
        assert_eq!(pair(&args, "--crate-type"), ["cdylib"]);
        assert_eq!(pair(&args, "--emit"), ["link"]);
        assert_eq!(pair(&args, "--cfg"), ["feature=\"x\""]);
        assert_eq!(pair(&args, "-o"), ["/o/ref.so"]);
        assert!(
            pair(&args, "--extern").contains(&"serde=/t/release/deps/libserde-1.rlib".to_owned())
        );
        assert!(!args.iter().any(|a| a.contains("incremental")
            || a.contains("extra-filename")
            || a.contains("json")));
        assert!(
            args.contains(&"src/lib.rs".to_owned()) && args.contains(&"native=/usr/lib".to_owned())
        );
    }

    #[test]
    fn a_candidate_keeps_code_generation_only() {
        let externs = [("pragma_runtime".to_owned(), PathBuf::from("/t/librt.rlib"))];
        let args = recorded().candidate("c", Path::new("/o/c.rs"), Path::new("/o/c.so"), &externs);
        assert_eq!(
            pair(&args, "-C"),
            ["opt-level=3", "embed-bitcode=no", "target-cpu=native"]
        );
        assert_eq!(pair(&args, "--extern"), ["pragma_runtime=/t/librt.rlib"]);
        assert_eq!(pair(&args, "-L"), ["dependency=/t/release/deps"]);
        assert!(pair(&args, "--cfg").is_empty());
        assert_eq!(pair(&args, "--edition"), ["2024"]);
    }
}
