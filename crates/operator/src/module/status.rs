//! The status of a Module, from what is known about it, and the Events that its changes cause. Pure.

use boathook_modules::life::Report;

use super::ModuleStatus;
use crate::{
    hookbundle::{Condition, Problem, cut},
    status_event::StatusEvent,
};

const READY: &str = "Ready";
const RECONCILING: &str = "Reconciling";
const STALLED: &str = "Stalled";
const FETCHED: &str = "Fetched";
const CONFIGURED: &str = "Configured";

/// Everything that a status is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub generation: i64,
    /// It is being deleted.
    pub deleting: bool,
    /// What `spec.enabled` says, and a source.
    pub wanted: Option<bool>,
    /// What the module does. `None`: nothing is known of a module with this name.
    pub report: Option<&'a Report>,
    /// Why the settings were not taken.
    pub settings: Option<&'a str>,
    /// The module has a source.
    pub sourced: bool,
    /// Why the version that the spec names is not the one that runs, or was not found at the last look.
    pub source: Option<&'a Problem>,
    /// What runs is what this spec names.
    pub current: bool,
    pub version: Option<&'a str>,
    pub digest: Option<&'a str>,
    pub revision: Option<u64>,
    /// In RFC 3339.
    pub now: &'a str,
}

/// The status, reason and message of one condition.
struct Says(bool, String, String);

impl Says {
    fn of(holds: bool, reason: &str, message: impl Into<String>) -> Self {
        Self(holds, reason.to_owned(), message.into())
    }
}

/// Makes the new status.
pub(crate) fn status(facts: &Facts<'_>, old: &ModuleStatus) -> ModuleStatus {
    let (ready, stalled) = ready(facts);
    let reconciling = reconciling(facts, &ready);
    let fetched = facts.sourced.then(|| match facts.source {
        None if facts.current => Says::of(true, "Fetched", format!("{} is used", facts.digest.unwrap_or_default())),
        None => Says::of(false, "Fetching", "the version is being fetched"),
        Some(problem) => Says::of(false, problem.reason, problem.message.clone()),
    });
    let configured = match facts.settings {
        None => Says::of(true, "SettingsValid", "the module's schema has nothing against the settings"),
        Some(why) => Says::of(false, "SettingsRefused", format!("{why}; the settings stay as they were")),
    };
    let all = [
        (READY, Some(ready)),
        (RECONCILING, Some(reconciling)),
        (STALLED, Some(stalled)),
        (FETCHED, fetched),
        (CONFIGURED, Some(configured)),
    ];
    // A version that does not run in this process may come back, so the status keeps it.
    let old_version = facts.sourced && facts.digest.is_none() && !facts.deleting;
    let kept = |new: Option<String>, old: &Option<String>| if old_version { old.clone() } else { new };
    let made = all.into_iter().filter_map(|(type_, says)| Some(condition(type_, says?, facts, &old.conditions)));
    ModuleStatus {
        observed_generation: Some(facts.generation),
        state: facts.report.map(|report| state(report.at)),
        enabled: facts.report.and_then(|report| report.on),
        version: kept(facts.version.map(str::to_owned), &old.version),
        digest: kept(facts.digest.map(str::to_owned), &old.digest),
        revision: facts.revision.map(|revision| i64::try_from(revision).unwrap_or(i64::MAX)),
        conditions: made.collect(),
    }
}

fn state(at: &str) -> String {
    match at {
        "ready" => "Ready".to_owned(),
        "off" => "Off".to_owned(),
        step => step.to_owned(),
    }
}

/// A transition time changes only with its status.
fn condition(type_: &str, says: Says, facts: &Facts<'_>, old: &[Condition]) -> Condition {
    let Says(holds, reason, message) = says;
    let status = if holds { "True" } else { "False" };
    let since = found(old, type_).filter(|old| old.status == status).map(|old| old.last_transition_time.clone());
    Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        observed_generation: Some(facts.generation),
        last_transition_time: since.unwrap_or_else(|| facts.now.to_owned()),
        reason,
        message: cut(message),
    }
}

fn found<'a>(all: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    all.iter().find(|condition| condition.type_ == type_)
}

