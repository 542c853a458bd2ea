//! The two wire formats: Anthropic's Messages, and chat completions as OpenAI and many servers speak them.
//!
//! Owns building request bodies and reading streamed answers. Decides nothing about retries.

use std::io::BufRead;
use std::str::FromStr;

use serde_json::{Value, json};

use super::config::ModelConfig;
use super::secret::Secret;
use super::sse::Events;
use super::transport::Request;
use super::usage::Usage;

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `POST /v1/messages`, version 2023-06-01.
    Anthropic,
    /// `POST /chat/completions`.
    OpenAi,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The tool.
    User,
    /// The model.
    Assistant,
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What.
    pub text: String,
}

/// What a model is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// What holds for every turn; the same in every call of a search, so that providers can cache it.
    pub system: String,
    /// The turns, the first and the last by the user.
    pub messages: Vec<Message>,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It was done.
    Finished,
    /// It reached the limit of tokens: the answer is cut off.
    Length,
    /// It declined.
    Refused,
}

/// What a model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Why it stopped.
    pub stop: Stop,
    /// What it cost.
    pub usage: Usage,
}

/// An answer that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The stream broke off.
    #[error("the answer broke off: {0}")]
    Broken(String),
    /// The server reported an error in the middle.
    #[error("the server says: {0}")]
    Server(String),
    /// It is not what the format says.
    #[error("the answer is not in the expected format: {0}")]
    Format(String),
}

impl FromStr for Dialect {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "anthropic" => Ok(Dialect::Anthropic),
            "openai" => Ok(Dialect::OpenAi),
            _ => Err(()),
        }
    }
}

impl Dialect {
    /// The word in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Anthropic => "anthropic",
            Dialect::OpenAi => "openai",
        }
    }

    /// Where the provider itself serves.
    pub const fn base_url(self) -> &'static str {
        match self {
            Dialect::Anthropic => "https://api.anthropic.com",
            Dialect::OpenAi => "https://api.openai.com/v1",
        }
    }

    /// The variable that usually holds the key.
    pub const fn key_variable(self) -> &'static str {
        match self {
            Dialect::Anthropic => "ANTHROPIC_API_KEY",
            Dialect::OpenAi => "OPENAI_API_KEY",
        }
    }

    /// The request for the next answer.
    pub fn request(
        self,
        model: &ModelConfig,
        key: Option<&Secret>,
        conversation: &Conversation,
    ) -> Request {
        let base = model.base_url.trim_end_matches('/');
        let turns: Vec<Value> = conversation
            .messages
            .iter()
            .map(|message| {
                let role = match message.role {
                    Role::User => "user",
                    Role::Assistant => "assistant",
                };
                json!({ "role": role, "content": message.text })
            })
            .collect();
        match self {
            Dialect::Anthropic => Request {
                url: format!("{base}/v1/messages"),
                headers: vec![("anthropic-version", "2023-06-01".to_owned())],
                secret: key.map(|key| ("x-api-key", key.clone())),
                body: json!({
                    "model": model.name,
                    "max_tokens": model.max_tokens,
                    "stream": true,
                    "system": [{
                        "type": "text",
                        "text": conversation.system,
                        "cache_control": { "type": "ephemeral" },
                    }],
                    "messages": turns,
                })
                .to_string(),
            },
            Dialect::OpenAi => {
                let mut messages =
                    vec![json!({ "role": "system", "content": conversation.system })];
                messages.extend(turns);
                Request {
                    url: format!("{base}/chat/completions"),
                    headers: Vec::new(),
                    secret: key.map(|key| (model.key_header(), key.clone())),
                    body: json!({
                        "model": model.name,
                        model.max_tokens_field(): model.max_tokens,
                        "stream": true,
                        "stream_options": { "include_usage": true },
                        "messages": messages,
                    })
                    .to_string(),
                }
            }
        }
    }

    /// Reads a streamed answer to its end. `watch` is told how long the text is whenever it grows.
    ///
    /// # Errors
    /// If it breaks off or is not in the format.
    pub fn read(
        self,
        body: impl BufRead,
        watch: &mut dyn FnMut(usize),
    ) -> Result<Answer, StreamError> {
        let mut reading = Reading::default();
        for event in Events::new(body) {
            let event = event.map_err(|error| StreamError::Broken(error.to_string()))?;
            if event.trim() == "[DONE]" {
                reading.done = true;
                break;
            }
            let event: Value = serde_json::from_str(&event)
                .map_err(|error| StreamError::Format(error.to_string()))?;
            let before = reading.text.len();
            match self {
                Dialect::Anthropic => reading.anthropic(&event)?,
                Dialect::OpenAi => reading.openai(&event)?,
            }
            if reading.text.len() != before {
                watch(reading.text.len());
            }
        }
        reading.finish()
    }
}

/// An answer as far as it was read.
#[derive(Default)]
struct Reading {
    text: String,
    stop: Option<Stop>,
    usage: Usage,
    done: bool,
}

fn count(value: &Value) -> Option<u64> {
    value.as_u64()
}

