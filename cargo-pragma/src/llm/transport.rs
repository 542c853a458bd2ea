//! Sending a request and getting a stream back.
//!
//! Owns HTTP: TLS, proxies, extra certificate authorities, timeouts. Knows nothing of models.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where to.
    pub url: String,
    /// Headers that hold no secret.
    pub headers: Vec<(&'static str, String)>,
    /// The header that holds the key, if there is one.
    pub secret: Option<(&'static str, super::Secret)>,
    /// JSON.
    pub body: String,
}

/// A response whose body is still to be read.
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Box<dyn BufRead + Send>,
}

/// No response came.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// It took too long.
    #[error("no answer in time: {0}")]
    Timeout(String),
    /// The connection failed.
    #[error("{0}")]
    Network(String),
    /// The client cannot be set up.
    #[error("{0}")]
    Setup(String),
}

/// Something that answers requests.
pub trait Transport: Send {
    /// Sends a request.
    ///
    /// # Errors
    /// If no response came.
    fn send(&self, request: &Request) -> Result<Response, TransportError>;
}

/// Real HTTP. Proxies come from the environment, as usual.
pub struct HttpTransport {
    client: reqwest::blocking::Client,
}

impl HttpTransport {
    /// A client that waits at most `timeout` for anything to arrive, and trusts the authorities in the PEM file
    /// `authorities` besides the system's.
    ///
    /// # Errors
    /// If the file cannot be read, or TLS cannot be set up.
    pub fn new(timeout: Duration, authorities: Option<&Path>) -> Result<Self, TransportError> {
        let setup = |error: &dyn std::fmt::Display| TransportError::Setup(error.to_string());
        // Another part of the process may have installed one; either will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::blocking::Client::builder()
            .user_agent(concat!("cargo-pragma/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(20))
            .timeout(timeout)
            .redirect(reqwest::redirect::Policy::none());
        if let Some(path) = authorities {
            let pem = std::fs::read(path).map_err(|error| {
                TransportError::Setup(format!("cannot read {}: {error}", path.display()))
            })?;
            for authority in
                reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| setup(&error))?
            {
                builder = builder.add_root_certificate(authority);
            }
        }
        let client = builder.build().map_err(|error| setup(&error))?;
        Ok(HttpTransport { client })
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: &Request) -> Result<Response, TransportError> {
        let mut builder = self
            .client
            .post(&request.url)
            .header("content-type", "application/json")
            .body(request.body.clone());
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        if let Some((name, secret)) = &request.secret {
            let value = match *name {
                "authorization" => format!("Bearer {}", secret.expose()),
                _ => secret.expose().to_owned(),
            };
            let mut value = reqwest::header::HeaderValue::from_str(&value).map_err(|_| {
                TransportError::Setup("the key has characters that no key can have".to_owned())
            })?;
            value.set_sensitive(true);
            builder = builder.header(*name, value);
        }
        let response = builder.send().map_err(|error| {
            let text = chain(&error.without_url());
            match text.contains("timed out") {
                true => TransportError::Timeout(text),
                false => TransportError::Network(text),
            }
        })?;
        let headers = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect();
        Ok(Response {
            status: response.status().as_u16(),
            headers,
            body: Box::new(BufReader::new(response)),
        })
    }
}

/// An error and its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
