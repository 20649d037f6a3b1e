//! One HookBundle: what this process knows about it, and the actions on it. The rules are in `plan` and `report`.
//!
//! A reconciliation never waits for a registry. A task fetches versions, and a later one takes the answer. A changed
//! spec, a right that was taken away, and a suspension therefore take effect at once.

mod trial;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use boathook_core::{
    fair::{Pool, Share, Tenant},
    model::{
        BundleId, BundleNews, CredentialProblem, CredentialProblemKind, HookPhase, HttpCredential, Identity,
        InstallError, Installation, Installer, Permission,
    },
};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;

use super::{
    HookBundleSpec, HookBundleStatus, Source, Verification,
    plan::{self, Decision, Due, Known, Looked},
    problem::Problem,
    report::{self, Facts, Waiting, Why},
    source::Sources,
    trimmed::TrimmedHookBundle,
    version::Version,
};
use trial::Trials;

/// The maximum number of steps in one reconciliation: restore, apply the changes of the spec, install.
const STEPS: usize = 4;
/// The interval of reconciliations while hooks are starting.
const SOON: Duration = Duration::from_secs(1);
/// The interval of reconciliations otherwise. It is short, because nothing reports when a hook's state changes, and a
/// reconciliation sends no request to check that.
const LATER: Duration = Duration::from_secs(5);
/// How often fields that change with each run are written.
const RUNS_WRITTEN: Duration = Duration::from_secs(30);
/// How often to check whether the ServiceAccount may still watch what hooks bind, because nothing reports a change of
/// rights.
const RIGHTS: Duration = Duration::from_secs(60);
/// How often to check credentials that cannot be used, because somebody waits for the result of a remedy.
const UNFIXED: Duration = Duration::from_secs(15);
/// The time limit for a check of credentials.
const PATIENCE: Duration = Duration::from_secs(10);
/// The reason of a spec of which the operator keeps only a part.
const TOO_LARGE: &str = "SpecTooLarge";

/// An installation that failed.
struct Failed {
    wanted: Installation,
    label: String,
    problem: Problem,
    /// Set if only these grants are missing.
    missing: Option<Vec<Permission>>,
    at: Instant,
    times: u32,
}

/// The last check of credentials.
struct Credentials {
    of: Installed,
    at: Instant,
    problems: Vec<CredentialProblem>,
}

/// What decides whether credentials can be used: themselves, who reads them, and the grants.
type Installed = (Vec<HttpCredential>, Option<Identity>, Option<Vec<Permission>>);

struct Running {
    version: Version,
    installed: Installation,
    at: Instant,
}

/// What this process knows about one HookBundle.
#[derive(Default)]
pub(super) struct Reconciler {
    fetch: Option<Fetch>,
    looked: Option<Looked>,
    found: Option<Version>,
    approved: Option<Version>,
    refused: Option<Problem>,
    running: Option<Running>,
    /// Whether the version that ran before this process is no longer available.
    lost: bool,
    /// The lookup after which a version was last requested by its digest. This limits such requests to one for each
    /// lookup of the source.
    asked: Option<(Instant, String)>,
    /// The answer to that request, until it is used.
    answer: Option<(String, Result<Version, Problem>)>,
    /// Failures by digest: of the running version with the current spec, and of the version that should take over.
    failed: BTreeMap<String, Failed>,
    /// Whether an installation waits for its turn.
    turned_away: bool,
    /// The rollout of a new version.
    trials: Trials,
    /// Whether the credentials of the running version can be used.
    credentials: Option<Credentials>,
    /// The status that was written last.
    status: Option<HookBundleStatus>,
    written: Option<Instant>,
}

/// The result of a reconciliation.
pub(super) struct Reconciled {
    /// The previous status and the one to write. `None` if nothing has to be written.
    pub news: Option<(HookBundleStatus, HookBundleStatus)>,
    /// When to run the next reconciliation.
    pub again: Duration,
    /// The state that the operator is notified of.
    pub standing: BundleNews,
}

