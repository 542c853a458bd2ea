//! Whoever answers a prompt with a kernel.

use super::client::{Client, LlmError};
use super::dialect::{Answer, Conversation};
use crate::history::Call;

/// A model or an agent that can be asked.
pub trait Writer {
    /// The engine's name in manifests.
    fn engine(&self) -> &'static str;

    /// Who it is, for manifests and messages.
    fn label(&self) -> String;

    /// The next answer.
    ///
    /// # Errors
    /// See [`LlmError`].
    fn ask(&mut self, conversation: &Conversation) -> Result<Answer, LlmError>;

    /// The calls since this was last asked, for the history.
    fn take_calls(&mut self) -> Vec<Call>;
}

impl Writer for Client {
    fn engine(&self) -> &'static str {
        "llm"
    }

    fn label(&self) -> String {
        self.model().label()
    }

    fn ask(&mut self, conversation: &Conversation) -> Result<Answer, LlmError> {
        Client::ask(self, conversation, &mut |_| {})
    }

    fn take_calls(&mut self) -> Vec<Call> {
        Client::take_calls(self)
    }
}

/// A conversation as one text, for those who read texts.
pub(super) fn as_text(conversation: &Conversation) -> String {
    use super::dialect::Role;
    let mut text = conversation.system.clone();
    for message in &conversation.messages {
        match message.role {
            Role::User => text.push_str(&format!("\n{}", message.text)),
            Role::Assistant => {
                text.push_str(&format!("\nYour last answer was:\n\n{}\n", message.text))
            }
        }
    }
    text
}
