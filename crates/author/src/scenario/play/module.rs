//! The module of a scenario: its directory, what users configure, and what its chart renders to.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use boathook_core::model::error_chain;
use boathook_modules::{Config, Module, Store};
use boathook_operator::app::ModulesOptions;
use boathook_sandbox::Sandbox;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use super::{
    super::{
        document::{Action, Belongs, Configured, Expect, Scenario},
        judge::OfModule,
    },
    Settings,
    operator::Operator,
};
use crate::module::{Alone, manifests};

/// The ConfigMap with the configuration, and the operator's namespace.
const CONFIG_MAP: &str = "addon-operator";
const NAMESPACE: &str = "default";
/// The pause after the first failure of a module, and the longest one. A scenario must not wait as long as a cluster may.
const RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// How long a try that failed once may take to succeed.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time between two checks.
const GLANCE: Duration = Duration::from_millis(5);
/// The chart of a module that has only a hook. Without one, its hooks with `beforeDeleteHelm` would not run.
const CHART: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: module-{{ .Release.Name }}\n";

pub(super) struct Stage {
    alone: Alone,
    module: Module,
    global: Option<PathBuf>,
    /// The folder of the scenario.
    folder: PathBuf,
    /// Takes the same settings as the operator, to say what is wrong with them.
    store: Store,
    refused: Option<String>,
    takes_trouble: bool,
    /// Renders, if the scenario expects manifests.
    sandbox: Option<Sandbox>,
    /// The last values, and what the chart renders to with them.
    rendered: Mutex<Option<(Value, Result<String, String>)>>,
    /// The directory that was made for a module that has only a hook.
    made: Option<TempDir>,
}

impl Stage {
    pub fn new(directory: &Path, scenario: &Scenario, folder: &Path, settings: &Settings) -> Result<Self, String> {
        let alone = Alone::new(directory).map_err(|error| error_chain(&error))?;
        let global = scenario.global_hooks.as_ref().map(|below| folder.join(below));
        if let Some(missing) = global.as_ref().filter(|global| !global.is_dir()) {
            return Err(format!("globalHooks: {} is not a directory", missing.display()));
        }
        let (module, catalogue) = alone.read(global.as_deref())?;
        let renders = scenario.steps.iter().any(|step| match &step.action {
            Action::Expect(expect) => expect.manifests.is_some(),
            _ => false,
        });
        let sandbox = renders.then(|| Sandbox::new(settings.sandbox.clone())).transpose();
        Ok(Self {
            store: Store::new(&catalogue),
            alone,
            module,
            global,
            folder: folder.to_owned(),
            refused: None,
            takes_trouble: scenario.takes_trouble(),
            sandbox: sandbox.map_err(|error| error_chain(&error))?,
            rendered: Mutex::default(),
            made: None,
        })
    }

    /// A module that has only a hook: the one in the directory `hooks`.
    pub fn of_hook(
        belongs: &Belongs,
        hooks: &Path,
        scenario: &Scenario,
        folder: &Path,
        settings: &Settings,
    ) -> Result<Self, String> {
        let made = module_of(belongs, hooks).map_err(|error| {
            format!("cannot make a directory for the module {} of the hook: {error}", belongs.module)
        })?;
        let stage = Self::new(&made.path().join(belongs.module.as_str()), scenario, folder, settings)?;
        Ok(Self { made: Some(made), ..stage })
    }

    /// Where the module is.
    pub fn directory(&self) -> PathBuf {
        let made = self.made.as_ref().map(|made| made.path().join(self.module.name.as_str()));
        made.unwrap_or_else(|| self.module.path.clone())
    }

    pub fn options(&self) -> ModulesOptions {
        ModulesOptions {
            global_hooks: self.global.clone(),
            config_map: CONFIG_MAP.to_owned(),
            retry_initial: RETRY,
            retry_max: LONGEST_RETRY,
            ..ModulesOptions::new(vec![self.alone.directory()])
        }
    }

    /// A text with the paths of the author.
    pub fn shown(&self, text: &str) -> String {
        self.alone.shown(text)
    }

    /// The path of a file that the scenario names.
    pub fn file(&self, below: &str) -> PathBuf {
        self.folder.join(below)
    }

    /// The ConfigMap with this configuration.
    pub fn configure(&mut self, configured: &Configured) -> Value {
        let data = configured.data(self.module.name.key());
        self.refused = match Config::of_data(CONFIG_MAP, &data) {
            Ok(config) => {
                let problems: Vec<_> = self.store.configure(&config).iter().map(ToString::to_string).collect();
                (!problems.is_empty()).then(|| problems.join("; "))
            }
            Err(error) => Some(error.to_string()),
        };
        let mut map = Self::map();
        if let Some(fields) = map.as_object_mut() {
            fields.insert("data".to_owned(), data.into());
        }
        map
    }

