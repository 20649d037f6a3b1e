//! Whether converted objects follow the rules of Kubernetes. Pure.
//!
//! In `metadata`, only fields are compared that the API server itself does not allow to change (name, namespace, uid).
//! It restores everything else except labels and annotations by itself.

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

/// What is wrong with a hook's converted objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionProblem {
    /// The index of the object, counted from 0. `None` for all objects together.
    pub at: Option<usize>,
    /// `CronTab team/nightly`, as far as it is known.
    pub object: String,
    pub why: String,
}

impl fmt::Display for ConversionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "object {at} ({}): {}", self.object, self.why),
            None => f.write_str(&self.why),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    uid: Option<String>,
    /// Labels and annotations can only be texts.
    #[serde(default, rename = "labels")]
    _labels: Option<BTreeMap<String, String>>,
    #[serde(default, rename = "annotations")]
    _annotations: Option<BTreeMap<String, String>>,
}

/// Lists everything that is wrong with `converted`, which was made from `sources` for the version `desired`
/// (`group/version`). If it is empty, the objects may be sent.
pub fn problems<S: AsRef<str>, C: AsRef<str>>(desired: &str, sources: &[S], converted: &[C]) -> Vec<ConversionProblem> {
    if sources.len() != converted.len() {
        let why = format!("{} objects came out of the conversion of {}", converted.len(), sources.len());
        return vec![ConversionProblem { at: None, object: String::new(), why }];
    }
    let pairs = sources.iter().zip(converted).enumerate();
    let problem = |(at, (source, made)): (usize, (&S, &C))| {
        let source: Option<Head> = serde_json::from_str(source.as_ref()).ok();
        let why = problem(desired, source.as_ref(), made.as_ref())?;
        Some(ConversionProblem { at: Some(at), object: source.as_ref().map(shown).unwrap_or_default(), why })
    };
    pairs.filter_map(problem).collect()
}

fn problem(desired: &str, source: Option<&Head>, made: &str) -> Option<String> {
    if !made.trim_start().starts_with('{') {
        return Some("what came out is not a JSON object".to_owned());
    }
    let made: Head = match serde_json::from_str(made) {
        Ok(made) => made,
        Err(error) => return Some(format!("what came out is not an object of Kubernetes: {error}")),
    };
    if made.api_version != desired {
        return Some(format!("it came out as {:?}, not as {desired}", made.api_version));
    }
    let source = source?;
    if made.kind != source.kind {
        return Some(format!("its kind became {:?}", made.kind));
    }
    let Some(before) = &source.metadata else { return None };
    let Some(after) = &made.metadata else { return Some("it lost its metadata".to_owned()) };
    let fields = [
        ("name", &before.name, &after.name),
        ("namespace", &before.namespace, &after.namespace),
        ("uid", &before.uid, &after.uid),
    ];
    let changed = fields.iter().find(|(_, before, after)| text(before) != text(after));
    changed.map(|(field, before, after)| {
        format!("its metadata.{field} changed from {:?} to {:?}", text(before), text(after))
    })
}

fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

fn shown(head: &Head) -> String {
    let Some(metadata) = &head.metadata else { return head.kind.clone() };
    let (namespace, name) = (text(&metadata.namespace), text(&metadata.name));
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{} {namespace}{slash}{name}", head.kind)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    fn found(made: &serde_json::Value) -> Vec<String> {
        let source = json!({
            "apiVersion": "a.b/v1", "kind": "X",
            "metadata": {"name": "n", "namespace": "s", "uid": "1", "generation": 3, "labels": {"l": "1"}},
        });
        let problems = problems("a.b/v2", &[source.to_string()], &[made.to_string()]);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn labels_and_annotations_may_change() {
        let metadata = json!({"name": "n", "namespace": "s", "uid": "1", "annotations": {"a": ""}});
        assert!(found(&json!({"apiVersion": "a.b/v2", "kind": "X", "metadata": metadata})).is_empty());
    }

    #[test]
    fn what_must_stay_is_held_against_the_source() {
        let metadata = json!({"name": "n", "namespace": "s", "uid": "1"});
        let with = |key: &str, value: serde_json::Value| {
            let mut made = json!({"apiVersion": "a.b/v2", "kind": "X", "metadata": metadata.clone()});
            match key.strip_prefix("metadata.") {
                Some(key) => made["metadata"][key] = value,
                None => made[key] = value,
            }
            found(&made)
        };
        for (key, value, expected) in [
            ("apiVersion", json!("a.b/v1"), "object 0 (X s/n): it came out as \"a.b/v1\", not as a.b/v2"),
            ("kind", json!("Y"), "its kind became \"Y\""),
            ("metadata", json!(null), "lost its metadata"),
            ("metadata.name", json!("other"), "metadata.name changed from \"n\" to \"other\""),
            ("metadata.namespace", json!(null), "metadata.namespace changed"),
            ("metadata.uid", json!("2"), "metadata.uid changed"),
            ("metadata.labels", json!({"l": 1}), "is not an object of Kubernetes"),
            ("metadata.annotations", json!({"l": {}}), "is not an object of Kubernetes"),
        ] {
            let problems = with(key, value);
            assert!(problems.len() == 1 && problems[0].contains(expected), "{key}: {problems:?}");
        }
    }

    #[test]
    fn counts_and_reports_each_object() {
        let problems_of = |made: &[&str]| problems("v2", &["{}", "{}"], made);
        let none: [&str; 0] = [];
        assert_eq!(problems_of(&none)[0].to_string(), "0 objects came out of the conversion of 2");
        let found = problems_of(&["[]", "{\"apiVersion\":\"v2\"}"]);
        assert_eq!(found.iter().map(|problem| problem.at).collect::<Vec<_>>(), [Some(0)]);
        assert_eq!(problems_of(&["1", "{no}"]).len(), 2);
        assert_eq!(problems_of(&["[\"v2\",\"\",null]", "{\"apiVersion\":\"v2\"}"]).len(), 1);
    }
}
