//! The hook's configuration document, as far as a run in a test needs it.
//!
//! It does not check the document: `boathook inspect` does, and the host at load.

use super::selector::{FieldSelector, LabelSelector};
use crate::kube::Object;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Document {
    pub on_startup: Option<f64>,
    before_all: Option<f64>,
    after_all: Option<f64>,
    before_helm: Option<f64>,
    after_helm: Option<f64>,
    before_delete_helm: Option<f64>,
    after_delete_helm: Option<f64>,
    pub kubernetes: Vec<Binding>,
    pub schedule: Vec<Schedule>,
    pub reconcile: Vec<Reconciling>,
    #[serde(rename = "kubernetesValidating")]
    pub validating: Vec<Answering>,
    #[serde(rename = "kubernetesMutating")]
    pub mutating: Vec<Answering>,
    #[serde(rename = "kubernetesCustomResourceConversion")]
    pub conversions: Vec<Answering>,
    permissions: Permissions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Permissions {
    kubernetes: Vec<Permission>,
    http: Vec<HttpPermission>,
}

/// One rule of the HTTP requests that the hook asks for.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct HttpPermission {
    pub hosts: Vec<String>,
    #[serde(default = "reading")]
    pub methods: Vec<String>,
    #[serde(default)]
    pub paths: Vec<String>,
}

fn reading() -> Vec<String> {
    ["GET", "HEAD"].map(str::to_owned).to_vec()
}

/// One rule of what the hook asks for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Permission {
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    pub verbs: Vec<String>,
    pub resource_names: Vec<String>,
    pub namespaces: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Schedule {
    #[serde(default = "schedule")]
    pub name: String,
    pub group: Option<String>,
    #[serde(default)]
    pub include_snapshots_from: Vec<String>,
}

/// A binding by which the API server asks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answering {
    pub name: String,
    group: Option<String>,
    #[serde(default)]
    include_snapshots_from: Vec<String>,
    #[serde(default)]
    pub conversions: Vec<Step>,
}

/// What a conversion binding can do at once.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Step {
    pub from_version: String,
    pub to_version: String,
}

/// A `reconcile` binding.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reconciling {
    #[serde(default = "reconcile")]
    pub name: String,
    pub api_version: String,
    pub kind: String,
    #[serde(default)]
    pub decorates: bool,
    #[serde(default)]
    pub owns: Vec<OwnedKind>,
    #[serde(default)]
    pub related: Vec<Relating>,
    #[serde(default)]
    pub include_snapshots_from: Vec<String>,
}

/// A kind of children.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OwnedKind {
    api_version: String,
    kind: String,
}

/// An entry of `related`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Relating {
    pub name: String,
    #[serde(flatten)]
    kind: OwnedKind,
    namespace: Option<String>,
    name_from: Option<String>,
    label_selector: Option<LabelSelector>,
}

impl Relating {
    /// Whether a parent refers to the object.
    pub fn is_of(&self, parent: &Object, object: &Object) -> bool {
        let named = self.name_from.as_deref().is_none_or(|path| texts(path, parent).contains(&object.name()));
        let place = match (object.namespace(), self.namespace.as_deref().or(parent.namespace())) {
            (None, _) => true,
            (Some(place), Some(namespace)) => place == namespace,
            (Some(_), None) => self.name_from.is_none(),
        };
        let selected = self.label_selector.as_ref().is_none_or(|labels| labels.matches(object));
        Reconciling::is(&self.kind, object) && named && place && selected
    }
}

/// The texts at a path such as `.spec.volumes[].secret`.
fn texts<'v>(path: &str, object: &'v Value) -> Vec<&'v str> {
    let mut found = vec![object];
    for field in path.trim_start_matches('.').split('.') {
        let (name, each) = field.strip_suffix("[]").map_or((field, false), |name| (name, true));
        let values = found.into_iter().filter_map(|value| value.get(name));
        found = if each { values.filter_map(Value::as_array).flatten().collect() } else { values.collect() };
    }
    found.into_iter().filter_map(Value::as_str).collect()
}

impl Reconciling {
    /// Whether the object is of the kind of the parents.
    pub fn is_about(&self, object: &Object) -> bool {
        object.api_version() == self.api_version && object.kind() == self.kind
    }

    /// Whether the object is of this kind.
    pub fn is(kind: &OwnedKind, object: &Object) -> bool {
        object.api_version() == kind.api_version && object.kind() == kind.kind
    }
}

