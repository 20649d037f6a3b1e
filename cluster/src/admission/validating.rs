//! Validating webhooks: all are called at once, and the first rejection counts.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::Value;

use super::review::{Outcome, ask};
use super::{Admission, matching, versions};
use crate::status::Failure;

pub(super) async fn run(
    admission: &mut Admission<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<(), Failure> {
    let attributes = &admission.attributes;
    let mut relevant = Vec::new();
    for hook in &admission.validating {
        let Some(seen) = matching::invocation(admission, hook, object, old)? else {
            continue;
        };
        let shown = versions::maybe(attributes, &seen, object).await?;
        let shown_old = versions::maybe(attributes, &seen, old).await?;
        if matching::meets_conditions(attributes, hook, shown.as_ref(), shown_old.as_ref())? {
            relevant.push((hook, seen, shown, shown_old));
        }
    }
    let asked = relevant.iter().map(|(hook, seen, object, old)| {
        let answer = ask(hook, attributes, seen, object.as_ref(), old.as_ref(), false);
        async move { (hook, answer.await) }
    });
    let mut refusal = None;
    let mut warnings = Vec::new();
    // In the order in which they respond.
    let mut answers: FuturesUnordered<_> = asked.collect();
    while let Some((hook, answer)) = answers.next().await {
        warnings.extend(answer.warnings);
        let failure = match answer.outcome {
            Outcome::Allowed(_) => continue,
            Outcome::Denied(failure) => failure,
            Outcome::Failed(why) if hook.ignores_failure() => {
                tracing::debug!(webhook = hook.name, why, "a webhook failed and is ignored");
                continue;
            }
            Outcome::Failed(why) => {
                Failure::internal_error(&format!("failed calling webhook \"{}\": {why}", hook.name))
            }
        };
        refusal.get_or_insert(failure);
    }
    drop(answers);
    drop(relevant);
    admission.warn(warnings);
    refusal.map_or(Ok(()), Err)
}
