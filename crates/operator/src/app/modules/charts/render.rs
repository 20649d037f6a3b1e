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
use boathook_kube::{
    access::Access,
    discovery::{Discovery, DiscoveryError},
};
use boathook_modules::{Module, chart};
use boathook_sandbox::{
    Capabilities, Chart, ChartFile, KubeVersion, Lookup, LookupQuery, Operation, Release, RenderError, RenderRequest,
    Sandbox, Secret,
};
use futures::{FutureExt as _, future::BoxFuture};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{
    super::releases::ReleaseError,
    hooks::Hook,
    record::Record,
    revisions::{Content, Inputs, Manifest},
};

/// How long the answer of discovery holds. Definitions that a module applies count at once.
const DISCOVERED: Duration = Duration::from_secs(30);
/// The most bytes of a list that a template looks up.
const MAX_LIST: usize = 32 << 20;

/// What a chart rendered to.
pub(in super::super) struct Rendered {
    pub content: Content,
    /// Of manifests and hooks.
    pub digest: String,
    /// The definitions of the chart's dependencies, each with its file. Its own are files of the module.
    definitions: Vec<(String, String)>,
}

impl Rendered {
    fn new(all: &boathook_sandbox::Rendered) -> Self {
        let manifest =
            |one: &boathook_sandbox::Manifest| Manifest { source: one.source.clone(), text: one.text.clone() };
        let manifests = all.manifests.iter().map(manifest).collect();
        let content = Content { manifests, hooks: all.hooks.iter().map(hook).collect() };
        let of_others = all.definitions.iter().filter(|one| one.source.contains("/charts/"));
        let definitions = of_others.map(|one| (one.source.clone(), one.text.clone())).collect();
        Self { digest: content.digest(), content, definitions }
    }

    /// The definitions of the chart's dependencies.
    pub fn definitions(&self) -> Vec<(&str, &str)> {
        self.definitions.iter().map(|(source, text)| (source.as_str(), text.as_str())).collect()
    }
}

impl From<Content> for Rendered {
    /// What was applied before. Definitions never go back.
    fn from(content: Content) -> Self {
        Self { digest: content.digest(), content, definitions: Vec::new() }
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

/// What rendering asks: the sandbox, and the cluster.
#[derive(Clone)]
pub(in super::super) struct Sources {
    pub sandbox: Arc<Sandbox>,
    pub discovery: Arc<Discovery>,
    pub access: Access,
}

/// Renders the charts of modules.
pub(in super::super) struct Renderer {
    sources: Sources,
    /// What the API server serves, and when it said so.
    served: Mutex<Option<(Instant, Arc<Capabilities>)>>,
}

/// What is rendered, and who looks things up for it.
pub(in super::super) struct Request<'a> {
    pub caller: &'a Caller,
    /// That of the release.
    pub namespace: &'a str,
    pub module: &'a Module,
    pub chart: &'a Arc<Chart>,
    pub values: &'a Value,
    pub inputs: &'a Inputs,
}

impl Renderer {
    pub fn new(sources: Sources) -> Self {
        Self { sources, served: Mutex::default() }
    }

    /// Renders the chart. If it gives what was rendered for the revision that is there, that revision stays. Otherwise, the next
    /// revision begins.
    pub async fn next(&self, of: &Request<'_>, has: Option<&Record>) -> Result<(Rendered, Record), ReleaseError> {
        if let Some(record) = has.filter(|record| !record.is_ending()) {
            // A template may contain the number of the revision, and its time.
            let rendered = self.render(of, record).await?;
            if rendered.digest == record.digest {
                let mut same = record.clone();
                if same.rollback_to.take().is_some() {
                    // What the chart gives is what was rolled back to.
                    same.inputs = of.inputs.clone();
                }
                return Ok((rendered, same));
            }
        }
        let mut next = Record::after(has, of.inputs, Timestamp::now());
        let rendered = self.render(of, &next).await?;
        next.chart = of.module.definition.version.as_ref().map(ToString::to_string);
        next.begin(&rendered.content.hooks, &rendered.digest);
        Ok((rendered, next))
    }

    /// Renders a revision of a module's chart.
    async fn render(&self, of: &Request<'_>, revision: &Record) -> Result<Rendered, ReleaseError> {
        let request = RenderRequest {
            chart: of.chart.clone(),
            values: of.values.clone(),
            release: Release {
                name: of.module.name.as_str().to_owned(),
                namespace: of.namespace.to_owned(),
                revision: u32::try_from(revision.revision).unwrap_or(u32::MAX),
                operation: if revision.install { Operation::Install } else { Operation::Upgrade },
            },
            capabilities: self.capabilities().await?,
            skip_schema: false,
            now: UNIX_EPOCH + Duration::from_secs(revision.time),
            secret: Secret(revision.seed),
        };
        let tenant = Tenant::hook(of.caller.hook.as_str());
        let cluster = Arc::new(Cluster { sources: self.sources.clone(), caller: of.caller.clone() });
        let rendered = self.sources.sandbox.charts().render(&tenant, request, cluster).await;
        rendered.map(|all| Rendered::new(&all)).map_err(|error| match error {
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
        let server = self.sources.discovery.server().await;
        let server = server.map_err(|error| ReleaseError::Failed(error_chain(&error)))?;
        let (version, major, minor) = (server.version, server.major, server.minor);
        let kube = KubeVersion { version, major, minor };
        let made = Arc::new(Capabilities { kube, api_versions: server.api_versions, assumed: false });
        *self.served.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), made.clone()));
        Ok(made)
    }
}

/// What a module brings, as it is now.
pub(in super::super) struct Files {
    pub chart: Option<Arc<Chart>>,
    /// Of the chart's files.
    pub digest: String,
    /// The files of its definitions.
    pub definitions: Vec<(String, String)>,
}

/// Reads a module's chart, if it has one, and the files of its definitions.
pub(in super::super) async fn read(module: &Module) -> Result<Files, ReleaseError> {
    let module = module.clone();
    let read = move || -> Result<_, String> {
        let definition = |path: &PathBuf| {
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok((path.display().to_string(), text))
        };
        let definitions = module.crds.iter().map(definition).collect::<Result<_, String>>()?;
        let files = chart::of_module(&module).map_err(|error| error_chain(&error))?;
        let parts = files.iter().flat_map(|(path, content)| [path.as_bytes(), content.as_slice()]);
        let digest = boathook_applyset::Digest::of(parts).to_string();
        let files = files.into_iter().map(|(path, content)| ChartFile { path, content }).collect();
        let chart = module.chart.map(|_| Arc::new(Chart::of_directory(files)));
        Ok(Files { chart, digest, definitions })
    };
    let read = spawn_blocking(read).await.map_err(|error| ReleaseError::Failed(error.to_string()))?;
    read.map_err(ReleaseError::Failed)
}

/// Answers `lookup` with what the module's caller may read.
struct Cluster {
    sources: Sources,
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
        let resource = match self.sources.discovery.resolve(&api_version, &kind).await {
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
        match self.sources.access.get(&self.caller, &target, None).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.reason == CallReason::NotFound => Ok(None),
            Err(error) => Err(self.refused(&error)),
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
            let page = self.sources.access.list(&self.caller, &query).await.map_err(|error| self.refused(&error))?;
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

    fn refused(&self, error: &CallError) -> String {
        match (error.reason, &self.caller.identity) {
            (CallReason::ForbiddenByCluster, None) => format!("{}: give the operator a role for this", error.message),
            (CallReason::ForbiddenByCluster, Some(identity)) => {
                format!("{}: give {identity} a role for this", error.message)
            }
            _ => error.message.clone(),
        }
    }
}
