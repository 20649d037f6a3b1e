//! The values of modules while the operator runs: what runs see, what they change, and where that is kept.
//!
//! What hooks change is one transaction for each run: it is checked, written to a Secret, and only then seen by others. Each
//! section has a Secret of its own, because values may be secret, and because one object would bound all modules together.
//! Changes of the configuration go into the ConfigMap, where users see them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use boathook_core::model::{Failure, FailureKind, HookName, HookValues, Stage, ValuesPatch, error_chain};
use boathook_kube::election::Leadership;
use boathook_modules::{
    Config, Maintenance, Module, ModuleName, Patch, Problem, Store, Wish, graph::Graph, life::Subject, values::Decision,
};
use futures::future::BoxFuture;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, ObjectMeta, Patch as Write, PatchParams, PostParams},
};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tracing::{info, warn};

use crate::module;

/// The section that all modules see.
const GLOBAL: &str = "global";
/// The label of the Secrets. Its value is the module, or `global`.
pub(super) const LABEL: &str = "boathook.dev/module-values";
/// The field of the Secrets.
const FIELD: &str = "changes.json";
/// Who writes the Secrets.
const MANAGER: &str = "boathook";
/// The most bytes that are kept of one section. A Secret has room for a MiB, with its metadata.
const MAX_KEPT: usize = 900 * 1024;
/// How often a write of the ConfigMap is tried again because somebody else wrote it at the same time.
const CONFLICTS: usize = 10;

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// Values of the subject, because of one of its stages, or for another reason.
    Values(Subject, Option<Stage>),
    /// Which modules are on, or maintained.
    Flags,
}

/// What a module's chart is made with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    /// What Helm gets: `{"global": …, "<key of the module>": …}`.
    pub values: Value,
    /// What of them users configured.
    pub settings: Value,
    /// What of them hooks changed.
    pub hooks: Value,
    /// Why the chart cannot have these values.
    pub unfit: Option<String>,
}

/// What a module says about settings.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// Why it refuses them, for the person who wrote them.
    pub refused: Option<String>,
    pub warnings: Vec<String>,
}

/// Asks modules whether settings are right.
pub(super) trait CheckSettings: Send + Sync {
    /// The modules that can be asked.
    fn names(&self) -> Vec<ModuleName>;

    fn check<'a>(&'a self, module: &'a ModuleName, settings: &'a Value, patience: Duration) -> BoxFuture<'a, Checked>;
}

pub(super) struct ModuleValues {
    store: Mutex<Store>,
    modules: Mutex<Vec<ModuleName>>,
    /// Modules whose directories cannot be read.
    broken: Vec<ModuleName>,
    /// One transaction at a time, because each begins with what the one before has left.
    transaction: tokio::sync::Mutex<()>,
    client: Client,
    namespace: String,
    config_map: String,
    /// Whether Modules of the cluster have settings.
    resources: bool,
    leadership: Leadership,
    news: mpsc::UnboundedSender<News>,
    /// What is wrong with the configuration.
    problems: Mutex<Vec<String>>,
    /// The texts of the Secrets, by section.
    kept: Mutex<BTreeMap<String, String>>,
}

