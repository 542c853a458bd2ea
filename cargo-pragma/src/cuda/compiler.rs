//! From CUDA C++ to assembly and machine code, with what the assembler says about resources.
//!
//! Owns the options, the compiler's process and reading its log.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pragma_spec::device::{GpuArch, LaunchPlan};

use crate::process::confine::{Confinement, Policy, Sandbox};
use crate::process::group;
use crate::worker::cuda::{CompileReply, CompileRequest};

/// What one kernel needs, as the assembler says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The kernel.
    pub kernel: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of a thread's stack frame.
    pub stack_bytes: u32,
    /// Bytes that spilled registers store.
    pub spill_stores: u32,
    /// Bytes that they load.
    pub spill_loads: u32,
}

/// Compiled code.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Assembly.
    pub ptx: String,
    /// The file of it.
    pub ptx_file: PathBuf,
    /// The file of machine code for the architecture.
    pub cubin_file: PathBuf,
    /// What its kernels need.
    pub resources: Vec<Resources>,
    /// What the compiler says beyond that.
    pub warnings: String,
    /// The compiler's version of CUDA.
    pub version: (i32, i32),
}

/// Why there is no code.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CompileError {
    /// The source is refused; lines of messages are lines of the source.
    #[error("does not compile: {0}")]
    Rejected(String),
    /// It takes too long.
    #[error("takes more than {0:?} to compile")]
    TimedOut(Duration),
    /// The compiler does not work here.
    #[error("NVRTC cannot be used: {0}")]
    Broken(String),
}

/// NVRTC on this machine.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The library.
    pub nvrtc: PathBuf,
    /// How its process is started.
    pub sandbox: Sandbox,
}

const TIMEOUT: Duration = Duration::from_secs(120);

impl Compiler {
    /// Compiles `source`, which messages call `NAME.cu`, into files in `dir`.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn compile(
        &self,
        source: &str,
        name: &str,
        arch: GpuArch,
        options: &[String],
        dir: &Path,
    ) -> Result<Compiled, CompileError> {
        let broken = |error: &dyn ToString| CompileError::Broken(error.to_string());
        std::fs::create_dir_all(dir).map_err(|error| broken(&error))?;
        let file = |extension: &str| dir.join(format!("{name}.{arch}.{extension}"));
        let mut all = vec![
            format!("--gpu-architecture={arch}"),
            "--ptxas-options=-v".to_owned(),
            "--std=c++17".to_owned(),
            "-default-device".to_owned(),
        ];
        all.extend_from_slice(options);
        let request = CompileRequest {
            library: self.nvrtc.clone(),
            source: source.to_owned(),
            name: format!("{name}.cu"),
            options: all,
            ptx: file("ptx"),
            cubin: file("cubin"),
        };
        let (version, log) = match self.ask(&request, dir)? {
            CompileReply::Done { version, log } => (version, log),
            CompileReply::Rejected { log } => {
                return Err(CompileError::Rejected(shortened(&log)));
            }
            CompileReply::Broken { message } => return Err(CompileError::Broken(message)),
        };
        let ptx = std::fs::read_to_string(&request.ptx).map_err(|error| broken(&error))?;
        let (resources, warnings) = read_log(&log);
        Ok(Compiled {
            ptx,
            ptx_file: request.ptx,
            cubin_file: request.cubin,
            resources,
            warnings,
            version,
        })
    }

    fn ask(&self, request: &CompileRequest, dir: &Path) -> Result<CompileReply, CompileError> {
        let broken = |error: &dyn ToString| CompileError::Broken(error.to_string());
        let mut command = group::sandboxed(&self.sandbox.exe);
        command.arg("__nvrtc").env("TMPDIR", dir);
        if self.sandbox.confinement == Confinement::Required {
            let home = std::fs::canonicalize(&self.nvrtc).unwrap_or_else(|_| self.nvrtc.clone());
            let libraries: Vec<PathBuf> = [home.parent(), self.nvrtc.parent()]
                .into_iter()
                .flatten()
                .map(Path::to_owned)
                .collect();
            command.args(Policy::compile(&libraries, dir).to_args());
        }
        let text = serde_json::to_string(request).map_err(|error| broken(&error))?;
        let output =
            group::output_of(command, text.as_bytes(), TIMEOUT).map_err(|error| broken(&error))?;
        let output = output.ok_or(CompileError::TimedOut(TIMEOUT))?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            CompileError::Broken(format!("its process ended with {}: {said}", output.status))
        })
    }
}

