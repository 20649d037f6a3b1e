//! Resources that exist only as requests: access reviews, the client's identity, token reviews, and token requests.
//! Nothing is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::auth::policy::Decision;
use crate::auth::tokens::{Bound, Claims, ISSUER, Private};
use crate::auth::{Attributes, ResourceTarget, User};
use crate::context::Context;
use crate::json;
use crate::json::{at, int, is_empty, list, object, text};
use crate::kinds::schema::Schema;
use crate::kinds::{self, Resource};
use crate::lifecycle::create;
use crate::lifecycle::create::Origin;
use crate::patch::managed;
use crate::server::{Body, Call, body, respond, warn};
use crate::status::{Cause, Failure, GroupResource};
use crate::store::key;

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// The review kind at a path, if there is one.
pub(crate) fn at_path(schema: &Arc<Schema>, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
    let known = matches!(group, AUTHENTICATION | AUTHORIZATION);
    kinds::review(schema, group, version, plural).filter(|_| known).map(Arc::new)
}

/// A POST to a kind of review.
pub(crate) async fn handle(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    if !call.name.is_empty() {
        return Err(Failure::no_such_path());
    }
    if request.method() != Method::POST {
        return Err(Failure::method_not_allowed());
    }
    let (mut review, warnings, _) = receive(call, request, "").await?;
    match call.resource.plural.as_str() {
        "selfsubjectaccessreviews" => review_self(call, &mut review)?,
        "subjectaccessreviews" | "localsubjectaccessreviews" => review_subject(call, &mut review)?,
        "selfsubjectrulesreviews" => review = rules_of_self(call, &review)?,
        "selfsubjectreviews" => review = who_am_i(call, &review),
        "tokenreviews" => review_token(call, &mut review)?,
        _ => return Err(Failure::no_such_path()),
    }
    Ok(warn(respond::value(201, &review, call.accept), &warnings))
}

/// A POST to `serviceaccounts/NAME/token`.
pub(crate) async fn token(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let schema = &call.shared.schema;
    let review = kinds::review(schema, AUTHENTICATION, "v1", "tokenreviews").ok_or_else(Failure::no_such_path)?;
    let root_type = schema.of_kind(AUTHENTICATION, "v1", "TokenRequest");
    let kind = Arc::new(Resource { kind: "TokenRequest".to_owned(), root_type, ..review });
    let (request, warnings, context) = receive(&Call { resource: &kind, ..*call }, request, "token").await?;
    let answer = issue_token(call, request, &context)?;
    Ok(warn(respond::value(201, &answer, call.accept), &warnings))
}

/// The body of a review, checked against its type, with the client in its managed fields; and the warnings.
async fn receive(
    call: &Call<'_>,
    request: Request<Incoming>,
    sub: &str,
) -> Result<(Value, Vec<String>, Context), Failure> {
    let media = body::media_type(&request);
    let context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let resource = call.resource;
    let mut review = body::object(&bytes, &media, &resource.kind, &resource.schema)?;
    create::check_type(resource, &mut review)?;
    if resource.namespaced {
        create::set_namespace(resource, &mut review, call.namespace)?;
    }
    let meta = json::metadata(&mut review);
    meta.retain(|key, value| key != "creationTimestamp" && !value.is_null());
    meta.shift_remove("managedFields");
    let warnings = create::check_fields(resource, &mut review, Origin::Put, &context)?;
    let spec = json::child(json::object(&mut review), "spec");
    if sub == "token" {
        set_defaults(spec);
    }
    managed::on_update(resource, None, &mut review, sub, &context);
    Ok((review, warnings, context))
}

fn set_status(review: &mut Value, status: Map<String, Value>) {
    json::object(review).insert("status".into(), status.into());
}

/// Inserts a value unless it is empty, like Go's `omitempty`.
fn add(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let value = value.into();
    if !json::is_empty(Some(&value)) && value != false {
        map.insert(key.to_owned(), value);
    }
}

/// SelfSubjectReview.
fn who_am_i(call: &Call<'_>, review: &Value) -> Value {
    json!({
        "kind": text(review, &["kind"]), "apiVersion": text(review, &["apiVersion"]),
        "metadata": { "creationTimestamp": crate::time::seconds(crate::time::now()) },
        "status": { "userInfo": call.user.info() },
    })
}

