//! Applies a CustomResourceDefinition, unless the change is not safe. Bundles and modules share this.

use boathook_applyset::id::APPLIED;
use boathook_core::{
    definition::{self, Definition},
    model::{CallReason, Caller, ObjectRef, Operation, Patch, PatchBody},
};
use serde_json::Value;
use tracing::info;

use super::Services;

pub(super) fn reference(name: &str) -> ObjectRef {
    ObjectRef {
        api_version: format!("{}/v1", definition::GROUP),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: None,
        name: name.to_owned(),
    }
}

/// Applies one definition. Returns whether it was written. `owner`: the bundle or module that carries it. The definition in the cluster stays if it does all
/// that this one does and the change is not safe, or somebody else manages it. `force`: fields of others are taken over.
/// Nothing is written if the definition has [`APPLIED`], and the one in the cluster has the same.
pub(super) async fn apply(
    services: &Services,
    caller: &Caller,
    owner: &str,
    definition: &Definition,
    force: bool,
) -> Result<bool, String> {
    let access = &services.operator.access;
    let target = reference(definition.name());
    let stays = || {
        info!(
            owner,
            definition = definition.name(),
            "the CustomResourceDefinition in the cluster does all that is needed, and stays as it is"
        );
    };
    let covered = match access.get(caller, &target, None).await {
        Ok(live) => {
            let live: Value =
                serde_json::from_str(&live).map_err(|error| format!("the one in the cluster: {error}"))?;
            let (changes, covered) = (definition.unsafe_changes(&live), definition.is_covered_by(&live));
            let applied = live.pointer("/metadata/annotations").and_then(|all| all.get(APPLIED)?.as_str());
            if covered && applied.is_some() && applied == definition.annotation(APPLIED) {
                return Ok(false);
            }
            if !changes.is_empty() && covered {
                stays();
                return Ok(false);
            }
            if !changes.is_empty() {
                let remedy = "add a version to the definition and keep the old one as it is, or migrate the objects and apply \
                    the definition yourself";
                return Err(format!(
                    "the change from the one in the cluster is not safe: {}: {remedy}",
                    changes.join(", ")
                ));
            }
            covered
        }
        Err(error) if error.reason == CallReason::NotFound => false,
        Err(error) => return Err(error.message),
    };
    // Without force, what somebody else manages is not changed, and the API server names the manager.
    let patch = Patch {
        target,
        body: PatchBody::Apply { object: definition.json(), force, field_manager: None },
        subresource: None,
        ignore_missing: false,
    };
    match access.write(caller, &Operation::Patch(patch)).await {
        Ok(_) => {
            info!(owner, definition = definition.name(), "CustomResourceDefinition applied");
            Ok(true)
        }
        // Only a description or the like is other, and somebody else manages it.
        Err(_) if covered => {
            stays();
            Ok(false)
        }
        Err(error) => Err(error.message),
    }
}
