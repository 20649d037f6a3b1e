//! Which taints a node should have.
//!
//! Pure: it makes no calls.

use boathook_sdk::kube::Object;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Labels with this prefix are taints, and taints with it come from labels.
const PREFIX: &str = "taint.boathook.dev/";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// A node, as far as it matters.
#[derive(Debug, Deserialize)]
pub struct Node {
    labels: Option<BTreeMap<String, String>>,
    /// As they are: what others put into theirs stays.
    taints: Option<Vec<Value>>,
}

impl Node {
    /// Out of a whole node.
    pub fn of(node: &Object) -> Self {
        let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
        let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        Self {
            labels: labels.map(|labels| labels.iter().filter_map(text).collect()),
            taints: node.pointer("/spec/taints").and_then(Value::as_array).cloned(),
        }
    }

    /// Labels with our prefix whose value is no effect.
    pub fn invalid(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ours().filter(|(_, value)| !EFFECTS.contains(value))
    }

    fn ours(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.labels.iter().flatten();
        labels.map(|(key, value)| (key.as_str(), value.as_str())).filter(|(key, _)| key.starts_with(PREFIX))
    }
}

/// The taints that a node should have, unless it has them.
pub fn wanted(node: &Node) -> Option<Vec<Value>> {
    let mut missing: Vec<(&str, &str)> = node.ours().filter(|(_, value)| EFFECTS.contains(value)).collect();
    let mut taints = Vec::new();
    let had = node.taints.as_deref().unwrap_or_default();
    for taint in had {
        let text = |field: &str| taint.get(field).and_then(Value::as_str).unwrap_or_default();
        let asked = missing.iter().position(|asked| *asked == (text("key"), text("effect")));
        match asked {
            // It stays as it is, with the time it was added.
            Some(index) if text("value").is_empty() => {
                missing.swap_remove(index);
                taints.push(taint.clone());
            }
            _ if !text("key").starts_with(PREFIX) => taints.push(taint.clone()),
            _ => {}
        }
    }
    if missing.is_empty() && taints.len() == had.len() {
        return None;
    }
    taints.extend(missing.into_iter().map(|(key, effect)| json!({"key": key, "effect": effect})));
    Some(taints)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn node(labels: Value, taints: Value) -> Node {
        serde_json::from_value(json!({"labels": labels, "taints": taints})).unwrap()
    }

    fn ours(effect: &str) -> Value {
        json!({"key": "taint.boathook.dev/gpu", "effect": effect})
    }

    const GPU: &str = "taint.boathook.dev/gpu";

    #[test]
    fn a_label_gives_a_taint_and_takes_it_along() {
        assert_eq!(wanted(&node(json!({GPU: "NoSchedule"}), json!(null))), Some(vec![ours("NoSchedule")]));
        assert_eq!(wanted(&node(json!({GPU: "NoSchedule"}), json!([ours("NoSchedule")]))), None);
        assert_eq!(
            wanted(&node(json!({GPU: "NoExecute"}), json!([ours("NoSchedule")]))),
            Some(vec![ours("NoExecute")])
        );
        assert_eq!(wanted(&node(json!({"a": "b"}), json!([ours("NoSchedule")]))), Some(vec![]));
        assert_eq!(wanted(&node(json!(null), json!(null))), None);
    }

    #[test]
    fn taints_of_others_stay_as_they_are() {
        let other =
            json!({"key": "example.com/x", "value": "y", "effect": "NoExecute", "timeAdded": "2020-01-01T00:00:00Z"});
        let same_effect = json!({"key": "taint.boathook.dev", "effect": "NoSchedule"});
        let taints = json!([other, ours("NoSchedule"), same_effect]);
        assert_eq!(wanted(&node(json!({}), taints)), Some(vec![other, same_effect]));
    }

    #[test]
    fn the_time_of_a_taint_stays_and_a_value_goes() {
        let mut timed = ours("NoExecute");
        timed["timeAdded"] = json!("2020-01-01T00:00:00Z");
        assert_eq!(wanted(&node(json!({GPU: "NoExecute"}), json!([timed]))), None);
        let mut valued = ours("NoExecute");
        valued["value"] = json!("by hand");
        assert_eq!(wanted(&node(json!({GPU: "NoExecute"}), json!([valued]))), Some(vec![ours("NoExecute")]));
    }

    #[test]
    fn an_effect_that_does_not_exist_is_no_taint() {
        let node = node(json!({GPU: "Never", "other": "Never"}), json!([ours("NoSchedule")]));
        assert_eq!(wanted(&node), Some(vec![]));
        assert_eq!(node.invalid().collect::<Vec<_>>(), [(GPU, "Never")]);
    }
}
