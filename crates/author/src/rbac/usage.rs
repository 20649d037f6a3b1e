//! Compares declared and used rights: permissions of a hook that no run needed, calls that were refused, and the
//! correct permissions. It calls a verb unused only if the evidence would show its use.

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{HookName, HookSpec, Permission};

use super::{
    evidence::{Calls, Evidence, Ruling, Used},
    kinds::Kinds,
    needs::verbs,
    rules::gather,
};

/// A proposed permission with more namespaces than this names none.
const NAMED_NAMESPACES: usize = 5;

/// A verb on a resource that a hook requests.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    /// Its index in `permissions.kubernetes`.
    pub index: usize,
    /// API group, or `*`.
    pub group: String,
    /// Plural, or a pattern.
    pub resource: String,
    /// One of the verbs that hooks can use.
    pub verb: String,
}

/// Calls that were refused, merged over all names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    pub group: String,
    /// Plural, with `/sub` for a subresource.
    pub resource: String,
    pub verb: String,
    /// None for cluster-scoped objects and for lists over all namespaces.
    pub namespace: Option<String>,
    /// Refused by the cluster, and not by the hook's permissions.
    pub by_cluster: bool,
}

/// The result for one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    pub hook: HookName,
    /// No run is known, so there is no result.
    pub unknown: bool,
    /// What the document requests and no run needed.
    pub unused: BTreeSet<Asked>,
    /// What was refused, and how often.
    pub refused: BTreeMap<Refused, u64>,
    /// The proposed `permissions.kubernetes`.
    pub proposed: Vec<Permission>,
}

impl Usage {
    /// Whether there is something to fix.
    pub fn differs(&self) -> bool {
        !self.unused.is_empty() || !self.refused.is_empty()
    }

    /// Whether the document must be fixed.
    pub fn document_differs(&self) -> bool {
        !self.unused.is_empty() || self.refused.keys().any(|refused| !refused.by_cluster)
    }
}

/// Compares each hook's document with what its runs did.
pub fn compare(hooks: &[HookSpec], evidence: &Evidence, kinds: &Kinds) -> Vec<Usage> {
    let nothing = Calls::default();
    let usage = |spec: &HookSpec| {
        let calls = evidence.hooks.get(&spec.name);
        let mut usage = judge(spec, calls.unwrap_or(&nothing), kinds);
        if calls.is_none() {
            usage.unknown = true;
            usage.unused.clear();
            usage.proposed = spec.permissions.to_vec();
        }
        usage
    };
    hooks.iter().map(usage).collect()
}

/// A call in terms of permissions.
pub(super) struct Use<'a> {
    group: String,
    pub resource: String,
    pub call: &'a Used,
    times: u64,
}

impl<'a> Use<'a> {
    pub fn of(call: &'a Used, times: u64, kinds: &Kinds) -> Self {
        let (group, plural) = kinds.resource(&call.api_version, &call.kind);
        let resource = call.subresource.as_ref().map(|sub| format!("{plural}/{sub}")).unwrap_or(plural);
        Self { group, resource, call, times }
    }

    pub fn group(&self) -> &str {
        &self.group
    }

    pub fn times(&self) -> u64 {
        self.times
    }
}

fn judge(spec: &HookSpec, calls: &Calls, kinds: &Kinds) -> Usage {
    let uses: Vec<_> = calls.used.iter().map(|(call, times)| Use::of(call, *times, kinds)).collect();
    let mut unused = BTreeSet::new();
    let mut wanted = BTreeSet::new();
    for (index, permission) in spec.permissions.iter().enumerate() {
        for asked in all_asked(index, permission) {
            let needing: Vec<_> = uses.iter().filter(|one| needs(permission, &asked, one)).collect();
            let known = is_known(&asked, permission, calls, &uses);
            if known && needing.is_empty() {
                unused.insert(asked);
            } else if known && is_pattern(&asked) {
                wanted.extend(needing.into_iter().map(|one| Wanted::narrow(permission, &asked, one)));
            } else {
                wanted.insert(Wanted::of(permission, &asked));
            }
        }
    }
    let refused = refused(&uses, &spec.permissions);
    wanted.extend(missing(&refused));
    // What a run sends over HTTP, and its files, are not compared with its permissions, so these stay as they are.
    let others = spec.permissions.iter().filter(|permission| !permission.is_of_kubernetes()).cloned();
    let proposed = permissions(wanted).into_iter().chain(others).collect();
    Usage { hook: spec.name.clone(), unknown: false, unused, refused, proposed }
}

