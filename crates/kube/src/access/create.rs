//! Creates objects and subresources of objects.
//!
//! The create of a named object is repeated if its response was lost, because it cannot make two objects. It may then
//! find the object that it created itself. With `fail`, this is reported as `already-exists`, and the message says so.
//! No other create is repeated after a lost response.

use boathook_core::model::{CallError, CallReason, Create, IfExists};
use http::Method;

use super::{
    Access,
    audit::Audit,
    errors,
    request::{Head, Named, ResourcePath},
    retry,
    write::{Written, wire, write_query},
};

/// How often a replacement starts over when the object changes in between.
pub(super) const CONFLICT_RETRIES: u32 = 5;

impl Access {
    pub(super) async fn create(&self, create: &Create, head: &Head, audit: &mut Audit<'_>) -> Written {
        check(create, head)?;
        let named = match &create.subresource {
            Some((subresource, target)) => Named::object(target, Some(subresource)),
            None => head.named(None)?,
        };
        let place = self.place(named).await?;
        place.require(audit.caller, verbs(create.if_exists))?;
        let result = self.post(create, &place, audit).await;
        let result = match (result, create.if_exists) {
            (Err(error), IfExists::Keep) if error.reason == CallReason::AlreadyExists => return Ok(None),
            (Err(error), IfExists::Replace) if error.reason == CallReason::AlreadyExists => {
                self.replace(create, &place, audit).await
            }
            (result, _) => result,
        }?;
        if let (Some(_), Some(object)) = (head.generate_name(), &result) {
            audit.object = Head::read(object).map_or_else(|_| head.describe(), |made| made.describe());
        }
        Ok(result)
    }

    async fn post(&self, create: &Create, place: &ResourcePath<'_>, audit: &mut Audit<'_>) -> Written {
        let what = format!("create {}", place.named);
        let query = write_query(audit.caller, None, None);
        let (uri, repeatable) = match &create.subresource {
            Some(_) => (place.uri(&query), false),
            None => (place.collection_uri(&query), place.named.name.is_some()),
        };
        let result = self.store(&what, &wire(Method::POST, uri, &create.object, repeatable), audit).await;
        result.map_err(|error| match error.reason {
            CallReason::AlreadyExists if audit.meter.uncertain => CallError {
                message: format!("{} (an earlier try got no answer and may have created it)", error.message),
                ..error
            },
            _ => error,
        })
    }

    /// Reads the object's version and writes the new body over it. Repeats this if the object changed in the meantime.
    /// Creates the object if it was deleted.
    async fn replace(&self, create: &Create, place: &ResourcePath<'_>, audit: &mut Audit<'_>) -> Written {
        let what = format!("replace {}", place.named);
        let mut tried = 0;
        loop {
            tried += 1;
            match self.replace_once(create, place, &what, audit).await {
                Err(error) if tried <= CONFLICT_RETRIES && error.reason == CallReason::Conflict => {}
                Err(error) if tried <= CONFLICT_RETRIES && error.reason == CallReason::NotFound => {
                    match self.post(create, place, audit).await {
                        Err(error) if error.reason == CallReason::AlreadyExists => {}
                        result => return result,
                    }
                }
                result => return result,
            }
            tokio::time::sleep(retry::backoff(tried, rand::random())).await;
        }
    }

    async fn replace_once(
        &self,
        create: &Create,
        place: &ResourcePath<'_>,
        what: &str,
        audit: &mut Audit<'_>,
    ) -> Written {
        let live = self.fetch(audit.caller, what, place.uri(""), &mut audit.meter).await?;
        audit.found(&live);
        let body = with_version(&create.object, Head::read(&live)?.resource_version())?;
        let uri = place.uri(&write_query(audit.caller, None, None));
        let result = self.store(what, &wire(Method::PUT, uri, &body, true), audit).await;
        audit.verb = "update";
        result
    }
}

fn verbs(if_exists: IfExists) -> &'static [&'static str] {
    match if_exists {
        IfExists::Fail | IfExists::Keep => &["create"],
        IfExists::Replace => &["create", "get", "update"],
    }
}

fn check(create: &Create, head: &Head) -> Result<(), CallError> {
    if let Some((subresource, target)) = &create.subresource {
        head.agree_in_place(target)?;
        return match create.if_exists {
            IfExists::Replace => Err(errors::invalid(format!(
                "create {}: a subresource cannot be replaced; use `fail` or `keep`",
                Named::object(target, Some(subresource))
            ))),
            IfExists::Fail | IfExists::Keep => Ok(()),
        };
    }
    let what = head.describe();
    match (head.name(), head.generate_name(), create.if_exists) {
        (Some(_), ..) | (None, Some(_), IfExists::Fail) => Ok(()),
        (None, Some(_), _) => Err(errors::invalid(format!(
            "create {what}: a generated name exists never; use `fail`, or set metadata.name"
        ))),
        (None, None, _) => Err(errors::invalid(format!("create {what}: set metadata.name or metadata.generateName"))),
    }
}

/// Returns the body with this `metadata.resourceVersion`.
pub(super) fn with_version(body: &str, version: Option<&str>) -> Result<String, CallError> {
    let mut object: serde_json::Value = serde_json::from_str(body)
        .map_err(|error| errors::invalid(format!("the body is not a Kubernetes object: {error}")))?;
    let metadata = object.get_mut("metadata").and_then(serde_json::Value::as_object_mut);
    let metadata = metadata.ok_or_else(|| errors::invalid("the object has no metadata"))?;
    metadata.insert("resourceVersion".to_owned(), version.into());
    Ok(object.to_string())
}
