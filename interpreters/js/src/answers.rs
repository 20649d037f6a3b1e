//! What a script answers, in the host's terms.
//!
//! Never decides anything.

use rquickjs::{Array, Ctx, Error, Exception, Object, Result, Value};

use crate::{
    boathook::hook::{
        admission::{Denial, Verdict},
        reconciliation::{Condition, ConditionStatus, Event, EventType},
    },
    convert::{json, maybe, needed, pairs},
    exports::boathook::hook::{finalizing::Finalized, mutating::Mutation, reconciling::Desired},
    globals,
};

/// `{denied?: {message, code?, reason?}, warnings?, auditAnnotations?}`.
pub fn verdict(answer: &Object<'_>) -> Result<Verdict> {
    let denied: Option<Object<'_>> = maybe(answer, "denied")?;
    let denied = denied.map(|denied| -> Result<Denial> {
        Ok(Denial {
            message: needed(&denied, "message")?,
            code: maybe(&denied, "code")?,
            reason: maybe(&denied, "reason")?,
        })
    });
    Ok(Verdict {
        denied: denied.transpose()?,
        warnings: maybe(answer, "warnings")?.unwrap_or_default(),
        audit_annotations: pairs(maybe::<Object<'_>>(answer, "auditAnnotations")?.as_ref())?,
    })
}

/// `{…, object?, jsonPatch?}`.
pub fn mutation(ctx: &Ctx<'_>, answer: &Object<'_>) -> Result<Mutation> {
    let there = |key: &str| -> Result<bool> { Ok(maybe::<Value<'_>>(answer, key)?.is_some()) };
    match (there("object")?, there("jsonPatch")?) {
        (false, false) => Ok(Mutation::Unchanged),
        (true, false) => Ok(Mutation::Object(json(answer, "object")?)),
        (false, true) => Ok(Mutation::JsonPatch(json(answer, "jsonPatch")?)),
        (true, true) => Err(Exception::throw_type(ctx, "a mutation is either an object or a jsonPatch, not both")),
    }
}

/// An array of objects.
pub fn objects<'js>(ctx: &Ctx<'js>, answer: Value<'js>) -> Result<Vec<String>> {
    let Some(array) = answer.into_array() else {
        return Err(Exception::throw_type(ctx, "convert returned no array of objects"));
    };
    array
        .iter::<Value<'js>>()
        .map(|object| match ctx.json_stringify(object?)? {
            Some(text) => text.to_string(),
            None => Err(Exception::throw_type(ctx, "convert returned something that is no object")),
        })
        .collect()
}

/// `{children?, noneWanted?, status?, conditions?, requeueAfter?, events?}`.
pub fn desired(answer: Value<'_>) -> Result<Desired> {
    let keys = ["children", "noneWanted", "status", "conditions", "requeueAfter", "events"];
    let answer = Part::new("reconcile", answer, String::new(), &keys)?;
    Ok(Desired {
        children: answer.objects("children")?,
        none_wanted: answer.maybe("noneWanted", "true or false", Value::as_bool)?.unwrap_or_default(),
        status: answer.object("status")?,
        conditions: answer.items("conditions", condition)?,
        requeue_after: answer.maybe("requeueAfter", MILLIS, millis)?,
        events: answer.items("events", event)?,
    })
}

/// `{done, children?, status?, conditions?, requeueAfter?, events?}`.
pub fn finalized(answer: Value<'_>) -> Result<Finalized> {
    let keys = ["done", "children", "status", "conditions", "requeueAfter", "events"];
    let answer = Part::new("finalize", answer, String::new(), &keys)?;
    Ok(Finalized {
        // Needed, because a function that returns nothing has not said that the object may go.
        done: answer.needed("done", "true or false", Value::as_bool)?,
        children: answer.objects("children")?,
        status: answer.object("status")?,
        conditions: answer.items("conditions", condition)?,
        requeue_after: answer.maybe("requeueAfter", MILLIS, millis)?,
        events: answer.items("events", event)?,
    })
}

const MILLIS: &str = "a number of milliseconds that is not negative";

fn condition(function: &'static str, value: Value<'_>, place: String) -> Result<Condition> {
    let condition = Part::new(function, value, place, &["type", "status", "reason", "message"])?;
    Ok(Condition {
        type_: condition.text("type")?,
        status: condition.needed("status", "true, false, \"True\", \"False\" or \"Unknown\"", condition_status)?,
        reason: condition.text("reason")?,
        message: condition.text("message")?,
    })
}

fn event(function: &'static str, value: Value<'_>, place: String) -> Result<Event> {
    let event = Part::new(function, value, place, &["type", "reason", "message"])?;
    let kind = |value: &Value<'_>| match value.as_string()?.to_string().ok()?.as_str() {
        "Normal" => Some(EventType::Normal),
        "Warning" => Some(EventType::Warning),
        _ => None,
    };
    Ok(Event {
        type_: event.maybe("type", "\"Normal\" or \"Warning\"", kind)?.unwrap_or(EventType::Normal),
        reason: event.text("reason")?,
        message: event.text("message")?,
    })
}

fn condition_status(value: &Value<'_>) -> Option<ConditionStatus> {
    if let Some(holds) = value.as_bool() {
        return Some(if holds { ConditionStatus::True } else { ConditionStatus::False });
    }
    match value.as_string()?.to_string().ok()?.as_str() {
        "True" => Some(ConditionStatus::True),
        "False" => Some(ConditionStatus::False),
        "Unknown" => Some(ConditionStatus::Unknown),
        _ => None,
    }
}

fn millis(value: &Value<'_>) -> Option<u64> {
    let millis = value.as_number().filter(|millis| millis.is_finite() && *millis >= 0.0)?;
    Some(millis.ceil() as u64)
}

/// The JSON of an object.
fn object(function: &'static str, value: &Value<'_>, place: &str) -> Result<String> {
    let ctx = value.ctx();
    let text = ctx.json_stringify(value.clone()).and_then(|text| text.map(|text| text.to_string()).transpose());
    let text = text.map_err(|_| {
        let why = globals::shown(ctx, &ctx.catch());
        invalid(ctx, function, &format!("{place} cannot be written as JSON: {why}"))
    })?;
    // Arrays and functions are objects, too, but not in JSON.
    let object = text.filter(|text| text.starts_with('{'));
    object.ok_or_else(|| invalid(ctx, function, &format!("{place} must be an object")))
}

fn invalid(ctx: &Ctx<'_>, function: &str, problem: &str) -> Error {
    Exception::throw_message(ctx, &format!("{function} returned an invalid answer: {problem}"))
}

/// An object of an answer, or the answer itself.
struct Part<'js> {
    /// The function that returned it.
    function: &'static str,
    object: Object<'js>,
    /// `conditions[0]`; empty for the answer itself.
    place: String,
}