/// A `kubernetes` binding.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Binding {
    #[serde(default = "kubernetes")]
    pub name: String,
    pub api_version: Option<String>,
    pub kind: String,
    pub jq_filter: Option<String>,
    pub group: Option<String>,
    #[serde(default)]
    pub include_snapshots_from: Vec<String>,
    #[serde(default)]
    pub previous_object: bool,
    content: Option<String>,
    keep_full_objects_in_memory: Option<bool>,
    name_selector: Option<Names>,
    label_selector: Option<LabelSelector>,
    field_selector: Option<FieldSelector>,
    namespace: Option<Namespaces>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Names {
    match_names: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Namespaces {
    name_selector: Option<Names>,
    label_selector: Option<LabelSelector>,
}

fn reconcile() -> String {
    "reconcile".to_owned()
}

fn schedule() -> String {
    "schedule".to_owned()
}

fn kubernetes() -> String {
    "kubernetes".to_owned()
}

impl Document {
    /// Reads JSON, and YAML with the feature `test-yaml`.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with('{') {
            return serde_json::from_str(text).map_err(|error| format!("it is no document: {error}"));
        }
        yaml(text)
    }

    pub fn permissions(&self) -> &[Permission] {
        &self.permissions.kubernetes
    }

    pub fn http(&self) -> &[HttpPermission] {
        &self.permissions.http
    }

    /// Whether the hook runs at this stage of the life of modules.
    pub fn has_stage(&self, key: &str) -> bool {
        let order = match key {
            "beforeAll" => self.before_all,
            "afterAll" => self.after_all,
            "beforeHelm" => self.before_helm,
            "afterHelm" => self.after_helm,
            "beforeDeleteHelm" => self.before_delete_helm,
            "afterDeleteHelm" => self.after_delete_helm,
            _ => None,
        };
        order.is_some()
    }

    /// The snapshots that a trigger of this binding may open: its own, those of its group, those that it includes.
    pub fn snapshots(&self, binding: &str) -> Vec<String> {
        let (own, scheduled) = self.named(binding);
        let included = own.map(|own| &own.include_snapshots_from);
        let included = included.or(scheduled.map(|schedule| &schedule.include_snapshots_from));
        let mut names: Vec<String> = own.iter().map(|own| own.name.clone()).collect();
        names.extend(included.into_iter().flatten().cloned());
        names.extend(self.members(self.group(binding).as_deref()));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The snapshots that an answer for this binding may open.
    pub fn answer_snapshots(&self, binding: &Answering) -> Vec<String> {
        let mut names = binding.include_snapshots_from.clone();
        names.extend(self.members(binding.group.as_deref()));
        names.sort_unstable();
        names.dedup();
        names
    }

    fn members(&self, group: Option<&str>) -> impl Iterator<Item = String> {
        let members = self.kubernetes.iter().filter(move |it| group.is_some() && it.group.as_deref() == group);
        members.map(|binding| binding.name.clone())
    }

    /// The group of a binding.
    pub fn group(&self, binding: &str) -> Option<String> {
        let (own, scheduled) = self.named(binding);
        own.and_then(|own| own.group.clone()).or(scheduled.and_then(|schedule| schedule.group.clone()))
    }

    fn named(&self, binding: &str) -> (Option<&Binding>, Option<&Schedule>) {
        let own = self.kubernetes.iter().find(|known| known.name == binding);
        let scheduled = self.schedule.iter().find(|known| known.name == binding && own.is_none());
        (own, scheduled)
    }
}

#[cfg(feature = "test-yaml")]
fn yaml(text: &str) -> Result<Document, String> {
    yaml_serde::from_str(text).map_err(|error| format!("it is no document: {error}"))
}

#[cfg(not(feature = "test-yaml"))]
fn yaml(_: &str) -> Result<Document, String> {
    Err("it is YAML: give boathook-sdk the feature `test-yaml` under [dev-dependencies], or write JSON".to_owned())
}

impl Binding {
    /// Whether it is about objects of this kind.
    pub fn is_about(&self, api_version: &str, kind: &str, plural: &str) -> bool {
        let word = self.kind.to_lowercase();
        self.api_version.as_deref().is_none_or(|wanted| wanted == api_version)
            && (word == kind.to_lowercase() || word == plural)
    }

    /// Whether its selectors choose an object; `namespace` is the object's Namespace, if it is known.
    pub fn selects(&self, object: &Object, namespace: Option<&Object>) -> bool {
        let named = |names: &Option<Names>, name: &str| {
            names
                .as_ref()
                .is_none_or(|names| names.match_names.is_empty() || names.match_names.iter().any(|n| n == name))
        };
        let place = self.namespace.as_ref().is_none_or(|place| {
            named(&place.name_selector, object.namespace().unwrap_or_default())
                && place.label_selector.as_ref().is_none_or(|labels| namespace.is_some_and(|ns| labels.matches(ns)))
        });
        named(&self.name_selector, object.name())
            && self.label_selector.as_ref().is_none_or(|labels| labels.matches(object))
            && self.field_selector.as_ref().is_none_or(|fields| fields.matches(object))
            && place
    }

    /// What of an object is delivered.
    pub fn content(&self, object: &Object) -> Option<Value> {
        let kept = if self.keep_full_objects_in_memory == Some(false) { "none" } else { "full" };
        match self.content.as_deref().unwrap_or(kept) {
            "none" => None,
            "metadata" => {
                let part = |key: &str| object.get(key).cloned().unwrap_or_default();
                Some(json!({"apiVersion": part("apiVersion"), "kind": part("kind"), "metadata": part("metadata")}))
            }
            _ => Some(object.0.clone()),
        }
    }
}
