//! Modules of a cluster for commands: their history, and what an admin asks for. The operator need not run.

use std::collections::BTreeMap;

use boathook_modules::ModuleName;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::charts::{
    record::{self, Record},
    revisions::{self, Content, Entry, Outcome},
};

/// Who writes for commands.
pub(super) const MANAGER: &str = "boathook-modules";

/// A command that cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// What is asked for makes no sense, or is not there.
    #[error("{0}")]
    Wrong(String),
    #[error("{what}")]
    Request {
        what: String,
        #[source]
        error: Box<kube::Error>,
    },
}

pub(super) fn wrong<T>(why: impl Into<String>) -> Result<T, CommandError> {
    Err(CommandError::Wrong(why.into()))
}

/// The modules of an operator.
#[derive(Clone)]
pub struct InCluster {
    pub(super) client: Client,
    /// The operator's.
    pub(super) namespace: String,
}

impl InCluster {
    pub fn new(client: Client, namespace: String) -> Self {
        Self { client, namespace }
    }

    pub(super) fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// What went wrong with an object of the operator's namespace.
    pub(super) fn unreachable(&self, what: &str) -> impl FnOnce(kube::Error) -> CommandError + use<> {
        let what = format!("cannot read or write {what} in the namespace {}", self.namespace);
        move |error| CommandError::Request { what, error: Box::new(error) }
    }

    /// The revisions of a module, the newest last.
    ///
    /// # Errors
    /// The module is not installed, or its Secret cannot be read.
    pub async fn history(&self, module: &ModuleName) -> Result<Vec<Entry>, CommandError> {
        Ok(self.record(module).await?.revisions())
    }

    async fn record(&self, module: &ModuleName) -> Result<Record, CommandError> {
        let name = record::reference(&self.namespace, module).name;
        let found = self.secrets().get_opt(&name).await.map_err(self.unreachable(&format!("the Secret {name}")))?;
        let Some(secret) = found else {
            return wrong(format!(
                "the module {module} is not installed in the namespace {}: there is no Secret {name}; --namespace names the \
                 operator's namespace",
                self.namespace
            ));
        };
        read(&secret)
    }

    /// The records of all modules that are installed.
    pub(super) async fn records(&self) -> Result<BTreeMap<ModuleName, Record>, CommandError> {
        let params = ListParams::default().labels(record::LABEL);
        let found = self.secrets().list(&params).await.map_err(self.unreachable("Secrets"))?;
        let of = |secret: &Secret| -> Option<Result<_, CommandError>> {
            let module = record::module(&value(secret))?;
            Some(read(secret).map(|record| (module, record)))
        };
        found.items.iter().filter_map(of).collect()
    }

    /// What a revision of the module rendered to.
    pub(super) async fn content(&self, module: &ModuleName, entry: &Entry) -> Result<Content, CommandError> {
        let lost = |why: String| {
            CommandError::Wrong(format!("the manifests of revision {} of {module} are lost: {why}", entry.revision))
        };
        let (mut pieces, mut parts) = (Vec::new(), 1);
        while pieces.len() < parts {
            let name = revisions::reference(&self.namespace, module, entry.revision, pieces.len()).name;
            let what = format!("the Secret {name}");
            let found = self.secrets().get_opt(&name).await.map_err(self.unreachable(&what))?;
            let secret = found.ok_or_else(|| lost(format!("there is no Secret {name}")))?;
            let piece = revisions::piece(&value(&secret)).map_err(lost)?;
            parts = piece.parts;
            pieces.push(piece);
        }
        Content::of(&pieces, &entry.digest).map_err(lost)
    }

    /// Asks the operator for the manifests of a revision. Without one, it is the newest that was deployed and has other
    /// manifests. Returns its number.
    ///
    /// # Errors
    /// There is no such revision.
    pub async fn roll_back(&self, module: &ModuleName, to: Option<u64>) -> Result<u64, CommandError> {
        let record = self.record(module).await?;
        if record.is_ending() {
            return wrong(format!("the module {module} is being deleted: turn it on first"));
        }
        let all = record.revisions();
        let known = || all.iter().map(|entry| entry.revision.to_string()).collect::<Vec<_>>().join(", ");
        let entry = match to {
            Some(to) => all.iter().find(|entry| entry.revision == to).ok_or_else(|| {
                CommandError::Wrong(format!("revision {to} of {module} is not kept; there are {}", known()))
            })?,
            None => {
                let earlier = |entry: &&Entry| entry.outcome == Outcome::Superseded && entry.digest != record.digest;
                all.iter().rev().find(earlier).ok_or_else(|| {
                    CommandError::Wrong(format!(
                        "no earlier revision of {module} was deployed with other manifests: name one of {} with --to",
                        known()
                    ))
                })?
            }
        };
        self.content(module, entry).await?;
        self.ask(module, &entry.revision.to_string()).await?;
        Ok(entry.revision)
    }

    /// Asks the operator for what the chart and the values give.
    ///
    /// # Errors
    /// Nothing was rolled back.
    pub async fn end_rollback(&self, module: &ModuleName) -> Result<(), CommandError> {
        if self.record(module).await?.rollback_to.is_none() {
            return wrong(format!("the module {module} is not rolled back: it has what its chart and its values give"));
        }
        self.ask(module, revisions::END).await
    }

    async fn ask(&self, module: &ModuleName, what: &str) -> Result<(), CommandError> {
        let name = record::reference(&self.namespace, module).name;
        let patch = json!({"metadata": {"annotations": {revisions::ROLLBACK: what}}});
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let written = self.secrets().patch(&name, &params, &Patch::Merge(&patch)).await;
        written.map(drop).map_err(self.unreachable(&format!("the Secret {name}")))
    }

    /// Writes into the configuration whether a module is on. Returns false if it says so already.
    ///
    /// # Errors
    /// The ConfigMap cannot be written.
    pub async fn turn(&self, config_map: &str, module: &ModuleName, on: bool) -> Result<bool, CommandError> {
        let (key, text) = (format!("{}Enabled", module.key()), on.to_string());
        let failed = || self.unreachable(&format!("the ConfigMap {config_map}"));
        let found = self.config_maps().get_opt(config_map).await.map_err(failed())?;
        let Some(found) = found else {
            let metadata = ObjectMeta { name: Some(config_map.to_owned()), ..ObjectMeta::default() };
            let data = Some(BTreeMap::from([(key, text)]));
            let map = ConfigMap { metadata, data, ..ConfigMap::default() };
            let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            return self.config_maps().create(&params, &map).await.map(|_| true).map_err(failed());
        };
        let before = found.data.as_ref().and_then(|data| data.get(&key));
        if before.is_some_and(|before| before.trim() == text) {
            return Ok(false);
        }
        let patch = json!({"data": {key: text}});
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let written = self.config_maps().patch(config_map, &params, &Patch::Merge(&patch)).await;
        written.map(|_| true).map_err(failed())
    }
}

fn value(secret: &Secret) -> Value {
    serde_json::to_value(secret).unwrap_or_default()
}

fn read(secret: &Secret) -> Result<Record, CommandError> {
    match record::read(&value(secret)) {
        Ok(read) => Ok(read.record),
        Err(error) => wrong(format!("{}: {error}", secret.name_any())),
    }
}
