//! Impersonation: the `Impersonate-*` headers, and the check whether a user may impersonate. The constrained modes
//! never allow `system:masters`.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::attributes::{Attributes, ResourceTarget};
use super::policy::Decision;
use super::user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, as_service_account, service_account_groups,
};
use crate::status::Failure;

const EXTRA: &str = "impersonate-extra-";
const NODE: &str = "system:node:";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// The user that the headers name. None if they name none.
pub(crate) fn wanted(headers: &HeaderMap) -> Result<Option<User>, Failure> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let groups = headers.get_all("impersonate-group").iter().filter_map(|v| v.to_str().ok());
    let mut wanted = User {
        name: text("impersonate-user"),
        uid: text("impersonate-uid"),
        groups: groups.map(str::to_owned).collect(),
        extra: BTreeMap::new(),
    };
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            wanted.extra.entry(key).or_default().push(value.to_str().unwrap_or_default().to_owned());
        }
    }
    if !wanted.name.is_empty() {
        return Ok(Some(wanted));
    }
    if wanted == User::default() {
        return Ok(None);
    }
    Err(Failure::bad_request(format!("requested {} without impersonating a user name", go(&wanted))))
}

/// A user as Go prints it.
fn go(user: &User) -> String {
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
        format!("[]string{{{}}}", items.join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let extra: Vec<String> = user.extra.iter().map(|(key, values)| format!("{key:?}:{}", list(values))).collect();
    let extra = if extra.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", extra.join(", ")) };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:map[string][]string{extra}}}",
        user.name, user.uid
    )
}

/// A mode of impersonation. Its verb is the mode's, and the first three modes also check the request itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Node,
    ServiceAccount,
    UserInfo,
    Legacy,
}

