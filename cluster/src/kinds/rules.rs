//! The rules of custom resources (`x-kubernetes-validations`). They are compiled once and evaluated at every write.
//! They see only the schema and the old and new object.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json;
use crate::status::Cause;
use boathook_cel::{self as cel, Budget, Program, Scope, optional, to_cel};

#[derive(Debug)]
struct Rule {
    program: Program,
    message: Option<Program>,
    /// The rule as written, for error texts.
    written: Value,
    transition: bool,
    optional_old: bool,
}

/// The rules of a schema and of its parts.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    own: Vec<Rule>,
    properties: BTreeMap<String, Rules>,
    items: Option<Box<Rules>>,
    values: Option<Box<Rules>>,
}

/// The result of the rules for an object.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub causes: Vec<Cause>,
    /// Rules that a part of the object already broke before this change.
    pub warnings: Vec<String>,
}

impl Rules {
    /// Compiles the rules of a schema. Rules that cannot be parsed were refused with the definition.
    pub(crate) fn compile(schema: &Value) -> Self {
        let own = json::list(schema, &["x-kubernetes-validations"]).iter().filter_map(Rule::compile).collect();
        let below = |key: &str| {
            let inner = schema.get(key).filter(|v| v.is_object()).map(Self::compile);
            inner.filter(|rules| !rules.is_empty()).map(Box::new)
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flatten().map(|(key, inner)| (key.clone(), Self::compile(inner)));
        let properties = properties.filter(|(_, rules)| !rules.is_empty()).collect();
        Self { own, properties, items: below("items"), values: below("additionalProperties") }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.own.is_empty() && self.properties.is_empty() && self.items.is_none() && self.values.is_none()
    }

    /// Evaluates all rules on `object`, which replaces `old`.
    pub(crate) fn check(&self, schema: &Value, object: &Value, old: Option<&Value>) -> Findings {
        let mut walk = Walk { budget: Budget::default(), findings: Findings::default(), exhausted: false };
        walk.visit(self, schema, object, old, &Place { path: String::new(), root: true });
        walk.findings
    }
}

impl Rule {
    fn compile(written: &Value) -> Option<Self> {
        let program = Program::parse(json::text(written, &["rule"])).ok()?;
        let message = Some(json::text(written, &["messageExpression"])).filter(|text| !text.is_empty());
        Some(Self {
            transition: program.uses("oldSelf"),
            optional_old: written.get("optionalOldSelf") == Some(&Value::Bool(true)),
            message: message.and_then(|text| Program::parse(text).ok()),
            written: written.clone(),
            program,
        })
    }

    /// The name of the rule in error texts.
    fn shown(&self) -> &str {
        let message = json::text(&self.written, &["message"]);
        let text = if message.is_empty() { json::text(&self.written, &["rule"]) } else { message };
        text.trim()
    }

    fn default_message(&self) -> String {
        let message = json::text(&self.written, &["message"]).trim();
        if message.is_empty() { format!("failed rule: {}", self.shown()) } else { message.to_owned() }
    }
}

/// The position of a value.
struct Place {
    path: String,
    root: bool,
}

impl Place {
    fn below(&self, step: &str) -> Self {
        let dot = if self.path.is_empty() || step.starts_with('[') { "" } else { "." };
        Self { path: format!("{}{dot}{step}", self.path), root: false }
    }

    fn field(&self) -> &str {
        if self.path.is_empty() { "<nil>" } else { &self.path }
    }
}

struct Walk {
    budget: Budget,
    findings: Findings,
    exhausted: bool,
}

impl Walk {
    fn visit(&mut self, rules: &Rules, schema: &Value, value: &Value, old: Option<&Value>, place: &Place) {
        if self.exhausted || (value.is_null() && schema.get("nullable") == Some(&Value::Bool(true))) {
            return;
        }
        if !rules.own.is_empty() {
            self.own(rules, schema, value, old, place);
        }
        // Parts of an atomic value have no old value.
        let old_parts = old.filter(|_| json::text(schema, &["x-kubernetes-map-type"]) != "atomic");
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let old = old_parts.and_then(|old| old.get(key));
                    let declared = json::at(schema, &["properties", key]);
                    if let (Some(rules), Some(schema)) = (rules.properties.get(key), declared) {
                        self.visit(rules, schema, value, old, &place.below(key));
                    } else if let (Some(rules), None) = (&rules.values, declared) {
                        let schema = schema.get("additionalProperties").unwrap_or(&Value::Null);
                        self.visit(rules, schema, value, old, &place.below(&format!("[{key}]")));
                    }
                }
            }
            Value::Array(items) => {
                let Some(rules) = &rules.items else { return };
                let inner = schema.get("items").unwrap_or(&Value::Null);
                for (index, item) in items.iter().enumerate() {
                    let before = old_parts.and_then(|old| correlated(item, old, schema));
                    self.visit(rules, inner, item, before, &place.below(&format!("[{index}]")));
                }
            }
            _ => {}
        }
    }

    fn own(&mut self, rules: &Rules, schema: &Value, value: &Value, old: Option<&Value>, place: &Place) {
        let empty = Scope::default();
        let with_self = empty.with("self", bound(value, schema, place));
        let old_value = old.map(|old| bound(old, schema, place));
        for rule in &rules.own {
            let past = match (rule.optional_old, &old_value) {
                (true, past) => optional(past.clone()),
                (false, Some(past)) => past.clone(),
                (false, None) if rule.transition => continue,
                (false, None) => cel::Value::Null,
            };
            let scope = with_self.with("oldSelf", past);
            match rule.program.run(&scope, &mut self.budget) {
                Ok(cel::Value::Bool(true)) => {}
                Ok(_) => {
                    let cause = self.broken(rule, value, &scope, place);
                    if !rule.transition && old == Some(value) {
                        self.findings.warnings.push(format!("{}: {}", cause.field, cause.message));
                    } else {
                        self.findings.causes.push(cause);
                    }
                }
                Err(error) => self.failed(rule, schema, &error, place),
            }
            if self.budget.is_empty() {
                let why =
                    "validation failed due to running out of cost budget, no further validation rules will be run";
                self.findings.causes.push(Cause::bare("<nil>", why));
                self.exhausted = true;
            }
            if self.exhausted {
                return;
            }
        }
    }

    /// The cause for a rule that could not be evaluated.
    fn failed(&mut self, rule: &Rule, schema: &Value, error: &cel::Error, place: &Place) {
        let shown = rule.shown();
        let why = match error {
            cel::Error::NoOverload => format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: \
                 {shown}"
            ),
            cel::Error::TooExpensive => {
                self.exhausted = true;
                format!(
                    "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
                )
            }
            cel::Error::Other(_) => format!("{error} evaluating rule: {shown}"),
        };
        let kind = Value::from(json::text(schema, &["type"]));
        self.findings.causes.push(Cause::invalid(place.field(), &kind, why));
    }

    /// The cause for a rule that does not hold.
    fn broken(&mut self, rule: &Rule, value: &Value, scope: &Scope<'_>, place: &Place) -> Cause {
        let own = match rule.message.as_ref().map(|message| message.run(scope, &mut self.budget)) {
            Some(Ok(cel::Value::String(text))) => Some(text.trim().to_owned()),
            _ => None,
        };
        let message = own.filter(|text| !text.is_empty() && !text.contains('\n'));
        let message = message.unwrap_or_else(|| rule.default_message());
        let path = json::text(&rule.written, &["fieldPath"]);
        let deeper = place.below(path.trim_start_matches('.'));
        let field = if path.is_empty() { place.field() } else { deeper.field() };
        match json::text(&rule.written, &["reason"]) {
            "FieldValueForbidden" => Cause::forbidden(field, message),
            "FieldValueRequired" => Cause::required(field, &message),
            "FieldValueDuplicate" => {
                Cause { reason: "FieldValueDuplicate", message: "Duplicate value".into(), field: field.into() }
            }
            _ if value.is_object() || value.is_array() => Cause::bare(field, &message),
            _ => Cause::invalid(field, value, message),
        }
    }
}

