//! Validates the rules of a schema: required fields, and whether they compile.

use serde_json::{Value, json};

use crate::json;
use crate::status::Cause;
use boathook_cel::{self as cel, Program, Ty};

const REASONS: &[&str] = &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// All problems of the rules of a schema and its parts.
pub(super) fn check(schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut expensive = Vec::new();
    walk(schema, path, &Around { root: true, lost: None, count: Some(1.0) }, &mut expensive, causes);
    if expensive.is_empty() {
        return;
    }
    let why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    causes.extend(expensive.into_iter().map(|place| Cause::forbidden(place, why)));
    let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    causes.push(Cause::forbidden(path, format!("{what} {TOO_EXPENSIVE}")));
}

/// The real server estimates costs in more detail. Only rules that certainly exceed its limit are refused here.
const LIMIT: f64 = 100.0 * 10_000_000.0;
const TOO_EXPENSIVE: &str = "exceeds budget by factor of more than 100x (try simplifying the rule, or adding maxItems, \
    maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// The position of a schema.
#[derive(Clone, Copy)]
struct Around<'p> {
    root: bool,
    /// The enclosing list or map whose parts have no old value.
    lost: Option<&'p str>,
    /// How many values of the schema an object may have. None if no enclosing schema limits it.
    count: Option<f64>,
}

fn walk(schema: &Value, path: &str, around: &Around<'_>, expensive: &mut Vec<String>, causes: &mut Vec<Cause>) {
    let Around { root, lost, count } = *around;
    for (index, written) in json::list(schema, &["x-kubernetes-validations"]).iter().enumerate() {
        let rule = Rule { written, schema, root, place: format!("{path}.x-kubernetes-validations[{index}]") };
        let program = rule.check(lost, causes);
        let count = count.unwrap_or_else(|| cel::fitting(schema));
        if program.is_some_and(|program| program.worst_cost(schema) * count > LIMIT) {
            let place = format!("{}.rule", rule.place);
            causes.push(Cause::forbidden(&place, format!("estimated rule cost {TOO_EXPENSIVE}")));
            expensive.push(place);
        }
    }
    let inner_count = count.zip(cel::bound(schema)).map(|(count, bound)| count * bound);
    let atomic = json::text(schema, &["x-kubernetes-map-type"]) == "atomic";
    let inner_lost = lost.or(atomic.then_some(path));
    for (key, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let around = Around { root: false, lost: inner_lost, count };
        walk(inner, &format!("{path}.properties[{key}]"), &around, expensive, causes);
    }
    if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
        let around = Around { root: false, lost: inner_lost, count: inner_count };
        walk(inner, &format!("{path}.additionalProperties"), &around, expensive, causes);
    }
    if let Some(inner) = schema.get("items").filter(|inner| inner.is_object()) {
        let keyed = json::text(schema, &["x-kubernetes-list-type"]) == "map";
        let around = Around { root: false, lost: lost.or((!keyed).then_some(path)), count: inner_count };
        walk(inner, &format!("{path}.items"), &around, expensive, causes);
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

    /// The compiled rule, if it is valid.
    fn check(&self, lost: Option<&str>, causes: &mut Vec<Cause>) -> Option<Program> {
        let at = |key: &str| format!("{}.{key}", self.place);
        if self.text("rule").trim().is_empty() {
            causes.push(Cause::required(at("rule"), "rule is not specified"));
            return None;
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
        self.expressions(lost, causes)
    }

    /// The error of a rule, which shows it as the real server's internal type.
    fn refused(&self, key: &str, why: &str) -> Cause {
        let shown = json!({
            "Rule": self.text("rule"), "Message": self.text("message"), "MessageExpression": self.text("messageExpression"),
            "Reason": self.written.get("reason"), "FieldPath": self.text("fieldPath"),
            "OptionalOldSelf": self.written.get("optionalOldSelf"),
        });
        // Go escapes these characters.
        let shown = shown.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
        Cause::bare(format!("{}.{key}", self.place), &format!("{shown}: {why}"))
    }

    fn expressions(&self, lost: Option<&str>, causes: &mut Vec<Cause>) -> Option<Program> {
        let rule = self.compiled(self.text("rule"), "bool");
        match &rule {
            Ok(program) => self.transition(program, lost, causes),
            Err(Fault::Source(why)) => causes.push(self.refused("rule", &format!("compilation failed: {why}"))),
            Err(Fault::Type) => causes.push(self.refused("rule", "cel expression must evaluate to a bool")),
        }
        let message = self.text("messageExpression");
        if message.is_empty() {
            return rule.ok();
        }
        let field = "messageExpression";
        match self.compiled(message, "string") {
            Ok(_) => {}
            Err(Fault::Source(why)) => {
                causes.push(self.refused(field, &format!("messageExpression compilation failed: {why}")));
            }
            Err(Fault::Type) => causes.push(self.refused(field, "messageExpression must evaluate to a string")),
        }
        rule.ok()
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

/// Whether the schema declares a path of fields, `.a.b` or `['a']`.
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
