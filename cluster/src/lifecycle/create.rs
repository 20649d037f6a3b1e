//! Prepares a new object: checks, defaults and system metadata.

use rand::Rng;
use serde_json::{Map, Value};

use super::{admit, defaults, kinds};
use crate::context::{Context, Validation};
use crate::json;
use crate::kinds::{Resource, custom};
use crate::patch::managed;
use crate::status::{Cause, Failure};
use crate::validate::{data, metadata, objects, typed};

/// The origin of a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// PUT: the body is the whole object.
    Put,
    /// A patch of the current object.
    Patch,
    /// Server-side apply, which has already written managedFields.
    Apply,
    /// The object after webhooks. managedFields were written before.
    Admitted {
        /// The body was the whole object.
        put: bool,
    },
}

impl Origin {
    /// Whether managedFields must be written.
    pub(crate) fn writes_managers(self) -> bool {
        matches!(self, Self::Put | Self::Patch)
    }

    pub(crate) fn is_put(self) -> bool {
        matches!(self, Self::Put | Self::Admitted { put: true })
    }

    /// The same origin, after webhooks have seen the object.
    pub(crate) fn admitted(self) -> Self {
        Self::Admitted { put: self.is_put() }
    }
}

/// The alphabet of generated names, without vowels and without characters that look like others.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Checks `apiVersion` and `kind` against the path, and puts them first.
pub(crate) fn check_type(resource: &Resource, object: &mut Value) -> Result<(), Failure> {
    let api_version = resource.api_version();
    let (kind, version) = (json::text(object, &["kind"]).to_owned(), json::text(object, &["apiVersion"]).to_owned());
    let refused = |kind: &str, why: String| {
        let short = version.rsplit('/').next().filter(|v| !v.is_empty()).unwrap_or(&resource.version);
        Failure::bad_request(format!("{kind} in version \"{short}\" cannot be handled as a {}: {why}", resource.kind))
    };
    if resource.custom.is_some() && kind.is_empty() {
        let body = object.to_string();
        let start: String = body.chars().take(30).collect();
        let more = if body.len() > 30 { " ..." } else { "" };
        return Err(Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{body}' ({start}{more})",
            resource.kind
        )));
    }
    let wrong_kind = !kind.is_empty() && kind != resource.kind;
    let wrong_version = !version.is_empty() && version != api_version;
    if (wrong_kind || wrong_version) && resource.custom.is_none() {
        let kind = if kind.is_empty() { &resource.kind } else { &kind };
        let version = if version.is_empty() { &api_version } else { &version };
        return Err(refused(kind, foreign(resource, kind, version)));
    }
    if wrong_version {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({api_version})"
        )));
    }
    if wrong_kind {
        let why = format!("must be {}", resource.kind);
        let name = json::text(object, &["metadata", "name"]);
        return Err(Failure::invalid(
            &resource.group,
            &kind,
            name,
            &[Cause::invalid("kind", &kind.as_str().into(), why)],
        ));
    }
    let map = json::object(object);
    let mut typed = Map::with_capacity(map.len() + 2);
    typed.insert("kind".into(), resource.kind.clone().into());
    typed.insert("apiVersion".into(), api_version.into());
    typed.extend(std::mem::take(map).into_iter().filter(|(k, _)| k != "kind" && k != "apiVersion"));
    *map = typed;
    typed::check_metadata(resource, object).map_err(|why| refused(&resource.kind, why))
}

/// The warnings of the real server's decoder before it rejects a wrong version. It knows no field of that version.
fn strangers(resource: &Resource, object: &Value, context: &Context) -> Vec<String> {
    let (kind, version) = (json::text(object, &["kind"]), json::text(object, &["apiVersion"]));
    let foreign = resource.custom.is_some() && !kind.is_empty() && version != resource.api_version();
    if !foreign || context.validation != Validation::Warn {
        return Vec::new();
    }
    let keys = object.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    let mut unknown: Vec<&str> = keys.filter(|key| !matches!(*key, "apiVersion" | "kind" | "metadata")).collect();
    unknown.sort_unstable();
    unknown.iter().map(|key| format!("unknown field \"{key}\"")).collect()
}

/// Why an object of another type is not accepted.
pub(crate) fn foreign(resource: &Resource, kind: &str, version: &str) -> String {
    let (group, short) = version.split_once('/').unwrap_or(("", version));
    if resource.schema.of_kind(group, short, kind).is_none() {
        return format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
        );
    }
    let package = resource.group.split('.').next().filter(|g| !g.is_empty()).unwrap_or("core");
    format!("converting ({short}.{kind}) to ({package}.{}): unknown conversion", resource.kind)
}

/// Checks the namespace in the body against the one in the path, and sets it.
pub(crate) fn set_namespace(resource: &Resource, object: &mut Value, namespace: &str) -> Result<(), Failure> {
    let meta = json::metadata(object);
    let given = meta.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if !resource.namespaced {
        meta.shift_remove("namespace");
        return Ok(());
    }
    if !given.is_empty() && given != namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    meta.insert("namespace".into(), namespace.into());
    Ok(())
}

