//! The parent's end of a worker: starts it, talks to it, buries it.
//!
//! Owns timeouts and the meaning of a worker's death. Does not decide what a death says about a candidate.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::protocol::{ArgSpec, Layout, Poison, Reply, Request};
use crate::process::confine::{Confinement, Policy, Sandbox};
use crate::process::group::{self, Group};

/// How workers are started.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// How it is confined.
    pub sandbox: Sandbox,
    /// Where the libraries are that it will load.
    pub libraries: Vec<PathBuf>,
    /// Address space, bytes.
    pub memory: u64,
    /// Processor time over the worker's life, seconds.
    pub cpu_seconds: u64,
    /// Size of the thread pools inside (`RAYON_NUM_THREADS`).
    pub threads: usize,
    /// How long one call may take.
    pub call_timeout: Duration,
}

/// Why a worker gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WorkerError {
    /// It could not be started.
    #[error("cannot start a worker: {0}")]
    Start(String),
    /// It died.
    #[error("the worker {}{}", death(.status), last_words(.stderr))]
    Died {
        /// How.
        status: ExitStatus,
        /// The end of what it wrote to standard error.
        stderr: String,
    },
    /// It did not answer in time and was killed.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// It refused the request.
    #[error("{0}")]
    Refused(String),
}

fn death(status: &ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(4) => "was killed by an illegal instruction (SIGILL)".into(),
        Some(6) => "aborted (SIGABRT)".into(),
        Some(7) => "was killed by a bus error (SIGBUS)".into(),
        Some(8) => "was killed by an arithmetic error (SIGFPE)".into(),
        Some(9) => "was killed (SIGKILL)".into(),
        Some(11) => "was killed by a memory access outside of its arguments or a write to an input (SIGSEGV)".into(),
        Some(31) => "made a system call that no kernel needs: starting a program or process, a socket, a signal, tracing (SIGSYS)".into(),
        Some(24) => "used up its processor time (SIGXCPU)".into(),
        Some(signal) => format!("was killed by signal {signal}"),
        None => format!("exited with {}", status.code().unwrap_or(-1)),
    }
}

fn last_words(stderr: &str) -> String {
    match stderr.trim().lines().last() {
        Some(line) => format!(": {line}"),
        None => String::new(),
    }
}

/// What a call gave.
#[derive(Clone, Debug)]
pub struct Called {
    /// One of the ABI's status values.
    pub status: u32,
    /// Contents of the mutable arguments, then the returned values.
    pub outputs: Vec<Vec<u8>>,
    /// An argument around which foreign bytes changed.
    pub overrun: Option<usize>,
}

/// A running worker. Dropping it kills it and everything it started.
pub struct Worker {
    group: Group,
    stdin: Option<ChildStdin>,
    replies: Receiver<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
    call_timeout: Duration,
    scratch: PathBuf,
}

/// The only directory in which a worker may write, inside the scratch directory that holds what it loads.
const OUTPUTS: &str = "outputs";
/// How much of a worker's standard error is kept.
const STDERR_KEPT: usize = 8 << 10;
/// Starting up or loading a library takes milliseconds; on a machine under load, more.
const START_TIMEOUT: Duration = Duration::from_secs(30);

impl Worker {
    /// Starts a worker that writes outputs under `scratch`.
    ///
    /// # Errors
    /// If it does not come up.
    pub fn start(config: &WorkerConfig, scratch: &Path) -> Result<Self, WorkerError> {
        let start_error = |error: std::io::Error| WorkerError::Start(error.to_string());
        let scratch = scratch.join(OUTPUTS);
        std::fs::create_dir_all(&scratch).map_err(start_error)?;
        let mut command = group::bare(&config.sandbox.exe);
        command
            .arg("__worker")
            .arg(config.memory.to_string())
            .arg(config.cpu_seconds.to_string())
            .env("RAYON_NUM_THREADS", config.threads.to_string())
            .current_dir(&scratch);
        if config.sandbox.confinement == Confinement::Required {
            command.args(Policy::compute(&config.libraries, &scratch).to_args());
        }
        Worker::greet(command, scratch, config.call_timeout)
    }