impl Reconciler {
    /// Does what is necessary now, and returns the status to write.
    pub async fn reconcile(&mut self, kept: &TrimmedHookBundle, context: &Context<'_>) -> Reconciled {
        let of = BundleRef::of(kept);
        let old = self.status.clone().or_else(|| kept.bundle.status.clone()).unwrap_or_default();
        let recorded = old.digest.clone();
        self.turned_away = false;
        // This comes before everything that needs the source.
        self.apply(&of, context).await;
        if !context.standby {
            self.resume(&old);
            self.watch_over(&of, context).await;
        }
        self.receive(&of).await;
        if self.fetch.is_none() && self.due(&of) == Due::Now {
            self.fetch = Some(Fetch::begin(&of, None, context));
        }
        // Until the source was looked up for this spec, `found` is the answer for another spec.
        if of.spec.suspend || self.looked.is_some_and(|looked| looked.generation == of.generation) {
            for _ in 0..STEPS {
                if !self.step(&of, recorded.as_deref(), context).await {
                    break;
                }
            }
        }
        if context.standby {
            return Reconciled { news: None, again: self.again(&of, LATER), standing: self.standing(&of, true) };
        }
        self.check_credentials(&of, context).await;
        self.report(&of, old, context)
    }

    /// Checks the credentials after each change of what is installed, and again at intervals, because nothing reports a change of
    /// a Secret.
    async fn check_credentials(&mut self, of: &BundleRef<'_>, context: &Context<'_>) {
        let Some(Running { installed, .. }) = &self.running else { return };
        if installed.credentials.is_empty() {
            self.credentials = None;
            return;
        }
        let now = (&installed.credentials, &installed.identity, &installed.grants);
        let good = |known: &Credentials| {
            let pause = if known.problems.is_empty() { RIGHTS } else { UNFIXED };
            (&known.of.0, &known.of.1, &known.of.2) == now && known.at.elapsed() < pause
        };
        if installed.suspended || self.credentials.as_ref().is_some_and(good) {
            return;
        }
        let of_installed = (installed.credentials.clone(), installed.identity.clone(), installed.grants.clone());
        let Some(_turn) = context.turn(of).await else {
            self.turned_away = true;
            return;
        };
        // Each credential that cannot be read is reported, so this is cut off as a whole only if the API server hangs.
        let checked = timeout(PATIENCE, context.installer.check_credentials(&of.id())).await;
        let problems = checked.unwrap_or_else(|_| {
            let message = "the API server does not answer".to_owned();
            vec![CredentialProblem { kind: CredentialProblemKind::Unknown, message }]
        });
        self.credentials = Some(Credentials { of: of_installed, at: Instant::now(), problems });
    }

    fn due(&self, of: &BundleRef<'_>) -> Due {
        plan::due(of.spec, of.generation, self.looked.as_ref(), Instant::now())
    }

    /// Remembers the status that was written.
    pub fn wrote(&mut self, status: HookBundleStatus) {
        self.status = Some(status);
        self.written = Some(Instant::now());
    }

    /// Takes the answer of a fetch that has ended. A fetch that is no longer needed ends here.
    async fn receive(&mut self, of: &BundleRef<'_>) {
        let Some(fetch) = self.fetch.take().filter(|fetch| fetch.is_for(of.spec)) else { return };
        if !fetch.has_ended() {
            self.fetch = Some(fetch);
            return;
        }
        let (pin, answer) = fetch.answer().await;
        let Some(digest) = pin else { return self.found(of, answer) };
        if let (Err(_), Some(looked)) = (&answer, &mut self.looked) {
            // This makes the next lookup come soon.
            looked.failures = looked.failures.max(1);
        }
        self.answer = Some((digest, answer));
    }

    /// Takes the result of a lookup of the source.
    fn found(&mut self, of: &BundleRef<'_>, answer: Result<Version, Problem>) {
        let before = self.looked.map_or(0, |looked| looked.failures);
        let failures = if answer.is_ok() { 0 } else { before.saturating_add(1) };
        match answer {
            Ok(version) => (self.found, self.refused) = (Some(version), None),
            Err(problem) => {
                // A version that was found earlier may still be waiting, unless it is now known to be refused.
                if problem.refused {
                    self.found = None;
                }
                self.refused = Some(problem);
            }
        }
        let (generation, chance) = (of.generation, rand::random());
        self.looked = Some(Looked { generation, at: Instant::now(), failures, chance });
    }

    fn known<'a>(&'a self, recorded: Option<&'a str>, standby: bool) -> Known<'a> {
        Known {
            running: self.running.as_ref().map(|running| running.version.digest.as_str()),
            recorded,
            lost: self.lost,
            found: self.found.as_ref().map(|found| found.digest.as_str()),
            standby,
        }
    }

