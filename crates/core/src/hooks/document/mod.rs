//! Reads a hook's configuration document (YAML or JSON) into a [`HookSpec`].
//!
//! It reports everything that is wrong with a document at once, and ignores nothing without a warning.

mod fields;
mod kubernetes;
mod names;
mod policy;
mod print;
mod problem;
mod reconcile;
mod schedule;
mod selector;
mod top_level;
mod webhooks;
mod yaml;

use crate::model::{HookName, HookSpec};
use fields::{Fields, describe};
pub use print::print;
use problem::Problems;
pub use problem::{DocumentError, Problem};
pub use yaml::{Duplicates, plain as plain_scalar, read_yaml};

/// Reads the document that the hook's `config` returned. `check_filter` says what is wrong with a jq program, if
/// anything is. [`HookSpec::warnings`] has what was accepted but should be changed.
pub fn parse(
    hook: &HookName,
    text: &str,
    check_filter: &dyn Fn(&str) -> Result<(), String>,
) -> Result<HookSpec, DocumentError> {
    let reader = Problems::new(check_filter);
    let spec = read(hook, text, &reader);
    let warnings = reader.finish()?;
    // If there is no problem, there is a spec.
    spec.map(|spec| HookSpec { warnings, ..spec }).ok_or(DocumentError { problems: Vec::new(), more: 0 })
}

fn read(hook: &HookName, text: &str, reader: &Problems<'_>) -> Option<HookSpec> {
    let value = yaml::load(text).map_err(|message| reader.wrong("", message)).ok()?;
    let document = Fields::of(&value, "", reader)?;
    let mut spec = match version(&document)? {
        Version::V0 => top_level::v0(&document, hook)?,
        Version::V1 => top_level::v1(&document, hook),
    };
    names::resolve(&mut spec, reader);
    Some(spec)
}

enum Version {
    /// A document without `configVersion`.
    V0,
    V1,
}

fn version(document: &Fields<'_, '_>) -> Option<Version> {
    if !document.has("configVersion") {
        return Some(Version::V0);
    }
    let value = document.take("configVersion")?;
    if value == "v1" {
        return Some(Version::V1);
    }
    let message = match value.as_str() {
        Some("v0") => {
            "is \"v0\"; documents of that version have no configVersion: write \"v1\", or remove the key".to_owned()
        }
        Some(_) => format!("is {}; only \"v1\" is known", describe(value)),
        None => format!("must be the string \"v1\", not {}", describe(value)),
    };
    document.wrong("configVersion", message);
    None
}
