//! The fields that a manager owns, and how an object drifts from them.
//!
//! The response to a server-side apply says in `managedFields` which fields the manager owns. [`Owned::learn`] keeps
//! that tree with a hash of each value in the response. A watched object, which has no managed fields, has drifted if a
//! value on the tree has another hash. Defaults, normalized values and fields of others are therefore no drift.
//! The hashes are never stored beyond the process. They have a secret key, so 64 bits are enough. Values themselves are
//! not kept, so no Secret stays in memory.

mod tree;

use std::{fmt, hash::BuildHasher};

use serde_json::Value;

use tree::Tree;
pub use tree::{InvalidFields, Path, Step};

/// The most paths of a drift that are named.
const MAX_PATHS: usize = 10;

/// What a manager owns of one object, and the values that the server gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned(Tree<Print>);

/// What is remembered of the value at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Print {
    /// `None`: there is no value.
    hash: Option<u64>,
    /// Where the item was in its list. Items seldom move, so it is searched there first.
    at: usize,
}

/// The owned fields whose values differ from the server's last response.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Drift {
    /// At most ten of them.
    pub paths: Vec<Path>,
    /// How many there are.
    pub count: usize,
}

impl Drift {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, path) in self.paths.iter().enumerate() {
            write!(f, "{}{path}", if n > 0 { ", " } else { "" })?;
        }
        match self.count.saturating_sub(self.paths.len()) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

impl Owned {
    /// What `manager` owns by server-side apply, from the response to an apply. `None`: it owns nothing.
    pub fn learn(response: &Value, manager: &str, hasher: &impl BuildHasher) -> Result<Option<Self>, InvalidFields> {
        let mut entries = managed(response);
        let Some(entry) = entries.find(|entry| is_applied_by(entry, manager)) else { return Ok(None) };
        let mut tree = Tree::parse(entry.get("fieldsV1").unwrap_or(&Value::Null))?;
        print(&mut tree, Some(response), hasher);
        Ok(Some(Self(tree)))
    }

    /// What a manager owns that has applied this body, as far as that can be known without the server's response:
    /// every field of the body. A list counts as a whole, because its merge keys are not known. If others add items,
    /// that is a false drift. The apply that follows changes nothing, and its response says what is owned.
    ///
    /// `None`: the object is not as the body wants it, or perhaps is not.
    pub fn assume(body: &Value, object: &Value, hasher: &impl BuildHasher) -> Option<Self> {
        let mut tree = Tree::of_body(body);
        if !tree::covers(body, object) {
            return None;
        }
        print(&mut tree, Some(object), hasher);
        Some(Self(tree))
    }

    /// What a manager owns after an apply of this body, from a response without managed fields: every field of the body, with
    /// the value that the API server made of it, such as `1` of `1000m`.
    pub fn of_response(body: &Value, response: &Value, hasher: &impl BuildHasher) -> Self {
        let mut tree = Tree::of_body(body);
        print(&mut tree, Some(response), hasher);
        Self(tree)
    }

    /// Compares an object with the response.
    pub fn drift(&self, object: &Value, hasher: &impl BuildHasher) -> Drift {
        let mut drift = Drift::default();
        compare(&self.0, Some(object), hasher, &mut Vec::new(), &mut drift);
        drift
    }
}

fn print<S: BuildHasher>(tree: &mut Tree<Print>, value: Option<&Value>, hasher: &S) {
    for child in &mut tree.children {
        let found = child.step.find(value, 0);
        child.tree.own.at = found.map_or(0, |(_, at)| at);
        print(&mut child.tree, found.map(|(value, _)| value), hasher);
    }
    // Of a field with owned parts, only whether it is there counts.
    tree.own.hash = value.map(|value| if tree.children.is_empty() { tree::hash(value, hasher) } else { 0 });
}

/// Adds the paths that differ. `path` leads to `tree`.
fn compare<'t, S: BuildHasher>(
    tree: &'t Tree<Print>,
    value: Option<&Value>,
    hasher: &S,
    path: &mut Vec<&'t Step>,
    drift: &mut Drift,
) {
    let hash = value.map(|value| if tree.children.is_empty() { tree::hash(value, hasher) } else { 0 });
    if hash != tree.own.hash {
        drift.count += 1;
        if drift.paths.len() < MAX_PATHS {
            drift.paths.push(Path(path.iter().map(|step| (*step).clone()).collect()));
        }
        return;
    }
    for child in &tree.children {
        let found = child.step.find(value, child.tree.own.at).map(|(value, _)| value);
        path.push(&child.step);
        compare(&child.tree, found, hasher, path, drift);
        path.pop();
    }
}

