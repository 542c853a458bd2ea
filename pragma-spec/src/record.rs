//! Reading fields out of TOML and writing values into it.
//!
//! Owns the little that `manifest` and `index` share. Reading goes through `toml`; writing is by hand, so
//! that the bytes never change with a dependency.

use std::fmt::Display;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file is not what it should be; the text says where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordError(pub String);

/// A TOML table.
pub(crate) struct Record<'i>(DeTable<'i>);

impl<'i> Record<'i> {
    pub(crate) fn parse(text: &'i str) -> Result<Self, RecordError> {
        match DeTable::parse(text) {
            Ok(table) => Ok(Record(table.into_inner())),
            Err(error) => {
                let before = error.span().and_then(|span| text.get(..span.start));
                let line = before.map_or(1, |before| before.matches('\n').count() + 1);
                Err(RecordError(format!("line {line}: {}", error.message())))
            }
        }
    }

    fn find(&self, key: &str) -> Option<&DeValue<'i>> {
        let mut entries = self.0.iter();
        let found = entries.find(|(name, _)| name.get_ref() == key);
        found.map(|(_, value)| value.get_ref())
    }

    fn get(&self, key: &str) -> Result<&DeValue<'i>, RecordError> {
        self.find(key)
            .ok_or_else(|| RecordError(format!("`{key}` is missing")))
    }

    pub(crate) fn optional_text(&self, key: &str) -> Result<Option<String>, RecordError> {
        match self.find(key) {
            None => Ok(None),
            Some(_) => self.text(key).map(Some),
        }
    }

    pub(crate) fn text(&self, key: &str) -> Result<String, RecordError> {
        let text = self.get(key)?.as_str();
        text.map(str::to_owned)
            .ok_or_else(|| RecordError(format!("`{key}` is not a text")))
    }

    pub(crate) fn parsed<T>(&self, key: &str) -> Result<T, RecordError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let text = self.text(key)?;
        text.parse()
            .map_err(|error| RecordError(format!("`{key}`: {error}")))
    }

    pub(crate) fn optional_number<T: TryFrom<i128>>(
        &self,
        key: &str,
    ) -> Result<Option<T>, RecordError> {
        match self.find(key) {
            None => Ok(None),
            Some(_) => self.number(key).map(Some),
        }
    }

    pub(crate) fn number<T: TryFrom<i128>>(&self, key: &str) -> Result<T, RecordError> {
        let Some(integer) = self.get(key)?.as_integer() else {
            return Err(RecordError(format!("`{key}` is not a whole number")));
        };
        i128::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| RecordError(format!("`{key}` is out of range: {}", integer.as_str())))
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>, RecordError> {
        let texts = self.get(key)?.as_array().and_then(|values| {
            let texts = values.iter().map(Spanned::get_ref).map(DeValue::as_str);
            texts.map(|text| text.map(str::to_owned)).collect()
        });
        texts.ok_or_else(|| RecordError(format!("`{key}` is not a list of texts")))
    }

    pub(crate) fn optional_texts(&self, key: &str) -> Result<Option<Vec<String>>, RecordError> {
        match self.find(key) {
            None => Ok(None),
            Some(_) => self.texts(key).map(Some),
        }
    }

    /// A truth value; false if the key is missing.
    pub(crate) fn optional_flag(&self, key: &str) -> Result<bool, RecordError> {
        match self.find(key) {
            None => Ok(false),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| RecordError(format!("`{key}` is neither true nor false"))),
        }
    }

    pub(crate) fn table(&self, key: &str) -> Result<Record<'i>, RecordError> {
        let table = self.get(key)?.as_table();
        table
            .map(|table| Record(table.clone()))
            .ok_or_else(|| RecordError(format!("`{key}` is not a table")))
    }

    /// The tables of a list; none if the key is missing, since TOML cannot write an empty `[[list]]`.
    pub(crate) fn tables(&self, key: &str) -> Result<Vec<Record<'i>>, RecordError> {
        let Some(value) = self.find(key) else {
            return Ok(Vec::new());
        };
        let tables = value.as_array().and_then(|values| {
            let tables = values.iter().map(Spanned::get_ref).map(DeValue::as_table);
            tables.map(|table| table.cloned().map(Record)).collect()
        });
        tables.ok_or_else(|| RecordError(format!("`{key}` is not a list of tables")))
    }
}

/// `text` as a TOML basic string.
pub(crate) fn quote_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of texts: on one line if short, else one per line.
pub(crate) fn strings(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote_text(text)).collect();
    let line = format!("[{}]", quoted.join(", "));
    if line.len() <= 80 {
        return line;
    }
    format!("[\n    {},\n]", quoted.join(",\n    "))
}
