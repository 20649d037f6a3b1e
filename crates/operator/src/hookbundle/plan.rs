//! What to do about a bundle, given its spec and what is known about it. Pure.

use std::time::{Duration, Instant};

use boathook_core::model::{BundleNews, parse_duration};

use super::{Approval, HookBundleSpec, problem::Problem};

/// How often a tag is looked up if the spec does not say.
const INTERVAL: Duration = Duration::from_secs(300);
/// The wait after a lookup or an installation that failed. It doubles each time.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LAST_RETRY: Duration = Duration::from_secs(300);
/// Waits are longer by up to this share, so that many bundles do not reach a registry at once.
const JITTER: f64 = 0.1;

/// The last lookup of a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Looked {
    /// The generation of the spec.
    pub generation: i64,
    pub at: Instant,
    /// The number of lookups in a row that failed.
    pub failures: u32,
    /// A random number from 0 to 1 for each lookup.
    pub chance: f64,
}

/// When to look up the source again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Now,
    At(Instant),
    Never,
}

/// Decides when to look up the source. After a change of the spec it is looked up again, because trust may have
/// changed.
pub(crate) fn due(spec: &HookBundleSpec, generation: i64, looked: Option<&Looked>, now: Instant) -> Due {
    if spec.suspend {
        return Due::Never;
    }
    let Some(looked) = looked.filter(|looked| looked.generation == generation) else { return Due::Now };
    let pause = match (looked.failures, spec.reference_is_pinned()) {
        (0, true) => return Due::Never,
        (0, false) => interval(spec),
        (failures, _) => backoff(failures),
    };
    let at = looked.at + pause.mul_f64(1.0 + JITTER * looked.chance.clamp(0.0, 1.0));
    if at <= now { Due::Now } else { Due::At(at) }
}

fn interval(spec: &HookBundleSpec) -> Duration {
    let text = spec.source.oci.as_ref().and_then(|oci| oci.interval.as_deref());
    text.and_then(parse_duration).unwrap_or(INTERVAL)
}

/// The wait after this number of failures in a row.
pub(super) fn backoff(failures: u32) -> Duration {
    FIRST_RETRY.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LAST_RETRY)
}

/// What is known, by digests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Known<'a> {
    /// The version that runs in this process.
    pub running: Option<&'a str>,
    /// The version that ran when the status was last written, possibly by an earlier process, or what somebody else
    /// wrote there.
    pub recorded: Option<&'a str>,
    /// Whether the recorded version is no longer available.
    pub lost: bool,
    /// The version that the source points to, if it is trusted.
    pub found: Option<&'a str>,
    /// Whether another replica decides what runs.
    pub standby: bool,
}

