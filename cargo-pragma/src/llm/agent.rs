//! A command that writes kernels: any coding agent with a command line.
//!
//! Owns the protocol: the prompt on standard input and as `PROMPT.md` in a directory of its own, the kernel back as
//! `kernel.rs` in that directory or as a fenced block on standard output. The command is the user's own and runs with the
//! user's rights; what it writes is trusted no more than any other candidate.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::client::LlmError;
use super::dialect::{Answer, Conversation, Stop};
use super::usage::Usage;
use super::writer::{Writer, as_text};
use crate::history::Call;
use crate::process::{self, group};

/// `[package.metadata.pragma.command]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    line: String,
    timeout_seconds: Option<u64>,
    #[serde(default)]
    pass_variables: Vec<String>,
}

/// An agent.
#[derive(Clone, Debug)]
pub struct Agent {
    line: String,
    timeout: Duration,
    /// Variables that it gets although their names look like secrets.
    pass: Vec<String>,
    calls: Vec<Call>,
}

impl Agent {
    /// The agent that `flag` (`--command`) or else `metadata`, the `command` table as JSON, names.
    ///
    /// # Errors
    /// A sentence if neither does, or the table cannot be read.
    pub fn read(flag: Option<&str>, metadata: &serde_json::Value) -> Result<Self, String> {
        let table =
            match metadata {
                serde_json::Value::Null => None,
                value => Some(Table::deserialize(value).map_err(|error| {
                    format!("the `command` table of `metadata.pragma`: {error}")
                })?),
            };
        let line = flag
            .map(str::to_owned)
            .or_else(|| table.as_ref().map(|table| table.line.clone()))
            .filter(|line| !line.trim().is_empty())
            .ok_or("no command is named: `--command 'LINE'` or the `command` table of `metadata.pragma`")?;
        let seconds = table.as_ref().and_then(|table| table.timeout_seconds);
        Ok(Agent {
            line,
            timeout: Duration::from_secs(seconds.unwrap_or(900).clamp(1, 86_400)),
            pass: table.map(|table| table.pass_variables).unwrap_or_default(),
            calls: Vec::new(),
        })
    }

    fn run(&self, dir: &Path, prompt: &str) -> Result<String, LlmError> {
        let setup = |error: std::io::Error| LlmError::Setup(error.to_string());
        std::fs::write(dir.join("PROMPT.md"), prompt).map_err(setup)?;
        let mut command = process::command(if cfg!(windows) { "cmd" } else { "sh" });
        command
            .arg(if cfg!(windows) { "/C" } else { "-c" })
            .arg(&self.line)
            .current_dir(dir);
        for name in &self.pass {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let output = group::output_of(command, prompt.as_bytes(), self.timeout)
            .map_err(setup)?
            .ok_or_else(|| {
                LlmError::Unavailable(format!("the command took more than {:?}", self.timeout))
            })?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if let Ok(kernel) = std::fs::read_to_string(dir.join("kernel.rs")) {
            // What it printed is its explanation; fences in it must not be taken for the kernel.
            let words = said.replace("```", "").replace("~~~", "");
            return Ok(format!("{words}\n~~~~~~rust\n{kernel}\n~~~~~~\n"));
        }
        if output.status.success() {
            return Ok(said);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors
            .trim()
            .lines()
            .last()
            .unwrap_or("nothing on standard error");
        Err(LlmError::Unavailable(format!(
            "the command ended with {}: {last}",
            output.status
        )))
    }
}

impl Writer for Agent {
    fn engine(&self) -> &'static str {
        "command"
    }

    fn label(&self) -> String {
        // The program says who wrote it; arguments may hold what is nobody's business.
        let program = self.line.split_whitespace().next().unwrap_or_default();
        format!("command:{program}")
    }

    fn ask(&mut self, conversation: &Conversation) -> Result<Answer, LlmError> {
        let dir = tempfile::Builder::new()
            .prefix("pragma-agent-")
            .tempdir()
            .map_err(|error| LlmError::Setup(error.to_string()))?;
        let prompt = format!("{}\n{FILE}", as_text(conversation));
        let text = self.run(dir.path(), &prompt)?;
        self.calls.push(Call {
            model: self.label(),
            prompt,
            answer: text.clone(),
            tokens_in: 0,
            tokens_cached: 0,
            tokens_out: 0,
            dollars: None,
        });
        Ok(Answer {
            text,
            stop: Stop::Finished,
            usage: Usage::default(),
        })
    }

    fn take_calls(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }
}

/// What agents are told beyond the prompt.
const FILE: &str = "Instead of answering with a block you may write the text to `kernel.rs` in the current directory.\n";

#[cfg(test)]
mod tests {
    use super::super::answer;
    use super::super::dialect::{Message, Role};
    use super::*;
    use serde_json::{Value, json};

    fn conversation() -> Conversation {
        Conversation {
            system: "system".to_owned(),
            messages: vec![Message {
                role: Role::User,
                text: "write".to_owned(),
            }],
        }
    }

    fn ask(line: &str) -> Result<Answer, LlmError> {
        Agent::read(
            Some(line),
            &json!({ "line": "unused", "timeout-seconds": 1 }),
        )
        .expect("is one")
        .ask(&conversation())
    }

    #[test]
    fn kernels_come_as_a_file_or_as_a_block() {
        let file =
            ask("grep -q write PROMPT.md && echo 'Say ```why```.' && echo 'fn k() {}' > kernel.rs")
                .expect("works");
        let code = answer::code(&file.text, "k").expect("is there");
        assert_eq!(
            (code.source.trim(), code.rationale.as_str()),
            ("fn k() {}", "Say why.")
        );
        let block = ask("cat > seen; printf '```rust\\nfn k() {}\\n```\\n'").expect("works");
        assert_eq!(
            answer::code(&block.text, "k")
                .expect("is there")
                .source
                .trim(),
            "fn k() {}"
        );
    }

    #[test]
    fn failures_are_said() {
        let failed = ask("echo no key >&2; exit 3")
            .expect_err("fails")
            .to_string();
        assert!(failed.contains("no key"), "{failed}");
        let slow = ask("sleep 30").expect_err("is slow").to_string();
        assert!(slow.contains("more than"), "{slow}");
        assert!(Agent::read(None, &Value::Null).is_err());
        assert!(Agent::read(None, &json!({ "lime": "x" })).is_err());
    }

    #[test]
    fn only_the_program_is_named() {
        let agent = Agent::read(Some("agent --token abc"), &Value::Null).expect("is one");
        assert_eq!(agent.label(), "command:agent");
    }
}
