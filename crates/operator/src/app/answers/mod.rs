//! Answers the API server's requests with hooks: which hook answers, within which time, and how the answer is reported.
//!
//! An answer waits in no queue. A denial is always the hook's own. If anything else goes wrong there is no answer, and
//! the webhook's `failurePolicy` decides.
//!
//! The grants of a hook limit its writes during a review, as in a run. In a dry run they are dry runs, too. With
//! `sideEffects: None`, the hook's author has promised that there are none.

mod chains;
mod effects;
mod scope;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use boathook_core::{
    effect::Effect,
    model::{
        AdmissionBinding, AdmissionKind, BindingName, Caller, Conversion, ConversionBinding, ConversionRule,
        FailureKind, HookName, Mutation, Review, Reviewed, RunId,
    },
};
use boathook_sandbox::{ConversionRequest as ConversionRun, Host, ReviewRequest, RunReport};
use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use tokio::time::timeout;
use tracing::{debug, info, warn};

use super::{
    Services, causes, history::Begun, hooks::Hook, module_settings::SettingsReviewer, ms, shadows::Shadowed, why,
};
use crate::{
    admin::views::AnswerView,
    record::{self, Given, secrets::bindings_of_secrets},
    telemetry::metrics::AnswerLabels,
    webhook::{AdmissionRequest, Answerer, ConversionRequest, Converted, Unanswered, Versioned, conversion_problems},
};
use chains::{Chains, Step};
use scope::{Kind, Metadata, Object, Request};

pub(super) struct Answers {
    services: Arc<Services>,
    /// The namespaces that webhooks leave out.
    left_out: Vec<String>,
    chains: Mutex<Known>,
    /// Answers about the settings of modules.
    settings: Option<Arc<SettingsReviewer>>,
}

/// The conversions of definitions. They are valid while the hooks stay the same.
#[derive(Default)]
struct Known {
    generation: u64,
    chains: HashMap<String, Arc<Chains>>,
}

impl Answers {
    pub fn new(services: Arc<Services>, left_out: Vec<String>, settings: Option<Arc<SettingsReviewer>>) -> Self {
        Self { services, left_out, chains: Mutex::default(), settings }
    }

    /// Passes effects to the sink, if there is one.
    fn notify<E: IntoIterator<Item = Effect>>(&self, effects: impl FnOnce() -> E) {
        if let Some(sink) = &self.services.effects {
            effects().into_iter().for_each(|effect| sink.effect(effect));
        }
    }

