//! Replaces objects, and patches them in the API server's own patch formats.
//!
//! An apply, a merge or strategic merge patch, and an update with a resource version are repeated after a lost
//! response. A JSON patch and an update without a version are not. If an update took effect although its response was
//! lost, the repetition reports a conflict.

use std::borrow::Cow;

use boathook_core::model::{CallError, CallReason, Patch, PatchBody, Update};
use http::Method;
use serde::de::IgnoredAny;

use super::{
    Access,
    audit::Audit,
    errors,
    request::{Head, Named},
    send::ApiRequest,
    write::{Written, check_manager, wire, write_query},
};

impl Access {
    pub(super) async fn update(&self, update: &Update, head: &Head, audit: &mut Audit<'_>) -> Written {
        let named = head.named(update.subresource.as_deref())?;
        let what = format!("update {named}");
        if update.subresource.as_deref() == Some("scale") {
            return Err(errors::invalid(format!(
                "{what}: a Scale does not say what it scales; patch the object with subresource `scale` instead"
            )));
        }
        if named.name.is_none() {
            return Err(errors::invalid(format!("{what}: set metadata.name")));
        }
        let place = self.place(named).await?;
        place.require(audit.caller, &["update"])?;
        self.look(&place, audit).await;
        let uri = place.uri(&write_query(audit.caller, None, None));
        let repeatable = head.resource_version().is_some();
        self.store(&what, &wire(Method::PUT, uri, &update.object, repeatable), audit).await
    }

    /// Sends any patch but `jq`. An apply only needs the verb `patch`. Whether it may create the object is left to the
    /// API server.
    pub(super) async fn patch(&self, patch: &Patch, head: &Head, audit: &mut Audit<'_>) -> Written {
        let named = Named::object(&patch.target, patch.subresource.as_deref());
        let what = format!("patch {named}");
        let format =
            Format::of(&patch.body).map_err(|error| CallError { message: format!("{what}: {error}"), ..error })?;
        if format.apply && patch.subresource.is_none() {
            head.agree(&patch.target)?;
        } else if format.apply {
            head.agree_in_place(&patch.target)?;
        }
        let place = self.place(named).await?;
        place.require(audit.caller, &["patch"])?;
        self.look(&place, audit).await;
        let uri = place.uri(&write_query(audit.caller, format.manager, format.force));
        let wire = wire(Method::PATCH, uri, &format.body, format.repeatable);
        let wire = ApiRequest { content_type: format.content_type, ..wire };
        match self.store(&what, &wire, audit).await {
            // A 404 for an apply means that the namespace is missing, not the object. `ignore_missing` does not apply
            // to that.
            Err(error) if error.reason == CallReason::NotFound && patch.ignore_missing && !format.apply => Ok(None),
            result => result,
        }
    }
}

#[derive(Debug)]
struct Format<'a> {
    content_type: &'static str,
    body: Cow<'a, str>,
    repeatable: bool,
    apply: bool,
    force: Option<bool>,
    manager: Option<&'a str>,
}

impl<'a> Format<'a> {
    fn of(body: &'a PatchBody) -> Result<Self, CallError> {
        let plain = |content_type, body: &'a str, repeatable| Self {
            content_type,
            body: Cow::Borrowed(body),
            repeatable,
            apply: false,
            force: None,
            manager: None,
        };
        match body {
            PatchBody::Json(patch) => {
                let format = plain("application/json-patch+json", patch, false);
                begins_with(patch, '[', "a JSON patch is an array of operations").map(|()| format)
            }
            PatchBody::Merge(patch) => {
                let format = plain("application/merge-patch+json", patch, true);
                begins_with(patch, '{', "a merge patch is an object").map(|()| format)
            }
            PatchBody::Strategic(patch) => {
                let format = plain("application/strategic-merge-patch+json", patch, true);
                begins_with(patch, '{', "a strategic merge patch is an object").map(|()| format)
            }
            PatchBody::Apply { object, force, field_manager } => {
                field_manager.as_deref().map_or(Ok(()), check_manager)?;
                Ok(Self {
                    body: readable_as_yaml(object)?,
                    apply: true,
                    force: Some(*force),
                    manager: field_manager.as_deref(),
                    ..plain("application/apply-patch+yaml", object, true)
                })
            }
            PatchBody::Jq(_) => Err(errors::invalid("a jq patch is not sent as it is")),
        }
    }
}

fn begins_with(patch: &str, first: char, rule: &str) -> Result<(), CallError> {
    if !patch.trim_ascii_start().starts_with(first) {
        return Err(errors::invalid(rule));
    }
    serde_json::from_str::<IgnoredAny>(patch)
        .map(|_| ())
        .map_err(|error| errors::invalid(format!("the patch is not JSON: {error}")))
}

/// The API server parses an apply as YAML, where JSON's escapes of characters beyond the basic plane, and of `/`, mean
/// nothing. Such bodies are written again without the escapes.
fn readable_as_yaml(object: &str) -> Result<Cow<'_, str>, CallError> {
    if !object.contains("\\u") && !object.contains("\\/") {
        return Ok(Cow::Borrowed(object));
    }
    let value: serde_json::Value =
        serde_json::from_str(object).map_err(|error| errors::invalid(format!("the object is not JSON: {error}")))?;
    Ok(Cow::Owned(value.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_patch_has_its_content_type_and_says_whether_it_may_be_repeated() {
        let apply = PatchBody::Apply { object: "{}".into(), force: true, field_manager: Some("me".into()) };
        let table = [
            (PatchBody::Json(" []".into()), "application/json-patch+json", false),
            (PatchBody::Merge("{}".into()), "application/merge-patch+json", true),
            (PatchBody::Strategic("{}".into()), "application/strategic-merge-patch+json", true),
            (apply, "application/apply-patch+yaml", true),
        ];
        for (body, content_type, repeatable) in table {
            let format = Format::of(&body).unwrap();
            assert_eq!((format.content_type, format.repeatable), (content_type, repeatable));
        }
    }

    #[test]
    fn a_patch_of_the_wrong_shape_is_refused() {
        let manager = |manager: &str| PatchBody::Apply {
            object: "{}".into(),
            force: false,
            field_manager: Some(manager.to_owned()),
        };
        for body in [
            PatchBody::Json("{}".into()),
            PatchBody::Json("[".into()),
            PatchBody::Merge("[]".into()),
            PatchBody::Merge("{\"a\":".into()),
            PatchBody::Strategic("null".into()),
            manager(""),
            manager(&"m".repeat(129)),
            manager("a\nb"),
        ] {
            assert_eq!(Format::of(&body).unwrap_err().reason, CallReason::Invalid, "{body:?}");
        }
    }

    #[test]
    fn an_apply_has_no_escapes_that_yaml_reads_otherwise() {
        let object = r#"{"a":"\ud83d\ude00\/x"}"#;
        assert_eq!(readable_as_yaml(object).unwrap(), "{\"a\":\"😀/x\"}");
        assert!(matches!(readable_as_yaml(r#"{"a": "b\n"}"#).unwrap(), Cow::Borrowed(_)));
    }
}
