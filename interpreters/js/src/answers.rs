//! What a script answers to the API server, in the host's terms.
//!
//! Never decides anything.

use rquickjs::{Ctx, Exception, Object, Result, Value};

use crate::{
    boathook::hook::admission::{Denial, Verdict},
    convert::{json, maybe, needed, pairs},
    exports::boathook::hook::mutating::Mutation,
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