    /// Finds the hook, unless it cannot answer at the moment.
    fn hook(&self, name: &str) -> Result<Arc<Hook>, Unanswered> {
        self.services.hook_registry.hook_at(name).ok_or_else(|| {
            if self.services.hook_registry.is_quarantined_at(name) {
                Unanswered::NotReady(format!("hook {name} is quarantined: it does not run"))
            } else if self.services.health.sources().may_have_more() {
                Unanswered::NotReady(format!("there is no hook {name} yet: not all bundles and modules are loaded"))
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
        let mut changes = self.services.health.changes();
        let wait = async {
            while !self.services.health.incomplete(hook, needs).is_empty() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // The other half of the time is for the answer.
        let _ = timeout(patience / 2, wait).await;
        let incomplete = self.services.health.incomplete(hook, needs);
        let Some(first) = incomplete.first() else { return Ok(()) };
        let text = format!(
            "hook {hook} cannot answer for {binding} yet: its binding {first} does not know all of its objects"
        );
        Err(Unanswered::NotReady(text))
    }

    /// The caller with the values of the hook's module, if the hook may ask for them. Half of the time is for the answer.
    async fn seeing(
        &self,
        asked: &Asked<'_>,
        hook: &Hook,
        caller: Caller,
        patience: Duration,
    ) -> Result<Caller, Unanswered> {
        let Asked { hook: name, binding, .. } = asked;
        let why = match timeout(patience / 2, self.services.reading_values(hook, caller)).await {
            Ok(Ok(caller)) => return Ok(caller),
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "reading the values of its module takes too long".to_owned(),
        };
        let error = Unanswered::NotReady(format!("hook {name} cannot answer for {binding} yet: {why}"));
        self.not_ready(asked, &error);
        Err(error)
    }

    /// Calls the hook within its time, records the call if there is a recorder, and notes it if another version is compared
    /// with this one.
    async fn asked<Q, T, F>(
        &self,
        hook: &Hook,
        binding: &BindingName,
        question: Q,
        patience: Duration,
        call: impl FnOnce(Q, Arc<dyn Host>) -> F,
    ) -> Result<RunReport<T>, Unanswered>
    where
        Q: Clone + Into<record::Asked>,
        T: Clone + Into<Given>,
        F: Future<Output = RunReport<T>>,
    {
        let answering: Arc<dyn Host> = self.services.answering.clone();
        let Some(shadowed) = Shadowed::begin(&self.services, hook, answering.clone(), || question.clone().into())
        else {
            return self.recorded(hook, binding, question, patience, (answering, call)).await;
        };
        let ended = self.recorded(hook, binding, question, patience, (shadowed.host(), call)).await;
        if let Ok(report) = &ended {
            shadowed.end(report);
        }
        ended
    }

    async fn recorded<Q, T, F>(
        &self,
        hook: &Hook,
        binding: &BindingName,
        question: Q,
        patience: Duration,
        (operator, call): (Arc<dyn Host>, impl FnOnce(Q, Arc<dyn Host>) -> F),
    ) -> Result<RunReport<T>, Unanswered>
    where
        Q: Clone + Into<record::Asked>,
        T: Clone + Into<Given>,
        F: Future<Output = RunReport<T>>,
    {
        let about = (&hook.spec.name, binding);
        let Some(recorder) = &self.services.recorder else {
            return bounded(about, patience, call(question, operator)).await;
        };
        let secrets = bindings_of_secrets(&hook.spec);
        let recorded: record::Asked = question.clone().into();
        let run = recorded.caller().run.clone();
        let begun = recorder.begin(operator, hook.component.digest(), secrets, recorded);
        let ended = bounded(about, patience, call(question, begun.host())).await;
        if let Ok(report) = &ended {
            begun.end(report, || why::recorded(&self.services.causes, &run));
        }
        ended
    }

    /// The conversions of a definition, over all hooks.
    fn chains(&self, crd: &str) -> Option<Arc<Chains>> {
        let mut known = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        // Read the generation first: hooks that are added after this make the result out of date.
        let generation = self.services.hook_registry.generation();
        if known.generation != generation {
            *known = Known { generation, chains: HashMap::new() };
        }
        if let Some(chains) = known.chains.get(crd) {
            return Some(chains.clone());
        }
        let hooks = self.services.hook_registry.live();
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
        if let Some(settings) = self.settings.as_ref().filter(|settings| settings.is_at(hook)) {
            let (settings, binding) = (settings.clone(), binding.to_owned());
            return async move { Ok(settings.review(&binding, &request, patience).await) }.boxed();
        }
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
        warn!(hook, binding, kind = kind.as_str(), error = why, "the answer cannot be used");
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

impl Answers {
    /// Finds the hook and the binding of a path.
    fn bound(
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
    fn in_scope(&self, hook: &Hook, binding: &AdmissionBinding, request: &AdmissionRequest) -> Result<(), Unanswered> {
        scope::check(binding, &self.left_out, &request.json).map_err(|why| {
            let (hook, binding) = (&hook.spec.name, &binding.name);
            warn!(%hook, %binding, why, "a review is out of the webhook's scope: the hook does not run");
            Unanswered::OutOfScope(format!("hook {hook}, binding {binding}: the request {why}"))
        })
    }

    /// Gets the hook's decision.
    async fn decided(
        &self,
        hook: &Arc<Hook>,
        binding: &AdmissionBinding,
        request: AdmissionRequest,
        patience: Duration,
    ) -> Result<Reviewed, Unanswered> {
        let (name, run, kind) = (&hook.spec.name, self.services.run_ids.next(), binding.kind.as_str());
        let asked = Asked { hook: name, run: &run, binding: &binding.name, kind, started: Instant::now() };
        let question = request.json.clone();
        let ready = self.listed(name, &binding.name, &binding.include_snapshots_from, patience).await;
        ready.inspect_err(|error| self.not_ready(&asked, error))?;
        let dry_run = request.dry_run || self.services.plan;
        let left = patience.saturating_sub(asked.started.elapsed());
        let caller = hook.caller(run.clone(), dry_run);
        let caller = self.seeing(&asked, hook, caller, left).await?;
        let patience = patience.saturating_sub(asked.started.elapsed());
        let _running = self.services.metrics.answer_begun(name);
        let begun = Begun::answer(&run, name, &binding.name, word(binding.kind));
        let _live = self.services.causes.begin(causes::of_answer(&run, name, &binding.name, word(binding.kind)));
        let review = Review { kind: binding.kind, binding: binding.name.clone(), request: request.json, dry_run };
        let (snapshots, limits) = (binding.include_snapshots_from.clone(), hook.spec.limits);
        let request = ReviewRequest { caller, review, snapshots, limits, patience };
        let call = |request, host| self.services.sandbox.review(&hook.component, request, host);
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
            self.notify(|| effects::mutation((name, &run), &question, mutation, dry_run));
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

// One conversion. Its objects are divided by version. Each version takes its own path of steps, and all paths run at
// the same time. Conversions have no permissions: a hook that needs to know more about the cluster has its snapshots.

enum Failed {
    /// There is no path, or a hook refused. The user who needs the objects receives the reason.
    Refused(String),
    Unanswered(Unanswered),
}

/// Objects of one version, and their positions in the request.
#[derive(Default)]
struct Share {
    places: Vec<usize>,
    objects: Vec<String>,
}

impl Answers {
    async fn converted(&self, request: ConversionRequest, patience: Duration) -> Result<Converted, Unanswered> {
        let ConversionRequest { crd, desired, objects, .. } = request;
        let Some(chains) = self.chains(&crd) else {
            return Err(Unanswered::Unknown(format!("no hook converts {crd}")));
        };
        // The name of a definition contains its group.
        if crd.split_once('.').map(|(_, of)| of) != Some(group(&desired)) {
            return Err(Unanswered::OutOfScope(format!("conversion of {crd}: {desired} is not one of its versions")));
        }
        let (until, count) = (Instant::now() + patience, objects.len());
        let shares = match split(objects, &desired) {
            Ok(shares) => shares,
            Err(text) => return Ok(Converted::Failed(text)),
        };
        let shares = shares.into_iter().map(|(version, share)| self.share(&chains, version, &desired, share, until));
        let mut objects = vec![String::new(); count];
        for ended in join_all(shares).await {
            let share = match ended {
                Ok(share) => share,
                Err(Failed::Refused(text)) => return Ok(Converted::Failed(text)),
                Err(Failed::Unanswered(error)) => return Err(error),
            };
            for (place, object) in share.places.into_iter().zip(share.objects) {
                if let Some(slot) = objects.get_mut(place) {
                    *slot = object;
                }
            }
        }
        Ok(Converted::Objects(objects))
    }

    /// Converts the objects of one version, step by step.
    async fn share(
        &self,
        chains: &Chains,
        version: String,
        desired: &str,
        mut share: Share,
        until: Instant,
    ) -> Result<Share, Failed> {
        let way = chains.way(&version, short(desired)).map_err(|error| Failed::Refused(error.to_string()))?;
        for step in &way {
            share.objects = self.step(step, share.objects, group(desired), until).await?;
        }
        Ok(share)
    }

    async fn step(
        &self,
        step: &Step,
        objects: Vec<String>,
        group: &str,
        until: Instant,
    ) -> Result<Vec<String>, Failed> {
        let (hook, binding) = self.converter(step).map_err(Failed::Unanswered)?;
        let (name, run) = (&hook.spec.name, self.services.run_ids.next());
        let asked =
            Asked { hook: name, run: &run, binding: &binding.name, kind: "conversion", started: Instant::now() };
        let patience = until.saturating_duration_since(Instant::now());
        let ready = self.listed(name, &binding.name, &binding.include_snapshots_from, patience).await;
        ready.inspect_err(|error| self.not_ready(&asked, error)).map_err(Failed::Unanswered)?;
        let caller = Caller { permissions: Arc::new([]), ..hook.caller(run.clone(), true) };
        let left = until.saturating_duration_since(Instant::now());
        let caller = self.seeing(&asked, &hook, caller, left).await.map_err(Failed::Unanswered)?;
        let _running = self.services.metrics.answer_begun(name);
        let begun = Begun::answer(&run, name, &binding.name, "Conversion");
        let (sources, patience) = (objects.clone(), until.saturating_duration_since(Instant::now()));
        let conversion = Conversion { binding: binding.name.clone(), rule: step.rule.clone(), objects };
        let (snapshots, limits) = (binding.include_snapshots_from.clone(), hook.spec.limits);
        let question = ConversionRun { caller, conversion, snapshots, limits, patience };
        let call = |question, host| self.services.sandbox.convert(&hook.component, question, host);
        let report = self.asked(&hook, &binding.name, question, patience, call).await;
        let report = report.inspect_err(|error| self.late(&asked, error)).map_err(Failed::Unanswered)?;
        // Only the hook's own refusal has this kind.
        let refusal = report.outcome.as_ref().err().filter(|failure| failure.kind == FailureKind::Permanent);
        let outcome = match (&report.outcome, refusal) {
            (Ok(_), _) => "converted",
            (Err(_), Some(_)) => "refused",
            (Err(_), None) => "failed",
        };
        if let Ok(objects) = &report.outcome {
            self.notify(|| effects::conversions((name, &run), &sources, objects));
        }
        let refusal = refusal.map(|failure| failure.message.as_str());
        let asked_for = Question::Conversion { rule: &step.rule, objects: sources.len() };
        let entry = Entry { outcome, refusal, question: asked_for, warnings: &[] };
        self.ended(&asked, begun, &report, entry);
        let at = format!("hook {name}, binding {}, {}", binding.name, step.rule);
        match report.outcome {
            Ok(objects) => {
                // A hook that breaks the rules is reported as one that failed. The first problem is enough.
                match conversion_problems(&format!("{group}/{}", step.rule.to), &sources, &objects).first() {
                    None => Ok(objects),
                    Some(problem) => Err(Failed::Unanswered(Unanswered::Failed(format!("{at}: {problem}")))),
                }
            }
            Err(failure) if failure.kind == FailureKind::Permanent => Err(Failed::Refused(format!("{at}: {failure}"))),
            Err(failure) => Err(Failed::Unanswered(Unanswered::Failed(format!("{at}: {failure}")))),
        }
    }

    /// Finds the binding that does a step. It may have been removed since the path was found.
    fn converter(&self, step: &Step) -> Result<(Arc<Hook>, ConversionBinding), Unanswered> {
        let hook = self.hook(step.hook.as_str())?;
        let binding = hook.spec.conversions.iter().find(|binding| binding.name == step.binding).cloned();
        let gone =
            || Unanswered::NotReady(format!("hook {} was replaced: it has no binding {}", step.hook, step.binding));
        Ok((hook.clone(), binding.ok_or_else(gone)?))
    }
}

/// Divides objects by version. All must be in the group of the desired version.
fn split(objects: Vec<Versioned>, desired: &str) -> Result<BTreeMap<String, Share>, String> {
    let mut shares: BTreeMap<String, Share> = BTreeMap::new();
    for (place, Versioned { api_version, json }) in objects.into_iter().enumerate() {
        if group(&api_version) != group(desired) {
            return Err(format!("{} is of {api_version}, which cannot become {desired}", named(&json)));
        }
        let share = shares.entry(short(&api_version).to_owned()).or_default();
        share.places.push(place);
        share.objects.push(json);
    }
    Ok(shares)
}

/// `v1` of `stable.example.com/v1`.
fn short(api_version: &str) -> &str {
    api_version.split_once('/').map_or(api_version, |(_, version)| version)
}

/// `stable.example.com` of `stable.example.com/v1`.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn named(object: &str) -> String {
    let Metadata { namespace, name } = Object::read(object).metadata.unwrap_or_default();
    let parts: Vec<_> = [namespace, name].into_iter().flatten().collect();
    format!("object {}", parts.join("/"))
}

/// The maximum number of warnings of an answer that are remembered.
const WARNINGS: usize = 8;
/// The maximum length of a message that is remembered, in bytes.
const TEXT: usize = 1024;

/// The request to a hook.
struct Asked<'a> {
    pub hook: &'a HookName,
    pub run: &'a RunId,
    pub binding: &'a BindingName,
    /// `validating`, `mutating` or `conversion`.
    pub kind: &'static str,
    pub started: Instant,
}

/// The result of the request.
struct Entry<'a> {
    /// The value of the metric's label.
    pub outcome: &'static str,
    /// The reason for the hook's refusal, in its own words.
    pub refusal: Option<&'a str>,
    pub question: Question<'a>,
    /// Warnings for the user who made the request.
    pub warnings: &'a [String],
}

/// The question in the request.
#[derive(Clone, Copy)]
enum Question<'a> {
    /// The AdmissionRequest.
    Review {
        request: &'a str,
        dry_run: bool,
    },
    Conversion {
        rule: &'a ConversionRule,
        objects: usize,
    },
}

impl Asked<'_> {
    fn labels(&self) -> AnswerLabels<'_> {
        AnswerLabels { hook: self.hook, binding: self.binding, kind: self.kind }
    }
}

impl Answers {
    /// Reports that the hook was not called.
    fn not_ready(&self, asked: &Asked<'_>, error: &Unanswered) {
        let Asked { hook, run, binding, kind, started } = asked;
        self.services.metrics.answer_ended(asked.labels(), "not-ready", started.elapsed());
        warn!(%hook, %run, %binding, kind, %error, "the hook did not answer the API server: failurePolicy decides about a review, and a conversion fails");
    }

    /// Reports that the hook was called, and did not answer in time.
    fn late(&self, asked: &Asked<'_>, error: &Unanswered) {
        let Asked { hook, run, binding, kind, started } = asked;
        self.services.metrics.answer_ended(asked.labels(), "failed", started.elapsed());
        warn!(%hook, %run, %binding, kind, %error, "the hook did not answer the API server: failurePolicy decides about a review, and a conversion fails");
    }

    /// Reports that the hook's run ended.
    fn ended<T>(&self, asked: &Asked<'_>, begun: Begun, report: &RunReport<T>, entry: Entry<'_>) {
        let Asked { hook, run, binding, kind, started } = asked;
        let Entry { outcome, refusal, question, .. } = entry;
        self.services.metrics.answer_ended(asked.labels(), outcome, started.elapsed());
        // Reading the request takes time, so the code does it only if somebody uses the result.
        let looked_at = refusal.is_some() || report.outcome.is_err() || self.services.history.listens();
        let answer = looked_at.then(|| view(&entry));
        self.services.history.ended(begun.with_answer(answer), report, false);
        let (ms, host_calls, memory_peak) = (ms(report.duration), report.host_calls, report.memory_peak);
        match (&report.outcome, refusal) {
            (Ok(_), None) => debug!(%hook, %run, %binding, kind, outcome, ms, memory_peak, host_calls, "answered"),
            (_, Some(refusal)) => {
                let About { operation, object, user } = About::of(question);
                info!(%hook, %run, %binding, kind, operation, object, user, ms, refusal, outcome, "refused by the hook");
            }
            (Err(failure), None) => {
                let About { operation, object, user } = About::of(question);
                let (why, error, backtrace) = (failure.kind.label(), &failure.message, failure.backtrace.as_deref());
                warn!(%hook, %run, %binding, kind, operation, object, user, ms, memory_peak, host_calls, why, error, backtrace, "the hook did not answer the API server: failurePolicy decides about a review, and a conversion fails");
            }
        }
        if report.outcome.is_ok() {
            self.services.apply_metrics(hook, run, binding, &report.metrics);
        }
    }
}

/// The answer as people see it. Its texts are bounded, because it is remembered.
fn view(entry: &Entry<'_>) -> AnswerView {
    let About { operation, object, user } = About::of(entry.question);
    AnswerView {
        decision: entry.outcome.to_owned(),
        operation: operation.unwrap_or_default(),
        object: object.unwrap_or_default(),
        user,
        dry_run: matches!(entry.question, Question::Review { dry_run: true, .. }),
        message: entry.refusal.map(shortened),
        warnings: entry.warnings.iter().take(WARNINGS).map(|text| shortened(text)).collect(),
    }
}

fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(TEXT)).unwrap_or_default().to_owned()
}

/// What a log line says about a request.
#[derive(Default)]
struct About {
    operation: Option<String>,
    object: Option<String>,
    user: Option<String>,
}

impl About {
    fn of(question: Question<'_>) -> Self {
        let request = match question {
            Question::Review { request, .. } => request,
            Question::Conversion { rule, objects } => {
                let object = Some(format!("{objects} object{}", if objects == 1 { "" } else { "s" }));
                return Self { operation: Some(rule.to_string()), object, user: None };
            }
        };
        let Ok(Request { kind: Kind { kind }, operation, namespace, name, user_info, .. }) = Request::read(request)
        else {
            return Self::default();
        };
        // The API server may generate the name later.
        let place = [namespace, name].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        let object = format!("{kind} {}", place.join("/")).trim().to_owned();
        Self { operation: Some(operation), object: Some(object), user: user_info.username }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(version: &str, name: &str) -> Versioned {
        let api_version = format!("example.com/{version}");
        let json = format!(r#"{{"apiVersion":"{api_version}","metadata":{{"namespace":"a","name":"{name}"}}}}"#);
        Versioned { api_version, json }
    }

    #[test]
    fn objects_are_split_by_version_and_know_their_places() {
        let objects = vec![object("v1", "a"), object("v2", "b"), object("v1", "c")];
        let shares = split(objects, "example.com/v3").unwrap();
        let places: Vec<_> = shares.iter().map(|(version, share)| (version.as_str(), share.places.clone())).collect();
        assert_eq!(places, [("v1", vec![0, 2]), ("v2", vec![1])]);
        let error = split(vec![object("v1", "a")], "other.com/v1").err().unwrap();
        assert_eq!(error, "object a/a is of example.com/v1, which cannot become other.com/v1");
    }
}
