//! The errors of registries: each names the reference, what was requested, and the remedy.

use std::io;

use crate::{CredentialsError, Digest, Reference, StoreError};

/// A request to a registry that failed.
#[derive(Debug, thiserror::Error)]
#[error("{reference}: {what}")]
pub struct RegistryError {
    reference: String,
    what: String,
    #[source]
    problem: RegistryProblem,
}

impl RegistryError {
    pub(crate) fn new(at: &Reference, what: &str, problem: RegistryProblem) -> Self {
        Self { reference: at.to_string(), what: what.to_owned(), problem }
    }

    pub fn problem(&self) -> &RegistryProblem {
        &self.problem
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RegistryProblem {
    /// There is no connection.
    #[error(
        "no connection to {host}: is it reachable, and does it speak TLS? (--ca names its own authority, --plain-http does without TLS)"
    )]
    Unreachable {
        host: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No byte arrived for too long.
    #[error("the registry sent nothing for {0} s: try again, what is there is kept")]
    Stalled(u64),
    /// The connection broke.
    #[error("the connection was lost: try again, what is there is kept")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The address is not valid.
    #[error("{0:?} is no address that can be asked")]
    Address(String),
    /// The address is without TLS, and that is not allowed.
    #[error("{0:?} is without TLS: allow it with --plain-http, where nobody else can listen")]
    Plain(String),
    /// The address is without TLS, and only the admin may allow that.
    #[error("{0} is to be spoken to without TLS: the operator's admin can allow it with --insecure-registry {0}")]
    Insecure(String),
    /// The address belongs to this machine, its network or its cluster.
    #[error("{0} is not at a public address: the operator's admin can allow it with --private-registry {0}")]
    NotPublic(String),
    /// Another host responded with an error. Its text is not shown to the tenant that named the registry.
    #[error("{host}, which the registry sends to, answers {status}")]
    Elsewhere { host: String, status: u16 },
    /// Another host's response cannot be parsed. No part of it is shown to the tenant that named the registry.
    #[error("{0}, which the registry sends to, answers with something else than what was asked for")]
    Foreign(String),
    /// The address that the registry named for tokens returned no token.
    #[error("{0}, where the registry sends for a token, answers without one")]
    NoToken(String),
    /// There are too many redirects.
    #[error("the registry sends from one address to the next: more than {0} times")]
    Redirects(usize),
    /// The registry does not have it.
    #[error("the registry has none: check the name, push it first, or log in if it is private")]
    Missing,
    /// The registry does not say how to log in.
    #[error("the registry wants a login in a way that is not known ({0:?}); known are Basic and Bearer")]
    Challenge(String),
    /// There is no login, or it is wrong.
    #[error("the registry refuses {who}: {remedy}")]
    Refused {
        /// The user that was refused.
        who: String,
        remedy: &'static str,
    },
    /// The registry responded with another status.
    #[error("the registry answers {status}: {text}")]
    Status {
        status: u16,
        /// The registry's message.
        text: String,
    },
    /// A document is too large.
    #[error("it is more than the {0} bytes that were expected, so no more of it was read")]
    TooLarge(u64),
    /// A document is not the one that was requested.
    #[error("it was tampered with or damaged: its digest is {got}, and {want} was wanted")]
    Digest {
        /// The digest of the document.
        got: Digest,
        /// The digest that was requested.
        want: String,
    },
    /// The response is not JSON.
    #[error("the registry's answer can't be read")]
    Json(#[source] serde_json::Error),
    /// The admin's own certificates cannot be parsed.
    #[error("the file of --ca holds no certificate: it must be PEM, with BEGIN CERTIFICATE")]
    Authority,
    /// TLS cannot be set up.
    #[error("TLS can't be set up")]
    Tls(#[source] rustls::Error),
    /// There is no usable login.
    #[error("no login for it can be had")]
    Credentials(#[source] CredentialsError),
    /// The store reported an error.
    #[error("it can't be kept")]
    Store(#[from] StoreError),
    /// A file cannot be read.
    #[error("a file can't be read")]
    File(#[from] io::Error),
}
