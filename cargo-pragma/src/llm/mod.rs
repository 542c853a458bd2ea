//! Language models and coding agents as writers of kernels.
//!
//! Owns the conversation with a model: wire formats, retries, money, transcripts, prompts and reading code out of
//! answers. What a model writes is a proposal like any other: it is built, verified and timed where every candidate is.
//! Keys go into request headers and nowhere else.

mod agent;
mod answer;
mod client;
mod coder;
mod config;
mod dialect;
mod prompt;
mod secret;
mod sse;
mod tape;
mod transport;
mod usage;
mod writer;

pub use agent::Agent;
pub use answer::{Code, NoCode, code};
pub use client::{Client, LlmError};
pub use coder::{LlmCoder, Start, Task};
pub use config::{ConfigError, ModelConfig};
pub use dialect::{Answer, Conversation, Dialect, Message, Role, Stop};
pub use prompt::{PROMPT_VERSION, PromptError, Template, fill};
pub use secret::Secret;
pub use tape::{Recorder, Replayer, TapeError};
pub use transport::{HttpTransport, Request, Response, Transport, TransportError};
pub use usage::{Ledger, Price, Usage};
pub use writer::Writer;