impl ModuleValues {
    /// The second value receives what changes.
    pub fn new(
        store: Store,
        graph: &Graph,
        client: Client,
        (config_map, resources): (String, bool),
        leadership: Leadership,
    ) -> (Self, mpsc::UnboundedReceiver<News>) {
        let (news, receiver) = mpsc::unbounded_channel();
        let namespace = client.default_namespace().to_owned();
        let values = Self {
            store: Mutex::new(store),
            modules: Mutex::new(graph.order().to_vec()),
            broken: graph.broken().keys().cloned().collect(),
            transaction: tokio::sync::Mutex::default(),
            client,
            namespace,
            config_map,
            resources,
            leadership,
            news,
            problems: Mutex::default(),
            kept: Mutex::default(),
        };
        (values, receiver)
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, news: News) {
        // Nobody listens while the operator ends.
        let _ = self.news.send(news);
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The operator's namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The name of the ConfigMap.
    pub fn config_map(&self) -> &str {
        &self.config_map
    }

    /// What is wrong with the configuration.
    pub fn problems(&self) -> Vec<String> {
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What users configured of the values that a run sees.
    pub fn configuration(&self, of: &Subject) -> Value {
        self.store().configuration(name(of))
    }

    /// What hooks changed in a section, in order.
    pub fn patches(&self, of: &Subject) -> Value {
        self.store().patches(key(of))
    }

    /// The module with this name, or `global`.
    ///
    /// # Errors
    /// Lists the names that there are.
    pub fn subject(&self, of: &str) -> Result<Subject, Vec<String>> {
        let modules = self.modules();
        match modules.iter().find(|name| name.as_str() == of) {
            Some(name) => Ok(Subject::Module(name.clone())),
            None if of == GLOBAL => Ok(Subject::Global),
            None => {
                Err([GLOBAL].into_iter().chain(modules.iter().map(ModuleName::as_str)).map(str::to_owned).collect())
            }
        }
    }

    /// All modules.
    fn modules(&self) -> Vec<ModuleName> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Which modules are on, before scripts decide.
    pub fn votes(&self) -> BTreeMap<ModuleName, Decision> {
        let store = self.store();
        self.modules().into_iter().map(|name| (name.clone(), store.decision(name.key()))).collect()
    }

    /// Whether somebody has turned a module off. What a directory that cannot be read says is not known.
    pub fn is_turned_off(&self, module: &ModuleName) -> bool {
        let Decision { on, by } = self.store().decision(module.key());
        !on && by.is_some()
    }

    /// How modules are kept. A module that is missing is managed.
    pub fn maintained(&self) -> BTreeMap<ModuleName, Maintenance> {
        self.store().maintained()
    }

    /// Whether no step of a module begins, and its hooks do not run.
    pub fn is_paused(&self, module: &ModuleName) -> bool {
        self.store().maintenance(module.key()) == Maintenance::Paused
    }

    /// What a run sees, and may change.
    pub fn of(&self, of: &Subject) -> Result<HookValues, Failure> {
        seen(&self.store(), of, true)
    }

    /// What an answer sees.
    pub fn read(&self, of: &Subject) -> Result<HookValues, Failure> {
        seen(&self.store(), of, false)
    }

    /// What an answer sees on a replica that does not lead. It follows no changes, so it reads what the leader has taken and
    /// written.
    pub async fn read_of_leader(&self, of: &Subject) -> Result<HookValues, Failure> {
        let (store, problems) = self.store_of_leader().await?;
        // What the leader had before is not known here.
        if let Some(problem) = problems.iter().find(|problem| [GLOBAL, key(of)].contains(&problem.key.as_str())) {
            return Err(unknown(problem.to_string()));
        }
        seen(&store, of, false)
    }

    /// All values, also on a replica that does not lead.
    pub async fn current(&self) -> Result<Store, Failure> {
        if self.leadership.leads() {
            return Ok(self.store().clone());
        }
        self.store_of_leader().await.map(|(store, _)| store)
    }

    /// What the leader has taken and written, and what is wrong with the configuration.
    async fn store_of_leader(&self) -> Result<(Store, Vec<Problem>), Failure> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let (secrets, labelled) = (self.secrets(), ListParams::default().labels(LABEL));
        let resources = async {
            let api: Api<module::Module> = Api::all(self.client.clone());
            match self.resources {
                true => api.list(&ListParams::default()).await.map(|found| found.items),
                false => Ok(Vec::new()),
            }
        };
        let read = tokio::try_join!(maps.get_opt(&self.config_map), secrets.list(&labelled), resources);
        let (map, secrets, resources) = read.map_err(|error| unknown(error_chain(&error)))?;
        let data = map.and_then(|map| map.data).unwrap_or_default();
        let data = data.into_iter().map(|(key, text)| (key, text.into())).collect();
        let config = Config::of_data(&self.config_map, &data).map_err(|error| unknown(error.to_string()))?;
        let mut store = self.store().clone();
        let mut problems = store.configure(&config);
        for object in resources {
            if let Ok(module) = object.name_any().parse::<ModuleName>() {
                problems.extend(store.wish(&module, Some(&object.wish())));
            }
        }
        for (key, text) in secrets.items.into_iter().filter_map(|object| restored(&self.modules(), object)) {
            store.restore(&key, &text).map_err(unknown)?;
        }
        Ok((store, problems))
    }

    /// The settings of a module as users wrote them, if they did.
    pub fn settings(&self, module: &ModuleName) -> Option<Value> {
        self.store().settings(module)
    }

    /// The values of a module with `global`, or `global` alone.
    pub fn values(&self, of: &Subject) -> Result<Value, String> {
        values_of(&self.store(), of)
    }

    /// What the chart of a module gets.
    pub fn given(&self, module: &ModuleName) -> Result<Given, String> {
        given(&self.store(), module)
    }

    /// Takes the data of the ConfigMap. Without a ConfigMap, nothing is configured. Returns whether it could be read.
    pub fn configure(&self, data: &Map<String, Value>) -> bool {
        self.configured(data, None)
    }

    /// `by` has changed the configuration itself.
    fn configured(&self, data: &Map<String, Value>, by: Option<(&Subject, Stage)>) -> bool {
        let config = match Config::of_data(&self.config_map, data) {
            Ok(config) => config,
            Err(error) => {
                let problem = format!("{error}; the configuration stays as it was");
                warn!(config_map = self.config_map, problem, "the configuration of modules is not valid");
                self.note(vec![problem]);
                return false;
            }
        };
        let (problems, unknown) = self.changing(by, |store| {
            let problems = store.configure(&config);
            let unknown: Vec<_> = config.keys().filter(|key| store.values(key).is_none()).map(str::to_owned).collect();
            (problems, unknown)
        });
        let problems = texts(&problems);
        for key in unknown {
            warn!(config_map = self.config_map, key, "no module has this key of the configuration");
        }
        for problem in &problems {
            warn!(
                config_map = self.config_map,
                problem, "a section of the configuration is refused, and stays as it was"
            );
        }
        self.note(problems);
        true
    }

    /// Changes the configuration, and tells what is different then. `by` has changed it itself.
    fn changing<T>(&self, by: Option<(&Subject, Stage)>, change: impl FnOnce(&mut Store) -> T) -> T {
        let modules = self.modules();
        let subjects = || modules.iter().cloned().map(Subject::Module).chain([Subject::Global]);
        let sections = |store: &Store| subjects().map(|of| store.section(key(&of))).collect::<Vec<_>>();
        let flags = |store: &Store| {
            let all = modules.iter().chain(&self.broken);
            let decisions: Vec<_> = all.map(|name| store.decision(name.key())).collect();
            (decisions, store.maintained())
        };
        let mut store = self.store();
        let (values_before, flags_before) = (sections(&store), flags(&store));
        let done = change(&mut store);
        let (values_after, flags_after) = (sections(&store), flags(&store));
        drop(store);
        if flags_before != flags_after {
            self.tell(News::Flags);
        }
        for (of, (before, after)) in subjects().zip(values_before.into_iter().zip(values_after)) {
            if before != after {
                let stage = by.filter(|(by, _)| **by == of).map(|(_, stage)| stage);
                self.tell(News::Values(of, stage));
            }
        }
        done
    }

    /// Takes what a Module wants. Returns what is wrong with its settings, which then stay as they were.
    pub fn wish(&self, module: &ModuleName, wish: Option<&Wish>) -> Vec<String> {
        texts(&self.changing(None, |store| store.wish(module, wish)))
    }

    /// What is wrong with the settings that a Module is to have. `old`: what it had, for a replica that does not follow
    /// Modules because it does not lead.
    pub fn check_wish(&self, module: &ModuleName, wish: &Wish, old: Option<&Wish>) -> Vec<String> {
        texts(&self.store().check_wish(module, wish, old))
    }

    /// What is wrong with the data that the ConfigMap is to have.
    pub fn check_config(&self, data: &Map<String, Value>) -> Vec<String> {
        match Config::of_data(&self.config_map, data) {
            Ok(config) => texts(&self.store().check_config(&config)),
            Err(error) => vec![error.to_string()],
        }
    }

    /// What another version of a module has against what users wrote, and against what its Module wants.
    pub fn check_version(&self, module: &Module, wish: &Wish) -> Vec<String> {
        texts(&self.store().check_version(module, wish))
    }

    /// Takes a module that came later, or another version of one. `kept`: what its hooks changed before the start, if it
    /// came later.
    pub fn put(&self, module: &Module, kept: Option<&str>) {
        let name = &module.name;
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !modules.contains(name);
        if is_new {
            modules.push(name.clone());
        }
        drop(modules);
        self.store().put(module);
        let Some(text) = kept.filter(|_| is_new) else { return };
        match self.store().restore(name.key(), text) {
            Ok(_) => drop(self.kept().insert(name.key().to_owned(), text.to_owned())),
            Err(why) => {
                warn!(module = %name, why, "values that hooks wrote cannot be restored: their hooks write them again");
            }
        }
    }

    /// Takes a module away.
    pub fn remove(&self, module: &ModuleName) {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner).retain(|name| name != module);
        self.store().remove(module);
    }

