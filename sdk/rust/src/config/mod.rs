//! The configuration document, built from typed parts: what wakes a hook and what it may touch.
//!
//! It never checks values: the host does, and reports every error with its path.

mod kubernetes;
mod labels;
mod permission;
mod rules;
mod schedule;

pub use kubernetes::{Content, Kubernetes};
pub use labels::Labels;
pub use permission::Permission;
pub use rules::{Limits, Retry};
pub use schedule::{MissedRuns, Schedule};

use serde_json::{Map, Value};
use std::time::Duration;

/// What a hook's `config` function may return.
///
/// Implemented by [`Config`] and by texts, which are taken as YAML or JSON.
pub trait IntoConfig {
    /// The document as text, YAML or JSON.
    fn into_config(self) -> String;
}

impl IntoConfig for Config {
    fn into_config(self) -> String {
        Value::Object(self.0).to_string()
    }
}

impl IntoConfig for String {
    fn into_config(self) -> String {
        self
    }
}

impl IntoConfig for &str {
    fn into_config(self) -> String {
        self.to_owned()
    }
}

/// A configuration document of version `v1`.
///
/// ```
/// use boathook_sdk::prelude::*;
///
/// let config = Config::new()
///     .on_startup(10)
///     .schedule(Schedule::new("*/5 * * * *").name("sweep"))
///     .kubernetes(Kubernetes::new("pods").api_version("v1").kind("Pod").label("app", "web"))
///     .permission(Permission::new().resources(["pods"]).verbs(["get", "delete"]));
/// assert!(config.into_config().contains(r#""crontab":"*/5 * * * *""#));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config(Map<String, Value>);

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// A document without bindings; a hook needs at least one.
    pub fn new() -> Self {
        let mut map = Map::new();
        set(&mut map, "configVersion", "v1");
        Self(map)
    }

    /// Run when the operator starts. Hooks with this binding start in ascending order.
    pub fn on_startup(mut self, order: i32) -> Self {
        set(&mut self.0, "onStartup", order);
        self
    }

    /// Run by the clock. May be given many times.
    pub fn schedule(mut self, binding: Schedule) -> Self {
        push(&mut self.0, "schedule", binding.0);
        self
    }

    /// Run when objects change. May be given many times.
    pub fn kubernetes(mut self, binding: Kubernetes) -> Self {
        push(&mut self.0, "kubernetes", binding.0);
        self
    }

    /// Ask for a permission. May be given many times; without any, every call of
    /// [`kube`](crate::kube) is forbidden. Watching needs none.
    pub fn permission(mut self, permission: Permission) -> Self {
        push(object(&mut self.0, "permissions"), "kubernetes", permission.0);
        self
    }

    /// Change the limits of a run.
    pub fn limits(mut self, limits: Limits) -> Self {
        set(&mut self.0, "limits", limits.0);
        self
    }

    /// How failed runs are repeated, for all bindings that do not say otherwise.
    pub fn retry(mut self, retry: Retry) -> Self {
        set(&mut self.0, "retry", retry.0);
        self
    }

    /// Runs of this hook at the same time, on different objects. Default 1.
    pub fn concurrency(mut self, runs: u32) -> Self {
        set(&mut self.0, "concurrency", runs);
        self
    }
}

/// Sets a key.
fn set(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    map.insert(key.to_owned(), value.into());
}

/// Sets a key to a list of texts.
fn set_list<S: Into<String>>(map: &mut Map<String, Value>, key: &str, texts: impl IntoIterator<Item = S>) {
    let texts: Vec<Value> = texts.into_iter().map(|t| Value::String(t.into())).collect();
    set(map, key, texts);
}

/// The map under a key; made when it is missing.
fn object<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let slot = map.entry(key.to_owned()).or_insert(Value::Null);
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(inner) => inner,
        _ => unreachable!("made an object above"),
    }
}

/// Appends to the list under a key; it is made when it is missing.
fn push(map: &mut Map<String, Value>, key: &str, item: Map<String, Value>) {
    let slot = map.entry(key.to_owned()).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(list) = slot {
        list.push(Value::Object(item));
    }
}

/// The document's spelling of a duration: `10s`, `250ms`.
fn duration(time: Duration) -> String {
    let ms = time.as_millis();
    if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}
