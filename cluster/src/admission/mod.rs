//! Admission by webhooks: which ones are called for a request, in which order, and the result. Webhooks are never
//! called for the configurations of webhooks.

mod matching;
mod review;

use std::collections::HashSet;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::Value;

use self::review::{Outcome, ask};
use crate::auth::User;
use crate::kinds::{Registry, Resource, Sub};
use crate::selectors::LabelSelector;
use crate::shared::Shared;
use crate::status::Failure;
use crate::validate::typed;
use crate::{json, patch};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The attributes of a request, as webhooks receive them.
pub(crate) struct Attributes<'a> {
    pub shared: &'a Shared,
    pub resource: &'a Arc<Resource>,
    pub sub: Option<Sub>,
    pub operation: Operation,
    pub namespace: String,
    /// Empty until a name is generated.
    pub name: String,
    pub user: &'a User,
    pub dry_run: bool,
    /// `CreateOptions` and similar.
    pub options: Value,
}

impl Attributes<'_> {
    pub(crate) fn sub_name(&self) -> &'static str {
        self.sub.map_or("", Sub::name)
    }

    /// Group, version and kind of the request's body.
    fn kind<'r>(&self, resource: &'r Resource) -> (&'r str, &'r str, &'r str) {
        match self.sub {
            Some(Sub::Scale) => ("autoscaling", "v1", "Scale"),
            Some(Sub::Eviction) => ("policy", "v1", "Eviction"),
            Some(Sub::Binding) => ("", "v1", "Binding"),
            Some(Sub::Token) => ("authentication.k8s.io", "v1", "TokenRequest"),
            _ => (&resource.group, &resource.version, &resource.kind),
        }
    }

    /// Whether the body is an object of the resource, and therefore has its versions.
    fn is_versioned(&self) -> bool {
        !matches!(self.sub, Some(Sub::Scale | Sub::Eviction | Sub::Binding | Sub::Token))
    }
}

/// The webhooks to call for a request, and their warnings so far.
pub(crate) struct Admission<'a> {
    pub attributes: Attributes<'a>,
    registry: Arc<Registry>,
    mutating: Vec<Hook>,
    validating: Vec<Hook>,
    warnings: Vec<String>,
}

impl<'a> Admission<'a> {
    pub(crate) fn new(attributes: Attributes<'a>) -> Self {
        let exempt = attributes.resource.group == "admissionregistration.k8s.io";
        let hooks = |storage| if exempt { Vec::new() } else { all(attributes.shared, storage) };
        let (mutating, validating) = (hooks(MUTATING), hooks(VALIDATING));
        Self { registry: attributes.shared.registry(), mutating, validating, attributes, warnings: Vec::new() }
    }

    /// Whether there is a webhook that may change the object.
    pub(crate) fn mutates(&self) -> bool {
        !self.mutating.is_empty()
    }

    /// Whether there is a webhook that may reject the object.
    pub(crate) fn validates(&self) -> bool {
        !self.validating.is_empty()
    }

    /// The warnings of the webhooks, without duplicates.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Sets a name that was generated after the mutating webhooks.
    pub(crate) fn name_if_none(&mut self, name: &str) {
        if self.attributes.name.is_empty() {
            name.clone_into(&mut self.attributes.name);
        }
    }

    fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// The object after all mutating webhooks. Objects are in the version of the request.
    pub(crate) async fn mutate(
        &mut self,
        object: Option<Value>,
        old: Option<&Value>,
    ) -> Result<Option<Value>, Failure> {
        let result = run_mutating(self, object, old).await;
        result.map_err(|failure| self.complete(failure))
    }

    /// Calls all validating webhooks at once. Objects are in the version of the request.
    pub(crate) async fn validate(&mut self, object: Option<&Value>, old: Option<&Value>) -> Result<(), Failure> {
        let result = run_validating(self, object, old).await;
        result.map_err(|failure| self.complete(failure))
    }

    /// A rejection also contains the warnings.
    fn complete(&self, failure: Failure) -> Failure {
        failure.after_warnings(&self.warnings)
    }
}

const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

struct Hook {
    /// Unique among the webhooks of one kind.
    pub id: String,
    pub name: String,
    /// The webhook as it is written, with defaults.
    pub written: Value,
    pub namespaces: LabelSelector,
    pub objects: LabelSelector,
}

impl Hook {
    fn of(configuration: &str, index: usize, written: &Value) -> Self {
        let selector = |key: &str| written.get(key).map(LabelSelector::of).unwrap_or_default();
        Self {
            id: format!("{configuration}/{index}"),
            name: json::text(written, &["name"]).to_owned(),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            written: written.clone(),
        }
    }

    fn text(&self, key: &str) -> &str {
        json::text(&self.written, &[key])
    }

    /// Whether a request continues when the webhook cannot be called.
    fn ignores_failure(&self) -> bool {
        self.text("failurePolicy") == "Ignore"
    }
}

/// Configurations are ordered by name, which is the order of the store.
fn all(shared: &Shared, storage: &str) -> Vec<Hook> {
    let mut hooks = Vec::new();
    for configuration in shared.store.all(storage, "") {
        let value = configuration.value();
        let written = json::list(&value, &["webhooks"]).iter().enumerate();
        hooks.extend(written.map(|(index, hook)| Hook::of(configuration.name(), index, hook)));
    }
    hooks
}

async fn run_validating(
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
        let shown = review::maybe(attributes, &seen, object).await?;
        let shown_old = review::maybe(attributes, &seen, old).await?;
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

/// The webhooks to call again, because another one changed the object afterwards.
#[derive(Default)]
struct Again {
    /// Called webhooks that want to be called again after a change.
    asked: HashSet<String>,
    due: HashSet<String>,
    needed: bool,
}

async fn run_mutating(
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
    let shown = review::maybe(attributes, &seen, object.as_ref()).await?;
    let shown_old = review::maybe(attributes, &seen, old).await?;
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
            *object = Some(review::convert(attributes, &seen, attributes.resource, patched).await?);
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
    review::complete(&admission.attributes, resource, &mut stored);
    Ok(stored)
}
