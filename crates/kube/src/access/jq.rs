//! The patch `jq`: reads the object, runs the program, writes back what it changed, and repeats this on conflict.
//!
//! Nothing is written if the program changed nothing. If the response to a write was lost and the next try meets a
//! conflict, the conflict is reported and the program does not run again. Its change may be there already, and not
//! every program may run twice.

use boathook_core::model::{CallError, CallReason, Patch};
use http::Method;
use serde_json::Value;

use super::{
    Access,
    audit::Audit,
    create::CONFLICT_RETRIES,
    errors,
    request::{Named, ResourcePath},
    retry,
    write::{Written, wire, write_query},
};

impl Access {
    pub(super) async fn patch_by_jq(&self, patch: &Patch, program: &str, audit: &mut Audit<'_>) -> Written {
        let place = self.place(Named::object(&patch.target, patch.subresource.as_deref())).await?;
        place.require(audit.caller, &["get", "update"])?;
        let mut tried = 0;
        loop {
            tried += 1;
            match self.jq_once(&place, program, audit).await {
                Err(error) if error.reason == CallReason::NotFound && patch.ignore_missing => return Ok(None),
                Err(error) if error.reason == CallReason::Conflict && audit.meter.uncertain => {
                    return Err(CallError {
                        message: format!("{} (an earlier try got no answer and may have written)", error.message),
                        ..error
                    });
                }
                Err(error) if error.reason == CallReason::Conflict && tried <= CONFLICT_RETRIES => {}
                result => return result,
            }
            tokio::time::sleep(retry::backoff(tried, rand::random())).await;
        }
    }

    async fn jq_once(&self, place: &ResourcePath<'_>, program: &str, audit: &mut Audit<'_>) -> Written {
        let what = format!("patch {} by jq", place.named);
        let read = self.fetch(audit.caller, &what, place.uri(""), &mut audit.meter).await?;
        audit.found(&read);
        // A lost response to the read no longer matters.
        audit.meter.uncertain = false;
        let made = self.jq.run(&audit.caller.hook, program, read.clone()).await;
        let made = made.map_err(|error| errors::invalid(format!("{what}: {error}")))?;
        match changed(&read, &made).map_err(|error| errors::invalid(format!("{what}: {error}")))? {
            None => Ok(Some(read)),
            Some(body) => {
                let uri = place.uri(&write_query(audit.caller, None, None));
                self.store(&what, &wire(Method::PUT, uri, &body, true), audit).await
            }
        }
    }
}

/// Returns what to write, or `None` if the program changed nothing. The object must stay the same object. The version
/// is the one that was read, whatever the program did to it.
fn changed(read: &str, made: &str) -> Result<Option<String>, String> {
    let read: Value = serde_json::from_str(read).map_err(|error| format!("the object read is not JSON: {error}"))?;
    let mut made: Value =
        serde_json::from_str(made).map_err(|error| format!("the program's result is not JSON: {error}"))?;
    if !made.is_object() {
        return Err("the program must give the object, changed or not".to_owned());
    }
    for pointer in ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"] {
        if read.pointer(pointer) != made.pointer(pointer) {
            let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
            return Err(format!(
                "the program may not change which object it is: {} was {} and became {}",
                pointer.trim_start_matches('/').replace('/', "."),
                text(read.pointer(pointer)),
                super::text::clipped(&text(made.pointer(pointer))),
            ));
        }
    }
    if let (Some(version), Some(metadata)) =
        (read.pointer("/metadata/resourceVersion"), made.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.insert("resourceVersion".to_owned(), version.clone());
    }
    Ok((read != made).then(|| made.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const READ: &str = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"b","resourceVersion":"7"},"data":{"x":1}}"#;

    #[test]
    fn the_same_object_is_not_written() {
        let other_order = r#"{"data":{"x":1},"kind":"Secret","apiVersion":"v1","metadata":{"resourceVersion":"7","namespace":"b","name":"a"}}"#;
        assert_eq!(changed(READ, READ), Ok(None));
        assert_eq!(changed(READ, other_order), Ok(None));
        assert_eq!(changed(READ, &READ.replace(r#","resourceVersion":"7""#, "")), Ok(None));
    }

    #[test]
    fn a_change_is_written_over_the_version_that_was_read() {
        let made = READ.replace("\"x\":1", "\"x\":2").replace("\"7\"", "\"99\"");
        let body = changed(READ, &made).unwrap().unwrap();
        assert_eq!(body, READ.replace("\"x\":1", "\"x\":2"));
    }

    // mutant: crates/kube/src/access/jq.rs: `if read.pointer(pointer) != made.pointer(pointer) {` => `if false {`
    #[test]
    fn a_program_can_not_reach_another_object() {
        for (from, to, field) in [
            ("\"name\":\"a\"", "\"name\":\"z\"", "metadata.name"),
            ("\"namespace\":\"b\"", "\"namespace\":\"z\"", "metadata.namespace"),
            ("\"kind\":\"Secret\"", "\"kind\":\"Role\"", "kind"),
            ("\"apiVersion\":\"v1\",", "", "apiVersion"),
        ] {
            let error = changed(READ, &READ.replace(from, to)).unwrap_err();
            assert!(error.contains(&format!(": {field} was")), "{error}");
        }
        for made in ["[]", "null", "1", "", "{} {}"] {
            assert!(changed(READ, made).is_err(), "{made}");
        }
    }
}
