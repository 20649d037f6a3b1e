//! Whether a hook's permissions allow a request, by the rules of RBAC and by namespaces. Pure.
//!
//! What no permission names is refused.
//!
//! The differences from RBAC are all narrower or more explicit:
//! - `namespaces` restricts a permission to objects in these namespaces. The permission then allows neither
//!   cluster-scoped objects nor lists over all namespaces. `*` has no special meaning there.
//! - `pods/*` allows every subresource of pods, but not pods. `*` allows everything, including subresources.
//! - A create is checked by the name in its body, so `resourceNames` can allow it. With `generateName` there is no
//!   name, and a permission with `resourceNames` does not apply.

use boathook_core::model::{HookName, Permission};

use super::text::quoted;

/// The place that a request reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach<'a> {
    /// A cluster-scoped object, or a list of them.
    Cluster,
    /// A list over all namespaces.
    AllNamespaces,
    Namespace(&'a str),
}

/// What a request needs, apart from its verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResourceAttributes<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    /// The plural.
    pub resource: &'a str,
    pub subresource: Option<&'a str>,
    pub reach: Reach<'a>,
    /// Absent for lists, and for names that the server generates.
    pub name: Option<&'a str>,
}

/// Whether one of the permissions allows the request.
pub(super) fn allows(permissions: &[Permission], verb: &str, subject: &ResourceAttributes<'_>) -> bool {
    permissions.iter().any(|permission| permits(permission, verb, subject))
}

fn permits(permission: &Permission, verb: &str, subject: &ResourceAttributes<'_>) -> bool {
    any_or_star(&permission.verbs, verb)
        && any_or_star(&permission.api_groups, subject.group)
        && permission.resources.iter().any(|rule| names_resource(rule, subject))
        && names_object(&permission.resource_names, subject.name)
        && reaches(&permission.namespaces, subject.reach)
}

fn any_or_star(rules: &[String], wanted: &str) -> bool {
    rules.iter().any(|rule| rule == "*" || rule == wanted)
}

fn names_resource(rule: &str, subject: &ResourceAttributes<'_>) -> bool {
    if rule == "*" {
        return true;
    }
    let star_or = |part: &str, wanted: &str| part == "*" || part == wanted;
    match (rule.split_once('/'), subject.subresource) {
        (None, None) => rule == subject.resource,
        (Some((resource, sub)), Some(wanted)) => star_or(resource, subject.resource) && star_or(sub, wanted),
        _ => false,
    }
}

fn names_object(rules: &[String], name: Option<&str>) -> bool {
    rules.is_empty() || name.is_some_and(|name| rules.iter().any(|rule| rule == name))
}

fn reaches(rules: &[String], reach: Reach<'_>) -> bool {
    match reach {
        _ if rules.is_empty() => true,
        Reach::Namespace(namespace) => rules.iter().any(|rule| rule == namespace),
        Reach::Cluster | Reach::AllNamespaces => false,
    }
}

/// The message of a refusal: the hook, the verbs, the object, and the permission that would allow the request.
pub(super) fn refusal(hook: &HookName, verbs: &[&str], subject: &ResourceAttributes<'_>) -> String {
    let name = subject.name.map(|name| format!(" {name:?}")).unwrap_or_default();
    let place = match subject.reach {
        Reach::Cluster => String::new(),
        Reach::AllNamespaces => " in all namespaces".to_owned(),
        Reach::Namespace(namespace) => format!(" in namespace {namespace:?}"),
    };
    format!(
        "hook {:?} may not {} {}{name}{place}: add {} to permissions.kubernetes",
        hook.as_str(),
        verbs.join(", "),
        resource_text(subject),
        permission_text(verbs, subject),
    )
}

fn resource_text(subject: &ResourceAttributes<'_>) -> String {
    match subject.subresource {
        Some(subresource) => format!("{}/{subresource}", subject.resource),
        None => subject.resource.to_owned(),
    }
}

/// The narrowest permission without names, as one line of YAML.
fn permission_text(verbs: &[&str], subject: &ResourceAttributes<'_>) -> String {
    let namespaces = match subject.reach {
        Reach::Namespace(namespace) => format!(", namespaces: [{}]", quoted(namespace)),
        Reach::Cluster | Reach::AllNamespaces => String::new(),
    };
    format!(
        "{{apiGroups: [{}], resources: [{}], verbs: [{}]{namespaces}}}",
        quoted(subject.group),
        quoted(&resource_text(subject)),
        verbs.join(", "),
    )
}

#[cfg(test)]
mod tests;