impl<'js> Part<'js> {
    /// A key that nobody reads is an error, because a misspelled `children` would look like none.
    fn new(function: &'static str, value: Value<'js>, place: String, keys: &[&str]) -> Result<Self> {
        let (ctx, listed) = (value.ctx().clone(), value.is_array() || value.is_function());
        let Some(object) = value.into_object().filter(|_| !listed) else {
            let place: &str = if place.is_empty() { "it" } else { &place };
            let problem = format!("{place} must be an object with {}", keys.join(", "));
            return Err(invalid(&ctx, function, &problem));
        };
        let part = Self { function, object, place };
        for key in part.object.keys::<String>() {
            let key = key?;
            if !keys.contains(&key.as_str()) {
                let place = part.at(&key);
                let problem = format!("{place} is unknown: the keys are {}", keys.join(", "));
                return Err(invalid(&ctx, function, &problem));
            }
        }
        Ok(part)
    }

    fn at(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    fn wrong(&self, key: &str, must_be: &str) -> Error {
        invalid(self.object.ctx(), self.function, &format!("{} must be {must_be}", self.at(key)))
    }

    fn maybe<T>(&self, key: &str, must_be: &str, read: impl FnOnce(&Value<'js>) -> Option<T>) -> Result<Option<T>> {
        let value: Option<Value<'js>> = maybe(&self.object, key)?;
        value.map(|value| read(&value).ok_or_else(|| self.wrong(key, must_be))).transpose()
    }

    fn needed<T>(&self, key: &str, must_be: &str, read: impl FnOnce(&Value<'js>) -> Option<T>) -> Result<T> {
        self.maybe(key, must_be, read)?.ok_or_else(|| self.wrong(key, must_be))
    }

    fn text(&self, key: &str) -> Result<String> {
        self.needed(key, "a text", |value| value.as_string()?.to_string().ok())
    }

    /// The JSON of an object that may be absent.
    fn object(&self, key: &str) -> Result<Option<String>> {
        let value: Option<Value<'js>> = maybe(&self.object, key)?;
        value.map(|value| object(self.function, &value, &self.at(key))).transpose()
    }

    /// The JSON of the objects of an array that may be absent.
    fn objects(&self, key: &str) -> Result<Vec<String>> {
        self.items(key, |function, value, place| object(function, &value, &place))
    }

    /// The items of an array that may be absent, with their places.
    fn items<T>(&self, key: &str, read: impl Fn(&'static str, Value<'js>, String) -> Result<T>) -> Result<Vec<T>> {
        let array: Option<Array<'js>> = self.maybe(key, "an array", |value| value.as_array().cloned())?;
        let Some(array) = array else { return Ok(Vec::new()) };
        let place = |at: usize| format!("{}[{at}]", self.at(key));
        array.iter::<Value<'js>>().enumerate().map(|(at, value)| read(self.function, value?, place(at))).collect()
    }
}
