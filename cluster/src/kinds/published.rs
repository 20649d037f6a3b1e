//! What a kube-apiserver publishes about its built-in kinds: discovery, table columns, OpenAPI. See `published/NOTICE`.
//! The data are constants of the binary, which are parsed at their first use; no other state is global.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use crate::json;

/// The resources of a group and version, in the order of discovery.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResourceList {
    pub group_version: String,
    /// As in the plain discovery document, including subresources.
    pub resources: Vec<Value>,
}

impl ResourceList {
    /// Group and version.
    pub(crate) fn split(&self) -> (&str, &str) {
        self.group_version.split_once('/').unwrap_or(("", &self.group_version))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Columns {
    group_version: String,
    resource: String,
    columns: Vec<Value>,
}

static DISCOVERY: LazyLock<Vec<ResourceList>> =
    LazyLock::new(|| parsed(include_bytes!("../../published/discovery.json")));

static COLUMNS: LazyLock<HashMap<String, Vec<Value>>> = LazyLock::new(|| {
    let all: Vec<Columns> = parsed(include_bytes!("../../published/columns.json"));
    all.into_iter().map(|c| (format!("{}/{}", c.group_version, c.resource), c.columns)).collect()
});

static OPENAPI: LazyLock<BTreeMap<String, &'static [u8]>> =
    LazyLock::new(|| unpacked(include_bytes!("../../published/openapi.bin")).unwrap_or_default());

/// Embedded data are valid, because a test reads all of them.
fn parsed<T: Default + for<'a> Deserialize<'a>>(bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// The format is a line of names and lengths, followed by the documents.
fn unpacked(bytes: &'static [u8]) -> Option<BTreeMap<String, &'static [u8]>> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (index, mut rest) = bytes.split_at_checked(end)?;
    rest = rest.get(1..)?;
    let index: Vec<(String, usize)> = serde_json::from_slice(index).ok()?;
    let mut documents = BTreeMap::new();
    for (name, length) in index {
        let (document, tail) = rest.split_at_checked(length)?;
        documents.insert(name, document);
        rest = tail;
    }
    Some(documents)
}

/// All built-in resources, including reviews and other virtual ones.
pub(crate) fn discovery() -> &'static [ResourceList] {
    &DISCOVERY
}

/// The column definitions of a resource's tables.
pub(crate) fn columns(group_version: &str, plural: &str) -> Option<&'static [Value]> {
    COLUMNS.get(&format!("{group_version}/{plural}")).map(Vec::as_slice)
}

/// The OpenAPI v3 document of a path, in gzip.
pub(crate) fn openapi(path: &str) -> Option<&'static [u8]> {
    OPENAPI.get(path).copied()
}

/// The schemas of an OpenAPI v3 document, by name.
pub(crate) fn schemas(path: &str) -> serde_json::Map<String, Value> {
    let document: Value = openapi(path).map(|packed| parsed(&unzip(packed))).unwrap_or_default();
    json::at(&document, &["components", "schemas"]).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Unpacks an embedded document.
pub(crate) fn unzip(packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // A test unpacks all embedded documents, so this does not fail.
    if let Err(error) = GzDecoder::new(packed).read_to_end(&mut out) {
        tracing::error!(%error, "an embedded document is broken");
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_embedded_data_are_whole() {
        assert!(discovery().len() > 20);
        for list in discovery() {
            let (group, version) = list.split();
            let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
            let document = unzip(openapi(&path).unwrap());
            assert!(serde_json::from_slice::<Value>(&document).unwrap().is_object(), "{path}");
        }
        assert_eq!(columns("v1", "configmaps").unwrap().len(), 3);
    }
}
