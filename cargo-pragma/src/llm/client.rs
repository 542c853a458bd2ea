//! Calls that come through: retries, rate limits, answers in several parts.
//!
//! Owns what to do about each failure. What a call costs goes into the ledger even if its answer is of no use.

use std::time::Duration;

use super::config::ModelConfig;
use super::dialect::{Answer, Conversation, Message, Role, Stop, StreamError, error_text};
use super::secret::Secret;
use super::transport::{Transport, TransportError};
use super::usage::Ledger;
use crate::history::Call;

/// Why a model gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key is refused.
    #[error("the server refuses the key: {0}")]
    Key(String),
    /// The model or the address does not exist.
    #[error("the server does not know the model or the address: {0}")]
    NotFound(String),
    /// The prompt does not fit the model.
    #[error("the prompt is too long for the model: {0}")]
    TooLong(String),
    /// The request is refused for another reason.
    #[error("the server refuses the request: {0}")]
    Refused(String),
    /// It still did not work after several tries.
    #[error("the server cannot be used at present: {0}")]
    Unavailable(String),
    /// The client cannot be set up.
    #[error("{0}")]
    Setup(String),
    /// The budget forbids the call.
    #[error("{0}")]
    Budget(&'static str),
}

impl LlmError {
    /// Whether another call could fare better.
    pub fn is_final(&self) -> bool {
        !matches!(self, LlmError::TooLong(_) | LlmError::Refused(_))
    }
}

/// Tries of one call.
const TRIES: u32 = 6;
/// Longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Parts of an answer that is cut off by the limit of tokens.
const PARTS: usize = 4;

/// A model that can be asked.
pub struct Client {
    model: ModelConfig,
    key: Option<Secret>,
    transport: Box<dyn Transport>,
    /// Waits; tests do not.
    sleep: Box<dyn FnMut(Duration) + Send>,
    jitter: u64,
    /// What was spent.
    pub ledger: Ledger,
    calls: Vec<Call>,
}

impl Client {
    /// A client for `model`.
    pub fn new(
        model: ModelConfig,
        key: Option<Secret>,
        transport: Box<dyn Transport>,
        ledger: Ledger,
    ) -> Self {
        Client {
            model,
            key,
            transport,
            sleep: Box::new(std::thread::sleep),
            jitter: 0x9e37_79b9_7f4a_7c15,
            ledger,
            calls: Vec::new(),
        }
    }

    /// The calls since this was last asked, for the history.
    pub fn take_calls(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }

    /// Replaces waiting, for tests.
    pub fn with_sleep(mut self, sleep: Box<dyn FnMut(Duration) + Send>) -> Self {
        self.sleep = sleep;
        self
    }

    /// The model.
    pub fn model(&self) -> &ModelConfig {
        &self.model
    }

    /// The next answer. One that the limit of tokens cuts off is continued, so it may cost several calls.
    ///
    /// # Errors
    /// See [`LlmError`].
    pub fn ask(
        &mut self,
        conversation: &Conversation,
        watch: &mut dyn FnMut(usize),
    ) -> Result<Answer, LlmError> {
        let mut whole = self.one_call(conversation, watch)?;
        let mut longer = conversation.clone();
        for _ in 1..PARTS {
            if whole.stop != Stop::Length || whole.text.trim().is_empty() {
                break;
            }
            longer.messages.truncate(conversation.messages.len());
            longer.messages.push(Message {
                role: Role::Assistant,
                text: whole.text.trim_end().to_owned(),
            });
            longer.messages.push(Message {
                role: Role::User,
                text: CONTINUE.to_owned(),
            });
            let more = self.one_call(&longer, watch)?;
            whole.text = join(&whole.text, &more.text);
            whole.stop = more.stop;
            whole.usage.add(more.usage);
        }
        Ok(whole)
    }