    /// Does one step. Returns false if nothing more is to be done now.
    async fn step(&mut self, of: &BundleRef<'_>, recorded: Option<&str>, context: &Context<'_>) -> bool {
        match plan::decide(of.spec, self.known(recorded, context.standby)) {
            Decision::Idle => false,
            Decision::Stay => {
                // The version that should have taken over is no longer wanted.
                self.forget_failures();
                self.end_trial(of, context);
                false
            }
            Decision::Restore(digest) => {
                let digest = digest.to_owned();
                self.restore(of, &digest, context).await
            }
            Decision::Install(digest) => {
                let digest = digest.to_owned();
                match &of.spec.rollout {
                    // A standby follows. Without a running version, there is nothing to compare with.
                    Some(rollout) if self.running.is_some() && !context.standby => {
                        self.try_out(of, rollout, &digest, context).await
                    }
                    _ => self.take(of, &digest, context).await,
                }
            }
        }
    }

    /// Restores the version that ran before this process.
    async fn restore(&mut self, of: &BundleRef<'_>, digest: &str, context: &Context<'_>) -> bool {
        match self.ask(of, digest, context) {
            None => false,
            Some(Ok(version)) => {
                let done = self.install(of, version.clone(), context).await;
                if self.turned_away {
                    self.answer = Some((digest.to_owned(), Ok(version)));
                    return false;
                }
                self.lost = !done;
                true
            }
            Some(Err(problem)) => {
                let kept = match problem.refused {
                    true => None,
                    false => context.sources.recall(&of.id(), of.spec).await.filter(|kept| kept.digest == digest),
                };
                if let Some(version) = kept
                    && self.install(of, version, context).await
                {
                    self.refused.get_or_insert(problem);
                    return true;
                }
                if self.turned_away {
                    self.answer = Some((digest.to_owned(), Err(problem)));
                    return false;
                }
                // If the registry is only unavailable, the version can be restored later.
                self.lost = problem.refused || problem.reason == "NotFound";
                self.refused.get_or_insert(problem);
                self.lost
            }
        }
    }

    /// Returns a version by its digest if it has arrived, and otherwise requests it, at most once after each lookup.
    fn ask(&mut self, of: &BundleRef<'_>, digest: &str, context: &Context<'_>) -> Option<Result<Version, Problem>> {
        if let Some((_, answer)) = self.answer.take().filter(|(asked, _)| asked == digest) {
            return Some(answer);
        }
        let asking = self.looked.map(|looked| (looked.at, digest.to_owned()));
        if self.fetch.is_none() && (asking.is_none() || self.asked != asking) {
            self.asked = asking;
            self.fetch = Some(Fetch::begin(of, Some(digest), context));
        }
        None
    }

    /// Installs a new version.
    async fn take(&mut self, of: &BundleRef<'_>, digest: &str, context: &Context<'_>) -> bool {
        match self.version(of, digest, context) {
            Some(version) => self.install(of, version, context).await,
            None => false,
        }
    }

    /// The version with this digest, if it has arrived.
    fn version(&mut self, of: &BundleRef<'_>, digest: &str, context: &Context<'_>) -> Option<Version> {
        let known = [&self.found, &self.approved].into_iter().flatten().find(|version| version.digest == digest);
        if let Some(version) = known {
            return Some(version.clone());
        }
        match self.ask(of, digest, context)? {
            Ok(version) => {
                self.approved = Some(version.clone());
                Some(version)
            }
            Err(problem) => {
                self.refused = Some(problem);
                None
            }
        }
    }

    /// Applies the current spec to the version that runs.
    async fn apply(&mut self, of: &BundleRef<'_>, context: &Context<'_>) {
        let Some(running) = &self.running else { return };
        let wanted = running.version.installation(of.namespace, of.name, of.spec, context.confined);
        if wanted == running.installed && of.dropped.is_none() {
            self.failed.remove(&wanted.digest);
            if !wanted.suspended && running.at.elapsed() >= RIGHTS {
                // The installer reports failures, and the next check retries.
                let _ = context.installer.install(wanted.clone()).await;
                self.ran(wanted);
            }
            return;
        }
        let resumed = Installation { suspended: wanted.suspended, ..running.installed.clone() };
        if resumed == wanted && wanted.suspended != running.installed.suspended {
            context.installer.suspend(&wanted.id, wanted.suspended).await;
            self.ran(wanted);
            return;
        }
        let (version, settings) = (running.version.clone(), running.installed.settings.clone());
        let digest = version.digest.clone();
        if !self.install(of, version, context).await && self.failed_settings(&digest) {
            // Rights must be taken away even if the new settings do not fit.
            let careful = Installation { settings, ..wanted };
            let due = |running: &Running| running.installed != careful || running.at.elapsed() >= RIGHTS;
            if self.running.as_ref().is_some_and(due) && context.installer.install(careful.clone()).await.is_ok() {
                self.ran(careful);
            }
        }
    }