    /// What is kept of the changes of a module's hooks, if anything.
    pub async fn kept_of(&self, module: &ModuleName) -> Result<Option<String>, kube::Error> {
        let selector = format!("{LABEL}={module}");
        let found = self.secrets().list(&ListParams::default().labels(&selector)).await?;
        let name = secret(module.key());
        let object = found.items.into_iter().find(|object| object.metadata.name.as_deref() == Some(name.as_str()));
        let text = object.and_then(|object| object.data?.remove(FIELD)).map(|text| text.0);
        Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned()))
    }

    fn note(&self, problems: Vec<String>) {
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
    }

    /// Takes what a run changed: all of it, or nothing.
    pub async fn commit(
        &self,
        hook: &HookName,
        of: &Subject,
        stage: Option<Stage>,
        patch: &ValuesPatch,
    ) -> Result<(), Failure> {
        let refused = |what: &str, why: String| failure(format!("the change of {what} is refused: {why}"));
        let parse = |texts: &[String]| Patch::parse(&texts.join("\n")).map_err(|error| error.to_string());
        let _one_at_a_time = self.transaction.lock().await;
        let values = parse(&patch.values).map_err(|why| refused("values", why))?;
        let config = parse(&patch.config).map_err(|why| refused("the configuration", why))?;
        let prepared = self.store().prepare(hook.as_str(), name(of), values);
        let prepared = prepared.map_err(|error| refused("values", error.to_string()))?;
        let text = (!prepared.is_empty()).then(|| self.store().kept_with(&prepared));
        let large = text.as_ref().map_or(0, String::len);
        if large > MAX_KEPT {
            let why = format!(
                "the changes of hooks to {} would take {large} bytes, and {MAX_KEPT} are kept: remove what is not needed, or \
                 keep it in an object of your own",
                prepared.key()
            );
            return Err(refused("values", why));
        }
        if !config.is_empty() {
            let data = self.write_config(of, config).await.map_err(|why| refused("the configuration", why))?;
            self.configured(&data, stage.map(|stage| (of, stage)));
        }
        let Some(text) = text else { return Ok(()) };
        self.keep(key(of), &text)
            .await
            .map_err(|why| failure(format!("the change of values cannot be kept: {why}")))?;
        let changed = self.store().take(prepared);
        if changed.values {
            self.tell(News::Values(of.clone(), stage));
        }
        if !changed.enabled.is_empty() {
            self.tell(News::Flags);
        }
        Ok(())
    }

    /// Writes a change of the configuration. Returns the data of the ConfigMap.
    async fn write_config(&self, of: &Subject, patch: Patch) -> Result<Map<String, Value>, String> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        let unwritten = |error: kube::Error| format!("the ConfigMap {}/{}: {error}", self.namespace, self.config_map);
        for _ in 0..CONFLICTS {
            let found = api.get_opt(&self.config_map).await.map_err(unwritten)?;
            let texts = found.as_ref().and_then(|map| map.data.clone()).unwrap_or_default();
            let data = texts.iter().map(|(key, text)| (key.clone(), text.clone().into())).collect();
            let config = Config::of_data(&self.config_map, &data).map_err(|error| error.to_string())?;
            let changes = self.store().configured_with(name(of), patch.clone(), &config);
            let changes = changes.map_err(|error| error.to_string())?;
            let mut texts = texts;
            for (key, value) in changes {
                match value {
                    None => drop(texts.remove(&key)),
                    Some(value @ Value::Bool(_)) => drop(texts.insert(key, value.to_string())),
                    // JSON is YAML that means the same to each reader.
                    Some(value) => drop(texts.insert(key, format!("{value:#}\n"))),
                }
            }
            self.leadership.check().map_err(|error| error.to_string())?;
            let data = texts.iter().map(|(key, text)| (key.clone(), text.clone().into())).collect();
            let written = match found {
                Some(map) => {
                    let new = ConfigMap { data: Some(texts), ..map };
                    api.replace(&self.config_map, &PostParams::default(), &new).await
                }
                None => {
                    let metadata = ObjectMeta { name: Some(self.config_map.clone()), ..ObjectMeta::default() };
                    let new = ConfigMap { metadata, data: Some(texts), ..ConfigMap::default() };
                    api.create(&PostParams::default(), &new).await
                }
            };
            match written {
                Ok(_) => return Ok(data),
                Err(kube::Error::Api(status)) if status.code == 409 => continue,
                Err(error) => return Err(unwritten(error)),
            }
        }
        Err(format!("the ConfigMap {}/{} is written by others all the time", self.namespace, self.config_map))
    }

    /// Keeps what hooks changed in a section.
    async fn keep(&self, key: &str, text: &str) -> Result<(), String> {
        if self.kept().get(key).is_some_and(|known| known == text) {
            return Ok(());
        }
        let (name, label) = (secret(key), label(key));
        let object = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": {LABEL: label, "app.kubernetes.io/managed-by": "boathook"}},
            "data": {FIELD: BASE64_STANDARD.encode(text)},
        });
        self.leadership.check().map_err(|error| error.to_string())?;
        let params = PatchParams::apply(MANAGER).force();
        let written = self.secrets().patch(&name, &params, &Write::Apply(&object)).await;
        written.map_err(|error| format!("the Secret {}/{name}: {error}", self.namespace))?;
        self.kept().insert(key.to_owned(), text.to_owned());
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Takes what was kept before a restart. Call it once, before anything runs.
    pub async fn restore(&self) -> Result<(), kube::Error> {
        let found = self.secrets().list(&ListParams::default().labels(LABEL)).await?;
        for object in found.items {
            let Some((key, text)) = restored(&self.modules(), object) else { continue };
            let name = secret(&key);
            match self.store().restore(&key, &text) {
                Ok(_) => info!(secret = name, "values that hooks wrote are restored"),
                Err(why) => {
                    warn!(
                        secret = name,
                        why, "values that hooks wrote cannot be restored: their hooks write them again"
                    );
                    continue;
                }
            }
            self.kept().insert(key, text);
        }
        Ok(())
    }

    /// Forgets what the hooks of a module changed.
    pub async fn forget(&self, module: &ModuleName) -> Result<(), String> {
        let _one_at_a_time = self.transaction.lock().await;
        self.leadership.check().map_err(|error| error.to_string())?;
        let name = secret(module.key());
        match self.secrets().delete(&name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(format!("the Secret {}/{name}: {error}", self.namespace)),
        }
        self.kept().remove(module.key());
        self.store().forget(module);
        Ok(())
    }
}

