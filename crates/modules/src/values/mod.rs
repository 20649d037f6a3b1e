//! The values of all modules: static values, defaults, the configuration, and what hooks changed.

mod transaction;

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    config::{Config, Maintenance, Wish},
    layers::{Layers, StalePatch, Step, Writer, at, section},
    layout::{Catalogue, Module, Section},
    names::{Flag, GLOBAL, ModuleName, flag},
    patch::{Operation, Patch, compact, document, size},
    schema::{Finding, Schema},
};

/// The most bytes of one section.
const MAX_SECTION: usize = 4 * 1024 * 1024;
/// The most operations that are kept for one section, and the most bytes of them. What later ones replace is not kept.
const MAX_KEPT: usize = 10_000;
const MAX_KEPT_BYTES: usize = 2 * MAX_SECTION;

/// What is wrong with a value, and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The section of the value.
    pub key: String,
    /// The keys below the section.
    pub path: Vec<String>,
    pub message: String,
    pub writer: Option<Writer>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.key)?;
        self.path.iter().try_for_each(|key| write!(f, ".{key}"))?;
        write!(f, ": {}", self.message)?;
        self.writer.as_ref().map_or(Ok(()), |writer| write!(f, " (written by {writer})"))
    }
}

/// Why the changes of a run were not taken. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("there is no module {0}")]
    NoModule(String),
    #[error("{0} may not be changed: {1}")]
    Path(String, String),
    #[error("{0}")]
    Operation(String),
    #[error("the values of {0} would be larger than {MAX_SECTION} bytes: remove what is not needed")]
    TooLarge(String),
    #[error(
        "{0} would have more than {MAX_KEPT} changes or {MAX_KEPT_BYTES} bytes of them: add the list or the object as a \
         whole instead of its parts"
    )]
    TooMany(String),
    #[error("{}", texts(.0))]
    Invalid(Vec<Problem>),
    #[error(transparent)]
    Stale(#[from] StalePatch),
}

fn texts(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What a run changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// The values of the section are different now.
    pub values: bool,
    /// Modules, by key, that the run turned on or off, or left to others.
    pub enabled: BTreeMap<String, Option<bool>>,
}

/// What hooks changed in a section, in order.
type Kept = Vec<(Writer, Patch)>;

/// The changes of a run that were checked.
#[derive(Debug)]
pub struct Prepared {
    key: String,
    /// What is kept of the section from then on. `None` if that does not change.
    kept: Option<Kept>,
    writer: Writer,
    changed: Changed,
}

#[derive(Debug, Clone, Default)]
struct Part {
    statics: Vec<(Writer, Value)>,
    config_schema: Option<(Writer, Arc<Schema>)>,
    values_schema: Option<(Writer, Arc<Schema>)>,
    helm_schema: Option<Arc<Schema>>,
    config: Option<(Writer, Value)>,
    /// The settings of a `Module` resource, which win over the configuration.
    settings: Option<(Writer, Value)>,
    kept: Kept,
}

/// The values of all modules.
#[derive(Debug, Clone)]
pub struct Store {
    parts: BTreeMap<String, Part>,
    /// Modules that static values, global hooks, the configuration and `Module` resources turn on or off, by key. Later
    /// ones win.
    votes: [BTreeMap<String, (Writer, bool)>; 4],
    /// How the configuration and `Module` resources want modules to be kept, by key. Later ones win.
    maintenance: [BTreeMap<String, Maintenance>; 2],
}

/// Whether a module is on, before its own script decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub on: bool,
    /// Who decided. Without anyone, a module is off.
    pub by: Option<Writer>,
}

