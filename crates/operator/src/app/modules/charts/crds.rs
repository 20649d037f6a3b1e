//! The CustomResourceDefinitions of modules: the files in `crds/`, and those of a chart's dependencies. They are applied before
//! everything else, and stay when the module goes, because their objects would go with them.

use std::time::{Duration, Instant};

use boathook_applyset::id::APPLIED;
use boathook_core::{
    definition::{Definition, MAX_DEFINITIONS},
    model::{Caller, error_chain},
};
use boathook_modules::{ModuleName, manifest};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::{
    super::{Services, definitions},
    releases::ReleaseError,
};

/// How long the API server may take to serve a new kind.
const PATIENCE: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Applies the definitions of a file, and waits until their kinds are served. Returns whether something was written. A change
/// that would break objects or clients is refused.
pub(super) async fn apply(
    services: &Services,
    caller: &Caller,
    module: &ModuleName,
    (source, text): (&str, &str),
) -> Result<bool, ReleaseError> {
    let mut written = false;
    let owner = format!("module {}", module.as_str());
    for definition in read(source, text)? {
        let applied = definitions::apply(services, caller, &owner, &definition, true).await;
        let failed = |error| ReleaseError::Failed(format!("{source}: {}: {error}", definition.name()));
        if applied.map_err(failed)? && !services.plan {
            written = true;
            established(services, caller, definition.name()).await.map_err(failed)?;
        }
    }
    Ok(written)
}

async fn established(services: &Services, caller: &Caller, name: &str) -> Result<(), String> {
    let (deadline, mut pause) = (Instant::now() + PATIENCE, FIRST_PAUSE);
    let target = definitions::reference(name);
    loop {
        let live = services.operator.access.get(caller, &target, None).await.map_err(|error| error.message)?;
        let live: Value = serde_json::from_str(&live).unwrap_or_default();
        let conditions = live.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let holds = |name: &str| {
            conditions.clone().any(|condition| condition["type"] == *name && condition["status"] == "True")
        };
        if holds("Established") {
            let group = live.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default().to_owned();
            services.discovery.invalidate(|changed| changed == group);
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(format!("the API server does not serve the kind within {} s", PATIENCE.as_secs()));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

fn read(source: &str, text: &str) -> Result<Vec<Definition>, ReleaseError> {
    let refused = |error: String| ReleaseError::Refused(error);
    let documents = manifest::read(source, text).map_err(|error| refused(error.to_string()))?;
    if documents.len() > MAX_DEFINITIONS {
        return Err(refused(format!("{source}: it has more than {MAX_DEFINITIONS} definitions: split the file")));
    }
    let definition = |mut object: Value| {
        mark(&mut object);
        Definition::read(object).map_err(|error| refused(format!("{source}: {}", error_chain(&error))))
    };
    documents.into_iter().map(|document| definition(document.object)).collect()
}

/// Adds the digest of what is applied. With it, an operator that restarts writes nothing.
fn mark(object: &mut Value) {
    let digest = Sha256::digest(object.to_string());
    let digest = digest.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if !annotations.is_object() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(APPLIED.to_owned(), digest.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRD: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apps.x.io}, spec: \
                       {group: x.io, scope: Cluster, names: {kind: App, plural: apps}, versions: [{name: v1}]}}";

    #[test]
    fn a_definition_says_what_was_applied() {
        let digest = |text: &str| read("crds/a.yaml", text).unwrap()[0].annotation(APPLIED).unwrap().to_owned();
        assert_eq!(digest(CRD), digest(CRD));
        assert_ne!(digest(CRD), digest(&CRD.replace("name: v1", "name: v2")));
    }

    #[test]
    fn other_objects_are_refused_by_the_name_of_their_file() {
        let error = read("crds/a.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: a}}").unwrap_err().to_string();
        assert!(error.starts_with("crds/a.yaml: ") && error.contains("CustomResourceDefinition"), "{error}");
    }
}
