//! Subresources: status, scale, eviction, binding, finalize, token. Only subresources in the kind's table are served.

use bytes::Bytes;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::call::{Call, warn};
use super::respond::Body;
use super::write::PatchType;
use super::{admit, body, delete, list, respond, reviews, write};
use crate::kinds::{Sub, scale};
use crate::lifecycle::commit;
use crate::lifecycle::create::Origin;
use crate::lifecycle::delete::delete as remove;
use crate::patch::apply;
use crate::status::{Cause, Failure, GroupResource};
use crate::{json, patch, status};

pub(crate) async fn handle(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    match (call.sub, request.method().clone()) {
        (Some(Sub::Status | Sub::EphemeralContainers | Sub::Resize), Method::GET) => list::get(call).await,
        (Some(Sub::Status | Sub::EphemeralContainers | Sub::Resize), Method::PUT) => write::put(call, request).await,
        (Some(Sub::Status | Sub::EphemeralContainers | Sub::Resize), Method::PATCH) => {
            write::patch(call, request).await
        }
        (Some(Sub::Log), _) => read_logs(call, &request).await,
        (Some(Sub::Finalize), Method::PUT) => write::put(call, request).await,
        (Some(Sub::Scale), Method::GET) => {
            let stored = call.found().await?.seen;
            if let Some(failure) = scale::missing(call.resource, &call.resource.value(&stored)) {
                return Err(failure);
            }
            Ok(respond::value(200, &scale::read(call.resource, &call.resource.value(&stored)), call.accept))
        }
        (Some(Sub::Scale), Method::PUT) => change_scale(call, request, None).await,
        (Some(Sub::Scale), Method::PATCH) => {
            let kind = PatchType::of(&body::media_type(&request), call.resource)?;
            change_scale(call, request, Some(kind)).await
        }
        (Some(Sub::Eviction), Method::POST) => evict(call, request).await,
        (Some(Sub::Binding), Method::POST) => bind(call, request).await,
        (Some(Sub::Token), Method::POST) => reviews::token(call, request).await,
        _ => Err(Failure::method_not_allowed()),
    }
}

/// Writes the replica count, from a whole Scale or from a patch of it.
async fn change_scale(
    call: &Call<'_>,
    request: Request<Incoming>,
    kind: Option<PatchType>,
) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    for _ in 0..100 {
        let current = call.found().await?;
        let before = scale::read(call.resource, &call.resource.value(&current.seen));
        let wanted = wanted_scale(call, kind, &bytes, &media, &before)?;
        let name = json::text(&wanted, &["metadata", "name"]);
        if kind.is_none() && !name.is_empty() && name != call.name {
            let why = format!("the name of the object ({name}) does not match the name on the URL ({})", call.name);
            return Err(Failure::bad_request(why));
        }
        if kind == Some(PatchType::Apply) {
            let config = scale::applied(call.resource, &wanted);
            let force = call.params.force.unwrap_or_default();
            let merge = |old: &Value| {
                let mut merged = apply::apply(call.resource, old, &config, "scale", force, &context)?;
                call.resource.show_stored(&mut merged);
                Ok(merged)
            };
            if let Some(written) = write::write(call, &current, Origin::Apply, &context, merge).await? {
                return Ok(scaled(call, written));
            }
            continue;
        }
        let version = json::text(&wanted, &["metadata", "resourceVersion"]);
        if !version.is_empty() && version != json::text(&before, &["metadata", "resourceVersion"]) {
            return Err(Failure::modified(call.resource.gr(), call.name));
        }
        let replicas = json::int(&wanted, &["spec", "replicas"]).unwrap_or_default();
        let change = |_: &Value| {
            let mut object = call.resource.value(&current.seen);
            scale::write(call.resource, &mut object, replicas)?;
            Ok(object)
        };
        if let Some(written) = write::write(call, &current, Origin::Patch, &context, change).await? {
            return Ok(scaled(call, written));
        }
    }
    Err(Failure::modified(call.resource.gr(), call.name))
}

fn scaled(call: &Call<'_>, (stored, warnings): write::Written) -> Response<Body> {
    let scale = scale::read(call.resource, &call.resource.value(&stored));
    warn(respond::value(200, &scale, call.accept), &warnings)
}

fn wanted_scale(
    call: &Call<'_>,
    kind: Option<PatchType>,
    bytes: &Bytes,
    media: &str,
    before: &Value,
) -> Result<Value, Failure> {
    let Some(kind) = kind else {
        return body::object(bytes, media, "Scale", &call.resource.schema);
    };
    let mut scale = before.clone();
    let patch = write::decode_patch(kind, bytes)?;
    // A Scale has no lists, so a strategic patch of it is a merge patch.
    let kind = if kind == PatchType::Json { kind } else { PatchType::Merge };
    write::apply_patch(call.resource, &mut scale, kind, &patch)?;
    match json::at(&scale, &["spec", "replicas"]) {
        Some(replicas) if !replicas.is_i64() => {
            let why = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32";
            let cause = Cause::invalid("patch", &patch::shown(&scale).into(), why);
            Err(Failure::invalid("", "", "", &[cause]))
        }
        _ => Ok(scale),
    }
}