    fn failed_settings(&self, digest: &str) -> bool {
        let refused = |failed: &Failed| ["SettingsRefused", TOO_LARGE].contains(&failed.problem.reason);
        self.failed.get(digest).is_some_and(refused)
    }

    fn ran(&mut self, installed: Installation) {
        if let Some(running) = &mut self.running {
            (running.installed, running.at) = (installed, Instant::now());
        }
    }

    /// Whether the version may be tried now: not if it failed a moment ago and nothing has changed. Returns which try it is.
    fn may_try(&mut self, of: &BundleRef<'_>, version: &Version, wanted: &Installation) -> Option<u32> {
        if let Some(why) = of.dropped {
            let (problem, label) = (Problem::refused(TOO_LARGE, why), version.label.clone());
            let (wanted, at) = (wanted.clone(), Instant::now());
            self.failed(Failed { wanted, label, problem, missing: None, at, times: 0 });
            return None;
        }
        // What was never tried has nothing to wait for.
        let before = self.failed.get(&wanted.digest).filter(|failed| failed.wanted == *wanted && failed.times > 0);
        let waits = |failed: &Failed| failed.missing.is_some() || failed.at.elapsed() < plan::backoff(failed.times);
        if before.is_some_and(waits) {
            return None;
        }
        Some(before.map_or(0, |failed| failed.times).saturating_add(1))
    }

    fn not_installed(&mut self, wanted: Installation, label: String, error: &InstallError, times: u32) {
        let problem = Problem::of_install(error);
        let missing = match error {
            InstallError::Ungranted(hooks) => Some(hooks.iter().flat_map(|(_, rules)| rules.clone()).collect()),
            _ => None,
        };
        self.failed(Failed { wanted, label, problem, missing, at: Instant::now(), times });
    }

    /// Installs a version, if it may be tried now. Returns whether the version runs.
    async fn install(&mut self, of: &BundleRef<'_>, version: Version, context: &Context<'_>) -> bool {
        let wanted = version.installation(of.namespace, of.name, of.spec, context.confined);
        let Some(times) = self.may_try(of, &version, &wanted) else { return false };
        let Some(_turn) = context.turn(of).await else {
            self.turned_away = true;
            return false;
        };
        match context.installer.install(wanted.clone()).await {
            Ok(_) => {
                context.sources.remember(&of.id(), &version).await;
                self.running = Some(Running { version, installed: wanted, at: Instant::now() });
                self.failed.clear();
                true
            }
            Err(error) => {
                self.not_installed(wanted, version.label, &error, times);
                false
            }
        }
    }

    /// Notes a failure. Keeps at most two failures, because each holds settings and a schema, and a registry may serve a
    /// new failing version at every lookup.
    fn failed(&mut self, failed: Failed) {
        self.forget_failures();
        self.failed.insert(failed.wanted.digest.clone(), failed);
    }

    /// Forgets the failures of versions that do not run.
    fn forget_failures(&mut self) {
        let running = self.running.as_ref().map(|running| &running.version.digest);
        self.failed.retain(|digest, _| Some(digest) == running);
    }

    /// Returns the failure of the version that should take over. If there is none, it returns that of the running
    /// version.
    fn failure(&self) -> Option<&Failed> {
        let running = self.running.as_ref().map(|running| running.version.digest.as_str());
        let other = self.failed.values().find(|failed| Some(failed.wanted.digest.as_str()) != running);
        other.or_else(|| self.failed.values().next())
    }

