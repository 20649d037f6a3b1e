//! The configuration that users write: addon-operator's ConfigMap.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{
    files::parse,
    names::{Flag, GLOBAL, ModuleName, flag},
};

/// The most bytes of all sections. etcd refuses larger ConfigMaps, too.
const MAX_BYTES: usize = 1024 * 1024;

/// A configuration that cannot be used as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {why}")]
pub struct InvalidConfig {
    name: String,
    why: String,
}

/// How a module is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Maintenance {
    /// Its objects are kept as they should be.
    #[default]
    Managed,
    /// Its objects stay as they are.
    NoResourceReconciliation,
    /// Nothing of it goes on: no step begins, its hooks do not run, and its objects stay as they are.
    Paused,
}

impl Maintenance {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "Managed",
            Self::NoResourceReconciliation => "NoResourceReconciliation",
            Self::Paused => "Paused",
        }
    }
}

/// What a `Module` resource wants of its module. What it does not say, others do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wish {
    /// Values of the module's section.
    pub settings: Option<Value>,
    /// The version of the schema that the settings are written for, if the resource says so.
    pub settings_version: Option<u32>,
    pub enabled: Option<bool>,
    pub maintenance: Option<Maintenance>,
}

/// What users want of all modules.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    name: String,
    /// Values by key.
    sections: BTreeMap<String, Value>,
    enabled: BTreeMap<String, bool>,
    maintenance: BTreeMap<String, Maintenance>,
}

impl Config {
    /// Reads a ConfigMap, as YAML or JSON.
    ///
    /// # Errors
    /// Names the key that makes the whole ConfigMap invalid.
    pub fn of_config_map(name: &str, text: &str) -> Result<Self, InvalidConfig> {
        let wrong = |why: String| InvalidConfig { name: name.to_owned(), why };
        let object = parse(text).map_err(|why| wrong(format!("the file {why}")))?;
        if object.get("kind").and_then(Value::as_str) != Some("ConfigMap") {
            return Err(wrong(
                "the file is not a ConfigMap: write one with `kubectl get configmap -o yaml`".to_owned(),
            ));
        }
        let empty = Map::new();
        let data = match object.get("data") {
            None | Some(Value::Null) => &empty,
            Some(data) => data.as_object().ok_or_else(|| wrong("data is not a mapping".to_owned()))?,
        };
        Self::of_data(name, data)
    }

    /// Reads the data of a ConfigMap.
    ///
    /// # Errors
    /// Names the key that makes the whole ConfigMap invalid.
    pub fn of_data(name: &str, data: &Map<String, Value>) -> Result<Self, InvalidConfig> {
        let mut config = Self { name: name.to_owned(), ..Self::default() };
        let bytes: usize = data.iter().map(|(key, text)| key.len() + text.as_str().map_or(0, str::len)).sum();
        if bytes > MAX_BYTES {
            let why = format!("the data has more than {MAX_BYTES} bytes");
            return Err(InvalidConfig { name: name.to_owned(), why });
        }
        for (key, text) in data {
            config.key(key, text).map_err(|why| InvalidConfig { name: name.to_owned(), why })?;
        }
        Ok(config)
    }

    fn key(&mut self, key: &str, text: &Value) -> Result<(), String> {
        let text = text.as_str().ok_or_else(|| format!("{key} is not a text: write YAML behind `{key}: |`"))?;
        if key == GLOBAL {
            self.sections.insert(key.to_owned(), section(key, text)?);
            return Ok(());
        }
        let (of, flag) = flag(key).map_or((key, None), |(of, flag)| (of, Some(flag)));
        ModuleName::of_key(of).map_err(|error| format!("{key} is not the key of a module: {error}"))?;
        match flag {
            None => drop(self.sections.insert(key.to_owned(), section(key, text)?)),
            Some(Flag::Enabled) => {
                let on = match text {
                    "true" => true,
                    "false" => false,
                    _ => return Err(format!("{key} is {:?}: write \"true\" or \"false\"", cut(text))),
                };
                self.enabled.insert(of.to_owned(), on);
            }
            Some(Flag::Maintenance) => {
                let kept = match text {
                    "" => Maintenance::Managed,
                    "NoResourceReconciliation" | "noresourcereconciliation" => Maintenance::NoResourceReconciliation,
                    "Paused" | "paused" => Maintenance::Paused,
                    _ => {
                        let why = "write \"NoResourceReconciliation\", \"Paused\", or nothing for a managed module";
                        return Err(format!("{key} is {:?}: {why}", cut(text)));
                    }
                };
                self.maintenance.insert(of.to_owned(), kept);
            }
        }
        Ok(())
    }

