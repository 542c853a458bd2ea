//! Recording answers, and playing them back without a network.
//!
//! Owns the files of `--record` and `--replay`: one per call, named by its number, holding the request without its key
//! and the response byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::transport::{Request, Response, Transport, TransportError};

/// One call on tape.
#[derive(Debug, Serialize, Deserialize)]
struct Take {
    url: String,
    body: String,
    status: u16,
    headers: BTreeMap<String, String>,
    response: String,
}

/// A tape cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}: {source}", .path.display())]
pub struct TapeError {
    path: PathBuf,
    source: std::io::Error,
}

fn file(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:05}.json"))
}

/// Writes down what another transport carries.
pub struct Recorder {
    inner: Box<dyn Transport>,
    dir: PathBuf,
    next: AtomicU64,
}

impl Recorder {
    /// Records into `dir`, which must be empty or absent: two runs on one tape would be neither.
    ///
    /// # Errors
    /// If it is not, or cannot be made.
    pub fn new(inner: Box<dyn Transport>, dir: &Path) -> Result<Self, TapeError> {
        let fail = |source| TapeError {
            path: dir.to_owned(),
            source,
        };
        fs::create_dir_all(dir).map_err(fail)?;
        if fs::read_dir(dir).map_err(fail)?.next().is_some() {
            return Err(fail(std::io::Error::other("it is not empty")));
        }
        Ok(Recorder {
            inner,
            dir: dir.to_owned(),
            next: AtomicU64::new(1),
        })
    }
}

impl Transport for Recorder {
    fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let mut response = self.inner.send(request)?;
        let mut text = String::new();
        response
            .body
            .read_to_string(&mut text)
            .map_err(|error| TransportError::Network(error.to_string()))?;
        let scrub = |text: &str| match &request.secret {
            Some((_, secret)) => secret.scrub(text),
            None => text.to_owned(),
        };
        // What later decisions rest on; the rest may name accounts.
        let headers: BTreeMap<String, String> = response
            .headers
            .iter()
            .filter(|(name, _)| name.as_str() == "retry-after")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let take = Take {
            url: scrub(&request.url),
            body: scrub(&request.body),
            status: response.status,
            headers: headers.clone(),
            response: scrub(&text),
        };
        let path = file(&self.dir, self.next.fetch_add(1, Ordering::SeqCst));
        let written = serde_json::to_string_pretty(&take)
            .map_err(std::io::Error::other)
            .and_then(|json| fs::write(&path, json + "\n"));
        written.map_err(|error| {
            TransportError::Setup(format!("cannot record to {}: {error}", path.display()))
        })?;
        Ok(Response {
            status: response.status,
            headers,
            body: Box::new(Cursor::new(text)),
        })
    }
}

/// Plays a tape back, in order.
pub struct Replayer {
    dir: PathBuf,
    next: AtomicU64,
}

impl Replayer {
    /// Plays what lies in `dir`.
    ///
    /// # Errors
    /// If there is nothing.
    pub fn new(dir: &Path) -> Result<Self, TapeError> {
        let first = file(dir, 1);
        match first.is_file() {
            true => Ok(Replayer {
                dir: dir.to_owned(),
                next: AtomicU64::new(1),
            }),
            false => Err(TapeError {
                path: first,
                source: std::io::ErrorKind::NotFound.into(),
            }),
        }
    }
}

impl Transport for Replayer {
    fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let path = file(&self.dir, number);
        let setup = |why: String| TransportError::Setup(format!("{}: {why}", path.display()));
        let text = fs::read_to_string(&path)
            .map_err(|error| setup(format!("the tape ends here: {error}")))?;
        let take: Take = serde_json::from_str(&text).map_err(|error| setup(error.to_string()))?;
        if take.url != request.url || take.body != request.body {
            return Err(setup(
                "this run asks something else than the recorded one; the function, the tool or what was measured differs"
                    .to_owned(),
            ));
        }
        Ok(Response {
            status: take.status,
            headers: take.headers,
            body: Box::new(BufReader::new(Cursor::new(take.response))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::secret::Secret;
    use super::*;

    struct Echo;

    impl Transport for Echo {
        fn send(&self, request: &Request) -> Result<Response, TransportError> {
            Ok(Response {
                status: 200,
                headers: BTreeMap::from([("x-account".to_owned(), "me".to_owned())]),
                body: Box::new(Cursor::new(format!("you sent {} with sk-1", request.body))),
            })
        }
    }

    fn request(body: &str) -> Request {
        Request {
            url: "http://localhost/v1".to_owned(),
            headers: Vec::new(),
            secret: Some(("x-api-key", Secret::new("sk-1"))),
            body: body.to_owned(),
        }
    }

    fn text(response: Result<Response, TransportError>) -> String {
        let mut text = String::new();
        let mut body = response.expect("answers").body;
        body.read_to_string(&mut text).expect("memory can be read");
        text
    }

    #[test]
    fn what_was_recorded_is_played() {
        let dir = tempfile::tempdir().expect("a directory");
        let tape = dir.path().join("tape");
        let recorder = Recorder::new(Box::new(Echo), &tape).expect("is empty");
        assert_eq!(text(recorder.send(&request("a"))), "you sent a with sk-1");
        text(recorder.send(&request("b")));
        let first = fs::read_to_string(tape.join("00001.json")).expect("is there");
        assert!(
            !first.contains("sk-1") && !first.contains("me\""),
            "{first}"
        );
        let player = Replayer::new(&tape).expect("is there");
        assert_eq!(text(player.send(&request("a"))), "you sent a with [secret]");
        let other = player.send(&request("c")).err().expect("differs");
        assert!(other.to_string().contains("asks something else"), "{other}");
        assert!(Recorder::new(Box::new(Echo), &tape).is_err());
        assert!(Replayer::new(&dir.path().join("none")).is_err());
    }
}
