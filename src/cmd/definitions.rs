//! The custom resources that a hook defines by its own types, and the project's `crd.yaml`.

use std::{fs, path::Path};

use anyhow::Context as _;
use serde::Deserialize as _;
use serde_json::Value;

/// The file of a project with its CustomResourceDefinitions.
pub(super) const FILE: &str = "crd.yaml";

/// The most differences that an error names.
const MAX_DIFFERENCES: usize = 10;

/// The definitions in the `crd.yaml` of a project.
pub(super) struct File {
    documents: Vec<Value>,
}

impl File {
    /// Reads the file. A file that does not exist has no definitions.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            return Ok(Self { documents: Vec::new() });
        }
        let unreadable = || format!("cannot read {}", path.display());
        let text = fs::read_to_string(path).with_context(unreadable)?;
        let documents = yaml_serde::Deserializer::from_str(&text)
            .map(|document| Value::deserialize(document).with_context(unreadable))
            .filter(|document| !matches!(document, Ok(Value::Null)));
        Ok(Self { documents: documents.collect::<anyhow::Result<_>>()? })
    }

    /// What differs from the definitions that the types make. The file may have more: other definitions, other versions,
    /// labels and annotations.
    pub(super) fn differences(&self, made: &[Value]) -> Vec<String> {
        let mut found = Vec::new();
        for definition in made {
            let name = name(definition);
            match self.documents.iter().find(|document| self::name(document) == name) {
                Some(document) => {
                    let place = format!("{name}: ");
                    differ(&place, &significant(definition), &significant(document), Whose::Shared, &mut found);
                    let others =
                        versions(document).iter().filter(|version| made_version(definition, version).is_none());
                    found.extend(others.filter(|version| is_stored(version)).map(|version| {
                        let label = label(version);
                        format!("{place}versions.{label}.storage is true: only the version of the types is stored")
                    }));
                }
                None => found.push(format!("{name} is missing")),
            }
        }
        if found.len() > MAX_DIFFERENCES {
            let more = found.len() - MAX_DIFFERENCES;
            found.truncate(MAX_DIFFERENCES);
            found.push(format!("and {more} more"));
        }
        found
    }

    /// The file with the definitions that the types make.
    pub(super) fn updated(mut self, made: &[Value]) -> anyhow::Result<String> {
        for definition in made {
            match self.documents.iter_mut().find(|document| name(document) == name(definition)) {
                Some(document) => update(document, definition),
                None => self.documents.push(definition.clone()),
            }
        }
        let texts: Vec<_> = self.documents.iter().map(yaml_serde::to_string).collect::<Result<_, _>>()?;
        Ok(texts.join("---\n"))
    }
}

fn name(definition: &Value) -> &str {
    definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

fn versions(definition: &Value) -> &[Value] {
    definition.pointer("/spec/versions").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn label(version: &Value) -> &str {
    version.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// The version of this name that the types make.
fn made_version<'d>(definition: &'d Value, version: &Value) -> Option<&'d Value> {
    versions(definition).iter().find(|made| label(made) == label(version))
}

/// The API server wants exactly one such version.
fn is_stored(version: &Value) -> bool {
    version.get("storage") == Some(&Value::Bool(true))
}

/// Who decides which fields a part of a definition has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Whose {
    /// The types, except how versions are converted. This is the `spec`.
    Shared,
    /// The author may have more. These are the `versions`.
    Authors,
    /// The types.
    Types,
}

impl Whose {
    fn below(self, key: &str) -> Self {
        if self == Self::Shared && key == "versions" { Self::Authors } else { Self::Types }
    }

    fn allows(self, key: &str) -> bool {
        match self {
            Self::Shared => key == "conversion",
            Self::Authors => true,
            Self::Types => false,
        }
    }
}

/// The part that types decide, with the versions by their names.
fn significant(definition: &Value) -> Value {
    let version = |version: &Value| (label(version).to_owned(), version.clone());
    let mut spec = definition.get("spec").cloned().unwrap_or_default();
    if let Some(spec) = spec.as_object_mut() {
        spec.insert("versions".to_owned(), Value::Object(versions(definition).iter().map(version).collect()));
    }
    spec
}

