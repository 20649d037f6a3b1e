//! Mutating webhooks: they are called one after the other, and each sees the changes of the previous ones. Some are
//! called a second time, and none a third time.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::hooks::Hook;
use super::review::{Outcome, ask};
use super::{Admission, matching, versions};
use crate::kinds::Resource;
use crate::patch;
use crate::status::Failure;
use crate::validate::typed;

/// The webhooks to call again, because another one changed the object afterwards.
#[derive(Default)]
struct Again {
    /// Called webhooks that want to be called again after a change.
    asked: HashSet<String>,
    due: HashSet<String>,
    needed: bool,
}

pub(super) async fn run(
    admission: &mut Admission<'_>,
    object: Option<Value>,
    old: Option<&Value>,
) -> Result<Option<Value>, Failure> {
    let hooks = std::mem::take(&mut admission.mutating);
    let mut again = Again::default();
    let mut object = object;
    for round in 0..2 {
        for hook in &hooks {
            if round == 1 && !again.due.contains(&hook.id) {
                continue;
            }
            let changed = one(admission, hook, &mut object, old).await?;
            let Some(changed) = changed else { continue };
            if changed {
                let asked = std::mem::take(&mut again.asked);
                again.due.extend(asked);
                again.needed = true;
            }
            if hook.text("reinvocationPolicy") == "IfNeeded" {
                again.asked.insert(hook.id.clone());
            }
        }
        if !again.needed {
            break;
        }
    }
    admission.mutating = hooks;
    Ok(object)
}

/// Calls one webhook. None if it is not called, otherwise whether it changed the object.
async fn one(
    admission: &mut Admission<'_>,
    hook: &Hook,
    object: &mut Option<Value>,
    old: Option<&Value>,
) -> Result<Option<bool>, Failure> {
    let Some(seen) = matching::invocation(admission, hook, object.as_ref(), old)? else {
        return Ok(None);
    };
    let attributes = &admission.attributes;
    let shown = versions::maybe(attributes, &seen, object.as_ref()).await?;
    let shown_old = versions::maybe(attributes, &seen, old).await?;
    if !matching::meets_conditions(attributes, hook, shown.as_ref(), shown_old.as_ref())? {
        return Ok(None);
    }
    let answer = ask(hook, attributes, &seen, shown.as_ref(), shown_old.as_ref(), true).await;
    admission.warn(answer.warnings);
    match answer.outcome {
        Outcome::Denied(failure) => Err(failure),
        Outcome::Failed(why) if hook.ignores_failure() => {
            tracing::debug!(webhook = hook.name, why, "a webhook failed and is ignored");
            Ok(Some(false))
        }
        Outcome::Failed(why) => {
            Err(Failure::internal_error(&format!("failed calling webhook \"{}\": {why}", hook.name)))
        }
        Outcome::Allowed(operations) if operations.is_empty() => Ok(Some(false)),
        Outcome::Allowed(operations) => {
            let Some(shown) = shown else {
                let why = format!(
                    "admission webhook \"{}\" attempted to modify the object, which is not supported for this operation",
                    hook.name
                );
                return Err(Failure::internal_error(&why));
            };
            let patched = patched(admission, &seen, &shown, operations)?;
            let changed = patched != shown;
            let attributes = &admission.attributes;
            *object = Some(versions::convert(attributes, &seen, attributes.resource, patched).await?);
            Ok(Some(changed))
        }
    }
}

/// The object with the operations applied, as an object of its kind.
fn patched(
    admission: &Admission<'_>,
    resource: &Arc<Resource>,
    shown: &Value,
    operations: Vec<Value>,
) -> Result<Value, Failure> {
    let mut object = shown.clone();
    patch::json::apply_each(&mut object, operations).map_err(|why| Failure::internal_error(&why))?;
    if !admission.attributes.is_versioned() {
        return Ok(object);
    }
    let mut stored = object;
    resource.to_storage(&mut stored);
    typed::check(resource, &mut stored).map_err(|why| Failure::internal_error(&why))?;
    crate::lifecycle::defaults(resource, &mut stored);
    resource.show_stored(&mut stored);
    versions::complete(&admission.attributes, resource, &mut stored);
    Ok(stored)
}
