//! One review, from the path to the hook's decision.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::model::{AdmissionBinding, AdmissionKind, Mutation, Review, Reviewed};
use boathook_sandbox::ReviewRequest;
use tracing::warn;

use super::{
    super::{history::Begun, hooks::Hook},
    Answers, effects,
    response_log::{Asked, Entry, Question},
    scope,
};
use crate::webhook::{AdmissionRequest, Unanswered};

impl Answers {
    /// Finds the hook and the binding of a path.
    pub(super) fn bound(
        &self,
        kind: AdmissionKind,
        hook: &str,
        binding: &str,
    ) -> Result<(Arc<Hook>, AdmissionBinding), Unanswered> {
        let found = self.hook(hook)?;
        let of_path = |known: &&AdmissionBinding| known.kind == kind && known.name.as_str() == binding;
        let binding =
            found.spec.admission.iter().find(of_path).cloned().ok_or_else(|| {
                Unanswered::Unknown(format!("hook {hook} has no {} binding {binding}", kind.as_str()))
            })?;
        Ok((found, binding))
    }

    /// A hook does not answer a request that the API server would not send to its binding.
    pub(super) fn in_scope(
        &self,
        hook: &Hook,
        binding: &AdmissionBinding,
        request: &AdmissionRequest,
    ) -> Result<(), Unanswered> {
        scope::check(binding, &self.parts.left_out, &request.json).map_err(|why| {
            let (hook, binding) = (&hook.spec.name, &binding.name);
            warn!(%hook, %binding, why, "a webhook's question is out of its scope: the hook is not asked");
            Unanswered::OutOfScope(format!("hook {hook}, binding {binding}: the request {why}"))
        })
    }

    /// Gets the hook's decision.
    pub(super) async fn decided(
        &self,
        hook: &Arc<Hook>,
        binding: &AdmissionBinding,
        request: AdmissionRequest,
        patience: Duration,
    ) -> Result<Reviewed, Unanswered> {
        let (name, run, kind) = (&hook.spec.name, self.next_run(), binding.kind.as_str());
        let asked = Asked { hook: name, run: &run, binding: &binding.name, kind, started: Instant::now() };
        let question = request.json.clone();
        let ready = self.listed(name, &binding.name, &binding.include_snapshots_from, patience).await;
        ready.inspect_err(|error| self.not_ready(&asked, error))?;
        let patience = patience.saturating_sub(asked.started.elapsed());
        let _running = self.parts.metrics.answers().begun(name);
        let begun = Begun::answer(&run, name, &binding.name, word(binding.kind));
        let dry_run = request.dry_run || self.parts.plan;
        let review = Review { kind: binding.kind, binding: binding.name.clone(), request: request.json, dry_run };
        let caller = hook.caller(run.clone(), dry_run);
        let (snapshots, limits) = (binding.include_snapshots_from.clone(), hook.spec.limits);
        let request = ReviewRequest { caller, review, snapshots, limits, patience };
        let call = |request, host| self.parts.sandbox.review(&hook.component, request, host);
        let report = self.asked(hook, &binding.name, request, patience, call).await;
        let report = report.inspect_err(|error| self.late(&asked, error))?;
        let outcome = match &report.outcome {
            Ok(Reviewed { verdict, .. }) if verdict.denied.is_some() => "denied",
            Ok(Reviewed { mutation: Mutation::Unchanged, .. }) => "allowed",
            Ok(_) => "mutated",
            Err(_) => "failed",
        };
        let denied = report.outcome.as_ref().ok().and_then(|reviewed| reviewed.verdict.denied.as_ref());
        let refusal = denied.map(|denial| denial.message.as_str());
        let decided = report.outcome.as_ref().ok();
        if let Some(Reviewed { mutation, .. }) = decided.filter(|_| outcome == "mutated") {
            self.tell(|| effects::mutation((name, &run), &question, mutation, dry_run));
        }
        let warnings = decided.map(|reviewed| reviewed.verdict.warnings.as_slice()).unwrap_or_default();
        let asked_for = Question::Review { request: &question, dry_run };
        self.ended(&asked, begun, &report, Entry { outcome, refusal, question: asked_for, warnings });
        let mut reviewed = report
            .outcome
            .map_err(|failure| Unanswered::Failed(format!("hook {name}, binding {}: {failure}", binding.name)))?;
        annotate(&mut reviewed, &binding.audit_annotations);
        Ok(reviewed)
    }
}

/// As `type` in shell-operator's contexts.
fn word(kind: AdmissionKind) -> &'static str {
    match kind {
        AdmissionKind::Validating => "Validating",
        AdmissionKind::Mutating => "Mutating",
    }
}

/// Adds the document's annotations. Those of the answer take precedence.
fn annotate(reviewed: &mut Reviewed, document: &[(String, String)]) {
    let own = &mut reviewed.verdict.audit_annotations;
    for annotation in document {
        if !own.iter().any(|(key, _)| *key == annotation.0) {
            own.push(annotation.clone());
        }
    }
}