async fn evict(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let mut context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let eviction = body::object(&bytes, &media, "Eviction", &call.resource.schema)?;
    let (kind, version) = (json::text(&eviction, &["kind"]), json::text(&eviction, &["apiVersion"]));
    if !matches!(kind, "" | "Eviction") {
        let short = version.rsplit('/').next().unwrap_or_default();
        return Err(Failure::bad_request(format!(
            "{kind} in version \"{short}\" cannot be handled as a Eviction: converting ({short}.{kind}) to \
             (policy.Eviction): unknown conversion"
        )));
    }
    let name = json::text(&eviction, &["metadata", "name"]);
    if !name.is_empty() && name != call.name {
        return Err(Failure::bad_request("name in URL does not match name in Eviction object"));
    }
    let options = delete::parse(eviction.get("deleteOptions").unwrap_or(&Value::Null), call.params)?;
    context.dry_run |= options.dry_run;
    let (_, warnings) = admit::body(call, eviction, &context).await?;
    remove(call.shared, call.resource, &call.key(), &options.wish, &context)?;
    Ok(warn(respond::value(201, &status::success(201), call.accept), &warnings))
}

async fn bind(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let binding = body::object(&bytes, &media, "Binding", &call.resource.schema)?;
    let (binding, warnings) = admit::body(call, binding, &context).await?;
    let node = json::text(&binding, &["target", "name"]).to_owned();
    for _ in 0..100 {
        let current = call.found().await?.raw;
        let assign = |old: &Value| {
            let assigned = json::text(old, &["spec", "nodeName"]);
            if !assigned.is_empty() {
                let why = format!("pod {} is already assigned to node \"{assigned}\"", call.name);
                let resource = GroupResource { group: "", resource: "pods/binding" };
                return Err(Failure::conflict(resource, call.name, &why));
            }
            let mut pod = old.clone();
            json::child(json::object(&mut pod), "spec").insert("nodeName".into(), node.clone().into());
            let scheduled = json!({
                "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": context.stamp(),
            });
            json::child(json::object(&mut pod), "status").insert("conditions".into(), json!([scheduled]));
            Ok(pod)
        };
        // The node of a pod has no owner.
        let pod = assign(&current.value())?;
        if commit::replace(call.shared, call.resource, &current, pod, &context).is_ok() {
            return Ok(warn(respond::value(201, &status::success(201), call.accept), &warnings));
        }
    }
    Err(Failure::modified(call.resource.gr(), call.name))
}

pub(super) async fn read_logs(call: &Call<'_>, request: &Request<Incoming>) -> Result<Response<Body>, Failure> {
    if *request.method() != Method::GET {
        return Err(Failure::method_not_allowed());
    }
    let query = request.uri().query().unwrap_or_default();
    let wanted =
        |key: &str| form_urlencoded::parse(query.as_bytes()).find(|(k, _)| k == key).map(|(_, v)| v.into_owned());
    let causes = problems(&wanted);
    if !causes.is_empty() {
        return Err(Failure::invalid("", "PodLogOptions", call.name, &causes));
    }
    let pod = call.found().await?.raw.value();
    check_container(&pod, call.name, &wanted("container").unwrap_or_default())?;
    if json::text(&pod, &["spec", "nodeName"]).is_empty() {
        return Ok(respond::empty(204));
    }
    Ok(respond::plain(200, ""))
}

fn problems(wanted: &impl Fn(&str) -> Option<String>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, least) in [("tailLines", 0), ("limitBytes", 1), ("sinceSeconds", 1)] {
        let number: Option<i64> = wanted(key).and_then(|text| text.parse().ok());
        if let Some(number) = number.filter(|number| *number < least) {
            let why = if least == 0 { "must be greater than or equal to 0" } else { "must be greater than 0" };
            causes.push(Cause::invalid(key, &number.into(), why));
        }
    }
    causes
}

fn check_container(pod: &Value, name: &str, wanted: &str) -> Result<(), Failure> {
    let names = |key: &str| -> Vec<String> {
        json::list(pod, &["spec", key]).iter().map(|c| json::text(c, &["name"]).to_owned()).collect()
    };
    let (containers, init) = (names("containers"), names("initContainers"));
    if wanted.is_empty() {
        if containers.len() == 1 {
            return Ok(());
        }
        let more = if init.is_empty() {
            String::new()
        } else {
            format!(" or one of the init containers: [{}]", init.join(" "))
        };
        let why = format!(
            "a container name must be specified for pod {name}, choose one of: [{}]{more}",
            containers.join(" ")
        );
        return Err(Failure::bad_request(why));
    }
    let known =
        containers.iter().chain(&init).chain(&names("ephemeralContainers")).any(|container| container == wanted);
    if known { Ok(()) } else { Err(Failure::bad_request(format!("container {wanted} is not valid for pod {name}"))) }
}
