//! Building blocks of the schema.

use serde_json::{Map, Value, json};

/// The longest list.
const MAX_ITEMS: usize = 1000;

/// A mapping that allows only its own keys.
pub(super) struct Object {
    schema: Map<String, Value>,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

/// A mapping that has no keys yet.
pub(super) fn object(description: &str) -> Object {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), description.into());
    Object { schema, properties: Map::new(), required: Vec::new() }
}

impl Object {
    pub fn title(self, title: &str) -> Self {
        self.with("title", title.into())
    }

    pub fn key(mut self, key: &str, schema: impl Into<Value>) -> Self {
        self.properties.insert(key.to_owned(), schema.into());
        self
    }

    pub fn required(mut self, key: &str, schema: impl Into<Value>) -> Self {
        self.required.push(key.into());
        self.key(key, schema)
    }

    pub fn at_least_keys(self, count: usize) -> Self {
        self.with("minProperties", count.into())
    }

    /// Sets any other keyword.
    pub fn with(mut self, keyword: &str, value: Value) -> Self {
        self.schema.insert(keyword.to_owned(), value);
        self
    }

    pub fn build(self) -> Value {
        let mut schema = self.schema;
        schema.insert("type".to_owned(), "object".into());
        schema.insert("additionalProperties".to_owned(), false.into());
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), self.required.into());
        }
        schema.insert("properties".to_owned(), self.properties.into());
        schema.into()
    }
}

/// A value that is not a mapping.
pub(super) struct Part(Map<String, Value>);

impl From<Part> for Value {
    fn from(part: Part) -> Self {
        part.0.into()
    }
}

impl Part {
    fn new(kind: &str) -> Self {
        Self(Map::new()).with("type", kind)
    }

    pub fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    pub fn about(self, description: &str) -> Self {
        self.with("description", description)
    }

    pub fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    /// A list that is not empty.
    pub fn some(self) -> Self {
        self.with("minItems", 1)
    }

    /// A list without duplicates.
    pub fn unique(self) -> Self {
        self.with("uniqueItems", true)
    }
}

pub(super) fn text() -> Part {
    Part::new("string")
}

/// A text that is not empty.
pub(super) fn some_text() -> Part {
    text().with("minLength", 1)
}

pub(super) fn matching(pattern: &str) -> Part {
    text().with("pattern", pattern)
}

pub(super) fn one_of(words: &[&str]) -> Part {
    Part(Map::new()).with("enum", words)
}

pub(super) fn boolean(default: bool) -> Part {
    Part::new("boolean").default(default)
}

pub(super) fn integer(min: i64, max: i64) -> Part {
    Part::new("integer").with("minimum", min).with("maximum", max)
}

pub(super) fn number(min: f64, max: f64) -> Part {
    Part::new("number").with("minimum", min).with("maximum", max)
}

pub(super) fn list(items: impl Into<Value>) -> Part {
    Part::new("array").with("items", items).with("maxItems", MAX_ITEMS)
}

/// A reference to `$defs`, with its meaning at this place.
pub(super) fn reference(name: &str, description: &str) -> Part {
    Part(Map::new()).with("$ref", format!("#/$defs/{name}")).about(description)
}

/// `version` or `group/version`.
pub(super) fn api_version() -> Value {
    matching("^[A-Za-z0-9.-]+(/[A-Za-z0-9.-]+)?$")
        .with("examples", ["v1", "apps/v1"])
        .about("An API version: `version` or `group/version`.")
        .into()
}

pub(super) fn duration() -> Value {
    matching("^\\+?(0|(([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$")
        .with("examples", ["300ms", "5s", "1h30m"])
        .about("A duration as Go writes it, at most 8784h.")
        .into()
}

pub(super) fn bytes() -> Value {
    json!({
        "description": "An amount of bytes: a number, or a Kubernetes quantity.",
        "examples": ["64Mi", "1G", 4096],
        "oneOf": [
            { "type": "integer", "minimum": 0, "maximum": u64::MAX },
            { "type": "string", "pattern": "^[0-9]+(Ki|Mi|Gi|Ti|k|M|G|T)?$" },
        ],
    })
}