impl Store {
    /// The static values and defaults of all modules.
    pub fn new(catalogue: &Catalogue) -> Self {
        let modules = catalogue.modules.iter().map(|module| (module.name.key(), &module.section));
        let sections = modules.chain([(GLOBAL, &catalogue.global)]);
        let parts = sections.map(|(key, section)| (key.to_owned(), Part::new(section))).collect();
        let votes = [catalogue.enabled.clone(), BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
        Self { parts, votes, maintenance: [BTreeMap::new(), BTreeMap::new()] }
    }

    /// Takes a module that came later, or another version of one. What users and hooks wrote to its section stays, even
    /// if the new schema refuses it: then the chart is not rendered, and the error says why.
    pub fn put(&mut self, module: &Module) {
        let key = module.name.key();
        let (config, settings, kept) = match self.parts.remove(key) {
            Some(Part { config, settings, kept, .. }) => (config, settings, kept),
            None => (None, None, Kept::new()),
        };
        self.parts.insert(key.to_owned(), Part { config, settings, kept, ..Part::new(&module.section) });
    }

    /// What the schema of another version of a module says about what users wrote, and about what its `Module` resource
    /// wants then.
    pub fn check_version(&self, module: &Module, wish: &Wish) -> Vec<Problem> {
        let key = module.name.key();
        let config = self.parts.get(key).and_then(|part| part.config.as_ref());
        // Rules about a change have nothing to compare with: another version may have other settings.
        let writer = Writer::Resource(module.name.to_string());
        Part::new(&module.section).check_wish(key, &writer, config, wish)
    }

    /// Takes a module away, with what users and hooks wrote to its section.
    pub fn remove(&mut self, module: &ModuleName) {
        self.parts.remove(module.key());
        for votes in &mut self.votes {
            votes.remove(module.key());
        }
        for maintenance in &mut self.maintenance {
            maintenance.remove(module.key());
        }
    }

    /// Takes what a `Module` resource wants. Without one (`None`), others decide. Settings that the module's schema
    /// refuses stay as they were, and the rest is taken.
    pub fn wish(&mut self, module: &ModuleName, wish: Option<&Wish>) -> Vec<Problem> {
        let key = module.key();
        let writer = Writer::Resource(module.to_string());
        let wish = wish.cloned().unwrap_or_default();
        let [.., of_resources] = &mut self.votes;
        match wish.enabled {
            Some(on) => drop(of_resources.insert(key.to_owned(), (writer.clone(), on))),
            None => drop(of_resources.remove(key)),
        }
        let [_, of_resources] = &mut self.maintenance;
        match wish.maintenance {
            Some(kept) => drop(of_resources.insert(key.to_owned(), kept)),
            None => drop(of_resources.remove(key)),
        }
        let Some(part) = self.parts.get_mut(key) else { return Vec::new() };
        let found = part.check_wish(key, &writer, part.config.as_ref(), &wish);
        if found.is_empty() {
            part.settings = wish.settings.map(|settings| (writer, settings));
        }
        found
    }

    /// What [`Store::wish`] would refuse. Rules about a change compare the settings with those that are there.
    /// `old`: the settings to compare with if none are there.
    pub fn check_wish(&self, module: &ModuleName, wish: &Wish, old: Option<&Wish>) -> Vec<Problem> {
        let key = module.key();
        let Some(part) = self.parts.get(key) else { return Vec::new() };
        let writer = Writer::Resource(module.to_string());
        let old = || Some((writer.clone(), old?.settings.clone()?));
        let before = part.settings.clone().or_else(old);
        let schema = part.config_schema.clone();
        let compared = Part { config_schema: schema, config: part.config.clone(), settings: before, ..Part::default() };
        compared.check_wish(key, &writer, part.config.as_ref(), wish)
    }

    /// What the schemas of all modules say about a configuration.
    pub fn check_config(&self, config: &Config) -> Vec<Problem> {
        let writer = Writer::Config(config.name().to_owned());
        let each = self.parts.iter().flat_map(|(key, part)| {
            let new = config.section(key).map(|values| (writer.clone(), values.clone()));
            part.check_config(key, new.as_ref(), part.settings.as_ref())
        });
        each.collect()
    }

    /// Takes a configuration, section by section. A section that its schema refuses stays as it was, and so does the
    /// section of a configuration that is valid without it. Rules about a change compare with the configuration before.
    pub fn configure(&mut self, config: &Config) -> Vec<Problem> {
        let writer = Writer::Config(config.name().to_owned());
        let mut problems = Vec::new();
        for (key, part) in &mut self.parts {
            let new = config.section(key).map(|values| (writer.clone(), values.clone()));
            let found = part.check_config(key, new.as_ref(), part.settings.as_ref());
            match found.is_empty() {
                true => part.config = new,
                false => problems.extend(found),
            }
        }
        let flags = config.keys().filter_map(|key| Some((key.to_owned(), (writer.clone(), config.enabled(key)?))));
        let flags = flags.collect();
        let [_, _, of_config, _] = &mut self.votes;
        *of_config = flags;
        let [of_config, _] = &mut self.maintenance;
        *of_config = config.keys().map(|key| (key.to_owned(), config.maintenance(key))).collect();
        problems
    }

    /// Takes what a run of a hook returned, as a whole or not at all. A hook of a module changes the module's section. A
    /// global hook (`None`) changes the section `global`, and turns modules on and off.
    ///
    /// # Errors
    /// Names the operation or the value that is refused.
    pub fn commit(&mut self, hook: &str, of: Option<&ModuleName>, patch: Patch) -> Result<Changed, Refused> {
        Ok(self.take(self.prepare(hook, of, patch)?))
    }

    /// Checks what a run of a hook returned, and changes nothing.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn prepare(&self, hook: &str, of: Option<&ModuleName>, patch: Patch) -> Result<Prepared, Refused> {
        let key = of.map_or(GLOBAL, ModuleName::key);
        let part = self.parts.get(key).ok_or_else(|| Refused::NoModule(key.to_owned()))?;
        let writer = Writer::Hook(hook.to_owned());
        let mut changed = Changed::default();
        let mut values = Patch::default();
        for operation in patch.operations {
            match operation.path.first() {
                Some(first) if first == key => values.operations.push(operation),
                Some(first) if of.is_none() => {
                    let (module, on) = switched(first, &operation)?;
                    changed.enabled.insert(module, on);
                }
                _ => return Err(Refused::Path(operation.shown(), format!("the hook may change /{key} only"))),
            }
        }
        let mut kept = None;
        if !values.is_empty() {
            let (after, differs) = part.commit(key, writer.clone(), values)?;
            (kept, changed.values) = (Some(after), differs);
        }
        Ok(Prepared { key: key.to_owned(), kept, writer, changed })
    }

