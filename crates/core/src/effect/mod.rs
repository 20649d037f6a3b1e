//! What a write does to an object: the object before and after, the differences, and these as text or JSON.
//!
//! Pure: this module neither reads nor writes objects itself.
//!
//! ```text
//!  Effect { before, after } ─▶ diff ─▶ [Change] ─▶ render (text for people) · json (for programs)
//! ```

mod diff;
mod json;
mod lines;
mod redact;
mod render;
mod style;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::model::{CallError, CallReason, HookName, ObjectRef, RunId};

pub use diff::{Change, Ignore, Path, Segment, diff};
pub use json::json;
pub use render::render;
pub use style::Style;

/// What is known about an object at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum State {
    Present(Value),
    #[default]
    Absent,
    /// The object could not be read, or was not read. The text is the reason.
    Unknown(String),
}

impl State {
    /// From JSON text as the API server sent it.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).map_or_else(|error| Self::Unknown(format!("it is not JSON: {error}")), Self::Present)
    }

    /// The object, if it is present.
    pub fn object(&self) -> Option<&Value> {
        if let Self::Present(object) = self { Some(object) } else { None }
    }
}

/// How a write ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The write was carried out or, in a dry run, would have been.
    Done,
    /// The hook's grants or the API server refused the write, or it did not get through.
    Failed {
        /// The reason, for programs.
        reason: CallReason,
        /// The message, for people.
        message: String,
    },
    /// The run ended before the answer arrived.
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
    pub hook: HookName,
    pub run: RunId,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// The object. Its name is `?` if the body could not be read.
    pub object: ObjectRef,
    /// `status`, `scale`, `eviction`, …. If it is set, `before` and `after` are those of the subresource.
    pub subresource: Option<String>,
    /// The object as it was read just before the write.
    pub before: State,
    /// The object as the API server returned it.
    pub after: State,
    pub ending: Ending,
    /// A remark, as a sentence without a full stop.
    pub note: Option<String>,
    /// The write was sent as a server-side dry run, so nothing was stored.
    pub dry_run: bool,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Create,
    Change,
    Delete,
    /// The object is as before.
    Nothing,
    /// The write was carried out, but what it did is not known.
    Unknown,
    /// The write was not carried out, or not completed.
    Failure,
}

impl Action {
    /// The name for programs.
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
    /// The differences, without the noise that every write makes.
    pub fn changes(&self) -> Vec<Change> {
        match (&self.before, &self.after) {
            (State::Unknown(_), _) | (_, State::Unknown(_)) => Vec::new(),
            (before, after) => diff(before.object(), after.object(), Ignore::default()),
        }
    }

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

/// Receives each write when it has ended. Runs call it, so it must not wait.
pub trait Sink: Send + Sync + 'static {
    fn effect(&self, effect: Effect);
}
