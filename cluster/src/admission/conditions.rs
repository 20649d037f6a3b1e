//! Match conditions: expressions that decide whether a webhook receives a request. There is no authorizer, so
//! expressions that use one fail.

use serde_json::Value;

use super::{Attributes, review};
use crate::json;
use boathook_cel::{self as cel, Budget, Program, Scope, to_cel};

/// Whether all conditions hold. A condition that is false decides, even if others fail.
///
/// # Errors
/// The texts of the conditions that could not be evaluated.
pub(super) fn hold(
    written: &[Value],
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<bool, String> {
    let mut budget = Budget::default();
    let mut errors = Vec::new();
    let any = |value: Option<&Value>| value.map_or(cel::Value::Null, |value| to_cel(value, &Value::Null));
    let empty = Scope::default();
    let with_object = empty.with("object", any(object));
    let with_old = with_object.with("oldObject", any(old));
    let scope = with_old.with("request", any(Some(&review::request(attributes, attributes.resource))));
    for condition in written {
        let expression = json::text(condition, &["expression"]);
        match Program::parse(expression).map(|program| program.run(&scope, &mut budget)) {
            Ok(Ok(cel::Value::Bool(false))) => return Ok(false),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => errors.push(format!("expression '{expression}' resulted in error: {error}")),
            Err(why) => errors.push(format!("compilation error: {why}")),
        }
    }
    match errors.as_slice() {
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
