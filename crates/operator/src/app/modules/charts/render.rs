//! Helm's engine: from a module's files and values to manifests.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, UNIX_EPOCH},
};

use boathook_core::{
    fair::Tenant,
    model::{CallError, CallReason, Caller, ListQuery, ObjectRef, error_chain},
};
use boathook_kube::discovery::DiscoveryError;
use boathook_modules::{Module, chart};
use boathook_sandbox::{
    Capabilities, Chart, ChartFile, KubeVersion, Lookup, LookupQuery, Operation, Release, RenderError, RenderRequest,
    Secret,
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use super::{
    super::{super::Services, releases::ReleaseError},
    hooks::Hook,
    record::Record,
};

/// How long the answer of discovery holds. Definitions that a module applies count at once.
const DISCOVERED: Duration = Duration::from_secs(30);
/// The most bytes of a list that a template looks up.
const MAX_LIST: usize = 32 << 20;

/// What a chart rendered to.
pub(super) struct Rendered {
    all: Arc<boathook_sandbox::Rendered>,
    pub hooks: Vec<Hook>,
    /// Of manifests and hooks.
    pub digest: String,
}

impl Rendered {
    fn new(all: Arc<boathook_sandbox::Rendered>) -> Self {
        let mut digest = Sha256::new();
        let mut add = |text: &str| {
            digest.update((text.len() as u64).to_le_bytes());
            digest.update(text);
        };
        for one in &all.manifests {
            add(&one.source);
            add(&one.text);
        }
        let hooks: Vec<_> = all.hooks.iter().map(hook).collect();
        for hook in &hooks {
            add(&hook.source);
            add(&hook.text);
        }
        let digest = digest.finalize().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        Self { all, hooks, digest }
    }

    /// Each manifest, with its template.
    pub fn manifests(&self) -> Vec<(&str, &str)> {
        self.all.manifests.iter().map(|one| (one.source.as_str(), one.text.as_str())).collect()
    }

    /// The definitions of the chart's dependencies. Its own are files of the module.
    pub fn definitions(&self) -> Vec<(&str, &str)> {
        let all = self.all.definitions.iter().map(|one| (one.source.as_str(), one.text.as_str()));
        all.filter(|(source, _)| source.contains("/charts/")).collect()
    }
}

fn hook(of: &boathook_sandbox::ChartHook) -> Hook {
    Hook {
        source: of.manifest.source.clone(),
        name: of.name.clone(),
        kind: of.kind.clone(),
        events: of.events.clone(),
        weight: of.weight,
        delete_policies: of.delete_policies.clone(),
        text: of.manifest.text.clone(),
    }
}

/// Renders the charts of modules.
pub(super) struct Renderer {
    services: Arc<Services>,
    /// What the API server serves, and when it said so.
    served: Mutex<Option<(Instant, Arc<Capabilities>)>>,
}

impl Renderer {
    pub fn new(services: Arc<Services>) -> Self {
        Self { services, served: Mutex::default() }
    }

    /// Renders a revision of a module's chart.
    pub async fn render(
        &self,
        caller: &Caller,
        namespace: &str,
        chart: &Arc<Chart>,
        values: &Value,
        (module, revision): (&Module, &Record),
    ) -> Result<Rendered, ReleaseError> {
        let request = RenderRequest {
            chart: chart.clone(),
            values: values.clone(),
            release: Release {
                name: module.name.as_str().to_owned(),
                namespace: namespace.to_owned(),
                revision: u32::try_from(revision.revision).unwrap_or(u32::MAX),
                operation: if revision.install { Operation::Install } else { Operation::Upgrade },
            },
            capabilities: self.capabilities().await?,
            skip_schema: false,
            now: UNIX_EPOCH + Duration::from_secs(revision.time),
            secret: Secret(revision.seed),
        };
        let tenant = Tenant::hook(caller.hook.as_str());
        let cluster = Arc::new(Cluster { services: self.services.clone(), caller: caller.clone() });
        let rendered = self.services.sandbox.charts().render(&tenant, request, cluster).await;
        rendered.map(Rendered::new).map_err(|error| match error {
            RenderError::Limit(_) => ReleaseError::Refused(format!("the chart: {error}")),
            // A template may fail because of what the cluster has, and does not have yet.
            _ => ReleaseError::Failed(format!("the chart: {error}")),
        })
    }

    /// What the API server serves may have changed.
    pub fn doubt(&self) {
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn capabilities(&self) -> Result<Arc<Capabilities>, ReleaseError> {
        let known = self.served.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, known)) = known.filter(|(since, _)| since.elapsed() < DISCOVERED) {
            return Ok(known);
        }
        let server = self.services.discovery.server().await;
        let server = server.map_err(|error| ReleaseError::Failed(error_chain(&error)))?;
        let (version, major, minor) = (server.version, server.major, server.minor);
        let kube = KubeVersion { version, major, minor };
        let made = Arc::new(Capabilities { kube, api_versions: server.api_versions, assumed: false });
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), made.clone()));
        Ok(made)
    }
}

