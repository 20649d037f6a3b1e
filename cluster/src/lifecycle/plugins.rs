//! The effects of other objects on a new pod: its priority by class, and the limits of its namespace. The added fields
//! have no owner.

use serde_json::Value;

use super::kinds::qos_class;
use crate::json;
use crate::kinds::Resource;
use crate::shared::Shared;
use crate::status::{Failure, GroupResource};
use crate::validate::quantity::Quantity;

const PODS: GroupResource<'_> = GroupResource { group: "", resource: "pods" };
const CLASSES: &str = "priorityclasses.scheduling.k8s.io";
/// Classes that exist in every cluster, without an object.
const SYSTEM: [(&str, i64); 2] = [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// The objects that apply to a pod.
#[derive(Debug, Default)]
pub(crate) struct Plugins {
    priority: Option<(i64, String)>,
    limits: Vec<Value>,
}

impl Plugins {
    /// Checks an object as the client sent it.
    pub(crate) fn look(shared: &Shared, resource: &Resource, namespace: &str, object: &Value) -> Result<Self, Failure> {
        if &*resource.storage != "pods" {
            return Ok(Self::default());
        }
        let (value, policy) = priority(shared, object)?;
        let given = json::int(object, &["spec", "priority"]);
        if let Some(given) = given.filter(|given| *given != value) {
            let why = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller \
                 computed {value} from the given PriorityClass name"
            );
            return Err(Failure::forbidden(PODS, json::text(object, &["metadata", "name"]), &why));
        }
        let ranges = objects(shared, "limitranges", &format!("{namespace}/"));
        let all = ranges.iter().flat_map(|range| json::list(range, &["spec", "limits"]).to_vec());
        let limits = all.filter(|limit| json::text(limit, &["type"]) == "Container").collect();
        Ok(Self { priority: Some((value, policy)), limits })
    }

    /// Completes the prepared object.
    pub(crate) fn complete(&self, object: &mut Value) -> Result<(), Failure> {
        let Some((value, policy)) = &self.priority else { return Ok(()) };
        let spec = json::child(json::object(object), "spec");
        spec.insert("priority".into(), (*value).into());
        spec.insert("preemptionPolicy".into(), policy.as_str().into());
        if self.limits.is_empty() {
            return Ok(());
        }
        let mut added = Vec::new();
        let mut problems = Vec::new();
        for (key, kind) in [("containers", "container"), ("initContainers", "init container")] {
            for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                for limit in &self.limits {
                    added.extend(fill(container, limit, kind));
                }
                problems.extend(self.limits.iter().flat_map(|limit| breaches(container, limit)));
            }
        }
        if !problems.is_empty() {
            let name = json::text(object, &["metadata", "name"]);
            let why = if problems.len() == 1 { problems.concat() } else { format!("[{}]", problems.join(", ")) };
            return Err(Failure::forbidden(PODS, name, &why));
        }
        if !added.is_empty() {
            let annotations = json::child(json::metadata(object), "annotations");
            let note = format!("LimitRanger plugin set: {}", added.join("; "));
            annotations.insert("kubernetes.io/limit-ranger".into(), note.into());
        }
        let class = qos_class(object);
        json::child(json::object(object), "status").insert("qosClass".into(), class.into());
        Ok(())
    }
}

fn objects(shared: &Shared, storage: &str, prefix: &str) -> Vec<Value> {
    shared.store.all(storage, prefix).iter().map(|object| object.value()).collect()
}

/// The priority of a pod, and its preemption policy.
fn priority(shared: &Shared, pod: &Value) -> Result<(i64, String), Failure> {
    let class = json::text(pod, &["spec", "priorityClassName"]);
    let read = |class: &Value| {
        let policy = json::text(class, &["preemptionPolicy"]).to_owned();
        (json::int(class, &["value"]).unwrap_or_default(), policy)
    };
    let usual = "PreemptLowerPriority";
    if class.is_empty() {
        let all = objects(shared, CLASSES, "");
        let default = all.iter().find(|class| class.get("globalDefault") == Some(&Value::Bool(true)));
        return Ok(default.map_or_else(|| (0, usual.to_owned()), read));
    }
    if let Some(found) = shared.store.get(CLASSES, class) {
        return Ok(read(&found.value()));
    }
    if let Some((_, value)) = SYSTEM.iter().find(|(name, _)| *name == class) {
        return Ok((*value, usual.to_owned()));
    }
    let why = format!("no PriorityClass with name {class} was found");
    Err(Failure::forbidden(PODS, json::text(pod, &["metadata", "name"]), &why))
}

/// Sets missing values of a container, and returns their description.
fn fill(container: &mut Value, limit: &Value, kind: &str) -> Vec<String> {
    let name = json::text(container, &["name"]).to_owned();
    let mut added = Vec::new();
    for (from, to, what) in [("defaultRequest", "requests", "request"), ("default", "limits", "limit")] {
        let mut set = Vec::new();
        for (resource, quantity) in json::at(limit, &[from]).and_then(Value::as_object).into_iter().flatten() {
            let given = json::child(json::child(json::object(container), "resources"), to);
            if !given.contains_key(resource) {
                given.insert(resource.clone(), quantity.clone());
                set.push(resource.as_str());
            }
        }
        set.sort_unstable();
        if !set.is_empty() {
            added.push(format!("{} {what} for {kind} {name}", set.join(", ")));
        }
    }
    added
}

/// The limits that a container exceeds.
fn breaches(container: &Value, limit: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (bound, word, must) in [("min", "minimum", "requests"), ("max", "maximum", "limits")] {
        for (resource, quantity) in json::at(limit, &[bound]).and_then(Value::as_object).into_iter().flatten() {
            let quantity = quantity.as_str().unwrap_or_default();
            let start = format!("{word} {resource} usage per Container is {quantity}");
            let taken = |which: &str| json::at(container, &["resources", which, resource]).and_then(Value::as_str);
            let other = if must == "limits" { "requests" } else { "limits" };
            let one = |which: &str| which.trim_end_matches('s').to_owned();
            let missing = taken(must).is_none().then(|| format!("{start}.  No {} is specified", one(must)));
            let breach = |which: &str| {
                let value = taken(which)?;
                let (value_of, bound_of) = (Quantity::parse(value)?, Quantity::parse(quantity)?);
                let wrong = if bound == "min" { value_of < bound_of } else { value_of > bound_of };
                wrong.then(|| format!("{start}, but {} is {value}", one(which)))
            };
            found.extend(missing.or_else(|| breach(must)).or_else(|| breach(other)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_container_keeps_what_it_says() {
        let mut container = json!({ "name": "c", "resources": { "limits": { "cpu": "1" } } });
        let limit = json!({ "default": { "cpu": "2", "memory": "1Gi" }, "defaultRequest": { "cpu": "100m" } });
        let added = fill(&mut container, &limit, "container");
        assert_eq!(added, ["cpu request for container c", "memory limit for container c"]);
        assert_eq!(json::text(&container, &["resources", "limits", "cpu"]), "1");
    }

    #[test]
    fn what_is_not_said_breaks_a_bound() {
        let limit = json!({ "min": { "cpu": "1" }, "max": { "cpu": "2" } });
        let container = json!({ "name": "c", "resources": { "limits": { "cpu": "3" } } });
        let found = breaches(&container, &limit);
        assert_eq!(
            found.first().map(String::as_str),
            Some("minimum cpu usage per Container is 1.  No request is specified")
        );
        assert_eq!(found.last().map(String::as_str), Some("maximum cpu usage per Container is 2, but limit is 3"));
    }
}
