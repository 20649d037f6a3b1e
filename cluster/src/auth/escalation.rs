//! Users cannot grant rights that they do not have: the check for writes of roles and bindings. It runs only with RBAC.

use serde_json::Value;

use super::Auth;
use super::attributes::{Attributes, ResourceTarget};
use super::policy::{Policy, RoleRef, escalates};
use super::rules::{Rule, missing};
use super::user::{MASTERS, User};
use crate::json;
use crate::kinds::Resource;
use crate::status::Failure;
use crate::store::Store;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Refuses a role or binding, complete and about to be stored, that grants more than `user` has. `asked` is the name in
/// the request's path.
pub(crate) fn check(
    auth: &Auth,
    store: &Store,
    user: &User,
    resource: &Resource,
    old: Option<&Value>,
    new: &Value,
    asked: &str,
) -> Result<(), Failure> {
    if resource.group != GROUP || !auth.rbac || user.is_in(MASTERS) || !old.is_none_or(|old| changes(old, new)) {
        return Ok(());
    }
    let policy = auth.policies.get(store);
    let writer = Writer { user, policy: &policy, namespace: json::text(new, &["metadata", "namespace"]) };
    let name = json::text(new, &["metadata", "name"]);
    let problem = match resource.plural.as_str() {
        "roles" | "clusterroles" => writer.role_problem(&resource.plural, asked, old, new),
        _ => writer.binding_problem(resource, new)?,
    };
    problem.map_or(Ok(()), |why| Err(Failure::forbidden(resource.gr(), name, &why)))
}

/// Whether the write changes more than the fields that let the object be collected.
fn changes(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for key in ["ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"] {
            json::metadata(&mut object).shift_remove(key);
        }
        object
    };
    rest(old) != rest(new)
}

struct Writer<'a> {
    user: &'a User,
    policy: &'a Policy,
    namespace: &'a str,
}

impl Writer<'_> {
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let target = ResourceTarget {
            group: GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
            ..ResourceTarget::default()
        };
        self.policy.decide(self.user, &Attributes::of_resource(verb, target)).allowed
    }

    fn escalation(&self, wanted: &[Rule]) -> Option<String> {
        let (held, problems) = self.policy.rules(self.user, self.namespace);
        let missing = missing(&held, wanted);
        (!missing.is_empty()).then(|| escalates(self.user, &missing, &problems))
    }

    fn role_problem(&self, plural: &str, asked: &str, old: Option<&Value>, new: &Value) -> Option<String> {
        if self.may("escalate", plural, asked) {
            return None;
        }
        if let Some(problem) = self.escalation(&rules(new)) {
            return Some(problem);
        }
        let gathers = |role: &Value| !json::list(role, &["aggregationRule", "clusterRoleSelectors"]).is_empty();
        if !gathers(new) && !old.is_some_and(gathers) {
            return None;
        }
        // The role aggregates rules that others write, so only users with all rights may use it.
        let all = || vec!["*".to_owned()];
        let everything = [
            Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() },
            Rule { verbs: all(), non_resource_urls: all(), ..Rule::default() },
        ];
        let why = "must have cluster-admin privileges to use the aggregationRule";
        self.escalation(&everything).map(|_| why.to_owned())
    }

    /// An error if the role does not exist.
    fn binding_problem(&self, resource: &Resource, binding: &Value) -> Result<Option<String>, Failure> {
        let text = |key: &str| json::text(binding, &["roleRef", key]).to_owned();
        let role = RoleRef { kind: text("kind"), name: text("name") };
        let plural = if role.kind == "ClusterRole" { "clusterroles" } else { "roles" };
        if self.may("bind", plural, &role.name) {
            return Ok(None);
        }
        match self.policy.referred(&role, self.namespace) {
            Ok(rules) => Ok(self.escalation(rules)),
            Err(_) if matches!(role.kind.as_str(), "ClusterRole" | "Role") => {
                // The real server names the binding's kind, and the role.
                Err(Failure::not_found(resource.gr(), &role.name))
            }
            Err(why) => Err(Failure::internal(why)),
        }
    }
}

fn rules(role: &Value) -> Vec<Rule> {
    let rules = role.get("rules").filter(|rules| !rules.is_null()).cloned();
    rules.and_then(|rules| serde_json::from_value(rules).ok()).unwrap_or_default()
}
