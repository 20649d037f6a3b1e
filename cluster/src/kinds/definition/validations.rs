//! The rules of a schema, before there are objects: what they must say, and whether they compile.
//!
//! Never evaluates a rule.

use serde_json::{Value, json};

use crate::cel::{Program, Ty};
use crate::json;
use crate::status::Cause;

const REASONS: &[&str] = &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Everything that is wrong with the rules of a schema and of what is below it.
pub(super) fn check(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    walk(schema, path, true, None, causes);
}

/// `lost`: the list or map around here whose parts have no past.
fn walk(schema: &Value, path: &str, root: bool, lost: Option<&str>, causes: &mut Vec<Cause>) {
    for (index, written) in json::list(schema, &["x-kubernetes-validations"]).iter().enumerate() {
        let rule = Rule { written, schema, root, place: format!("{path}.x-kubernetes-validations[{index}]") };
        rule.check(lost, causes);
    }
    let atomic = json::text(schema, &["x-kubernetes-map-type"]) == "atomic";
    let inner_lost = lost.or(atomic.then_some(path));
    for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        walk(inner, &format!("{path}.properties[{key}]"), false, inner_lost, causes);
    }
    if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
        walk(inner, &format!("{path}.additionalProperties"), false, inner_lost, causes);
    }
    if let Some(inner) = schema.get("items").filter(|inner| inner.is_object()) {
        let keyed = json::text(schema, &["x-kubernetes-list-type"]) == "map";
        walk(inner, &format!("{path}.items"), false, lost.or((!keyed).then_some(path)), causes);
    }
}

struct Rule<'a> {
    written: &'a Value,
    schema: &'a Value,
    root: bool,
    place: String,
}

impl<'a> Rule<'a> {
    fn text(&self, key: &str) -> &'a str {
        json::text(self.written, &[key])
    }

    fn check(&self, lost: Option<&str>, causes: &mut Vec<Cause>) {
        let at = |key: &str| format!("{}.{key}", self.place);
        if self.text("rule").trim().is_empty() {
            causes.push(Cause::required(at("rule"), "rule is not specified"));
            return;
        }
        let message = self.text("message");
        if !message.is_empty() && message.trim().is_empty() {
            causes.push(Cause::invalid(at("message"), &message.into(), "message must be non-empty if specified"));
        } else if message.trim().contains(['\n', '\r']) {
            causes.push(Cause::invalid(at("message"), &message.into(), "must not contain line breaks"));
        }
        let reason = self.text("reason");
        if !reason.is_empty() && !REASONS.contains(&reason) {
            causes.push(Cause::unsupported(at("reason"), &reason.into(), REASONS));
        }
        let path = self.text("fieldPath");
        if !path.is_empty() && !leads_somewhere(path, self.schema) {
            causes.push(Cause::invalid(at("fieldPath"), &path.into(), "must be a valid path"));
        }
        self.expressions(lost, causes);
    }

    /// A rule as the real server's internal type shows it.
    fn refused(&self, key: &str, why: &str) -> Cause {
        let shown = json!({
            "Rule": self.text("rule"), "Message": self.text("message"), "MessageExpression": self.text("messageExpression"),
            "Reason": self.written.get("reason"), "FieldPath": self.text("fieldPath"),
            "OptionalOldSelf": self.written.get("optionalOldSelf"),
        });
        // Go writes these so.
        let shown = shown.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        Cause::bare(format!("{}.{key}", self.place), &format!("{shown}: {why}"))
    }

    fn expressions(&self, lost: Option<&str>, causes: &mut Vec<Cause>) {
        match self.compiled(self.text("rule"), "bool") {
            Ok(program) => self.transition(&program, lost, causes),
            Err(Fault::Source(why)) => causes.push(self.refused("rule", &format!("compilation failed: {why}"))),
            Err(Fault::Type) => causes.push(self.refused("rule", "cel expression must evaluate to a bool")),
        }
        let message = self.text("messageExpression");
        if message.is_empty() {
            return;
        }
        let field = "messageExpression";
        match self.compiled(message, "string") {
            Ok(_) => {}
            Err(Fault::Source(why)) => {
                causes.push(self.refused(field, &format!("messageExpression compilation failed: {why}")));
            }
            Err(Fault::Type) => causes.push(self.refused(field, "messageExpression must evaluate to a string")),
        }
    }

    fn compiled(&self, source: &str, wanted: &str) -> Result<Program, Fault> {
        let this = Ty::of(self.schema, self.root);
        let past = match self.written.get("optionalOldSelf") {
            Some(Value::Bool(true)) => Ty::Optional(Box::new(this.clone())),
            _ => this.clone(),
        };
        let program = Program::parse(source).map_err(Fault::Source)?;
        let ty = program.check(&[("self", this), ("oldSelf", past)]).map_err(Fault::Source)?;
        if ty == wanted || ty == "dyn" { Ok(program) } else { Err(Fault::Type) }
    }

    fn transition(&self, program: &Program, lost: Option<&str>, causes: &mut Vec<Cause>) {
        let uses = program.uses("oldSelf");
        if let Some(lost) = lost.filter(|_| uses) {
            let why = format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}");
            causes.push(Cause::invalid(format!("{}.rule", self.place), &self.text("rule").into(), why));
        }
        if !uses && let Some(given) = self.written.get("optionalOldSelf") {
            let why = "may not be set if oldSelf is not used in rule";
            causes.push(Cause::invalid(format!("{}.optionalOldSelf", self.place), given, why));
        }
    }
}

enum Fault {
    Source(String),
    Type,
}

/// Whether a path of fields, `.a.b` or `['a']`, is declared by the schema.
fn leads_somewhere(path: &str, schema: &Value) -> bool {
    let plain = path.replace("['", ".").replace("']", "");
    let Some(steps) = plain.strip_prefix('.') else {
        return false;
    };
    let below = |here: Option<&'_ Value>, step: &str| -> Option<Value> {
        let here = here?;
        let declared = json::at(here, &["properties", step]);
        declared.or_else(|| here.get("additionalProperties").filter(|v| v.is_object())).cloned()
    };
    let mut here = Some(schema.clone());
    for step in steps.split('.') {
        here = below(here.as_ref(), step);
    }
    here.is_some()
}