    fn one_call(
        &mut self,
        conversation: &Conversation,
        watch: &mut dyn FnMut(usize),
    ) -> Result<Answer, LlmError> {
        let mut failure = String::new();
        for attempt in 0..TRIES {
            if let Some(why) = self.ledger.exhausted() {
                return Err(LlmError::Budget(why));
            }
            match self.attempt(conversation, watch) {
                Ok(answer) => {
                    self.ledger.enter(answer.usage);
                    self.remember(conversation, &answer);
                    return Ok(answer);
                }
                Err(Failure::Final(error)) => return Err(self.scrubbed(error)),
                Err(Failure::Passing { why, wait }) => {
                    failure = why;
                    if attempt + 1 < TRIES {
                        let wait = wait.unwrap_or_else(|| self.backoff(attempt));
                        (self.sleep)(wait.min(LONGEST_WAIT));
                    }
                }
            }
        }
        Err(self.scrubbed(LlmError::Unavailable(failure)))
    }

    fn attempt(
        &mut self,
        conversation: &Conversation,
        watch: &mut dyn FnMut(usize),
    ) -> Result<Answer, Failure> {
        let dialect = self.model.dialect;
        let request = dialect.request(&self.model, self.key.as_ref(), conversation);
        let response = self.transport.send(&request).map_err(|error| match error {
            TransportError::Setup(why) => Failure::Final(LlmError::Setup(why)),
            passing => Failure::Passing {
                why: passing.to_string(),
                wait: None,
            },
        })?;
        if response.status == 200 {
            return dialect
                .read(response.body, watch)
                .map_err(|error| match error {
                    StreamError::Format(_) => Failure::Final(LlmError::Refused(error.to_string())),
                    passing => Failure::Passing {
                        why: passing.to_string(),
                        wait: None,
                    },
                });
        }
        let wait = response
            .headers
            .get("retry-after")
            .and_then(|text| retry_after(text));
        let text = read_error(response.body);
        Err(classify(response.status, text, wait))
    }

    fn remember(&mut self, conversation: &Conversation, answer: &Answer) {
        let mut prompt = conversation.system.clone();
        for message in &conversation.messages {
            let who = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            prompt.push_str(&format!("\n[{who}]\n{}", message.text));
        }
        let usage = answer.usage;
        self.calls.push(Call {
            model: self.model.label(),
            prompt,
            answer: answer.text.clone(),
            tokens_in: usage.input + usage.cache_written,
            tokens_cached: usage.cached,
            tokens_out: usage.output,
            dollars: self.model.price.map(|price| price.of(&usage)),
        });
    }

    /// Doubling, with jitter, so that many clients do not come back at once.
    fn backoff(&mut self, attempt: u32) -> Duration {
        self.jitter ^= self.jitter << 13;
        self.jitter ^= self.jitter >> 7;
        self.jitter ^= self.jitter << 17;
        let base = 1000u64 << attempt.min(6);
        Duration::from_millis(base / 2 + self.jitter % base)
    }

    /// Servers may repeat what they were sent.
    fn scrubbed(&self, error: LlmError) -> LlmError {
        let scrub = |text: String| match &self.key {
            Some(key) => key.scrub(&text),
            None => text,
        };
        match error {
            LlmError::Key(text) => LlmError::Key(scrub(text)),
            LlmError::NotFound(text) => LlmError::NotFound(scrub(text)),
            LlmError::TooLong(text) => LlmError::TooLong(scrub(text)),
            LlmError::Refused(text) => LlmError::Refused(scrub(text)),
            LlmError::Unavailable(text) => LlmError::Unavailable(scrub(text)),
            LlmError::Setup(text) => LlmError::Setup(scrub(text)),
            LlmError::Budget(why) => LlmError::Budget(why),
        }
    }
}

enum Failure {
    Final(LlmError),
    Passing { why: String, wait: Option<Duration> },
}

/// What is said to a model whose answer was cut off.
const CONTINUE: &str = "Your answer was cut off by the limit of its length. Go on exactly where it stopped: do not repeat anything, do not open the code block again.";

