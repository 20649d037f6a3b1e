//! What one run did: how it ended, its writes, Events and log lines.
//!
//! It decides nothing; its assertions panic with what was found.

use crate::bindings::boathook::hook::kube::Reason as Wire;
use crate::data::{DataError, decode};
use crate::error::Error;
use crate::kube::{EventType, ObjectRef};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

/// A run that has ended; or another call, which answers with a `T`.
#[derive(Debug)]
pub struct Ran<T = ()> {
    /// How it ended: what the hook's function returned.
    pub result: Result<T, Error>,
    /// What it asked Kubernetes to write, in order, with what was refused too.
    pub writes: Vec<Write>,
    /// The Kubernetes Events that it emitted, in order.
    pub events: Vec<Emitted>,
    /// What it logged, in order.
    pub log: Vec<Line>,
    /// The HTTP requests that it sent, in order.
    pub sent: Vec<crate::http::Request>,
}

/// The verb of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// An object, or a subresource such as an eviction, was created.
    Create,
    /// An object was replaced.
    Update,
    /// An object was patched or applied.
    Patch,
    /// An object was deleted.
    Delete,
}

/// One write.
#[derive(Clone, Debug)]
pub struct Write {
    /// What was asked for.
    pub verb: Verb,
    /// Of which object; where the name is generated, with an empty name.
    pub target: ObjectRef,
    /// `status` and the like.
    pub subresource: Option<String>,
    pub(super) sent: String,
    pub(super) stored: Option<String>,
    pub(super) refused: Option<Wire>,
}

/// One Kubernetes Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The object that it is about.
    pub regarding: ObjectRef,
    /// How it is shown.
    pub event_type: EventType,
    /// One word in CamelCase.
    pub reason: String,
    /// A sentence.
    pub note: String,
}

/// A change of the values of the hook's module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// A JSON pointer.
    pub path: String,
    /// The new value; nothing where it was removed.
    pub value: Option<Value>,
    /// Whether it is one of the configuration.
    pub config: bool,
}

impl Change {
    pub(super) fn of(mut operation: Value, config: bool) -> Self {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
        Self { path, value: operation.get_mut("value").map(Value::take), config }
    }
}

/// One line of the hook's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// `Debug` to `Error`; `log::trace!` counts as `Debug`.
    pub level: log::Level,
    /// The message.
    pub message: String,
    /// Its key-values, with the feature `kv`.
    pub fields: Vec<(String, String)>,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
        })
    }
}

impl fmt::Display for Write {
    /// `patch Node n1`, `patch Pod web/a/status`, and `create Secret web/s: conflict` for one that was refused.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.target)?;
        if let Some(subresource) = &self.subresource {
            write!(f, "/{subresource}")?;
        }
        match self.refused {
            Some(reason) => write!(f, ": {}", super::answer::word(reason)),
            None => Ok(()),
        }
    }
}

impl Write {
    /// Whether it was done.
    pub fn is_ok(&self) -> bool {
        self.refused.is_none()
    }

    /// What was sent: an object, or a patch. A deletion sends nothing (`null`).
    pub fn sent<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        decode(&self.sent, || format!("what was sent with {self}"))
    }

    /// The object as it was stored, or as it was when it was deleted; nothing where there was nothing to write.
    pub fn object<T: DeserializeOwned>(&self) -> Result<Option<T>, DataError> {
        self.stored.as_deref().map(|text| decode(text, || format!("the object of {self}"))).transpose()
    }
}

impl<T> Ran<T> {
    /// Asserts that it succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        if let Err(error) = &self.result {
            failed(&format!("the run failed: {error:?}\n{}", self.told()));
        }
        self
    }

    /// What the hook answered. Panics if it failed.
    #[track_caller]
    pub fn answer(&self) -> &T {
        match &self.result {
            Ok(answer) => answer,
            Err(error) => failed(&format!("the hook failed: {error:?}\n{}", self.told())),
        }
    }

    /// Asserts that it failed, and tells how.
    #[track_caller]
    pub fn error(&self) -> &Error {
        match &self.result {
            Err(error) => error,
            Ok(_) => failed(&format!("the run succeeded, though it should not\n{}", self.told())),
        }
    }

    /// The writes in words, such as `create Secret web/token`, `delete Pod web/a: forbidden-by-grant`.
    pub fn written(&self) -> Vec<String> {
        self.writes.iter().map(ToString::to_string).collect()
    }

    /// Whether a line of the log contains a text.
    pub fn logged(&self, text: &str) -> bool {
        self.log.iter().any(|line| line.message.contains(text))
    }

    fn told(&self) -> String {
        let writes = self.writes.iter().map(|write| format!("  {write}\n"));
        let lines = self.log.iter().map(|line| format!("  {}: {}\n", line.level, line.message));
        writes.chain(lines).collect()
    }
}

/// Ends the test.
#[track_caller]
#[allow(clippy::panic)] // What an assertion does.
pub(super) fn failed(text: &str) -> ! {
    panic!("{text}")
}
