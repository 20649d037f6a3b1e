//! Why a list or a watch failed: one error for a request, and the kind under which failures are counted. What happens
//! next is decided elsewhere.

use std::{fmt, time::Duration};

use kube::Error as ClientError;

/// The message with which servers report that the requested version is later than any of theirs.
const FROM_THE_FUTURE: &str = "Too large resource version";

/// The kinds of failure, as they appear in logs and metric labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchErrorKind {
    /// The server no longer has the requested history (410), or does not have it yet, for example after it was restored
    /// from an older state. A list follows.
    Expired,
    /// The server ended a watch immediately after its start.
    Eof,
    /// The connection broke in the middle.
    UnexpectedEof,
    /// The operator's own identity may not list or watch this kind (401, 403).
    Forbidden,
    /// The server does not serve this kind, or does not serve it here (404).
    NotFound,
    /// The server cannot be reached, is silent, or requests a pause (429, 5xx).
    Unavailable,
    /// The server sent nothing for too long. The watch is rebuilt.
    Silent,
    /// The stream's task ended because of a bug in this program. It restarts.
    Died,
    /// Anything else.
    Other,
}

impl WatchErrorKind {
    pub const ALL: [Self; 9] = [
        Self::Expired,
        Self::Eof,
        Self::UnexpectedEof,
        Self::Forbidden,
        Self::NotFound,
        Self::Unavailable,
        Self::Silent,
        Self::Died,
        Self::Other,
    ];

    /// The name in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Eof => "eof",
            Self::UnexpectedEof => "unexpected-eof",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not-found",
            Self::Unavailable => "unavailable",
            Self::Silent => "silent",
            Self::Died => "died",
            Self::Other => "other",
        }
    }

    fn of_code(code: u16) -> Self {
        match code {
            410 => Self::Expired,
            401 | 403 => Self::Forbidden,
            404 => Self::NotFound,
            429 | 500..=599 => Self::Unavailable,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for WatchErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum RequestError {
    #[error("cannot build the request")]
    Request(#[source] http::Error),
    #[error("cannot reach the API server")]
    Unreachable(#[source] ClientError),
    #[error("the API server answered {code}: {message}")]
    Status { code: u16, message: String, retry_after: Option<Duration>, names_something: bool },
    #[error("the connection was closed")]
    Broken(#[source] ClientError),
    #[error("the connection ended in the middle of a line")]
    HalfLine,
    #[error("the list ended before it was complete")]
    HalfList,
    #[error("the API server ended the watch immediately")]
    EndedAtOnce,
    #[error("the API server sent nothing for {} s", .0.as_secs_f32())]
    Silent(Duration),
    #[error("the answer is longer than {0} bytes")]
    TooLong(usize),
    #[error(
        "the API server went back in time, from version {known} to {found}: the operator lists all objects again \
         (was etcd restored from a snapshot?)"
    )]
    WentBack { known: u64, found: u64 },
    #[error("the answer is not a list of objects")]
    NotAList(#[source] serde_json::Error),
}

impl RequestError {
    pub fn kind(&self) -> WatchErrorKind {
        match self {
            Self::Status { code: 504, message, .. } if message.starts_with(FROM_THE_FUTURE) => WatchErrorKind::Expired,
            Self::WentBack { .. } => WatchErrorKind::Expired,
            Self::Status { code, .. } => WatchErrorKind::of_code(*code),
            Self::Broken(_) | Self::HalfLine | Self::HalfList => WatchErrorKind::UnexpectedEof,
            Self::EndedAtOnce => WatchErrorKind::Eof,
            Self::Unreachable(_) | Self::Silent(_) => WatchErrorKind::Unavailable,
            Self::Request(_) | Self::TooLong(_) | Self::NotAList(_) => WatchErrorKind::Other,
        }
    }

    /// The delay that the server requested.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the server does not serve the kind. A 404 that names what is missing means something else: some servers
    /// return one for a namespace.
    pub fn is_unserved(&self) -> bool {
        matches!(self, Self::Status { code: 404, names_something: false, .. })
    }

    /// Whether the server rejected a list as part of a watch. Servers that know the parameter but have the feature
    /// switched off return 422 or 400.
    pub fn refuses_streaming(&self) -> bool {
        matches!(self, Self::Status { code: 400 | 422, .. })
    }
}
