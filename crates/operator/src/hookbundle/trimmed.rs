//! What the operator keeps of each HookBundle of the cluster: as little as it uses, because a tenant writes the rest.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::{Deserialize, Deserializer};

use super::{FINALIZER, HookBundle, HookBundleSpec, HookBundleStatus};

/// The number of HookBundles in one page of a list. An object has 1.5 MB at most, so a page has 12 MB.
pub(super) const PAGE: u32 = 8;
/// The maximum size of settings in bytes.
pub const MAX_SETTINGS: usize = 256 * 1024;
/// The maximum size of grants in bytes.
const MAX_GRANTS: usize = 32 * 1024;
/// The maximum size of a status in bytes. A larger one is kept without what it says about hooks.
const MAX_STATUS: usize = 256 * 1024;
/// The maximum length of a digest.
const MAX_DIGEST: usize = 128;
/// The maximum number of finalizers.
pub(super) const MAX_FINALIZERS: usize = 64;

/// A HookBundle without what the operator does not use.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Read")]
pub(super) struct TrimmedHookBundle {
    pub bundle: HookBundle,
    /// What was left out of its spec because it is too large, and the remedy.
    pub dropped: Option<String>,
}

impl Resource for TrimmedHookBundle {
    type DynamicType = ();
    type Scope = <HookBundle as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        HookBundle::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        HookBundle::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        HookBundle::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        HookBundle::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.bundle.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.bundle.metadata
    }
}

/// The object as it is read. Labels, annotations, owners and managed fields are skipped, because as values they take a
/// multiple of their text.
#[derive(Deserialize)]
struct Read {
    #[serde(deserialize_with = "metadata")]
    metadata: ObjectMeta,
    spec: HookBundleSpec,
    #[serde(default)]
    status: Option<HookBundleStatus>,
}

impl From<Read> for TrimmedHookBundle {
    fn from(Read { metadata, mut spec, status }: Read) -> Self {
        let mut dropped = None;
        let size = spec.settings.as_ref().map_or(0, |settings| settings.text().len());
        if size > MAX_SETTINGS {
            spec.settings = None;
            dropped = Some(format!(
                "spec.settings has {size} bytes, and {MAX_SETTINGS} are allowed: let the hooks read large data from ConfigMaps"
            ));
        }
        let size = length(&spec.grants);
        if size > MAX_GRANTS {
            // With fewer grants than the spec has, hooks may do less, and never more.
            spec.grants = Vec::new();
            dropped = Some(format!(
                "spec.grants has {size} bytes, and {MAX_GRANTS} are allowed; nothing is granted: use fewer rules, or \"*\""
            ));
        }
        let status = status.map(|status| if length(&status) > MAX_STATUS { least(status) } else { status });
        Self { bundle: HookBundle { metadata, spec, status }, dropped }
    }
}

/// The length as JSON. What is not JSON has no bound, and was not read from JSON.
fn length(value: &impl serde::Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX, |json| json.len())
}

/// Only which version ran.
fn least(status: HookBundleStatus) -> HookBundleStatus {
    let digest = status.digest.filter(|digest| digest.len() <= MAX_DIGEST);
    HookBundleStatus { digest, ..HookBundleStatus::default() }
}

