//! The AdmissionReview that a webhook receives, and the result in its response.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Attributes, Hook};
use crate::kinds::Resource;
use crate::lifecycle::create::uid;
use crate::status::Failure;
use crate::webhook::Endpoint;
use crate::{conversion, json, webhook};

/// The result of a call to a webhook.
pub(super) enum Outcome {
    /// The webhook allows the request, possibly with a patch.
    Allowed(Vec<Value>),
    /// The webhook rejects the request.
    Denied(Failure),
    /// The webhook could not be called, or its response is invalid.
    Failed(String),
}

/// A result, with the warnings of the response.
pub(super) struct Answer {
    pub outcome: Outcome,
    pub warnings: Vec<String>,
}

impl Answer {
    fn without_warnings(outcome: Outcome) -> Self {
        Self { outcome, warnings: Vec::new() }
    }
}

fn typed(kind: (&str, &str, &str)) -> Value {
    json!({ "group": kind.0, "version": kind.1, "kind": kind.2 })
}

fn located(resource: &Resource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "resource": resource.plural })
}

/// `request` of the review without uid and objects, seen as `resource`.
pub(super) fn request(attributes: &Attributes<'_>, resource: &Resource) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        if !json::is_empty(Some(&value)) {
            map.insert(key.to_owned(), value);
        }
    };
    put("kind", typed(attributes.kind(resource)));
    put("resource", located(resource));
    put("subResource", attributes.sub_name().into());
    put("requestKind", typed(attributes.kind(attributes.resource)));
    put("requestResource", located(attributes.resource));
    put("requestSubResource", attributes.sub_name().into());
    put("name", attributes.name.clone().into());
    put("namespace", attributes.namespace.clone().into());
    put("operation", attributes.operation.name().into());
    put("userInfo", attributes.user.info());
    put("dryRun", attributes.dry_run.into());
    put("options", attributes.options.clone());
    Value::Object(map)
}

/// Calls a webhook with the objects in the version that it wants.
pub(super) async fn ask(
    hook: &Hook,
    attributes: &Attributes<'_>,
    resource: &Arc<Resource>,
    object: Option<&Value>,
    old: Option<&Value>,
    mutating: bool,
) -> Answer {
    if attributes.dry_run && !matches!(hook.text("sideEffects"), "None" | "NoneOnDryRun") {
        let why = format!("admission webhook \"{}\" does not support dry run", hook.name);
        return Answer::without_warnings(Outcome::Denied(Failure::bad_request(why)));
    }
    let known = json::list(&hook.written, &["admissionReviewVersions"]).iter().filter_map(Value::as_str);
    let Some(version) = known.into_iter().find(|version| matches!(*version, "v1" | "v1beta1")) else {
        let why =
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        return Answer::without_warnings(Outcome::Failed(why.to_owned()));
    };
    let uid = uid();
    let mut request = request(attributes, resource);
    let map = json::object(&mut request);
    map.insert("uid".into(), uid.clone().into());
    map.insert("object".into(), object.cloned().unwrap_or_default());
    map.insert("oldObject".into(), old.cloned().unwrap_or_default());
    let review = json!({
        "kind": "AdmissionReview", "apiVersion": format!("admission.k8s.io/{version}"), "request": request,
    });
    let config = hook.written.get("clientConfig").unwrap_or(&Value::Null);
    let seconds = json::int(&hook.written, &["timeoutSeconds"]).and_then(|s| u64::try_from(s).ok()).unwrap_or(10);
    let sent = match Endpoint::of(attributes.shared, config) {
        Ok(endpoint) => webhook::post(&endpoint, &review, Duration::from_secs(seconds)).await,
        Err(why) => Err(why),
    };
    match sent {
        Ok(answer) => read(hook, &answer, version, &uid, mutating),
        Err(why) => Answer::without_warnings(Outcome::Failed(format!("failed to call webhook: {why}"))),
    }
}

