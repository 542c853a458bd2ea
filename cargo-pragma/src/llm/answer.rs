//! Reading code out of an answer.
//!
//! Owns the protocol: one fenced block of Rust. Models are sloppy, so this is lenient about everything that leaves no
//! doubt: the language tag, several blocks, text around them, a missing end. It never joins or edits blocks.

/// Code found in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The source text.
    pub source: String,
    /// What the model said before it, shortened, as the reason for the change.
    pub rationale: String,
}

/// An answer without usable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCode {
    /// There is no fenced block.
    #[error("the answer holds no fenced block of Rust")]
    NoBlock,
    /// No block defines the entry function.
    #[error("no block of the answer defines the function that was asked for")]
    NoEntry,
}

/// How much of the model's explanation is kept, characters.
const RATIONALE: usize = 400;

/// The last block that defines `entry`: models correct themselves towards the end.
///
/// # Errors
/// If there is no such block.
pub fn code(answer: &str, entry: &str) -> Result<Code, NoCode> {
    let blocks = blocks(answer);
    if blocks.is_empty() {
        return Err(NoCode::NoBlock);
    }
    let (start, source) = blocks
        .into_iter()
        .rev()
        .find(|(_, source)| defines(source, entry))
        .ok_or(NoCode::NoEntry)?;
    Ok(Code {
        source,
        rationale: rationale(&answer[..start]),
    })
}

/// Every fenced block: where its fence starts, and its text.
fn blocks(answer: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String, String)> = None;
    let mut at = 0;
    for line in answer.split_inclusive('\n') {
        let trimmed = line.trim();
        match &mut open {
            Some((start, fence, text)) => {
                if trimmed.starts_with(fence.as_str())
                    && trimmed.trim_start_matches(['`', '~']).is_empty()
                {
                    found.push((*start, std::mem::take(text)));
                    open = None;
                } else {
                    text.push_str(line);
                }
            }
            None => {
                if let Some(fence) = fence(trimmed) {
                    open = Some((at, fence, String::new()));
                }
            }
        }
        at += line.len();
    }
    // A block that was never closed counts: whether it is whole is for the compiler to say.
    if let Some((start, _, text)) = open {
        found.push((start, text));
    }
    found
}

/// The fence that a line opens.
fn fence(line: &str) -> Option<String> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| mark.to_string().repeat(length))
}

/// Whether the text has a function of this name at its top level.
fn defines(source: &str, entry: &str) -> bool {
    match syn::parse_file(source) {
        Ok(file) => file
            .items
            .iter()
            .any(|item| matches!(item, syn::Item::Fn(item) if item.sig.ident == entry)),
        // The compiler's message is the better answer to a syntax error.
        Err(_) => source.contains(&format!("fn {entry}")),
    }
}

fn rationale(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(RATIONALE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_form() {
        let answer = "Unroll by four.\n\n```rust\npub unsafe fn k() {}\n```\n";
        let code = code(answer, "k").expect("is there");
        assert_eq!(code.source, "pub unsafe fn k() {}\n");
        assert_eq!(code.rationale, "Unroll by four.");
    }

    #[test]
    fn sloppy_forms() {
        for answer in [
            "```\nfn k() {}\n```",
            "~~~rs\nfn k() {}\n~~~",
            "  ```rust,ignore\nfn k() {}\n  ```  ",
            "````rust\nfn k() {}\n````",
            "```rust\nfn k() {}",
            "First:\n```rust\nfn helper() {}\n```\nthen\n```rust\nfn k() {}\n```\nand run\n```sh\ncargo test\n```",
            "```rust\nfn k() { wrong }\n```\nNo, better:\n```rust\nfn k() {}\n```",
        ] {
            let code = code(answer, "k").expect(answer);
            assert_eq!(code.source.trim(), "fn k() {}", "{answer}");
        }
    }

    #[test]
    fn inner_fences_of_another_length_stay() {
        let answer = "````rust\n/// ```\n/// x\n/// ```\nfn k() {}\n````";
        assert!(
            code(answer, "k")
                .expect("is there")
                .source
                .contains("/// x")
        );
    }

    #[test]
    fn answers_without_code() {
        assert_eq!(code("I cannot do that.", "k"), Err(NoCode::NoBlock));
        assert_eq!(
            code("```rust\nfn other() {}\n```", "k"),
            Err(NoCode::NoEntry)
        );
        assert_eq!(code("", "k"), Err(NoCode::NoBlock));
    }

    #[test]
    fn long_explanations_are_cut_between_characters() {
        let answer = format!("{}\n```rust\nfn k() {{}}\n```", "é".repeat(1000));
        assert_eq!(
            code(&answer, "k")
                .expect("is there")
                .rationale
                .chars()
                .count(),
            RATIONALE + 1
        );
    }
}
