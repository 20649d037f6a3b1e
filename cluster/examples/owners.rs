//! A cluster inside a program: an owner, a dependent, and what becomes of it.
//!
//! Never needs kubectl: `cargo run -p boathook-cluster --example owners`.

use boathook_cluster::{Cluster, Options, State};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, DeleteParams};

const OBJECTS: &str = "
{ apiVersion: v1, kind: ConfigMap, metadata: { name: owner } }
---
apiVersion: v1
kind: Secret
metadata:
  name: dependent
  ownerReferences: [{ apiVersion: v1, kind: ConfigMap, name: owner, uid: any }]
";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let state = State::parse("OBJECTS", OBJECTS)?;
    let cluster = Cluster::start(Options::default().state(state)).await?;
    let owners: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    owners.delete("owner", &DeleteParams::default()).await?;
    while secrets.get_opt("dependent").await?.is_some() {
        tokio::task::yield_now().await;
    }
    println!("{}", cluster.save());
    cluster.shutdown().await;
    Ok(())
}
