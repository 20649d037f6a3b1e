//! POST, PUT and PATCH of objects. The store's lock is not held during computations: a write fails if the object has
//! changed since it was read.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::call::{Call, Found, warn};
use super::respond::Body;
use super::{admit, body, render};
use crate::auth::policy;
use crate::context::Context;
use crate::kinds::{Resource, Sub};
use crate::lifecycle::create::Origin;
use crate::lifecycle::plugins::Plugins;
use crate::lifecycle::{commit, create as creation, update};
use crate::status::{Cause, Failure};
use crate::store::Stored;
use crate::{conversion, json, patch, validate};

/// How many generated names are tried.
const NAME_ATTEMPTS: usize = 8;
/// How often a write without a resourceVersion is retried when others write the same object.
const ATTEMPTS: usize = 100;

/// The stored object in the version of the request, and warnings.
pub(crate) type Written = (Arc<Stored>, Vec<String>);

pub(crate) async fn create(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let context = call.context(request.headers());
    check_manager(call, "CreateOptions")?;
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let (object, repeated) = body::written(&bytes, &media, call)?;
    let (stored, warnings) = insert(call, object, Origin::Put, &context).await?;
    let answer = render::one(201, call.resource, &stored, call.params, call.accept);
    Ok(warn(answer, &[warnings, repeated].concat()))
}

/// Creates an object. If a generated name is taken, tries another one.
pub(crate) async fn insert(
    call: &Call<'_>,
    object: Value,
    origin: Origin,
    context: &Context,
) -> Result<Written, Failure> {
    let generated = json::text(&object, &["metadata", "name"]).is_empty()
        && !json::text(&object, &["metadata", "generateName"]).is_empty();
    if generated {
        for _ in 1..NAME_ATTEMPTS {
            match insert_once(call, object.clone(), origin, context).await {
                Err(failure) if failure.reason() == "AlreadyExists" => {}
                result => return result,
            }
        }
    }
    insert_once(call, object, origin, context).await
}

async fn insert_once(
    call: &Call<'_>,
    mut object: Value,
    mut origin: Origin,
    context: &Context,
) -> Result<Written, Failure> {
    let mut admission = admit::create(call, &object, context);
    if admission.mutates() || admission.validates() {
        let name = json::text(&object, &["metadata", "name"]);
        commit::namespace_ready(call.shared, call.resource, call.namespace, name)?;
    }
    let mut warnings = Vec::new();
    if admission.mutates() {
        warnings = creation::draft(call.resource, &mut object, call.namespace, origin, context)?;
        let mutated = admission.mutate(Some(object), None).await;
        object = mutated.map_err(|failure| failure.after_warnings(&warnings))?.unwrap_or_default();
        warnings.extend_from_slice(admission.warnings());
        origin = origin.admitted();
    }
    let plugins = Plugins::look(call.shared, call.resource, call.namespace, &object)?;
    let prepared = creation::prepare(call.resource, &mut object, call.namespace, origin, context);
    warnings.extend(prepared.map_err(|failure| failure.after_warnings(&warnings))?);
    plugins.complete(&mut object)?;
    policy::check(&call.shared.auth, &call.shared.store, call.user, call.resource, None, &object, call.name)?;
    if admission.validates() {
        admission.name_if_none(json::text(&object, &["metadata", "name"]));
        let shown = admit::shown(call, &object);
        let validated = admission.validate(Some(&shown), None).await;
        validated.map_err(|failure| failure.after_warnings(&warnings))?;
        add_news(&mut warnings, admission.warnings());
    }
    let object = conversion::to_storage(call.shared, call.resource, object).await?;
    let stored = commit::insert(call.shared, call.resource, object, context);
    let stored = stored.map_err(|failure| failure.after_warnings(&warnings))?;
    Ok((conversion::shown(call.shared, call.resource, stored).await?, warnings))
}

fn add_news(warnings: &mut Vec<String>, more: &[String]) {
    let news: Vec<String> = more.iter().filter(|warning| !warnings.contains(warning)).cloned().collect();
    warnings.extend(news);
}

pub(crate) async fn put(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let media = body::media_type(&request);
    let context = call.context(request.headers());
    check_manager(call, "UpdateOptions")?;
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    let (object, repeated) = body::written(&bytes, &media, call)?;
    for _ in 0..ATTEMPTS {
        let Some(current) = call.find().await? else {
            return upsert(call, object, &context).await;
        };
        let next = |_: &Value| Ok(object.clone());
        if let Some((stored, warnings)) = write(call, &current, Origin::Put, &context, next).await? {
            let answer = render::one(200, call.resource, &stored, call.params, call.accept);
            return Ok(warn(answer, &[warnings, repeated].concat()));
        }
    }
    Err(Failure::modified(call.resource.gr(), call.name))
}