/// TokenReview.
fn review_token(call: &Call<'_>, review: &mut Value) -> Result<(), Failure> {
    let token = text(review, &["spec", "token"]);
    if token.is_empty() {
        return Err(Failure::bad_request("token is required for TokenReview in authentication"));
    }
    let asked = list(review, &["spec", "audiences"]).iter().filter_map(Value::as_str).map(str::to_owned);
    let mut audiences: Vec<String> = asked.collect();
    if audiences.is_empty() {
        audiences.push(ISSUER.to_owned());
    }
    let mut status = Map::new();
    match call.shared.auth.of_token(&call.shared.store, token, &audiences) {
        Ok((user, audiences)) => {
            add(&mut status, "authenticated", true);
            status.insert("user".into(), user.info());
            add(&mut status, "audiences", audiences);
        }
        Err(refused) => {
            status.insert("user".into(), json!({}));
            add(&mut status, "error", refused.to_string());
        }
    }
    set_status(review, status);
    Ok(())
}

const GROUP: &str = "authentication.k8s.io";
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
const USUAL: i64 = 3600;

/// The defaults of a request.
fn set_defaults(spec: &mut Map<String, Value>) {
    if is_empty(spec.get("expirationSeconds")) {
        spec.insert("expirationSeconds".into(), USUAL.into());
    }
}

/// The response to a request, whose type is already checked.
fn issue_token(call: &Call<'_>, mut request: Value, context: &Context) -> Result<Value, Failure> {
    let account = call.shared.store.get(&call.resource.storage, &call.key());
    let account = account.ok_or_else(|| Failure::not_found(call.resource.gr(), call.name))?;
    identify(call, &mut request, &account.uid, context)?;
    let spec = json::child(json::object(&mut request), "spec");
    spec.entry("boundObjectRef").or_insert(Value::Null);
    if is_empty(spec.get("audiences")) {
        spec.insert("audiences".into(), json!([ISSUER]));
    }
    let spec = Value::Object(spec.clone());
    let seconds = lifetime(&spec)?;
    let mut private = Private {
        namespace: call.namespace.to_owned(),
        serviceaccount: Bound { name: call.name.to_owned(), uid: (*account.uid).to_owned() },
        ..Private::default()
    };
    if let Some(reference) = at(&spec, &["boundObjectRef"]).filter(|r| !is_empty(Some(r))) {
        bind(call, reference, &mut private)?;
    }
    let now = context.now.as_second();
    let audiences = list(&spec, &["audiences"]).iter().filter_map(Value::as_str).map(str::to_owned);
    let claims = Claims {
        aud: audiences.collect(),
        exp: now.saturating_add(seconds),
        iat: now,
        iss: ISSUER.to_owned(),
        jti: create::uid(),
        kubernetes: private,
        nbf: now,
        sub: format!("system:serviceaccount:{}:{}", call.namespace, call.name),
    };
    let end = context.now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(context.now);
    let mut status = Map::new();
    add(&mut status, "token", call.shared.auth.signer.sign(&claims));
    add(&mut status, "expirationTimestamp", crate::time::seconds(end));
    set_status(&mut request, status);
    Ok(request)
}

/// The metadata of the request become those of the account.
fn identify(call: &Call<'_>, request: &mut Value, uid: &str, context: &Context) -> Result<(), Failure> {
    let refuse = |field: &str, given: &str, why: &str| {
        let cause = Cause::invalid(format!("metadata.{field}"), &given.into(), why);
        Err(Failure::invalid(GROUP, "TokenRequest", call.name, &[cause]))
    };
    let given = |key: &str| text(request, &["metadata", key]).to_owned();
    let (name, namespace, wanted) = (given("name"), given("namespace"), given("uid"));
    if !name.is_empty() && name != call.name {
        return refuse("name", &name, "must match the service account name if specified");
    }
    if !namespace.is_empty() && namespace != call.namespace {
        return refuse("namespace", &namespace, "must match the service account namespace if specified");
    }
    if !wanted.is_empty() && wanted != uid {
        let kind = GroupResource { group: GROUP, resource: "TokenRequest" };
        let why =
            format!("the UID in the token request ({wanted}) does not match the UID of the service account ({uid})");
        return Err(Failure::conflict(kind, call.name, &why));
    }
    let meta = json::metadata(request);
    meta.insert("name".into(), call.name.into());
    meta.insert("namespace".into(), call.namespace.into());
    meta.insert("uid".into(), uid.into());
    meta.insert("creationTimestamp".into(), context.stamp().into());
    Ok(())
}

