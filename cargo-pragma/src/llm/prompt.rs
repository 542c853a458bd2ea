//! The prompts, and filling them in.
//!
//! Owns the templates under `prompts/` and their version. A template names its holes; a hole without a filling, or a
//! filling without a hole, is an error and not a prompt.

use std::fmt::Write as _;

/// Changes whenever a template does; part of every provenance.
pub const PROMPT_VERSION: &str = "1";

/// A template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// What holds for a whole search.
    System,
    /// The first kernel.
    Write,
    /// A better kernel.
    Improve,
    /// A refused kernel once more.
    Repair,
}

/// A template was filled wrongly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A hole has no filling.
    #[error("the prompt has nothing for `{0}`")]
    Unfilled(String),
    /// A filling has no hole.
    #[error("the prompt has no place for `{0}`")]
    Unused(String),
}

impl Template {
    /// Every template.
    pub const ALL: [Template; 4] = [
        Template::System,
        Template::Write,
        Template::Improve,
        Template::Repair,
    ];

    /// The text, with its holes.
    pub const fn text(self) -> &'static str {
        match self {
            Template::System => include_str!("../../prompts/coder-system.md"),
            Template::Write => include_str!("../../prompts/coder-write.md"),
            Template::Improve => include_str!("../../prompts/coder-improve.md"),
            Template::Repair => include_str!("../../prompts/coder-repair.md"),
        }
    }

    /// The names of its holes, in order of first appearance.
    pub fn holes(self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for part in self.text().split("{{").skip(1) {
            if let Some((name, _)) = part.split_once("}}")
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

/// The template with its holes filled. Fillings are not templates: braces in them stay.
///
/// # Errors
/// If holes and fillings do not match.
pub fn fill(template: Template, fillings: &[(&str, &str)]) -> Result<String, PromptError> {
    let holes = template.holes();
    if let Some((name, _)) = fillings.iter().find(|(name, _)| !holes.contains(name)) {
        return Err(PromptError::Unused((*name).to_owned()));
    }
    let mut out = String::new();
    let mut rest = template.text();
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        let filling = fillings
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| PromptError::Unfilled(name.to_owned()))?;
        let _ = write!(out, "{}", filling.1.trim_end());
        rest = after;
    }
    out.push_str(rest);
    // Empty fillings leave empty lines behind.
    while out.contains("\n\n\n") {
        out = out.replace("\n\n\n", "\n\n");
    }
    Ok(out.trim().to_owned() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hole_is_named_and_filled() {
        for template in Template::ALL {
            let holes = template.holes();
            assert!(!holes.is_empty());
            let fillings: Vec<(&str, &str)> = holes.iter().map(|name| (*name, "{{x}}")).collect();
            let text = fill(template, &fillings).expect("matches");
            assert_eq!(
                text.matches("{{x}}").count(),
                template.text().matches("{{").count()
            );
            assert_eq!(
                fill(template, &fillings[1..]),
                Err(PromptError::Unfilled(holes[0].to_owned()))
            );
            let extra = [fillings.as_slice(), &[("no-such-hole", "")]].concat();
            assert_eq!(
                fill(template, &extra),
                Err(PromptError::Unused("no-such-hole".to_owned()))
            );
        }
    }

    #[test]
    fn the_version_is_raised_with_the_text() {
        // Whoever changes a template raises the version and this hash together.
        let text = Template::ALL.map(Template::text).concat();
        let hash = pragma_spec::Fingerprint::of_text(&text);
        assert_eq!(
            (PROMPT_VERSION, hash.short()),
            ("1", "0c4bb5fd9003"),
            "raise PROMPT_VERSION"
        );
    }
}
