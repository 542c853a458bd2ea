//! Which model, where, with which key, at which price.
//!
//! Owns reading `--model` and the `llm` table of the package's or workspace's `metadata.pragma`. Keys are looked up here
//! and held as secrets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::dialect::Dialect;
use super::secret::Secret;
use super::usage::Price;
use crate::cli::budget::Budget;
use crate::process;

/// A model and how to reach it.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// The wire format.
    pub dialect: Dialect,
    /// The model's name at its server.
    pub name: String,
    /// Where it is served: for Anthropic's format without, for OpenAI's with the version in the path.
    pub base_url: String,
    /// Most tokens of one answer.
    pub max_tokens: u32,
    /// How long one call may take.
    pub timeout: Duration,
    /// A PEM file with further certificate authorities.
    pub authorities: Option<PathBuf>,
    /// What it costs, if the user said so.
    pub price: Option<Price>,
    key: KeySource,
}

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum KeySource {
    /// A variable of the environment. A server on this machine needs none.
    Variable(String),
    /// The output of a command.
    Command(String),
}

/// The configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// There is no model.
    #[error("no model is chosen: say which with `--model anthropic:NAME` or `--model openai:NAME`")]
    NoModel,
    /// `--model` cannot be read.
    #[error("`{0}` is not a model: write `anthropic:NAME` or `openai:NAME`")]
    BadModel(String),
    /// The table cannot be read.
    #[error("the `llm` table of `metadata.pragma`: {0}")]
    Table(String),
    /// There is no key.
    #[error("no key: {0}")]
    NoKey(String),
    /// A limit of money without a price.
    #[error(
        "the budget limits money, but what `{0}` costs is unknown: give its price in `[package.metadata.pragma.llm.prices]`, or limit tokens (`500kt`)"
    )]
    UnknownPrice(String),
}

/// `[package.metadata.pragma.llm]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    model: Option<String>,
    base_url: Option<String>,
    key_variable: Option<String>,
    key_command: Option<String>,
    max_tokens: Option<u32>,
    timeout_seconds: Option<u64>,
    certificate_authorities: Option<PathBuf>,
    #[serde(default)]
    prices: BTreeMap<String, Price>,
}

impl ModelConfig {
    /// The model that `flag` (`--model`) or else `metadata`, the `llm` table as JSON, names.
    ///
    /// # Errors
    /// If neither does, or what they say cannot be read.
    pub fn read(flag: Option<&str>, metadata: &serde_json::Value) -> Result<Self, ConfigError> {
        let table: Table = match metadata {
            serde_json::Value::Null => Table::default(),
            value => {
                Table::deserialize(value).map_err(|error| ConfigError::Table(error.to_string()))?
            }
        };
        let text = flag
            .map(str::to_owned)
            .or(table.model)
            .ok_or(ConfigError::NoModel)?;
        let (dialect, name) = text
            .split_once(':')
            .and_then(|(dialect, name)| Some((dialect.parse::<Dialect>().ok()?, name)))
            .filter(|(_, name)| !name.is_empty())
            .ok_or_else(|| ConfigError::BadModel(text.clone()))?;
        let price = table.prices.get(name).copied();
        if price.is_some_and(|price| !price.is_valid()) {
            return Err(ConfigError::Table(format!(
                "the price of `{name}` is not a number of dollars"
            )));
        }
        let key = match (table.key_command, table.key_variable) {
            (Some(command), None) => KeySource::Command(command),
            (None, variable) => {
                KeySource::Variable(variable.unwrap_or_else(|| dialect.key_variable().to_owned()))
            }
            (Some(_), Some(_)) => {
                return Err(ConfigError::Table(
                    "`key-command` and `key-variable` exclude each other".to_owned(),
                ));
            }
        };
        Ok(ModelConfig {
            dialect,
            name: name.to_owned(),
            base_url: table
                .base_url
                .unwrap_or_else(|| dialect.base_url().to_owned()),
            max_tokens: table.max_tokens.unwrap_or(16_000).max(256),
            timeout: Duration::from_secs(table.timeout_seconds.unwrap_or(600).clamp(5, 7200)),
            authorities: table.certificate_authorities,
            price,
            key,
        })
    }

    /// The key; `None` where a server on this machine needs none.
    ///
    /// # Errors
    /// If there should be one and is not.
    pub fn key(&self) -> Result<Option<Secret>, ConfigError> {
        match &self.key {
            KeySource::Variable(name) => match std::env::var(name) {
                Ok(value) if !value.trim().is_empty() => Ok(Some(Secret::new(&value))),
                _ if self.is_local() => Ok(None),
                _ => Err(ConfigError::NoKey(format!(
                    "set `{name}`, or name a `key-command`"
                ))),
            },
            KeySource::Command(line) => {
                // A shell, so that the line can be what the user would type.
                let mut command = process::command(if cfg!(windows) { "cmd" } else { "sh" });
                command
                    .arg(if cfg!(windows) { "/C" } else { "-c" })
                    .arg(line);
                let output = process::output(&mut command).map_err(|error| {
                    ConfigError::NoKey(format!("`key-command` cannot be run: {error}"))
                })?;
                let text = String::from_utf8_lossy(&output.stdout);
                if !output.status.success() || text.trim().is_empty() {
                    return Err(ConfigError::NoKey("`key-command` gave none".to_owned()));
                }
                Ok(Some(Secret::new(&text)))
            }
        }
    }