async fn upsert(call: &Call<'_>, object: Value, context: &Context) -> Result<Response<Body>, Failure> {
    if !call.resource.create_on_update || call.sub.is_some() {
        return Err(Failure::not_found(call.resource.gr(), call.name));
    }
    let given = json::text(&object, &["metadata", "name"]);
    if given.is_empty() {
        return Err(update::nameless(call.name));
    }
    if given != call.name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({})",
            call.name
        )));
    }
    let (stored, warnings) = insert(call, object, Origin::Put, context).await?;
    Ok(warn(render::one(201, call.resource, &stored, call.params, call.accept), &warnings))
}

/// Creates and commits the next version of `current`. None if another client was faster.
pub(crate) async fn write(
    call: &Call<'_>,
    current: &Found,
    mut origin: Origin,
    context: &Context,
    next: impl FnOnce(&Value) -> Result<Value, Failure>,
) -> Result<Option<Written>, Failure> {
    let old = current.seen.value();
    let mut new = next(&old)?;
    let mut admission = admit::update(call, context);
    let old_shown = admit::shown(call, &old);
    let mut warnings = Vec::new();
    if admission.mutates() {
        warnings = update::draft(call.resource, &old, &mut new, call.sub, origin, context)?;
        let shown = if call.sub == Some(Sub::Scale) { admit::shown(call, &new) } else { new.clone() };
        let mutated = admission.mutate(Some(shown), Some(&old_shown)).await;
        let mutated = mutated.map_err(|failure| failure.after_warnings(&warnings))?.unwrap_or_default();
        new = admit::taken(call, new, mutated)?;
        warnings.extend_from_slice(admission.warnings());
        origin = origin.admitted();
    }
    let prepared = update::prepare(call.resource, &old, &mut new, call.sub, origin, context);
    warnings.extend(prepared.map_err(|failure| failure.after_warnings(&warnings))?);
    policy::check(&call.shared.auth, &call.shared.store, call.user, call.resource, Some(&old), &new, call.name)?;
    if admission.validates() {
        let shown = admit::shown(call, &new);
        let validated = admission.validate(Some(&shown), Some(&old_shown)).await;
        validated.map_err(|failure| failure.after_warnings(&warnings))?;
        add_news(&mut warnings, admission.warnings());
    }
    if old == new {
        return Ok(Some((current.seen.clone(), warnings)));
    }
    let new = conversion::to_storage(call.shared, call.resource, new).await?;
    match commit::replace(call.shared, call.resource, &current.raw, new, context) {
        Ok(stored) => Ok(Some((conversion::shown(call.shared, call.resource, stored).await?, warnings))),
        Err(commit::Lost) => Ok(None),
    }
}

/// The kinds of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    pub(crate) fn of(media: &str, resource: &Resource) -> Result<Self, Failure> {
        match media {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if resource.custom.is_none() => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            "application/strategic-merge-patch+json" => Err(Failure::unsupported_media(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ])),
            _ => Err(Failure::unsupported_patch()),
        }
    }
}

pub(crate) fn decode_patch(kind: PatchType, bytes: &Bytes) -> Result<Value, Failure> {
    let what = if kind == PatchType::Apply { "YAML" } else { "patch" };
    let bad = |why: String| Failure::bad_request(format!("error decoding {what}: {why}"));
    let value: Value = match kind {
        PatchType::Apply => body::yaml(bytes).map_err(|why| bad(yaml_error(&why)))?,
        _ => serde_json::from_slice(bytes).map_err(|e| bad(json::error(&e, bytes)))?,
    };
    let got = json::kind(&value);
    let map = "json: cannot unmarshal";
    match kind {
        PatchType::Json if !value.is_array() => {
            Err(bad(format!("{map} {got} into Go value of type []handlers.jsonPatchOp")))
        }
        PatchType::Apply if !value.is_object() => Err(bad(format!(
            "error unmarshaling JSON: while decoding JSON: {map} {got} into Go value of type map[string]interface {{}}"
        ))),
        PatchType::Merge | PatchType::Strategic if !value.is_object() => {
            Err(bad(format!("{map} {got} into Go value of type map[string]interface {{}}")))
        }
        _ => Ok(value),
    }
}

