//! The kinds from discovery, and their names. Pure. The plural of an unknown kind follows the rule that Kubernetes uses
//! for most of its own kinds.

use boathook_core::model::{Resource, plural};

/// A served kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedKind {
    /// `v1`, `apps/v1`.
    pub api_version: String,
    /// `Pod`.
    pub kind: String,
    /// `pods`.
    pub plural: String,
    /// `pod`.
    pub singular: String,
    /// `po`.
    pub short_names: Vec<String>,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
    /// `status`, `eviction`, …
    pub subresources: Vec<String>,
}

impl ServedKind {
    /// Empty for the core group.
    pub fn group(&self) -> &str {
        group(&self.api_version)
    }
}

/// The API group of an apiVersion.
pub(super) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// All known kinds. The core group is first, and each group begins with its preferred version.
#[derive(Debug, Clone, Default)]
pub struct Kinds(Vec<ServedKind>);

/// The resource of a binding's kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub group: String,
    pub plural: String,
    pub namespaced: bool,
    /// The kind is unknown, and its plural is guessed.
    pub guessed: bool,
}

impl Kinds {
    /// The kinds must be in the order of discovery.
    pub fn new(kinds: Vec<ServedKind>) -> Self {
        Self(kinds)
    }

    /// The kind that a binding names by kind, plural, singular or short name in any letter case, as the operator finds
    /// it. For an unknown kind of a known group, the plural is guessed.
    pub(super) fn find(&self, api_version: Option<&str>, name: &str) -> Option<Found> {
        let called = |kind: &&ServedKind| {
            [&kind.kind, &kind.plural, &kind.singular].into_iter().any(|own| own.eq_ignore_ascii_case(name))
        };
        let short = |kind: &&ServedKind| kind.short_names.iter().any(|own| own.eq_ignore_ascii_case(name));
        let served = || self.0.iter().filter(|kind| api_version.is_none_or(|wanted| kind.api_version == wanted));
        if let Some(kind) = served().find(called).or_else(|| served().find(short)) {
            return Some(Found {
                group: kind.group().to_owned(),
                plural: kind.plural.clone(),
                namespaced: kind.namespaced,
                guessed: false,
            });
        }
        let group = group(api_version?).to_owned();
        Some(Found { group, plural: plural(name), namespaced: true, guessed: true })
    }

    /// The kind that a person names as kubectl does: like `find`, and also `deployments.apps` and
    /// `deployments.v1.apps`. None if it is not known.
    pub fn named(&self, name: &str, api_version: Option<&str>) -> Option<Resource> {
        let (name, group) =
            name.split_once('.').filter(|_| api_version.is_none()).map_or((name, None), |(name, rest)| {
                let version = rest.split_once('.').filter(|(version, _)| is_version(version));
                (name, Some(version.map_or(rest, |(_, group)| group)))
            });
        let called = |own: &String| own.eq_ignore_ascii_case(name);
        let served = || {
            self.0.iter().filter(|kind| {
                api_version.is_none_or(|wanted| kind.api_version == wanted)
                    && group.is_none_or(|group| kind.group() == group)
            })
        };
        let kind = served()
            .find(|kind| [&kind.kind, &kind.plural, &kind.singular].into_iter().any(called))
            .or_else(|| served().find(|kind| kind.short_names.iter().any(called)))?;
        Some(Resource::of(&kind.api_version, &kind.kind, &kind.plural, kind.namespaced))
    }

    /// Group and plural of an object's kind. The plural of an unknown kind is guessed.
    pub(super) fn resource(&self, api_version: &str, kind: &str) -> (String, String) {
        let known = self.0.iter().find(|served| served.api_version == api_version && served.kind == kind);
        let plural = known.map_or_else(|| plural(kind), |served| served.plural.clone());
        (group(api_version).to_owned(), plural)
    }

    /// Whether the kind is known.
    pub(super) fn knows(&self, api_version: &str, kind: &str) -> bool {
        self.0.iter().any(|served| served.api_version == api_version && served.kind == kind)
    }