pub(super) fn all_asked(index: usize, permission: &Permission) -> Vec<Asked> {
    let mut all = Vec::new();
    for group in &permission.api_groups {
        for resource in &permission.resources {
            for verb in verbs(permission) {
                all.push(Asked { index, group: group.clone(), resource: resource.clone(), verb: verb.to_owned() });
            }
        }
    }
    all
}

/// Whether the call needs this requested verb, as the operator checks it.
pub(super) fn needs(permission: &Permission, asked: &Asked, one: &Use<'_>) -> bool {
    one.call.verb == asked.verb && concerns(asked, one) && {
        let listed = |list: &[String], value: &Option<String>| {
            list.is_empty() || value.as_ref().is_some_and(|value| list.contains(value))
        };
        listed(&permission.resource_names, &one.call.name) && listed(&permission.namespaces, &one.call.namespace)
    }
}

/// Whether group and resource match the call.
fn concerns(asked: &Asked, one: &Use<'_>) -> bool {
    // Events are sent to events.k8s.io, and the operator accepts either group for the permission.
    let events = asked.group.is_empty() && one.group == "events.k8s.io" && one.resource == "events";
    let group = asked.group == "*" || asked.group == one.group || events;
    group && matches_resource(&asked.resource, &one.resource)
}

fn matches_resource(pattern: &str, resource: &str) -> bool {
    let part = |pattern: &str, part: &str| pattern == "*" || pattern == part;
    match (pattern.split_once('/'), resource.split_once('/')) {
        _ if pattern == "*" => true,
        (None, None) => pattern == resource,
        (Some((plural, sub)), Some((own, own_sub))) => part(plural, own) && part(sub, own_sub),
        _ => false,
    }
}

/// Whether the evidence would show a use of the verb. The log has one verb for each write. For a create that replaces,
/// it may be `update`, and for an apply that creates, it is `patch`. Both also need `create`.
fn is_known(asked: &Asked, permission: &Permission, calls: &Calls, uses: &[Use<'_>]) -> bool {
    if !calls.partial {
        return true;
    }
    let wrote = |verbs: &[&str]| {
        let as_if = |verb: &str| Asked { verb: verb.to_owned(), ..asked.clone() };
        // Names are compared as for the verb itself. A create may have had no name.
        uses.iter().any(|one| verbs.iter().any(|verb| needs(permission, &as_if(verb), one)))
    };
    match asked.verb.as_str() {
        "create" => !wrote(&["update", "patch"]),
        "update" => !wrote(&["create"]),
        "patch" | "delete" => true,
        _ => false,
    }
}

pub(super) fn is_pattern(asked: &Asked) -> bool {
    asked.group == "*" || asked.resource.contains('*')
}

/// What was refused, and would still be refused: the document may have been fixed since.
fn refused(uses: &[Use<'_>], permissions: &[Permission]) -> BTreeMap<Refused, u64> {
    let asked: Vec<_> = permissions.iter().enumerate().map(|(index, one)| (one, all_asked(index, one))).collect();
    let granted =
        |one: &Use<'_>| asked.iter().any(|(permission, all)| all.iter().any(|asked| needs(permission, asked, one)));
    let still = |one: &&Use<'_>| match one.call.ruling {
        Ruling::Allowed => false,
        Ruling::RefusedByGrant => !granted(one),
        Ruling::RefusedByCluster => true,
    };
    let mut refused = BTreeMap::new();
    for one in uses.iter().filter(still) {
        let what = Refused {
            group: one.group.clone(),
            resource: one.resource.clone(),
            verb: one.call.verb.clone(),
            namespace: one.call.namespace.clone(),
            by_cluster: one.call.ruling == Ruling::RefusedByCluster,
        };
        let times: &mut u64 = refused.entry(what).or_default();
        *times = times.saturating_add(one.times);
    }
    refused
}

/// A verb in the proposed document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    names: Vec<String>,
    namespaces: Vec<String>,
    group: String,
    resource: String,
    verb: String,
}