fn lifetime(spec: &Value) -> Result<i64, Failure> {
    let seconds = int(spec, &["expirationSeconds"]).unwrap_or_default();
    let why = match seconds {
        ..SHORTEST => "may not specify a duration less than 10 minutes",
        SHORTEST..=LONGEST => return Ok(seconds),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    Err(Failure::invalid(GROUP, "TokenRequest", "", &[Cause::invalid("spec.expirationSeconds", &seconds.into(), why)]))
}

/// Binds the token to a pod, a secret or a node. It is valid only while that object exists.
fn bind(call: &Call<'_>, reference: &Value, private: &mut Private) -> Result<(), Failure> {
    let (kind, name) = (text(reference, &["kind"]), text(reference, &["name"]));
    let api_version = text(reference, &["apiVersion"]);
    let (plural, namespace) = match (api_version, kind) {
        ("v1" | "", "Pod") => ("pods", call.namespace),
        ("v1" | "", "Secret") => ("secrets", call.namespace),
        ("v1" | "", "Node") => ("nodes", ""),
        _ => {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let what = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Failure::bad_request(what));
        }
    };
    let gr = GroupResource { group: "", resource: plural };
    let found = call.shared.store.get(plural, &key(namespace, name)).ok_or_else(|| Failure::not_found(gr, name))?;
    let wanted = text(reference, &["uid"]);
    if !wanted.is_empty() && *wanted != *found.uid {
        let why = format!(
            "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been \
             deleted and then recreated"
        );
        return Err(Failure::conflict(GroupResource { group: "", resource: kind }, name, &why));
    }
    let bound = Bound { name: name.to_owned(), uid: (*found.uid).to_owned() };
    match kind {
        "Secret" => private.secret = Some(bound),
        "Node" => private.node = Some(bound),
        _ => {
            let pod = found.value();
            let account = text(&pod, &["spec", "serviceAccountName"]);
            if account != call.name {
                return Err(Failure::bad_request(format!(
                    "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                    call.name
                )));
            }
            private.pod = Some(bound);
            private.node = node_of(call, &pod);
        }
    }
    Ok(())
}

fn node_of(call: &Call<'_>, pod: &Value) -> Option<Bound> {
    let name = Some(text(pod, &["spec", "nodeName"])).filter(|name| !name.is_empty())?;
    let uid = call.shared.store.get("nodes", name).map(|node| (*node.uid).to_owned()).unwrap_or_default();
    Some(Bound { name: name.to_owned(), uid })
}

/// SelfSubjectAccessReview.
fn review_self(call: &Call<'_>, review: &mut Value) -> Result<(), Failure> {
    refuse(call, review, spec_problems(review))?;
    answer(call, call.user, review);
    Ok(())
}

/// SubjectAccessReview and LocalSubjectAccessReview.
fn review_subject(call: &Call<'_>, review: &mut Value) -> Result<(), Failure> {
    let mut causes = spec_problems(review);
    let groups = strings(at(review, &["spec", "groups"]));
    let name = text(review, &["spec", "user"]).to_owned();
    if name.is_empty() && groups.is_empty() {
        let why = "at least one of user or group must be specified";
        causes.insert(causes.len().min(1), Cause::invalid("spec.user", &"".into(), why));
    }
    if call.resource.namespaced {
        causes.extend(local_problems(review, call.namespace));
    }
    refuse(call, review, causes)?;
    let extra: BTreeMap<String, Vec<String>> =
        at(review, &["spec", "extra"]).and_then(|e| serde_json::from_value(e.clone()).ok()).unwrap_or_default();
    let user = User { name, uid: text(review, &["spec", "uid"]).to_owned(), groups, extra };
    answer(call, &user, review);
    Ok(())
}