    /// The name of the ConfigMap.
    pub fn map() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NAMESPACE, "name": CONFIG_MAP}})
    }

    /// What an expectation is about. `map` is the ConfigMap as it is.
    pub async fn look(&self, expect: &Expect, operator: &Operator, map: Option<&Value>) -> OfModule {
        let mut seen = OfModule::default();
        if expect.settings.is_some() {
            seen.settings = map.and_then(|map| self.settings(map));
        }
        if expect.values.is_some() || expect.global.is_some() || expect.manifests.is_some() {
            let values = operator.module_values(&self.module.name);
            let section = |key: &str| values.as_ref().ok().and_then(|values| values.get(key)).cloned();
            seen.values = expect.values.as_ref().and_then(|_| section(self.module.name.key()));
            seen.global = expect.global.as_ref().and_then(|_| section("global"));
            if let Some(file) = &expect.manifests {
                seen.manifests = Some(self.manifests(values).await);
                seen.snapshot = fs::read_to_string(self.file(file)).ok();
            }
        }
        if expect.failed.is_some() {
            seen.trouble = self.trouble(operator);
        }
        seen
    }

    /// What the ConfigMap has of the module.
    fn settings(&self, map: &Value) -> Option<Value> {
        let none = Map::new();
        let data = map.get("data").and_then(Value::as_object).unwrap_or(&none);
        let config = Config::of_data(CONFIG_MAP, data).ok()?;
        config.section(self.module.name.key()).cloned()
    }

    async fn manifests(&self, values: Result<Value, String>) -> Result<String, String> {
        let (values, Some(sandbox)) = (values?, &self.sandbox) else {
            return Err("there is no sandbox: this is a defect of boathook".to_owned());
        };
        let mut rendered = self.rendered.lock().await;
        if let Some((_, text)) = rendered.as_ref().filter(|(of, _)| *of == values) {
            return text.clone();
        }
        let text = manifests(sandbox, &self.module, values.clone()).await.map_err(|why| self.shown(&why));
        *rendered = Some((values, text.clone()));
        text
    }

    /// Why the module is not as it should be.
    fn trouble(&self, operator: &Operator) -> Option<String> {
        let refused = self.refused.as_ref().map(|why| format!("the settings are refused: {why}"));
        refused.or_else(|| operator.trouble().map(|trouble| self.shown(&trouble.why)))
    }

    /// An error is one of the module that goes on, although the scenario does not expect any. A try may fail once.
    pub fn check(&self, operator: &Operator) -> Result<(), String> {
        let goes_on = self.refused.is_some() || operator.trouble().is_some_and(|trouble| trouble.goes_on);
        if self.takes_trouble || !goes_on {
            return Ok(());
        }
        match self.trouble(operator) {
            Some(why) => Err(self.named(&why)),
            None => Ok(()),
        }
    }

    /// Waits until a try that failed once has succeeded.
    pub async fn ended(&self, operator: &Operator) -> Result<(), String> {
        let began = Instant::now();
        loop {
            self.check(operator)?;
            match self.trouble(operator) {
                Some(why) if !self.takes_trouble && began.elapsed() > PATIENCE => return Err(self.named(&why)),
                Some(_) if !self.takes_trouble => tokio::time::sleep(GLANCE).await,
                _ => return Ok(()),
            }
        }
    }

    fn named(&self, why: &str) -> String {
        format!("the module {}: {why}", self.module.name)
    }

    /// What the module does, if it is not ready.
    pub fn state(&self, operator: &Operator) -> Option<String> {
        let state = self.trouble(operator).or_else(|| operator.state());
        state.map(|state| self.named(&state))
    }
}

/// A directory with a module that has the hooks of a directory, and a chart of one ConfigMap.
pub(super) fn module_of(belongs: &Belongs, hooks: &Path) -> io::Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let module = folder.path().join(belongs.module.as_str());
    let (own, templates) = (module.join("hooks"), module.join("templates"));
    fs::create_dir_all(&own)?;
    fs::create_dir(&templates)?;
    for hook in fs::read_dir(hooks)? {
        let hook = hook?;
        fs::copy(hook.path(), own.join(hook.file_name()))?;
    }
    fs::write(templates.join("module.yaml"), CHART)?;
    // JSON is YAML.
    let values = Map::from_iter([
        ("global".to_owned(), belongs.global.clone()),
        (belongs.module.key().to_owned(), belongs.values.clone()),
    ]);
    fs::write(folder.path().join("values.yaml"), Value::from(values).to_string())?;
    Ok(folder)
}