    /// Starts `command`, which is to speak the protocol.
    pub(super) fn greet(
        command: std::process::Command,
        scratch: PathBuf,
        call_timeout: Duration,
    ) -> Result<Self, WorkerError> {
        let start_error = |error: std::io::Error| WorkerError::Start(error.to_string());
        let mut group = Group::spawn(command).map_err(start_error)?;
        let (Some(stdin), Some(stdout), Some(mut errors)) =
            (group.stdin(), group.stdout(), group.stderr())
        else {
            return Err(WorkerError::Start(
                "its standard streams are missing".into(),
            ));
        };
        let (sender, replies) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(n @ 1..) = errors.read(&mut chunk) {
                if let Ok(mut kept) = kept.lock() {
                    kept.extend_from_slice(&chunk[..n]);
                    let excess = kept.len().saturating_sub(STDERR_KEPT);
                    kept.drain(..excess);
                }
            }
        });
        let mut worker = Worker {
            group,
            stdin: Some(stdin),
            replies,
            stderr,
            call_timeout,
            scratch,
        };
        match worker.receive(START_TIMEOUT)? {
            Reply::Ready { .. } => Ok(worker),
            other => Err(WorkerError::Start(format!("unexpected greeting {other:?}"))),
        }
    }

    /// Loads a library; the number to call it by.
    ///
    /// # Errors
    /// If the worker dies or the library does not load.
    pub fn load(&mut self, path: &Path, symbol: &str) -> Result<usize, WorkerError> {
        let request = Request::Load {
            path: path.to_owned(),
            symbol: symbol.to_owned(),
        };
        match self.ask(&request, START_TIMEOUT)? {
            Reply::Loaded { library } => Ok(library),
            other => Err(unexpected(&other)),
        }
    }

    /// Calls an entry once.
    ///
    /// # Errors
    /// If the worker dies, hangs or refuses.
    pub fn call(
        &mut self,
        library: usize,
        args: &[ArgSpec],
        layout: Layout,
        poison: Poison,
        threads: usize,
    ) -> Result<Called, WorkerError> {
        let outputs = self.outputs();
        let request = Request::Call {
            library,
            args: args.to_vec(),
            layout,
            poison,
            threads,
            outputs: outputs.clone(),
        };
        let reply = self.ask(&request, self.call_timeout)?;
        collect(reply, &outputs)
    }

    /// A file for the outputs of one call.
    pub(super) fn outputs(&self) -> PathBuf {
        self.scratch.join(format!("outputs-{}", self.group.id()))
    }

    /// How long one call may take.
    pub(super) fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    /// Times entries side by side: `samples[round][contender]`, nanoseconds per call.
    ///
    /// # Errors
    /// If the worker dies, hangs or refuses.
    pub fn time(
        &mut self,
        libraries: &[usize],
        args: &[ArgSpec],
        threads: usize,
        budget: Duration,
        max_rounds: usize,
        seed: u64,
    ) -> Result<Vec<Vec<f64>>, WorkerError> {
        let request = Request::Time {
            libraries: libraries.to_vec(),
            args: args.to_vec(),
            threads,
            budget_ns: u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX),
            max_rounds,
            seed,
        };
        match self.ask(&request, self.call_timeout * 10 + budget)? {
            Reply::Timed { samples }
                if samples.iter().all(|round| round.len() == libraries.len()) =>
            {
                Ok(samples)
            }
            other => Err(unexpected(&other)),
        }
    }

    pub(super) fn ask(
        &mut self,
        request: &Request,
        timeout: Duration,
    ) -> Result<Reply, WorkerError> {
        let mut line = serde_json::to_string(request)
            .map_err(|error| WorkerError::Refused(error.to_string()))?;
        line.push('\n');
        let sent = self
            .stdin
            .as_mut()
            .is_some_and(|stdin| stdin.write_all(line.as_bytes()).is_ok());
        if !sent {
            return Err(self.bury());
        }
        match self.receive(timeout)? {
            Reply::Failed { message } => Err(WorkerError::Refused(message)),
            reply => Ok(reply),
        }
    }

    fn receive(&mut self, timeout: Duration) -> Result<Reply, WorkerError> {
        match self.replies.recv_timeout(timeout) {
            Ok(line) => serde_json::from_str(&line).map_err(|error| {
                WorkerError::Refused(format!("the worker broke the protocol: {error}"))
            }),
            Err(RecvTimeoutError::Timeout) => {
                self.group.kill();
                Err(WorkerError::TimedOut(timeout))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.bury()),
        }
    }

    /// Ends it by the end of its input and waits for it.
    pub(super) fn finish(mut self, timeout: Duration) -> Result<(), WorkerError> {
        self.stdin = None;
        match self.group.wait_or_kill(timeout) {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(self.bury()),
            Err(error) => Err(WorkerError::Start(error.to_string())),
        }
    }

    /// Collects the status of a worker that is dying.
    fn bury(&mut self) -> WorkerError {
        self.stdin = None;
        match self.group.wait_or_kill(Duration::from_secs(5)) {
            Ok(status) => {
                let kept = self
                    .stderr
                    .lock()
                    .map(|kept| String::from_utf8_lossy(&kept).into_owned());
                WorkerError::Died {
                    status,
                    stderr: kept.unwrap_or_default(),
                }
            }
            Err(error) => WorkerError::Start(error.to_string()),
        }
    }
}

/// Reads what a call left in the file `outputs`.
pub(super) fn collect(reply: Reply, outputs: &Path) -> Result<Called, WorkerError> {
    let Reply::Called {
        status,
        pieces,
        overrun,
    } = reply
    else {
        return Err(WorkerError::Refused("the worker broke the protocol".into()));
    };
    let unreadable =
        |error: std::io::Error| WorkerError::Refused(format!("cannot read outputs: {error}"));
    let mut file = File::open(outputs).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    let mut outputs = Vec::new();
    for piece in pieces {
        // No more than the file can hold, whatever the worker says.
        let mut bytes = Vec::with_capacity(usize::try_from(piece.min(size)).unwrap_or(0));
        Read::by_ref(&mut file)
            .take(piece)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        if bytes.len() as u64 != piece {
            return Err(WorkerError::Refused("the output file is too short".into()));
        }
        outputs.push(bytes);
    }
    Ok(Called {
        status,
        outputs,
        overrun,
    })
}

pub(super) fn unexpected(reply: &Reply) -> WorkerError {
    WorkerError::Refused(format!("the worker broke the protocol: {reply:?}"))
}