    fn waiting(&self, of: &BundleRef<'_>, recorded: Option<&str>) -> Option<Waiting> {
        if let Some(Failed { wanted, label, missing: Some(missing), .. }) = self.failure() {
            let why = Why::Grants(missing.clone());
            return Some(Waiting { digest: wanted.digest.clone(), label: label.clone(), why });
        }
        let found = self.found.as_ref()?;
        if let Some(waiting) = self.trials.waiting(Some(&found.digest)) {
            return Some(waiting);
        }
        plan::awaits_approval(of.spec, self.known(recorded, false)).then(|| Waiting {
            digest: found.digest.clone(),
            label: found.label.clone(),
            why: Why::Approval,
        })
    }

    fn report(&self, of: &BundleRef<'_>, old: HookBundleStatus, context: &Context<'_>) -> Reconciled {
        let states = match &self.running {
            Some(_) => context.installer.states(&of.id()),
            None => Vec::new(),
        };
        let waiting = self.waiting(of, old.digest.as_deref());
        let second = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap_or_default();
        let now = second.to_string();
        let failed = self.failure().filter(|failed| failed.missing.is_none());
        let status = report::status(
            &Facts {
                generation: of.generation,
                suspended: of.spec.suspend,
                running: self.running.as_ref().map(|running| &running.version),
                found: self.found.as_ref(),
                refused: self.refused.as_ref(),
                waiting: waiting.as_ref(),
                rollout: self.trials.shown.as_ref(),
                failed: failed.map(|failed| &failed.problem),
                states: &states,
                credentials: self.credentials.as_ref().map(|known| known.problems.as_slice()),
                now: &now,
            },
            &old,
        );
        let due = self.written.is_none_or(|written| written.elapsed() >= RUNS_WRITTEN);
        let write = if report::same_but_for_runs(&old, &status) { status != old && due } else { true };
        let starting = self.trials.is_under_way() || states.iter().any(|state| state.phase == HookPhase::Pending);
        let again = self.again(of, if starting { SOON } else { LATER });
        let write = write && !(self.running.is_none() && self.fetch.as_ref().is_some_and(Fetch::is_young));
        Reconciled { news: write.then_some((old, status)), again, standing: self.standing(of, false) }
    }

    fn standing(&self, of: &BundleRef<'_>, standby: bool) -> BundleNews {
        let problem = self.failure().map(|failed| &failed.problem).or(self.refused.as_ref());
        plan::standing(of.spec, self.running.is_some(), standby, problem)
    }

    fn again(&self, of: &BundleRef<'_>, poll: Duration) -> Duration {
        if self.turned_away {
            return SOON;
        }
        if let Some(fetch) = &self.fetch {
            return fetch.pause().min(poll);
        }
        match self.due(of) {
            Due::At(at) => poll.min(at.saturating_duration_since(Instant::now())),
            Due::Now | Due::Never => poll,
        }
    }
}

/// How long a reconciliation waits for its turn. In the meantime, nothing else is done about its HookBundle.
const TURN: Duration = Duration::from_secs(1);

/// What a reconciliation needs.
pub(super) struct Context<'a> {
    pub sources: &'a Arc<Sources>,
    pub installer: &'a Arc<dyn Installer>,
    /// The installations at the same time, shared by namespaces, because each may read and compile components.
    pub installs: &'a Pool,
    /// Whether the hooks of this namespace may act only in it.
    pub confined: bool,
    /// Whether another replica decides. What it reports runs here, too, and this process reports nothing.
    pub standby: bool,
}

impl Context<'_> {
    /// Takes a turn to install. Returns `None` if other bundles of the namespace have all turns for a while. The
    /// reconciliation then runs again later.
    pub async fn turn(&self, of: &BundleRef<'_>) -> Option<Share> {
        let tenant = Tenant::namespace(of.namespace);
        timeout(TURN, self.installs.take(&tenant, 1)).await.ok()?.ok()
    }
}

/// The parts of the object that a reconciliation uses.
pub(super) struct BundleRef<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub generation: i64,
    pub spec: &'a HookBundleSpec,
    /// What was left out of the spec because it is too large, and the remedy.
    pub dropped: Option<&'a str>,
}

impl BundleRef<'_> {
    pub fn id(&self) -> BundleId {
        BundleId { namespace: Some(self.namespace.to_owned()), name: self.name.to_owned() }
    }

    pub fn of(TrimmedHookBundle { bundle, dropped }: &TrimmedHookBundle) -> BundleRef<'_> {
        BundleRef {
            namespace: bundle.metadata.namespace.as_deref().unwrap_or_default(),
            name: bundle.metadata.name.as_deref().unwrap_or_default(),
            generation: bundle.metadata.generation.unwrap_or_default(),
            spec: &bundle.spec,
            dropped: dropped.as_deref(),
        }
    }
}

