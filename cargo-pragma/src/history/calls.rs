//! Conversations with language models in the history.

use rusqlite::params;

use super::{History, HistoryError, SearchId};

/// One call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The model.
    pub model: String,
    /// All that was said to it.
    pub prompt: String,
    /// What it said.
    pub answer: String,
    /// Prompt tokens that were paid in full.
    pub tokens_in: u64,
    /// Prompt tokens from the provider's cache.
    pub tokens_cached: u64,
    /// Tokens of the answer.
    pub tokens_out: u64,
    /// What it cost, US dollars, if the price is known.
    pub dollars: Option<f64>,
}

impl History {
    /// Remembers a call that belongs to a search.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn call(&self, search: SearchId, call: &Call) -> Result<(), HistoryError> {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        self.connection.execute(
            "INSERT INTO calls (search, model, prompt, answer, tokens_in, tokens_cached, tokens_out, dollars) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                search.0,
                call.model,
                call.prompt,
                call.answer,
                count(call.tokens_in),
                count(call.tokens_cached),
                count(call.tokens_out),
                call.dollars,
            ],
        )?;
        Ok(())
    }

    /// The calls of a search, in order.
    ///
    /// # Errors
    /// If the database refuses.
    pub fn calls(&self, search: SearchId) -> Result<Vec<Call>, HistoryError> {
        let mut statement = self.connection.prepare(
            "SELECT model, prompt, answer, tokens_in, tokens_cached, tokens_out, dollars FROM calls \
             WHERE search = ? ORDER BY id",
        )?;
        let rows = statement.query_map([search.0], |row| {
            let count = |index| row.get(index).map(|tokens: i64| tokens.unsigned_abs());
            Ok(Call {
                model: row.get(0)?,
                prompt: row.get(1)?,
                answer: row.get(2)?,
                tokens_in: count(3)?,
                tokens_cached: count(4)?,
                tokens_out: count(5)?,
                dollars: row.get(6)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
