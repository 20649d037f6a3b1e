//! The context of every write: manager, time and validation.

/// How to handle fields that a kind does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Validation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// The manager and time of a write, and whether it is a dry run.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub now: jiff::Timestamp,
    pub manager: String,
    pub dry_run: bool,
    pub validation: Validation,
}

impl Context {
    pub(crate) fn stamp(&self) -> String {
        crate::time::seconds(self.now)
    }
}