/// Reads only the metadata that the operator uses.
pub(super) fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Metadata {
        namespace: Option<String>,
        name: Option<String>,
        uid: Option<String>,
        resource_version: Option<String>,
        generation: Option<i64>,
        deletion_timestamp: Option<Time>,
        finalizers: Option<Vec<String>>,
    }
    let Metadata { namespace, name, uid, resource_version, generation, deletion_timestamp, finalizers } =
        Metadata::deserialize(deserializer)?;
    let finalizers = finalizers.map(|mut all| {
        if all.len() > MAX_FINALIZERS {
            // One too many shows that there were more.
            all.sort_by_key(|finalizer| finalizer != FINALIZER);
            all.truncate(MAX_FINALIZERS + 1);
            all.shrink_to_fit();
        }
        all
    });
    Ok(ObjectMeta {
        namespace,
        name,
        uid,
        resource_version,
        generation,
        deletion_timestamp,
        finalizers,
        ..ObjectMeta::default()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use kube::core::{ObjectList, WatchEvent};
    use serde_json::{Value, json};

    use super::*;

    const LARGE: usize = 1_400_000;

    fn object(metadata: Value, spec: Value, status: Value) -> Value {
        let mut object = json!({
            "apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
            "metadata": {"namespace": "team", "name": "a", "uid": "u", "resourceVersion": "7", "generation": 3},
            "spec": {"source": {"oci": {"reference": "r.io/a:v1"}}, "verification": {"unsigned": true}},
            "status": status,
        });
        for (part, more) in [("metadata", metadata), ("spec", spec)] {
            let part = object.get_mut(part).unwrap().as_object_mut().unwrap();
            part.extend(more.as_object().unwrap().clone());
        }
        object
    }

    fn kept(object: &Value) -> TrimmedHookBundle {
        serde_json::from_str(&object.to_string()).unwrap()
    }

    fn names(prefix: &str) -> serde_json::Map<String, Value> {
        (0..LARGE / 16).map(|n| (format!("{prefix}{n}"), json!(""))).collect()
    }

    // mutant: crates/operator/src/hookbundle/trimmed.rs: `if size > MAX_SETTINGS {` => `if false {`
    // mutant: crates/operator/src/hookbundle/trimmed.rs: `if size > MAX_GRANTS {` => `if false {`
    // mutant: crates/operator/src/hookbundle/trimmed.rs: `if length(&status) > MAX_STATUS { least(status) } else { status }` => `status`
    // mutant: crates/operator/src/hookbundle/trimmed.rs: `all.truncate(MAX_FINALIZERS + 1);` => ``
    // mutant: crates/operator/src/hookbundle/trimmed.rs: `#[serde(deserialize_with = "metadata")]` => ``
    #[test]
    fn of_a_large_one_little_is_kept() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"],
            "resourceNames": (0..256).map(|n| format!("{n:0>253}")).collect::<Vec<_>>()});
        let hook = json!({"name": "h", "hook": "h", "state": "Ready", "failures": 0, "permissions": vec![&rule; 20]});
        for (what, large) in [
            ("settings", object(json!({}), json!({"settings": {"x": "x".repeat(LARGE)}}), json!({}))),
            ("brackets", object(json!({}), json!({"settings": {"x": vec![json!([]); LARGE / 3]}}), json!({}))),
            ("grants", object(json!({}), json!({"grants": vec![&rule; 20]}), json!({}))),
            ("labels", object(json!({"labels": names("l")}), json!({}), json!({}))),
            ("annotations", object(json!({"annotations": names("a")}), json!({}), json!({}))),
            ("fields", object(json!({"managedFields": [{"fieldsV1": names("f:")}]}), json!({}), json!({}))),
            ("owners", object(json!({"ownerReferences": vec![json!({"uid": "u"}); 99_999]}), json!({}), json!({}))),
            ("finalizers", object(json!({"finalizers": vec!["a.b/c"; LARGE / 8]}), json!({}), json!({}))),
            ("status", object(json!({}), json!({}), json!({"digest": &digest, "hooks": [hook]}))),
        ] {
            let TrimmedHookBundle { bundle: kept, dropped } = kept(&large);
            assert!(length(&large) > LARGE / 2, "{what}");
            assert!(length(&kept) < 64 * 1024, "of {what}, {} bytes are kept", length(&kept));
            assert_eq!(dropped.is_some(), ["settings", "brackets", "grants"].contains(&what), "{what}");
            assert_eq!((kept.metadata.generation, kept.metadata.uid.as_deref()), (Some(3), Some("u")), "{what}");
            let ran = kept.status.and_then(|status| status.digest);
            assert_eq!(ran.as_ref(), (what == "status").then_some(&digest), "{what}");
        }
    }

    #[test]
    fn of_others_all_that_is_used_is_kept() {
        let settings = json!({"b": [1, {"c": null}]});
        let whole = object(
            json!({"finalizers": ["x.y/z", FINALIZER], "deletionTimestamp": "2026-01-02T03:04:05Z"}),
            json!({"settings": settings}),
            json!({"version": "v1"}),
        );
        let same = serde_json::from_value::<HookBundle>(whole.clone()).unwrap();
        assert_eq!(kept(&whole).bundle, same);
        assert_eq!(same.spec.settings.unwrap().text(), settings.to_string());
        let finalizers = [vec!["a.b/c"; 100], vec![FINALIZER]].concat();
        let many = kept(&object(json!({"finalizers": finalizers}), json!({}), json!({})));
        let finalizers = many.bundle.metadata.finalizers.unwrap();
        assert_eq!((finalizers.len(), finalizers.first().map(String::as_str)), (MAX_FINALIZERS + 1, Some(FINALIZER)));
        // As lists and watches have them.
        let list =
            json!({"apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundleList", "metadata": {}, "items": [whole]});
        assert_eq!(serde_json::from_str::<ObjectList<TrimmedHookBundle>>(&list.to_string()).unwrap().items.len(), 1);
        let event = format!(r#"{{"type":"ADDED","object":{whole}}}"#);
        assert!(matches!(serde_json::from_str(&event).unwrap(), WatchEvent::<TrimmedHookBundle>::Added(_)));
    }
}
