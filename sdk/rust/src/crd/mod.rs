//! The definition of a custom resource (CustomResourceDefinition), made of a hook's own types.
//!
//! `boathook build` compares it with the project's `crd.yaml`, and `boathook build --write-crd` writes the file. The types
//! derive [`schemars::JsonSchema`], whose attributes say what a type does not.
//!
//! ```
//! use boathook_sdk::crd::{Column, Definition};
//! use boathook_sdk::prelude::*;
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Spec {
//!     #[schemars(length(min = 1))]
//!     image: String,
//!     #[serde(default)]
//!     size: u32,
//! }
//!
//! #[derive(JsonSchema)]
//! #[serde(rename_all = "camelCase")]
//! struct Status {
//!     ready_replicas: u32,
//! }
//!
//! fn define() -> Definition {
//!     Definition::new::<Spec>("example.com/v1alpha1", "WebApp")
//!         .status::<Status>()
//!         .column(Column::string("Image", ".spec.image"))
//! }
//!
//! fn config() -> Config {
//!     Config::new().reconcile(Reconcile::new("apps", "example.com/v1alpha1", "WebApp").owns("v1", "ConfigMap"))
//! }
//! # fn reconcile(_: reconcile::Parent) -> Result<Desired> { Ok(Desired::new()) }
//!
//! boathook_sdk::hook!(config, reconcile = reconcile, define = define);
//! ```

mod schema;

use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

type Made = fn() -> Schema;

/// A custom resource.
#[derive(Clone)]
pub struct Definition {
    api_version: String,
    kind: String,
    spec: Made,
    status: Option<Made>,
    plural: Option<String>,
    singular: Option<String>,
    short_names: Vec<String>,
    categories: Vec<String>,
    cluster_scoped: bool,
    columns: Vec<Column>,
}

impl Definition {
    /// A custom resource with this type of its `spec`. `api_version` is `GROUP/VERSION`.
    pub fn new<Spec: JsonSchema>(api_version: &str, kind: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            spec: schema::of::<Spec>,
            status: None,
            plural: None,
            singular: None,
            short_names: Vec::new(),
            categories: Vec::new(),
            cluster_scoped: false,
            columns: Vec::new(),
        }
    }

    /// The type of its `status`. The definition also has what the operator writes, and none of its own fields is required.
    pub fn status<Status: JsonSchema>(mut self) -> Self {
        self.status = Some(schema::of::<Status>);
        self
    }

    /// Its plural. Without it, this is the kind in lower case with an `s`, `es` or `ies`.
    pub fn plural(mut self, plural: &str) -> Self {
        self.plural = Some(plural.to_owned());
        self
    }

    /// Its singular. Without it, this is the kind in lower case.
    pub fn singular(mut self, singular: &str) -> Self {
        self.singular = Some(singular.to_owned());
        self
    }

    /// Adds a short name for `kubectl`.
    pub fn short_name(mut self, name: &str) -> Self {
        self.short_names.push(name.to_owned());
        self
    }

    /// Adds a category, such as `all`.
    pub fn category(mut self, category: &str) -> Self {
        self.categories.push(category.to_owned());
        self
    }

    /// Its objects are in no namespace.
    pub fn cluster_scoped(mut self) -> Self {
        self.cluster_scoped = true;
        self
    }

    /// Adds a column of `kubectl get`.
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// The CustomResourceDefinition. The error names the field that it cannot express.
    pub fn to_value(&self) -> Result<Value, String> {
        let Self { api_version, kind, .. } = self;
        let (group, version) = api_version
            .split_once('/')
            .filter(|(group, version)| !group.is_empty() && !version.is_empty())
            .ok_or_else(|| {
                format!("{api_version:?} is not the apiVersion of a custom resource: write GROUP/VERSION")
            })?;
        let lower = kind.to_lowercase();
        let plural = self.plural.clone().unwrap_or_else(|| plural_of(&lower));
        let mut names = json!({"kind": kind, "plural": plural, "singular": self.singular.as_ref().unwrap_or(&lower)});
        if !self.short_names.is_empty() {
            add(&mut names, "shortNames", json!(self.short_names));
        }
        if !self.categories.is_empty() {
            add(&mut names, "categories", json!(self.categories));
        }
        let spec = schema::object((self.spec)(), &format!("{kind}.spec"))?;
        let status = self.status.map(|status| schema::object(status(), &format!("{kind}.status"))).transpose()?;
        let properties = json!({"spec": spec, "status": schema::status(status)});
        let mut of_version = json!({
            "name": version, "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": properties}},
        });
        if !self.columns.is_empty() {
            let columns = self.columns.iter().map(Column::to_value).collect();
            add(&mut of_version, "additionalPrinterColumns", columns);
        }
        let scope = if self.cluster_scoped { "Cluster" } else { "Namespaced" };
        Ok(json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {"group": group, "scope": scope, "names": names, "versions": [of_version]},
        }))
    }
}