/// A module's chart, if it has one, and the files of its definitions, as they are now.
pub(super) async fn read(module: &Module) -> Result<(Option<Arc<Chart>>, Vec<(String, String)>), ReleaseError> {
    let module = module.clone();
    let read = move || -> Result<_, String> {
        let definition = |path: &PathBuf| {
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((path.display().to_string(), text))
        };
        let definitions = module.crds.iter().map(definition).collect::<Result<_, String>>()?;
        let files = chart::of_module(&module).map_err(|error| error_chain(&error))?;
        let files = files.into_iter().map(|(path, content)| ChartFile { path, content }).collect();
        Ok((module.chart.map(|_| Arc::new(Chart::of_directory(files))), definitions))
    };
    let read = spawn_blocking(read).await.map_err(|error| ReleaseError::Failed(error.to_string()))?;
    read.map_err(ReleaseError::Failed)
}

/// Answers `lookup` with what the operator itself may read.
struct Cluster {
    services: Arc<Services>,
    caller: Caller,
}

impl Lookup for Cluster {
    fn lookup(&self, query: LookupQuery) -> BoxFuture<'_, Result<Option<String>, String>> {
        self.answer(query).boxed()
    }
}

impl Cluster {
    async fn answer(&self, query: LookupQuery) -> Result<Option<String>, String> {
        let LookupQuery { api_version, kind, namespace, name } = query;
        let resource = match self.services.discovery.resolve(&api_version, &kind).await {
            Ok(resource) => resource,
            Err(DiscoveryError::Unknown { .. }) => return Ok(None),
            Err(error) => return Err(error_chain(&error)),
        };
        let namespace = Some(namespace).filter(|namespace| resource.namespaced && !namespace.is_empty());
        if name.is_empty() {
            return self.list(api_version, kind, namespace).await.map(Some);
        }
        if resource.namespaced && namespace.is_none() {
            // Helm asks for it in no namespace, where there is none.
            return Ok(None);
        }
        let target = ObjectRef { api_version, kind, namespace, name };
        match self.services.operator.access.get(&self.caller, &target, None).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.reason == CallReason::NotFound => Ok(None),
            Err(error) => Err(refused(&error)),
        }
    }

    async fn list(&self, api_version: String, kind: String, namespace: Option<String>) -> Result<String, String> {
        let (mut items, mut bytes, mut continue_token) = (Vec::new(), 0, None);
        loop {
            let query = ListQuery {
                api_version: api_version.clone(),
                kind: kind.clone(),
                namespace: namespace.clone(),
                label_selector: None,
                field_selector: None,
                limit: None,
                continue_token,
            };
            let page =
                self.services.operator.access.list(&self.caller, &query).await.map_err(|error| refused(&error))?;
            bytes += page.items.iter().map(String::len).sum::<usize>();
            if bytes > MAX_LIST {
                return Err(format!("the list has more than {MAX_LIST} bytes: look up one object, or one namespace"));
            }
            items.extend(page.items.iter().filter_map(|item| serde_json::from_str::<Value>(item).ok()));
            continue_token = page.continue_token.filter(|token| !token.is_empty());
            if continue_token.is_none() {
                let list =
                    json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": {}, "items": items});
                return Ok(list.to_string());
            }
        }
    }
}

fn refused(error: &CallError) -> String {
    match error.reason {
        CallReason::ForbiddenByCluster => format!("{}: give the operator a role for this", error.message),
        _ => error.message.clone(),
    }
}