    /// Whether the module with this key is on. Global hooks win over static values, the configuration wins over both, and a
    /// `Module` resource wins over all.
    pub fn decision(&self, key: &str) -> Decision {
        let last = self.votes.iter().rev().find_map(|votes| votes.get(key));
        last.map_or(Decision { on: false, by: None }, |(by, on)| Decision { on: *on, by: Some(by.clone()) })
    }

    /// How the objects of the module with this key are kept.
    pub fn maintenance(&self, key: &str) -> Maintenance {
        self.maintenance.iter().rev().find_map(|maintenance| maintenance.get(key)).copied().unwrap_or_default()
    }

    /// The same for each module that the configuration or a `Module` resource names, whether there is such a module or not:
    /// the objects of one that is gone may be paused, too.
    pub fn maintained(&self) -> BTreeMap<ModuleName, Maintenance> {
        let keys = self.maintenance.iter().flat_map(BTreeMap::keys);
        keys.filter_map(|key| Some((ModuleName::of_key(key).ok()?, self.maintenance(key)))).collect()
    }

    /// What a module's hooks and its chart see: its own section, and `global`. `None` if there is no such module.
    ///
    /// # Errors
    /// The change of a hook cannot be applied any more.
    pub fn values(&self, key: &str) -> Option<Result<Value, StalePatch>> {
        let (own, global) = (self.parts.get(key)?, self.parts.get(GLOBAL)?);
        let both = || {
            let mut values = Map::new();
            values.insert(GLOBAL.to_owned(), global.layers(GLOBAL).value()?);
            values.insert(key.to_owned(), own.layers(key).value()?);
            Ok(Value::Object(values))
        };
        Some(both())
    }

