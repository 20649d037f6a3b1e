//! What a scenario of a module has in addition.

use std::path::{Component, Path};

use boathook_modules::ModuleName;
use serde_json::{Map, Value, json};

use super::{
    super::{
        reader::{Fields, describe},
        tree::Kind,
    },
    Action, Expect, Scenario,
};

/// The word that turns the module off.
const OFF: &str = "off";

/// What users configure.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) enum Configured {
    /// The module is on, and these are the values of its section.
    On(Value),
    Off,
}

impl Default for Configured {
    /// The module is on, and users configure nothing.
    fn default() -> Self {
        Self::On(json!({}))
    }
}

impl Configured {
    pub(super) fn read(fields: &Fields<'_>) -> Option<Self> {
        let node = fields.take("settings")?;
        match &node.kind {
            Kind::Map(_) => Some(Self::On(node.value())),
            Kind::Scalar(Value::String(word)) if word == OFF => Some(Self::Off),
            _ => {
                let message = format!("must be a mapping, or the word {OFF}, not {}", describe(node));
                fields.problems().add(node.place, &fields.child("settings"), message);
                None
            }
        }
    }

    /// The data of the ConfigMap. Settings of a module that is turned off stay.
    pub fn data(&self, key: &str) -> Map<String, Value> {
        let enabled = |on: bool| (format!("{key}Enabled"), json!(on.to_string()));
        match self {
            // JSON is YAML.
            Self::On(settings) => Map::from_iter([enabled(true), (key.to_owned(), json!(settings.to_string()))]),
            Self::Off => Map::from_iter([enabled(false)]),
        }
    }
}

/// The module that a hook belongs to, in a scenario of this hook alone.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::scenario) struct Belongs {
    pub module: ModuleName,
    /// The values of its section that nobody configured.
    pub values: Value,
    /// The values that all modules see.
    pub global: Value,
}

impl Belongs {
    pub(super) fn read(fields: &Fields<'_>) -> Option<Self> {
        let named = fields.take("module");
        let section = |key: &'static str| {
            let node = fields.take(key)?;
            let problem = match (&node.kind, named) {
                (Kind::Map(_), Some(_)) => return Some(node.value()),
                (Kind::Map(_), None) => "needs the key module, which names the module of the hook".to_owned(),
                _ => format!("must be a mapping, not {}", describe(node)),
            };
            fields.problems().add(node.place, &fields.child(key), problem);
            None
        };
        let (values, global) = (section("values"), section("global"));
        let module = match fields.text("module")?.parse::<ModuleName>() {
            Ok(module) => module,
            Err(error) => {
                let place = named?.place;
                fields.problems().add(place, &fields.child("module"), error.to_string());
                return None;
            }
        };
        Some(Self { module, values: values.unwrap_or_else(|| json!({})), global: global.unwrap_or_else(|| json!({})) })
    }
}

/// The file with the manifests that a module renders to, below the folder of the scenario.
pub(super) fn snapshot(fields: &Fields<'_>) -> Option<String> {
    let text = fields.text("manifests")?;
    let path = Path::new(text);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_scenario = path.components().count() == 1
        && path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    let problem = if !is_inside {
        format!("is {text:?}; it is the path of a file below the folder of the scenario, such as snapshots/web.yaml")
    } else if is_scenario {
        format!("is {text:?}, which is a scenario: put it into a folder, such as snapshots/{text}")
    } else {
        return Some(text.to_owned());
    };
    if let Some(node) = fields.take("manifests") {
        fields.problems().add(node.place, &fields.child("manifests"), problem);
    }
    None
}

impl Scenario {
    /// A key that only scenarios of modules have, if there is one.
    pub(in crate::scenario) fn key_of_modules(&self) -> Option<&'static str> {
        let keys = [("settings", self.settings.is_some()), ("globalHooks", self.global_hooks.is_some())];
        let of_scenario = keys.iter().find(|(_, is_there)| *is_there).map(|(key, _)| *key);
        of_scenario.or_else(|| {
            self.steps.iter().find_map(|step| match &step.action {
                Action::Settings(_) => Some("settings"),
                Action::Expect(expect) => expect.key_of_modules(),
                _ => None,
            })
        })
    }

    /// Whether the module may fail: the scenario causes that, or expects it.
    pub(in crate::scenario) fn takes_trouble(&self) -> bool {
        let takes = |action: &Action| match action {
            Action::Fault(_) => true,
            Action::Expect(expect) => expect.failed.is_some() || !expect.failures.is_empty(),
            _ => false,
        };
        !self.faults.is_empty() || self.steps.iter().any(|step| takes(&step.action))
    }
}

impl Expect {
    fn key_of_modules(&self) -> Option<&'static str> {
        let keys = [
            ("values", self.values.is_some()),
            ("global", self.global.is_some()),
            ("settings", self.settings.is_some()),
            ("manifests", self.manifests.is_some()),
            ("failed", self.failed.is_some()),
        ];
        keys.iter().find(|(_, is_there)| *is_there).map(|(key, _)| *key)
    }
}
