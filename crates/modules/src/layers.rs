//! Values in layers: later ones win, and each value has a writer.

use std::{fmt, path::PathBuf, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    patch::{Patch, document},
    schema::Schema,
};

/// Who wrote a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    /// A `values.yaml`, of the directory of modules or of the module itself.
    Static(PathBuf),
    /// A default in the schema in this file.
    Default(PathBuf),
    /// The configuration, by its name.
    Config(String),
    /// A `Module` resource, by its name.
    Resource(String),
    /// A hook, by its name.
    Hook(String),
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(path) => write!(f, "{}", path.display()),
            Self::Default(path) => write!(f, "a default of {}", path.display()),
            Self::Config(name) => write!(f, "the configuration {name}"),
            Self::Resource(name) => write!(f, "the Module {name}"),
            Self::Hook(name) => write!(f, "the hook {name}"),
        }
    }
}

#[derive(Debug, Clone)]
enum Change {
    Merge(Value),
    Defaults(Arc<Schema>),
    Patch(Patch),
}

/// The layers of one section of values.
#[derive(Debug, Clone)]
pub struct Layers {
    key: String,
    layers: Vec<(Writer, Change)>,
}

/// What one layer did to a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub writer: Writer,
    /// The value after it. `None` if there is none any more.
    pub value: Option<Value>,
}

/// A patch that cannot be applied to the layers below it any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the values changed while {writer} ran: {why}: run it again")]
pub struct StalePatch {
    pub writer: Writer,
    pub why: String,
}

impl Layers {
    /// No layers of the section `key`. Its value is then an empty object.
    pub fn new(key: &str) -> Self {
        Self { key: key.to_owned(), layers: Vec::new() }
    }

    /// Merges values: objects key by key, and everything else as a whole.
    pub fn merge(&mut self, writer: Writer, values: Value) {
        self.layers.push((writer, Change::Merge(values)));
    }

    /// Sets what is missing and has a default.
    pub fn defaults(&mut self, writer: Writer, schema: Arc<Schema>) {
        self.layers.push((writer, Change::Defaults(schema)));
    }

    /// Applies a patch, whose paths begin with the section's key.
    pub fn patch(&mut self, writer: Writer, patch: Patch) {
        self.layers.push((writer, Change::Patch(patch)));
    }

    /// The section.
    ///
    /// # Errors
    /// A patch adds something below a value that is not there any more.
    pub fn value(&self) -> Result<Value, StalePatch> {
        let mut value = Value::Object(Map::new());
        for layer in &self.layers {
            value = self.after(layer, value)?;
        }
        Ok(value)
    }

    fn after(&self, (writer, change): &(Writer, Change), mut value: Value) -> Result<Value, StalePatch> {
        match change {
            Change::Merge(over) => merge(&mut value, over),
            Change::Defaults(schema) => schema.defaults(&mut value),
            Change::Patch(patch) => {
                let mut whole = document(&self.key, value);
                patch.apply_again(&mut whole).map_err(|why| StalePatch { writer: writer.clone(), why })?;
                value = section(whole, &self.key);
            }
        }
        Ok(value)
    }

    /// The layers that wrote the value at a path below the section, in order. The last one wins.
    ///
    /// # Errors
    /// As [`Layers::value`].
    pub fn trace(&self, path: &[String]) -> Result<Vec<Step>, StalePatch> {
        let mut whole = vec![self.key.clone()];
        whole.extend_from_slice(path);
        let mut steps = Vec::new();
        let mut value = Value::Object(Map::new());
        for layer in &self.layers {
            let before = at(&value, path).cloned();
            value = self.after(layer, value)?;
            let after = at(&value, path);
            let (writer, change) = layer;
            let touched = match change {
                Change::Merge(over) => writes(over, path),
                Change::Patch(patch) => patch.touches(&whole) && (before.is_some() || after.is_some()),
                Change::Defaults(_) => false,
            };
            if touched || before.as_ref() != after {
                steps.push(Step { writer: writer.clone(), value: after.cloned() });
            }
        }
        Ok(steps)
    }

    /// Who wrote the value at a path, if there is one.
    pub fn writer(&self, path: &[String]) -> Option<Writer> {
        let last = self.trace(path).ok()?.pop()?;
        last.value.is_some().then_some(last.writer)
    }
}

/// Takes a section out of a document. What a patch removed as a whole is empty.
pub(crate) fn section(document: Value, key: &str) -> Value {
    let Value::Object(mut fields) = document else { return Value::Object(Map::new()) };
    fields.shift_remove(key).unwrap_or_else(|| Value::Object(Map::new()))
}

/// The value at a path.
pub(crate) fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| match value {
        Value::Object(fields) => fields.get(key),
        Value::Array(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
        _ => None,
    })
}

/// Whether merging values writes a path: itself, something below it, or something above it as a whole.
fn writes(values: &Value, path: &[String]) -> bool {
    match (values, path.split_first()) {
        (Value::Object(fields), Some((key, rest))) => fields.get(key).is_some_and(|value| writes(value, rest)),
        (Value::Object(fields), None) => fields.values().any(|value| writes(value, &[])),
        _ => true,
    }
}

fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(key) {
                    Some(below) => merge(below, value),
                    None => drop(base.insert(key.clone(), value.clone())),
                }
            }
        }
        (base, over) => *base = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect()
    }

    fn shown(layers: &Layers, at: &str) -> Vec<(String, Option<Value>)> {
        layers.trace(&path(at)).unwrap().into_iter().map(|step| (step.writer.to_string(), step.value)).collect()
    }

    fn example() -> Layers {
        let schema = json!({"type": "object", "properties": {
            "port": {"default": 80}, "host": {"default": "localhost"}, "tls": {"default": {"on": false}},
        }});
        let mut layers = Layers::new("web");
        layers.merge(Writer::Static("values.yaml".into()), json!({"port": 1, "list": [1, 2], "map": {"a": 1, "b": 1}}));
        layers.merge(Writer::Static("web/values.yaml".into()), json!({"map": {"b": 2}, "list": [3]}));
        layers.defaults(Writer::Default("schema".into()), Arc::new(Schema::of_config(&schema).unwrap()));
        layers.merge(Writer::Config("cm".into()), json!({"port": 3, "map": {"c": 3}}));
        layers
    }

    #[test]
    fn objects_are_merged_and_everything_else_is_replaced() {
        let value = example().value().unwrap();
        let expected = json!({
            "port": 3, "list": [3], "map": {"a": 1, "b": 2, "c": 3}, "host": "localhost", "tls": {"on": false},
        });
        assert_eq!(value, expected);
        let mut layers = Layers::new("web");
        layers.merge(Writer::Config("one".into()), json!({"a": {"b": 1}, "list": {"0": 1}}));
        layers.merge(Writer::Config("two".into()), json!({"a": null, "list": [1]}));
        assert_eq!(layers.value().unwrap(), json!({"a": null, "list": [1]}));
    }

    #[test]
    fn each_value_has_its_writers_in_order() {
        let mut layers = example();
        let patch = r#"{"op":"add","path":"/web/map/b","value":9}{"op":"remove","path":"/web/host"}"#;
        layers.patch(Writer::Hook("hooks/a".into()), Patch::parse(patch).unwrap());
        let step = |writer: &str, value: Value| (writer.to_owned(), Some(value));
        assert_eq!(shown(&layers, "port"), [step("values.yaml", json!(1)), step("the configuration cm", json!(3))]);
        assert_eq!(shown(&layers, "map.a"), [step("values.yaml", json!(1))]);
        assert_eq!(
            shown(&layers, "map.b"),
            [step("values.yaml", json!(1)), step("web/values.yaml", json!(2)), step("the hook hooks/a", json!(9))]
        );
        assert_eq!(
            shown(&layers, "host"),
            [step("a default of schema", json!("localhost")), ("the hook hooks/a".to_owned(), None)]
        );
        assert_eq!(shown(&layers, "tls.on"), [step("a default of schema", json!(false))]);
        assert_eq!(shown(&layers, "list.0"), [step("values.yaml", json!(1)), step("web/values.yaml", json!(3))]);
        assert_eq!(shown(&layers, "nothing"), []);
        assert_eq!(layers.writer(&path("map.b")), Some(Writer::Hook("hooks/a".into())));
        assert_eq!(layers.writer(&path("host")), None);
    }

    #[test]
    fn a_patch_is_applied_again_when_a_lower_layer_changes() {
        let mut layers = Layers::new("web");
        layers.merge(Writer::Config("cm".into()), json!({"map": {}}));
        layers.patch(Writer::Hook("a".into()), Patch::parse(r#"{"op":"add","path":"/web/map/x","value":1}"#).unwrap());
        assert_eq!(layers.value().unwrap(), json!({"map": {"x": 1}}));
        let mut changed = Layers::new("web");
        changed.patch(Writer::Hook("a".into()), Patch::parse(r#"{"op":"add","path":"/web/map/x","value":1}"#).unwrap());
        let error = changed.value().unwrap_err().to_string();
        assert!(error.starts_with("the values changed while the hook a ran: add /web/map/x: "), "{error}");
        let mut emptied = Layers::new("web");
        emptied.merge(Writer::Config("cm".into()), json!({"a": 1}));
        emptied.patch(Writer::Hook("a".into()), Patch::parse(r#"{"op":"remove","path":"/web"}"#).unwrap());
        assert_eq!(emptied.value().unwrap(), json!({}));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop::sample::select(vec![json!(1), json!("x"), json!(null), json!([]), json!([{"a": 1}])]);
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| json!(map))
        })
    }

    fn object() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[a-c]", values(), 0..3).prop_map(|map| json!(map))
    }

    proptest! {
        /// Without the layers that a trace names, the value would be another one; the last of them gives the value.
        #[test]
        fn the_last_writer_gives_the_value(one in object(), two in object(), three in object(), keys in "[a-c]{1,3}") {
            let mut layers = Layers::new("m");
            for (number, values) in [one, two, three].into_iter().enumerate() {
                layers.merge(Writer::Config(number.to_string()), values);
            }
            let path: Vec<String> = keys.chars().map(String::from).collect();
            let value = layers.value().unwrap();
            let trace = layers.trace(&path).unwrap();
            prop_assert_eq!(trace.last().and_then(|step| step.value.as_ref()), at(&value, &path));
        }

        #[test]
        fn merging_the_same_again_changes_nothing(one in object(), two in object()) {
            let mut once = one;
            merge(&mut once, &two);
            let mut twice = once.clone();
            merge(&mut twice, &two);
            prop_assert_eq!(twice, once);
        }
    }
}
