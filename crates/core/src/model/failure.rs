//! Why a run did not succeed, and what should happen next.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// A bound of the sandbox that a run reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Limit {
    /// `limits.time`
    Time,
    /// `limits.memory`
    Memory,
    /// The guest's stack.
    Stack,
    /// `limits.hostCalls`
    HostCalls,
    /// `limits.hostBytes`
    HostBytes,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "limits.time",
            Self::Memory => "limits.memory",
            Self::Stack => "stack",
            Self::HostCalls => "limits.hostCalls",
            Self::HostBytes => "limits.hostBytes",
        })
    }
}

/// The kind of failure. It decides whether and when the triggers are retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FailureKind {
    /// The hook requested another run.
    Retry,
    /// The hook requested another run after this time.
    RetryAfter(Duration),
    /// The hook said that a retry is of no use.
    Permanent,
    /// The hook crashed.
    Trap,
    /// The run reached a bound.
    Limit(Limit),
    /// The operator is shutting down. The triggers come back after the restart.
    Interrupted,
    /// The host could not run the hook, which is not the hook's fault.
    Host,
}

impl FailureKind {
    /// A short word for logs and metric labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::RetryAfter(_) => "retry-after",
            Self::Permanent => "permanent",
            Self::Trap => "trap",
            Self::Limit(Limit::Time) => "limit-time",
            Self::Limit(Limit::Memory) => "limit-memory",
            Self::Limit(Limit::Stack) => "limit-stack",
            Self::Limit(Limit::HostCalls) => "limit-host-calls",
            Self::Limit(Limit::HostBytes) => "limit-host-bytes",
            Self::Interrupted => "interrupted",
            Self::Host => "host",
        }
    }
}

/// A failed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub kind: FailureKind,
    /// For the log: what happened, which limit with its value, and what would help.
    pub message: String,
    /// The wasm back-trace of a trap, one frame on each line.
    pub backtrace: Option<String>,
}

impl Failure {
    pub fn of_host(message: String) -> Self {
        Self { kind: FailureKind::Host, message, backtrace: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