/// A manager that has some of the fields that another one wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Taker {
    /// `kubectl-edit`, `helm`, …
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    pub paths: Vec<Path>,
}

impl fmt::Display for Taker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.manager, self.operation)
    }
}

/// The managers other than `manager` that own one of these paths, a part of one, or a whole around one. `object` has
/// managed fields.
pub fn takers(object: &Value, manager: &str, paths: &[Path]) -> Result<Vec<Taker>, InvalidFields> {
    let mut found = Vec::new();
    for entry in managed(object).filter(|entry| !is_applied_by(entry, manager)) {
        let tree = Tree::<()>::parse(entry.get("fieldsV1").unwrap_or(&Value::Null))?;
        let has: Vec<Path> = paths.iter().filter(|path| tree.touches(&path.0)).cloned().collect();
        if !has.is_empty() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("unknown").to_owned();
            found.push(Taker { manager: text("manager"), operation: text("operation"), paths: has });
        }
    }
    Ok(found)
}

fn managed(object: &Value) -> impl Iterator<Item = &Value> {
    let all = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    all.and_then(Value::as_array).into_iter().flatten()
}

/// Whether the entry has what the manager applied to the object itself, not to a subresource.
fn is_applied_by(entry: &Value, manager: &str) -> bool {
    let is = |name: &str, value: &str| entry.get(name).and_then(Value::as_str) == Some(value);
    let of_object = entry.get("subresource").and_then(Value::as_str).is_none_or(str::is_empty);
    is("manager", manager) && is("operation", "Apply") && of_object
}

#[cfg(test)]
mod tests {
    use std::hash::RandomState;

    use serde_json::json;

    use super::*;

