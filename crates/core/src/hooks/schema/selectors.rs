//! The schema of selectors by name, label and field.

use serde_json::{Value, json};

use super::parts::{list, matching, object, one_of, some_text, text};

const KEY: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
const VALUE: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";

pub(super) fn names() -> Value {
    let name = matching("^[^/%]+$").with("maxLength", 253).with("not", json!({ "enum": [".", ".."] }));
    object("Chooses by name.")
        .required("matchNames", list(name).about("Any of these names; an empty list chooses all."))
        .build()
}

pub(super) fn labels() -> Value {
    let labels = json!({
        "description": "All of these labels with these values.",
        "type": "object",
        "propertyNames": { "pattern": KEY, "maxLength": 317 },
        "additionalProperties": { "type": "string", "pattern": VALUE },
    });
    let expression = object("One condition.")
        .required("key", matching(KEY).with("maxLength", 317).about("The label."))
        .required("operator", one_of(&["In", "NotIn", "Exists", "DoesNotExist"]))
        .key("values", list(matching(VALUE)).about("For In and NotIn only."))
        .with("if", json!({ "properties": { "operator": { "enum": ["In", "NotIn"] } } }))
        .with("then", json!({ "required": ["values"], "properties": { "values": { "minItems": 1 } } }))
        .with("else", json!({ "properties": { "values": { "maxItems": 0 } } }))
        .build();
    object("Chooses by label, as in Kubernetes. All conditions must hold.")
        .key("matchLabels", labels)
        .key("matchExpressions", list(expression).some().about("All of these conditions."))
        .at_least_keys(1)
        .build()
}

pub(super) fn fields() -> Value {
    let expression = object("One condition.")
        .required(
            "field",
            some_text().with("examples", ["status.phase"]).about("A field that the API server can select by."),
        )
        .required("operator", one_of(&["=", "==", "Equals", "!=", "NotEquals"]))
        .required("value", text())
        .build();
    object("Chooses by field. All conditions must hold.")
        .required("matchExpressions", list(expression).some().about("All of these conditions."))
        .build()
}
