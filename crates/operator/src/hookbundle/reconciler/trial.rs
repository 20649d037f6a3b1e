//! A new version on trial: it runs in the shadow of the running one, takes over, is held back, or goes back. The rules are
//! in `rollout`.

use std::time::Instant;

use boathook_core::model::{Comparison, Installation};
use tracing::warn;

use super::{
    super::{
        Available, HookBundleStatus, Rollout, RolloutStatus,
        report::{COMPARING, COMPLETE, HELD_BACK, ROLLED_BACK, WATCHING, Waiting, Why},
        rollout::{self, Tally, Verdict, Watched},
        version::Version,
    },
    BundleRef, Context, Reconciler, Running,
};

/// A version in the shadow of the running one.
struct Trial {
    wanted: Installation,
    /// The digest of the version that it is compared with.
    against: String,
    began: Instant,
    /// The runs of the other version before.
    before: Tally,
    /// The comparison, if it is over.
    ended: Option<Comparison>,
}

/// A version that took over, and may fail more than the one before.
struct Watch {
    digest: String,
    began: Instant,
    /// The runs of the version before, during the trial.
    before: Tally,
    /// All runs at the moment of the takeover.
    start: Tally,
    previous: Available,
    /// The version before. `None` if this process has not run it.
    version: Option<Version>,
}

/// What this process knows about the rollout of a HookBundle.
#[derive(Default)]
pub(super) struct Trials {
    /// Whether the status was read, which an earlier process has written.
    read: bool,
    trial: Option<Trial>,
    watch: Option<Watch>,
    pub shown: Option<RolloutStatus>,
}

impl Trials {
    /// Whether something may change at each moment.
    pub fn is_under_way(&self) -> bool {
        self.watch.is_some() || self.trial.as_ref().is_some_and(|trial| trial.ended.is_none())
    }

    /// A version that waits for a yes.
    pub fn waiting(&self, found: Option<&str>) -> Option<Waiting> {
        let shown = self.shown.as_ref().filter(|shown| found == Some(&shown.digest))?;
        let message = shown.message.clone().unwrap_or_default();
        let why = match shown.phase.as_str() {
            HELD_BACK => Why::HeldBack(message),
            ROLLED_BACK => Why::RolledBack(message),
            _ => return None,
        };
        Some(Waiting { digest: shown.digest.clone(), label: shown.version.clone(), why })
    }

    fn show(&mut self, phase: &str, message: Option<String>) {
        if let Some(shown) = &mut self.shown {
            (shown.phase, shown.message) = (phase.to_owned(), message);
        }
    }

    /// Whether this version was rolled back, and nobody has named it since then.
    fn refuses(&self, digest: &str, rollout: &Rollout, generation: i64) -> bool {
        let back = self.shown.as_ref().filter(|shown| shown.phase == ROLLED_BACK && shown.digest == digest);
        let named = rollout.approved_digest.as_deref() == Some(digest);
        back.is_some_and(|back| !named || back.observed_generation == Some(generation))
    }
}

