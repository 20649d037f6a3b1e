//! DELETE of objects and collections.
//!
//! Never decides what holds an object; `lifecycle::delete` does.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use serde_json::Value;

use super::negotiate::Accept;
use super::params::{self, Params};
use super::respond::{self, Body};
use super::{body, list, render, write};
use crate::json;
use crate::kinds::Resource;
use crate::lifecycle::delete::{Outcome, Preconditions, delete};
use crate::shared::Shared;
use crate::status::{self, Cause, Failure};
use crate::store::{Query, key};

/// What a deletion's body and parameters say.
pub(crate) struct Options {
    pub preconditions: Preconditions,
    pub dry_run: bool,
    pub foreground: bool,
}

/// Reads DeleteOptions: the body wins over the parameters.
pub(crate) fn options(bytes: &Bytes, media: &str, params: &Params) -> Result<Options, Failure> {
    let given = if bytes.is_empty() {
        Value::Null
    } else {
        body::object(bytes, media, "DeleteOptions")?
    };
    parse(&given, params)
}

fn parse(given: &Value, params: &Params) -> Result<Options, Failure> {
    let precondition = |key: &str| {
        json::at(given, &["preconditions", key])
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let mut dry_run = params.dry_run;
    for directive in json::list(given, &["dryRun"]) {
        dry_run |= params::dry_run(directive.as_str().unwrap_or_default())?;
    }
    let policy = json::at(given, &["propagationPolicy"])
        .and_then(Value::as_str)
        .unwrap_or(&params.propagation);
    if !matches!(policy, "" | "Orphan" | "Background" | "Foreground") {
        let supported = ["Background", "Foreground", "Orphan"];
        let cause = Cause::unsupported("propagationPolicy", &policy.into(), &supported);
        return Err(Failure::invalid(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            &[cause],
        ));
    }
    Ok(Options {
        preconditions: Preconditions {
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        },
        dry_run,
        foreground: policy == "Foreground",
    })
}

pub(crate) async fn one(
    shared: &Shared,
    request: Request<Incoming>,
    resource: &Arc<Resource>,
    namespace: &str,
    name: &str,
    params: &Params,
    accept: &Accept,
) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let mut context = write::context(params, request.headers());
    let bytes = body::read(request, shared.options.max_body_bytes).await?;
    let options = options(&bytes, &media, params)?;
    context.dry_run = options.dry_run;
    match delete(
        shared,
        resource,
        &key(namespace, name),
        &options.preconditions,
        &context,
    )? {
        Outcome::Held(stored) => {
            let code = if options.foreground { 202 } else { 200 };
            Ok(render::one(code, resource, &stored, params, accept))
        }
        Outcome::Gone(stored) if resource.delete_returns_object => {
            Ok(render::one(200, resource, &stored, params, accept))
        }
        Outcome::Gone(stored) => Ok(respond::value(
            200,
            &status::deleted(resource.gr(), name, &stored.uid),
            accept,
        )),
    }
}

pub(crate) async fn collection(
    shared: &Shared,
    request: Request<Incoming>,
    resource: &Arc<Resource>,
    namespace: &str,
    params: &Params,
    accept: &Accept,
) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let mut context = write::context(params, request.headers());
    let bytes = body::read(request, shared.options.max_body_bytes).await?;
    let options = options(&bytes, &media, params)?;
    context.dry_run = options.dry_run;
    let selection = list::selection(resource, params)?;
    let prefix = list::prefix(namespace);
    let query = Query {
        prefix: &prefix,
        after: None,
        at: None,
        limit: 0,
        matches: &|o| selection.matches(o),
    };
    let page = shared.store.list(&resource.storage, &query);
    let page = page.map_err(|_| Failure::internal("the newest state is always there"))?;
    let mut deleted = Vec::with_capacity(page.items.len());
    for item in &page.items {
        match delete(
            shared,
            resource,
            &item.key,
            &options.preconditions,
            &context,
        ) {
            Ok(Outcome::Gone(_)) => deleted.push(item.clone()),
            Ok(Outcome::Held(held)) => deleted.push(held),
            Err(failure) if failure.code() == 404 => {}
            Err(failure) => return Err(failure),
        }
    }
    let meta = render::ListMeta {
        revision: page.revision,
        next: None,
        remaining: None,
    };
    Ok(render::list(resource, deleted, &meta, params, accept))
}
