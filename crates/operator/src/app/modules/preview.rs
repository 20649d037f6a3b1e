//! What the operator would do with modules: their charts as the directories, the configuration and the cluster's Modules give them
//! now, compared with what is applied. Nothing is written, and no hook runs. Nothing is pulled either: of a module from a registry,
//! a directory has the files.

use std::{collections::BTreeMap, sync::Arc};

use boathook_applyset::{MemberId, prune::keeps};
use boathook_core::model::{HookName, ObjectRef, RunId, error_chain};
use boathook_kube::{
    access::{Access, AccessConfig, JqRunner},
    discovery::Discovery,
};
use boathook_modules::{
    Catalogue, Config, Maintenance, Module, ModuleName, Store,
    graph::{Answer, Graph, Off, State},
};
use boathook_sandbox::Sandbox;
use futures::{FutureExt as _, future::BoxFuture};
use kube::{Api, ResourceExt as _, api::ListParams};
use serde_json::{Map, Value, json};

use super::{
    super::module_values::{self, given},
    charts::{
        self, objects,
        record::Record,
        render::{self, Renderer, Request, Sources},
        revisions::{Cause, Content, Inputs},
    },
    commands::{CommandError, InCluster, wrong},
    keeper,
    releases::ReleaseError,
};
use crate::module;

/// What would become of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planned {
    Install,
    Upgrade,
    /// Nothing changes.
    Stay,
    Delete,
    /// It is off, and there is nothing of it.
    Off,
    /// It cannot be said.
    Fail,
}

impl Planned {
    /// For people.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Stay => "stay",
            Self::Delete => "delete",
            Self::Off => "off",
            Self::Fail => "fail",
        }
    }
}

/// An object that would be created, changed or deleted. The values of Secrets are hidden.
#[derive(Debug, Clone, PartialEq)]
pub struct Changed {
    pub object: ObjectRef,
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// What the operator would do with a module.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    pub module: ModuleName,
    pub planned: Planned,
    pub why: String,
    pub objects: Vec<Changed>,
    /// The chart's hooks that would run, each with its event and its template.
    pub hooks: Vec<(&'static str, String)>,
}

/// What is known before charts are rendered.
pub(super) struct Known<'a> {
    pub catalogue: &'a Catalogue,
    store: Store,
    /// The cluster's Modules.
    resources: BTreeMap<ModuleName, module::Module>,
    pub states: BTreeMap<ModuleName, State>,
    pub records: BTreeMap<ModuleName, Record>,
    renderer: Renderer,
    pub discovery: Arc<Discovery>,
}

impl InCluster {
    /// Previews all modules, or one. The second value is what is wrong with the configuration.
    ///
    /// # Errors
    /// The cluster cannot be read, or there is no such module.
    pub async fn preview(
        &self,
        catalogue: &Catalogue,
        config_map: &str,
        sandbox: Arc<Sandbox>,
        only: Option<&ModuleName>,
    ) -> Result<(Vec<Preview>, Vec<String>), CommandError> {
        let (known, graph, problems) = self.known(catalogue, config_map, sandbox).await?;
        let gone = known.records.keys().filter(|name| !graph.contains(name) && !graph.broken().contains_key(*name));
        // Without any module, nothing counts as gone.
        let gone = gone.filter(|_| !graph.order().is_empty());
        let unread = known.resources.keys().filter(|name| known.is_unread(name));
        let all: Vec<&ModuleName> = graph.order().iter().chain(unread).chain(gone).collect();
        if let Some(only) = only
            && !all.contains(&only)
        {
            let names: Vec<&str> = all.iter().map(|name| name.as_str()).collect();
            return wrong(format!("there is no module {only} that can be used; there are: {}", names.join(", ")));
        }
        let mut previews = Vec::new();
        for name in all.into_iter().filter(|name| only.is_none_or(|only| only == *name)) {
            previews.push(self.one(&known, name).await?);
        }
        Ok((previews, problems))
    }

