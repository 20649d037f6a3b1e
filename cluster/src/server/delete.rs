//! DELETE of objects and collections.
//!
//! Never decides what holds an object; `lifecycle::delete` does.

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use serde_json::Value;

use super::call::Call;
use super::params::{self, Params};
use super::respond::{self, Body};
use super::{body, list, render};
use crate::json;
use crate::lifecycle::delete::{Outcome, Preconditions, delete};
use crate::status::{self, Cause, Failure};
use crate::store::Query;

/// What a deletion's body and parameters say.
pub(crate) struct Options {
    pub preconditions: Preconditions,
    pub dry_run: bool,
    pub foreground: bool,
}

/// Reads DeleteOptions: the body wins over the parameters.
pub(crate) fn options(bytes: &Bytes, media: &str, call: &Call<'_>) -> Result<Options, Failure> {
    let given = if bytes.is_empty() {
        Value::Null
    } else {
        body::object(bytes, media, "DeleteOptions", &call.resource.schema)?
    };
    parse(&given, call.params)
}

pub(crate) fn parse(given: &Value, params: &Params) -> Result<Options, Failure> {
    let precondition = |key: &str| json::at(given, &["preconditions", key]).and_then(Value::as_str).map(str::to_owned);
    let mut dry_run = params.dry_run;
    for directive in json::list(given, &["dryRun"]) {
        dry_run |= params::dry_run(directive.as_str().unwrap_or_default())?;
    }
    let policy = json::at(given, &["propagationPolicy"]).and_then(Value::as_str).unwrap_or(&params.propagation);
    if !matches!(policy, "" | "Orphan" | "Background" | "Foreground") {
        let supported = ["Foreground", "Background", "Orphan", "nil"];
        let cause = Cause::unsupported("propagationPolicy", &policy.into(), &supported);
        return Err(Failure::invalid("meta.k8s.io", "DeleteOptions", "", &[cause]));
    }
    Ok(Options {
        preconditions: Preconditions { uid: precondition("uid"), resource_version: precondition("resourceVersion") },
        dry_run,
        foreground: policy == "Foreground",
    })
}

pub(crate) async fn one(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let mut context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let options = options(&bytes, &media, call)?;
    context.dry_run = options.dry_run;
    let resource = call.resource;
    match delete(call.shared, resource, &call.key(), &options.preconditions, &context)? {
        Outcome::Held(stored) => {
            let code = if options.foreground { 202 } else { 200 };
            Ok(render::one(code, resource, &stored, call.params, call.accept))
        }
        Outcome::Gone(stored) if resource.delete_returns_object => {
            Ok(render::one(200, resource, &stored, call.params, call.accept))
        }
        Outcome::Gone(stored) => {
            Ok(respond::value(200, &status::deleted(resource.gr(), call.name, &stored.uid), call.accept))
        }
    }
}

pub(crate) async fn collection(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let mut context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let options = options(&bytes, &media, call)?;
    context.dry_run = options.dry_run;
    let resource = call.resource;
    let selection = list::selection(resource, call.params)?;
    let prefix = list::prefix(call.namespace);
    let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &|o| selection.matches(o) };
    let page = call.shared.store.list(&resource.storage, &query);
    let page = page.map_err(|_| Failure::internal("the newest state is always there"))?;
    let mut deleted = Vec::with_capacity(page.items.len());
    for item in &page.items {
        match delete(call.shared, resource, &item.key, &options.preconditions, &context) {
            Ok(Outcome::Gone(_)) => deleted.push(item.clone()),
            Ok(Outcome::Held(held)) => deleted.push(held),
            Err(failure) if failure.code() == 404 => {}
            Err(failure) => return Err(failure),
        }
    }
    let meta = render::ListMeta { revision: page.revision, next: None, remaining: None };
    Ok(render::list(resource, deleted, &meta, call.params, call.accept))
}
