//! Why an outside object is not as its custom resource says.

use boathook_sdk::http;
use std::fmt;

/// What a condition says.
#[derive(Debug)]
pub struct Problem {
    reason: String,
    message: String,
    refusal: bool,
}

impl Problem {
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self { reason: reason.to_owned(), message: message.into(), refusal: false }
    }

    /// The outside object is another one's.
    pub fn refusal(reason: &str, message: impl Into<String>) -> Self {
        Self { refusal: true, ..Self::new(reason, message) }
    }

    /// There is no response.
    pub fn unsent(shown: &str, error: &http::Error) -> Self {
        let reason = match error.kind() {
            http::ErrorKind::Denied | http::ErrorKind::Address => "NotAllowed",
            http::ErrorKind::Credential => "NoCredential",
            _ => "Unreachable",
        };
        Self::new(reason, format!("{shown}: {error}"))
    }

    /// The server refused. `code` is its own word, if the body has one.
    pub fn answered(shown: &str, status: u16, code: &str, message: &str) -> Self {
        let code = code.rsplit(['#', '.']).next().unwrap_or_default();
        if code.is_empty() || !code.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Self::new("Failed", format!("{shown}: the server answered with the status {status}"));
        }
        Self::new(code, format!("{shown}: {code}: {message}"))
    }

    /// With what a person can do.
    pub fn remedy(mut self, reason: &str, remedy: &str) -> Self {
        if self.is(reason) {
            self.message = format!("{}: {remedy}", self.message.trim_end_matches('.'));
        }
        self
    }

    pub fn is(&self, reason: &str) -> bool {
        self.reason == reason
    }

    pub fn is_refusal(&self) -> bool {
        self.refusal
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
