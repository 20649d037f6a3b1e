//! Which namespaces a binding follows if it chooses them by label. Pure: it receives what the watch of namespaces sees.

use std::{collections::HashMap, sync::Arc};

use boathook_core::model::{Change, KubernetesBinding, Object, Resource};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Follow this namespace.
    Enter(Arc<str>),
    /// Stop following it.
    Leave(Arc<str>),
    /// All namespaces that matched at the start were entered. Sent once.
    Complete,
}

/// The namespaces that match.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    /// Only these names match. If empty, all namespaces with the labels match.
    only: Vec<String>,
    /// For each name, the last list that contained it.
    known: HashMap<Arc<str>, u32>,
    list: u32,
    complete: bool,
}

impl Namespaces {
    /// If the binding has names, too, a namespace must be among them and have the labels.
    pub fn of(spec: &KubernetesBinding) -> Self {
        Self { only: spec.namespaces.clone(), ..Self::default() }
    }

    /// Applies a change from the stream that selects by the labels.
    pub fn apply(&mut self, change: &Change) -> Vec<Step> {
        match change {
            Change::ListStarted => {
                self.list = self.list.wrapping_add(1);
                Vec::new()
            }
            Change::Upsert(namespace) => self.seen(namespace),
            Change::Delete(namespace) => self.leave(&namespace.key.name).into_iter().collect(),
            Change::ListDone => self.listed(),
            // Every API server serves namespaces. If a proxy does not, that is no reason to leave them.
            Change::Unserved => Vec::new(),
        }
    }

    fn seen(&mut self, namespace: &Object) -> Vec<Step> {
        let name = &namespace.key.name;
        if !self.only.is_empty() && !self.only.iter().any(|only| **only == **name) {
            return Vec::new();
        }
        match self.known.insert(name.clone(), self.list) {
            Some(_) => Vec::new(),
            None => vec![Step::Enter(name.clone())],
        }
    }

    fn leave(&mut self, name: &Arc<str>) -> Option<Step> {
        self.known.remove(name).map(|_| Step::Leave(name.clone()))
    }

    fn listed(&mut self) -> Vec<Step> {
        let mut gone: Vec<_> =
            self.known.iter().filter(|(_, list)| **list != self.list).map(|(name, _)| name.clone()).collect();
        gone.sort();
        let mut steps: Vec<_> = gone.iter().filter_map(|name| self.leave(name)).collect();
        if !std::mem::replace(&mut self.complete, true) {
            steps.push(Step::Complete);
        }
        steps
    }
}

/// The kind Namespace, which needs no discovery.
pub(super) fn resource() -> Arc<Resource> {
    Arc::new(Resource {
        group: String::new(),
        version: "v1".into(),
        kind: "Namespace".into(),
        plural: "namespaces".into(),
        namespaced: false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn namespace(name: &str) -> Arc<Object> {
        let json = format!("{{\"metadata\":{{\"name\":\"{name}\"}}}}");
        Arc::new(Object::from_json(&json, &"v1".into(), &"Namespace".into()).unwrap())
    }

    fn list(namespaces: &mut Namespaces, names: &[&str]) -> Vec<Step> {
        let mut steps = namespaces.apply(&Change::ListStarted);
        steps.extend(names.iter().flat_map(|name| namespaces.apply(&Change::Upsert(namespace(name)))));
        steps.extend(namespaces.apply(&Change::ListDone));
        steps
    }

    fn enter(name: &str) -> Step {
        Step::Enter(name.into())
    }

    fn leave(name: &str) -> Step {
        Step::Leave(name.into())
    }

    #[test]
    fn they_come_and_go() {
        let mut namespaces = Namespaces::default();
        assert_eq!(list(&mut namespaces, &["a", "b"]), [enter("a"), enter("b"), Step::Complete]);
        assert_eq!(namespaces.apply(&Change::Upsert(namespace("a"))), []);
        assert_eq!(namespaces.apply(&Change::Delete(namespace("a"))), [leave("a")]);
        assert_eq!(namespaces.apply(&Change::Delete(namespace("a"))), []);
        assert_eq!(namespaces.apply(&Change::Upsert(namespace("c"))), [enter("c")]);
        // `Complete` is sent only once, and a namespace that a list does not contain is gone.
        assert_eq!(list(&mut namespaces, &["a", "c"]), [enter("a"), leave("b")]);
        assert_eq!(namespaces.apply(&Change::Unserved), []);
    }

    #[test]
    fn names_and_labels_must_both_hold() {
        let mut namespaces = Namespaces { only: vec!["a".into(), "x".into()], ..Namespaces::default() };
        assert_eq!(list(&mut namespaces, &["a", "b"]), [enter("a"), Step::Complete]);
        assert_eq!(namespaces.apply(&Change::Upsert(namespace("b"))), []);
        assert_eq!(namespaces.apply(&Change::Delete(namespace("b"))), []);
    }
}
