//! A user: a name, groups, and other facts from authentication.

use std::collections::BTreeMap;

use serde_json::{Value, json};

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
