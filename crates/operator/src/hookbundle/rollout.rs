//! What becomes of a new version on trial, from its comparison with the running one, and of one that took over, from how
//! often it fails. Pure.

use std::time::Duration;

use boathook_core::model::{Comparison, HookState, parse_duration};

use super::{Approval, HookRollout, Rollout};

/// So many failures show that a version fails. One alone may have a passing reason.
const FAILURES: u64 = 3;
/// A version with a few failures is watched for so many times as many runs.
const DOUBT: u64 = 10;
/// How many reasons a message has.
const SHOWN: usize = 4;

/// What becomes of a version on trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The comparison goes on.
    Compare,
    TakeOver,
    /// It waits for a yes, for this reason.
    Hold(String),
}

/// What becomes of a version that took over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    /// It is watched.
    Watch,
    /// It stays.
    Stay,
    /// The version before comes back.
    Back,
}

/// Runs of a bundle's hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub runs: u64,
    pub failures: u64,
}

impl Tally {
    pub fn of(states: &[HookState]) -> Self {
        states.iter().fold(Self::default(), |sum, state| Self {
            runs: sum.runs.saturating_add(state.runs),
            failures: sum.failures.saturating_add(state.failures),
        })
    }

    /// The runs since then. Counts begin again with a hook that was removed.
    pub fn since(self, then: Self) -> Self {
        Self { runs: self.runs.saturating_sub(then.runs), failures: self.failures.saturating_sub(then.failures) }
    }

    /// Whether a larger share of the runs failed.
    fn fails_more_than(self, other: Self) -> bool {
        let share = |one: u64, of: u64| u128::from(one) * u128::from(of);
        other.runs == 0 || share(self.failures, other.runs) > share(other.failures, self.runs)
    }
}

impl Rollout {
    /// How long a trial lasts at least.
    fn lasts(&self) -> Duration {
        self.duration.as_deref().and_then(parse_duration).unwrap_or_default()
    }

    /// How many runs of each hook it compares at least. Without one, nothing is known.
    fn least(&self) -> u64 {
        self.runs.map_or(1, u64::from).max(1)
    }
}

/// Decides about a version on trial. It takes over by itself only if each run was equal and everything was compared.
pub(super) fn judge(rollout: &Rollout, digest: &str, elapsed: Duration, comparison: &Comparison) -> Verdict {
    if rollout.approved_digest.as_deref() == Some(digest) {
        return Verdict::TakeOver;
    }
    let enough = comparison.hooks.iter().all(|hook| hook.compared() >= rollout.least());
    if !enough || elapsed < rollout.lasts() {
        return Verdict::Compare;
    }
    let runs: u64 = comparison.hooks.iter().map(|hook| hook.compared()).sum();
    let different: u64 = comparison.hooks.iter().map(|hook| hook.different).sum();
    if different > 0 {
        let examples =
            comparison.hooks.iter().filter_map(|hook| Some(format!("hook {}: {}", hook.name, hook.example.as_ref()?)));
        let examples: Vec<_> = examples.take(SHOWN).collect();
        return Verdict::Hold(format!("{different} of {runs} runs differ; {}", examples.join("; ")));
    }
    if !comparison.not_compared.is_empty() {
        let reasons = &comparison.not_compared;
        let more =
            Some(reasons.len().saturating_sub(SHOWN)).filter(|more| *more > 0).map(|more| format!("{more} more"));
        let text: Vec<_> = reasons.iter().take(SHOWN).cloned().chain(more).collect();
        let text = text.join("; ");
        return Verdict::Hold(format!("{runs} runs are equal, and not everything was compared: {text}"));
    }
    match rollout.approval {
        Approval::Automatic => Verdict::TakeOver,
        Approval::Manual => Verdict::Hold(format!("{runs} runs are equal")),
    }
}

/// Decides about a version that took over: `before` are the runs of the other version during the trial, and `now` are its own.
pub(super) fn watch(rollout: &Rollout, elapsed: Duration, before: Tally, now: Tally) -> Watched {
    if now.failures >= FAILURES && now.fails_more_than(before) {
        return Watched::Back;
    }
    // With fewer runs, there cannot be so many failures.
    let enough = now.runs >= rollout.least().max(FAILURES);
    // If it may be failing, it is watched for longer.
    let doubtful = now.failures > 0 && now.fails_more_than(before);
    let enough = enough && (!doubtful || now.runs >= rollout.least().max(FAILURES).saturating_mul(DOUBT));
    if enough && elapsed >= rollout.lasts() { Watched::Stay } else { Watched::Watch }
}