/// The section of which a Secret has the changes, and their text for [`Store::restore`]. What is kept of a module that is
/// gone stays, because its directory may come back.
pub(super) fn restored(modules: &[ModuleName], object: Secret) -> Option<(String, String)> {
    let name = object.metadata.name.unwrap_or_default();
    let mut keys = modules.iter().map(ModuleName::key).chain([GLOBAL]);
    let key = keys.find(|key| secret(key) == name)?.to_owned();
    let text = object.data.and_then(|mut data| data.remove(FIELD)).unwrap_or(ByteString(b"{}".to_vec())).0;
    Some((key, String::from_utf8_lossy(&text).into_owned()))
}

/// What the chart of a module gets.
pub(super) fn given(store: &Store, module: &ModuleName) -> Result<Given, String> {
    let found = store.values(module.key()).ok_or_else(|| format!("the module {module} is not there"))?;
    let values = found.map_err(|error| error.to_string())?;
    let mut problems = Vec::new();
    for key in [GLOBAL, module.key()] {
        let found = store.problems(key, true).map_err(|error| error.to_string())?;
        problems.extend(found.iter().map(ToString::to_string));
    }
    let unfit = (!problems.is_empty()).then(|| format!("its values do not fit its schema: {}", problems.join("; ")));
    let hooks = json!([store.changes(GLOBAL), store.changes(module.key())]);
    Ok(Given { values, settings: store.configuration(Some(module)), hooks, unfit })
}

