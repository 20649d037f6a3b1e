//! What a script threw, in the host's terms: a text with places in the author's own files, and what should
//! happen next.
//!
//! An error says the latter by its property `boathook:next`: `"permanent"`, `"retry"` or a number of
//! milliseconds. Without it, the run is retried.

use rquickjs::{CaughtError, Ctx, Object, Value};

use crate::{boathook::hook::types, source_map};

/// The property that says what should happen next.
const NEXT: &str = "boathook:next";

/// The maximum number of nested causes that a failure reports.
const CAUSES: usize = 8;

/// Why a call did not succeed.
pub struct Failure {
    next: Next,
    text: String,
}

#[derive(Clone, Copy)]
enum Next {
    Retry,
    After(u64),
    Permanent,
}

impl Failure {
    /// A failure that a retry cannot fix.
    pub fn permanent(text: String) -> Self {
        Self { next: Next::Permanent, text }
    }

    /// One of the interpreter itself.
    pub fn ours(error: &rquickjs::Error) -> Self {
        Self { next: Next::Retry, text: format!("the interpreter failed: {error}") }
    }

    /// What was thrown.
    pub fn caught<'js>(ctx: &Ctx<'js>, error: CaughtError<'js>) -> Self {
        match error {
            CaughtError::Exception(exception) => Self::thrown(ctx, exception.as_object().as_value()),
            CaughtError::Value(value) => Self::thrown(ctx, &value),
            CaughtError::Error(error) => Self::ours(&error),
        }
    }

    /// A value that was thrown, or that a promise was rejected with.
    pub fn thrown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Self {
        let Some(object) = value.as_object() else {
            return Self { next: Next::Retry, text: format!("the script threw {}", crate::globals::shown(ctx, value)) };
        };
        let next = next(object);
        let mut text = message(object);
        let mut cause = object.get::<_, Object<'js>>("cause").ok();
        for _ in 0..CAUSES {
            let Some(object) = cause else { break };
            text.push_str(": ");
            text.push_str(&message(&object));
            cause = object.get("cause").ok();
        }
        // Who says what should happen next knows what went wrong.
        let trace = if next.is_none() { source_map::trace(ctx, object) } else { Vec::new() };
        if !trace.is_empty() {
            text.push_str(" (");
            text.push_str(&trace.join(", "));
            text.push(')');
        }
        Self { next: next.unwrap_or(Next::Retry), text }
    }

    /// Of a promise that nobody waited for.
    pub fn in_the_background(self) -> Self {
        Self { text: format!("a promise that was not awaited failed: {}", self.text), ..self }
    }

    /// The same, for good.
    pub fn without_retry(self) -> Self {
        Self { next: Next::Permanent, ..self }
    }

    /// For people.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// For people, where a failure is reported as a text only.
    pub fn into_text(self) -> String {
        self.text
    }

    /// For the host.
    pub fn into_wire(self) -> types::Failure {
        match self.next {
            Next::Retry => types::Failure::Retry(self.text),
            Next::After(millis) => types::Failure::RetryAfter((millis, self.text)),
            Next::Permanent => types::Failure::Permanent(self.text),
        }
    }
}

fn next(object: &Object<'_>) -> Option<Next> {
    let value: Value<'_> = object.get(NEXT).ok()?;
    if let Some(millis) = value.as_number() {
        return Some(Next::After(millis.max(0.0) as u64));
    }
    match value.as_string()?.to_string().ok()?.as_str() {
        "permanent" => Some(Next::Permanent),
        "retry" => Some(Next::Retry),
        _ => None,
    }
}

/// `TypeError: x is not a function`; without the name where it says nothing.
fn message(object: &Object<'_>) -> String {
    let text = |key: &str| object.get::<_, String>(key).unwrap_or_default();
    let (name, message) = (text("name"), text("message"));
    let plain = name.is_empty() || name == "Error" || object.contains_key(NEXT).unwrap_or(false);
    match (plain, message.is_empty()) {
        (true, true) => "an error without a message".to_owned(),
        (true, false) => message,
        (false, true) => name,
        (false, false) => format!("{name}: {message}"),
    }
}