/// When to check for the first time whether the fetch has ended. Each further check waits for as long as the fetch has
/// taken so far.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// Most fetches end within this time. A status that would only say that one is under way is not written before that.
const YOUNG: Duration = Duration::from_secs(1);

/// A version that is being fetched from its source. Dropping this ends the fetch.
pub(super) struct Fetch {
    /// The requested digest. `None` for the version that the source points to.
    pin: Option<String>,
    /// The answer depends on the source and on the verification.
    source: Source,
    verification: Option<Verification>,
    begun: Instant,
    task: AbortOnDropHandle<Result<Version, Problem>>,
}

impl Fetch {
    /// Starts to fetch the version that the source points to, or a version by its digest.
    pub fn begin(of: &BundleRef<'_>, pin: Option<&str>, context: &Context<'_>) -> Self {
        let (sources, installer) = (context.sources.clone(), context.installer.clone());
        let (namespace, spec, digest) = (of.namespace.to_owned(), of.spec.clone(), pin.map(str::to_owned));
        let work = async move { fetch(&namespace, &spec, digest.as_deref(), &sources, &*installer).await };
        Self {
            pin: pin.map(str::to_owned),
            source: of.spec.source.clone(),
            verification: of.spec.verification.clone(),
            begun: Instant::now(),
            task: AbortOnDropHandle::new(tokio::spawn(work)),
        }
    }

    /// Whether the answer is valid for this spec.
    pub fn is_for(&self, spec: &HookBundleSpec) -> bool {
        !spec.suspend && self.source == spec.source && self.verification == spec.verification
    }

    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    pub fn is_young(&self) -> bool {
        self.begun.elapsed() < YOUNG
    }

    /// How long to wait before the next check whether the fetch has ended.
    pub fn pause(&self) -> Duration {
        self.begun.elapsed().max(FIRST_LOOK)
    }

    /// Returns the requested digest, and the answer.
    pub async fn answer(self) -> (Option<String>, Result<Version, Problem>) {
        let defect = |_| Err(Problem::passing("Defect", "a defect of the operator ended the fetch: see its log"));
        (self.pin, self.task.await.unwrap_or_else(defect))
    }
}

/// Fetches a version, and everything that is known about what its hooks request.
async fn fetch(
    namespace: &str,
    spec: &HookBundleSpec,
    pin: Option<&str>,
    sources: &Sources,
    installer: &dyn Installer,
) -> Result<Version, Problem> {
    let mut version = sources.fetch(namespace, spec, pin).await?;
    if version.module.is_some() {
        let why = "it is a module, and not a bundle of hooks alone: name it in a Module";
        return Err(Problem::refused("NotABundle", why));
    }
    if version.hooks.iter().any(|hook| hook.declared.is_none()) {
        let requested = installer.requested(&version.hooks).await;
        let declared = requested
            .into_iter()
            .filter_map(|requested| Some((requested.hook.to_string(), requested.permissions.ok()?)));
        version.requested = declared.collect::<BTreeMap<_, _>>();
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use boathook_core::model::BundleId;

    use super::*;

    fn failed(digest: &str) -> Failed {
        let id = BundleId { namespace: Some("team-a".to_owned()), name: "a".to_owned() };
        Failed {
            wanted: Installation::new(id, digest, Vec::new()),
            label: digest.to_owned(),
            problem: Problem::refused("NotABundle", digest),
            missing: None,
            at: Instant::now(),
            times: 1,
        }
    }

    // mutant: crates/operator/src/hookbundle/reconciler/mod.rs: `self.failed.retain(|digest, _| Some(digest) == running);` => ``
    #[test]
    fn of_versions_that_fail_one_after_the_other_the_last_is_kept() {
        let mut reconciler = Reconciler::default();
        for n in 0..100 {
            reconciler.failed(failed(&format!("sha256:{n}")));
        }
        assert_eq!(reconciler.failed.keys().collect::<Vec<_>>(), ["sha256:99"]);
        assert_eq!(reconciler.failure().unwrap().label, "sha256:99");
    }
}
