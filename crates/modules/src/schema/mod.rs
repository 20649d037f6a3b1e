//! Schemas of values, in the OpenAPI dialect of addon-operator: what their files say, what Boathook makes of it, and
//! what they say about values.

mod rules;
mod transform;

use serde_json::Value;

use self::rules::Rules;

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The keys from the schema's value to the wrong one.
    pub path: Vec<String>,
    pub message: String,
}

/// The most findings that are reported.
const MAX_FINDINGS: usize = 100;

/// A compiled schema.
pub struct Schema {
    root: Value,
    compiled: boon::Schemas,
    index: boon::SchemaIndex,
    rules: Rules,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Schema").field(&self.root).finish()
    }
}

/// Where the compiler keeps a schema.
const PLACE: &str = "boathook:///schema.json";

impl Schema {
    /// The schema of the configuration: the content of `config-values.yaml`.
    ///
    /// # Errors
    /// Says what is wrong with the schema.
    pub fn of_config(written: &Value) -> Result<Self, String> {
        Self::compile(transform::closed(transform::expanded(written)?))
    }

    /// The schema of the values, the content of `values.yaml`. If it says so with `x-extend`, it extends the schema of the
    /// configuration.
    ///
    /// # Errors
    /// Says what is wrong with the schema.
    pub fn of_values(written: &Value, config: Option<&Schema>) -> Result<Self, String> {
        Self::compile(Self::values(written, config)?)
    }

    /// Like [`Schema::of_values`], for the values that a chart is rendered with: what `x-required-for-helm` names is
    /// required.
    ///
    /// # Errors
    /// Says what is wrong with the schema.
    pub fn of_helm(written: &Value, config: Option<&Schema>) -> Result<Self, String> {
        Self::compile(transform::required_for_helm(Self::values(written, config)?))
    }

    fn values(written: &Value, config: Option<&Schema>) -> Result<Value, String> {
        let own = transform::expanded(written)?;
        Ok(transform::closed(transform::extended(own, config.map(|config| &config.root))?))
    }

    fn compile(root: Value) -> Result<Self, String> {
        let rules = Rules::compile(&root)?;
        let mut compiler = boon::Compiler::new();
        compiler.set_default_draft(boon::Draft::V4);
        compiler.enable_format_assertions();
        compiler.use_loader(Box::new(Nowhere));
        let why = |error: boon::CompileError| format!("is not a schema: {}", compile_problem(&error));
        compiler.add_resource(PLACE, transform::nullable(root.clone())).map_err(why)?;
        let mut compiled = boon::Schemas::new();
        let index = compiler.compile(PLACE, &mut compiled).map_err(why)?;
        Ok(Self { root, compiled, index, rules })
    }

    /// The version of the settings that the schema describes.
    pub fn version(&self) -> u64 {
        self.root.get("x-config-version").and_then(Value::as_u64).unwrap_or(1)
    }

    /// Sets the keys that are missing and have a default, in objects and in the items of lists. The key may come from a
    /// default itself.
    pub fn defaults(&self, value: &mut Value) {
        fill(&self.root, value);
    }

    /// Checks a value. `old` is what it replaces: rules about a transition hold only if there is an old value.
    pub fn check(&self, value: &Value, old: Option<&Value>) -> Vec<Finding> {
        let mut found = Vec::new();
        if let Err(error) = self.compiled.validate(value, self.index) {
            collect(&error, &mut found);
        }
        // Rules may rely on what the schema says about types.
        if found.is_empty() {
            found = self.rules.check(value, old);
        }
        found.dedup();
        found.truncate(MAX_FINDINGS);
        found
    }
}

fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            for (key, property) in properties {
                if let (false, Some(default)) = (fields.contains_key(key), property.get("default")) {
                    fields.insert(key.clone(), default.clone());
                }
                if let Some(field) = fields.get_mut(key) {
                    fill(property, field);
                }
            }
        }
        Value::Array(items) => {
            // A list of schemas is one for each place, which has no defaults in addon-operator.
            let Some(schema) = schema.get("items").filter(|schema| schema.is_object()) else { return };
            items.iter_mut().for_each(|item| fill(schema, item));
        }
        _ => {}
    }
}

/// Collects the innermost problems. The others only say that there are some.
fn collect(error: &boon::ValidationError<'_, '_>, found: &mut Vec<Finding>) {
    if found.len() > MAX_FINDINGS {
        return;
    }
    if !error.causes.is_empty() {
        error.causes.iter().for_each(|cause| collect(cause, found));
        return;
    }
    let path: Vec<String> = error
        .instance_location
        .tokens
        .iter()
        .map(|token| match token {
            boon::InstanceToken::Prop(name) => name.to_string(),
            boon::InstanceToken::Item(index) => index.to_string(),
        })
        .collect();
    let below = |key: &str, message: &str| {
        let mut path = path.clone();
        path.push(key.to_owned());
        Finding { path, message: message.to_owned() }
    };
    match &error.kind {
        boon::ErrorKind::AdditionalProperties { got } => {
            found.extend(
                got.iter().map(|key| below(key, "is not in the schema; remove the key or add it to the schema")),
            );
        }
        boon::ErrorKind::Required { want } => {
            found.extend(want.iter().map(|key| below(key, "is required and missing")));
        }
        kind => found.push(Finding { message: kind.to_string(), path }),
    }
}

/// The innermost message about a schema. The others name the place where the compiler keeps it.
fn compile_problem(error: &boon::CompileError) -> String {
    match error {
        boon::CompileError::ValidationError { src, .. } => {
            let mut found = Vec::new();
            src.causes.iter().for_each(|cause| collect(cause, &mut found));
            let found: Vec<_> =
                found.iter().map(|finding| format!("{}: {}", finding.path.join("."), finding.message)).collect();
            found.join("; ")
        }
        error => error.to_string().replace(PLACE, ""),
    }
}

/// Rejects a schema that refers to another place.
struct Nowhere;

impl boon::UrlLoader for Nowhere {
    fn load(&self, url: &str) -> Result<Value, Box<dyn std::error::Error>> {
        Err(format!("{url:?} is not loaded: a schema must be complete in itself").into())
    }
}

#[cfg(test)]
mod tests;