fn read(hook: &Hook, answer: &Value, version: &str, uid: &str, mutating: bool) -> Answer {
    let invalid =
        |why: String| Answer::without_warnings(Outcome::Failed(format!("received invalid webhook response: {why}")));
    if let Err(why) = verify(answer, version, uid, mutating) {
        return invalid(why);
    }
    let response = answer.get("response").unwrap_or(&Value::Null);
    let warnings = json::list(response, &["warnings"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let outcome = if response.get("allowed") == Some(&Value::Bool(true)) {
        if mutating { patch(response) } else { Outcome::Allowed(Vec::new()) }
    } else {
        Outcome::Denied(denial(&hook.name, response.get("status")))
    };
    Answer { outcome, warnings }
}

/// Whether the response belongs to this review. There are few requirements for v1beta1.
fn verify(answer: &Value, version: &str, uid: &str, mutating: bool) -> Result<(), String> {
    let response = answer.get("response").filter(|r| r.is_object()).ok_or("webhook response was absent")?;
    if version != "v1" {
        return Ok(());
    }
    let got = json::text(response, &["uid"]);
    if got != uid {
        return Err(format!("expected response.uid={uid:?}, got {got:?}"));
    }
    let (api_version, kind) = (json::text(answer, &["apiVersion"]), json::text(answer, &["kind"]));
    let (group, short) = api_version.split_once('/').unwrap_or(("", api_version));
    let (wanted, got) = ("admission.k8s.io/v1, Kind=AdmissionReview", format!("{group}/{short}, Kind={kind}"));
    if got != wanted {
        return Err(format!("expected webhook response of {wanted}, got {got}"));
    }
    let patched = !json::is_empty(response.get("patch"));
    let patch_type = response.get("patchType").filter(|t| !t.is_null());
    let wrong = match (mutating, patched, patch_type) {
        (true, true, None) => "webhook returned response.patch but not response.patchType",
        (true, false, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, _, Some(Value::String(text))) if text.is_empty() => {
            "webhook returned invalid response.patchType of \"\""
        }
        (false, true, _) => "validating webhook may not return response.patch",
        (false, _, Some(_)) => "validating webhook may not return response.patchType",
        _ => return Ok(()),
    };
    Err(wrong.to_owned())
}

/// The operations of the patch in a response.
fn patch(response: &Value) -> Outcome {
    let text = json::text(response, &["patch"]);
    if text.is_empty() {
        return Outcome::Allowed(Vec::new());
    }
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let undecodable = |why: String| Outcome::Failed(format!("received undecodable patch in webhook response: {why}"));
    let operations = match serde_json::from_slice(&bytes) {
        Ok(Value::Array(operations)) => Ok(operations),
        Ok(Value::Null) => Ok(Vec::new()),
        Ok(other) => {
            Err(format!("json: cannot unmarshal {} into Go value of type jsonpatch.Patch", json::kind(&other)))
        }
        Err(error) => Err(crate::json::error(&error, &bytes)),
    };
    match (operations, json::text(response, &["patchType"])) {
        (Err(why), _) => undecodable(why),
        (Ok(operations), "JSONPatch" | "") => Outcome::Allowed(operations),
        (Ok(operations), _) if operations.is_empty() => Outcome::Allowed(operations),
        (Ok(_), other) => Outcome::Failed(format!("unsupported patch type {other:?}")),
    }
}

/// A rejection in the webhook's own words, with its code, reason, message and details.
fn denial(name: &str, status: Option<&Value>) -> Failure {
    let mut status = status.filter(|s| s.is_object()).cloned().unwrap_or_else(|| json!({}));
    let text = |key: &str| json::text(&status, &[key]).to_owned();
    let denied = format!("admission webhook \"{name}\" denied the request");
    let message = match (text("message"), text("reason")) {
        (message, _) if !message.is_empty() => format!("{denied}: {message}"),
        (_, reason) if !reason.is_empty() => format!("{denied}: {reason}"),
        _ => format!("{denied} without explanation"),
    };
    let code = json::int(&status, &["code"]).unwrap_or_default().max(400);
    let outcome = match text("status").as_str() {
        "" | "Success" => "Failure".to_owned(),
        other => other.to_owned(),
    };
    let metadata = status.get("metadata").cloned().unwrap_or_else(|| json!({}));
    let map = json::object(&mut status);
    map.insert("kind".into(), "Status".into());
    map.insert("apiVersion".into(), "v1".into());
    map.insert("metadata".into(), metadata);
    map.insert("status".into(), outcome.into());
    map.insert("message".into(), message.into());
    map.insert("code".into(), code.into());
    Failure::given(u16::try_from(code).unwrap_or(500), status)
}

/// Converts `object` from the version of `from` to that of `to`.
pub(super) async fn convert(
    attributes: &Attributes<'_>,
    from: &Resource,
    to: &Resource,
    mut object: Value,
) -> Result<Value, Failure> {
    if from.api_version() == to.api_version() || !attributes.is_versioned() {
        return Ok(object);
    }
    from.to_storage(&mut object);
    to.show_stored(&mut object);
    if !conversion::needed(to) {
        return Ok(object);
    }
    let converted = conversion::to_version(attributes.shared, to, object).await;
    converted.map_err(|failure| Failure::internal_error(failure.message()))
}

/// The same for an optional object.
pub(super) async fn maybe(
    attributes: &Attributes<'_>,
    to: &Resource,
    object: Option<&Value>,
) -> Result<Option<Value>, Failure> {
    match object {
        Some(object) => convert(attributes, attributes.resource, to, object.clone()).await.map(Some),
        None => Ok(None),
    }
}

/// Puts kind and apiVersion first, as in every object that is written out.
pub(super) fn complete(attributes: &Attributes<'_>, resource: &Resource, object: &mut Value) {
    let map = json::object(object);
    if attributes.is_versioned() {
        map.insert("kind".into(), resource.kind.clone().into());
        map.insert("apiVersion".into(), resource.api_version().into());
    }
}
