//! Applies the CustomResourceDefinitions of a bundle before its hooks start, as the bundle's ServiceAccount.
//!
//! They stay when the bundle goes, because their objects would go with them. Those of a bundle that is confined to a namespace
//! are not applied, because a definition is for the whole cluster. Only the leader applies them. Otherwise, hooks wait for
//! their kinds as for any kind that is not served yet.

use std::path::Path;

use boathook_core::{
    definition::{self, Definition, MAX_BYTES},
    model::{Caller, HookName, InstallError, Installation, RunId, error_chain},
};
use serde_json::Value;
use tokio::task::spawn_blocking;
use tracing::info;

use super::super::{
    definitions,
    scope::{self, Terms},
    services::Services,
};

/// What the audit log and the field manager call a bundle that applies its definitions.
const NAME: &str = "crds";

/// Applies all of them. If one cannot be applied, those before it stay, because each change is safe by itself. Returns
/// whether they were applied: a replica that does not lead leaves that to the leader.
pub(super) async fn apply(services: &Services, wanted: &Installation, terms: &Terms) -> Result<bool, InstallError> {
    if wanted.definitions.is_empty() {
        return Ok(true);
    }
    if let Some(namespace) = &terms.confined_to {
        let count = wanted.definitions.len();
        info!(bundle = %wanted.id, count, namespace = &**namespace, "the bundle is confined: its CustomResourceDefinitions are not applied");
        return Ok(true);
    }
    let refused = |name: &str, problem: String| {
        let (id, name) = (wanted.id.clone(), name.to_owned());
        InstallError::Definition { id, name, problem }
    };
    let caller = caller(wanted, terms)?;
    if !services.leadership.leads() {
        return Ok(false);
    }
    for source in &wanted.definitions {
        let problem = |problem| refused(&source.name, problem);
        let (name, path) = (source.name.clone(), source.path.clone());
        // One at a time, because a value takes many times as much memory as its text.
        let read = spawn_blocking(move || read(&name, &path)).await;
        let definition = read.map_err(|_| InstallError::Defect(wanted.id.clone()))?.map_err(problem)?;
        definitions::apply(services, &caller, &wanted.id.to_string(), &definition, false).await.map_err(problem)?;
    }
    Ok(true)
}

/// Who applies: the bundle, with nothing but the right to do this.
fn caller(wanted: &Installation, terms: &Terms) -> Result<Caller, InstallError> {
    let permission = definition::permission(wanted.definitions.iter().map(|source| source.name.as_str()));
    let name = HookName::new(NAME).map_err(|_| InstallError::Defect(wanted.id.clone()))?;
    let asks = vec![permission];
    scope::granted(&asks, terms).map_err(|missing| InstallError::Ungranted(vec![(name.clone(), missing)]))?;
    let caller = Caller::new(name.in_bundle(&wanted.id), RunId::new(NAME, 0), asks.into(), false);
    Ok(Caller { identity: terms.identity.clone(), ..caller })
}

fn read(name: &str, path: &Path) -> Result<Definition, String> {
    let text = std::fs::read(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    if text.len() > MAX_BYTES {
        return Err(format!("it has {} bytes, and {MAX_BYTES} are allowed", text.len()));
    }
    let value: Value = serde_json::from_slice(&text).map_err(|error| format!("it is not JSON: {error}"))?;
    let definition = Definition::read(value).map_err(|error| error_chain(&error))?;
    match definition.name() == name {
        true => Ok(definition),
        false => Err(format!("its file defines {}: pack the bundle again", definition.name())),
    }
}
