//! Who writes, when, and how strictly: what every write knows.

/// What happens to fields that a kind does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Validation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// Who writes, when, and whether it counts.
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
