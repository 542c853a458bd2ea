//! What untrusted code may touch: Landlock for files, seccomp for system calls.
//!
//! Owns both policies and applying one to this process, for good. Limits of memory and time are the worker's; process
//! groups and timeouts are in [`super::group`]. Nothing degrades silently: a kernel that cannot enforce a policy is an
//! error, and running without one is the caller's explicit choice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Whether untrusted code may run where it cannot be confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// It is confined or does not run.
    #[default]
    Required,
    /// The user said `--allow-unsandboxed`.
    Waived,
}

/// How untrusted code is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// The executable that understands `__confine` and `__worker`: normally this one.
    pub exe: PathBuf,
    /// Whether confinement is a must.
    pub confinement: Confinement,
}

/// What a confined process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Computes with threads of its own. Starting a program, opening a socket, tracing or signalling kills it.
    Compute,
    /// Runs a compiler and what that starts. The network and other processes are closed to it.
    Compile,
}

/// What a confined process may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What it does.
    pub role: Role,
    /// Files and directories that it may read, and execute if it compiles. Absent ones are passed over.
    pub read: Vec<PathBuf>,
    /// Directories in which it may do anything.
    pub write: Vec<PathBuf>,
}

/// The system cannot confine a process.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// Landlock is absent, off or too old.
    #[error(
        "the kernel does not enforce Landlock (Linux 5.13 or later, with `landlock` among the active LSMs)"
    )]
    NoLandlock,
    /// A rule was refused.
    #[error("Landlock refuses the rules: {0}")]
    Landlock(String),
    /// The filter was refused.
    #[error("the system call filter is refused: {0}")]
    Seccomp(String),
}

/// What every program needs to start and link.
const SYSTEM: [&str; 5] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
];
/// What compilers and linkers read beyond that.
const COMPILER: [&str; 10] = [
    "/usr",
    "/bin",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/dev/urandom",
    "/sys/fs/cgroup",
];

impl Sandbox {
    /// A sandbox in which confinement is a must.
    pub fn required(exe: PathBuf) -> Self {
        Sandbox {
            exe,
            confinement: Confinement::Required,
        }
    }

    /// A command for a compiler that reads its toolchain and `inputs` and writes under `output` only.
    pub fn compiler(&self, program: &Path, inputs: &[PathBuf], output: &Path) -> Command {
        if self.confinement == Confinement::Waived {
            return super::group::sandboxed(program);
        }
        let mut readable = toolchain();
        readable.extend_from_slice(inputs);
        let policy = Policy::compile(&readable, output);
        let mut command = super::group::sandboxed(&self.exe);
        command
            .arg(CONFINE)
            .args(policy.to_args())
            .arg(program)
            .env("TMPDIR", output);
        command
    }

    /// Whether this system can confine a process: tries it.
    ///
    /// # Errors
    /// What is missing, as the confined process said it.
    pub fn probe(&self) -> Result<(), String> {
        if self.confinement == Confinement::Waived {
            return Ok(());
        }
        for role in [Role::Compute, Role::Compile] {
            let policy = Policy {
                role,
                read: Vec::new(),
                write: Vec::new(),
            };
            let mut command = super::group::sandboxed(&self.exe);
            command.arg(CONFINE).args(policy.to_args());
            let output = super::group::output(command, Duration::from_secs(20))
                .map_err(|error| error.to_string())?
                .ok_or("the probe does not end")?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.trim().trim_start_matches("sandbox: ");
                return Err(if said.is_empty() {
                    format!("the probe ended with {}", output.status)
                } else {
                    said.to_owned()
                });
            }
        }
        Ok(())
    }
}

/// The hidden first argument of a process that confines itself and becomes another program.
pub const CONFINE: &str = "__confine";

/// Where Rust toolchains are: rustup's directory, and those on the path.
fn toolchain() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let rustup = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| home.as_ref().map(|home| home.join(".rustup")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter(|dir| Some(dir) != home.as_ref());
    rustup
        .into_iter()
        .chain(on_path)
        .chain(library_path())
        .collect()
}

/// Where the environment says that libraries are.
fn library_path() -> Vec<PathBuf> {
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .collect()
}

impl Policy {
    /// For a worker that loads libraries from `libraries` and writes under `scratch`.
    pub fn compute(libraries: &[PathBuf], scratch: &Path) -> Self {
        Policy {
            role: Role::Compute,
            read: SYSTEM
                .iter()
                .map(PathBuf::from)
                .chain(library_path())
                .chain(libraries.iter().cloned())
                .collect(),
            write: vec![scratch.to_owned()],
        }
    }

    /// For a compiler whose toolchain and libraries lie under `inputs` and that writes under `output`.
    pub fn compile(inputs: &[PathBuf], output: &Path) -> Self {
        let system = SYSTEM.iter().chain(&COMPILER).map(PathBuf::from);
        Policy {
            role: Role::Compile,
            read: system.chain(inputs.iter().cloned()).collect(),
            write: vec![output.to_owned()],
        }
    }

