//! Why a filter gave no result.

use std::{io, time::Duration};

/// A program that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}{message}")]
pub struct CompileError {
    /// `line 1, column 7: `, or empty if the error concerns the whole program.
    place: String,
    message: String,
}

impl CompileError {
    pub(in crate::filter) fn whole(message: impl Into<String>) -> Self {
        Self { place: String::new(), message: message.into() }
    }

    /// An error at a byte of the program.
    pub(super) fn at(program: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = program.get(..offset).unwrap_or(program);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { place: format!("line {line}, column {column}: "), message: message.into() }
    }
}

/// A bound that an evaluation reached. The evaluation was ended, and nothing else was harmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterLimit {
    /// It used this much CPU time.
    Time(Duration),
    /// It needed more than this many bytes of memory.
    Memory(u64),
    /// It recursed too deeply.
    Stack,
}

impl FilterLimit {
    /// A short word for metric labels.
    pub fn label(self) -> &'static str {
        match self {
            Self::Time(_) => "time",
            Self::Memory(_) => "memory",
            Self::Stack => "stack",
        }
    }
}

impl std::fmt::Display for FilterLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(limit) => write!(f, "it did not end within {limit:?} of CPU time"),
            Self::Memory(bytes) => write!(f, "it needs more than {} MiB of memory", bytes / (1024 * 1024)),
            Self::Stack => f.write_str("it recurses too deeply"),
        }
    }
}

/// Why an evaluation gave no result. Some errors are the machine's, and pass. The others occur again with the same
/// program and the same object. See [`FilterError::is_transient`].
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The program raised an error. The text is jaq's, shortened.
    #[error("the filter failed: {0}")]
    Program(String),
    /// The object is not JSON that jq can read. It has more than 127 levels, for example.
    #[error("the filter cannot read the object: {0}")]
    Input(String),
    /// The result is larger than this many bytes.
    #[error("the filter's result is larger than {0} bytes")]
    TooLarge(usize),
    /// The result cannot be given to a hook.
    #[error("the filter's result is not JSON: {0}")]
    NotJson(String),
    /// The evaluation reached a bound.
    #[error("the filter was stopped: {0}")]
    Limit(FilterLimit),
    /// The filter reached bounds so often that it has to wait.
    #[error(
        "the filter was not run: it was stopped {failures} times in a row, last because {last}; next try in {wait:?}"
    )]
    BackingOff {
        /// The time until the next try.
        wait: Duration,
        /// Failures in a row.
        failures: u32,
        last: String,
    },
    /// jaq panicked.
    #[error("the filter crashed: {0}")]
    Crashed(String),
    /// The filter's process died, and neither the program nor the object is known to be the reason.
    #[error("the filter could not run: {0}")]
    Killed(String),
    /// The filter's process did not answer in this time, and reached no limit of its own: the machine is too busy.
    #[error("the filter's process did not answer within {0:?}")]
    Late(Duration),
    /// The operator may not keep the object.
    #[error("not enough memory to keep the object: {0}")]
    NoRoom(String),
    /// The filter's process could not be started, or the communication with it failed.
    #[error("the filter's process cannot be used")]
    Worker(#[source] io::Error),
}

impl FilterError {
    /// Whether the process in which the error happened cannot be used any more.
    pub fn ends_worker(&self) -> bool {
        matches!(self, Self::Limit(_) | Self::Crashed(_) | Self::Killed(_) | Self::Late(_) | Self::Worker(_))
    }

    /// Whether the error says nothing about the program or the object, so that the same evaluation may succeed later.
    /// An unknown reason counts as transient, because a retry is harmless and a snapshot without the object is not.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::BackingOff { .. } | Self::Killed(_) | Self::Late(_) | Self::NoRoom(_) | Self::Worker(_) => true,
            Self::Program(_)
            | Self::Input(_)
            | Self::TooLarge(_)
            | Self::NotJson(_)
            | Self::Limit(_)
            | Self::Crashed(_) => false,
        }
    }

    /// A short word for metric labels.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Program(_) => "program",
            Self::Input(_) => "input",
            Self::TooLarge(_) => "too-large",
            Self::NotJson(_) => "not-json",
            Self::Limit(limit) => limit.label(),
            Self::BackingOff { .. } => "backing-off",
            Self::Crashed(_) => "crashed",
            Self::Killed(_) => "killed",
            Self::Late(_) => "late",
            Self::NoRoom(_) => "no-room",
            Self::Worker(_) => "worker",
        }
    }
}