impl Wanted {
    fn of(permission: &Permission, asked: &Asked) -> Self {
        Self {
            names: permission.resource_names.clone(),
            namespaces: permission.namespaces.clone(),
            group: asked.group.clone(),
            resource: asked.resource.clone(),
            verb: asked.verb.clone(),
        }
    }

    /// What was used of a pattern, in its place.
    fn narrow(permission: &Permission, asked: &Asked, one: &Use<'_>) -> Self {
        Self { group: one.group.clone(), resource: one.resource.clone(), ..Self::of(permission, asked) }
    }
}

/// The permissions that the refused calls need.
fn missing(refused: &BTreeMap<Refused, u64>) -> Vec<Wanted> {
    let mut places: BTreeMap<(&str, &str, &str), BTreeSet<Option<&str>>> = BTreeMap::new();
    for what in refused.keys().filter(|what| !what.by_cluster) {
        let entry = places.entry((&what.group, &what.resource, &what.verb)).or_default();
        entry.insert(what.namespace.as_deref());
    }
    let wanted = |((group, resource, verb), places): ((&str, &str, &str), BTreeSet<Option<&str>>)| {
        let all = places.len() > NAMED_NAMESPACES || places.contains(&None);
        let namespaces = if all { Vec::new() } else { places.into_iter().flatten().map(str::to_owned).collect() };
        let (group, resource, verb) = (group.to_owned(), resource.to_owned(), verb.to_owned());
        Wanted { names: Vec::new(), namespaces, group, resource, verb }
    };
    places.into_iter().map(wanted).collect()
}

/// Merges the verbs into few permissions that allow nothing else.
fn permissions(wanted: BTreeSet<Wanted>) -> Vec<Permission> {
    let single: BTreeMap<Wanted, ((), BTreeSet<()>)> =
        wanted.into_iter().map(|wanted| (wanted, ((), BTreeSet::new()))).collect();
    let verbs =
        gather(single, |wanted, ()| ((wanted.names, wanted.namespaces, wanted.group, wanted.resource), wanted.verb));
    let resources =
        gather(verbs, |(names, namespaces, group, resource), verbs| ((names, namespaces, group, verbs), resource));
    let groups = gather(resources, |(names, namespaces, group, verbs), resources| {
        ((names, namespaces, verbs, resources), group)
    });
    let list = |texts: BTreeSet<String>| texts.into_iter().collect();
    let mut permissions: Vec<_> = groups
        .into_iter()
        .map(|((resource_names, namespaces, verbs, resources), (groups, _))| Permission {
            api_groups: list(groups),
            resources: list(resources),
            verbs: list(verbs),
            resource_names,
            namespaces,
            http: None,
            directory: None,
        })
        .collect();
    permissions.sort_by(|a, b| (&a.api_groups, &a.resources).cmp(&(&b.api_groups, &b.resources)));
    permissions
}

