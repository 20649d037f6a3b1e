//! The values of the module that the hook belongs to: what its `values.yaml`, its configuration and hooks made of them.
//!
//! A hook sees the values as they were when its run began. What it changes is checked and kept when the run has succeeded,
//! all of it or nothing. A hook of a module changes its module's section. A global hook changes the section `global`, and
//! turns modules on and off. Outside of modules, each call is an error.
//!
//! ```
//! use boathook_sdk::{prelude::*, values};
//!
//! #[derive(serde::Deserialize)]
//! struct Values {
//!     web: Web,
//! }
//! #[derive(serde::Deserialize)]
//! struct Web {
//!     replicas: u32,
//! }
//!
//! fn run(_: Context) -> Result<()> {
//!     let replicas = values::get::<Values>()?.web.replicas;
//!     values::set("/web/internal/quorum", &(replicas / 2 + 1))
//! }
//! ```

use crate::data::{DataError, decode};
use crate::error::{Error, Result};
use crate::host;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The values as a `T`: an object with `global` and, for a hook of a module, the section of the module.
pub fn get<T: DeserializeOwned>() -> Result<T> {
    let found = host::values().map_err(Error::permanent)?;
    Ok(decode(&found.values, || "the values".to_owned())?)
}

/// The configuration as a `T`, as users wrote it: an object with `global` and the section of the module.
pub fn config<T: DeserializeOwned>() -> Result<T> {
    let found = host::values().map_err(Error::permanent)?;
    Ok(decode(&found.config, || "the configuration".to_owned())?)
}

/// Sets a value. The path is a JSON pointer, such as `/web/replicas`. `/web/hosts/-` adds to a list. `/webEnabled` turns a
/// module on or off, for a global hook.
pub fn set<T: Serialize + ?Sized>(path: &str, value: &T) -> Result<()> {
    host::patch(&add(path, value)?).map_err(Error::permanent)
}

/// Removes a value.
pub fn remove(path: &str) -> Result<()> {
    host::patch(&removal(path)).map_err(Error::permanent)
}

/// Sets a value of the configuration.
pub fn set_config<T: Serialize + ?Sized>(path: &str, value: &T) -> Result<()> {
    host::patch_config(&add(path, value)?).map_err(Error::permanent)
}

/// Removes a value of the configuration.
pub fn remove_config(path: &str) -> Result<()> {
    host::patch_config(&removal(path)).map_err(Error::permanent)
}

fn add<T: Serialize + ?Sized>(path: &str, value: &T) -> Result<String, DataError> {
    let value: Value = serde_json::to_value(value).map_err(|error| DataError::unwritable("the value", error))?;
    Ok(json!([{"op": "add", "path": path, "value": value}]).to_string())
}

fn removal(path: &str) -> String {
    json!([{"op": "remove", "path": path}]).to_string()
}