    /// Who wrote a value of a section, in order. The last one wins.
    ///
    /// # Errors
    /// The change of a hook cannot be applied any more.
    pub fn trace(&self, key: &str, path: &[String]) -> Option<Result<Vec<Step>, StalePatch>> {
        self.parts.get(key).map(|part| part.layers(key).trace(path))
    }

    /// What the schema of a section's values says about them, and about what the chart needs with `for_helm`.
    ///
    /// # Errors
    /// The change of a hook cannot be applied any more.
    pub fn problems(&self, key: &str, for_helm: bool) -> Result<Vec<Problem>, StalePatch> {
        let Some(part) = self.parts.get(key) else { return Ok(Vec::new()) };
        let schema = if for_helm { part.helm_schema.as_ref() } else { part.values_schema.as_ref().map(|(_, one)| one) };
        let Some(schema) = schema else { return Ok(Vec::new()) };
        let layers = part.layers(key);
        let value = layers.value()?;
        Ok(problems(key, &layers, schema.check(&value, None)))
    }
}

/// The module that an operation of a global hook turns on or off.
fn switched(first: &str, operation: &Operation) -> Result<(String, Option<bool>), Refused> {
    let refused = |why: &str| Refused::Path(operation.shown(), why.to_owned());
    let module = match flag(first) {
        Some((module, Flag::Enabled)) if operation.path.len() == 1 && ModuleName::of_key(module).is_ok() => module,
        _ => return Err(refused("a global hook may change /global and /MODULEEnabled only")),
    };
    let on = match &operation.value {
        None => None,
        Some(Value::Bool(on)) => Some(*on),
        Some(_) => return Err(refused("its value must be true or false")),
    };
    Ok((module.to_owned(), on))
}

/// What a schema says about a value, with those who wrote it.
fn problems(key: &str, layers: &Layers, found: Vec<Finding>) -> Vec<Problem> {
    let problem = |finding: Finding| {
        let writer = layers.writer(&finding.path);
        Problem { key: key.to_owned(), path: finding.path, message: finding.message, writer }
    };
    found.into_iter().map(problem).collect()
}

impl Part {
    fn new(section: &Section) -> Self {
        let schema = |of: &Option<(std::path::PathBuf, Arc<Schema>)>| {
            of.as_ref().map(|(path, schema)| (Writer::Default(path.clone()), Arc::clone(schema)))
        };
        Self {
            statics: section.statics.clone(),
            config_schema: schema(&section.config),
            values_schema: schema(&section.values),
            helm_schema: section.helm.clone(),
            config: None,
            settings: None,
            kept: Vec::new(),
        }
    }

    /// The layers below what hooks changed.
    fn below(&self, key: &str) -> Layers {
        let mut layers = Layers::new(key);
        self.statics.iter().for_each(|(writer, values)| layers.merge(writer.clone(), values.clone()));
        let defaults = |layers: &mut Layers, of: &Option<(Writer, Arc<Schema>)>| {
            if let Some((writer, schema)) = of {
                layers.defaults(writer.clone(), Arc::clone(schema));
            }
        };
        defaults(&mut layers, &self.config_schema);
        for (writer, values) in self.config.iter().chain(&self.settings) {
            layers.merge(writer.clone(), values.clone());
        }
        defaults(&mut layers, &self.values_schema);
        layers
    }

    fn layers(&self, key: &str) -> Layers {
        let mut layers = self.below(key);
        self.kept.iter().for_each(|(writer, patch)| layers.patch(writer.clone(), patch.clone()));
        layers
    }

