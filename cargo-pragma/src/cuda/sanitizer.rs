//! Winners under compute-sanitizer, where it is installed.
//!
//! Owns its tools, its log and the words for what it found.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process;
use crate::verify::{Bench, DeviceCandidate};
use crate::worker::WorkerError;
use crate::worker::cuda::GpuWorker;
use crate::worker::protocol::{Layout, Poison};

const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];
/// Small calls that every tool sees.
const CALLS: usize = 6;
/// Every call is many times slower than without.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What the tools said.
pub enum Sanitized {
    /// Nothing was found; the tools that ran.
    Clean(Vec<&'static str>),
    /// The tool and the first lines of its findings.
    Dirty(&'static str, String),
    /// They cannot be used here.
    Absent(String),
}

/// The program, if it is there.
pub fn find() -> Option<PathBuf> {
    let on_path = process::first_line("compute-sanitizer", &["--version"], None);
    if on_path.is_some() {
        return Some("compute-sanitizer".into());
    }
    [
        "/usr/local/cuda/bin/compute-sanitizer",
        "/opt/cuda/bin/compute-sanitizer",
    ]
    .map(PathBuf::from)
    .into_iter()
    .find(|path| path.exists())
}

/// Runs a few calls of a program under every tool.
pub fn run(
    bench: &Bench,
    exe: &Path,
    device: u32,
    image: &Path,
    plan: &str,
    scratch: &Path,
) -> Sanitized {
    let Some(sanitizer) = find() else {
        return Sanitized::Absent("compute-sanitizer is not installed".to_owned());
    };
    let mut clean = Vec::new();
    for tool in TOOLS {
        let log = scratch.join(format!("{tool}.log"));
        let _ = std::fs::remove_file(&log);
        match under(
            bench, exe, device, image, plan, scratch, &sanitizer, tool, &log,
        ) {
            Ok(()) => {}
            Err(error) if log.exists() && errors(&log).is_some() => {
                let _ = error;
            }
            Err(error) => {
                return Sanitized::Absent(format!("compute-sanitizer does not work here: {error}"));
            }
        }
        match errors(&log) {
            Some(text) => return Sanitized::Dirty(tool, text),
            None if finished(&log) => clean.push(tool),
            None => {
                return Sanitized::Absent(format!("compute-sanitizer's {tool} gave no summary"));
            }
        }
    }
    Sanitized::Clean(clean)
}

#[expect(clippy::too_many_arguments, reason = "the parts of one command line")]
fn under(
    bench: &Bench,
    exe: &Path,
    device: u32,
    image: &Path,
    plan: &str,
    scratch: &Path,
    sanitizer: &Path,
    tool: &str,
    log: &Path,
) -> Result<(), WorkerError> {
    let wrapper = [
        sanitizer.as_os_str().to_owned(),
        "--tool".into(),
        tool.into(),
        "--log-file".into(),
        log.as_os_str().to_owned(),
    ];
    let mut worker = GpuWorker::start_under(&wrapper, exe, device, scratch, TIMEOUT)?;
    let (program, _) = worker.load(image, plan, &bench.spec().device_params())?;
    let candidate = DeviceCandidate {
        program,
        reports_faults: false,
    };
    for call in bench.device_samples(candidate, CALLS) {
        worker.call(&call, Layout::Right, Poison::A)?;
    }
    worker.finish(TIMEOUT)
}

/// The summary line at the end of a log.
fn finished(log: &Path) -> bool {
    std::fs::read_to_string(log).is_ok_and(|text| text.contains("SUMMARY"))
}

/// The findings in a log, if there are any.
fn errors(log: &Path) -> Option<String> {
    findings(&std::fs::read_to_string(log).ok()?)
}

fn findings(text: &str) -> Option<String> {
    let clean = |line: &str| line.contains("SUMMARY") && line.contains(" 0 ");
    let summaries: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("SUMMARY"))
        .collect();
    if summaries.iter().all(|line| clean(line)) {
        return None;
    }
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start_matches('=').trim())
        .filter(|line| !line.is_empty() && !line.starts_with("COMPUTE-SANITIZER"))
        .take(4)
        .collect();
    Some(lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::findings;

    #[test]
    fn logs_are_read() {
        let clean = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(findings(clean), None);
        let clean = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n";
        assert_eq!(findings(clean), None);
        let dirty = "========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 bytes\n=========     at k+0x10\n========= ERROR SUMMARY: 3 errors\n";
        let found = findings(dirty).expect("is dirty");
        assert!(found.starts_with("Invalid __global__ write"), "{found}");
    }
}