/// The comparison, for a status.
pub(super) fn shown(comparison: &Comparison) -> Vec<HookRollout> {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let each = comparison.hooks.iter().map(|hook| HookRollout {
        name: hook.name.to_string(),
        equal: count(hook.equal),
        different: count(hook.different),
        skipped: count(hook.skipped),
        example: hook.example.clone(),
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use boathook_core::model::{HookComparison, HookName};
    use serde_json::{Value, json};

    use super::*;

    fn rollout(more: Value) -> Rollout {
        let mut rollout = json!({"strategy": "Shadow"});
        rollout.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(rollout).unwrap()
    }

    fn comparison(hooks: &[(u64, u64)]) -> Comparison {
        let hook = |(n, (equal, different)): (usize, &(u64, u64))| HookComparison {
            name: HookName::new(&format!("h{n}")).unwrap(),
            equal: *equal,
            different: *different,
            skipped: 7,
            example: (*different > 0).then(|| "delete v1 Pod n/a is new".to_owned()),
        };
        Comparison {
            digest: "b".to_owned(),
            hooks: hooks.iter().enumerate().map(hook).collect(),
            not_compared: Vec::new(),
        }
    }

    const MINUTE: Duration = Duration::from_secs(60);

    // mutant: crates/operator/src/hookbundle/rollout.rs: `if different > 0 {` => `if false {`
    // mutant: crates/operator/src/hookbundle/rollout.rs: `if !comparison.not_compared.is_empty() {` => `if false {`
    #[test]
    fn a_version_takes_over_by_itself_only_if_all_of_it_is_equal() {
        let runs = rollout(json!({"runs": 3}));
        let of = |hooks: &[(u64, u64)]| judge(&runs, "b", Duration::ZERO, &comparison(hooks));
        assert_eq!(of(&[(2, 0)]), Verdict::Compare);
        assert_eq!(of(&[(3, 0), (2, 0)]), Verdict::Compare, "each hook counts");
        assert_eq!(of(&[(3, 0), (3, 0)]), Verdict::TakeOver);
        assert_eq!(of(&[]), Verdict::TakeOver, "all components are the same");
        assert_eq!(of(&[(0, 2)]), Verdict::Compare);
        let held = "1 of 4 runs differ; hook h0: delete v1 Pod n/a is new";
        assert_eq!(of(&[(3, 1)]), Verdict::Hold(held.to_owned()));
        let partly = Comparison { not_compared: vec!["hook x is new".to_owned(); 6], ..comparison(&[(3, 0)]) };
        let Verdict::Hold(text) = judge(&runs, "b", Duration::ZERO, &partly) else { panic!() };
        assert!(text.starts_with("3 runs are equal, and not everything was compared: hook x is new; "), "{text}");
        assert!(text.ends_with("; 2 more"), "{text}");
    }

    #[test]
    fn a_trial_lasts_for_a_time_and_at_least_one_run() {
        let minute = rollout(json!({"duration": "1m"}));
        let of = |elapsed, hooks: &[(u64, u64)]| judge(&minute, "b", elapsed, &comparison(hooks));
        assert_eq!(of(MINUTE / 2, &[(9, 0)]), Verdict::Compare);
        assert_eq!(of(MINUTE, &[(1, 0)]), Verdict::TakeOver);
        assert_eq!(of(MINUTE * 9, &[(1, 0), (0, 0)]), Verdict::Compare, "one hook never ran");
        let both = rollout(json!({"duration": "1m", "runs": 2}));
        assert_eq!(judge(&both, "b", MINUTE, &comparison(&[(1, 0)])), Verdict::Compare);
    }

    #[test]
    fn a_yes_names_the_version() {
        let manual = |digest: Option<&str>| rollout(json!({"runs": 1, "approval": "Manual", "approvedDigest": digest}));
        let different = comparison(&[(0, 1)]);
        assert_eq!(judge(&manual(None), "b", MINUTE, &comparison(&[(1, 0)])), Verdict::Hold("1 runs are equal".into()));
        assert_eq!(judge(&manual(Some("b")), "b", Duration::ZERO, &different), Verdict::TakeOver);
        assert!(matches!(judge(&manual(Some("a")), "b", MINUTE, &different), Verdict::Hold(_)));
    }

    // mutant: crates/operator/src/hookbundle/rollout.rs: `now.failures >= FAILURES && now.fails_more_than(before)` => `false`
    #[test]
    fn a_version_that_fails_more_goes_back() {
        let tally = |runs, failures| Tally { runs, failures };
        let runs = rollout(json!({"runs": 5}));
        let of = |before, now| watch(&runs, Duration::ZERO, before, now);
        assert_eq!(of(tally(10, 0), tally(2, 2)), Watched::Watch, "it may pass");
        assert_eq!(of(tally(10, 0), tally(3, 3)), Watched::Back);
        assert_eq!(of(tally(10, 0), tally(100, 3)), Watched::Back);
        assert_eq!(of(tally(0, 0), tally(100, 3)), Watched::Back);
        assert_eq!(of(tally(10, 5), tally(10, 5)), Watched::Stay, "no more than before");
        assert_eq!(of(tally(10, 5), tally(10, 6)), Watched::Back);
        assert_eq!(of(tally(10, 0), tally(5, 1)), Watched::Watch, "it may fail again");
        assert_eq!(of(tally(10, 0), tally(50, 1)), Watched::Stay);
        assert_eq!(of(tally(0, 0), tally(5, 0)), Watched::Stay);
        assert_eq!(of(tally(10, 0), tally(4, 0)), Watched::Watch);
        let minute = rollout(json!({"duration": "1m"}));
        assert_eq!(watch(&minute, MINUTE / 2, tally(1, 0), tally(9, 0)), Watched::Watch);
        assert_eq!(watch(&minute, MINUTE, tally(1, 0), tally(2, 2)), Watched::Watch);
        assert_eq!(watch(&minute, MINUTE, tally(1, 0), tally(3, 0)), Watched::Stay);
        assert_eq!(tally(5, 4).since(tally(3, 9)), tally(2, 0));
    }
}
