//! A key that cannot be printed by accident.

use std::fmt;

/// A secret text. `Debug` and `Display` do not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text`, without the white space around it that files and commands leave.
    pub fn new(text: &str) -> Self {
        Secret(text.trim().to_owned())
    }

    /// The secret itself, for a request header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` with every occurrence of the secret replaced.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() {
            text.to_owned()
        } else {
            text.replace(&self.0, "[secret]")
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_not_shown() {
        let secret = Secret::new(" sk-123\n");
        assert_eq!(secret.expose(), "sk-123");
        assert!(!format!("{secret:?} {secret}").contains("123"));
        assert_eq!(secret.scrub("bad key sk-123!"), "bad key [secret]!");
        assert_eq!(Secret::new("").scrub("abc"), "abc");
    }
}