/// The next action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision<'a> {
    /// Restore the version that ran before this process.
    Restore(&'a str),
    /// Install this version in place of the one that runs.
    Install(&'a str),
    /// The version that runs continues, with the current spec.
    Stay,
    /// Nothing runs, and nothing should.
    Idle,
}

/// Decides the next action. The version that ran is restored before any new version is tried, so that a new version
/// takes over as a whole or not at all.
pub(super) fn decide<'a>(spec: &'a HookBundleSpec, known: Known<'a>) -> Decision<'a> {
    let stay = if known.running.is_some() { Decision::Stay } else { Decision::Idle };
    if spec.suspend {
        return stay;
    }
    let approved = spec.approved_digest.as_deref();
    // A user who may write the status may not be a user who may approve.
    let counts = |recorded: &&str| spec.approval == Approval::Automatic || approved == Some(*recorded);
    let recorded = known.recorded.filter(counts);
    if known.standby {
        return recorded.filter(|recorded| known.running != Some(recorded)).map_or(stay, Decision::Install);
    }
    let target = match spec.approval {
        Approval::Automatic => known.found,
        Approval::Manual => approved,
    };
    match (known.running, recorded, target) {
        // If the source is unavailable, the version comes from the store.
        (None, Some(recorded), _) if known.found != Some(recorded) && !known.lost => Decision::Restore(recorded),
        (_, _, None) => stay,
        (Some(running), _, Some(target)) if running == target => stay,
        (_, _, Some(target)) => Decision::Install(target),
    }
}

/// Whether a trusted version waits for approval.
pub(super) fn awaits_approval(spec: &HookBundleSpec, known: Known<'_>) -> bool {
    spec.approval == Approval::Manual
        && known.found.is_some()
        && known.found != spec.approved_digest.as_deref()
        && known.found != known.running
}

/// What the operator is notified of. A standby settles nothing, because the leader may run a version that it has not
/// reported yet.
pub(super) fn standing(spec: &HookBundleSpec, runs: bool, standby: bool, problem: Option<&Problem>) -> BundleNews {
    match runs {
        false if !spec.suspend => {
            let why = problem.map_or("no version of it runs yet", |problem| &problem.message);
            BundleNews::Missing(why.to_owned())
        }
        _ if standby => BundleNews::Running,
        _ => BundleNews::Settled,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spec(more: serde_json::Value) -> HookBundleSpec {
        let mut spec = json!({"source": {"oci": {"reference": "r.io/a:v1"}}, "verification": {"unsigned": true}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(spec).unwrap()
    }

    fn known<'a>(running: &'a str, recorded: &'a str, found: &'a str) -> Known<'a> {
        let some = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        Known { running: some(running), recorded: some(recorded), found: some(found), ..Known::default() }
    }

    #[test]
    fn what_is_done() {
        use Decision::{Idle, Install, Restore, Stay};
        let automatic = json!({});
        let manual = json!({"approval": "Manual"});
        let approved = json!({"approval": "Manual", "approvedDigest": "b"});
        let suspended = json!({"suspend": true});
        // running, recorded, found
        for (spec_of, (running, recorded, found), wanted) in [
            (&automatic, ("", "", ""), Idle),
            (&automatic, ("", "", "a"), Install("a")),
            (&automatic, ("a", "a", "a"), Stay),
            (&automatic, ("a", "a", "b"), Install("b")),
            (&automatic, ("a", "a", ""), Stay),
            // After a restart.
            (&automatic, ("", "a", "a"), Install("a")),
            (&automatic, ("", "a", "b"), Restore("a")),
            (&automatic, ("", "a", ""), Restore("a")),
            (&manual, ("", "", "a"), Idle),
            (&manual, ("a", "a", "b"), Stay),
            (&approved, ("", "", "a"), Install("b")),
            (&approved, ("a", "a", "c"), Install("b")),
            (&approved, ("b", "b", "c"), Stay),
            (&approved, ("", "b", "b"), Install("b")),
            (&approved, ("", "b", "c"), Restore("b")),
            (&approved, ("", "b", ""), Restore("b")),
            (&suspended, ("", "", "a"), Idle),
            (&suspended, ("", "a", "a"), Idle),
            (&suspended, ("a", "a", "b"), Stay),
        ] {
            let spec = spec(spec_of.clone());
            let got = decide(&spec, known(running, recorded, found));
            assert_eq!(got, wanted, "{spec_of} running {running:?} recorded {recorded:?} found {found:?}");
        }
    }

    // mutant: crates/operator/src/hookbundle/plan.rs: `approved == Some(*recorded)` => `true`
    #[test]
    fn a_status_approves_nothing() {
        let manual = spec(json!({"approval": "Manual"}));
        let approved = spec(json!({"approval": "Manual", "approvedDigest": "b"}));
        for found in ["", "a", "evil"] {
            for standby in [false, true] {
                let forged = Known { standby, ..known("", "evil", found) };
                assert_eq!(decide(&manual, forged), Decision::Idle, "{forged:?}");
                let wanted = if standby { Decision::Idle } else { Decision::Install("b") };
                assert_eq!(decide(&approved, forged), wanted, "{forged:?}");
            }
        }
    }

    #[test]
    fn a_standby_does_as_the_leader_says() {
        use Decision::{Idle, Install, Stay};
        let (automatic, approved) = (json!({}), json!({"approval": "Manual", "approvedDigest": "b"}));
        // running, recorded, found
        for (spec_of, (running, recorded, found), wanted) in [
            (&automatic, ("", "", "a"), Idle),
            (&automatic, ("", "a", "b"), Install("a")),
            (&automatic, ("a", "a", "b"), Stay),
            (&automatic, ("a", "b", "a"), Install("b")),
            (&approved, ("a", "a", "c"), Stay),
            (&json!({"suspend": true}), ("a", "b", "b"), Stay),
        ] {
            let known = Known { standby: true, lost: true, ..known(running, recorded, found) };
            let spec = spec(spec_of.clone());
            let got = decide(&spec, known);
            assert_eq!(got, wanted, "{spec_of} running {running:?} recorded {recorded:?} found {found:?}");
        }
    }

    #[test]
    fn what_is_lost_holds_up_nothing() {
        let known = Known { lost: true, ..known("", "a", "b") };
        assert_eq!(decide(&spec(json!({})), known), Decision::Install("b"));
        assert_eq!(decide(&spec(json!({})), Known { found: None, ..known }), Decision::Idle);
    }

    #[test]
    fn who_waits_for_approval() {
        let manual = spec(json!({"approval": "Manual", "approvedDigest": "a"}));
        assert!(awaits_approval(&manual, known("a", "a", "b")));
        assert!(!awaits_approval(&manual, known("a", "a", "a")));
        assert!(!awaits_approval(&manual, known("", "", "a")));
        assert!(!awaits_approval(&spec(json!({})), known("a", "a", "b")));
        assert!(awaits_approval(&spec(json!({"approval": "Manual"})), known("", "", "a")));
    }

    #[test]
    fn when_the_source_is_looked_at() {
        let start = Instant::now();
        let second = Duration::from_secs(1);
        let looked = Looked { generation: 1, at: start, failures: 0, chance: 0.0 };
        let tag = spec(json!({}));
        assert_eq!(due(&tag, 1, None, start), Due::Now);
        assert_eq!(due(&tag, 2, Some(&looked), start), Due::Now);
        assert_eq!(due(&tag, 1, Some(&looked), start), Due::At(start + INTERVAL));
        assert_eq!(due(&tag, 1, Some(&looked), start + INTERVAL), Due::Now);
        let late = Looked { chance: 1.0, ..looked };
        assert_eq!(due(&tag, 1, Some(&late), start), Due::At(start + INTERVAL.mul_f64(1.1)));
        let failed = Looked { failures: 2, ..looked };
        assert_eq!(due(&tag, 1, Some(&failed), start), Due::At(start + second * 10));
        let often = spec(json!({"source": {"oci": {"reference": "r.io/a:v1", "interval": "1m"}}}));
        assert_eq!(due(&often, 1, Some(&looked), start), Due::At(start + second * 60));
        let digest = format!("r.io/a@sha256:{}", "0".repeat(64));
        let pinned = spec(json!({"source": {"oci": {"reference": digest}}}));
        assert_eq!(due(&pinned, 1, Some(&looked), start), Due::Never);
        assert_eq!(due(&pinned, 1, Some(&failed), start), Due::At(start + second * 10));
        assert_eq!(due(&spec(json!({"suspend": true})), 1, None, start), Due::Never);
    }

    #[test]
    fn pauses_grow_to_a_bound() {
        let pauses: Vec<_> = [1, 2, 3, 7, 8, u32::MAX].map(backoff).iter().map(Duration::as_secs).collect();
        assert_eq!(pauses, [5, 10, 20, 300, 300, 300]);
    }
}