    /// The name of the ConfigMap, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values of a section.
    pub fn section(&self, key: &str) -> Option<&Value> {
        self.sections.get(key)
    }

    /// Whether the module with this key should be on, if the configuration says so.
    pub fn enabled(&self, key: &str) -> Option<bool> {
        self.enabled.get(key).copied()
    }

    /// How the module with this key is kept.
    pub fn maintenance(&self, key: &str) -> Maintenance {
        self.maintenance.get(key).copied().unwrap_or_default()
    }

    /// The keys of all modules that the configuration mentions.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let all = self.sections.keys().chain(self.enabled.keys()).chain(self.maintenance.keys());
        let all: std::collections::BTreeSet<&str> = all.map(String::as_str).filter(|key| *key != GLOBAL).collect();
        all.into_iter()
    }
}

fn section(key: &str, text: &str) -> Result<Value, String> {
    match parse(text).map_err(|why| format!("{key} {why}"))? {
        Value::Null => Ok(Value::Object(Map::new())),
        value @ (Value::Object(_) | Value::Array(_)) => Ok(value),
        _ => Err(format!("{key} is neither a mapping nor a list: write YAML with keys")),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(data: Value) -> Result<Config, String> {
        Config::of_data("cm", data.as_object().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_config_map_has_sections_and_flags() {
        let config = Config::of_config_map(
            "cm.yaml",
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  global: |\n    a: 1\n  simpleModule: |\n    b: yes\n  listed: '[1]'\n  \
             simpleModuleEnabled: 'true'\n  otherEnabled: \"false\"\n  simpleModuleMaintenance: NoResourceReconciliation\n  \
             otherMaintenance: ''\n  noneMaintenance: Paused\n  none: ''\n",
        )
        .unwrap();
        assert_eq!(config.name(), "cm.yaml");
        assert_eq!(config.section("global"), Some(&json!({"a": 1})));
        assert_eq!(config.section("simpleModule"), Some(&json!({"b": true})));
        assert_eq!(config.section("listed"), Some(&json!([1])));
        assert_eq!(config.section("none"), Some(&json!({})));
        assert_eq!((config.enabled("simpleModule"), config.enabled("other")), (Some(true), Some(false)));
        assert_eq!(config.enabled("listed"), None);
        assert_eq!(config.maintenance("simpleModule"), Maintenance::NoResourceReconciliation);
        assert_eq!(config.maintenance("other"), Maintenance::Managed);
        assert_eq!(config.maintenance("none"), Maintenance::Paused);
        assert_eq!(config.keys().collect::<Vec<_>>(), ["listed", "none", "other", "simpleModule"]);
    }

    #[test]
    fn one_wrong_key_makes_the_whole_config_map_invalid() {
        for (data, why) in [
            (json!({"webEnabled": "yes"}), "write \"true\" or \"false\""),
            (json!({"webEnabled": "True"}), "write \"true\" or \"false\""),
            (json!({"webMaintenance": "Managed"}), "or nothing for a managed module"),
            (json!({"simple-module": "a: 1"}), "simple-module is not the key of a module"),
            (json!({"Enabled": "true"}), "Enabled is not the key of a module"),
            (json!({"web": "a: ["}), "web is neither YAML nor JSON"),
            (json!({"web": "text"}), "web is neither a mapping nor a list"),
            (json!({"web": {"a": 1}}), "web is not a text"),
            (json!({"global": "1"}), "global is neither"),
        ] {
            let error = read(data.clone()).unwrap_err();
            assert!(error.starts_with("cm: ") && error.contains(why), "{data}: {error}");
        }
        let error = Config::of_config_map("f", "kind: Secret").unwrap_err().to_string();
        assert!(error.contains("is not a ConfigMap"), "{error}");
        assert!(read(json!({"web": "x".repeat(MAX_BYTES)})).unwrap_err().contains("more than 1048576 bytes"));
        assert_eq!(read(json!({})).unwrap().keys().count(), 0);
    }
}