/// Lists where a file differs from what the types make.
fn differ(place: &str, made: &Value, file: &Value, whose: Whose, found: &mut Vec<String>) {
    match (made, file) {
        (Value::Object(made), Value::Object(file)) => {
            let at = |key: &str| format!("{place}{}{key}", if place.ends_with(' ') { "" } else { "." });
            for (key, made) in made {
                match file.get(key) {
                    Some(file) => differ(&at(key), made, file, whose.below(key), found),
                    None => found.push(format!("{} is missing: the types make {made}", at(key))),
                }
            }
            let extra = |key: &&String| !made.contains_key(*key) && !whose.allows(key);
            found.extend(file.keys().filter(extra).map(|key| format!("{} is not in the types", at(key))));
        }
        _ if made == file => {}
        _ => found.push(format!("{place} is {file}: the types make {made}")),
    }
}

/// Puts what the types make into a definition of the file.
fn update(document: &mut Value, made: &Value) {
    let mut all: Vec<_> = versions(document).to_vec();
    for other in all.iter_mut().filter(|version| made_version(made, version).is_none() && is_stored(version)) {
        if let Some(fields) = other.as_object_mut() {
            fields.insert("storage".to_owned(), false.into());
        }
    }
    for version in versions(made) {
        match all.iter_mut().find(|known| label(known) == label(version)) {
            Some(known) => *known = version.clone(),
            None => all.push(version.clone()),
        }
    }
    let (Some(Value::Object(spec)), Some(Value::Object(made))) = (document.get_mut("spec"), made.get("spec")) else {
        *document = made.clone();
        return;
    };
    for (key, value) in made {
        spec.insert(key.clone(), value.clone());
    }
    spec.insert("versions".to_owned(), all.into());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn made(size: Value) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "apps.a.io"},
            "spec": {"group": "a.io", "scope": "Namespaced", "names": {"kind": "App", "plural": "apps"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"size": size}}}]},
        })
    }

    fn file(documents: &[Value]) -> File {
        File { documents: documents.to_vec() }
    }

    #[test]
    fn what_differs_is_named_with_its_place() {
        let (one, other) = (made(json!({"type": "integer"})), made(json!({"type": "string", "maxLength": 3})));
        assert_eq!(file(std::slice::from_ref(&one)).differences(std::slice::from_ref(&one)), [""; 0]);
        assert_eq!(file(&[]).differences(std::slice::from_ref(&one)), ["apps.a.io is missing"]);
        let place = "apps.a.io: versions.v1.schema.openAPIV3Schema.size";
        assert_eq!(
            file(&[other]).differences(std::slice::from_ref(&one)),
            [
                format!("{place}.type is \"string\": the types make \"integer\""),
                format!("{place}.maxLength is not in the types")
            ]
        );
        let inner = |extra: Value| made(json!({"properties": {"versions": extra}}));
        let (plain, more) = (inner(json!({})), inner(json!({"conversion": 1})));
        let extra = format!("{place}.properties.versions.conversion is not in the types");
        assert_eq!(file(&[more]).differences(std::slice::from_ref(&plain)), [extra]);
        let wide: serde_json::Map<_, _> = (0..30).map(|number| (format!("k{number}"), json!(1))).collect();
        let found = file(&[one]).differences(&[made(wide.into())]);
        assert_eq!((found.len(), found[MAX_DIFFERENCES].as_str()), (MAX_DIFFERENCES + 1, "and 21 more"));
    }

    #[test]
    fn what_is_the_authors_stays() {
        let one = made(json!({"type": "integer"}));
        let mut kept = made(json!({"type": "string"}));
        kept["metadata"]["labels"] = json!({"team": "a"});
        kept["spec"]["conversion"] = json!({"strategy": "None"});
        let old = |storage: bool| json!({"name": "v0", "served": true, "storage": storage});
        kept["spec"]["versions"].as_array_mut().unwrap().push(old(true));
        assert_eq!(
            file(std::slice::from_ref(&kept)).differences(std::slice::from_ref(&one)),
            [
                "apps.a.io: versions.v1.schema.openAPIV3Schema.size.type is \"string\": the types make \"integer\"",
                "apps.a.io: versions.v0.storage is true: only the version of the types is stored"
            ]
        );
        let text =
            file(&[kept, json!({"metadata": {"name": "others.a.io"}})]).updated(std::slice::from_ref(&one)).unwrap();
        let documents: Vec<_> =
            yaml_serde::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap()).collect();
        assert_eq!(documents.len(), 2);
        assert_eq!(documents[0]["metadata"]["labels"]["team"], "a");
        assert_eq!(documents[0]["spec"]["versions"], json!([one["spec"]["versions"][0], old(false)]));
        assert_eq!(File { documents }.differences(&[one]), [""; 0]);
    }
}
