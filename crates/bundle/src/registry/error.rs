//! What goes wrong with a registry: names the reference, the thing that was wanted, and the mend. Decides nothing.

use std::io;

use crate::{CredentialsError, Digest, Reference, StoreError};

/// Something could not be had from a registry or given to it.
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

    /// What went wrong.
    pub fn problem(&self) -> &RegistryProblem {
        &self.problem
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RegistryProblem {
    /// No connection.
    #[error(
        "no connection to {host}: is it reachable, and does it speak TLS? (--ca names its own authority, --plain-http does without TLS)"
    )]
    Unreachable {
        /// The host.
        host: String,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No byte for too long.
    #[error("the registry sent nothing for {0} s: try again, what is there is kept")]
    Stalled(u64),
    /// A connection that broke.
    #[error("the connection was lost: try again, what is there is kept")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An address that is no address.
    #[error("{0:?} is no address that can be asked")]
    Address(String),
    /// Without TLS, and not allowed.
    #[error("{0:?} is without TLS: allow it with --plain-http, where nobody else can listen")]
    Plain(String),
    /// Without TLS, and only the admin may allow it.
    #[error("{0} is to be spoken to without TLS: the operator's admin can allow it with --insecure-registry {0}")]
    Insecure(String),
    /// An address of this machine, its network or its cluster.
    #[error("{0} is not at a public address: the operator's admin can allow it with --private-registry {0}")]
    NotPublic(String),
    /// Another host's answer, whose text is not for whoever named the registry.
    #[error("{host}, which the registry sends to, answers {status}")]
    Elsewhere {
        /// The host.
        host: String,
        /// The status code.
        status: u16,
    },
    /// Another host's answer that can't be read, of which no piece is for whoever named the registry.
    #[error("{0}, which the registry sends to, answers with something else than what was asked for")]
    Foreign(String),
    /// No token where the registry says that there are tokens.
    #[error("{0}, where the registry sends for a token, answers without one")]
    NoToken(String),
    /// Going round in circles.
    #[error("the registry sends from one address to the next: more than {0} times")]
    Redirects(usize),
    /// Not there.
    #[error("the registry has none: check the name, push it first, or log in if it is private")]
    Missing,
    /// The registry does not say how to log in.
    #[error("the registry wants a login in a way that is not known ({0:?}); known are Basic and Bearer")]
    Challenge(String),
    /// No login, or a wrong one.
    #[error("the registry refuses {who}: {mend}")]
    Refused {
        /// Who it is about.
        who: String,
        /// What to do.
        mend: &'static str,
    },
    /// Another status.
    #[error("the registry answers {status}: {text}")]
    Status {
        /// The status code.
        status: u16,
        /// What the registry says.
        text: String,
    },
    /// A document that is too large.
    #[error("it is more than the {0} bytes that were expected, so no more of it was read")]
    TooLarge(u64),
    /// A document that is something else.
    #[error("it was tampered with or damaged: its digest is {got}, and {want} was wanted")]
    Digest {
        /// What there is.
        got: Digest,
        /// What there should be.
        want: String,
    },
    /// An answer that is no JSON.
    #[error("the registry's answer can't be read")]
    Json(#[source] serde_json::Error),
    /// Own certificates that are none.
    #[error("the file of --ca holds no certificate: it must be PEM, with BEGIN CERTIFICATE")]
    Authority,
    /// TLS that can't be set up.
    #[error("TLS can't be set up")]
    Tls(#[source] rustls::Error),
    /// No login can be had.
    #[error("no login for it can be had")]
    Credentials(#[source] CredentialsError),
    /// The store's word.
    #[error("it can't be kept")]
    Store(#[from] StoreError),
    /// A file's word.
    #[error("a file can't be read")]
    File(#[from] io::Error),
}
