//! Text with indentation.

/// Rust source being written.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    depth: usize,
}

impl Lines {
    /// A buffer whose lines start at `depth` levels of indentation.
    pub fn at(depth: usize) -> Self {
        Lines {
            text: String::new(),
            depth,
        }
    }

    /// Adds one line; an empty one stays empty.
    pub fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        if !text.is_empty() {
            for _ in 0..self.depth {
                self.text.push_str("    ");
            }
            self.text.push_str(text);
        }
        self.text.push('\n');
    }

    /// Adds a line that ends in `{` and indents what follows.
    pub fn open(&mut self, text: impl AsRef<str>) {
        self.line(text);
        self.depth += 1;
    }

    /// Ends a block with `text`, usually `}`.
    pub fn close(&mut self, text: impl AsRef<str>) {
        self.depth = self.depth.saturating_sub(1);
        self.line(text);
    }

    /// Ends one block and opens the next: `} else {`.
    pub fn reopen(&mut self, text: impl AsRef<str>) {
        self.close(text);
        self.depth += 1;
    }

    /// Ends a level of indentation whose end is already written.
    pub fn close_silently(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// The text so far.
    pub fn finish(self) -> String {
        self.text
    }
}
