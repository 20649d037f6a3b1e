//! The JSON Schema (draft 2020-12) of scenario files. The reader does not use it; a test compares the two.

use serde_json::{Map, Value, json};

use super::{
    document::{
        ACTIONS, MAX_TIMES,
        ask::OPERATIONS,
        expect::{FAILURES, VERBS},
    },
    faults,
};

/// The schema that `boathook test --schema` prints.
pub fn schema() -> Value {
    let mut schema = mapping(
        &["name", "steps"],
        json!({
            "name": text("A sentence that says what is shown."),
            "given": list("object", "Objects that are created, in order, before the hook is loaded."),
            "faults": list("fault", "Answers that the operator gets in place of the API server's."),
            "steps": list("step", "Done in order after the hook has synchronised."),
        }),
    );
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        schema.insert("title".to_owned(), "Scenario of a Boathook hook".into());
        let definitions = json!({
            "object": object(), "step": step(), "expect": expect(), "line": line(), "write": write(),
            "metric": metric(), "fault": fault(), "failures": failures(), "duration": duration(),
            "admission": admission(), "conversion": conversion(),
            "reviewed": reviewed(), "converted": converted(), "part": part(),
        });
        schema.insert("$defs".to_owned(), definitions);
    }
    schema
}

fn mapping(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "description": description })
}

fn word(words: &[&str], description: &str) -> Value {
    json!({ "enum": words, "description": description })
}

fn reference(name: &str, description: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}"), "description": description })
}

fn list(of: &str, description: &str) -> Value {
    json!({ "type": "array", "items": { "$ref": format!("#/$defs/{of}") }, "description": description })
}

fn object() -> Value {
    let named = json!({ "type": "object", "required": ["name"], "properties": { "name": text("Its name.") } });
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "metadata"],
        "properties": { "apiVersion": text("v1, apps/v1, …"), "kind": text("Secret, Node, …"), "metadata": named },
    })
}

fn step() -> Value {
    let about = |action: &str| match action {
        "create" => reference("object", "Creates an object that must not be there."),
        "apply" => reference("object", "Creates an object, or merges it into the one that is there."),
        "patch" => reference("object", "Merges into an object that must be there (JSON merge patch)."),
        "delete" => reference("object", "Asks for the deletion of an object that must be there."),
        "tick" => text("Has the hook's schedules of this name strike. With such a step, no other ticks come."),
        "pass" => {
            reference("duration", "Lets so much time pass at once, for schedules and queues. No other ticks come then.")
        }
        "wait" => reference("duration", "Waits so long, in real time."),
        "fault" => reference("fault", "The operator's next calls of this sort get this answer."),
        "restart" => word(&["operator"], "Ends the operator in good order and starts it again; its log starts again."),
        "admission" => reference("admission", "Asks the hook about a request, as the API server would."),
        "conversion" => reference("conversion", "Asks the hook for objects in another version."),
        _ => reference("expect", "What must hold, all of it at one time."),
    };
    let properties: Map<String, Value> = ACTIONS.iter().map(|action| ((*action).to_owned(), about(action))).collect();
    let mut step = mapping(&[], properties.into());
    if let Value::Object(step) = &mut step {
        step.insert("minProperties".to_owned(), 1.into());
        step.insert("maxProperties".to_owned(), 1.into());
    }
    step
}

fn expect() -> Value {
    let mut expect = mapping(
        &[],
        json!({
            "present": list("object", "Objects that are there with at least these fields; null is for one that is not."),
            "absent": list("object", "Objects that are not there."),
            "logged": list("line", "Lines of the hook's log since the operator started."),
            "writes": list("write", "Writes of the hook since the operator started, in this order, others between them."),
            "onlyWrites": list("write", "The same, and there are no others."),
            "metrics": list("metric", "Series that the hook has reported."),
            "failures": list("failures", "Failed runs of the hook since the operator started."),
            "admission": reference("reviewed", "The answer to the last admission."),
            "conversion": reference("converted", "The answer to the last conversion."),
            "within": reference("duration", "It holds within this time, 10s if it is not said."),
        }),
    );
    if let Value::Object(expect) = &mut expect {
        let some = |key: &str| json!({ "required": [key], "properties": { key: { "minItems": 1 } } });
        let mut any: Vec<Value> =
            ["present", "absent", "logged", "writes", "metrics", "failures"].iter().map(|key| some(key)).collect();
        any.extend(["onlyWrites", "admission", "conversion"].map(|key| json!({ "required": [key] })));
        expect.insert("anyOf".to_owned(), any.into());
    }
    expect
}

fn at_least() -> Value {
    json!({ "type": "integer", "minimum": 0, "description": "There are so many, or more." })
}

fn times() -> Value {
    json!({ "type": "integer", "minimum": 0, "description": "There are just so many." })
}

fn line() -> Value {
    let keys = json!({ "text": text("The line contains it."), "atLeast": at_least(), "times": times() });
    let mut counted = mapping(&["text"], keys);
    if let Value::Object(counted) = &mut counted {
        counted.insert("oneOf".to_owned(), json!([{ "required": ["atLeast"] }, { "required": ["times"] }]));
    }
    json!({ "anyOf": [{ "type": "string", "description": "A line contains it." }, counted] })
}

