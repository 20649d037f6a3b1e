//! What a module's `module.yaml` says: the file that Deckhouse's modules have.

use semver::{Version, VersionReq};
use serde_json::{Map, Value};

use crate::names::ModuleName;

/// The most modules that one module depends on.
const MAX_DEPENDENCIES: usize = 100;
/// What marks a dependency that may be missing or off.
const OPTIONAL: &str = "!optional";

/// Whether others wait for a module because of its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Class {
    /// Modules with a larger number wait for it.
    #[default]
    Critical,
    /// Only modules that depend on it wait for it.
    Functional,
}

/// Another module that a module needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub name: ModuleName,
    /// It may be missing or off.
    pub optional: bool,
    /// Its versions that will do.
    pub versions: Option<VersionReq>,
}

/// What a module says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definition {
    /// Its place in the order, if its directory has no number.
    pub weight: Option<u32>,
    pub class: Class,
    pub version: Option<Version>,
    pub dependencies: Vec<Dependency>,
    /// Keys of `requirements` that say something that is not looked at.
    pub ignored: Vec<String>,
}

impl Definition {
    /// Reads the content of a `module.yaml`.
    ///
    /// # Errors
    /// Says what is wrong, after the path of the file.
    pub fn read(own: &ModuleName, written: Option<&Value>) -> Result<Self, String> {
        let empty = Map::new();
        let fields = match written {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err("is not a mapping: write `requirements:` and other keys".to_owned()),
        };
        let mut definition = Self::default();
        if let Some(name) = field(fields, "name", Value::as_str, "a text")?
            && name != own.as_str()
        {
            return Err(format!("names the module {name:?}, and its directory says {own}: make them equal"));
        }
        if let Some(weight) = field(fields, "weight", Value::as_u64, "a number")? {
            let fits = u32::try_from(weight).ok().filter(|weight| *weight < 1_000_000_000);
            definition.weight = Some(fits.ok_or("weight has more than nine digits: use a smaller one")?);
        }
        if field(fields, "critical", Value::as_bool, "true or false")? == Some(false) {
            definition.class = Class::Functional;
        }
        if let Some(text) = field(fields, "version", Value::as_str, "a text")? {
            definition.version = Some(version(text).map_err(|error| format!("version {text:?}: {error}"))?);
        }
        let requirements = field(fields, "requirements", Value::as_object, "a mapping")?.unwrap_or(&empty);
        definition.ignored = requirements.keys().filter(|key| *key != "modules").cloned().collect();
        let modules = field(requirements, "modules", Value::as_object, "a mapping of names to versions")?;
        for (name, range) in modules.unwrap_or(&empty) {
            let wrong = |why: &dyn std::fmt::Display| format!("requirements.modules.{name}: {why}");
            if definition.dependencies.len() == MAX_DEPENDENCIES {
                return Err(wrong(&format!("a module depends on {MAX_DEPENDENCIES} others at most")));
            }
            let name: ModuleName = name.parse().map_err(|error| wrong(&error))?;
            let range = match range {
                Value::Null => "",
                Value::String(range) => range.trim(),
                _ => return Err(wrong(&"write the version as a text, such as '>= 1.2'")),
            };
            let (range, optional) = range.strip_suffix(OPTIONAL).map_or((range, false), |range| (range.trim(), true));
            let versions = match range {
                "" => None,
                range => Some(VersionReq::parse(&range.replace('v', "")).map_err(|error| {
                    wrong(&format!("{range:?}: {error}; write parts like '>= 1.2' with commas between them"))
                })?),
            };
            definition.dependencies.push(Dependency { name, optional, versions });
        }
        Ok(definition)
    }
}

/// A version, which may begin with `v`.
pub(super) fn version(text: &str) -> Result<Version, semver::Error> {
    Version::parse(text.strip_prefix('v').unwrap_or(text))
}

fn field<'v, T>(
    fields: &'v Map<String, Value>,
    key: &str,
    read: impl Fn(&'v Value) -> Option<T>,
    what: &str,
) -> Result<Option<T>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| format!("{key} is not {what}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(written: Value) -> Result<Definition, String> {
        Definition::read(&"web".parse().unwrap(), Some(&written))
    }

    #[test]
    fn modules_say_what_they_need() {
        let definition = read(json!({
            "name": "web", "weight": 910, "critical": false, "version": "v1.2.3", "stage": "Preview",
            "requirements": {
                "kubernetes": ">= 1.27",
                "modules": {"db": ">= 1.2, < v2", "cache": ">= 0.0.0 !optional", "auth": "", "log": "!optional"},
            },
        }));
        let definition = definition.unwrap();
        assert_eq!((definition.weight, definition.class), (Some(910), Class::Functional));
        assert_eq!(definition.version, Some(Version::new(1, 2, 3)));
        assert_eq!(definition.ignored, ["kubernetes"]);
        let shown: Vec<_> = definition
            .dependencies
            .iter()
            .map(|one| (one.name.as_str(), one.optional, one.versions.as_ref().map(ToString::to_string)))
            .collect();
        assert_eq!(
            shown,
            [
                ("db", false, Some(">=1.2, <2".to_owned())),
                ("cache", true, Some(">=0.0.0".to_owned())),
                ("auth", false, None),
                ("log", true, None),
            ]
        );
        assert_eq!(Definition::read(&"web".parse().unwrap(), None), Ok(Definition::default()));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (written, error) in [
            (json!([]), "is not a mapping"),
            (json!({"name": "other"}), "names the module \"other\""),
            (json!({"weight": "9"}), "weight is not a number"),
            (json!({"weight": 1_000_000_000_000_u64}), "more than nine digits"),
            (json!({"critical": "no"}), "critical is not true or false"),
            (json!({"version": "new"}), "version \"new\": "),
            (json!({"requirements": {"modules": ["db"]}}), "modules is not a mapping"),
            (json!({"requirements": {"modules": {"db": 1.2}}}), "requirements.modules.db: write the version as a text"),
            (json!({"requirements": {"modules": {"db": "new"}}}), "requirements.modules.db: \"new\": "),
            (json!({"requirements": {"modules": {"Db": ""}}}), "requirements.modules.Db: "),
        ] {
            let found = read(written).unwrap_err();
            assert!(found.contains(error), "{found}");
        }
        let many: Map<String, Value> = (0..101).map(|index| (format!("m{index}"), json!(""))).collect();
        assert!(read(json!({"requirements": {"modules": many}})).unwrap_err().contains("100 others at most"));
    }
}
