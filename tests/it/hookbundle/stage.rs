//! A local cluster that serves HookBundles, a registry, and the controller.

use std::sync::Arc;

use boathook_bundle::{Input, Packed, Policy, Reach, Store, pack};
use boathook_core::{model::Installer, tasks::Tasks};
use boathook_kube::election::Leadership;
use boathook_operator::hookbundle::{Lists, Options, SourceOptions, run};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::task::AbortOnDropHandle;

use super::definition;
use crate::{
    bundle::{hook, registry::Registry, send},
    support::{cluster::TestCluster, until},
};

pub const NAMESPACE: &str = "team";

pub struct Stage {
    pub cluster: TestCluster,
    pub registry: Registry,
    /// Registries of tests are on the loopback.
    pub reach: Reach,
    store: TempDir,
}

/// Ends the controller.
pub type Keeping = AbortOnDropHandle<()>;

impl Stage {
    pub async fn new() -> Self {
        Self::on(definition::cluster().await).await
    }

    /// On a cluster that need not serve HookBundles yet.
    pub async fn on(cluster: TestCluster) -> Self {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        cluster.admin.create(&namespace).await.unwrap();
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": NAMESPACE}});
        cluster.admin.create(&account).await.unwrap();
        let (registry, store) = (Registry::start(), tempfile::tempdir().unwrap());
        Self { cluster, registry, reach: Reach::Anywhere, store }
    }

    /// The store is empty from now on.
    pub fn forget(&mut self) {
        self.store = tempfile::tempdir().unwrap();
    }

    pub fn keep(&self, installer: Arc<dyn Installer>) -> Keeping {
        self.keep_with(installer, None)
    }

    /// As a replica that leads when the test says so.
    pub fn keep_led(&self, installer: Arc<dyn Installer>, leadership: Leadership) -> Keeping {
        self.keep_as(installer, None, leadership, Tasks::default())
    }

    /// With its long-lived tasks among these.
    pub fn keep_among(&self, installer: Arc<dyn Installer>, tasks: Tasks) -> Keeping {
        self.keep_as(installer, None, Leadership::alone(), tasks)
    }

    pub fn keep_with(&self, installer: Arc<dyn Installer>, policy: Option<Policy>) -> Keeping {
        self.keep_as(installer, policy, Leadership::alone(), Tasks::default())
    }

    fn keep_as(
        &self,
        installer: Arc<dyn Installer>,
        policy: Option<Policy>,
        leadership: Leadership,
        tasks: Tasks,
    ) -> Keeping {
        let options = self.options(policy, leadership, Lists::default());
        AbortOnDropHandle::new(tokio::spawn(run(self.cluster.admin.client.clone(), installer, options, tasks)))
    }

    /// By another client of the cluster, and with these lists.
    pub fn keep_by(&self, client: kube::Client, installer: Arc<dyn Installer>, lists: Lists) -> Keeping {
        let options = self.options(None, Leadership::alone(), lists);
        AbortOnDropHandle::new(tokio::spawn(run(client, installer, options, Tasks::default())))
    }

    fn options(&self, policy: Option<Policy>, leadership: Leadership, lists: Lists) -> Options {
        let store = Store::open(self.store.path()).unwrap();
        let sources = SourceOptions { store, policy, reach: self.reach.clone(), ca: Vec::new() };
        let (unconfined, instance) = (vec!["ops".to_owned()], "test".to_owned());
        Options { sources, unconfined, instance, leadership, lists }
    }

    /// Pushes a bundle with a hook that gets this resource, as `team/NAME:v1`. Gives its digest.
    pub async fn push(&self, name: &str, resource: &str) -> String {
        let packed = packed(resource);
        send(&packed, &self.registry.place(&format!("team/{name}:v1"))).await;
        packed.manifest.digest.to_string()
    }

    /// A HookBundle of `team/NAME:v1`, with what is merged into its spec.
    pub async fn bundle(&self, name: &str, more: Value) -> Value {
        let mut spec = json!({
            "source": {"oci": {"reference": format!("{}/team/{name}:v1", self.registry.host), "insecure": true}},
            "verification": {"unsigned": true},
        });
        merge(&mut spec, more);
        let object = object(name, spec);
        self.cluster.admin.apply(&object).await.unwrap()
    }

    pub async fn get(&self, name: &str) -> Option<Value> {
        self.cluster.admin.get(&object(name, json!({}))).await.unwrap()
    }

    /// Merges into the spec.
    pub async fn change(&self, name: &str, spec: Value) {
        self.cluster.admin.apply(&object(name, spec)).await.unwrap();
    }

    pub async fn delete(&self, name: &str) {
        self.cluster.admin.delete(&object(name, json!({}))).await.unwrap();
    }

    /// Waits for a status.
    pub async fn status(&self, name: &str, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let last = std::cell::RefCell::new(Value::Null);
        let look = async || {
            let found = self.get(name).await?;
            *last.borrow_mut() = found["status"].clone();
            is(&found["status"]).then(|| found["status"].clone())
        };
        let waited = tokio::time::timeout(crate::support::PATIENCE / 2, until(what, look)).await;
        waited.unwrap_or_else(|_| panic!("never: {what}: {:#}", last.borrow()))
    }

    /// Waits for a condition: `Ready=True/HooksReady`.
    pub async fn condition(&self, name: &str, wanted: &str) -> Value {
        self.status(name, wanted, |status| shown(status).iter().any(|condition| condition.starts_with(wanted))).await
    }

    /// The reasons of the Events about a HookBundle, ordered.
    pub async fn events(&self, name: &str) -> Vec<String> {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let list: Value = self.cluster.admin.client.request(request).await.unwrap();
        let about = |event: &&Value| event["regarding"]["name"] == name && event["regarding"]["kind"] == "HookBundle";
        let events = list["items"].as_array().unwrap().iter().filter(about);
        let text = |event: &Value| format!("{} {}", event["type"].as_str().unwrap(), event["reason"].as_str().unwrap());
        let mut events: Vec<_> = events.map(text).collect();
        events.sort();
        events
    }
}

pub fn packed(resource: &str) -> Packed {
    let component = format!("a component for {resource}");
    pack(Input { hooks: vec![hook("copy", component.as_bytes(), resource)], ..Input::default() }).unwrap()
}

fn object(name: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "boathook.dev/v1alpha1", "kind": "HookBundle",
        "metadata": {"name": name, "namespace": NAMESPACE},
    });
    if spec.as_object().is_some_and(|spec| !spec.is_empty()) {
        object["spec"] = spec;
    }
    object
}

fn merge(to: &mut Value, from: Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                match (to.get_mut(&key), value) {
                    (_, Value::Null) => drop(to.remove(&key)),
                    (Some(there), value) => merge(there, value),
                    (None, value) => drop(to.insert(key, value)),
                }
            }
        }
        (to, from) => *to = from,
    }
}

/// `TYPE=STATUS/REASON: MESSAGE` of each condition.
pub fn shown(status: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let each = status["conditions"].as_array().into_iter().flatten();
    each.map(|c| format!("{}={}/{}: {}", text(&c["type"]), text(&c["status"]), text(&c["reason"]), text(&c["message"])))
        .collect()
}

/// A rule that allows to get a resource.
pub fn get(resource: &str) -> Value {
    json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]})
}