/// A YAML error in the words of Go's library, which names one line.
fn yaml_error(why: &str) -> String {
    let what = why.trim_start_matches("yaml parse error: ");
    let text = what.split(" at line ").next().unwrap_or(what);
    let line = what.rsplit(" at line ").next().and_then(|rest| rest.split(' ').next()).unwrap_or("1");
    format!("error converting YAML to JSON: yaml: line {line}: {text}")
}

pub(crate) async fn patch(call: &Call<'_>, request: Request<Incoming>) -> Result<Response<Body>, Failure> {
    let kind = PatchType::of(&body::media_type(&request), call.resource)?;
    let context = call.context(request.headers());
    let bytes = body::read(request, call.shared.options.max_body_bytes).await?;
    check_options(call, kind)?;
    if kind != PatchType::Apply && call.shared.store.get(&call.resource.storage, &call.key()).is_none() {
        return Err(Failure::not_found(call.resource.gr(), call.name));
    }
    let patch = decode_patch(kind, &bytes)?;
    let strict = context.validation == crate::context::Validation::Strict;
    let config = if kind == PatchType::Apply { Some(configuration(call, &patch)?) } else { None };
    for _ in 0..ATTEMPTS {
        let Some(current) = call.find().await? else {
            let Some(config) = config.filter(|_| call.sub.is_none()) else {
                return Err(Failure::not_found(call.resource.gr(), call.name));
            };
            if json::text(&patch, &["metadata", "name"]).is_empty() {
                return Err(update::nameless(call.name));
            }
            let uid = json::text(&patch, &["metadata", "uid"]);
            if !uid.is_empty() {
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                return Err(Failure::conflict(call.resource.gr(), call.name, &why));
            }
            return create_applied(call, &config, &context).await;
        };
        let written = match &config {
            Some(config) => {
                write(call, &current, Origin::Apply, &context, |old| applied_merge(call, old, config, &context)).await?
            }
            None => {
                let next = |_: &Value| patched(call.resource, &current.seen, kind, &patch, strict);
                write(call, &current, Origin::Patch, &context, next).await?
            }
        };
        if let Some((stored, warnings)) = written {
            return Ok(warn(render::one(200, call.resource, &stored, call.params, call.accept), &warnings));
        }
    }
    Err(Failure::modified(call.resource.gr(), call.name))
}

/// The name of a manager must be printable.
fn check_manager(call: &Call<'_>, options: &str) -> Result<(), Failure> {
    let manager = &call.params.field_manager;
    let Some((at, wrong)) = manager.chars().enumerate().find(|(_, c)| c.is_control()) else {
        return Ok(());
    };
    let why = format!("invalid character U+{:04X} (at position {at})", u32::from(wrong));
    let cause = Cause::invalid("fieldManager", &manager.as_str().into(), why);
    Err(Failure::invalid("meta.k8s.io", options, "", &[cause]))
}

fn check_options(call: &Call<'_>, kind: PatchType) -> Result<(), Failure> {
    check_manager(call, "PatchOptions")?;
    let problem = |cause| Failure::invalid("meta.k8s.io", "PatchOptions", "", &[cause]);
    if kind == PatchType::Apply && call.params.field_manager.is_empty() {
        return Err(problem(Cause::required("fieldManager", "is required for apply patch")));
    }
    if kind != PatchType::Apply && call.params.force.is_some() {
        return Err(problem(Cause::forbidden("force", "may not be specified for non-apply patch")));
    }
    Ok(())
}

async fn create_applied(call: &Call<'_>, config: &Value, context: &Context) -> Result<Response<Body>, Failure> {
    let mut merged = applied_merge(call, &json!({}), config, context)?;
    // The API server ignores the version of an object that an apply creates. Clients send one that no object has, so that
    // the apply only creates.
    json::metadata(&mut merged).shift_remove("resourceVersion");
    let (stored, warnings) = insert(call, merged, Origin::Apply, context).await?;
    Ok(warn(render::one(201, call.resource, &stored, call.params, call.accept), &warnings))
}

/// The current object in the resource's version, with the patch applied.
fn patched(
    resource: &Resource,
    current: &Stored,
    kind: PatchType,
    patch: &Value,
    strict: bool,
) -> Result<Value, Failure> {
    let mut object = resource.value(current);
    apply_patch(resource, &mut object, kind, patch)?;
    let (to_kind, to_version) = (json::text(&object, &["kind"]), json::text(&object, &["apiVersion"]));
    let same = to_kind == resource.kind && to_version == resource.api_version();
    if resource.custom.is_none() && !same && object.is_object() {
        let why = creation::foreign(resource, to_kind, to_version);
        let cause = Cause::invalid("patch", &object.to_string().into(), why);
        return Err(Failure::invalid("", "", "", &[cause]));
    }
    if resource.custom.is_none() && kind != PatchType::Strategic {
        fits(resource, &object, strict)?;
    }
    Ok(object)
}

