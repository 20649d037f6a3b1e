//! What hooks changed, as it survives a restart, and what their changes of the configuration mean for the ConfigMap.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Changed, Kept, Prepared, Problem, Refused, Store, Writer};
use crate::{
    config::{Config, Wish},
    layers::{Layers, section},
    names::{GLOBAL, ModuleName},
    patch::{Operation, Patch, document},
};

impl Prepared {
    /// The section that changes.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether nothing changes that is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_none() && self.changed.enabled.is_empty()
    }
}

impl Store {
    /// Takes changes that were prepared. Nothing else may have been taken for the section since then.
    pub fn take(&mut self, prepared: Prepared) -> Changed {
        let Prepared { key, kept, writer, changed } = prepared;
        if let (Some(kept), Some(part)) = (kept, self.parts.get_mut(&key)) {
            part.kept = kept;
        }
        let [_, of_hooks, ..] = &mut self.votes;
        switch(of_hooks, &changed, &writer);
        changed
    }

    /// What hooks changed in a section with these changes, as text for [`Store::restore`].
    pub fn kept_with(&self, prepared: &Prepared) -> String {
        let of_part = self.parts.get(&prepared.key).map(|part| &part.kept);
        let [_, of_hooks, ..] = &self.votes;
        let mut votes = of_hooks.clone();
        switch(&mut votes, &prepared.changed, &prepared.writer);
        let votes = if prepared.key == GLOBAL { votes } else { BTreeMap::new() };
        written(prepared.kept.as_ref().or(of_part), &votes).to_string()
    }

    /// What hooks changed in a section, in order, each with the hook.
    pub fn changes(&self, key: &str) -> Value {
        let kept = self.parts.get(key).map(|part| &part.kept);
        written(kept, &BTreeMap::new()).get_mut("changes").map(Value::take).unwrap_or_default()
    }

    /// The same, and the modules that global hooks turn on or off.
    pub fn patches(&self, key: &str) -> Value {
        let [_, of_hooks, ..] = &self.votes;
        let nobody = BTreeMap::new();
        written(self.parts.get(key).map(|part| &part.kept), if key == GLOBAL { of_hooks } else { &nobody })
    }

