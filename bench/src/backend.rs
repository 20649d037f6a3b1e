//! The API server of a measurement: the real control plane if it was built, or the local cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use k8s_openapi::api::{
    authentication::v1::TokenRequest, core::v1::ServiceAccount, networking::v1::ServiceCIDR,
    rbac::v1::ClusterRoleBinding,
};
use kube::{
    Api, Client, Config, Resource,
    api::{Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use crate::{Paths, bound, process::Process};

/// The contender's name in the audit log.
pub const CONTENDER: &str = "system:serviceaccount:default:contender";

/// A running API server.
pub struct Backend {
    /// A client of the bench's own.
    pub client: Client,
    /// For the contender.
    pub kubeconfig: PathBuf,
    /// Where each request is written to, if it was started for that.
    pub audit: Option<PathBuf>,
    _process: Process,
    _directory: tempfile::TempDir,
}

impl Backend {
    /// Starts an empty one and waits until it serves.
    pub async fn start(paths: &Paths) -> Result<Self> {
        Self::start_with(paths, false).await
    }

    /// Starts the real one with an audit log. Its contenders are [`CONTENDER`] and may do everything, and there are addresses
    /// for thousands of Services.
    pub async fn audited(paths: &Paths) -> Result<Self> {
        let mut backend = Self::start_with(paths, true).await?;
        let client = &backend.client;
        apply::<ServiceAccount>(Api::default_namespaced(client.clone()), json!({"metadata": {"name": "contender"}}))
            .await?;
        let may_do_everything = json!({
            "metadata": {"name": "contender"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "contender", "namespace": "default"}],
        });
        apply::<ClusterRoleBinding>(Api::all(client.clone()), may_do_everything).await?;
        let addresses = json!({"metadata": {"name": "many"}, "spec": {"cidrs": ["10.1.0.0/16"]}});
        apply::<ServiceCIDR>(Api::all(client.clone()), addresses).await?;
        // No controller does it.
        let is_ready = json!({"type": "Ready", "status": "True", "reason": "Bench", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let status = Patch::Merge(json!({"status": {"conditions": [is_ready]}}));
        Api::<ServiceCIDR>::all(client.clone()).patch_status("many", &PatchParams::default(), &status).await?;
        let token = token(client).await?;
        backend.kubeconfig = with_token(&backend.kubeconfig, &token)?;
        Ok(backend)
    }

    async fn start_with(paths: &Paths, audited: bool) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let kubeconfig = directory.path().join("kubeconfig");
        let audit = audited.then(|| directory.path().join("audit.log"));
        let mut command = match &paths.apiserver {
            Some(binary) => {
                let mut command = bound::command(binary)?;
                command.arg("--data").arg(directory.path().join("data"));
                if let Some(log) = &audit {
                    command.arg("--audit-log").arg(log);
                }
                command
            }
            None => {
                let mut command = bound::command(&paths.boathook)?;
                command.arg("cluster");
                command
            }
        };
        command.arg("--write-kubeconfig").arg(&kubeconfig);
        let process = Process::start_until_ready(&mut command, &directory.path().join("log")).await?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(&kubeconfig)?, &options).await?;
        let client = Client::try_from(config)?;
        Ok(Self { client, kubeconfig, audit, _process: process, _directory: directory })
    }

    /// What it is, for the report.
    pub async fn describe(&self, paths: &Paths) -> Result<String> {
        let version = self.client.apiserver_version().await?.git_version;
        Ok(match paths.apiserver {
            Some(_) => format!("kube-apiserver {version} with etcd"),
            None => format!("local cluster ({version})"),
        })
    }
}

async fn apply<K>(api: Api<K>, mut object: Value) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), json!(K::api_version(&())));
        fields.insert("kind".to_owned(), json!(K::kind(&())));
    }
    let applied = api.patch(&name, &PatchParams::apply("bench").force(), &Patch::Apply(object)).await;
    applied.with_context(|| format!("cannot create the {} {name}", K::kind(&())))?;
    Ok(())
}

async fn token(client: &Client) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    let request: TokenRequest =
        serde_json::from_value(json!({"metadata": {}, "spec": {"audiences": [], "expirationSeconds": 86400}}))?;
    let answer = accounts.create_token_request("contender", &PostParams::default(), &request).await?;
    answer.status.and_then(|status| status.token).context("no token")
}

/// A copy of the kubeconfig, beside it, for who has this token.
fn with_token(kubeconfig: &Path, token: &str) -> Result<PathBuf> {
    let mut config = serde_json::to_value(Kubeconfig::read_from(kubeconfig)?)?;
    let user = config.pointer_mut("/users/0/user").context("the kubeconfig has no user")?;
    *user = json!({"token": token});
    let path = kubeconfig.with_file_name("contender.kubeconfig");
    std::fs::write(&path, config.to_string())?;
    Ok(path)
}
