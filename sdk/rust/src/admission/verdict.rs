//! Answers: allowed or denied, and what becomes of the object.
//!
//! It makes no patches: the host does, where a hook gives the whole object.

use crate::data::DataError;
use serde::Serialize;
use std::fmt::Display;

/// Whether a request is allowed, with what its author and the audit log hear.
///
/// ```
/// use boathook_sdk::admission::Verdict;
///
/// Verdict::allow().warn("images without a digest will be denied from June on");
/// Verdict::deny("image nginx: registry docker.io is not allowed in namespace web").code(403);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a verdict is only one when the function returns it"]
pub struct Verdict {
    /// Why it is denied; absent when it is allowed.
    pub denied: Option<Denial>,
    /// Shown to who made the request, in any case.
    pub warnings: Vec<String>,
    /// Keys and values for the API server's audit log.
    pub audit_annotations: Vec<(String, String)>,
}

/// Why a request is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Denial {
    /// Shown to who made the request.
    pub message: String,
    /// HTTP status; 403 when absent.
    pub code: Option<u16>,
    /// Machine-readable reason; `Forbidden` when absent.
    pub reason: Option<String>,
}

impl Verdict {
    /// The request goes on.
    pub fn allow() -> Self {
        Self::default()
    }

    /// The request is denied, with a message for who made it.
    pub fn deny(message: impl Display) -> Self {
        let denied = Denial { message: message.to_string(), ..Denial::default() };
        Self { denied: Some(denied), ..Self::default() }
    }

    /// The HTTP status of a denial, 400 to 599; 403 without it.
    pub fn code(mut self, code: u16) -> Self {
        if let Some(denied) = &mut self.denied {
            denied.code = Some(code);
        }
        self
    }

    /// The machine-readable reason of a denial, like `Invalid`; `Forbidden` without it.
    pub fn reason(mut self, reason: &str) -> Self {
        if let Some(denied) = &mut self.denied {
            denied.reason = Some(reason.to_owned());
        }
        self
    }

    /// A warning for who made the request. May be given many times; the API server cuts what is longer than 120
    /// characters once they are many.
    pub fn warn(mut self, text: impl Display) -> Self {
        self.warnings.push(text.to_string());
        self
    }

    /// A key and a value for the API server's audit log. May be given many times.
    pub fn audit(mut self, key: &str, value: impl Display) -> Self {
        self.audit_annotations.push((key.to_owned(), value.to_string()));
        self
    }

    /// Whether the request goes on.
    pub fn is_allowed(&self) -> bool {
        self.denied.is_none()
    }
}

/// What becomes of a request's object, with a [`Verdict`].
///
/// A mutating hook may be asked again after others changed the object: what it has done it must then leave as it is.
///
/// ```
/// use boathook_sdk::admission::{Mutation, Verdict};
/// use boathook_sdk::serde_json::json;
///
/// # fn f(pod: boathook_sdk::kube::Object) -> boathook_sdk::Result<()> {
/// Mutation::unchanged();
/// Mutation::object(&pod)?.with(Verdict::allow().warn("the Pod got a limit of memory"));
/// Mutation::patch(&json!([{"op": "add", "path": "/spec/priority", "value": 1}]))?;
/// Mutation::from(Verdict::deny("no Pods here"));
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a mutation is only one when the function returns it"]
pub struct Mutation {
    verdict: Verdict,
    change: Change,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Unchanged,
    Patch(String),
    Object(String),
}

impl Mutation {
    /// The object stays as it is.
    pub fn unchanged() -> Self {
        Self::new(Change::Unchanged)
    }

    /// The object is to be like this, whole: the host makes the patch, an empty one when nothing is changed. A type
    /// must know all fields of its kind, else those that it does not know get lost: take
    /// [`kube::Object`](crate::kube::Object) or [`patch`](Self::patch) then.
    pub fn object<T: Serialize>(object: &T) -> Result<Self, DataError> {
        text(object, "the changed object").map(Change::Object).map(Self::new)
    }

    /// A JSON Patch (RFC 6902): a list of operations.
    pub fn patch<T: Serialize>(patch: &T) -> Result<Self, DataError> {
        text(patch, "the patch").map(Change::Patch).map(Self::new)
    }

    /// With another verdict than a plain [`Verdict::allow`].
    pub fn with(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    fn new(change: Change) -> Self {
        Self { verdict: Verdict::allow(), change }
    }

    pub(crate) fn into_parts(self) -> (Verdict, Change) {
        (self.verdict, self.change)
    }
}

impl From<Verdict> for Mutation {
    /// The object stays as it is.
    fn from(verdict: Verdict) -> Self {
        Self::unchanged().with(verdict)
    }
}

fn text<T: Serialize>(value: &T, what: &str) -> Result<String, DataError> {
    serde_json::to_string(value).map_err(|error| DataError::unwritable(what, error))
}
