//! Decides whether the operator would refuse a call because of the hook's permissions, without an operator. Pure.

use boathook_core::model::Permission;

use super::{
    evidence::Calls,
    kinds::Kinds,
    usage::{Use, all_asked, needs},
};

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
