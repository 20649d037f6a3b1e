//! OpenAPI documents: published ones for built-in groups, and generated ones for custom resources. Documents are not
//! cached; each is unpacked or generated for its request.

mod convert;
mod custom;

use serde_json::{Map, Value, json};

use super::{Registry, group_version, published};
use crate::json;

pub(crate) enum Document {
    /// JSON in gzip.
    Packed(&'static [u8]),
    Made(Value),
}

fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{}", group_version(group, version)) }
}

/// `/openapi/v3`: the URL of each group version's document. The hash in the URL changes with the document.
pub(crate) fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let path = path_of(&group.name, version);
            if let Some(hash) = hash(registry, &group.name, version) {
                let url = format!("/openapi/v3/{path}?hash={hash}");
                paths.insert(path, json!({ "serverRelativeURL": url }));
            }
        }
    }
    json!({ "paths": paths })
}

/// Identifies the content of a document.
pub(crate) fn hash(registry: &Registry, group: &str, version: &str) -> Option<String> {
    if let Some(packed) = published::openapi(&path_of(group, version)) {
        // gzip ends with a checksum and the length.
        let end = packed.get(packed.len().checked_sub(8)?..)?;
        return Some(end.iter().map(|byte| format!("{byte:02X}")).collect());
    }
    let made = custom::seed(registry, group, version)?;
    let mut crc = flate2::Crc::new();
    crc.update(&json::bytes(&made));
    Some(format!("{:08X}{:08X}", crc.sum(), crc.amount()))
}

/// `/openapi/v3/...`.
pub(crate) fn document(registry: &Registry, group: &str, version: &str) -> Option<Document> {
    match published::openapi(&path_of(group, version)) {
        Some(packed) => Some(Document::Packed(packed)),
        None => custom::document(registry, group, version).map(Document::Made),
    }
}

/// `/openapi/v2`: all definitions. Paths are left out, because no known client needs them.
pub(crate) fn swagger(registry: &Registry) -> Value {
    let mut definitions = Map::new();
    for group in registry.groups() {
        for version in &group.versions {
            let builtin = published::schemas(&path_of(&group.name, version));
            definitions.extend(builtin.into_iter().chain(custom::schemas(registry, &group.name, version)));
        }
    }
    for definition in definitions.values_mut() {
        convert::to_v2(definition);
    }
    json!({
        "swagger": "2.0", "info": { "title": "Kubernetes", "version": super::VERSION }, "paths": {},
        "definitions": definitions,
    })
}