/// The first messages of a log; a template error can fill pages.
fn shortened(log: &str) -> String {
    log.trim().lines().take(12).collect::<Vec<_>>().join("\n")
}

/// Splits a log into resources and the rest.
fn read_log(log: &str) -> (Vec<Resources>, String) {
    let mut all: Vec<Resources> = Vec::new();
    let mut rest = Vec::new();
    for line in log.lines() {
        let number = |before: &str| -> Option<u32> {
            let end = line.find(before)?;
            line[..end].split_whitespace().next_back()?.parse().ok()
        };
        if let Some(start) = line.find("Compiling entry function '") {
            let name = &line[start + "Compiling entry function '".len()..];
            all.push(Resources {
                kernel: name.split('\'').next().unwrap_or_default().to_owned(),
                ..Resources::default()
            });
        } else if let (true, Some(last)) = (line.contains("bytes stack frame"), all.last_mut()) {
            last.stack_bytes = number(" bytes stack frame").unwrap_or(0);
            last.spill_stores = number(" bytes spill stores").unwrap_or(0);
            last.spill_loads = number(" bytes spill loads").unwrap_or(0);
        } else if let (true, Some(last)) = (line.contains(" registers"), all.last_mut()) {
            last.registers = number(" registers").unwrap_or(0);
            last.shared_bytes = number(" bytes smem").unwrap_or(0);
        } else if !line.trim_start().starts_with("ptxas info") && !line.trim().is_empty() {
            rest.push(line.trim_end());
        }
    }
    (all, rest.join("\n"))
}

/// The number of parameters of a kernel in assembly.
fn parameters(ptx: &str, kernel: &str) -> Option<usize> {
    let entry = format!(".entry {kernel}(");
    let start = ptx.find(&entry)? + entry.len();
    let list = &ptx[start..start + ptx[start..].find(')')?];
    Some(list.matches(".param").count())
}

impl Compiled {
    /// Whether every kernel of a plan is there and takes as many arguments as the plan passes: the driver would read
    /// past a shorter list.
    ///
    /// # Errors
    /// What does not fit.
    pub fn fits(&self, plan: &LaunchPlan) -> Result<(), String> {
        for launch in &plan.launches {
            match parameters(&self.ptx, &launch.kernel) {
                None => return Err(format!("there is no kernel `{}`", launch.kernel)),
                Some(count) if count != launch.args.len() => {
                    return Err(format!(
                        "`{}` takes {count} arguments, and its launch plan has {}",
                        launch.kernel,
                        launch.args.len()
                    ));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_off_the_log() {
        let log = "k.cu(3): warning #177-D: variable \"x\" was declared but never referenced\n\
            ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'a' for 'sm_90'\n\
            ptxas info    : Function properties for a\n\
            ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n\
            ptxas info    : Used 10 registers, used 1 barriers, 16 bytes cumulative stack size, 256 bytes smem\n\
            ptxas info    : Compile time = 5.074 ms\n\
            ptxas info    : Compiling entry function 'b' for 'sm_90'\n\
            ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 32 registers, used 0 barriers\n";
        let (resources, rest) = read_log(log);
        assert_eq!(
            resources,
            [
                Resources {
                    kernel: "a".to_owned(),
                    registers: 10,
                    shared_bytes: 256,
                    stack_bytes: 16,
                    spill_stores: 8,
                    spill_loads: 12,
                },
                Resources {
                    kernel: "b".to_owned(),
                    registers: 32,
                    ..Resources::default()
                },
            ]
        );
        assert!(rest.starts_with("k.cu(3): warning"), "{rest}");
    }

    #[test]
    fn parameters_are_counted() {
        let ptx = ".visible .entry k(\n\t.param .u64 k_param_0,\n\t.param .u64 k_param_1\n)\n{\n";
        assert_eq!(parameters(ptx, "k"), Some(2));
        assert_eq!(parameters(ptx, "j"), None);
        assert_eq!(parameters(".entry e()\n", "e"), Some(0));
    }
}
