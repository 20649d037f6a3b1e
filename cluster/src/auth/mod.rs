//! Authentication and authorization: tokens, impersonation, RBAC. Without RBAC, every client is the administrator and
//! may do everything.

pub(crate) mod policy;
pub(crate) mod tokens;

use std::collections::{BTreeMap, HashMap};

use form_urlencoded::parse;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Uri};
use percent_encoding::percent_decode_str;
use rand::Rng;
use serde_json::{Value, json};

use self::policy::{Decision, Policies, Rule};
use self::tokens::{ISSUER, Refused, Signer};
use crate::status::{Failure, GroupResource};
use crate::store::Store;

/// The cluster's users and policies.
#[derive(Debug)]
pub(crate) struct Auth {
    rbac: bool,
    users: HashMap<String, User>,
    admin_token: String,
    pub(crate) signer: Signer,
    policies: Policies,
}

impl Auth {
    pub(crate) fn new(rbac: bool, users: &[(String, User)], store: &Store) -> Self {
        let secret: [u8; 16] = rand::rng().random();
        let admin_token: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let known = users.iter().map(|(token, user)| (token.clone(), user.clone().authenticated()));
        let users = known.chain([(admin_token.clone(), User::admin())]).collect();
        Self { rbac, users, admin_token, signer: Signer::new(), policies: Policies::new(store) }
    }

    /// The administrator's token. None if it is not needed.
    pub(crate) fn admin_token(&self) -> Option<&str> {
        self.rbac.then_some(&*self.admin_token)
    }

    pub(crate) fn decide(&self, store: &Store, user: &User, attributes: &Attributes) -> Decision {
        if !self.rbac {
            return Decision { allowed: true, reason: String::new() };
        }
        self.policies.get(store).decide(user, attributes)
    }

    /// All rules that apply to a user in a namespace, and why some could not be found.
    pub(crate) fn rules(&self, store: &Store, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        if self.rbac {
            return self.policies.get(store).rules(user, namespace);
        }
        (Rule::everything().into(), Vec::new())
    }

    /// The user of a token, and the requested audiences for which the token is valid.
    pub(crate) fn of_token(
        &self,
        store: &Store,
        token: &str,
        audiences: &[String],
    ) -> Result<(User, Vec<String>), Refused> {
        if let Some(user) = self.users.get(token) {
            let ours: Vec<String> = audiences.iter().filter(|a| *a == ISSUER).cloned().collect();
            return if ours.is_empty() { Err(Refused::Unknown) } else { Ok((user.clone(), ours)) };
        }
        self.signer.check(store, token, audiences, crate::time::now().as_second())
    }

    fn authenticate(&self, store: &Store, headers: &HeaderMap) -> Result<User, Failure> {
        let token = match headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap_or_default()) {
            None => None,
            Some(value) => value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")),
        };
        let Some((_, token)) = token else {
            return Ok(if self.rbac { User::anonymous() } else { User::admin() });
        };
        match self.of_token(store, token.trim(), &[ISSUER.to_owned()]) {
            Ok((user, _)) => Ok(user),
            // Nothing is protected, and a client may have a token for another cluster.
            Err(_) if !self.rbac => Ok(User::admin()),
            Err(_) => Err(Failure::unauthorized()),
        }
    }
}

/// The user that sends a request, or that the request impersonates. Fails if the user may not send it.
pub(crate) fn admit(
    auth: &Auth,
    store: &Store,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<User, Failure> {
    let user = auth.authenticate(store, headers)?;
    let attributes = Attributes::of(method, uri);
    let user = match wanted(headers)? {
        Some(wanted) => become_user(&user, wanted, &attributes, |a| auth.decide(store, &user, a))?,
        None => user,
    };
    let decision = auth.decide(store, &user, &attributes);
    if decision.allowed { Ok(user) } else { Err(attributes.forbidden(&user.name, &decision.reason)) }
}

/// The group whose members may do everything, whatever roles there are.
pub(crate) const MASTERS: &str = "system:masters";
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
pub(crate) const ANONYMOUS: &str = "system:anonymous";
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A user who may send requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with no groups except `system:authenticated`, which contains every user with a token.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a group.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Sets the uid, which SelfSubjectReview and TokenReview show.
    #[must_use]
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.uid = uid.into();
        self
    }

    pub(crate) fn admin() -> Self {
        Self::new("admin").uid("admin").group(MASTERS).authenticated()
    }

    pub(crate) fn anonymous() -> Self {
        Self::new(ANONYMOUS).group(UNAUTHENTICATED)
    }

    pub(crate) fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let user = Self::new(format!("{SERVICE_ACCOUNT}{namespace}:{name}")).uid(uid);
        Self { groups: service_account_groups(namespace), ..user }.authenticated()
    }

    pub(crate) fn authenticated(mut self) -> Self {
        if !self.is_in(AUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// `UserInfo` of `authentication.k8s.io/v1`.
    pub(crate) fn info(&self) -> Value {
        let mut info = json!({ "username": self.name });
        let map = crate::json::object(&mut info);
        if !self.uid.is_empty() {
            map.insert("uid".into(), self.uid.clone().into());
        }
        if !self.groups.is_empty() {
            map.insert("groups".into(), self.groups.clone().into());
        }
        if !self.extra.is_empty() {
            map.insert("extra".into(), json!(self.extra));
        }
        info
    }
}

pub(crate) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name of the service account with this user name.
pub(crate) fn as_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let good = |part: &str| !part.is_empty() && !part.contains(':');
    (good(namespace) && good(name)).then_some((namespace, name))
}

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
    matches!(&attributes.target, Target::Resource(t) if t.resource == "groups" && t.name == group)
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub verb: String,
    pub target: Target,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Resource(ResourceTarget),
    Path(String),
}