/// A patched object must still be a valid object of its kind.
fn fits(resource: &Resource, object: &Value, strict: bool) -> Result<(), Failure> {
    let mut stored = object.clone();
    resource.to_storage(&mut stored);
    let why = match validate::typed::check(resource, &mut stored) {
        Ok(unknown) if strict && !unknown.is_empty() => format!("strict decoding error: {}", unknown.join(", ")),
        Ok(_) => return Ok(()),
        Err(why) => why,
    };
    let cause = Cause::invalid("patch", &patch::shown(object).into(), why);
    Err(Failure::invalid("", "", "", &[cause]))
}

/// Applies a patch of any kind except server-side apply.
pub(crate) fn apply_patch(
    resource: &Resource,
    object: &mut Value,
    kind: PatchType,
    patch: &Value,
) -> Result<(), Failure> {
    match kind {
        PatchType::Json => patch::json::apply(object, patch)?,
        PatchType::Strategic => {
            patch::strategic::apply(object, patch, crate::kinds::shape::Shape::of(resource))?;
        }
        PatchType::Merge | PatchType::Apply => patch::merge_patch(object, patch),
    }
    patch::check_depth(object)?;
    if object.is_object() {
        return Ok(());
    }
    Err(Failure::unfit_patch())
}

/// An applied configuration, checked, in the storage version, without the fields that this request cannot own.
pub(super) fn configuration(call: &Call<'_>, patch: &Value) -> Result<Value, Failure> {
    let mut config = patch.clone();
    let (version, kind) = (json::text(&config, &["apiVersion"]), json::text(&config, &["kind"]));
    if version.is_empty() || kind.is_empty() {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(Failure::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
    }
    let unknown = || {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        call.resource.schema.of_kind(group, version, kind).is_none()
    };
    if call.resource.custom.is_none() && (kind != call.resource.kind || unknown()) {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        return Err(Failure::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
    }
    creation::check_type(call.resource, &mut config)?;
    check_applied(call.resource, &config)?;
    if !json::is_empty(json::at(&config, &["metadata", "managedFields"])) {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    let name = json::text(&config, &["metadata", "name"]);
    if !name.is_empty() && name != call.name {
        return Err(Failure::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.name
        )));
    }
    json::metadata(&mut config).insert("name".into(), call.name.into());
    creation::set_namespace(call.resource, &mut config, call.namespace)?;
    call.resource.to_storage(&mut config);
    if call.resource.has(Sub::Status) {
        let status = call.sub == Some(Sub::Status);
        json::object(&mut config)
            .retain(|key, _| matches!(key.as_str(), "apiVersion" | "kind" | "metadata") || (key == "status") == status);
    }
    Ok(config)
}

/// Server-side apply has no warnings: a configuration that does not fit the type is an error.
fn check_applied(resource: &Resource, config: &Value) -> Result<(), Failure> {
    let mut typed = config.clone();
    resource.to_storage(&mut typed);
    let shape = crate::kinds::shape::Shape::of(resource);
    let problem = patch::typed::problem(&typed, shape);
    let problem = problem.or_else(|| patch::compare::duplicate(config, shape, &mut Vec::new()));
    let problem = problem.or_else(|| validate::typed::check(resource, &mut typed).err());
    let Some(problem) = problem else {
        return Ok(());
    };
    let text = |path: &[&str]| json::text(config, path).to_owned();
    let version = text(&["apiVersion"]);
    let slash = if version.contains('/') { "" } else { "/" };
    Err(Failure::internal(format!(
        "failed to create typed patch object ({}/{}; {slash}{version}, Kind={}): {problem}",
        text(&["metadata", "namespace"]),
        text(&["metadata", "name"]),
        resource.kind
    )))
}

/// The object with the configuration merged.
pub(super) fn applied_merge(call: &Call<'_>, old: &Value, config: &Value, context: &Context) -> Result<Value, Failure> {
    let force = call.params.force.unwrap_or_default();
    let mut merged = patch::apply::apply(call.resource, old, config, call.sub_name(), force, context)?;
    patch::check_depth(&merged)?;
    call.resource.show_stored(&mut merged);
    Ok(merged)
}