/// A column of `kubectl get`.
#[derive(Clone, Debug)]
pub struct Column {
    name: String,
    of: &'static str,
    path: String,
    priority: u32,
    description: Option<String>,
}

impl Column {
    fn new(name: &str, of: &'static str, path: &str) -> Self {
        Self { name: name.to_owned(), of, path: path.to_owned(), priority: 0, description: None }
    }

    /// A text. A path is `.spec.image`, `.status.conditions[?(@.type=="Ready")].status`.
    pub fn string(name: &str, path: &str) -> Self {
        Self::new(name, "string", path)
    }

    /// An integer.
    pub fn integer(name: &str, path: &str) -> Self {
        Self::new(name, "integer", path)
    }

    /// A number.
    pub fn number(name: &str, path: &str) -> Self {
        Self::new(name, "number", path)
    }

    /// `true` or `false`.
    pub fn boolean(name: &str, path: &str) -> Self {
        Self::new(name, "boolean", path)
    }

    /// How long ago a time was.
    pub fn date(name: &str, path: &str) -> Self {
        Self::new(name, "date", path)
    }

    /// Columns above 0 are shown with `--output wide` only.
    pub fn priority(mut self, priority: u32) -> Self {
        self.priority = priority;
        self
    }

    /// Describes it.
    pub fn description(mut self, text: &str) -> Self {
        self.description = Some(text.to_owned());
        self
    }

    fn to_value(&self) -> Value {
        let mut value = json!({"name": self.name, "type": self.of, "jsonPath": self.path});
        if self.priority > 0 {
            add(&mut value, "priority", self.priority.into());
        }
        if let Some(description) = &self.description {
            add(&mut value, "description", description.as_str().into());
        }
        value
    }
}

/// What a function for `hook!(…, define = …)` returns: one definition, or several.
pub trait IntoDefinitions {
    /// The definitions.
    fn into_definitions(self) -> Vec<Definition>;
}

impl IntoDefinitions for Definition {
    fn into_definitions(self) -> Vec<Definition> {
        vec![self]
    }
}

impl IntoDefinitions for Vec<Definition> {
    fn into_definitions(self) -> Vec<Definition> {
        self
    }
}

impl<const N: usize> IntoDefinitions for [Definition; N] {
    fn into_definitions(self) -> Vec<Definition> {
        self.into()
    }
}

/// The texts of all definitions.
pub(crate) fn texts(definitions: Vec<Definition>) -> Result<Vec<String>, String> {
    let mut all: Vec<Value> = Vec::new();
    for definition in definitions {
        let value = definition.to_value()?;
        let name =
            |value: &Value| value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if all.iter().any(|known| name(known) == name(&value)) {
            return Err(format!("{} is defined twice", name(&value)));
        }
        all.push(value);
    }
    Ok(all.iter().map(Value::to_string).collect())
}

fn add(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn plural_of(word: &str) -> String {
    if ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end)) {
        return format!("{word}es");
    }
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests;