fn available(version: &Version) -> Available {
    Available { digest: version.digest.clone(), version: version.label.clone() }
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Reconciler {
    /// Takes over what an earlier leader has noted about a version that took over or was rolled back. A comparison begins
    /// again, because what was compared is not known.
    pub(super) fn resume(&mut self, old: &HookBundleStatus) {
        if !std::mem::replace(&mut self.trials.read, true) {
            let lasting = |noted: &&RolloutStatus| [WATCHING, COMPLETE, ROLLED_BACK].contains(&noted.phase.as_str());
            self.trials.shown = old.rollout.as_ref().filter(lasting).cloned();
        }
    }

    /// Nothing is on trial any more.
    pub(super) fn end_trial(&mut self, of: &BundleRef<'_>, context: &Context<'_>) {
        if self.trials.trial.take().is_some() {
            context.installer.end_shadow(&of.id());
        }
        self.trials.shown.take_if(|shown| [COMPARING, HELD_BACK].contains(&shown.phase.as_str()));
    }

    /// Watches a version that took over. If it fails more than the one before, that one comes back.
    pub(super) async fn watch_over(&mut self, of: &BundleRef<'_>, context: &Context<'_>) {
        let Some(rollout) = &of.spec.rollout else {
            self.end_trial(of, context);
            (self.trials.watch, self.trials.shown) = (None, None);
            return;
        };
        let running = self.running.as_ref().map(|running| running.version.digest.clone());
        let now = || Tally::of(&context.installer.states(&of.id()));
        if self.trials.watch.is_none()
            && let Some(shown) = self.trials.shown.as_ref().filter(|shown| shown.phase == WATCHING)
            && running.as_ref() == Some(&shown.digest)
            && let Some(previous) = shown.previous.clone()
        {
            let known = |count: i64| u64::try_from(count).unwrap_or_default();
            let before = Tally { runs: known(shown.previous_runs), failures: known(shown.previous_failures) };
            let (digest, began, start) = (shown.digest.clone(), Instant::now(), now());
            self.trials.watch = Some(Watch { digest, began, before, start, previous, version: None });
        }
        // Another version took its place.
        let other = |digest: &str| running.as_ref().is_some_and(|running| running != digest);
        self.trials.watch.take_if(|watch| other(&watch.digest));
        self.trials.shown.take_if(|shown| shown.phase == WATCHING && other(&shown.digest));
        let Some(watch) = &self.trials.watch else { return };
        if running.is_none() || of.spec.suspend {
            return;
        }
        let since = now().since(watch.start);
        let (elapsed, before) = (watch.began.elapsed(), watch.before);
        if let Some(shown) = &mut self.trials.shown {
            (shown.runs, shown.failures) = (count(since.runs), count(since.failures));
        }
        match rollout::watch(rollout, elapsed, before, since) {
            Watched::Watch => {}
            Watched::Stay => {
                self.trials.watch = None;
                self.trials.show(COMPLETE, None);
            }
            Watched::Back => self.go_back(of, context).await,
        }
    }

    async fn go_back(&mut self, of: &BundleRef<'_>, context: &Context<'_>) {
        let Some(watch) = self.trials.watch.take() else { return };
        let digest = watch.previous.digest.clone();
        let version = match watch.version.clone() {
            Some(version) => Some(version),
            None => match self.ask(of, &digest, context) {
                Some(Err(problem)) => {
                    self.refused = Some(problem);
                    None
                }
                answer => answer.and_then(Result::ok),
            },
        };
        let back = match version {
            Some(version) => self.install(of, version, context).await,
            None => false,
        };
        if !back {
            self.trials.watch = Some(watch);
            return;
        }
        if let Some(shown) = &mut self.trials.shown {
            let RolloutStatus { version, runs, failures, previous_runs, previous_failures, .. } = &*shown;
            let message = format!(
                "{failures} of {runs} runs of {version} failed, and {previous_failures} of {previous_runs} of {} before",
                watch.previous.version
            );
            warn!(bundle = %of.id(), message, "the new version was rolled back");
            shown.observed_generation = Some(of.generation);
            (shown.phase, shown.message) = (ROLLED_BACK.to_owned(), Some(message));
        }
    }

    /// Tries a new version out beside the running one. Returns whether it took over.
    pub(super) async fn try_out(
        &mut self,
        of: &BundleRef<'_>,
        rollout: &Rollout,
        digest: &str,
        context: &Context<'_>,
    ) -> bool {
        if self.trials.refuses(digest, rollout, of.generation) {
            self.end_trial(of, context);
            return false;
        }
        let Some(version) = self.version(of, digest, context) else { return false };
        let Some(Running { version: other, .. }) = &self.running else { return false };
        let other = other.clone();
        let wanted = version.installation(of.namespace, of.name, of.spec, context.confined);
        let same = |trial: &Trial| trial.wanted == wanted && trial.against == other.digest;
        if !self.trials.trial.as_ref().is_some_and(same)
            && !self.begin_trial(of, (&version, &wanted), &other, context).await
        {
            return false;
        }
        let Some(trial) = &mut self.trials.trial else { return false };
        let Some(comparison) = trial.ended.clone().or_else(|| context.installer.comparison(&of.id())) else {
            // The bundle was removed, or the version was replaced: it begins again.
            self.trials.trial = None;
            return false;
        };
        let verdict = rollout::judge(rollout, digest, trial.began.elapsed(), &comparison);
        if let Some(shown) = &mut self.trials.shown {
            shown.hooks = rollout::shown(&comparison);
            shown.not_compared.clone_from(&comparison.not_compared);
        }
        match verdict {
            Verdict::Compare if trial.ended.is_some() => {
                // More was asked for since then.
                self.trials.trial = None;
                false
            }
            Verdict::Compare => {
                self.trials.show(COMPARING, None);
                false
            }
            Verdict::Hold(text) => {
                if trial.ended.replace(comparison).is_none() {
                    context.installer.end_shadow(&of.id());
                }
                self.trials.show(HELD_BACK, Some(text));
                false
            }
            Verdict::TakeOver => {
                let before = Tally::of(&context.installer.states(&of.id())).since(trial.before);
                trial.ended = Some(comparison);
                context.installer.end_shadow(&of.id());
                let digest = version.digest.clone();
                if !self.install(of, version, context).await {
                    return false;
                }
                if let Some(shown) = &mut self.trials.shown {
                    (shown.previous_runs, shown.previous_failures) = (count(before.runs), count(before.failures));
                }
                self.trials.trial = None;
                self.trials.show(WATCHING, None);
                let start = Tally::of(&context.installer.states(&of.id()));
                let (began, previous) = (Instant::now(), available(&other));
                self.trials.watch = Some(Watch { digest, began, before, start, previous, version: Some(other) });
                true
            }
        }
    }

    async fn begin_trial(
        &mut self,
        of: &BundleRef<'_>,
        (version, wanted): (&Version, &Installation),
        other: &Version,
        context: &Context<'_>,
    ) -> bool {
        self.end_trial(of, context);
        let Some(times) = self.may_try(of, version, wanted) else { return false };
        let Some(_turn) = context.turn(of).await else {
            self.turned_away = true;
            return false;
        };
        if let Err(error) = context.installer.shadow(wanted.clone()).await {
            self.not_installed(wanted.clone(), version.label.clone(), &error, times);
            return false;
        }
        self.failed.remove(&wanted.digest);
        self.trials.watch = None;
        self.trials.shown = Some(RolloutStatus {
            digest: version.digest.clone(),
            version: version.label.clone(),
            phase: COMPARING.to_owned(),
            previous: Some(available(other)),
            ..RolloutStatus::default()
        });
        self.trials.trial = Some(Trial {
            wanted: wanted.clone(),
            against: other.digest.clone(),
            began: Instant::now(),
            before: Tally::of(&context.installer.states(&of.id())),
            ended: None,
        });
        true
    }
}
