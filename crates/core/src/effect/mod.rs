//! What a write does to an object: the object before and after, how these differ, and the difference as text or JSON.
//!
//! Pure: it never reads or writes an object itself.
//!
//! ```text
//!  Effect { before, after } ─▶ diff ─▶ [Change] ─▶ render (text for people) · json (for programs)
//! ```

mod diff;
mod json;
mod lines;
mod noise;
mod path;
mod redact;
mod render;
mod style;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::model::{CallError, CallReason, HookName, ObjectRef, RunId};

pub use diff::{Change, diff};
pub use json::json;
pub use noise::Ignore;
pub use path::{Path, Segment};
pub use render::render;
pub use style::Style;

/// What is known of an object at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum State {
    /// It is there.
    Present(Value),
    /// It is not there.
    #[default]
    Absent,
    /// It could not be read, or was not looked at: why, in words.
    Unknown(String),
}

impl State {
    /// From JSON text as the API server sent it.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).map_or_else(|error| Self::Unknown(format!("it is not JSON: {error}")), Self::Present)
    }

    /// The object, if it is there.
    pub fn object(&self) -> Option<&Value> {
        if let Self::Present(object) = self { Some(object) } else { None }
    }
}

/// How a write ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It was carried out, or with a dry run, would have been.
    Done,
    /// It was refused by the hook's grants or by the API server, or did not get through.
    Failed {
        /// For deciding.
        reason: CallReason,
        /// For reading.
        message: String,
    },
    /// The run ended before the answer was there.
    Interrupted,
}

impl Ending {
    /// From the result of a call.
    pub fn of<T>(result: &Result<T, CallError>) -> Self {
        match result {
            Ok(_) => Self::Done,
            Err(error) => Self::Failed { reason: error.reason, message: error.message.clone() },
        }
    }
}

/// One write of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Whose.
    pub hook: HookName,
    /// In which run.
    pub run: RunId,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// Which object. The name is `?` where a body could not be read.
    pub object: ObjectRef,
    /// `status`, `scale`, `eviction`, …: before and after are the subresource's then.
    pub subresource: Option<String>,
    /// The object as it was read just before the write.
    pub before: State,
    /// The object as the API server answered it.
    pub after: State,
    /// How the write ended.
    pub ending: Ending,
    /// Something to know about it, as a sentence without a full stop.
    pub note: Option<String>,
    /// It was sent as a server-side dry run: nothing was kept.
    pub dry_run: bool,
}

/// What a write comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The object is new.
    Create,
    /// The object is another than before.
    Change,
    /// The object is gone.
    Delete,
    /// The object is as before.
    Nothing,
    /// The write was carried out, and what it did is not known.
    Unknown,
    /// The write was not carried out, or not to its end.
    Failure,
}

impl Action {
    /// A word for programs.
    pub fn label(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Delete => "delete",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
            Self::Failure => "failure",
        }
    }
}

impl Effect {
    /// What differs, without the noise that every write makes.
    pub fn changes(&self) -> Vec<Change> {
        match (&self.before, &self.after) {
            (State::Unknown(_), _) | (_, State::Unknown(_)) => Vec::new(),
            (before, after) => diff(before.object(), after.object(), Ignore::default()),
        }
    }

    /// What the write comes to.
    pub fn action(&self) -> Action {
        match (&self.ending, &self.before, &self.after) {
            (Ending::Failed { .. } | Ending::Interrupted, ..) => Action::Failure,
            (_, State::Absent, State::Present(_)) => Action::Create,
            (_, State::Present(_), State::Absent) => Action::Delete,
            (_, State::Unknown(_), State::Absent) if self.verb == "delete" => Action::Delete,
            (_, State::Unknown(_), _) | (_, _, State::Unknown(_)) => Action::Unknown,
            _ if self.changes().is_empty() => Action::Nothing,
            _ => Action::Change,
        }
    }
}

/// Is told of each write when it has ended. It is called from within runs, so it must not wait.
pub trait Sink: Send + Sync + 'static {
    /// A write has ended.
    fn effect(&self, effect: Effect);
}
