//! Writes to the objects that it watches, twice over: for tests of whom its own writes wake.
//!
//! It never looks at an object but through its triggers.
//!
//! Both bindings follow the ConfigMaps labelled `meddle=true`. `hears` receives all changes,
//! `ignores` those that others made. Each event is a line `BINDING CHANGE NAME`. For each object
//! that `hears` receives as new, the hook does what the object's `data.deed` says: `patch`,
//! `apply`, `jq`, `replace` change the object, `nothing` is a patch that changes nothing, `create`
//! makes `NAME-made`, `delete` deletes the object, and `fail` fails the run.
//!
//! The component holds a slot of 256 bytes that begins with `# deeds of the guest meddle:`. A test puts words
//! `ASKED=DEED` there: this version then does DEED when it is asked for ASKED.

mod slot;

use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};

fn config() -> String {
    let binding = |name: &str, more: &str| {
        format!(
            "- {{name: {name}, apiVersion: v1, kind: ConfigMap, labelSelector: {{matchLabels: {{meddle: 'true'}}}}, \
             executeHookOnSynchronization: false, jqFilter: .data{more}}}"
        )
    };
    let (hears, ignores) = (binding("hears", ""), binding("ignores", ", ignoreOwnWrites: true"));
    let verbs = "[get, create, update, patch, delete]";
    format!(
        "configVersion: v1\nkubernetes:\n{hears}\n{ignores}\n\
         permissions: {{kubernetes: [{{apiGroups: [''], resources: [configmaps], verbs: {verbs}}}]}}\n"
    )
}

fn run(ctx: Context) -> Result<()> {
    for trigger in &ctx.triggers {
        let Cause::Event(event) = &trigger.cause else { continue };
        log::info!("{} {:?} {}", trigger.binding, event.change, event.target.name);
        let data: Value = event.filter_result()?;
        let asked = data.get("deed").and_then(Value::as_str).filter(|_| trigger.binding == "hears");
        let Some(asked) = asked.filter(|_| matches!(event.change, Change::Added)) else { continue };
        let instead = slot::instead(asked);
        if instead == "fail" {
            return Err(Error::retry("as it was asked to"));
        }
        if let Some(operation) = deed(&event.target, asked, &instead) {
            kube::batch([operation]).into_iter().find_map(Result::err).map_or(Ok(()), Err)?;
        }
    }
    Ok(())
}

fn deed(target: &ObjectRef, asked: &str, deed: &str) -> Option<Operation> {
    let data = json!({"deed": asked, "done": "yes"});
    let object = |name: &str, data: &Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": target.namespace, "name": name, "labels": {"meddle": "true"}}, "data": data,
        })
    };
    match deed {
        "patch" => Some(Operation::merge_patch(target.clone(), &json!({"data": data}))),
        "nothing" => Some(Operation::merge_patch(target.clone(), &json!({"data": {"deed": asked}}))),
        "apply" => Some(Operation::apply_object(&object(&target.name, &data))),
        "replace" => Some(Operation::update_object(&object(&target.name, &data))),
        "create" => Some(Operation::create_object(&object(&format!("{}-made", target.name), &json!({})))),
        "delete" => Some(Operation::delete(target.clone())),
        "jq" => Some(Operation::jq_patch(target.clone(), ".data.done = \"yes\"")),
        _ => None,
    }
}

boathook_sdk::hook!(config, run);