    /// The command line from which [`Policy::parse`] reads it back.
    pub fn to_args(&self) -> Vec<std::ffi::OsString> {
        let role = match self.role {
            Role::Compute => "--compute",
            Role::Compile => "--compile",
        };
        let mut args = vec![role.into()];
        for (flag, paths) in [("--read", &self.read), ("--write", &self.write)] {
            for path in paths {
                args.push(flag.into());
                args.push(path.clone().into());
            }
        }
        args.push("--".into());
        args
    }

    /// Reads a policy off the front of a command line; what follows its `--`.
    pub fn parse(args: &[std::ffi::OsString]) -> Option<(Policy, &[std::ffi::OsString])> {
        let (first, mut rest) = args.split_first()?;
        let role = match first.to_str()? {
            "--compute" => Role::Compute,
            "--compile" => Role::Compile,
            _ => return None,
        };
        let mut policy = Policy {
            role,
            read: Vec::new(),
            write: Vec::new(),
        };
        loop {
            let (flag, more) = rest.split_first()?;
            if flag == "--" {
                return Some((policy, more));
            }
            let (path, more) = more.split_first()?;
            match flag.to_str()? {
                "--read" => policy.read.push(path.into()),
                "--write" => policy.write.push(path.into()),
                _ => return None,
            }
            rest = more;
        }
    }

    /// Confines this process and all that it will start. There is no way back. Call it before other threads exist.
    ///
    /// # Errors
    /// If the system cannot enforce the policy; the process may then be confined in part and must not go on.
    pub fn apply(&self) -> Result<(), ConfineError> {
        self.restrict_files()?;
        let filters = match self.role {
            Role::Compute => compute_filters(),
            Role::Compile => compile_filters(),
        };
        for filter in filters.map_err(|error| ConfineError::Seccomp(error.to_string()))? {
            let program: seccompiler::BpfProgram =
                filter
                    .try_into()
                    .map_err(|error: seccompiler::BackendError| {
                        ConfineError::Seccomp(error.to_string())
                    })?;
            seccompiler::apply_filter_all_threads(&program)
                .map_err(|error| ConfineError::Seccomp(error.to_string()))?;
        }
        Ok(())
    }

    fn restrict_files(&self) -> Result<(), ConfineError> {
        let refused = |error: &dyn std::fmt::Display| ConfineError::Landlock(error.to_string());
        // The first version of Landlock is a must; what later ones add is taken where it is there.
        let base = AccessFs::from_all(ABI::V1);
        let read: BitFlags<AccessFs> = match self.role {
            Role::Compute => AccessFs::ReadFile | AccessFs::ReadDir,
            Role::Compile => AccessFs::from_read(ABI::V1),
        };
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(base)
            .map_err(|_| ConfineError::NoLandlock)?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V6))
            .map_err(|error| refused(&error))?
            .scope(Scope::from_all(ABI::V6))
            .map_err(|error| refused(&error))?
            .create()
            .map_err(|_| ConfineError::NoLandlock)?;
        let null = PathBuf::from("/dev/null");
        let everything = AccessFs::from_all(ABI::V6);
        let reads = self.read.iter().map(|path| (path, read));
        let writes = self.write.iter().map(|path| (path, everything));
        let device = std::iter::once((&null, AccessFs::ReadFile | AccessFs::WriteFile));
        for (path, access) in reads.chain(writes).chain(device) {
            let handle = match PathFd::new(path) {
                Ok(handle) => handle,
                Err(PathFdError::OpenCall { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound =>
                {
                    continue;
                }
                Err(error) => return Err(refused(&error)),
            };
            let access = if path.is_dir() {
                access
            } else {
                access & AccessFs::from_file(ABI::V6)
            };
            ruleset = ruleset
                .add_rule(PathBeneath::new(handle, access))
                .map_err(|error| refused(&error))?;
        }
        let status = ruleset.restrict_self().map_err(|error| refused(&error))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => Err(ConfineError::NoLandlock),
        }
    }
}

/// System calls that no kernel has a reason to make: whoever makes one is up to something.
const HOSTILE: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_userfaultfd,
    libc::SYS_memfd_create,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_personality,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
];

/// What starts programs and processes: hostile from a kernel, needed by a compiler.
const PROCESSES: &[i64] = &[libc::SYS_execve, libc::SYS_execveat];
#[cfg(target_arch = "x86_64")]
const FORKS: &[i64] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const FORKS: &[i64] = &[];

/// What computing, threads, allocation, loading libraries and reporting results need. Files are Landlock's matter.
const COMPUTING: &[i64] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_unlinkat,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_ioctl,
    libc::SYS_ppoll,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_clone,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_getcpu,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_prlimit64,
    libc::SYS_tgkill,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
];
/// Older forms of the same, which exist on x86-64 only.
#[cfg(target_arch = "x86_64")]
const COMPUTING_OLD: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_dup2,
    libc::SYS_poll,
    libc::SYS_pipe2,
    libc::SYS_arch_prctl,
    libc::SYS_time,
];
#[cfg(not(target_arch = "x86_64"))]
const COMPUTING_OLD: &[i64] = &[];

