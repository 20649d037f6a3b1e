//! What an answer does to objects, as effects. They are reported like writes, with the verbs `mutate` and `convert`.
//! Objects that cannot be compared are reported as unknown.

use boathook_core::{
    effect::{Effect, Ending, State},
    model::{HookName, Mutation, ObjectRef, RunId},
};
use serde::Deserialize;
use serde_json::Value;

/// The maximum number of objects of a conversion that are reported.
const SHOWN: usize = 3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    object: Option<Value>,
    sub_resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

/// The effect of a mutating hook on the object of an AdmissionRequest. `None` if the request has no object.
pub(super) fn mutation(
    (hook, run): (&HookName, &RunId),
    request: &str,
    mutation: &Mutation,
    dry_run: bool,
) -> Option<Effect> {
    let Request { object, sub_resource, namespace, name } = serde_json::from_str(request).ok()?;
    let before = object?;
    let mut object = ObjectRef::of(&before);
    object.namespace = object.namespace.or(namespace.filter(|text| !text.is_empty()));
    if object.name.is_empty() {
        // The object has a `generateName`. The API server generates the name later.
        object.name = name.filter(|text| !text.is_empty()).unwrap_or_else(|| "?".to_owned());
    }
    let after = mutated(&before, mutation).map_or_else(State::Unknown, State::Present);
    let subresource = sub_resource.filter(|text| !text.is_empty());
    Some(Effect { subresource, dry_run, ..effect((hook, run), "mutate", object, State::Present(before), after) })
}

/// The effects on the first objects of a conversion.
pub(super) fn conversions(of: (&HookName, &RunId), before: &[String], after: &[String]) -> Vec<Effect> {
    let pairs = before.iter().zip(after).take(SHOWN);
    let effects = pairs.map(|(before, after)| {
        let (before, after) = (State::read(before), State::read(after));
        effect(of, "convert", ObjectRef::of(before.object().unwrap_or(&Value::Null)), before, after)
    });
    effects.collect()
}

fn effect(
    (hook, run): (&HookName, &RunId),
    verb: &'static str,
    object: ObjectRef,
    before: State,
    after: State,
) -> Effect {
    Effect {
        hook: hook.clone(),
        run: run.clone(),
        verb,
        object,
        subresource: None,
        before,
        after,
        ending: Ending::Done,
        note: None,
        dry_run: false,
    }
}

fn mutated(object: &Value, mutation: &Mutation) -> Result<Value, String> {
    match mutation {
        Mutation::Unchanged => Ok(object.clone()),
        Mutation::Object(text) => serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}")),
        Mutation::JsonPatch(text) => {
            let patch: json_patch::Patch =
                serde_json::from_str(text).map_err(|error| format!("the patch cannot be read: {error}"))?;
            let mut object = object.clone();
            json_patch::patch(&mut object, &patch).map_err(|error| format!("the patch does not fit: {error}"))?;
            Ok(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::effect::Action;
    use serde_json::json;

    use super::*;

    fn effect_of(object: Value, mutation: &Mutation) -> Option<Effect> {
        let request = json!({"namespace": "web", "name": "", "subResource": "", "object": object}).to_string();
        let (hook, run) = (HookName::new("h").unwrap(), RunId::new("p", 1));
        super::mutation((&hook, &run), &request, mutation, true)
    }

    #[test]
    fn a_patch_is_reported_as_what_it_does() {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}});
        let patch = json!([{"op": "add", "path": "/metadata/labels", "value": {"team": "shop"}}]).to_string();
        let effect = effect_of(pod.clone(), &Mutation::JsonPatch(patch)).unwrap();
        assert_eq!(
            (effect.verb, effect.object.to_string(), effect.dry_run),
            ("mutate", "v1 Pod web/?".to_owned(), true)
        );
        let paths: Vec<_> = effect.changes().iter().map(|change| change.path.to_string()).collect();
        assert_eq!(paths, ["metadata.labels"]);
        let misfit = json!([{"op": "remove", "path": "/spec"}]).to_string();
        assert_eq!(effect_of(pod, &Mutation::JsonPatch(misfit)).unwrap().action(), Action::Unknown);
        assert!(effect_of(Value::Null, &Mutation::Object("{}".to_owned())).is_none(), "there is nothing to change");
    }
}
