//! A lower bound of what a rule costs on the largest object that its schema allows.
//!
//! It is never too high: the real API server counts more, and rejects everything that is rejected for this cost.

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use serde_json::Value as Json;

use super::values::escape;
use crate::{eval::two_variables, source};

/// The bytes of the largest request.
const REQUEST: f64 = 3_145_728.0;

/// Variables, with the schemas of their values.
type Known<'s> = Vec<(String, &'s Json)>;

/// The least that the expression may cost on its worst object.
pub(super) fn worst(expression: &IdedExpr, known: &mut Known<'_>) -> f64 {
    let (range, variable, parts): (&IdedExpr, &str, Vec<&IdedExpr>) = match &expression.expr {
        Expr::Comprehension(loop_) => (&loop_.iter_range, &loop_.iter_var, vec![&loop_.loop_step]),
        Expr::Call(call) => match two_variables(call) {
            Some(parts) => (parts.range, parts.second, parts.rest.iter().collect()),
            None => return 1.0 + sum(source::parts(expression), known),
        },
        _ => return 1.0 + sum(source::parts(expression), known),
    };
    let around = worst(range, known);
    let schema = schema_of(range, known);
    let count = schema.map_or(1.0, most);
    known.push((variable.to_owned(), schema.and_then(|schema| schema.get("items")).unwrap_or(&Json::Null)));
    let inner = sum(parts, known);
    known.pop();
    around + count * inner.max(1.0)
}

fn sum(parts: Vec<&IdedExpr>, known: &mut Known<'_>) -> f64 {
    parts.into_iter().map(|part| worst(part, known)).sum()
}

/// The schema of an expression's value, if the expression only follows fields and items.
fn schema_of<'s>(expression: &IdedExpr, known: &Known<'s>) -> Option<&'s Json> {
    match &expression.expr {
        Expr::Ident(name) => known.iter().rev().find(|(variable, _)| variable == name).map(|(_, schema)| *schema),
        Expr::Select(select) => {
            let properties = schema_of(&select.operand, known)?.get("properties")?.as_object()?;
            properties.iter().find(|(key, _)| escape(key) == select.field).map(|(_, schema)| schema)
        }
        Expr::Call(CallExpr { func_name, args, .. }) if func_name == "_[_]" => {
            let schema = schema_of(args.first()?, known)?;
            schema.get("items").or_else(|| schema.get("additionalProperties"))
        }
        _ => None,
    }
}

/// How many items or entries a value of the schema may have, if the schema limits them.
pub fn bound(schema: &Json) -> Option<f64> {
    let key = if schema["type"].as_str().unwrap_or_default() == "array" { "maxItems" } else { "maxProperties" };
    schema.get(key).and_then(Json::as_f64)
}

/// How many values of the schema fit into a request.
pub fn fitting(schema: &Json) -> f64 {
    REQUEST / (smallest(schema) + 1.0)
}

/// How many items or entries a value of the schema may have.
fn most(schema: &Json) -> f64 {
    let inner = match schema["type"].as_str().unwrap_or_default() {
        "array" => schema.get("items"),
        "object" => schema.get("additionalProperties").filter(|inner| inner.is_object()),
        _ => None,
    };
    let unbounded = || inner.map_or(1.0, fitting);
    bound(schema).unwrap_or_else(unbounded)
}

/// The bytes of the smallest value of a schema.
fn smallest(schema: &Json) -> f64 {
    match schema["type"].as_str().unwrap_or_default() {
        "object" => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
            let sizes =
                required.map(|key| key.len() as f64 + 4.0 + schema["properties"].get(key).map_or(1.0, smallest));
            2.0 + sizes.sum::<f64>()
        }
        "array" => 2.0,
        "string" => 2.0 + schema["minLength"].as_i64().unwrap_or_default() as f64,
        "boolean" => 4.0,
        _ => 1.0,
    }
}