/// The conditions `Ready` and `Stalled`.
fn ready(facts: &Facts<'_>) -> (Says, Says) {
    let moves = || Says::of(false, "Progressing", "another try follows by itself, or nothing is to be done");
    let stuck = |reason: &str, why: &str| (Says::of(false, reason, why), Says::of(true, reason, why));
    if facts.deleting {
        return (Says::of(false, "Deleting", deleting(facts)), moves());
    }
    if let Some(why) = facts.settings {
        return stuck("SettingsRefused", why);
    }
    match facts.source {
        Some(problem) if !facts.current && problem.refused => return stuck(problem.reason, &problem.message),
        Some(problem) if !facts.current => return (Says::of(false, problem.reason, problem.message.clone()), moves()),
        _ => {}
    }
    if facts.sourced && !facts.current {
        return (Says::of(false, "Fetching", "the version is being fetched"), moves());
    }
    let Some(report) = facts.report else {
        return stuck(
            "NotFound",
            "no directory of the operator has a module with this name: correct the name, or set spec.source",
        );
    };
    if is_held(report) {
        return stuck("Paused", &format!("its maintenance is Paused: it stays before the step {}", report.at));
    }
    if let Some(error) = &report.error {
        let reason = format!("{}Failed", state(report.at));
        return match report.refused {
            true => stuck(&reason, error),
            false => (Says::of(false, &reason, error.clone()), moves()),
        };
    }
    let off = report.on == Some(false);
    match (report.at, &report.waits) {
        ("ready", _) if report.on == Some(true) => {
            (Says::of(true, "Ready", format!("the module is on: {}", report.why)), moves())
        }
        ("off", _) if off && facts.wanted == Some(true) => stuck("NotEnabled", &report.why),
        ("off", _) if off => (Says::of(true, "Disabled", format!("the module is off: {}", report.why)), moves()),
        (_, Some(waits)) => (Says::of(false, "Waiting", format!("waits for {waits}")), moves()),
        (_, None) if report.on.is_none() => (Says::of(false, "Undecided", report.why.clone()), moves()),
        (at, None) => (Says::of(false, &state(at), format!("the step {at} runs")), moves()),
    }
}

/// Whether a step comes next that does not begin, because the module is paused.
fn is_held(report: &Report) -> bool {
    report.paused && !matches!(report.at, "ready" | "off")
}

fn deleting(facts: &Facts<'_>) -> String {
    let Some(report) = facts.report else { return "nothing of it is left".to_owned() };
    let step = format!("the step {} goes on", report.at);
    let waits = report.waits.as_ref().map(|waits| format!("waits for {waits}"));
    report.error.clone().or(waits).unwrap_or(step)
}

fn reconciling(facts: &Facts<'_>, ready: &Says) -> Says {
    let Says(ready, reason, message) = ready;
    let fetches = facts.sourced && !facts.current && facts.source.is_none_or(|problem| !problem.refused);
    let moves = |report: &Report| !report.refused && !is_held(report) && !matches!(report.at, "ready" | "off");
    let steps = facts.report.is_some_and(moves);
    match !ready && (fetches || steps || facts.deleting) {
        true => Says::of(true, reason, message.clone()),
        false => Says::of(false, "Settled", "nothing is under way"),
    }
}

/// Lists the Events that a change of status causes. A state that did not change causes no further Event.
pub(crate) fn status_events(old: &ModuleStatus, new: &ModuleStatus) -> Vec<StatusEvent> {
    let mut events = Vec::new();
    if let (before, Some(after)) = (&old.digest, &new.digest)
        && before.as_ref() != Some(after)
    {
        let version = new.version.as_ref().map(|version| format!("version {version}, ")).unwrap_or_default();
        let (reason, what) = if before.is_some() { ("Upgraded", "takes over") } else { ("Fetched", "is there") };
        events.push(StatusEvent::normal(reason, "Fetch", format!("{version}{after} {what}")));
    }
    // Steps that follow each other are no news. Reasons of failures end so.
    let is_news = |reason: &str| !matches!(reason, "Waiting" | "Undecided" | "Fetching" | "Deleting" | "NotFound");
    let steps = ["Start", "BeforeHelm", "Chart", "AfterHelm", "BeforeDeleteHelm", "Delete", "AfterDeleteHelm", "Stop"];
    for (type_, action) in [(CONFIGURED, "Configure"), (FETCHED, "Fetch"), (READY, "Reconcile")] {
        let Some(now) = found(&new.conditions, type_) else { continue };
        let before = found(&old.conditions, type_);
        let same = before.is_some_and(|before| (&before.status, &before.reason) == (&now.status, &now.reason));
        if same || !is_news(&now.reason) || steps.contains(&now.reason.as_str()) {
            continue;
        }
        // What another condition says already is not said twice.
        if type_ == READY && [CONFIGURED, FETCHED].iter().any(|other| says(new, other, &now.reason)) {
            continue;
        }
        match now.status == "True" {
            true if type_ == READY => events.push(StatusEvent::normal(&now.reason, action, now.message.clone())),
            true => {}
            false => events.push(StatusEvent::warning(&now.reason, action, &now.message)),
        }
    }
    events
}

fn says(status: &ModuleStatus, type_: &str, reason: &str) -> bool {
    found(&status.conditions, type_).is_some_and(|one| one.status == "False" && one.reason == reason)
}

#[cfg(test)]
mod tests {
    use boathook_modules::life::Subject;

    use super::*;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn report(at: &'static str, on: Option<bool>) -> Report {
        Report {
            subject: Subject::Module("web".parse().unwrap()),
            on,
            why: "the Module web".to_owned(),
            at,
            waits: None,
            error: None,
            failures: 0,
            refused: false,
            paused: false,
        }
    }

