//! Why a filter gave no result.

use std::time::Duration;

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// A program that cannot be used, and where it is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompileError(pub String);

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
    /// The filter did not end in this time, and reached no bound of its own: the machine, or the memory of filters, is
    /// too busy.
    #[error("the filter had no turn within {0:?}: give the operator more CPU time and memory")]
    Late(Duration),
    /// Other filters have the memory that all filters share.
    #[error(
        "the memory that all filters share is used up, and this one has {0} MiB of it: give the operator more memory \
         (--memory-limit)"
    )]
    Crowded(u64),
    /// The operator may not keep the object.
    #[error("not enough memory to keep the object: {0}")]
    NoRoom(String),
    /// jq cannot be started in this process.
    #[error("jq cannot be started")]
    Engine(#[source] Source),
}

impl FilterError {
    /// Whether the evaluation had to be stopped.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Limit(_) | Self::Crashed(_))
    }

    /// Whether the error says nothing about the program or the object, so that the same evaluation may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::BackingOff { .. } | Self::Late(_) | Self::Crowded(_) | Self::NoRoom(_) | Self::Engine(_) => true,
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
            Self::Late(_) => "late",
            Self::Crowded(_) => "crowded",
            Self::NoRoom(_) => "no-room",
            Self::Engine(_) => "engine",
        }
    }
}