fn seen(store: &Store, of: &Subject, changeable: bool) -> Result<HookValues, Failure> {
    let values = values_of(store, of).map_err(failure)?;
    let config = store.configuration(name(of));
    Ok(HookValues { values: values.to_string().into(), config: config.to_string().into(), changeable })
}

fn values_of(store: &Store, of: &Subject) -> Result<Value, String> {
    let found = store.values(key(of));
    found.ok_or_else(|| format!("{of} is not there"))?.map_err(|error| error.to_string())
}

fn texts(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn unknown(why: String) -> Failure {
    failure(format!("the values of modules are not known: {why}"))
}

fn failure(message: String) -> Failure {
    Failure { kind: FailureKind::Retry, message, backtrace: None }
}

fn name(of: &Subject) -> Option<&ModuleName> {
    match of {
        Subject::Global => None,
        Subject::Module(name) => Some(name),
    }
}

fn key(of: &Subject) -> &str {
    name(of).map_or(GLOBAL, ModuleName::key)
}

/// A section in the form of names.
fn label(key: &str) -> String {
    ModuleName::of_key(key).map_or_else(|_| key.to_owned(), |name| name.to_string())
}

/// The Secret of a section.
fn secret(key: &str) -> String {
    format!("boathook-module-values-{}", label(key))
}