impl Reading {
    fn anthropic(&mut self, event: &Value) -> Result<(), StreamError> {
        match event["type"].as_str() {
            Some("message_start") => self.anthropic_usage(&event["message"]["usage"]),
            Some("content_block_delta") => {
                // Thinking comes in deltas of other kinds.
                if let Some(text) = event["delta"]["text"].as_str() {
                    self.text.push_str(text);
                }
            }
            Some("message_delta") => {
                self.anthropic_usage(&event["usage"]);
                match event["delta"]["stop_reason"].as_str() {
                    None => {}
                    Some("max_tokens" | "model_context_window_exceeded") => {
                        self.stop = Some(Stop::Length)
                    }
                    Some("refusal") => self.stop = Some(Stop::Refused),
                    Some(_) => self.stop = Some(Stop::Finished),
                }
            }
            Some("message_stop") => self.done = true,
            Some("error") => return Err(StreamError::Server(error_text(event))),
            _ => {}
        }
        Ok(())
    }

    /// Later figures replace earlier ones: they are cumulative.
    fn anthropic_usage(&mut self, usage: &Value) {
        let fields = [
            ("input_tokens", &mut self.usage.input),
            ("output_tokens", &mut self.usage.output),
            ("cache_read_input_tokens", &mut self.usage.cached),
            ("cache_creation_input_tokens", &mut self.usage.cache_written),
        ];
        for (name, field) in fields {
            if let Some(tokens) = count(&usage[name]) {
                *field = tokens;
            }
        }
    }

    fn openai(&mut self, event: &Value) -> Result<(), StreamError> {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(StreamError::Server(error_text(event)));
        }
        let choice = &event["choices"][0];
        if let Some(text) = choice["delta"]["content"].as_str() {
            self.text.push_str(text);
        }
        if choice["delta"]["refusal"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
        {
            self.stop = Some(Stop::Refused);
        }
        match choice["finish_reason"].as_str() {
            None => {}
            Some("length") => self.stop = Some(Stop::Length),
            Some("content_filter") => self.stop = Some(Stop::Refused),
            Some(_) => {
                self.stop.get_or_insert(Stop::Finished);
            }
        }
        let usage = &event["usage"];
        if let Some(prompt) = count(&usage["prompt_tokens"]) {
            let cached = count(&usage["prompt_tokens_details"]["cached_tokens"]).unwrap_or(0);
            self.usage.input = prompt.saturating_sub(cached);
            self.usage.cached = cached.min(prompt);
            self.usage.output = count(&usage["completion_tokens"]).unwrap_or(0);
        }
        Ok(())
    }

    fn finish(self) -> Result<Answer, StreamError> {
        match self.stop {
            Some(stop) => Ok(Answer {
                text: self.text,
                stop,
                usage: self.usage,
            }),
            // A server that ends its stream properly and names no reason has finished.
            None if self.done => Ok(Answer {
                text: self.text,
                stop: Stop::Finished,
                usage: self.usage,
            }),
            None => Err(StreamError::Broken(
                "the connection closed early".to_owned(),
            )),
        }
    }
}

/// What an error object says, in one line.
pub(super) fn error_text(body: &Value) -> String {
    let error = &body["error"];
    let message = error["message"]
        .as_str()
        .or_else(|| error.as_str())
        .or_else(|| body["message"].as_str());
    let text = message.map_or_else(|| body.to_string(), str::to_owned);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dialect: Dialect, events: &[&str]) -> Result<Answer, StreamError> {
        let text: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        dialect.read(text.as_bytes(), &mut |_| {})
    }

    #[test]
    fn an_anthropic_stream() {
        let answer = read(
            Dialect::Anthropic,
            &[
                r#"{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"ping"}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"fn "}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"k"}}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":7}}"#,
                r#"{"type":"message_stop"}"#,
            ],
        )
        .expect("is whole");
        assert_eq!(answer.text, "fn k");
        assert_eq!(answer.stop, Stop::Length);
        let usage = Usage {
            input: 10,
            cached: 90,
            cache_written: 0,
            output: 7,
        };
        assert_eq!(answer.usage, usage);
    }

    #[test]
    fn an_openai_stream() {
        let answer = read(
            Dialect::OpenAi,
            &[
                r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
                r#"{"choices":[{"delta":{"content":"fn k"}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
                r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}}"#,
                "[DONE]",
            ],
        )
        .expect("is whole");
        assert_eq!(
            (answer.text.as_str(), answer.stop),
            ("fn k", Stop::Finished)
        );
        let usage = Usage {
            input: 36,
            cached: 64,
            cache_written: 0,
            output: 7,
        };
        assert_eq!(answer.usage, usage);
    }

    #[test]
    fn streams_that_go_wrong() {
        let broken = read(
            Dialect::Anthropic,
            &[r#"{"type":"content_block_delta","delta":{"text":"x"}}"#],
        );
        assert!(matches!(broken, Err(StreamError::Broken(_))));
        let server = read(
            Dialect::Anthropic,
            &[r#"{"type":"error","error":{"type":"overloaded_error","message":"Over\nloaded"}}"#],
        );
        assert_eq!(server, Err(StreamError::Server("Over loaded".to_owned())));
        let server = read(Dialect::OpenAi, &[r#"{"error":{"message":"no"}}"#]);
        assert_eq!(server, Err(StreamError::Server("no".to_owned())));
        assert!(matches!(
            read(Dialect::OpenAi, &["nonsense"]),
            Err(StreamError::Format(_))
        ));
        let refused = read(
            Dialect::OpenAi,
            &[
                r#"{"choices":[{"delta":{"refusal":"I will not"}}]}"#,
                r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            ],
        );
        assert_eq!(refused.expect("is whole").stop, Stop::Refused);
    }
}
