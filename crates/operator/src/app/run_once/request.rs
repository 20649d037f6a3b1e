//! The event that a hook is to run for, and which of its bindings it concerns. Pure.

use boathook_core::model::{BindingName, HookSpec, KubernetesBinding, ScheduleBinding, StartupBinding, WatchEventKind};
use serde_json::Value;

use super::OnceError;

/// One reason to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The binding's name. If absent, it is the only binding that fits.
    pub binding: Option<String>,
    pub occasion: TriggerRequest,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TriggerRequest {
    /// The first event in the binding's life: a start-up, a tick, or a synchronization.
    Any,
    /// The operator starts.
    Startup,
    /// A schedule fires.
    Schedule,
    /// A binding knows all its objects.
    Synchronization,
    /// Bindings of this group changed.
    Group(String),
    /// An object changes.
    Event {
        kind: WatchEventKind,
        object: Wanted,
        /// The result of the filter, if it is known. Otherwise the filter runs.
        filter_result: Option<Value>,
    },
}

/// The object of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// This object.
    Given(Value),
    /// An object in the cluster.
    Named {
        /// Absent for cluster-scoped objects. Otherwise it defaults to `default`.
        namespace: Option<String>,
        name: String,
    },
}

/// A binding of a hook.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound<'s> {
    Startup(&'s StartupBinding),
    Schedule(&'s ScheduleBinding),
    Kubernetes(&'s KubernetesBinding),
}

/// The name of the start-up binding.
pub(super) const STARTUP: &str = "onStartup";

impl Bound<'_> {
    fn is_called(&self, name: &str) -> bool {
        let is = |binding: &BindingName| binding.as_str() == name || binding.unique() == name;
        match self {
            Self::Startup(_) => name == STARTUP,
            Self::Schedule(binding) => is(&binding.name),
            Self::Kubernetes(binding) => is(&binding.name),
        }
    }

    fn group(&self) -> Option<&str> {
        match self {
            Self::Startup(_) => None,
            Self::Schedule(binding) => binding.group.as_deref(),
            Self::Kubernetes(binding) => binding.group.as_deref(),
        }
    }

    /// Whether the binding never triggers a run, and exists only for its snapshot.
    fn is_silent(&self) -> bool {
        let silent = |binding: &KubernetesBinding| binding.events.is_empty() && !binding.on_synchronization;
        matches!(self, Self::Kubernetes(binding) if silent(binding))
    }

    fn describe(&self) -> String {
        match self {
            Self::Startup(_) => STARTUP.to_owned(),
            Self::Schedule(binding) => format!("{} (schedule)", binding.name),
            Self::Kubernetes(binding) => format!("{} (kubernetes, {})", binding.name, binding.kind),
        }
    }
}

impl TriggerRequest {
    fn happens_to(&self, bound: &Bound<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Startup => matches!(bound, Bound::Startup(_)),
            Self::Schedule => matches!(bound, Bound::Schedule(_)),
            Self::Synchronization | Self::Event { .. } => matches!(bound, Bound::Kubernetes(_)),
            Self::Group(group) => bound.group() == Some(group),
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            Self::Any => "a run",
            Self::Startup => "a start-up",
            Self::Schedule => "a schedule",
            Self::Synchronization => "a synchronization",
            Self::Group(_) => "this group",
            Self::Event { .. } => "an event",
        }
    }
}

impl Asked {
    /// Checks that the hook has such a binding. The error names those that it has.
    pub fn check(&self, spec: &HookSpec) -> Result<(), OnceError> {
        self.bound(spec).map(drop)
    }