    /// Takes what was kept of a section before a restart. Returns false if there is no such section any more.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    pub fn restore(&mut self, key: &str, text: &str) -> Result<bool, String> {
        let found: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let entries = |name: &str| found.get(name).and_then(Value::as_array).into_iter().flatten();
        let hook = |entry: &Value| {
            let hook = entry.get("hook").and_then(Value::as_str).ok_or("an entry has no hook")?;
            Ok::<_, String>(Writer::Hook(hook.to_owned()))
        };
        let mut kept = Kept::new();
        for entry in entries("changes") {
            let operations = entry.get("operations").ok_or("an entry has no operations")?;
            kept.push((hook(entry)?, Patch::parse(&operations.to_string()).map_err(|error| error.to_string())?));
        }
        let Some(part) = self.parts.get_mut(key) else { return Ok(false) };
        part.kept = kept;
        if key == GLOBAL {
            let [_, of_hooks, ..] = &mut self.votes;
            for entry in entries("enabled") {
                let module = entry.get("module").and_then(Value::as_str).ok_or("an entry has no module")?;
                let on = entry.get("on").and_then(Value::as_bool).ok_or("an entry is neither on nor off")?;
                of_hooks.insert(module.to_owned(), (hook(entry)?, on));
            }
        }
        Ok(true)
    }

    /// Forgets what hooks changed in the section of a module.
    pub fn forget(&mut self, module: &ModuleName) {
        if let Some(part) = self.parts.get_mut(module.key()) {
            part.kept.clear();
        }
    }

    /// The section alone, without `global`. `None` if there is no such section, or a change of a hook cannot be applied any
    /// more.
    pub fn section(&self, key: &str) -> Option<Value> {
        self.parts.get(key)?.layers(key).value().ok()
    }

    /// The configuration that the hooks of a module see: its section and `global`, as users wrote them.
    pub fn configuration(&self, of: Option<&ModuleName>) -> Value {
        let mut sections = Map::new();
        for key in [Some(GLOBAL), of.map(ModuleName::key)].into_iter().flatten() {
            let part = self.parts.get(key);
            let written = part.into_iter().flat_map(|part| part.config.iter().chain(&part.settings));
            let mut layers = Layers::new(key);
            written.for_each(|(writer, values)| layers.merge(writer.clone(), values.clone()));
            // Without patches, layers always have a value.
            sections.insert(key.to_owned(), layers.value().unwrap_or_else(|_| json!({})));
        }
        Value::Object(sections)
    }

    /// The settings of a module as users wrote them: its section of the configuration, and above it those of its `Module`
    /// resource. `None` if there are none.
    pub fn settings(&self, module: &ModuleName) -> Option<Value> {
        let part = self.parts.get(module.key())?;
        written_by_users(module, part.config.as_ref(), part.settings.as_ref())
    }

    /// The same with what a `Module` resource wants.
    pub fn settings_with_wish(&self, module: &ModuleName, wish: &Wish) -> Option<Value> {
        let part = self.parts.get(module.key())?;
        let settings = wish.settings.clone().map(|settings| (Writer::Resource(module.to_string()), settings));
        written_by_users(module, part.config.as_ref(), settings.as_ref())
    }

    /// The same with another configuration.
    pub fn settings_with_config(&self, module: &ModuleName, config: &Config) -> Option<Value> {
        let part = self.parts.get(module.key())?;
        let section = config.section(module.key());
        let section = section.map(|section| (Writer::Config(config.name().to_owned()), section.clone()));
        written_by_users(module, section.as_ref(), part.settings.as_ref())
    }

    /// What a hook's change of the configuration makes of the data of the ConfigMap: the keys that change, each with its new
    /// value, or without one if it is removed.
    ///
    /// # Errors
    /// Names the operation or the value that is refused.
    pub fn configured_with(
        &self,
        of: Option<&ModuleName>,
        patch: Patch,
        config: &Config,
    ) -> Result<BTreeMap<String, Option<Value>>, Refused> {
        let key = of.map_or(GLOBAL, ModuleName::key);
        let part = self.parts.get(key).ok_or_else(|| Refused::NoModule(key.to_owned()))?;
        let mut changes = BTreeMap::new();
        let mut own = Patch::default();
        for operation in patch.operations {
            match operation.path.first() {
                Some(first) if first == key => own.operations.push(operation),
                Some(first) if of.is_none() => {
                    let (module, on) = super::switched(first, &operation)?;
                    changes.insert(format!("{module}Enabled"), on.map(Value::Bool));
                }
                _ => {
                    let why = format!("the hook may change /{key} of the configuration only");
                    return Err(Refused::Path(operation.shown(), why));
                }
            }
        }
        if own.is_empty() {
            return Ok(changes);
        }
        let before = config.section(key).cloned().unwrap_or_else(|| json!({}));
        let mut whole = document(key, before);
        own.apply(&mut whole).map_err(|why| Refused::Operation(format!("{key}: {why}")))?;
        let after = section(whole, key);
        if !after.is_object() && !after.is_array() {
            return Err(Refused::Path(format!("/{key}"), "a section is an object or a list".to_owned()));
        }
        let new = (Writer::Config(config.name().to_owned()), after.clone());
        let found: Vec<Problem> = part.check_config(key, Some(&new), part.settings.as_ref());
        if !found.is_empty() {
            return Err(Refused::Invalid(found));
        }
        changes.insert(key.to_owned(), Some(after));
        Ok(changes)
    }
}

fn switch(votes: &mut BTreeMap<String, (Writer, bool)>, changed: &Changed, writer: &Writer) {
    for (module, on) in &changed.enabled {
        match on {
            Some(on) => drop(votes.insert(module.clone(), (writer.clone(), *on))),
            None => drop(votes.remove(module)),
        }
    }
}

fn written(kept: Option<&Kept>, votes: &BTreeMap<String, (Writer, bool)>) -> Value {
    let hook = |writer: &Writer| match writer {
        Writer::Hook(name) => name.clone(),
        other => other.to_string(),
    };
    let operation = |operation: &Operation| match &operation.value {
        Some(value) => json!({"op": "add", "path": operation.shown(), "value": value}),
        None => json!({"op": "remove", "path": operation.shown()}),
    };
    let changes = kept.into_iter().flatten().map(|(writer, patch)| {
        let operations: Vec<Value> = patch.operations.iter().map(operation).collect();
        json!({"hook": hook(writer), "operations": operations})
    });
    let votes = votes.iter().map(|(module, (writer, on))| json!({"module": module, "hook": hook(writer), "on": on}));
    json!({"changes": changes.collect::<Vec<_>>(), "enabled": votes.collect::<Vec<_>>()})
}

fn written_by_users(
    module: &ModuleName,
    config: Option<&(Writer, Value)>,
    settings: Option<&(Writer, Value)>,
) -> Option<Value> {
    if config.is_none() && settings.is_none() {
        return None;
    }
    let mut layers = Layers::new(module.key());
    config.into_iter().chain(settings).for_each(|(writer, values)| layers.merge(writer.clone(), values.clone()));
    // Without patches, layers always have a value.
    layers.value().ok()
}