    /// What the schema of the configuration says about a new one: the values of the ConfigMap, those of a `Module`
    /// resource, and the defaults, without static values.
    fn check_config(
        &self,
        key: &str,
        config: Option<&(Writer, Value)>,
        settings: Option<&(Writer, Value)>,
    ) -> Vec<Problem> {
        let Some((defaults, schema)) = &self.config_schema else { return Vec::new() };
        let layers = |config: Option<&(Writer, Value)>, settings: Option<&(Writer, Value)>| {
            let written: Vec<_> = config.into_iter().chain(settings).collect();
            if written.is_empty() {
                return None;
            }
            let mut layers = Layers::new(key);
            written.into_iter().for_each(|(writer, values)| layers.merge(writer.clone(), values.clone()));
            layers.defaults(defaults.clone(), Arc::clone(schema));
            Some(layers)
        };
        let Some(now) = layers(config, settings) else { return Vec::new() };
        let before = layers(self.config.as_ref(), self.settings.as_ref()).and_then(|layers| layers.value().ok());
        // Without patches, layers always have a value.
        let Ok(value) = now.value() else { return Vec::new() };
        problems(key, &now, schema.check(&value, before.as_ref()))
    }

    /// What the schema of the configuration says about the settings of a `Module` resource, and about their version.
    fn check_wish(&self, key: &str, writer: &Writer, config: Option<&(Writer, Value)>, wish: &Wish) -> Vec<Problem> {
        let version = self.config_schema.as_ref().map_or(1, |(_, schema)| schema.version());
        if let Some(wanted) = wish.settings_version.map(u64::from).filter(|wanted| *wanted != version) {
            let message = format!(
                "the settings are of version {wanted}, and the module reads version {version}: change them, and then \
                 spec.settingsVersion"
            );
            let (key, writer) = (key.to_owned(), Some(writer.clone()));
            return vec![Problem { key, path: Vec::new(), message, writer }];
        }
        let new = wish.settings.as_ref().map(|settings| (writer.clone(), settings.clone()));
        self.check_config(key, config, new.as_ref())
    }

    /// Checks a patch. Returns what is kept with it, and whether values change.
    fn commit(&self, key: &str, writer: Writer, mut patch: Patch) -> Result<(Kept, bool), Refused> {
        let before = self.layers(key).value()?;
        let mut whole = document(key, before.clone());
        patch.apply(&mut whole).map_err(|why| Refused::Operation(format!("{key}: {why}")))?;
        let after = section(whole, key);
        if !after.is_object() && !after.is_array() {
            let why = "a section is an object or a list".to_owned();
            return Err(Refused::Path(format!("/{key}"), why));
        }
        if size(&after) > MAX_SECTION {
            return Err(Refused::TooLarge(key.to_owned()));
        }
        if let Some((_, schema)) = &self.values_schema {
            let found = schema.check(&after, Some(&before));
            if !found.is_empty() {
                let layers = self.layers(key);
                let writer_of = |path: &[String]| match at(&before, path) == at(&after, path) {
                    true => layers.writer(path),
                    false => Some(writer.clone()),
                };
                let problem = |finding: Finding| Problem {
                    key: key.to_owned(),
                    writer: writer_of(&finding.path),
                    path: finding.path,
                    message: finding.message,
                };
                return Err(Refused::Invalid(found.into_iter().map(problem).collect()));
            }
        }
        let mut kept = self.kept.clone();
        compact(kept.iter_mut().map(|(_, patch)| patch), &mut patch);
        kept.push((writer, patch));
        kept.retain(|(_, patch)| !patch.is_empty());
        let operations = || kept.iter().flat_map(|(_, patch)| &patch.operations);
        let bytes: usize = operations().map(|operation| operation.value.as_ref().map_or(0, size)).sum();
        if operations().count() > MAX_KEPT || bytes > MAX_KEPT_BYTES {
            return Err(Refused::TooMany(key.to_owned()));
        }
        Ok((kept, before != after))
    }
}

#[cfg(test)]
mod tests;
