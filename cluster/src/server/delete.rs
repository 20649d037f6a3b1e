//! DELETE of objects and collections. `lifecycle::delete` decides what keeps an object.

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use serde_json::Value;

use super::call::{Call, Params, warn};
use super::respond::Body;
use super::{admit, body, call, list, render, respond};
use crate::context::Context;
use crate::lifecycle::delete::{DeleteOptions, Outcome, Preconditions, Propagation, check, delete};
use crate::status::{Cause, Failure};
use crate::store::{Query, Stored};
use crate::{conversion, json, status};

/// The body and parameters of a deletion.
pub(crate) struct Options {
    pub wish: DeleteOptions,
    pub dry_run: bool,
    pub given: Value,
    /// The client set `orphanDependents=false`. Only such a client learns that the object is not gone yet.
    pub cascades: bool,
}

/// Reads DeleteOptions. The body has precedence over the parameters.
pub(crate) fn options(bytes: &Bytes, media: &str, call: &Call<'_>) -> Result<Options, Failure> {
    let given = if bytes.is_empty() {
        Value::Null
    } else {
        body::object(bytes, media, "DeleteOptions", &call.resource.schema)?
    };
    let (kind, version) = (json::text(&given, &["kind"]), json::text(&given, &["apiVersion"]));
    if !matches!(kind, "" | "DeleteOptions") {
        let why = format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
        );
        return Err(Failure::bad_request(why));
    }
    parse(&given, call.params)
}

pub(crate) fn parse(given: &Value, params: &Params) -> Result<Options, Failure> {
    let precondition = |key: &str| json::at(given, &["preconditions", key]).and_then(Value::as_str).map(str::to_owned);
    let mut dry_run = params.dry_run;
    for directive in json::list(given, &["dryRun"]) {
        dry_run |= call::dry_run(directive.as_str().unwrap_or_default())?;
    }
    let preconditions = Preconditions { uid: precondition("uid"), resource_version: precondition("resourceVersion") };
    let cascades = orphan(given, params) == Some(false);
    let grace = json::int(given, &["gracePeriodSeconds"]).or(params.grace);
    Ok(Options {
        wish: DeleteOptions { preconditions, propagation: propagation(given, params)?, grace },
        dry_run,
        given: given.clone(),
        cascades,
    })
}

fn orphan(given: &Value, params: &Params) -> Option<bool> {
    given.get("orphanDependents").and_then(Value::as_bool).or(params.orphan_dependents)
}

fn propagation(given: &Value, params: &Params) -> Result<Option<Propagation>, Failure> {
    let problem = |cause| Failure::invalid("meta.k8s.io", "DeleteOptions", "", &[cause]);
    let policy = json::at(given, &["propagationPolicy"]).and_then(Value::as_str).unwrap_or(&params.propagation);
    let orphan = orphan(given, params);
    if orphan.is_some() && !policy.is_empty() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        return Err(problem(Cause::invalid("propagationPolicy", &policy.into(), why)));
    }
    match (policy, orphan) {
        ("Orphan", _) | ("", Some(true)) => Ok(Some(Propagation::Orphan)),
        ("Background", _) | ("", Some(false)) => Ok(Some(Propagation::Background)),
        ("Foreground", _) => Ok(Some(Propagation::Foreground)),
        ("", None) => Ok(None),
        _ => {
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            Err(problem(Cause::unsupported("propagationPolicy", &policy.into(), &supported)))
        }
    }
}

/// The real server's warning for clients that implicitly keep a job's pods.
const JOB_WARNING: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background \
    to remove them or set propagationPolicy=Orphan to suppress this warning";

pub(crate) async fn one(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let mut context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let options = options(&bytes, &media, call)?;
    context.dry_run = options.dry_run;
    let resource = call.resource;
    let mut warnings = Vec::new();
    if let Some(current) = call.find().await? {
        check(resource, &current.raw, &options.wish.preconditions)?;
        warnings = admitted(call, &options.given, &current.seen, &context).await?;
    }
    let response = match delete(call.shared, resource, &call.key(), &options.wish, &context)? {
        Outcome::Held(stored) => {
            let code = if options.cascades { 202 } else { 200 };
            let stored = conversion::shown(call.shared, resource, stored).await?;
            render::one(code, resource, &stored, call.params, call.accept)
        }
        Outcome::Gone(stored) if resource.delete_returns_object => {
            render::one(200, resource, &stored, call.params, call.accept)
        }
        Outcome::Gone(stored) => {
            respond::value(200, &status::deleted(resource.gr(), call.name, &stored.uid), call.accept)
        }
    };
    let warns = resource.is("batch", "jobs") && options.wish.propagation.is_none();
    warnings.extend(warns.then(|| JOB_WARNING.to_owned()));
    Ok(warn(response, &warnings))
}

/// Calls webhooks for a deletion, and returns their warnings.
pub(crate) async fn admitted(
    call: &Call<'_>,
    given: &Value,
    current: &Stored,
    context: &Context,
) -> Result<Vec<String>, Failure> {
    let mut admission = admit::delete(call, given, context);
    if !admission.mutates() && !admission.validates() {
        return Ok(Vec::new());
    }
    let old = admit::shown(call, &current.value());
    admission.mutate(None, Some(&old)).await?;
    admission.validate(None, Some(&old)).await?;
    Ok(admission.warnings().to_vec())
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
    let items = conversion::all(call.shared, resource, page.items).await?;
    let mut deleted = Vec::with_capacity(items.len());
    let mut warnings: Vec<String> = Vec::new();
    for item in &items {
        let more = admitted(call, &options.given, item, &context).await?;
        warnings.extend(more.into_iter().filter(|warning| !warnings.contains(warning)).collect::<Vec<_>>());
        match delete(call.shared, resource, &item.key, &options.wish, &context) {
            // Whatever keeps it, the response contains the object that was found.
            Ok(_) => deleted.push(item.clone()),
            Err(failure) if failure.code() == 404 => {}
            Err(failure) => return Err(failure),
        }
    }
    let meta = render::ListMeta { revision: page.revision, next: None, remaining: None };
    Ok(warn(render::list(resource, deleted, &meta, call.params, call.accept), &warnings))
}