/// A resource, or one object of it. Empty means none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceTarget {
    pub group: String,
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

impl ResourceTarget {
    /// `pods` or `pods/log`.
    pub(crate) fn combined(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }
}

impl Attributes {
    pub(crate) fn of_resource(verb: impl Into<String>, target: ResourceTarget) -> Self {
        Self { verb: verb.into(), target: Target::Resource(target) }
    }

    pub(crate) fn of_path(verb: impl Into<String>, path: impl Into<String>) -> Self {
        Self { verb: verb.into(), target: Target::Path(path.into()) }
    }

    /// The attributes of a request with this method and URI.
    pub(crate) fn of(method: &Method, uri: &Uri) -> Self {
        let path = percent_decode_str(uri.path()).decode_utf8_lossy().into_owned();
        let parts: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
            _ => return Self::of_path(method.as_str().to_ascii_lowercase(), path),
        };
        let mut target = ResourceTarget { group: group.to_owned(), ..ResourceTarget::default() };
        let mut rest = rest;
        let watches = rest.first() == Some(&"watch") && rest.len() > 1;
        if watches {
            rest = rest.get(1..).unwrap_or_default();
        }
        if let ["namespaces", namespace, tail @ ..] = rest {
            target.namespace = (*namespace).to_owned();
            if !matches!(tail, [] | ["status" | "finalize", ..]) {
                rest = tail;
            }
        }
        let part = |index: usize| rest.get(index).map(|s| (*s).to_owned()).unwrap_or_default();
        (target.resource, target.name) = (part(0), part(1));
        target.subresource = if watches { String::new() } else { part(2) };
        let verb = if watches { "watch" } else { verb(method, uri, &mut target) };
        Self::of_resource(verb, target)
    }

    /// The response to a user without permission.
    pub(crate) fn forbidden(&self, user: &str, reason: &str) -> Failure {
        let verb = &self.verb;
        let escape = |text: String| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        match &self.target {
            Target::Path(path) => {
                let what = escape(format!("User {user:?} cannot {verb} path {path:?}"));
                Failure::access_denied(GroupResource { group: "", resource: "" }, "", &format!("{what}{because}"))
            }
            Target::Resource(target) => {
                let place = match target.namespace.as_str() {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {namespace:?}"),
                };
                let (resource, group) = (target.combined(), &target.group);
                let what =
                    escape(format!("User {user:?} cannot {verb} resource {resource:?} in API group {group:?} {place}"));
                let gr = GroupResource { group, resource: &target.resource };
                Failure::access_denied(gr, &target.name, &format!("{what}{because}"))
            }
        }
    }
}

fn verb(method: &Method, uri: &Uri, target: &mut ResourceTarget) -> &'static str {
    match (method.as_str(), target.name.is_empty()) {
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "deletecollection",
        ("DELETE", false) => "delete",
        ("GET" | "HEAD", false) => "get",
        ("GET" | "HEAD", true) => {
            let mut watches = false;
            for (key, value) in parse(uri.query().unwrap_or_default().as_bytes()) {
                match &*key {
                    "watch" => watches = !matches!(&*value, "false" | "0"),
                    "fieldSelector" => target.name = selected_name(&value).to_owned(),
                    _ => {}
                }
            }
            if watches { "watch" } else { "list" }
        }
        _ => "",
    }
}

/// The only object name that a field selector can match.
fn selected_name(selector: &str) -> &str {
    let name = selector.split(',').find_map(|part| part.strip_prefix("metadata.name="));
    let name = name.map(|name| name.strip_prefix('=').unwrap_or(name)).unwrap_or_default();
    if name.contains(['/', '%']) || matches!(name, "." | "..") { "" } else { name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use http::HeaderValue;

    use super::*;

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

    fn read(method: &str, uri: &str) -> String {
        let attributes = Attributes::of(&method.parse().unwrap(), &uri.parse().unwrap());
        match attributes.target {
            Target::Path(path) => format!("{} {path}", attributes.verb),
            Target::Resource(t) => {
                format!("{} {}|{}|{}|{}", attributes.verb, t.group, t.combined(), t.namespace, t.name)
            }
        }
    }

    #[test]
    fn requests_become_verbs() {
        let cases = [
            ("GET", "/api/v1/pods", "list |pods||"),
            ("GET", "/api/v1/pods?watch=true&fieldSelector=metadata.name%3Dx", "watch |pods||x"),
            ("GET", "/api/v1/namespaces/a/pods/b/log", "get |pods/log|a|b"),
            ("GET", "/api/v1/namespaces/a", "get |namespaces|a|a"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update |namespaces/finalize|a|a"),
            ("DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection apps|deployments|a|"),
            ("GET", "/apis/apps/v1/watch/deployments", "watch apps|deployments||"),
            ("POST", "/apis/apps/v1/namespaces/a/deployments", "create apps|deployments|a|"),
            ("GET", "/apis/apps/v1", "get /apis/apps/v1"),
            ("GET", "/healthz", "get /healthz"),
            ("POST", "/", "post /"),
        ];
        for (method, uri, wanted) in cases {
            assert_eq!(read(method, uri), wanted, "{method} {uri}");
        }
    }
}