    /// The kind with this plural, in any version. `*` is any group.
    pub(super) fn with_plural(&self, group: &str, plural: &str) -> Option<&ServedKind> {
        self.0.iter().find(|kind| kind.plural == plural && (group == "*" || kind.group() == group))
    }

    /// The names of the kinds of a group, or of all groups.
    pub(super) fn kinds_of<'a>(&'a self, of: Option<&'a str>) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |kind| of.is_none_or(|of| kind.group() == of)).map(|kind| kind.kind.as_str())
    }

    /// The plurals of a group.
    pub(super) fn plurals_of<'a>(&'a self, of: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |kind| kind.group() == of).map(|kind| kind.plural.as_str())
    }

    /// Whether a kind of the group is known.
    pub(super) fn knows_group(&self, group: &str) -> bool {
        self.0.iter().any(|kind| kind.group() == group)
    }
}

/// Whether a part of a name is a version, such as `v1beta1`.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// The groups that kube-apiserver serves without any CustomResourceDefinition.
const OWN: [&str; 23] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Whether kinds of this group cannot be added or removed.
pub(super) fn is_own(group: &str) -> bool {
    OWN.contains(&group)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn kinds() -> Kinds {
        let kind = |api_version: &str, kind: &str, plural: &str, short: &str| ServedKind {
            api_version: api_version.into(),
            kind: kind.into(),
            plural: plural.into(),
            singular: kind.to_lowercase(),
            short_names: vec![short.into()],
            namespaced: kind != "Node",
            subresources: Vec::new(),
        };
        Kinds::new(vec![
            kind("v1", "Pod", "pods", "po"),
            kind("v1", "Node", "nodes", "no"),
            kind("v1", "Event", "events", "ev"),
            kind("events.k8s.io/v1", "Event", "events", "ev"),
            kind("sea.dev/v1", "Port", "po", "harbour"),
        ])
    }

    #[test]
    fn kinds_are_found_by_all_their_names() {
        let find = |version: Option<&str>, name: &str| {
            let found = kinds().find(version, name).unwrap();
            (found.group, found.plural, found.namespaced, found.guessed)
        };
        let is = |group: &str, plural: &str, namespaced| (group.to_owned(), plural.to_owned(), namespaced, false);
        assert_eq!(find(None, "PODS"), is("", "pods", true));
        assert_eq!(find(None, "no"), is("", "nodes", false));
        assert_eq!(find(None, "event"), is("", "events", true));
        assert_eq!(find(Some("events.k8s.io/v1"), "Event"), is("events.k8s.io", "events", true));
        // A plural in any group has precedence over a short name in an earlier group.
        assert_eq!(find(None, "po"), is("sea.dev", "po", true));
    }

    #[test]
    fn kinds_are_named_as_kubectl_does() {
        let named = |name: &str, version: Option<&str>| {
            let found = kinds().named(name, version)?;
            Some(format!("{}/{} {}", found.group, found.version, found.plural))
        };
        assert_eq!(named("Pod", None).unwrap(), "/v1 pods");
        assert_eq!(named("no", None).unwrap(), "/v1 nodes");
        assert_eq!(named("events.events.k8s.io", None).unwrap(), "events.k8s.io/v1 events");
        assert_eq!(named("events.v1.events.k8s.io", None).unwrap(), "events.k8s.io/v1 events");
        assert_eq!(named("Event", Some("events.k8s.io/v1")).unwrap(), "events.k8s.io/v1 events");
        assert_eq!(named("boats", None), None);
        assert_eq!(named("pods.sea.dev", None), None);
    }

    #[test]
    fn an_unknown_kind_is_named_by_the_rule_if_its_group_is_known() {
        for (kind, plural) in [("Boat", "boats"), ("StorageClass", "storageclasses"), ("Ferry", "ferries")] {
            let found = kinds().find(Some("sea.dev/v2"), kind).unwrap();
            assert_eq!((found.group.as_str(), found.plural.as_str(), found.guessed), ("sea.dev", plural, true));
        }
        assert_eq!(kinds().find(None, "Boat"), None);
    }
}
