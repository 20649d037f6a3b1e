//! Resources that exist only as requests: access reviews, the client's identity, token reviews, and token requests.
//! Nothing is stored.

mod access;
mod account;
mod token;

use std::sync::Arc;

use http::{Method, Request, Response};
use hyper::body::Incoming;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::json;
use crate::kinds::schema::Schema;
use crate::kinds::{Conversion, Resource, group_version};
use crate::lifecycle::create;
use crate::lifecycle::create::Origin;
use crate::names::Naming;
use crate::patch::managed;
use crate::server::{Body, Call, body, respond, warn};
use crate::status::Failure;

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const NAMESPACED: &str = "localsubjectaccessreviews";

/// Group, plural and kind.
const KINDS: &[(&str, &str, &str)] = &[
    (AUTHENTICATION, "selfsubjectreviews", "SelfSubjectReview"),
    (AUTHENTICATION, "tokenreviews", "TokenReview"),
    (AUTHENTICATION, "tokenrequests", "TokenRequest"),
    (AUTHORIZATION, NAMESPACED, "LocalSubjectAccessReview"),
    (AUTHORIZATION, "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    (AUTHORIZATION, "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    (AUTHORIZATION, "subjectaccessreviews", "SubjectAccessReview"),
];

/// The review kind at a path, if there is one.
pub(crate) fn at_path(schema: &Arc<Schema>, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
    let known = KINDS.iter().find(|(g, p, _)| *g == group && *p == plural && *p != "tokenrequests");
    known.filter(|_| version == "v1").map(|(group, plural, kind)| resource(schema, group, plural, kind))
}

fn resource(schema: &Arc<Schema>, group: &str, plural: &str, kind: &str) -> Arc<Resource> {
    Arc::new(Resource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        list_kind: String::new(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: plural == NAMESPACED,
        subresources: Vec::new(),
        storage: format!("{plural}.{group}").into(),
        stored_api_version: group_version(group, "v1"),
        conversion: Conversion::Same,
        generation: false,
        naming: Naming::Subdomain,
        selectable: Vec::new(),
        custom: None,
        delete_returns_object: false,
        create_on_update: false,
        schema: schema.clone(),
        root_type: schema.of_kind(group, "v1", kind),
    })
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
        "selfsubjectaccessreviews" => access::of_self(call, &mut review)?,
        "subjectaccessreviews" | "localsubjectaccessreviews" => access::of_subject(call, &mut review)?,
        "selfsubjectrulesreviews" => review = access::rules(call, &review)?,
        "selfsubjectreviews" => review = token::who_am_i(call, &review),
        "tokenreviews" => token::review(call, &mut review)?,
        _ => return Err(Failure::no_such_path()),
    }
    Ok(warn(respond::value(201, &review, call.accept), &warnings))
}

/// A POST to `serviceaccounts/NAME/token`.
pub(crate) async fn token(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let kind = resource(&call.shared.schema, AUTHENTICATION, "tokenrequests", "TokenRequest");
    let (request, warnings, context) = receive(&Call { resource: &kind, ..*call }, request, "token").await?;
    let answer = account::issue(call, request, &context)?;
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
        account::set_defaults(spec);
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