fn write() -> Value {
    mapping(
        &["verb", "object"],
        json!({
            "verb": word(&VERBS, "What was asked for."),
            "object": text("`Secret web/name`, with or without its apiVersion before it."),
            "subresource": text("status, scale, eviction, …"),
            "outcome": text("ok, which is the default, or why it was refused: forbidden-by-grant, conflict, …"),
        }),
    )
}

fn metric() -> Value {
    mapping(
        &["name", "value"],
        json!({
            "name": text("As it is shown; of a histogram with _sum, _count or _bucket."),
            "labels": { "type": "object", "additionalProperties": { "type": "string" }, "description": "At least these." },
            "value": { "type": "number", "description": "Its value." },
        }),
    )
}

fn fault() -> Value {
    mapping(
        &["verb", "object", "answer"],
        json!({
            "verb": word(&faults::VERBS, "What is asked for."),
            "object": reference("object", "Of which object."),
            "answer": { "enum": faults::ANSWERS.map(|(code, _)| code), "description": "The HTTP status of the answer." },
            "times": {
                "type": "integer", "minimum": 1, "maximum": MAX_TIMES,
                "description": "So many calls get it, 1 if it is not said.",
            },
        }),
    )
}

fn failures() -> Value {
    let mut failures = mapping(
        &["kind"],
        json!({
            "kind": word(&FAILURES, "What kind of failure."),
            "message": text("The message contains it."),
            "atLeast": at_least(),
            "times": times(),
        }),
    );
    if let Value::Object(failures) = &mut failures {
        failures.insert("not".to_owned(), json!({ "required": ["atLeast", "times"] }));
    }
    failures
}

fn part() -> Value {
    json!({ "type": "object", "description": "Has at least these fields; null is for one that is not there." })
}

fn flag(description: &str) -> Value {
    json!({ "type": "boolean", "description": description })
}

fn texts(description: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "description": description })
}

fn admission() -> Value {
    let mut admission = mapping(
        &["operation"],
        json!({
            "operation": word(&OPERATIONS, "What is to be done."),
            "object": reference("object", "The object as it is to be."),
            "oldObject": reference("object", "The object as it is."),
            "subresource": text("status, scale, …"),
            "user": text("Who asks; kubernetes-admin if it is not said."),
            "groups": texts("The groups of the user."),
            "dryRun": flag("Nothing will be stored. Default false."),
            "binding": text("Only this binding is asked. Without it, every one whose rules match, mutating ones first."),
        }),
    );
    let shape = |operations: &[&str], required: &[&str], without: Option<&str>| {
        let mut then = json!({ "required": required });
        if let (Some(key), Value::Object(then)) = (without, &mut then) {
            then.insert("not".to_owned(), json!({ "required": [key] }));
        }
        json!({ "if": { "properties": { "operation": { "enum": operations } } }, "then": then })
    };
    if let Value::Object(admission) = &mut admission {
        let all = [
            shape(&["CREATE", "CONNECT"], &["object"], Some("oldObject")),
            shape(&["UPDATE"], &["object", "oldObject"], None),
            shape(&["DELETE"], &["oldObject"], Some("object")),
        ];
        admission.insert("allOf".to_owned(), json!(all));
    }
    admission
}

fn conversion() -> Value {
    let mut objects = list("object", "In any versions that the hook converts. At least one.");
    if let Value::Object(objects) = &mut objects {
        objects.insert("minItems".to_owned(), 1.into());
    }
    mapping(
        &["to", "objects"],
        json!({
            "to": text("v1, or with its group before it: stable.example.com/v1."),
            "objects": objects,
            "crd": text("The definition's name, where the hook converts more than one kind of a group."),
        }),
    )
}

fn reviewed() -> Value {
    let mut reviewed = mapping(
        &[],
        json!({
            "allowed": flag("Whether the request goes on."),
            "message": text("The denial's message contains it."),
            "code": { "type": "integer", "minimum": 0, "description": "The denial's HTTP status; 403 where it says none." },
            "reason": text("The denial's reason; Forbidden where it says none."),
            "warnings": texts("There are as many, in this order, each containing its text."),
            "audit": {
                "type": "object", "additionalProperties": { "type": "string" },
                "description": "Audit annotations: at least these.",
            },
            "object": reference("part", "The object after all changes."),
            "failed": text("The hook gives no answer, for a reason that contains this."),
        }),
    );
    if let Value::Object(reviewed) = &mut reviewed {
        reviewed.insert("minProperties".to_owned(), 1.into());
    }
    reviewed
}

fn converted() -> Value {
    let mut converted = mapping(
        &[],
        json!({
            "objects": list("part", "The objects in their new version, in order: as many as there are."),
            "failed": text("They can't be converted, for a reason that contains this."),
        }),
    );
    if let Value::Object(converted) = &mut converted {
        converted.insert("oneOf".to_owned(), json!([{ "required": ["objects"] }, { "required": ["failed"] }]));
    }
    converted
}

fn duration() -> Value {
    let pattern = "^\\+?(0|(([0-9]+\\.?[0-9]*|\\.[0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$";
    json!({ "type": "string", "pattern": pattern, "examples": ["500ms", "15s"], "description": "Go's form. At most 10m; of pass, a year." })
}