    /// Reads what previews need. The last value is what is wrong with the configuration.
    pub(super) async fn known<'a>(
        &self,
        catalogue: &'a Catalogue,
        config_map: &str,
        sandbox: Arc<Sandbox>,
    ) -> Result<(Known<'a>, Graph, Vec<String>), CommandError> {
        let graph = match Graph::of(catalogue) {
            Ok(graph) => graph,
            Err(error) => return wrong(error_chain(&error)),
        };
        let resources = self.resources().await?;
        let graph = with_unread(graph, &resources);
        let mut store = Store::new(catalogue);
        let mut problems = self.configure(&mut store, config_map, graph.order()).await?;
        for (name, object) in &resources {
            problems.extend(store.wish(name, Some(&object.wish())).iter().map(ToString::to_string));
        }
        let discovery = Arc::new(Discovery::new(self.client.clone()));
        let access =
            Access::new(self.client.clone(), discovery.clone(), Arc::new(NoJq), AccessConfig::default(), Arc::new(()));
        let renderer = Renderer::new(Sources { sandbox, discovery: discovery.clone(), access });
        let scripted = |name: &ModuleName, _: &[ModuleName]| {
            let asks = catalogue.module(name.as_str()).is_some_and(|module| module.enabled.is_some());
            if asks { Answer::Waiting } else { Answer::None }
        };
        let states = graph.states(|name| store.decision(name.key()), scripted);
        let records = self.records().await?;
        let known = Known { catalogue, store, resources, states, records, renderer, discovery };
        Ok((known, graph, problems))
    }

    /// The cluster's Modules. There are none where their definition is missing.
    async fn resources(&self) -> Result<BTreeMap<ModuleName, module::Module>, CommandError> {
        let api: Api<module::Module> = Api::all(self.client.clone());
        let found = match api.list(&ListParams::default()).await {
            Ok(found) => found.items,
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => {
                let what = "cannot list the Modules of the cluster".to_owned();
                return Err(CommandError::Request { what, error: Box::new(error) });
            }
        };
        let named = |object: module::Module| Some((object.name_any().parse().ok()?, object));
        Ok(found.into_iter().filter_map(named).collect())
    }

    /// Gives the store what the cluster has: the configuration, and what hooks wrote.
    async fn configure(
        &self,
        store: &mut Store,
        config_map: &str,
        modules: &[ModuleName],
    ) -> Result<Vec<String>, CommandError> {
        let what = format!("the ConfigMap {config_map}");
        let found = self.config_maps().get_opt(config_map).await.map_err(self.unreachable(&what))?;
        let data: Map<String, Value> = found
            .and_then(|map| map.data)
            .map(|data| data.into_iter().map(|(key, text)| (key, text.into())).collect())
            .unwrap_or_default();
        let config = Config::of_data(config_map, &data).map_err(|error| CommandError::Wrong(error_chain(&error)))?;
        let mut problems: Vec<String> = store.configure(&config).iter().map(ToString::to_string).collect();
        let params = ListParams::default().labels(module_values::LABEL);
        let secrets = self.secrets().list(&params).await.map_err(self.unreachable("Secrets"))?;
        for (key, text) in secrets.items.into_iter().filter_map(|secret| module_values::restored(modules, secret)) {
            if let Err(why) = store.restore(&key, &text) {
                problems.push(format!("what hooks wrote to {key} cannot be read: {why}"));
            }
        }
        Ok(problems)
    }

    async fn one(&self, known: &Known<'_>, name: &ModuleName) -> Result<Preview, CommandError> {
        let record = known.records.get(name).filter(|record| !record.is_ending());
        if known.store.maintenance(name.key()) == Maintenance::Paused {
            let why = "its maintenance is Paused: nothing of it goes on".to_owned();
            let module = name.clone();
            return Ok(Preview { module, planned: Planned::Stay, why, objects: Vec::new(), hooks: Vec::new() });
        }
        let done = match (known.states.get(name), known.catalogue.module(name.as_str())) {
            (Some(State::On(_) | State::Unknown(_)), Some(module)) => {
                self.on(known, module, record, None).await.map(|(preview, _)| preview)
            }
            (None, None) if known.is_unread(name) && known.store.decision(name.key()).on => {
                let why = "it is from a registry, and a preview pulls nothing: write its files into a directory with `boathook \
                           bundle pull`, and name that directory with --modules";
                Err(ReleaseError::Failed(why.to_owned()).into())
            }
            (state, _) => {
                let why = match state {
                    Some(State::Off(why)) => why.to_string(),
                    None if known.is_unread(name) => Off::Voted(known.store.decision(name.key())).to_string(),
                    _ => "its directory is gone".to_owned(),
                };
                self.off(known, name, record, why).await
            }
        };
        let fails = |why: String| Preview {
            module: name.clone(),
            planned: Planned::Fail,
            why,
            objects: Vec::new(),
            hooks: Vec::new(),
        };
        match done {
            Ok(preview) => Ok(preview),
            Err(Failed::Release(ReleaseError::Failed(why) | ReleaseError::Refused(why)))
            | Err(Failed::Command(CommandError::Wrong(why))) => Ok(fails(why)),
            Err(Failed::Command(error)) => Err(error),
        }
    }

    /// Previews a module that is on. The second value is what its chart renders to, if that is not what the record has.
    /// `before`: the objects of the record, where the cluster does not have them yet.
    pub(super) async fn on(
        &self,
        known: &Known<'_>,
        module: &Module,
        record: Option<&Record>,
        before: Option<Objects>,
    ) -> Result<(Preview, Objects), Failed> {
        let name = &module.name;
        let stays = |why: String| {
            let (module, planned) = (name.clone(), Planned::Stay);
            (Preview { module, planned, why, objects: Vec::new(), hooks: Vec::new() }, Objects::new())
        };
        if known.store.maintenance(name.key()) == Maintenance::NoResourceReconciliation {
            return Ok(stays("the configuration keeps its objects as they are".to_owned()));
        }
        let given = given(&known.store, name).map_err(ReleaseError::Failed)?;
        let files = render::read(module).await?;
        let inputs = Inputs::new(files.digest, &given);
        if let Some(to) = record.filter(|record| record.inputs == inputs).and_then(|record| record.rollback_to) {
            return Ok(stays(format!("it is rolled back to revision {to}")));
        }
        let Some(chart) = files.chart else {
            return match record {
                Some(_) => Err(ReleaseError::Failed("the module's chart is gone".to_owned()).into()),
                None => Ok(stays("it has no chart".to_owned())),
            };
        };
        if let Some(why) = given.unfit {
            return Err(ReleaseError::Refused(why).into());
        }
        // The templates of a module from a registry look up what its ServiceAccount may read.
        let bundle = known.resources.get(name).and_then(|object| object.spec.as_bundle());
        let terms = bundle.map(|spec| keeper::terms(name, &self.namespace, &spec));
        let caller = charts::caller(name, terms.as_ref(), RunId::new("preview", 1), true)?;
        let (namespace, values) = (&*self.namespace, &given.values);
        let request = Request { caller: &caller, namespace, module, chart: &chart, values, inputs: &inputs };
        let (rendered, next) = known.renderer.next(&request, record).await?;
        if record.is_some_and(|record| record.revision == next.revision) {
            return Ok(stays(format!("revision {}", next.revision)));
        }
        let before = match (before, record) {
            (Some(before), _) => before,
            (None, Some(record)) => self.applied(known, name, record).await?,
            (None, None) => BTreeMap::new(),
        };
        let after = self.objects(known, name, &rendered.content).await?;
        let hooks = [next.before(), next.afterwards()]
            .into_iter()
            .flat_map(|event| charts::hooks_of(&rendered.content.hooks, event))
            .collect();
        let causes: Vec<&str> = next.changed.iter().copied().map(Cause::shown).collect();
        let preview = Preview {
            module: name.clone(),
            planned: if record.is_some() { Planned::Upgrade } else { Planned::Install },
            why: causes.join(", "),
            objects: changes(before, after.clone()),
            hooks,
        };
        Ok((preview, after))
    }

    async fn off(
        &self,
        known: &Known<'_>,
        name: &ModuleName,
        record: Option<&Record>,
        why: String,
    ) -> Result<Preview, Failed> {
        let Some(record) = record else {
            let planned = if known.records.contains_key(name) { Planned::Delete } else { Planned::Off };
            return Ok(Preview { module: name.clone(), planned, why, objects: Vec::new(), hooks: Vec::new() });
        };
        let mut before = self.applied(known, name, record).await?;
        before.retain(|_, (_, object)| !keeps(object));
        Ok(Preview {
            module: name.clone(),
            planned: Planned::Delete,
            why,
            objects: changes(before, BTreeMap::new()),
            hooks: charts::hooks_at_deletion(&record.hooks),
        })
    }

    /// The objects of the revision that is applied.
    async fn applied(&self, known: &Known<'_>, name: &ModuleName, record: &Record) -> Result<Objects, Failed> {
        let entry = record.revisions().pop().ok_or_else(|| ReleaseError::Failed("it has no revision".to_owned()))?;
        let content = self.content(name, &entry).await?;
        self.objects(known, name, &content).await
    }

    async fn objects(&self, known: &Known<'_>, name: &ModuleName, content: &Content) -> Result<Objects, Failed> {
        let identity = charts::identity(name, &self.namespace);
        let wanted = objects::wanted(&known.discovery, &content.manifests(), &identity, 0).await?;
        let one = |object: Value| {
            let reference = ObjectRef::of(&object);
            (MemberId::of(&reference), (reference, object))
        };
        Ok(wanted.answer.members.into_iter().map(one).collect())
    }
}