    fn facts(report: Option<&Report>) -> Facts<'_> {
        Facts {
            generation: 3,
            deleting: false,
            wanted: Some(true),
            report,
            settings: None,
            sourced: false,
            source: None,
            current: true,
            version: Some("1.0.0"),
            digest: None,
            revision: Some(2),
            now: NOW,
        }
    }

    /// `Ready True Ready; Stalled False`
    fn shown(status: &ModuleStatus) -> String {
        let of = |type_: &str| found(&status.conditions, type_).map(|one| format!("{} {}", one.status, one.reason));
        [READY, RECONCILING, STALLED].map(|type_| of(type_).unwrap()).join(" / ")
    }

    #[test]
    fn conditions_say_what_a_module_does_and_what_stands_in_the_way() {
        let error = |report: Report, refused| Report { error: Some("hook main.web: no".into()), refused, ..report };
        let paused = |report: Report| Report { paused: true, ..report };
        let waits = |report: Report| Report { waits: Some("the module db".into()), ..report };
        for (report, wanted) in [
            (report("ready", Some(true)), "True Ready / False Settled / False Progressing"),
            (report("off", Some(false)), "False NotEnabled / False Settled / True NotEnabled"),
            (report("Chart", Some(true)), "False Chart / True Chart / False Progressing"),
            (waits(report("Start", Some(true))), "False Waiting / True Waiting / False Progressing"),
            (
                error(report("BeforeHelm", Some(true)), false),
                "False BeforeHelmFailed / True BeforeHelmFailed / False Progressing",
            ),
            (paused(error(report("Chart", Some(true)), false)), "False Paused / False Settled / True Paused"),
            (paused(report("ready", Some(true))), "True Ready / False Settled / False Progressing"),
            (error(report("Chart", Some(true)), true), "False ChartFailed / False Settled / True ChartFailed"),
        ] {
            let status = status(&facts(Some(&report)), &ModuleStatus::default());
            assert_eq!(shown(&status), wanted, "{report:?}");
            assert_eq!((status.observed_generation, status.revision), (Some(3), Some(2)));
        }
        let off = report("off", Some(false));
        let disabled = status(&Facts { wanted: Some(false), ..facts(Some(&off)) }, &ModuleStatus::default());
        assert_eq!(shown(&disabled), "True Disabled / False Settled / False Progressing");
        let missing = status(&facts(None), &ModuleStatus::default());
        assert_eq!(shown(&missing), "False NotFound / False Settled / True NotFound");
    }

    #[test]
    fn a_source_that_fails_does_not_make_a_running_module_unready() {
        let report = report("ready", Some(true));
        let problem = Problem::passing("RegistryUnavailable", "no route to host");
        let runs = Facts { sourced: true, source: Some(&problem), digest: Some("sha256:a"), ..facts(Some(&report)) };
        let now = status(&runs, &ModuleStatus::default());
        assert_eq!(shown(&now), "True Ready / False Settled / False Progressing");
        assert!(says(&now, FETCHED, "RegistryUnavailable"));
        // Another spec names a version that is not there.
        let other = status(&Facts { current: false, ..runs }, &now);
        assert_eq!(shown(&other), "False RegistryUnavailable / True RegistryUnavailable / False Progressing");
        let refused = Problem::refused("Unsigned", "no signature");
        let other = status(&Facts { current: false, source: Some(&refused), ..runs }, &now);
        assert_eq!(shown(&other), "False Unsigned / False Settled / True Unsigned");
    }

    #[test]
    fn settings_that_are_refused_stall_the_module() {
        let report = report("ready", Some(true));
        let now = status(
            &Facts { settings: Some("web.port: want integer"), ..facts(Some(&report)) },
            &ModuleStatus::default(),
        );
        assert_eq!(shown(&now), "False SettingsRefused / False Settled / True SettingsRefused");
        let reasons: Vec<_> = status_events(&ModuleStatus::default(), &now).into_iter().map(|one| one.reason).collect();
        assert_eq!(reasons, ["SettingsRefused"], "it is said once");
    }

    #[test]
    fn transitions_are_events_and_steps_are_not() {
        let (chart, ready) = (report("Chart", Some(true)), report("ready", Some(true)));
        let broken = Report { error: Some("no".into()), ..chart.clone() };
        let first = status(&facts(Some(&chart)), &ModuleStatus::default());
        assert_eq!(status_events(&ModuleStatus::default(), &first), []);
        let failed = status(&facts(Some(&broken)), &first);
        let events = status_events(&first, &failed);
        assert_eq!((events.len(), events[0].warning, &*events[0].reason), (1, true, "ChartFailed"));
        assert_eq!(status_events(&failed, &status(&facts(Some(&broken)), &failed)), []);
        let well = status(&Facts { now: "2026-01-02T03:04:06Z", ..facts(Some(&ready)) }, &failed);
        assert_eq!(&*status_events(&failed, &well)[0].reason, "Ready");
        assert_eq!(well.conditions[0].last_transition_time, "2026-01-02T03:04:06Z");
        assert_eq!(well.conditions[2].last_transition_time, NOW, "Stalled has not changed");
    }
}