    /// As kube-apiserver 1.36 answers to an apply.
    fn response() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "a", "resourceVersion": "204", "labels": {"a.b/c": "d", "of": "others"},
                "ownerReferences": [{"uid": "u1", "kind": "App", "name": "a", "apiVersion": "v1"}],
                "finalizers": ["x/y", "z"],
                "managedFields": [
                    {"manager": "other", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
                    {"manager": "m", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {}}},
                    {"manager": "m", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": {
                        "f:metadata": {
                            "f:labels": {"f:a.b/c": {}},
                            "f:finalizers": {".": {}, "v:\"z\"": {}},
                            "f:ownerReferences": {"k:{\"uid\":\"u1\"}": {}}
                        },
                        "f:spec": {
                            "f:selector": {},
                            "f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {
                                ".": {}, "f:args": {}, "f:image": {}, "f:name": {},
                                "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
                                "f:resources": {"f:requests": {"f:cpu": {}}}
                            }}}}
                        }
                    }},
                ]
            },
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"a": "b"}},
                "template": {"spec": {
                    "containers": [{
                        "name": "web", "image": "x", "args": ["a", "b"], "imagePullPolicy": "Always",
                        "ports": [{"containerPort": 80, "protocol": "TCP"}],
                        "resources": {"requests": {"cpu": "1"}}
                    }],
                    "restartPolicy": "Always"
                }}
            }
        })
    }

    fn drift(change: impl FnOnce(&mut Value)) -> String {
        let hasher = RandomState::new();
        let owned = Owned::learn(&response(), "m", &hasher).unwrap().unwrap();
        let mut object = response();
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        change(&mut object);
        owned.drift(&object, &hasher).to_string()
    }

    #[test]
    fn what_others_own_is_no_drift() {
        assert_eq!(drift(|_| ()), "");
        assert_eq!(drift(|object| object["spec"]["replicas"] = json!(5)), "", "a field of another manager");
        assert_eq!(drift(|object| object["metadata"]["resourceVersion"] = json!("300")), "");
        assert_eq!(drift(|object| object["metadata"]["labels"]["new"] = json!("x")), "");
        assert_eq!(drift(|object| object["metadata"]["finalizers"] = json!(["z", "more"])), "");
        assert_eq!(drift(|object| object["status"] = json!({"x": 1})), "");
        let containers = "/spec/template/spec/containers";
        let sidecar = |object: &mut Value| {
            let list = object.pointer_mut(containers).unwrap().as_array_mut().unwrap();
            list.insert(0, json!({"name": "sidecar", "image": "y"}));
        };
        assert_eq!(drift(sidecar), "", "an item before ours");
    }

    // mutant: crates/applyset/src/fields/mod.rs: `    if hash != tree.own.hash {` => `    if false {`
    #[test]
    fn a_changed_field_is_named() {
        let web = "/spec/template/spec/containers/0";
        let set =
            |pointer: String, value: Value| move |object: &mut Value| *object.pointer_mut(&pointer).unwrap() = value;
        let prefix = ".spec.template.spec.containers[name=web]";
        assert_eq!(drift(set(format!("{web}/image"), json!("y"))), format!("{prefix}.image"));
        assert_eq!(drift(set(format!("{web}/args"), json!(["b", "a"]))), format!("{prefix}.args"));
        assert_eq!(
            drift(set(format!("{web}/resources/requests/cpu"), json!("2"))),
            format!("{prefix}.resources.requests.cpu")
        );
        assert_eq!(drift(set(format!("{web}/name"), json!("other"))), prefix);
        let port = format!("{prefix}.ports[containerPort=80,protocol=TCP]");
        assert_eq!(drift(set(format!("{web}/ports/0/protocol"), json!("UDP"))), port);
        assert_eq!(drift(set("/spec/selector".into(), json!({"matchLabels": {"a": "c"}}))), ".spec.selector");
        assert_eq!(drift(set("/metadata/labels".into(), json!({}))), r#".metadata.labels["a.b/c"]"#);
        assert_eq!(drift(set("/metadata/labels".into(), Value::Null)), ".metadata.labels");
        assert_eq!(drift(set("/metadata/finalizers".into(), json!(["x/y"]))), ".metadata.finalizers[=z]");
        assert_eq!(
            drift(set("/metadata/ownerReferences/0/name".into(), json!("b"))),
            ".metadata.ownerReferences[uid=u1]"
        );
        assert_eq!(drift(set("/spec".into(), json!({}))), ".spec.selector, .spec.template");
    }

    #[test]
    fn the_paths_of_a_drift_are_bounded() {
        let hasher = RandomState::new();
        let data = |value: &str| (0..50).map(|n| (format!("k{n}"), json!(value))).collect::<serde_json::Map<_, _>>();
        let fields = data("x").keys().map(|key| (format!("f:{key}"), json!({}))).collect::<serde_json::Map<_, _>>();
        let managed = json!([{"manager": "m", "operation": "Apply", "fieldsV1": {"f:data": fields}}]);
        let response = json!({"metadata": {"managedFields": managed}, "data": data("x")});
        let owned = Owned::learn(&response, "m", &hasher).unwrap().unwrap();
        let drift = owned.drift(&json!({"data": data("y")}), &hasher);
        assert_eq!((drift.paths.len(), drift.count), (10, 50));
        assert!(drift.to_string().ends_with(" and 40 more"), "{drift}");
    }

    #[test]
    fn only_what_this_manager_applied_to_the_object_counts() {
        let hasher = RandomState::new();
        assert_eq!(Owned::learn(&response(), "nobody", &hasher), Ok(None));
        assert_eq!(Owned::learn(&response(), "other", &hasher), Ok(None), "by an update");
        assert_eq!(Owned::learn(&json!({"metadata": {"managedFields": 7}}), "m", &hasher), Ok(None));
    }

    #[test]
    fn without_a_response_the_body_is_what_is_owned() {
        let hasher = RandomState::new();
        let body = json!({"metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"list": [{"n": 1}], "map": {}, "gone": null}});
        let mut object = json!({
            "metadata": {"name": "a", "labels": {"x": "1", "y": "2"}},
            "spec": {"list": [{"n": 1, "default": true}], "map": {}, "replicas": 1}
        });
        let owned = Owned::assume(&body, &object, &hasher).unwrap();
        assert!(owned.drift(&object, &hasher).is_empty());
        object["spec"]["replicas"] = json!(3);
        assert!(owned.drift(&object, &hasher).is_empty());
        object["metadata"]["labels"]["x"] = json!("2");
        assert_eq!(owned.drift(&object, &hasher).to_string(), ".metadata.labels.x");
        assert_eq!(Owned::assume(&body, &object, &hasher), None, "it is not as the body wants it");
        object["metadata"]["labels"]["x"] = json!("1");
        object["spec"]["list"] = json!([{"n": 1}, {"n": 2}]);
        assert_eq!(Owned::assume(&body, &object, &hasher), None, "the second item may be another's, or not");
    }

    #[test]
    fn those_who_took_a_field_are_named() {
        let path = |text: &str| {
            let hasher = RandomState::new();
            let body = json!({"spec": {text: 1}});
            let owned = Owned::assume(&body, &body, &hasher).unwrap();
            owned.drift(&json!({"spec": {}}), &hasher).paths
        };
        let named =
            |text| takers(&response(), "m", &path(text)).unwrap().iter().map(Taker::to_string).collect::<Vec<_>>();
        assert_eq!(named("replicas"), ["other (Update)"]);
        assert_eq!(named("selector"), [""; 0], "ours");
        assert_eq!(takers(&response(), "x", &path("selector")).unwrap()[0].manager, "m");
    }
}
