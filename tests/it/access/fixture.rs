//! An `Access` on an API server of its own, and what it reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::{Arc, Mutex};

use boathook_cluster::{Cluster, Options};
use boathook_core::{
    fair::Tenant,
    model::{CallError, Caller, HookName, ObjectRef, Operation, Patch, PatchBody, Permission, RunId},
};
use boathook_kube::{
    access::{Access, AccessConfig, JqRunner, Made, MadeVersion, Observer, Stored, WriteRecord},
    discovery::Discovery,
};
use boathook_sandbox::{FilterConfig, Filters};
use futures::{FutureExt, future::BoxFuture};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::support::filters::filters;

/// Programs without an operator.
struct Programs(Filters);

impl JqRunner for Programs {
    fn run(&self, hook: &HookName, program: &str, object: String) -> BoxFuture<'_, Result<String, String>> {
        let (tenant, program) = (Tenant::hook(hook.as_str()), program.to_owned());
        async move {
            let program = self.0.compile(&tenant, &program).await.map_err(|error| error.to_string())?;
            let outputs = program.run(&object.into()).await.map_err(|error| error.to_string())?;
            outputs.values().next().map(str::to_owned).ok_or_else(|| "the program gave nothing".to_owned())
        }
        .boxed()
    }
}

/// `verb object subresource? outcome code dry-run tries` of each write, and what each write made.
#[derive(Default)]
pub struct Records(Mutex<Vec<String>>, Mutex<Vec<String>>);

impl Observer for Records {
    fn wrote(&self, record: &WriteRecord<'_>) {
        let WriteRecord { verb, object, subresource, outcome, code, dry_run, tries, .. } = record;
        let subresource = subresource.map(|name| format!(" ({name})")).unwrap_or_default();
        let code = code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        let dry_run = if *dry_run { " dry-run" } else { "" };
        self.0.lock().unwrap().push(format!("{verb} {object}{subresource}: {outcome} {code}{dry_run} {tries}"));
    }

    fn stored(&self, stored: &Stored<'_>) {
        let made = match &stored.made {
            Made::Version(MadeVersion { uid, resource_version, certain, fields, .. }) => {
                let certain = if *certain { "certain" } else { "possible" };
                format!("{uid} {resource_version}: {certain} {}", fields.join(",")).trim_end().to_owned()
            }
            Made::Deletion { uid, marked } => format!("deletion {uid} {}", marked.as_deref().unwrap_or("-")),
            Made::Unknown => "unknown".to_owned(),
        };
        self.1.lock().unwrap().push(format!("{} {}: {made}", stored.verb, stored.object));
    }
}

impl Records {
    /// `verb object: uid version: certain fields` of each version, in order.
    pub fn stored(&self) -> Vec<String> {
        std::mem::take(&mut self.1.lock().unwrap())
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

pub struct Fixture {
    pub access: Access,
    pub records: Arc<Records>,
    pub client: kube::Client,
    pub namespace: String,
    _cluster: Option<Cluster>,
}

impl Fixture {
    /// A server with one namespace that no other test uses.
    pub async fn start(test: &str) -> Self {
        let (cluster, config) = match std::env::var_os("BOATHOOK_IT_KUBECONFIG") {
            None => {
                let cluster = Cluster::start(Options::default()).await.unwrap();
                let config = kube::Config::new(cluster.url().parse().unwrap());
                (Some(cluster), config)
            }
            Some(file) => {
                let kubeconfig = Kubeconfig::read_from(file).unwrap();
                let options = KubeConfigOptions::default();
                (None, kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap())
            }
        };
        let (access, records, client) = access(config, AccessConfig::default());
        let namespace = format!("it-{test}-{:08x}", rand::random::<u32>());
        let fixture = Self { access, records, client, namespace, _cluster: cluster };
        let name = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fixture.namespace}});
        fixture.raw("POST", "/api/v1/namespaces", Some(name)).await.unwrap();
        fixture
    }

    pub fn object(&self, kind: &str, name: &str) -> ObjectRef {
        ObjectRef {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: Some(self.namespace.clone()),
            name: name.into(),
        }
    }

    /// A ConfigMap as text, with `data`.
    pub fn config_map(&self, name: &str, data: Value) -> String {
        let metadata = json!({"name": name, "namespace": self.namespace});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}).to_string()
    }

    pub fn apply(&self, name: &str, data: Value) -> Operation {
        patch(
            self.object("ConfigMap", name),
            PatchBody::Apply { object: self.config_map(name, data), force: false, field_manager: None },
        )
    }

    /// A ConfigMap as the server has it, past everything under test.
    pub async fn live(&self, name: &str) -> Option<Value> {
        self.raw("GET", &format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace), None).await
    }

    pub async fn create(&self, name: &str, data: Value) -> Value {
        let path = format!("/api/v1/namespaces/{}/configmaps", self.namespace);
        let body = serde_json::from_str(&self.config_map(name, data)).unwrap();
        self.raw("POST", &path, Some(body)).await.unwrap()
    }

    pub async fn raw(&self, method: &str, path: &str, body: Option<Value>) -> Option<Value> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = http::Request::builder().method(method).uri(path).header("content-type", content_type);
        match self.client.request(request.body(body).unwrap()).await {
            Ok(value) => Some(value),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }
}

/// An `Access` without kube's own retries, as `Access::new` wants it.
pub fn access(mut config: kube::Config, bounds: AccessConfig) -> (Access, Arc<Records>, kube::Client) {
    config.default_retry = false;
    let client = kube::Client::try_from(config).unwrap();
    let records = Arc::new(Records::default());
    let discovery = Arc::new(Discovery::new(client.clone()));
    (
        Access::new(
            client.clone(),
            discovery,
            Arc::new(Programs(filters(FilterConfig::default()))),
            bounds,
            records.clone(),
        ),
        records,
        client,
    )
}

pub fn patch(target: ObjectRef, body: PatchBody) -> Operation {
    Operation::Patch(Patch { target, body, subresource: None, ignore_missing: false })
}

pub fn permission(groups: &[&str], resources: &[&str], verbs: &[&str], namespaces: &[&str]) -> Permission {
    let list = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    Permission {
        api_groups: list(groups),
        resources: list(resources),
        verbs: list(verbs),
        resource_names: Vec::new(),
        namespaces: list(namespaces),
        http: None,
        directory: None,
    }
}

pub fn caller(permissions: Vec<Permission>) -> Caller {
    Caller::new(HookName::new("probe").unwrap(), RunId::new("it", 1), permissions.into(), false)
}

/// A caller that may do all.
pub fn anyone() -> Caller {
    caller(vec![permission(&["*"], &["*"], &["*"], &[])])
}

pub fn parsed(object: &str) -> Value {
    serde_json::from_str(object).unwrap()
}

/// The object of a write that must have succeeded with one.
pub fn written(result: Result<Option<String>, CallError>) -> Value {
    parsed(&result.unwrap().expect("an object"))
}
