//! A cluster that asks an operator outside of it, by URL: what the tests of webhooks stand on.
//! It never answers a webhook itself, and never writes a registration.

pub mod reviewer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::config::Kubeconfig;
use serde_json::Value;

use crate::harness::{Cluster, Needs, Operator, Said, Test, eventually, port};
use crate::objects::create_namespace;

/// The operator's namespace, which webhooks leave out.
pub const OWN: &str = "boathook";
/// The Secret with its certificates.
pub const SECRET: &str = "boathook-webhook-certificates";
/// Those that have it.
pub const MANAGED: &str = "--selector=app.kubernetes.io/managed-by=boathook";

pub struct Site {
    pub cluster: Arc<Cluster>,
    /// Its namespace is the operator's.
    pub kubeconfig: PathBuf,
    /// Where the operator is asked; the same after a restart.
    pub address: String,
    dir: PathBuf,
}

impl Site {
    pub async fn new(test: &Test) -> Self {
        Self::with(test, Needs::default()).await
    }

    pub async fn with(test: &Test, needs: Needs) -> Self {
        let cluster = test.own_cluster_with(needs).await;
        create_namespace(&cluster.client, OWN, &[]).await;
        let kubeconfig = own_kubeconfig(&cluster.kubeconfig, &test.dir().join("operator-kubeconfig"));
        let address = format!("127.0.0.1:{}", port());
        Self { cluster, kubeconfig, address, dir: test.dir().to_owned() }
    }

    /// Starts the operator with these hooks, and those of its predecessor; not ready yet.
    pub async fn operator(&self, hooks: &[&str]) -> Operator {
        self.operator_with(hooks, &[]).await
    }

    pub async fn operator_with(&self, hooks: &[&str], flags: &[&str]) -> Operator {
        let url = format!("https://{}", self.address);
        let own = ["--webhook-listen", self.address.as_str(), "--webhook-url", url.as_str()];
        Operator::start_with(&self.dir, &self.kubeconfig, hooks, &[own.as_slice(), flags].concat()).await
    }

    /// Takes a hook out of the operator's directory.
    pub fn remove_hook(&self, name: &str) {
        std::fs::remove_file(self.dir.join("hooks").join(format!("{name}.wasm"))).expect("remove a hook");
    }

    /// A file with this object, for kubectl.
    pub fn file(&self, name: &str, object: &Value) -> String {
        let file = self.dir.join(name);
        std::fs::write(&file, object.to_string()).expect("write a manifest");
        text(&file)
    }

    /// Runs kubectl, and waits until it says what `find` takes: the API server acts on a registration, and a hook on
    /// a snapshot, a moment after it is there.
    pub async fn until_said<T>(&self, what: &str, arguments: &[&str], find: impl Fn(&Said) -> Option<T>) -> T {
        eventually(what, async || {
            let said = self.cluster.kubectl_says(arguments).await;
            find(&said).ok_or_else(|| format!("{said:?}"))
        })
        .await
    }

    /// An object as JSON, if it is there: kind, name, and its namespace as a flag.
    pub async fn object(&self, what: &[&str]) -> Option<Value> {
        let flags = ["--ignore-not-found", "--output=json"];
        let found = self.cluster.kubectl(&[["get"].as_slice(), what, &flags].concat()).await;
        (!found.trim().is_empty()).then(|| serde_json::from_str(&found).expect("kubectl prints JSON"))
    }

    /// Waits until an object is as `find` wants it.
    pub async fn until<T>(&self, what: &[&str], find: impl Fn(&Value) -> Option<T>) -> T {
        eventually(&format!("{} is as it should be", what.join(" ")), async || {
            let object = self.object(what).await.ok_or("it is not there")?;
            find(&object).ok_or_else(|| object.to_string())
        })
        .await
    }

    /// Waits until an object is gone.
    pub async fn until_gone(&self, what: &[&str]) {
        eventually(&format!("{} is gone", what.join(" ")), async || match self.object(what).await {
            None => Ok(()),
            Some(object) => Err(object.to_string()),
        })
        .await;
    }

    /// The names of all webhook configurations that an operator made: `KIND NAME`.
    pub async fn registered(&self) -> Vec<String> {
        let mut all = Vec::new();
        for kind in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
            let found = self.cluster.kubectl(&["get", kind, MANAGED, "--output=name"]).await;
            all.extend(found.lines().filter_map(|line| Some(format!("{kind} {}", line.split_once('/')?.1))));
        }
        all
    }
}

/// The kubeconfig with the operator's namespace in it.
fn own_kubeconfig(from: &Path, to: &Path) -> PathBuf {
    let config = Kubeconfig::read_from(from).expect("read a kubeconfig");
    let mut config = serde_json::to_value(config).expect("a kubeconfig as data");
    config["contexts"][0]["context"]["namespace"] = OWN.into();
    std::fs::write(to, config.to_string()).expect("write a kubeconfig");
    to.to_owned()
}

pub fn text(path: &Path) -> String {
    path.to_str().expect("paths of tests are texts").to_owned()
}