/// Prepares a decoded body for storage, in its storage version and without a revision. Returns warnings about dropped
/// fields.
pub(crate) fn prepare(
    resource: &Resource,
    object: &mut Value,
    namespace: &str,
    origin: Origin,
    context: &Context,
) -> Result<Vec<String>, Failure> {
    check_type(resource, object).map_err(|failure| failure.with_warnings(strangers(resource, object, context)))?;
    set_namespace(resource, object, namespace)?;
    let meta = json::metadata(object);
    if !json::is_empty(meta.get("resourceVersion")) {
        return Err(Failure::internal("resourceVersion should not be set on objects to be created"));
    }
    let prefix = meta.get("generateName").and_then(Value::as_str).unwrap_or_default().to_owned();
    let generated = generate_name(meta);
    meta.retain(|_, value| !value.is_null());
    for key in SYSTEM {
        meta.shift_remove(*key);
    }
    if origin.writes_managers() {
        meta.shift_remove("managedFields");
    }
    meta.insert("uid".into(), uid().into());
    meta.insert("creationTimestamp".into(), context.stamp().into());
    if resource.generation {
        meta.insert("generation".into(), 1.into());
    }
    resource.to_storage(object);
    let mut warnings = check_fields(resource, object, origin, context)?;
    defaults::apply(resource, object);
    kinds::on_create(resource, object, generated);
    let mut causes = prefix_problems(resource, &prefix);
    causes.extend(metadata::for_create(resource, object));
    match &resource.custom {
        Some(kind) => {
            let found = custom::check(kind, object, None, None);
            causes.extend(found.causes);
            warnings.extend(found.warnings);
        }
        None => causes.extend(objects::problems(resource, object, None)),
    }
    if !causes.is_empty() {
        return Err(resource.invalid(json::text(object, &["metadata", "name"]), &causes));
    }
    if origin.writes_managers() {
        managed::on_update(resource, None, object, "", context);
    }
    admit::new(resource, object, context);
    if &*resource.storage == "secrets" {
        warnings.extend(data::warnings(object));
    }
    Ok(warnings)
}

/// Prepares a decoded body for webhooks: checked, with defaults and managedFields, in the resource's version. Returns
/// warnings about dropped fields.
pub(crate) fn draft(
    resource: &Resource,
    object: &mut Value,
    namespace: &str,
    origin: Origin,
    context: &Context,
) -> Result<Vec<String>, Failure> {
    check_type(resource, object)?;
    set_namespace(resource, object, namespace)?;
    let meta = json::metadata(object);
    meta.retain(|key, value| !value.is_null() && !WIPED.contains(&key.as_str()));
    if origin.writes_managers() {
        meta.shift_remove("managedFields");
    }
    resource.to_storage(object);
    let warnings = check_fields(resource, object, origin, context)?;
    defaults::apply(resource, object);
    if origin.writes_managers() {
        let mut whole = object.clone();
        let generated = json::text(&whole, &["metadata", "name"]).is_empty();
        kinds::on_create(resource, &mut whole, generated);
        managed::on_update(resource, None, &mut whole, "", context);
        if let Some(fields) = json::at(&whole, &["metadata", "managedFields"]) {
            json::metadata(object).insert("managedFields".into(), fields.clone());
        }
    }
    resource.show_stored(object);
    Ok(warnings)
}

/// Metadata of a new object that webhooks do not see.
const WIPED: &[&str] = &["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// The problems of the prefix of a generated name. It may end in a dash, because more characters follow.
fn prefix_problems(resource: &Resource, prefix: &str) -> Vec<Cause> {
    if prefix.is_empty() {
        return Vec::new();
    }
    let name = prefix.strip_suffix('-').map_or_else(|| prefix.to_owned(), |start| format!("{start}a"));
    let problems = resource.naming.problems(&name).into_iter();
    problems.map(|why| Cause::invalid("metadata.generateName", &prefix.into(), why)).collect()
}

/// Metadata that a client cannot set.
const SYSTEM: &[&str] = &[
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
    "resourceVersion",
];

/// Checks the object against its type, and handles unknown fields as the request demands.
pub(crate) fn check_fields(
    resource: &Resource,
    object: &mut Value,
    origin: Origin,
    context: &Context,
) -> Result<Vec<String>, Failure> {
    let refused = |why: String| {
        Failure::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: {why}",
            resource.kind, resource.version, resource.kind
        ))
    };
    let check = if origin == Origin::Apply { typed::check_applied } else { typed::check };
    let unknown = check(resource, object).map_err(refused)?;
    match context.validation {
        Validation::Strict if !unknown.is_empty() => {
            Err(refused(format!("strict decoding error: {}", unknown.join(", "))))
        }
        Validation::Warn => Ok(unknown),
        _ => Ok(Vec::new()),
    }
}

/// Returns whether a name was generated.
fn generate_name(meta: &mut Map<String, Value>) -> bool {
    let text = |key: &str| meta.get(key).and_then(Value::as_str).unwrap_or_default();
    let prefix = text("generateName").to_owned();
    if !text("name").is_empty() || prefix.is_empty() {
        return false;
    }
    // A generated name has at most 63 characters, including five generated ones.
    let mut name: String = prefix.chars().take(58).collect();
    let mut random = rand::rng();
    for _ in 0..5 {
        let index = random.random_range(0..ALPHABET.len());
        name.extend(ALPHABET.get(index).map(|c| char::from(*c)));
    }
    meta.insert("name".into(), name.into());
    true
}

/// A random (version 4) UUID.
pub(crate) fn uid() -> String {
    let random: u128 = rand::rng().random();
    let bits = (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn uids_are_version_4() {
        let id = uid();
        assert_eq!(id.len(), 36);
        assert_eq!(&id[14..15], "4");
        assert!(["8", "9", "a", "b"].contains(&&id[19..20]), "{id}");
        assert_ne!(id, uid());
    }

    #[test]
    fn generated_names_keep_their_prefix_and_length() {
        let mut meta = Map::new();
        meta.insert("generateName".into(), "x".repeat(80).into());
        generate_name(&mut meta);
        assert_eq!(meta["name"].as_str().map(str::len), Some(63));
    }
}
