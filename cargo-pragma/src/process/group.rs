//! Children in process groups of their own, killed with all that they start.
//!
//! Owns what untrusted children inherit (almost nothing) and how they end. What they may touch is in
//! [`super::confine`].

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{
    Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Output, Stdio,
};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Variables that untrusted children may see: enough to find a toolchain and a place for temporary files.
const ALLOWED: [&str; 12] = [
    "PATH",
    "HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "TERM",
    "SystemRoot",
    "TZ",
];

/// The groups that are alive, for [`kill_all`].
static ALIVE: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A command for a child that is not trusted: its environment holds nothing but the allow-list.
pub fn sandboxed(program: impl AsRef<OsStr>) -> Command {
    let mut command = super::command(program);
    command.env_clear();
    for name in ALLOWED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// A command for a child that computes and starts nothing: it sees where libraries are and nothing else.
pub fn bare(program: impl AsRef<OsStr>) -> Command {
    let mut command = super::command(program);
    command.env_clear();
    if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
        command.env("LD_LIBRARY_PATH", path);
    }
    command
}

/// Kills every group that is still alive. For the handler of an interrupt: groups do not get the terminal's signals.
pub fn kill_all() {
    if let Ok(alive) = ALIVE.lock() {
        alive.iter().for_each(|&id| kill_group(id));
    }
}

fn kill_group(id: u32) {
    let id = i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(id) = id {
        // It may be gone already, which is what we want.
        let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
    }
}

/// A child that leads its own process group. Dropping it kills the group.
pub struct Group {
    child: Child,
    reaped: Option<ExitStatus>,
}

impl Group {
    /// Starts `command` with all three standard streams piped.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        if let Ok(mut alive) = ALIVE.lock() {
            alive.insert(child.id());
        }
        Ok(Group {
            child,
            reaped: None,
        })
    }

    /// The id of the child and of its group.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child's standard input; the first call only.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The child's standard output; the first call only.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The child's standard error; the first call only.
    pub fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Kills the group and reaps the child.
    pub fn kill(&mut self) {
        if self.reaped.is_none() {
            kill_group(self.child.id());
            self.reaped = self.child.wait().ok();
            self.forget();
        }
    }

    /// Waits for the child to end, at most `patience`; then kills it.
    ///
    /// # Errors
    /// If the system cannot say how it ended.
    pub fn wait_or_kill(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        let start = Instant::now();
        while self.reaped.is_none() && start.elapsed() < patience && !self.has_ended()? {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Whether it ended or not: nothing that it started may stay. A child that ended keeps its id until it is
        // reaped, so the group's id still means this group.
        self.kill();
        self.reaped
            .ok_or_else(|| io::Error::other("the child's status is lost"))
    }

    fn has_ended(&self) -> io::Result<bool> {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let Some(id) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else {
            return Ok(false);
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(id), options)?.is_some())
    }

    fn forget(&self) {
        if let Ok(mut alive) = ALIVE.lock() {
            alive.remove(&self.child.id());
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs `command` to its end in a group of its own, with both outputs collected; `None` if it took longer than
/// `timeout` and was killed.
///
/// # Errors
/// If the program cannot be started.
pub fn output(command: Command, timeout: Duration) -> io::Result<Option<Output>> {
    output_of(command, &[], timeout)
}

/// The same, with `input` on standard input.
///
/// # Errors
/// If the program cannot be started.
pub fn output_of(command: Command, input: &[u8], timeout: Duration) -> io::Result<Option<Output>> {
    let mut group = Group::spawn(command)?;
    if let Some(mut stdin) = group.stdin() {
        let input = input.to_vec();
        // From a thread, so that neither side waits for the other with a full pipe. Who does not want it closes it.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let read = |stream: Option<Box<dyn io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                // A killed child closes its pipes; what was read until then is kept.
                let _ = stream.read_to_end(&mut bytes);
            }
            bytes
        })
    };
    let stdout = read(
        group
            .stdout()
            .map(|stream| Box::new(stream) as Box<dyn io::Read + Send>),
    );
    let stderr = read(
        group
            .stderr()
            .map(|stream| Box::new(stream) as Box<dyn io::Read + Send>),
    );
    let start = Instant::now();
    let status = group.wait_or_kill(timeout)?;
    let late = start.elapsed() >= timeout;
    let (Ok(stdout), Ok(stderr)) = (stdout.join(), stderr.join()) else {
        return Err(io::Error::other("a reader thread panicked"));
    };
    Ok((!late).then_some(Output {
        status,
        stdout,
        stderr,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = sandboxed("sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn output_is_collected_and_secrets_are_not_seen() {
        let out = output(
            shell("echo out; echo err >&2; exit 3"),
            Duration::from_secs(20),
        )
        .expect("starts")
        .expect("in time");
        assert_eq!(out.status.code(), Some(3));
        assert_eq!(
            (out.stdout.as_slice(), out.stderr.as_slice()),
            (&b"out\n"[..], &b"err\n"[..])
        );
        let out = output(shell("env"), Duration::from_secs(20))
            .expect("starts")
            .expect("in time");
        assert!(!String::from_utf8_lossy(&out.stdout).contains("CARGO_MANIFEST_DIR"));
    }

    #[test]
    fn a_hang_is_killed_with_its_children() {
        let start = Instant::now();
        let out =
            output(shell("sleep 100 & sleep 100"), Duration::from_millis(200)).expect("starts");
        assert!(out.is_none());
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}