/// The verbs and the resource of the calls that these permissions do not allow, for example `patch configmaps in
/// namespace "web"`. None if the operator would allow the calls.
///
/// The plural of an unknown kind is not guessed: it may be any unknown resource of its group.
pub fn denied(permissions: &[Permission], calls: &Calls, kinds: &Kinds) -> Option<String> {
    let uses: Vec<_> = calls.used.iter().map(|(call, times)| Use::of(call, *times, kinds)).collect();
    let granted = |one: &Use<'_>| {
        permissions.iter().enumerate().any(|(index, permission)| {
            let asked = all_asked(index, permission);
            asked.iter().any(|asked| {
                let known = kinds.knows(&one.call.api_version, &one.call.kind);
                let plural = asked.resource.split('/').next().unwrap_or_default();
                if known || kinds.with_plural(&asked.group, plural).is_some() {
                    return needs(permission, asked, one);
                }
                let mut unnamed = asked.clone();
                unnamed.resource = asked.resource.replacen(plural, "*", 1);
                // The pattern `*` matches everything, but an object is not its subresource.
                unnamed.resource.contains('/') == one.resource.contains('/') && needs(permission, &unnamed, one)
            })
        })
    };
    let refused: Vec<_> = uses.iter().filter(|one| !granted(one)).collect();
    let first = refused.first()?;
    let mut verbs: Vec<_> = refused.iter().map(|one| one.call.verb.as_str()).collect();
    verbs.dedup();
    let name = first.call.name.as_ref().map(|name| format!(" {name:?}")).unwrap_or_default();
    let place = first.call.namespace.as_ref().map(|place| format!(" in namespace {place:?}")).unwrap_or_default();
    Some(format!("{} {}{name}{place}", verbs.join(", "), first.resource))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::{ObjectRef, Operation, Patch, PatchBody};

    use super::*;
    use crate::rbac::ServedKind;

    fn permission(group: &str, resource: &str, verbs: &[&str]) -> Permission {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let (resource_names, namespaces) = (Vec::new(), Vec::new());
        Permission {
            api_groups: own(&[group]),
            resources: own(&[resource]),
            verbs: own(verbs),
            resource_names,
            namespaces,
            http: None,
            directory: None,
        }
    }

    fn patch(api_version: &str, kind: &str, subresource: Option<&str>) -> Calls {
        let target = ObjectRef {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: Some("web".into()),
            name: "a".into(),
        };
        let body = PatchBody::Merge("{}".into());
        let subresource = subresource.map(str::to_owned);
        let mut calls = Calls::default();
        calls.wrote(&Operation::Patch(Patch { target, body, subresource, ignore_missing: false }), None);
        calls
    }

    #[test]
    fn what_the_host_refuses_is_denied() {
        let kinds = Kinds::new(vec![ServedKind {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            plural: "configmaps".into(),
            singular: "configmap".into(),
            short_names: Vec::new(),
            namespaced: true,
            subresources: Vec::new(),
        }]);
        let says = |permission: &Permission, calls: &Calls| denied(std::slice::from_ref(permission), calls, &kinds);
        let call = patch("v1", "ConfigMap", None);
        assert_eq!(says(&permission("", "configmaps", &["patch"]), &call), None);
        assert_eq!(says(&permission("*", "*", &["*"]), &call), None);
        let refusal = says(&permission("", "configmaps", &["get"]), &call);
        assert_eq!(refusal.unwrap(), "patch configmaps \"a\" in namespace \"web\"");
        assert!(says(&permission("", "secrets", &["patch"]), &call).is_some());
        assert!(says(&permission("", "configmaps/status", &["patch"]), &call).is_some());
        // Not known here, and without a plural that a rule could guess.
        let call = patch("gateway.networking.k8s.io/v1", "Gateway", None);
        assert_eq!(says(&permission("gateway.networking.k8s.io", "gateways", &["patch"]), &call), None);
        assert!(says(&permission("gateway.networking.k8s.io", "gateways", &["get"]), &call).is_some());
        assert!(says(&permission("gateway.networking.k8s.io", "gateways/status", &["patch"]), &call).is_some());
        let status = patch("gateway.networking.k8s.io/v1", "Gateway", Some("status"));
        assert_eq!(says(&permission("gateway.networking.k8s.io", "gateways/status", &["patch"]), &status), None);
        assert!(says(&permission("gateway.networking.k8s.io", "gateways", &["patch"]), &status).is_some());
        assert!(says(&permission("other.io", "gateways", &["patch"]), &call).is_some());
    }
}
