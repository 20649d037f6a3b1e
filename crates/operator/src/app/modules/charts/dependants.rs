//! Whether something depends on a Namespace or a CustomResourceDefinition of a chart, so that its deletion takes more with it.

use boathook_core::model::{CallError, Caller, ListQuery, ObjectRef};
use serde_json::Value;

use super::super::super::Services;

/// What Kubernetes itself puts into each Namespace, and what is there because of other objects.
const NOTHING: [(&str, &str); 7] = [
    ("ServiceAccount", "default"),
    ("ConfigMap", "kube-root-ca.crt"),
    ("Event", ""),
    ("Endpoints", ""),
    ("EndpointSlice", ""),
    ("PodMetrics", ""),
    ("ControllerRevision", ""),
];
/// How many objects are looked at before one counts that is not of these.
const LOOK: u32 = 10;

/// Those of these objects on which nothing depends. In doubt, something depends on an object.
/// A PersistentVolumeClaim has data, which nobody can see here, so it always waits.
pub(super) async fn without(services: &Services, caller: &Caller, precious: Vec<ObjectRef>) -> Vec<ObjectRef> {
    let mut free = Vec::new();
    for object in precious {
        let has = match object.kind.as_str() {
            "CustomResourceDefinition" => of_definition(services, caller, &object).await,
            "Namespace" => of_namespace(services, caller, &object.name).await,
            _ => Ok(true),
        };
        if let Ok(false) = has {
            free.push(object);
        }
    }
    free
}

async fn of_definition(services: &Services, caller: &Caller, definition: &ObjectRef) -> Result<bool, CallError> {
    let live = services.operator.access.get(caller, definition, None).await?;
    let live: Value = serde_json::from_str(&live).unwrap_or_default();
    let text = |pointer: &str| live.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let versions = live.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let served = versions.filter(|version| version["served"] == true).find_map(|version| version["name"].as_str());
    let Some(version) = served else { return Ok(true) };
    let api_version = format!("{}/{version}", text("/spec/group"));
    let items = list(services, caller, &api_version, text("/spec/names/kind"), None).await?;
    Ok(!items.is_empty())
}

async fn of_namespace(services: &Services, caller: &Caller, namespace: &str) -> Result<bool, CallError> {
    let kinds = services.operator.access.kinds().await?;
    if !kinds.silent.is_empty() {
        return Ok(true);
    }
    for kind in
        kinds.kinds.iter().filter(|kind| kind.resource.namespaced && kind.verbs.iter().any(|verb| verb == "list"))
    {
        let (resource, name) = (&kind.resource, kind.resource.kind.as_str());
        if NOTHING.contains(&(name, "")) {
            continue;
        }
        let items = list(services, caller, &resource.api_version(), name, Some(namespace)).await?;
        let counts = |item: &String| {
            let item: Value = serde_json::from_str(item).unwrap_or_default();
            !NOTHING.contains(&(name, item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()))
        };
        if items.iter().any(counts) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn list(
    services: &Services,
    caller: &Caller,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
) -> Result<Vec<String>, CallError> {
    let query = ListQuery {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        label_selector: None,
        field_selector: None,
        limit: Some(LOOK),
        continue_token: None,
    };
    Ok(services.operator.access.list(caller, &query).await?.items)
}
