//! `cargo pragma doctor`: what this machine can do, and how to get what is missing.

use std::path::Path;

use serde::Serialize;

use crate::cli::args::DoctorArgs;
use crate::cli::exit::{CommandResult, ExitCode};
use crate::cli::shell::Shell;
use crate::cuda::{NO_NVRTC, find_nvrtc};
use crate::machine;
use crate::process;
use crate::process::confine::Sandbox;
use crate::report::Table;

/// One finding; also one line of `--format json`, documented in `docs/commands.md`.
#[derive(Debug, Serialize)]
struct Finding {
    item: &'static str,
    status: Status,
    detail: String,
    help: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// There, and good.
    Ok,
    /// Not there; something works less well without it.
    Optional,
    /// Not there, and tuning needs it.
    Missing,
}

/// Runs the command.
///
/// # Errors
/// Never: what is missing is what it reports. The exit code is 5 if tuning cannot work here.
pub fn run(args: &DoctorArgs, shell: &Shell) -> CommandResult {
    let findings = findings(args);
    let mut table = Table::new(&["", "what", "finding"]);
    for finding in &findings {
        shell.json(finding);
        let mark = match finding.status {
            Status::Ok => "ok",
            Status::Optional => "--",
            Status::Missing => "!!",
        };
        table.row([
            mark.to_owned(),
            finding.item.to_owned(),
            finding.detail.clone(),
        ]);
        if let Some(help) = finding.help {
            table.row([String::new(), String::new(), format!("-> {help}")]);
        }
    }
    shell.human(&table);
    let missing = findings
        .iter()
        .any(|finding| finding.status == Status::Missing);
    Ok(if missing {
        ExitCode::Environment
    } else {
        ExitCode::Ok
    })
}

fn findings(args: &DoctorArgs) -> Vec<Finding> {
    let mut all = vec![cpu(), tiers(), rustc(), cargo()];
    all.extend([
        target_dir(args),
        rustfmt(),
        counters(),
        valgrind(),
        sandbox(),
        gpu(),
        nvrtc(),
    ]);
    all
}

fn finding(
    item: &'static str,
    status: Status,
    detail: impl Into<String>,
    help: Option<&'static str>,
) -> Finding {
    Finding {
        item,
        status,
        detail: detail.into(),
        help,
    }
}

fn cpu() -> Finding {
    finding("CPU", Status::Ok, machine::description(), None)
}

fn tiers() -> Finding {
    let tiers = machine::targets();
    if tiers.is_empty() {
        let help = "kernels need x86-64 with AVX2 and FMA; functions run on their reference here. PRAGMA_DISPATCH may be in the way";
        return finding(
            "instruction sets",
            Status::Missing,
            machine::no_target_reason(),
            Some(help),
        );
    }
    let names: Vec<&str> = tiers.iter().map(|target| target.name()).collect();
    finding("instruction sets", Status::Ok, names.join(", "), None)
}

fn rustc() -> Finding {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    match process::first_line(rustc, &["-V"], None) {
        Some(version) => finding("rustc", Status::Ok, version, None),
        None => finding(
            "rustc",
            Status::Missing,
            "not found",
            Some("install Rust: rustup"),
        ),
    }
}

fn cargo() -> Finding {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match process::first_line(cargo, &["-V"], None) {
        Some(version) => finding("cargo", Status::Ok, version, None),
        None => finding(
            "cargo",
            Status::Missing,
            "not found",
            Some("install Rust: rustup"),
        ),
    }
}

fn target_dir(args: &DoctorArgs) -> Finding {
    let Ok(workspace) = crate::discover::select(&args.common) else {
        return finding(
            "target directory",
            Status::Optional,
            "no package here",
            None,
        );
    };
    let dir = workspace.private_dir();
    match machine::prepare_private_dir(&dir) {
        Ok(()) => finding(
            "target directory",
            Status::Ok,
            format!("{} is writable", dir.display()),
            None,
        ),
        Err(error) => {
            let help = "make it writable, or set CARGO_TARGET_DIR to a directory that is";
            finding(
                "target directory",
                Status::Missing,
                format!("{}: {error}", dir.display()),
                Some(help),
            )
        }
    }
}

fn rustfmt() -> Finding {
    match process::first_line("rustfmt", &["-V"], None) {
        Some(version) => finding("rustfmt", Status::Ok, version, None),
        None => finding(
            "rustfmt",
            Status::Optional,
            "not found; kernels come out formatted without it",
            Some("rustup component add rustfmt"),
        ),
    }
}

fn counters() -> Finding {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let hardware = Path::new("/sys/bus/event_source/devices/cpu").exists()
        || Path::new("/sys/bus/event_source/devices/cpu_core").exists();
    match (level.trim().parse::<i32>(), hardware) {
        (Ok(level), true) if level <= 2 => finding(
            "hardware counters",
            Status::Ok,
            format!("perf_event_paranoid = {level}"),
            None,
        ),
        (Ok(level), true) => finding(
            "hardware counters",
            Status::Optional,
            format!("perf_event_paranoid = {level} forbids them"),
            Some("sudo sysctl kernel.perf_event_paranoid=2"),
        ),
        _ => finding(
            "hardware counters",
            Status::Optional,
            "none here (a virtual machine?); times and machine code are read instead",
            None,
        ),
    }
}

fn valgrind() -> Finding {
    match process::first_line("valgrind", &["--version"], None) {
        Some(version) => finding("valgrind", Status::Ok, version, None),
        None => finding(
            "valgrind",
            Status::Optional,
            "not found; it would simulate caches where there are no counters",
            Some("apt install valgrind, dnf install valgrind"),
        ),
    }
}

fn sandbox() -> Finding {
    let probe = std::env::current_exe()
        .map_err(|error| error.to_string())
        .and_then(|exe| Sandbox::required(exe).probe());
    match probe {
        Ok(()) => finding(
            "sandbox",
            Status::Ok,
            "Landlock confines files, seccomp confines system calls",
            None,
        ),
        Err(missing) => finding(
            "sandbox",
            Status::Missing,
            missing,
            Some(
                "boot Linux 5.13 or later with `landlock` in `lsm=`; in a container, let its seccomp profile pass the landlock_* system calls; or accept the risk with `--allow-unsandboxed`",
            ),
        ),
    }
}

fn gpu() -> Finding {
    match process::first_line(
        "nvidia-smi",
        &["--query-gpu=name,compute_cap", "--format=csv,noheader"],
        None,
    ) {
        Some(name) => finding("GPU", Status::Ok, name, None),
        None => finding(
            "GPU",
            Status::Optional,
            "none found; not needed for CPU kernels",
            Some("`cargo pragma bundle` packs a job for a host that has one"),
        ),
    }
}

fn nvrtc() -> Finding {
    let found = find_nvrtc();
    match found {
        Some(path) => finding("nvrtc", Status::Ok, path.display().to_string(), None),
        None => finding(
            "nvrtc",
            Status::Optional,
            "not found; not needed for CPU kernels",
            Some(NO_NVRTC),
        ),
    }
}