    pub(super) fn bound<'s>(&self, spec: &'s HookSpec) -> Result<Bound<'s>, OnceError> {
        let all = all(spec);
        let (hook, what) = (spec.name.clone(), self.occasion.describe());
        let fitting = all.iter().filter(|bound| self.occasion.happens_to(bound));
        let Some(name) = &self.binding else {
            let mut fitting: Vec<_> = fitting.copied().collect();
            if fitting.iter().any(|bound| !bound.is_silent()) {
                fitting.retain(|bound| !bound.is_silent());
            }
            return match fitting.as_slice() {
                [] => Err(OnceError::None { hook, what, has: list(&all) }),
                [bound] => Ok(*bound),
                // Any binding of a group can stand for the group.
                [.., last] if matches!(self.occasion, TriggerRequest::Group(_)) => Ok(*last),
                several => Err(OnceError::Several { hook, has: list(several) }),
            };
        };
        let named: Vec<_> = fitting.filter(|bound| bound.is_called(name)).copied().collect();
        let error = || OnceError::NoBinding { hook, name: name.clone(), what, has: list(&all) };
        named.first().copied().ok_or_else(error)
    }
}

fn all(spec: &HookSpec) -> Vec<Bound<'_>> {
    let startup = spec.on_startup.iter().map(Bound::Startup);
    let schedules = spec.schedules.iter().map(Bound::Schedule);
    startup.chain(schedules).chain(spec.kubernetes.iter().map(Bound::Kubernetes)).collect()
}

fn list(all: &[Bound<'_>]) -> String {
    let names: Vec<_> = all.iter().map(Bound::describe).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use boathook_core::{hooks::parse, model::HookName};

    use super::*;

    fn spec(document: &str) -> HookSpec {
        parse(&HookName::new("h").unwrap(), document, &|_| Ok(())).unwrap()
    }

    fn chosen(spec: &HookSpec, binding: Option<&str>, occasion: TriggerRequest) -> String {
        let asked = Asked { binding: binding.map(str::to_owned), occasion };
        match asked.bound(spec) {
            Ok(bound) => bound.describe(),
            Err(error) => format!("error: {error}"),
        }
    }

    const ALL: &str = r#"{configVersion: v1, onStartup: 1,
      schedule: [{name: tick, crontab: "* * * * *", group: g}],
      kubernetes: [{name: pods, kind: Pod, group: g}, {name: maps, kind: ConfigMap}]}"#;

    #[test]
    fn the_only_binding_that_it_can_be_needs_no_name() {
        let one = spec("{configVersion: v1, kubernetes: [{kind: Pod}]}");
        assert_eq!(chosen(&one, None, TriggerRequest::Any), "kubernetes (kubernetes, Pod)");
        let silent = "{name: teams, kind: Namespace, executeHookOnEvent: [], executeHookOnSynchronization: false}";
        let beside = spec(&format!("{{configVersion: v1, kubernetes: [{silent}, {{name: pods, kind: Pod}}]}}"));
        assert_eq!(chosen(&beside, None, TriggerRequest::Any), "pods (kubernetes, Pod)");
        assert_eq!(chosen(&beside, Some("teams"), TriggerRequest::Any), "teams (kubernetes, Namespace)");
        let alone = spec(&format!("{{configVersion: v1, kubernetes: [{silent}]}}"));
        assert_eq!(chosen(&alone, None, TriggerRequest::Any), "teams (kubernetes, Namespace)");
        let all = spec(ALL);
        assert_eq!(chosen(&all, None, TriggerRequest::Startup), "onStartup");
        assert_eq!(chosen(&all, None, TriggerRequest::Schedule), "tick (schedule)");
        assert_eq!(chosen(&all, None, TriggerRequest::Group("g".to_owned())), "pods (kubernetes, Pod)");
        assert_eq!(chosen(&all, Some("maps"), TriggerRequest::Any), "maps (kubernetes, ConfigMap)");
    }

    #[test]
    fn what_can_not_be_told_names_the_choice() {
        let all = spec(ALL);
        let has = "onStartup, tick (schedule), pods (kubernetes, Pod), maps (kubernetes, ConfigMap)";
        assert_eq!(
            chosen(&all, None, TriggerRequest::Any),
            format!("error: hook h has several bindings; name one of them: {has}")
        );
        assert_eq!(
            chosen(&all, Some("tick"), TriggerRequest::Synchronization),
            format!("error: hook h has no binding \"tick\" for a synchronization; it has {has}")
        );
        let none = spec("{configVersion: v1, onStartup: 1}");
        assert_eq!(
            chosen(&none, None, TriggerRequest::Schedule),
            "error: hook h has no binding for a schedule; it has onStartup"
        );
    }
}
