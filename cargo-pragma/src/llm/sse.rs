//! Server-sent events, as both wire formats stream them.
//!
//! Owns the framing of the WHATWG specification as far as these interfaces use it: `data` fields, joined by line breaks
//! until an empty line. Event names, ids and comments are passed over.

use std::io::{self, BufRead};

/// The data of one event after another.
pub struct Events<R> {
    lines: io::Lines<R>,
    ended: bool,
}

impl<R: BufRead> Events<R> {
    /// Reads events from `reader`.
    pub fn new(reader: R) -> Self {
        Events {
            lines: reader.lines(),
            ended: false,
        }
    }
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut data: Option<String> = None;
        while !self.ended {
            let line = match self.lines.next() {
                Some(Ok(line)) => line,
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                None => {
                    self.ended = true;
                    break;
                }
            };
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if line.is_empty() {
                if data.is_some() {
                    return data.map(Ok);
                }
                continue;
            }
            if let Some(value) = line.strip_prefix("data:") {
                let value = value.strip_prefix(' ').unwrap_or(value);
                match &mut data {
                    Some(text) => {
                        text.push('\n');
                        text.push_str(value);
                    }
                    None => data = Some(value.to_owned()),
                }
            }
        }
        // Some servers close without the last empty line.
        data.map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<String> {
        Events::new(text.as_bytes())
            .map(|event| event.expect("memory can be read"))
            .collect()
    }

    #[test]
    fn events_end_at_empty_lines() {
        let text = ": hello\nevent: a\ndata: {\"x\":\ndata: 1}\n\ndata:two\r\n\r\n\n\ndata: last";
        assert_eq!(events(text), ["{\"x\":\n1}", "two", "last"]);
        assert!(events("").is_empty());
        assert!(events("event: ping\n\n").is_empty());
    }
}
