//! What was last pulled from a place, so that an operator can start while the place cannot be reached. What is stored
//! here was trusted under a policy, and is returned only under the same policy.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use boathook_core::model::{HookName, HookSource, Permission};
use serde::{Deserialize, Serialize};

use super::{Descriptor, Digest, Policy, Pulled, SCHEMA_TYPE, Store, StoreError, layout, store::LAST};

/// The file name of the schema of a bundle's settings.
pub const SETTINGS_SCHEMA: &str = "settings.schema.json";

/// The bytes of the largest schema of settings.
pub const MAX_SETTINGS_SCHEMA: u64 = 256 * 1024;

/// A bundle as a host takes it: checked files, and what they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The bundle's digest.
    pub digest: Digest,
    /// The hooks, each with its digest and with what it requests according to the bundle.
    pub hooks: Vec<HookSource>,
    /// The JSON Schema of the settings as text, if the bundle has one.
    pub settings_schema: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Last {
    reference: String,
    digest: Digest,
    policy: Digest,
    hooks: Vec<LastHook>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Descriptor>,
}

#[derive(Debug, Serialize, Deserialize)]
struct LastHook {
    name: String,
    layer: Descriptor,
    permissions: Option<Vec<Permission>>,
}

impl Pulled {
    /// Converts the bundle to the form that a host takes.
    pub fn ready(&self) -> io::Result<Ready> {
        let hooks = self.hooks.iter().map(|hook| HookSource {
            name: hook.name.clone(),
            path: hook.path.clone(),
            digest: Some(hook.digest.to_string()),
            declared: hook.permissions.clone(),
        });
        let schema = self.files.iter().find(|(name, _)| name == SETTINGS_SCHEMA);
        Ok(Ready {
            digest: self.seen.digest.clone(),
            hooks: hooks.collect(),
            settings_schema: schema.map(|(_, path)| read_schema(path)).transpose()?,
        })
    }
}

/// A layer may be larger than the memory that the operator has for schemas.
fn read_schema(path: &Path) -> io::Result<String> {
    let size = fs::metadata(path)?.len();
    if size > MAX_SETTINGS_SCHEMA {
        let problem = format!("{SETTINGS_SCHEMA} has {size} bytes, and {MAX_SETTINGS_SCHEMA} are allowed");
        return Err(io::Error::other(problem));
    }
    fs::read_to_string(path)
}

impl Store {
    /// Records what was pulled, from where, and under which policy.
    pub fn remember(&self, reference: &str, pulled: &Pulled, policy: &Policy) -> Result<(), StoreError> {
        let contents = &pulled.seen.contents;
        let is_schema = |file: &&Descriptor| file.title() == SETTINGS_SCHEMA && file.media_type == SCHEMA_TYPE;
        let hooks = contents.hooks.iter().map(|hook| LastHook {
            name: hook.name.to_string(),
            layer: hook.layer.clone(),
            permissions: hook.permissions.clone(),
        });
        let last = Last {
            reference: reference.to_owned(),
            digest: pulled.seen.digest.clone(),
            policy: fingerprint(policy),
            hooks: hooks.collect(),
            schema: contents.files.iter().find(is_schema).cloned(),
        };
        let path = self.last(&last.reference);
        let bytes = serde_json::to_vec(&last).map_err(|error| io_error(&path, error.into()))?;
        self.directory(LAST)?;
        layout::write(&path, &bytes).map_err(|error| io_error(&path, io::Error::other(error)))
    }

    /// Returns what was last pulled from a place under this policy, if all of it is still there and unchanged.
    pub fn recall(&self, reference: &str, policy: &Policy) -> Result<Option<Ready>, StoreError> {
        let path = self.last(reference);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(io_error(&path, source)),
        };
        // A record that cannot be parsed counts as missing.
        let Ok(last) = serde_json::from_slice::<Last>(&bytes) else { return Ok(None) };
        if last.policy != fingerprint(policy) || last.reference != reference {
            return Ok(None);
        }
        let mut hooks = Vec::new();
        for LastHook { name, layer, permissions } in last.hooks {
            let (Ok(name), Some(path)) = (HookName::new(&name), self.get(&layer)?) else { return Ok(None) };
            hooks.push(HookSource { name, path, digest: Some(layer.digest.to_string()), declared: permissions });
        }
        let schema = match &last.schema {
            None => None,
            Some(layer) => match self.get(layer)? {
                None => return Ok(None),
                Some(path) => Some(read_schema(&path).map_err(|source| io_error(&path, source))?),
            },
        };
        Ok(Some(Ready { digest: last.digest, hooks, settings_schema: schema }))
    }

    fn last(&self, reference: &str) -> PathBuf {
        self.path(LAST).join(format!("{}.json", Digest::of(reference.as_bytes()).hex()))
    }
}

fn io_error(path: &std::path::Path, source: io::Error) -> StoreError {
    StoreError::Io { path: path.to_owned(), source }
}

/// Distinguishes policies by everything that they contain.
fn fingerprint(policy: &Policy) -> Digest {
    Digest::of(format!("{policy:?}").as_bytes())
}