/// Two parts of one answer. Models sometimes open the fence again; the second opening would end the block.
fn join(first: &str, second: &str) -> String {
    let inside = first
        .lines()
        .filter(|line| line.trim_start().starts_with("```"))
        .count()
        % 2
        == 1;
    let trimmed = second.trim_start();
    let reopened = trimmed
        .strip_prefix("```")
        .and_then(|rest| rest.split_once('\n'))
        .filter(|(tag, _)| !tag.trim().is_empty());
    match reopened {
        Some((_, rest)) if inside => format!("{}\n{rest}", first.trim_end()),
        // What comes back trimmed of its last line break goes on in the next line or the same: only a word can be split.
        _ => format!("{}{second}", first.trim_end()),
    }
}

/// Seconds; the date form is rare enough to fall back to doubling.
fn retry_after(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(3600.0)))
}

/// Longest error body that is read.
const ERROR_BODY: u64 = 64 << 10;

fn read_error(body: Box<dyn std::io::BufRead + Send>) -> String {
    let mut text = String::new();
    // Half an error message is better than none.
    let _ = std::io::Read::read_to_string(&mut std::io::Read::take(body, ERROR_BODY), &mut text);
    match serde_json::from_str(&text) {
        Ok(value) => error_text(&value),
        Err(_) => text
            .split_whitespace()
            .take(40)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn classify(status: u16, text: String, wait: Option<Duration>) -> Failure {
    let said = if text.is_empty() {
        format!("status {status}")
    } else {
        format!("{text} (status {status})")
    };
    let lower = text.to_ascii_lowercase();
    let too_long = [
        "too long",
        "context length",
        "context_length",
        "maximum context",
        "too many tokens",
    ];
    match status {
        401 | 403 => Failure::Final(LlmError::Key(said)),
        404 => Failure::Final(LlmError::NotFound(said)),
        413 => Failure::Final(LlmError::TooLong(said)),
        // A quota that is used up is reported like a rate limit, but waiting does not help.
        429 if lower.contains("quota") || lower.contains("billing") => {
            Failure::Final(LlmError::Key(said))
        }
        408 | 409 | 425 | 429 | 500..=599 => Failure::Passing { why: said, wait },
        _ if too_long.iter().any(|words| lower.contains(words)) => {
            Failure::Final(LlmError::TooLong(said))
        }
        _ => Failure::Final(LlmError::Refused(said)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_at_the_seam() {
        assert_eq!(
            join("```rust\nfn k() { le", "t x = 1; }\n```"),
            "```rust\nfn k() { let x = 1; }\n```"
        );
        assert_eq!(
            join("```rust\nfn a() {}\n", "```rust\nfn k() {}\n```"),
            "```rust\nfn a() {}\nfn k() {}\n```"
        );
        assert_eq!(
            join("```rust\nfn a() {}\n```\n", "```"),
            "```rust\nfn a() {}\n``````"
        );
    }

    #[test]
    fn waits_are_numbers() {
        assert_eq!(retry_after(" 3 "), Some(Duration::from_secs(3)));
        for bad in ["-1", "nan", "inf", "Wed, 21 Oct 2015 07:28:00 GMT", ""] {
            assert_eq!(retry_after(bad), None, "{bad}");
        }
    }

    #[test]
    fn failures_have_kinds() {
        let kind = |status, text: &str| match classify(status, text.to_owned(), None) {
            Failure::Final(error) => error.to_string(),
            Failure::Passing { .. } => "passing".to_owned(),
        };
        assert!(kind(401, "bad key").contains("refuses the key"));
        assert!(kind(400, "prompt is too long: 210000 tokens").contains("too long for the model"));
        assert!(kind(400, "unknown field").contains("refuses the request"));
        assert!(kind(429, "You exceeded your current quota").contains("refuses the key"));
        for status in [408, 429, 500, 502, 503, 529] {
            assert_eq!(kind(status, "later"), "passing");
        }
    }
}
