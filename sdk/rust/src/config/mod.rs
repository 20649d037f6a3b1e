//! The configuration document, built from typed parts: what wakes a hook and what it may touch.
//!
//! It never checks values: the host does, and reports every error with its path.

mod admission;
mod conversion;
mod document;
mod kubernetes;
mod labels;
mod permission;
mod reconcile;
mod rules;
mod schedule;

pub use admission::{FailurePolicy, Mutating, Rule, Validating};
pub use conversion::Conversion;
pub use kubernetes::{Content, Kubernetes};
pub use labels::{Annotations, Labels};
pub use permission::{DirectoryPermission, HttpPermission, Permission};
pub use reconcile::{Adopt, Reconcile, Related};
pub use rules::{Limits, Retry};
pub use schedule::{MissedRuns, Schedule};

use document::{Fields, Node};
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
        self.0.to_string()
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
pub struct Config(Fields);

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// A document without bindings; a hook needs at least one.
    pub fn new() -> Self {
        let mut map = Fields::default();
        map.text("configVersion", "v1");
        Self(map)
    }

    /// Run when the operator starts. Hooks with this binding start in ascending order.
    pub fn on_startup(mut self, order: i32) -> Self {
        self.0.plain("onStartup", order);
        self
    }

    /// Run a global hook before modules, whenever values that all of them see change. Lower numbers go first.
    pub fn before_all(mut self, order: i32) -> Self {
        self.0.plain("beforeAll", order);
        self
    }

    /// Run a global hook when each module has been tried. Lower numbers go first.
    pub fn after_all(mut self, order: i32) -> Self {
        self.0.plain("afterAll", order);
        self
    }

    /// Run a module's hook before the module's chart is applied. Lower numbers go first.
    pub fn before_helm(mut self, order: i32) -> Self {
        self.0.plain("beforeHelm", order);
        self
    }

    /// Run a module's hook after the module's chart was applied. Lower numbers go first.
    pub fn after_helm(mut self, order: i32) -> Self {
        self.0.plain("afterHelm", order);
        self
    }

    /// Run a module's hook before the objects of the module's chart are deleted. Lower numbers go first.
    pub fn before_delete_helm(mut self, order: i32) -> Self {
        self.0.plain("beforeDeleteHelm", order);
        self
    }

    /// Run a module's hook after the objects of the module's chart were deleted. Lower numbers go first.
    pub fn after_delete_helm(mut self, order: i32) -> Self {
        self.0.plain("afterDeleteHelm", order);
        self
    }

    /// Run by the clock. May be given many times.
    pub fn schedule(mut self, binding: Schedule) -> Self {
        self.0.push("schedule", binding.0);
        self
    }

    /// Run when objects change. May be given many times.
    pub fn kubernetes(mut self, binding: Kubernetes) -> Self {
        self.0.push("kubernetes", binding.0);
        self
    }

    /// Say what the objects of a custom resource become. May be given many times; the hook needs the function
    /// `reconcile`.
    pub fn reconcile(mut self, binding: Reconcile) -> Self {
        self.0.push("reconcile", binding.0);
        self
    }

    /// Run when the API server asks whether a request may be. May be given many times; the hook needs the
    /// function `validate`.
    pub fn validating(mut self, binding: Validating) -> Self {
        self.0.push("kubernetesValidating", binding.0);
        self
    }

    /// Run when the API server asks what to change. May be given many times; the hook needs the function
    /// `mutate`.
    pub fn mutating(mut self, binding: Mutating) -> Self {
        self.0.push("kubernetesMutating", binding.0);
        self
    }

    /// Run when the API server needs objects in another version. May be given many times; the hook needs
    /// the function `convert`.
    pub fn conversion(mut self, binding: Conversion) -> Self {
        self.0.push("kubernetesCustomResourceConversion", binding.0);
        self
    }

    /// Ask for a permission. May be given many times; without any, every call of
    /// [`kube`](crate::kube) is forbidden. Watching needs none.
    pub fn permission(mut self, permission: Permission) -> Self {
        self.0.within("permissions", |fields| fields.push("kubernetes", permission.0));
        self
    }

    /// Ask for HTTP requests to hosts outside the cluster. May be given many times.
    pub fn http(mut self, permission: HttpPermission) -> Self {
        self.0.within("permissions", |fields| fields.push("http", permission.0));
        self
    }

    /// Ask for a directory of the operator's machine. May be given many times, each with another name.
    pub fn directory(mut self, permission: DirectoryPermission) -> Self {
        self.0.within("permissions", |fields| fields.push("directories", permission.0));
        self
    }

    /// Change the limits of a run.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.0.set("limits", Node::Map(limits.0));
        self
    }

    /// How failed runs are repeated, for all bindings that do not say otherwise.
    pub fn retry(mut self, retry: Retry) -> Self {
        self.0.set("retry", Node::Map(retry.0));
        self
    }

    /// How often the hook may run, by all its triggers together: once in `min_interval` on average
    /// (zero: no limit), and up to `burst` runs without waiting (0 counts as 1). Without it, as often
    /// as there is work.
    pub fn settings(mut self, min_interval: Duration, burst: u32) -> Self {
        self.0.within("settings", |fields| {
            fields.duration("executionMinInterval", min_interval);
            fields.plain("executionBurst", burst);
        });
        self
    }

    /// The object that Kubernetes Events about failed runs are attached to; without it the
    /// operator's own Namespace. `namespace` is `None` for objects that have none.
    pub fn failure_events(mut self, api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Self {
        self.0.within("failureEvents", |fields| {
            fields.within("regarding", |object| {
                object.text("apiVersion", api_version);
                object.text("kind", kind);
                if let Some(namespace) = namespace {
                    object.text("namespace", namespace);
                }
                object.text("name", name);
            });
        });
        self
    }

    /// Runs of this hook at the same time, on different objects. Default 1.
    pub fn concurrency(mut self, runs: u32) -> Self {
        self.0.plain("concurrency", runs);
        self
    }
}