/// The value of `self` in a rule. Of the object's own metadata, rules see only the name.
fn bound(value: &Value, schema: &Value, place: &Place) -> cel::Value {
    let embedded = place.root || schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    let Some(metadata) = value.get("metadata").and_then(Value::as_object).filter(|_| embedded) else {
        return to_cel(value, schema);
    };
    let names = metadata.iter().filter(|(key, _)| matches!(key.as_str(), "name" | "generateName"));
    let names: Value = Value::Object(names.map(|(k, v)| (k.clone(), v.clone())).collect());
    let mut seen = value.clone();
    json::object(&mut seen).insert("metadata".into(), names);
    to_cel(&seen, schema)
}

/// The old version of a list's item. Only lists of type `map` identify their items.
pub(crate) fn correlated<'v>(item: &Value, old: &'v Value, schema: &Value) -> Option<&'v Value> {
    if json::text(schema, &["x-kubernetes-list-type"]) != "map" {
        return None;
    }
    let keys: Vec<&str> =
        json::list(schema, &["x-kubernetes-list-map-keys"]).iter().filter_map(Value::as_str).collect();
    let same = |other: &&Value| keys.iter().all(|key| other.get(key) == item.get(key));
    old.as_array()?.iter().find(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(schema: &Value, object: &Value, old: Option<&Value>) -> Vec<String> {
        let findings = Rules::compile(schema).check(schema, object, old);
        findings.causes.into_iter().map(|c| format!("{}: {}", c.field, c.message)).chain(findings.warnings).collect()
    }

    #[test]
    fn transitions_follow_the_keys_of_a_list() {
        let schema = json!({ "type": "object", "properties": { "parts": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
            "items": { "type": "object", "x-kubernetes-validations": [{ "rule": "self.n >= oldSelf.n" }] },
        } } });
        let old = json!({ "parts": [{ "id": "x", "n": 1 }, { "id": "y", "n": 2 }] });
        let new = json!({ "parts": [{ "id": "y", "n": 1 }, { "id": "x", "n": 2 }, { "id": "z", "n": 0 }] });
        assert_eq!(found(&schema, &new, None), Vec::<String>::new());
        assert_eq!(found(&schema, &new, Some(&old)), ["parts[0]: Invalid value: failed rule: self.n >= oldSelf.n"]);
    }

    #[test]
    fn what_did_not_change_is_only_warned_about() {
        let schema = json!({ "type": "object", "properties": {
            "a": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self > 3" }] },
        } });
        let old = json!({ "a": 1 });
        let warned = "a: Invalid value: 1: failed rule: self > 3";
        assert_eq!(found(&schema, &json!({ "a": 1, "b": 2 }), Some(&old)), [warned]);
        let findings = Rules::compile(&schema).check(&schema, &json!({ "a": 2 }), Some(&old));
        assert_eq!((findings.causes.len(), findings.warnings.len()), (1, 0));
    }

    #[test]
    fn a_rule_that_costs_too_much_ends_the_checks() {
        let loops = "self.l.all(x, self.l.all(y, self.l.all(z, x + y + z >= 0)))";
        let schema = json!({ "type": "object", "x-kubernetes-validations": [{ "rule": loops }, { "rule": "false" }] });
        let found = found(&schema, &json!({ "l": (0..300).collect::<Vec<_>>() }), None);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found.iter().all(|f| f.contains("actual cost limit exceeded")), "{found:?}");
    }
}
