//! Answers the API server's requests with hooks: which hook answers, within which time, and how the answer is reported.
//!
//! An answer waits in no queue. A denial is always the hook's own. If anything else goes wrong there is no answer, and
//! the webhook's `failurePolicy` decides.
//!
//! The grants of a hook limit its writes during a review, as in a run. In a dry run they are dry runs, too. With
//! `sideEffects: None`, the hook's author has promised that there are none.

mod chains;
mod convert;
mod effects;
mod response_log;
mod review;
mod scope;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use boathook_core::{
    effect::{Effect, Sink},
    model::{AdmissionKind, BindingName, HookName, Reviewed, RunId},
};
use boathook_sandbox::{Host, RunReport, Sandbox};
use futures::{FutureExt as _, future::BoxFuture};
use tokio::time::timeout;
use tracing::warn;

use super::{health::Health, history::History, hook_registry::HookRegistry, hooks::Hook, host::Operator};
use crate::{
    record::{Asked, Given, Recorder, secrets::bindings_of_secrets},
    telemetry::Metrics,
    webhook::{AdmissionRequest, Answerer, ConversionRequest, Converted, Unanswered},
};
use chains::Chains;

pub(super) struct Parts {
    pub hook_registry: Arc<HookRegistry>,
    pub sandbox: Arc<Sandbox>,
    pub operator: Arc<Operator>,
    pub health: Arc<Health>,
    pub metrics: Arc<Metrics>,
    pub history: Arc<History>,
    pub recorder: Option<Arc<Recorder>>,
    /// Whether writes are dry runs.
    pub plan: bool,
    /// The namespaces that webhooks leave out.
    pub left_out: Vec<String>,
    /// Receives what answers do to objects.
    pub effects: Option<Arc<dyn Sink>>,
}

pub(super) struct Answers {
    parts: Parts,
    /// Distinguishes the run IDs of this process from those of others.
    process: String,
    number: AtomicU64,
    chains: Mutex<Known>,
}

/// The conversions of definitions. They are valid while the hooks stay the same.
#[derive(Default)]
struct Known {
    generation: u64,
    chains: HashMap<String, Arc<Chains>>,
}

impl Answers {
    pub fn new(parts: Parts) -> Self {
        let process = format!("{:08x}", rand::random::<u32>());
        Self { parts, process, number: AtomicU64::new(1), chains: Mutex::default() }
    }

    /// Passes effects to the sink, if there is one.
    fn tell<E: IntoIterator<Item = Effect>>(&self, effects: impl FnOnce() -> E) {
        if let Some(sink) = &self.parts.effects {
            effects().into_iter().for_each(|effect| sink.effect(effect));
        }
    }

    fn next_run(&self) -> RunId {
        RunId::new(&self.process, self.number.fetch_add(1, Ordering::Relaxed))
    }

    /// Finds the hook, unless it cannot answer at the moment.
    fn hook(&self, name: &str) -> Result<Arc<Hook>, Unanswered> {
        self.parts.hook_registry.hook_at(name).ok_or_else(|| {
            if self.parts.hook_registry.is_quarantined_at(name) {
                Unanswered::NotReady(format!("hook {name} is quarantined: it does not run"))
            } else if self.parts.health.sources().may_have_more() {
                Unanswered::NotReady(format!("there is no hook {name} yet: not all bundles are loaded"))
            } else {
                Unanswered::Unknown(format!("there is no hook {name}"))
            }
        })
    }

    /// Waits until the hook knows the objects of its snapshots, because it would otherwise answer from incomplete ones.
    async fn listed(
        &self,
        hook: &HookName,
        binding: &BindingName,
        needs: &[BindingName],
        patience: Duration,
    ) -> Result<(), Unanswered> {
        let mut changes = self.parts.health.changes();
        let wait = async {
            while !self.parts.health.incomplete(hook, needs).is_empty() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // The other half of the time is for the answer.
        let _ = timeout(patience / 2, wait).await;
        let incomplete = self.parts.health.incomplete(hook, needs);
        let Some(first) = incomplete.first() else { return Ok(()) };
        let text =
            format!("hook {hook} can't answer for {binding} yet: its binding {first} does not know all of its objects");
        Err(Unanswered::NotReady(text))
    }

    /// Calls the hook within its time, and records the call if there is a recorder.
    async fn asked<Q, T, F>(
        &self,
        hook: &Hook,
        binding: &BindingName,
        question: Q,
        patience: Duration,
        call: impl FnOnce(Q, Arc<dyn Host>) -> F,
    ) -> Result<RunReport<T>, Unanswered>
    where
        Q: Clone + Into<Asked>,
        T: Clone + Into<Given>,
        F: Future<Output = RunReport<T>>,
    {
        let (operator, about) = (self.parts.operator.clone(), (&hook.spec.name, binding));
        let Some(recorder) = &self.parts.recorder else {
            return bounded(about, patience, call(question, operator)).await;
        };
        let secrets = bindings_of_secrets(&hook.spec);
        let begun = recorder.begin(operator, hook.component.digest(), secrets, question.clone());
        let ended = bounded(about, patience, call(question, begun.host())).await;
        if let Ok(report) = &ended {
            begun.end(report);
        }
        ended
    }

    /// The conversions of a definition, over all hooks.
    fn chains(&self, crd: &str) -> Option<Arc<Chains>> {
        let mut known = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        // Read the generation first: hooks that are added after this make the result out of date.
        let generation = self.parts.hook_registry.generation();
        if known.generation != generation {
            *known = Known { generation, chains: HashMap::new() };
        }
        if let Some(chains) = known.chains.get(crd) {
            return Some(chains.clone());
        }
        let hooks = self.parts.hook_registry.live();
        let chains = Arc::new(Chains::new(crd, hooks.iter().map(|hook| &hook.spec))?);
        known.chains.insert(crd.to_owned(), chains.clone());
        Some(chains)
    }
}

impl Answerer for Answers {
    fn review(
        &self,
        kind: AdmissionKind,
        hook: &str,
        binding: &str,
        request: AdmissionRequest,
        patience: Duration,
    ) -> BoxFuture<'_, Result<Reviewed, Unanswered>> {
        let found = self.bound(kind, hook, binding);
        async move {
            let (hook, binding) = found?;
            if !request.by_hand {
                self.in_scope(&hook, &binding, &request)?;
            }
            self.decided(&hook, &binding, request, patience).await
        }
        .boxed()
    }

    fn convert(&self, request: ConversionRequest, patience: Duration) -> BoxFuture<'_, Result<Converted, Unanswered>> {
        self.converted(request, patience).boxed()
    }

    fn unusable(&self, kind: AdmissionKind, hook: &str, binding: &str, why: &str) {
        warn!(hook, binding, kind = kind.as_str(), error = why, "the answer can't be used");
    }
}

/// Runs until the time is over, and then ends the run. A new version of the hook does not interrupt answers of the old
/// one, because they are short and the API server waits for them.
async fn bounded<T>(
    (hook, binding): (&HookName, &BindingName),
    patience: Duration,
    run: impl Future<Output = RunReport<T>>,
) -> Result<RunReport<T>, Unanswered> {
    timeout(patience, run).await.map_err(|_| {
        let seconds = patience.as_secs_f64();
        Unanswered::Deadline(format!("hook {hook}, binding {binding}: no answer within {seconds:.1} s"))
    })
}