const PR_SET_NAME: u64 = 15;
const PR_GET_NAME: u64 = 16;
const PR_SET_VMA: u64 = 0x5356_4d41;

type Filters = Result<Vec<SeccompFilter>, seccompiler::BackendError>;

fn whole(calls: impl IntoIterator<Item = i64>) -> BTreeMap<i64, Vec<SeccompRule>> {
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

/// A call that is meant when its argument `index` fits `op`.
fn when(index: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        index,
        SeccompCmpArgLen::Qword,
        op,
        value,
    )?])
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    action: SeccompAction,
) -> Result<SeccompFilter, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, action, arch)
}

/// Of several filters the strictest answer counts.
fn compute_filters() -> Filters {
    let thread = libc::CLONE_THREAD as u64;
    let mut allowed = whole(COMPUTING.iter().chain(COMPUTING_OLD).copied());
    allowed.insert(
        libc::SYS_prctl,
        [PR_SET_NAME, PR_GET_NAME, PR_SET_VMA]
            .into_iter()
            .map(|option| when(0, SeccompCmpOp::Eq, option))
            .collect::<Result<_, _>>()?,
    );
    let mut hostile = whole(HOSTILE.iter().chain(PROCESSES).chain(FORKS).copied());
    hostile.insert(
        libc::SYS_clone,
        vec![when(0, SeccompCmpOp::MaskedEq(thread), 0)?],
    );
    allowed.insert(libc::SYS_clone3, Vec::new());
    Ok(vec![
        filter(hostile, SeccompAction::Allow, SeccompAction::KillProcess)?,
        // Its flags lie in memory, where a filter cannot look. The C library then uses `clone`.
        filter(
            whole([libc::SYS_clone3]),
            SeccompAction::Allow,
            SeccompAction::Errno(libc::ENOSYS as u32),
        )?,
        // Last, because no filter can be installed under it.
        filter(
            allowed,
            SeccompAction::Errno(libc::EPERM as u32),
            SeccompAction::Allow,
        )?,
    ])
}

fn compile_filters() -> Filters {
    // Compilers make pipes and socket pairs to talk to what they start; the network is what they have no use for.
    let local = [libc::SYS_socketpair, libc::SYS_sendto, libc::SYS_sendmsg];
    let own = [
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_setpgid,
        libc::SYS_setsid,
    ];
    let needed =
        |call: &i64| local.contains(call) || own.contains(call) || *call == libc::SYS_memfd_create;
    let closed = HOSTILE.iter().copied().filter(|call| !needed(call));
    Ok(vec![filter(
        whole(closed),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
    )?])
}

/// Confines this process and becomes another program. `args` are a policy as [`Policy::to_args`] writes it, then the
/// program and its arguments. Without a program it is a trial. Returns the exit code; in case of success only from a trial.
pub fn run_confined(args: &[std::ffi::OsString]) -> u8 {
    use std::os::unix::process::CommandExt;
    let Some((policy, program)) = Policy::parse(args) else {
        eprintln!("sandbox: a policy is expected");
        return EXIT_UNCONFINED;
    };
    if let Err(error) = policy.apply() {
        eprintln!("sandbox: {error}");
        return EXIT_UNCONFINED;
    }
    let [program, rest @ ..] = program else {
        return 0;
    };
    // The environment was chosen by whoever started this process.
    #[allow(clippy::disallowed_methods)] // This module and its parent are where it is allowed.
    let error = Command::new(program).args(rest).exec();
    eprintln!(
        "sandbox: cannot start {}: {error}",
        Path::new(program).display()
    );
    EXIT_UNCONFINED
}

/// How a process ends that could not be confined.
pub const EXIT_UNCONFINED: u8 = 97;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_survives_its_command_line() {
        let policy = Policy::compute(&["/a b".into(), "/é".into()], Path::new("/scratch"));
        let mut args = policy.to_args();
        args.push("program".into());
        args.push("--read".into());
        let (read, rest) = Policy::parse(&args).expect("is one");
        assert_eq!(read, policy);
        assert_eq!(rest, ["program", "--read"]);
        for bad in [
            &["--other", "--"][..],
            &["--compute", "--read"],
            &["--compute", "x", "y", "--"],
            &[],
        ] {
            let args: Vec<std::ffi::OsString> = bad.iter().map(Into::into).collect();
            assert!(Policy::parse(&args).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn filters_can_be_built() {
        assert_eq!(compute_filters().expect("builds").len(), 3);
        assert_eq!(compile_filters().expect("builds").len(), 1);
    }

    #[test]
    fn nothing_is_both_needed_and_hostile() {
        for call in COMPUTING.iter().chain(COMPUTING_OLD) {
            assert!(
                !HOSTILE.contains(call) && !PROCESSES.contains(call),
                "{call}"
            );
        }
    }
}