    /// Whether a limit of money can be kept.
    ///
    /// # Errors
    /// If it cannot, because the price is unknown.
    pub fn check_budget(&self, budget: &Budget) -> Result<(), ConfigError> {
        match (budget.dollars, self.price) {
            (Some(_), None) => Err(ConfigError::UnknownPrice(self.name.clone())),
            _ => Ok(()),
        }
    }

    /// `anthropic:NAME`, for manifests and messages.
    pub fn label(&self) -> String {
        format!("{}:{}", self.dialect.name(), self.name)
    }

    fn is_local(&self) -> bool {
        let host = self.base_url.split_once("://").map_or("", |(_, rest)| rest);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
            host.strip_prefix(local)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
        })
    }

    /// The header of the key in OpenAI's format; Azure has its own.
    pub(super) fn key_header(&self) -> &'static str {
        if self.base_url.contains(".azure.com") {
            "api-key"
        } else {
            "authorization"
        }
    }

    /// OpenAI itself renamed the field; the servers that copied the format know the old name.
    pub(super) fn max_tokens_field(&self) -> &'static str {
        if self.base_url.contains("api.openai.com") || self.base_url.contains(".azure.com") {
            "max_completion_tokens"
        } else {
            "max_tokens"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn flags_go_before_the_table() {
        let table = json!({ "model": "openai:m", "base-url": "http://localhost:11434/v1", "max-tokens": 1000 });
        let config = ModelConfig::read(None, &table).expect("is one");
        assert_eq!(
            (config.dialect, config.name.as_str()),
            (Dialect::OpenAi, "m")
        );
        assert_eq!(config.max_tokens, 1000);
        let config = ModelConfig::read(Some("anthropic:a:b"), &table).expect("is one");
        assert_eq!(
            (config.dialect, config.name.as_str()),
            (Dialect::Anthropic, "a:b")
        );
        assert_eq!(config.label(), "anthropic:a:b");
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(
            ModelConfig::read(None, &Value::Null).err(),
            Some(ConfigError::NoModel)
        );
        for bad in ["claude", "other:x", "openai:", ""] {
            assert!(
                matches!(
                    ModelConfig::read(Some(bad), &Value::Null),
                    Err(ConfigError::BadModel(_))
                ),
                "{bad}"
            );
        }
        for table in [
            json!({ "modle": "openai:m" }),
            json!({ "model": "openai:m", "key-command": "a", "key-variable": "B" }),
            json!({ "model": "openai:m", "prices": { "m": { "input": -1.0, "output": 1.0 } } }),
            json!(3),
        ] {
            assert!(
                matches!(ModelConfig::read(None, &table), Err(ConfigError::Table(_))),
                "{table}"
            );
        }
    }

    #[test]
    fn money_needs_a_price() {
        let budget: Budget = "$2".parse().expect("a budget");
        let config = ModelConfig::read(Some("openai:m"), &Value::Null).expect("is one");
        assert!(matches!(
            config.check_budget(&budget),
            Err(ConfigError::UnknownPrice(_))
        ));
        let table = json!({ "prices": { "m": { "input": 1.0, "output": 2.0 } } });
        let config = ModelConfig::read(Some("openai:m"), &table).expect("is one");
        assert_eq!(config.check_budget(&budget), Ok(()));
    }

    #[test]
    fn only_this_machine_is_local() {
        let local = |url: &str| {
            let table = json!({ "model": "openai:m", "base-url": url });
            ModelConfig::read(None, &table).expect("is one").is_local()
        };
        assert!(
            local("http://localhost:11434/v1")
                && local("http://127.0.0.1/")
                && local("http://[::1]:80")
        );
        assert!(
            !local("https://localhost.example.com/v1") && !local("https://example.com/localhost")
        );
    }

    #[test]
    fn a_command_gives_the_key() {
        let table = json!({ "model": "openai:m", "key-command": "echo '  abc '" });
        let config = ModelConfig::read(None, &table).expect("is one");
        assert_eq!(config.key().expect("runs"), Some(Secret::new("abc")));
        let table = json!({ "model": "openai:m", "key-command": "false" });
        let config = ModelConfig::read(None, &table).expect("is one");
        assert!(matches!(config.key(), Err(ConfigError::NoKey(_))));
    }
}
