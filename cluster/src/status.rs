//! The response to a failed request: a Kubernetes `Status` with the real server's reasons and texts.

use serde_json::{Value, json};

/// Group and plural of a resource in the format of error texts: `pods`, `deployments.apps`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupResource<'a> {
    pub group: &'a str,
    pub resource: &'a str,
}

impl std::fmt::Display for GroupResource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.group.is_empty() { f.write_str(self.resource) } else { write!(f, "{}.{}", self.resource, self.group) }
    }
}

/// A failed request. Boxed, because it is part of every `Result`.
#[derive(Debug)]
pub(crate) struct Failure(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: u16,
    reason: &'static str,
    message: String,
    details: Option<Value>,
    metadata: Value,
    warnings: Vec<String>,
    /// The whole Status, if a webhook has written it.
    given: Option<Value>,
}

/// One cause of an `Invalid` status.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    pub reason: &'static str,
    pub message: String,
    pub field: String,
}

impl Cause {
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: impl AsRef<str>) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {}: {}", shown(value), why.as_ref()),
            field: field.into(),
        }
    }

    /// An invalid value that is not shown.
    pub(crate) fn bare(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueInvalid", message: format!("Invalid value: {why}"), field: field.into() }
    }

    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".to_owned() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", message, field: field.into() }
    }

    pub(crate) fn forbidden(field: impl Into<String>, why: impl AsRef<str>) -> Self {
        Self { reason: "FieldValueForbidden", message: format!("Forbidden: {}", why.as_ref()), field: field.into() }
    }

    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|s| format!("\"{s}\"")).collect();
        Self {
            reason: "FieldValueNotSupported",
            message: format!("Unsupported value: {}: supported values: {}", shown(value), list.join(", ")),
            field: field.into(),
        }
    }

    fn json(&self) -> Value {
        json!({ "reason": self.reason, "message": self.message, "field": self.field })
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

fn named(resource: GroupResource<'_>, name: &str) -> Value {
    let mut details = serde_json::Map::new();
    if !name.is_empty() {
        details.insert("name".into(), name.into());
    }
    if !resource.group.is_empty() {
        details.insert("group".into(), resource.group.into());
    }
    if !resource.resource.is_empty() {
        details.insert("kind".into(), resource.resource.into());
    }
    Value::Object(details)
}

impl Failure {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            reason,
            message: message.into(),
            details: None,
            metadata: json!({}),
            warnings: Vec::new(),
            given: None,
        }))
    }

    /// A Status from a webhook.
    pub(crate) fn given(code: u16, status: Value) -> Self {
        let mut failure = Self::new(code, "", crate::json::text(&status, &["message"]));
        failure.0.given = Some(status);
        failure
    }

    fn with_details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    /// The failed request also has warnings.
    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.0.warnings = warnings;
        self
    }

    /// Adds warnings from before the failure.
    pub(crate) fn after_warnings(mut self, earlier: &[String]) -> Self {
        let later = std::mem::take(&mut self.0.warnings);
        self.0.warnings = earlier.to_vec();
        let news: Vec<String> = later.into_iter().filter(|warning| !earlier.contains(warning)).collect();
        self.0.warnings.extend(news);
        self
    }

    pub(crate) fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    pub(crate) fn code(&self) -> u16 {
        self.0.code
    }

    pub(crate) fn reason(&self) -> &'static str {
        self.0.reason
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The path names nothing that is served.
    pub(crate) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    pub(crate) fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found")).with_details(named(resource, name))
    }

    pub(crate) fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} \"{name}\" already exists"))
            .with_details(named(resource, name))
    }

    pub(crate) fn conflict(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}"))
            .with_details(named(resource, name))
    }

    pub(crate) fn modified(resource: GroupResource<'_>, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// A conflict of server-side apply with fields of other managers, with one cause for each.
    pub(crate) fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        let causes: Vec<Value> = causes.iter().map(Cause::json).collect();
        Self::new(409, "Conflict", message).with_details(json!({ "causes": causes }))
    }

    pub(crate) fn forbidden(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        Self::new(403, "Forbidden", format!("{resource} \"{name}\" is forbidden: {why}"))
            .with_details(named(resource, name))
    }

    /// The user has no permission. The resource is empty for a path.
    pub(crate) fn access_denied(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let what = match (resource.resource, name) {
            ("", _) => "forbidden".to_owned(),
            (_, "") => format!("{resource} is forbidden"),
            _ => format!("{resource} \"{name}\" is forbidden"),
        };
        Self::new(403, "Forbidden", format!("{what}: {why}")).with_details(named(resource, name))
    }

    /// The token is unknown.
    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn terminating(resource: GroupResource<'_>, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut failure = Self::forbidden(resource, name, &why);
        let cause = Cause {
            reason: "NamespaceTerminating",
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".into(),
        };
        failure.add_causes(&[cause]);
        failure
    }

    fn add_causes(&mut self, causes: &[Cause]) {
        if let Some(Value::Object(details)) = self.0.details.as_mut() {
            details.insert("causes".into(), causes.iter().map(Cause::json).collect());
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// An object that fails validation: 422 with one cause per field.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut listed: Vec<String> = Vec::new();
        for text in causes.iter().map(|c| format!("{}: {}", c.field, c.message)) {
            if !listed.contains(&text) {
                listed.push(text);
            }
        }
        let what = match listed.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let kinds = GroupResource { group, resource: kind };
        let mut failure = Self::new(422, "Invalid", format!("{kinds} \"{name}\" is invalid: {what}"))
            .with_details(named(kinds, name));
        failure.add_causes(causes);
        failure
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(json!({}))
    }

    /// The path supports none of the media types of the request.
    pub(crate) fn not_acceptable(available: &[&str]) -> Self {
        let message = format!("406: Not Acceptable\n\nAvailable representations: {}", available.join(", "));
        Self::new(406, "NotAcceptable", message).with_details(json!({}))
    }

    /// The media type is known, but not in the requested form.
    pub(crate) fn unacceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Self::new(406, "NotAcceptable", message)
    }

    /// The request wants one object where there is a list, or vice versa.
    pub(crate) fn wrong_shape(message: &str) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    /// A patch in a format that the resource does not support.
    pub(crate) fn unsupported_patch() -> Self {
        Self::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with_details(json!({}))
    }

    /// A patch that does not fit the object.
    pub(crate) fn unfit_patch() -> Self {
        Self::new(422, "Invalid", "the server rejected our request due to an error in our request")
            .with_details(json!({}))
    }

    pub(crate) fn unsupported_media(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// The request comes from a web page, or seems to.
    pub(crate) fn page(why: &str) -> Self {
        let message =
            format!("{why}: the local cluster answers no web pages, since it guards nothing from this machine");
        Self::new(403, "Forbidden", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: limit is {limit}"))
    }

    /// A watch or list from a revision that is no longer kept.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// The same for a continue token. `resume` continues after the same key in the newest state.
    pub(crate) fn continue_expired(resume: &str) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start a \
            new list without the continue parameter, or use the continue token in this response to retrieve the \
            remainder of the results. Continuing with the provided token results in an inconsistent list - objects that \
            were created, modified, or deleted between the time the first chunk was returned and now may show up in the \
            list.";
        let mut failure = Self::expired(message);
        failure.0.metadata = json!({ "continue": resume });
        failure
    }

    /// A revision that does not exist yet.
    pub(crate) fn future_revision(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = json!({ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" });
        Self::new(504, "Timeout", message).with_details(json!({ "causes": [cause], "retryAfterSeconds": 1 }))
    }

    /// The format of the real server's errors outside of its API conventions.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// A server error in the format of the API.
    pub(crate) fn internal_error(why: &str) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {why}"))
            .with_details(json!({ "causes": [{ "message": why }] }))
    }

    pub(crate) fn to_value(&self) -> Value {
        let inner = &self.0;
        if let Some(given) = &inner.given {
            return given.clone();
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": inner.metadata, "status": "Failure", "message": inner.message,
        });
        if let Value::Object(map) = &mut status {
            if !inner.reason.is_empty() {
                map.insert("reason".into(), inner.reason.into());
            }
            if let Some(details) = &inner.details {
                map.insert("details".into(), details.clone());
            }
            map.insert("code".into(), inner.code.into());
        }
        status
    }
}

/// The `Status` of a deletion that left nothing behind.
pub(crate) fn deleted(resource: GroupResource<'_>, name: &str, uid: &str) -> Value {
    let mut details = named(resource, name);
    if let Value::Object(map) = &mut details {
        map.insert("uid".into(), uid.into());
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

/// A success without details.
pub(crate) fn success(code: u16) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code })
}
