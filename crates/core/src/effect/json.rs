//! An effect as JSON, for programs. Values of Secrets are hidden unless requested.

use serde_json::{Value, json};

use super::{Action, Change, Effect, Ending, State, redact};

/// The effect with its changes. `secrets`: show the values of Secrets.
pub fn json(effect: &Effect, secrets: bool) -> Value {
    let hide = !secrets && redact::applies(effect);
    let changes = effect.changes().into_iter().map(|change| if hide { redact::change(change) } else { change });
    let object = &effect.object;
    json!({
        "hook": effect.hook.as_str(),
        "run": effect.run.as_str(),
        "verb": effect.verb,
        "object": {
            "apiVersion": object.api_version,
            "kind": object.kind,
            "namespace": object.namespace,
            "name": object.name,
        },
        "subresource": effect.subresource,
        "dryRun": effect.dry_run,
        "action": effect.action().label(),
        "error": error(&effect.ending),
        "unknown": unknown(&effect.before).or_else(|| unknown(&effect.after)),
        "note": effect.note,
        "changes": changes.map(change).collect::<Vec<_>>(),
        "after": shown(effect, hide),
    })
}

fn error(ending: &Ending) -> Value {
    match ending {
        Ending::Done => Value::Null,
        Ending::Failed { reason, message } => json!({"reason": reason.label(), "message": message}),
        Ending::Interrupted => json!({"reason": "interrupted", "message": "the run ended before the answer was there"}),
    }
}

fn unknown(state: &State) -> Option<&str> {
    if let State::Unknown(why) = state { Some(why) } else { None }
}

/// The object after the write, if the changes do not show it.
fn shown(effect: &Effect, hide: bool) -> Option<Value> {
    let after = effect.after.object().filter(|_| effect.action() == Action::Unknown)?.clone();
    Some(if hide { redact::object(after) } else { after })
}

fn change(change: Change) -> Value {
    let action = match (&change.before, &change.after) {
        _ if change.reordered => "reorder",
        (None, _) => "add",
        (_, None) => "remove",
        _ => "replace",
    };
    json!({"path": change.path.to_string(), "action": action, "before": change.before, "after": change.after})
}
