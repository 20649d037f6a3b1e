//! What a chart rendered to, as the members of a module's set.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_applyset::{Answer, Bounds, MemberId, Rules};
use boathook_core::model::{ObjectRef, Resource, error_chain};
use boathook_kube::discovery::{Discovery, DiscoveryError};
use boathook_modules::manifest::{self, Document, Identity};
use serde_json::Value;

use super::super::releases::ReleaseError;

/// The members that a module wants.
pub(in super::super) struct Wanted {
    pub answer: Answer,
    pub rules: Rules,
    /// Their kinds.
    pub resources: Vec<Arc<Resource>>,
    /// The version of each of these kinds.
    pub versions: HashMap<String, String>,
}

/// Reads manifests, each with the template that it is from.
pub(in super::super) async fn wanted(
    discovery: &Discovery,
    manifests: &[(&str, &str)],
    identity: &Identity,
    generation: i64,
) -> Result<Wanted, ReleaseError> {
    let mut documents: Vec<Document> = Vec::new();
    for (source, text) in manifests {
        let read = manifest::read(source, text).map_err(|error| ReleaseError::Refused(error.to_string()))?;
        documents.extend(read);
    }
    let defined = defined(&documents);
    let mut kinds: HashMap<(String, String), Arc<Resource>> = HashMap::new();
    let mut members = Vec::with_capacity(documents.len());
    for mut document in documents {
        let ObjectRef { api_version, kind, .. } = ObjectRef::of(&document.object);
        let key = (api_version, kind);
        let resource = match kinds.get(&key) {
            Some(known) => known.clone(),
            None => {
                let found = find(discovery, &key, &defined, &document.source).await?;
                kinds.insert(key, found.clone());
                found
            }
        };
        document.of_release(identity, resource.namespaced);
        encode(&mut document.object);
        members.push(document.object);
    }
    let resources: Vec<_> = kinds.into_values().collect();
    let owns = resources.iter().map(|resource| Resource::clone(resource)).collect();
    let versions = resources.iter().map(|resource| (group_kind(resource), resource.api_version())).collect();
    let rules = Rules { owns, across: true, bounds: Bounds::default() };
    // A chart that renders to nothing may have missed a value, so what is there goes only with an approval.
    let answer = Answer { generation, members, means_empty: false };
    Ok(Wanted { answer, rules, resources, versions })
}

/// Puts the `stringData` of a Secret into its `data`, as the API server does. It never shows `stringData` again, so nobody
/// could say after a restart whether the Secret is as it should be.
fn encode(object: &mut Value) {
    let is_secret = object.get("kind").is_some_and(|kind| kind == "Secret")
        && object.get("apiVersion").is_some_and(|version| version == "v1");
    let Some(fields) = object.as_object_mut().filter(|_| is_secret) else { return };
    let Some(Value::Object(texts)) = fields.shift_remove("stringData") else { return };
    let data = fields.entry("data").or_insert_with(|| Value::Object(Default::default()));
    if let Some(data) = data.as_object_mut() {
        let text = |value: Value| value.as_str().map(|text| STANDARD.encode(text).into()).unwrap_or(value);
        data.extend(texts.into_iter().map(|(key, value)| (key, text(value))));
    }
}

fn group_kind(resource: &Resource) -> String {
    let (api_version, kind) = (resource.api_version(), resource.kind.clone());
    MemberId::of(&ObjectRef { api_version, kind, namespace: None, name: String::new() }).group_kind()
}

async fn find(
    discovery: &Discovery,
    (api_version, kind): &(String, String),
    defined: &[Resource],
    source: &str,
) -> Result<Arc<Resource>, ReleaseError> {
    match discovery.resolve(api_version, kind).await {
        Ok(resource) => Ok(resource),
        Err(DiscoveryError::Unknown { .. }) => {
            let own = defined.iter().find(|one| one.kind == *kind && one.api_version() == *api_version);
            own.cloned().map(Arc::new).ok_or_else(|| {
                ReleaseError::Failed(format!(
                    "{source}: the API server serves no {kind} in {api_version}: {}",
                    remedy(api_version)
                ))
            })
        }
        Err(error) => Err(ReleaseError::Failed(format!("{source}: {}", error_chain(&error)))),
    }
}

/// What to do about a kind that is not served. Groups of custom resources have a dot.
fn remedy(api_version: &str) -> &'static str {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    if group.contains('.') && !group.ends_with(".k8s.io") {
        "install its CustomResourceDefinition first, for example from the module's crds/"
    } else {
        "this Kubernetes does not have it, or no longer: change the template to a version that `kubectl api-resources` shows"
    }
}

/// The kinds that the manifests themselves define. They are served when their definitions are there, which come first.
fn defined(documents: &[Document]) -> Vec<Resource> {
    let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let mut found = Vec::new();
    for Document { object, .. } in documents {
        let Some("CustomResourceDefinition") = object.get("kind").and_then(Value::as_str) else { continue };
        let versions = object.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        for version in versions {
            let resource = || {
                Some(Resource {
                    group: text(object, "/spec/group")?,
                    version: text(version, "/name")?,
                    kind: text(object, "/spec/names/kind")?,
                    plural: text(object, "/spec/names/plural")?,
                    namespaced: text(object, "/spec/scope")? == "Namespaced",
                })
            };
            found.extend(resource());
        }
    }
    found
}

/// The kinds in which a set has members by its parent's annotation, such as `Deployment.apps`. Those that are not served
/// any more have no objects.
pub(super) async fn named(discovery: &Discovery, kinds: &BTreeSet<String>) -> Result<Vec<Arc<Resource>>, ReleaseError> {
    let mut found = Vec::new();
    for kind in kinds {
        match discovery.named(kind).await {
            Ok(resource) => found.push(resource),
            Err(DiscoveryError::Unknown { .. }) => {}
            Err(error) => return Err(ReleaseError::Failed(error_chain(&error))),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_of_secrets_are_data() {
        let mut secret =
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ==", "b": "YQ=="}, "stringData": {"b": "c"}});
        encode(&mut secret);
        assert_eq!(secret, json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "YQ==", "b": "Yw=="}}));
        let mut other = json!({"apiVersion": "x.io/v1", "kind": "Secret", "stringData": {"b": "c"}});
        encode(&mut other);
        assert_eq!(other["stringData"]["b"], "c");
    }

    #[test]
    fn a_kind_that_is_not_served_has_a_remedy() {
        for (version, word) in [
            ("extensions/v1beta1", "change the template"),
            ("policy/v1beta1", "change the template"),
            ("networking.k8s.io/v1beta1", "change the template"),
            ("example.com/v1", "CustomResourceDefinition"),
        ] {
            assert!(remedy(version).contains(word), "{version}");
        }
    }

    #[test]
    fn kinds_that_a_chart_defines_are_known() {
        let text = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apps.x.io}, spec: \
                    {group: x.io, scope: Cluster, names: {kind: App, plural: apps}, versions: [{name: v1}, {name: v2}]}}";
        let found = defined(&manifest::read("s", text).unwrap());
        let expected = ["v1", "v2"].map(|version| Resource::of(&format!("x.io/{version}"), "App", "apps", false));
        assert_eq!(found, expected);
    }
}
