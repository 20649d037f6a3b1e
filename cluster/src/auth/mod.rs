//! Authentication and authorization: tokens, impersonation, RBAC. Without RBAC, every client is the administrator and
//! may do everything.

pub(crate) mod attributes;
pub(crate) mod escalation;
mod impersonate;
pub(crate) mod policy;
pub(crate) mod rules;
pub(crate) mod tokens;
pub(crate) mod user;

use std::collections::HashMap;

use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, Uri};
use rand::Rng;

use crate::status::Failure;
use crate::store::Store;
use attributes::Attributes;
use policy::{Decision, Policies};
use rules::Rule;
use tokens::{ISSUER, Refused, Signer};
use user::User;

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
        let all = || vec!["*".to_owned()];
        let resources = Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() };
        (vec![resources, Rule { verbs: all(), non_resource_urls: all(), ..Rule::default() }], Vec::new())
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
    let user = match impersonate::wanted(headers)? {
        Some(wanted) => impersonate::become_user(&user, wanted, &attributes, |a| auth.decide(store, &user, a))?,
        None => user,
    };
    let decision = auth.decide(store, &user, &attributes);
    if decision.allowed { Ok(user) } else { Err(attributes.forbidden(&user.name, &decision.reason)) }
}
