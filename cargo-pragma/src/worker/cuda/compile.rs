//! The process that compiles CUDA C++: one request on standard input, one reply on standard output.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::nvrtc::Nvrtc;
use crate::process::confine::Policy;

/// What to compile.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CompileRequest {
    /// The NVRTC library.
    pub library: PathBuf,
    /// CUDA C++.
    pub source: String,
    /// What messages call the source.
    pub name: String,
    /// Options.
    pub options: Vec<String>,
    /// Where to write the assembly.
    pub ptx: PathBuf,
    /// Where to write the machine code.
    pub cubin: PathBuf,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum CompileReply {
    /// The files are written.
    Done {
        /// NVRTC's version.
        version: (i32, i32),
        /// Warnings and resources.
        log: String,
    },
    /// The compiler refuses the source.
    Rejected {
        /// What it says.
        log: String,
    },
    /// The compiler cannot be used.
    Broken {
        /// Why.
        message: String,
    },
}

/// Serves one request. `args` are what follows `__nvrtc` on the command line: the policy that confines this process,
/// unless that was waived.
///
/// Returns the exit code of the process.
pub fn compile(args: &[OsString]) -> u8 {
    let mut text = String::new();
    let reply = match std::io::stdin().read_to_string(&mut text) {
        Ok(_) => run(args, &text),
        Err(error) => broken(error),
    };
    let line = serde_json::to_string(&reply).unwrap_or_default();
    match std::io::stdout().write_all(line.as_bytes()) {
        Ok(()) => 0,
        Err(_) => 70,
    }
}

fn broken(error: impl ToString) -> CompileReply {
    CompileReply::Broken {
        message: error.to_string(),
    }
}

fn run(args: &[OsString], text: &str) -> CompileReply {
    let request: CompileRequest = match serde_json::from_str(text) {
        Ok(request) => request,
        Err(error) => return broken(error),
    };
    if let Some((policy, _)) = Policy::parse(args) {
        if let Err(error) = policy.apply() {
            return broken(error);
        }
    } else if !args.is_empty() {
        return broken("the policy cannot be read");
    }
    let nvrtc = match Nvrtc::open(&request.library) {
        Ok(nvrtc) => nvrtc,
        Err(error) => return broken(error),
    };
    match nvrtc.compile(&request.source, &request.name, &request.options) {
        Ok(output) => {
            let written = std::fs::write(&request.ptx, output.ptx_text())
                .and_then(|()| std::fs::write(&request.cubin, &output.cubin));
            match written {
                Ok(()) => CompileReply::Done {
                    version: nvrtc.version(),
                    log: output.log.trim_end_matches('\0').to_owned(),
                },
                Err(error) => broken(error),
            }
        }
        Err(log) => CompileReply::Rejected {
            log: log.trim_end_matches('\0').to_owned(),
        },
    }
}