impl Mode {
    fn fits(self, wanted: &User) -> bool {
        let bare = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (wanted.name.starts_with(NODE), as_service_account(&wanted.name).is_some());
        match self {
            Self::Node => node && bare,
            Self::ServiceAccount => account && bare,
            Self::UserInfo => !node && !account,
            Self::Legacy => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Node => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    fn verb(self) -> String {
        if self == Self::Legacy { "impersonate".to_owned() } else { format!("impersonate:{}", self.name()) }
    }
}

/// The impersonated user, with the groups that follow from the name. The refusal is that of the first mode that fits.
pub(crate) fn become_user(
    user: &User,
    wanted: User,
    request: &Attributes,
    decide: impl Fn(&Attributes) -> Decision,
) -> Result<User, Failure> {
    let mut refusal = None;
    for mode in [Mode::Node, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy] {
        if !mode.fits(&wanted) {
            continue;
        }
        match check(user, &wanted, mode, request, &decide) {
            Ok(()) => return Ok(complete(wanted, mode)),
            Err(failure) => refusal = refusal.or(Some(failure)),
        }
    }
    Err(refusal.unwrap_or_else(|| request.forbidden(&user.name, "")))
}

fn check(
    user: &User,
    wanted: &User,
    mode: Mode,
    request: &Attributes,
    decide: &impl Fn(&Attributes) -> Decision,
) -> Result<(), Failure> {
    let allowed = |attributes: &Attributes| {
        let decision = decide(attributes);
        if decision.allowed { Ok(()) } else { Err(attributes.forbidden(&user.name, &decision.reason)) }
    };
    if mode != Mode::Legacy {
        let verb = format!("impersonate-on:{}:{}", mode.name(), request.verb);
        allowed(&Attributes { verb, target: request.target.clone() })?;
    }
    let parts = parts(wanted, mode);
    let masters = mode != Mode::Legacy && wanted.is_in(MASTERS);
    for part in parts {
        let attributes = Attributes::of_resource(mode.verb(), part);
        if masters && wants_group(&attributes, MASTERS) {
            let why = "impersonating the system:masters group is not allowed";
            return Err(attributes.forbidden(&user.name, why));
        }
        allowed(&attributes)?;
    }
    Ok(())
}

fn wants_group(attributes: &Attributes, group: &str) -> bool {
    matches!(&attributes.target, super::attributes::Target::Resource(t) if t.resource == "groups" && t.name == group)
}

/// The parts that the user must be allowed to impersonate: the name, the uid, each group and each extra value.
fn parts(wanted: &User, mode: Mode) -> Vec<ResourceTarget> {
    let group = if mode == Mode::Legacy { "" } else { AUTHENTICATION };
    let of = |group: &str, resource: &str, name: &str| ResourceTarget {
        group: group.to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..ResourceTarget::default()
    };
    let mut parts = Vec::new();
    parts.push(match (as_service_account(&wanted.name), wanted.name.strip_prefix(NODE)) {
        (Some((namespace, name)), _) => {
            ResourceTarget { namespace: namespace.to_owned(), ..of(group, "serviceaccounts", name) }
        }
        (None, Some(node)) if mode == Mode::Node => of(group, "nodes", node),
        _ => of(group, "users", &wanted.name),
    });
    if !wanted.uid.is_empty() {
        parts.push(of(AUTHENTICATION, "uids", &wanted.uid));
    }
    parts.extend(wanted.groups.iter().map(|name| of(group, "groups", name)));
    for (key, values) in &wanted.extra {
        let extra =
            |value: &String| ResourceTarget { subresource: key.clone(), ..of(AUTHENTICATION, "userextras", value) };
        parts.extend(values.iter().map(extra));
    }
    parts
}

fn complete(mut user: User, mode: Mode) -> User {
    if user.groups.is_empty() {
        if let Some((namespace, _)) = as_service_account(&user.name) {
            user.groups = service_account_groups(namespace);
        } else if mode == Mode::Node {
            user.groups.push("system:nodes".to_owned());
        }
    }
    let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    if !user.is_in(group) && !user.is_in(UNAUTHENTICATED) {
        user.groups.push(group.to_owned());
    }
    user
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn get_pods() -> Attributes {
        let target = ResourceTarget { resource: "pods".into(), ..ResourceTarget::default() };
        Attributes::of_resource("list", target)
    }

    /// Impersonates if the given verbs are allowed on the given kinds of parts.
    fn become_by(allowed: &[&str], wanted: User) -> Result<User, String> {
        let decide = |attributes: &Attributes| {
            let allowed = allowed.contains(&attributes.verb.as_str());
            Decision { allowed, reason: String::new() }
        };
        let made = become_user(&User::new("jane"), wanted, &get_pods(), decide);
        made.map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn headers_say_who() {
        assert_eq!(wanted(&headers(&[])).unwrap(), None);
        let all = [
            ("impersonate-user", "joe"),
            ("impersonate-group", "a"),
            ("impersonate-group", "b"),
            ("impersonate-extra-acme.com%2Fproject", "x"),
        ];
        let user = wanted(&headers(&all)).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.groups.len()), ("joe", 2));
        assert_eq!(user.extra["acme.com/project"], ["x"]);
        assert!(wanted(&headers(&all[1..])).is_err());
    }

    #[test]
    fn groups_follow_from_the_name() {
        let groups = |name: &str| become_by(&["impersonate"], User::new(name)).unwrap().groups;
        assert_eq!(groups("joe"), [AUTHENTICATED]);
        assert_eq!(groups(ANONYMOUS), [UNAUTHENTICATED]);
        let account = ["system:serviceaccounts", "system:serviceaccounts:a", AUTHENTICATED];
        assert_eq!(groups("system:serviceaccount:a:b"), account);
    }

    #[test]
    fn the_constrained_mode_wants_both_rights() {
        let both = ["impersonate-on:user-info:list", "impersonate:user-info"];
        assert!(become_by(&both, User::new("joe")).is_ok());
        assert!(become_by(&both, User::new("joe").group(MASTERS)).is_err());
        assert!(become_by(&["impersonate"], User::new("joe").group(MASTERS)).is_ok());
        let refusal = become_by(&both[1..], User::new("joe")).unwrap_err();
        assert!(refusal.contains("cannot impersonate-on:user-info:list resource \"pods\""), "{refusal}");
        assert!(become_by(&both, User::new("system:serviceaccount:a:b")).is_err());
    }
}