impl Known<'_> {
    /// Whether a module is from a registry, and no directory here has its files.
    fn is_unread(&self, name: &ModuleName) -> bool {
        let sourced = self.resources.get(name).is_some_and(|object| object.spec.source.is_some());
        sourced && self.catalogue.module(name.as_str()).is_none()
    }
}

/// Adds the modules from registries, of which nothing is known here.
fn with_unread(graph: Graph, resources: &BTreeMap<ModuleName, module::Module>) -> Graph {
    let sourced = resources.iter().filter(|(_, object)| object.spec.source.is_some());
    let unread = sourced.map(|(name, _)| (name.clone(), "its files are in a registry".to_owned()));
    let broken = graph.broken().clone();
    graph.with_broken(broken.into_iter().chain(unread))
}

pub(in super::super) type Objects = BTreeMap<MemberId, (ObjectRef, Value)>;

pub(super) enum Failed {
    Command(CommandError),
    Release(ReleaseError),
}

impl From<CommandError> for Failed {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

impl From<ReleaseError> for Failed {
    fn from(error: ReleaseError) -> Self {
        Self::Release(error)
    }
}

/// The objects that differ: those that come or change in their order, then those that go.
pub(in super::super) fn changes(mut before: Objects, after: Objects) -> Vec<Changed> {
    let mut found = Vec::new();
    for (id, (object, after)) in after {
        let before = before.remove(&id).map(|(_, before)| before);
        if before.as_ref() != Some(&after) {
            found.push(hidden(Changed { object, before, after: Some(after) }));
        }
    }
    let gone = before.into_values();
    found.extend(gone.map(|(object, before)| hidden(Changed { object, before: Some(before), after: None })));
    found
}

/// Hides the values of a Secret, as `kubectl diff` does.
fn hidden(mut changed: Changed) -> Changed {
    if changed.object.kind != "Secret" || changed.object.api_version != "v1" {
        return changed;
    }
    for field in ["data", "stringData"] {
        let data = |object: &Option<Value>| -> Map<String, Value> {
            object.as_ref().and_then(|object| object.get(field)?.as_object().cloned()).unwrap_or_default()
        };
        let (before, after) = (data(&changed.before), data(&changed.after));
        for (object, own, other, mark) in [
            (&mut changed.before, &before, &after, "*** (before)"),
            (&mut changed.after, &after, &before, "*** (after)"),
        ] {
            let Some(data) = object.as_mut().and_then(|object| object.get_mut(field)?.as_object_mut()) else {
                continue;
            };
            for (key, value) in data.iter_mut() {
                let differs = other.get(key).is_some_and(|other| Some(other) != own.get(key));
                *value = json!(if differs { mark } else { "***" });
            }
        }
    }
    changed
}

/// Charts run no jq.
struct NoJq;

impl JqRunner for NoJq {
    fn run(&self, _: &HookName, _: &str, _: String) -> BoxFuture<'_, Result<String, String>> {
        async { Err("a preview runs no jq".to_owned()) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(all: &[Value]) -> Objects {
        let one = |object: &Value| {
            let reference = ObjectRef::of(object);
            (MemberId::of(&reference), (reference, object.clone()))
        };
        all.iter().map(one).collect()
    }

    #[test]
    fn only_what_differs_is_shown_and_secrets_are_hidden() {
        let map = |name: &str, value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}});
        let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": value, "b": "c2FtZQ=="}});
        let before = objects(&[map("a", "1"), map("b", "1"), map("c", "1"), secret("b2xk")]);
        let after = objects(&[map("a", "1"), map("b", "2"), map("d", "1"), secret("bmV3")]);
        let found = changes(before, after);
        let shown: Vec<_> =
            found.iter().map(|one| (one.object.name.as_str(), one.before.is_some(), one.after.is_some())).collect();
        assert_eq!(shown, [("b", true, true), ("d", false, true), ("s", true, true), ("c", true, false)]);
        let data = |object: &Option<Value>| object.as_ref().unwrap()["data"].clone();
        assert_eq!(data(&found[2].before), json!({"a": "*** (before)", "b": "***"}));
        assert_eq!(data(&found[2].after), json!({"a": "*** (after)", "b": "***"}));
    }
}