/// SelfSubjectRulesReview.
fn rules_of_self(call: &Call<'_>, review: &Value) -> Result<Value, Failure> {
    let namespace = text(review, &["spec", "namespace"]);
    if namespace.is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    let (rules, problems) = call.shared.auth.rules(&call.shared.store, call.user, namespace);
    let of_kind = |resources: bool| -> Vec<Value> {
        let rules =
            rules.iter().filter(|r| if resources { !r.resources.is_empty() } else { !r.non_resource_urls.is_empty() });
        let show = |rule: &_| {
            let mut value = json!(rule);
            object(&mut value).retain(|key, _| (key == "nonResourceURLs") != resources || key == "verbs");
            value
        };
        rules.map(show).collect()
    };
    let mut status = Map::new();
    status.insert("resourceRules".into(), of_kind(true).into());
    status.insert("nonResourceRules".into(), of_kind(false).into());
    status.insert("incomplete".into(), false.into());
    let error = match problems.as_slice() {
        [one] => one.clone(),
        [] => String::new(),
        many => format!("[{}]", many.join(", ")),
    };
    add(&mut status, "evaluationError", error);
    let resource = call.resource;
    Ok(json!({
        "kind": resource.kind, "apiVersion": resource.api_version(), "metadata": {}, "spec": {}, "status": status,
    }))
}

fn refuse(call: &Call<'_>, review: &Value, mut causes: Vec<Cause>) -> Result<(), Failure> {
    let meta = review.get("metadata").and_then(Value::as_object);
    let may_be = |key: &str| key == "managedFields" || key == "namespace" && call.resource.namespaced;
    if meta.is_some_and(|meta| meta.keys().any(|key| !may_be(key))) {
        let why = if call.resource.namespaced { "must be empty except for namespace" } else { "must be empty" };
        causes.push(Cause::invalid("metadata", &json!(meta), why));
    }
    if causes.is_empty() {
        return Ok(());
    }
    // The real server no longer knows the kind of a review when it refuses it.
    Err(Failure::invalid(&call.resource.group, "", "", &causes))
}

fn spec_problems(review: &Value) -> Vec<Cause> {
    let given = |key: &str| at(review, &["spec", key]).filter(|value| !value.is_null());
    match (given("resourceAttributes"), given("nonResourceAttributes")) {
        (Some(_), Some(path)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            vec![Cause::invalid("spec.nonResourceAttributes", &untagged(path), why)]
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![Cause::invalid("spec.resourceAttributes", &Value::Null, why)]
        }
        _ => Vec::new(),
    }
}

/// The real server shows its internal form of this value, whose fields have no JSON names.
fn untagged(path: &Value) -> Value {
    json!({ "Path": text(path, &["path"]), "Verb": text(path, &["verb"]) })
}

fn local_problems(review: &Value, namespace: &str) -> Option<Cause> {
    let spec = at(review, &["spec"])?;
    if let Some(path) = at(spec, &["nonResourceAttributes"]).filter(|p| !p.is_null()) {
        let why = "disallowed on this kind of request";
        return Some(Cause::invalid("spec.nonResourceAttributes", &untagged(path), why));
    }
    let given = text(spec, &["resourceAttributes", "namespace"]);
    let why = "must match metadata.namespace";
    (at(spec, &["resourceAttributes"]).is_some() && given != namespace)
        .then(|| Cause::invalid("spec.resourceAttributes.namespace", &given.into(), why))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.map_or(&[][..], |value| list(value, &[]));
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn answer(call: &Call<'_>, user: &User, review: &mut Value) {
    let Decision { allowed, reason } = call.shared.auth.decide(&call.shared.store, user, &attributes(review));
    let mut status = Map::new();
    status.insert("allowed".into(), allowed.into());
    add(&mut status, "reason", reason);
    set_status(review, status);
}

fn attributes(review: &Value) -> Attributes {
    let wanted = |key: &str| at(review, &["spec", key]).filter(|value| !is_empty(Some(value)));
    if let Some(path) = wanted("nonResourceAttributes") {
        return Attributes::of_path(text(path, &["verb"]), text(path, &["path"]));
    }
    let resource = wanted("resourceAttributes").unwrap_or(&Value::Null);
    let part = |key: &str| text(resource, &[key]).to_owned();
    let target = ResourceTarget {
        group: part("group"),
        resource: part("resource"),
        subresource: part("subresource"),
        namespace: part("namespace"),
        name: part("name"),
    };
    Attributes::of_resource(part("verb"), target)
}
