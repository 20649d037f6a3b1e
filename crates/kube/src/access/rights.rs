//! Whether a ServiceAccount exists, and what it may do, according to the API server. The operator sends these requests
//! with its own identity, never as the ServiceAccount. A hook that asks about itself asks as itself.

use boathook_core::model::{AccessQuestion, CallError, CallReason, Caller, Identity, Permission, Resource};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};

use super::{
    Access, errors,
    grants::{self, Reach, ResourceAttributes},
    send::{ApiRequest, RequestStats},
    text,
    write::wire,
};

const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const OWN_PATH: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/// How many requests are under way at the same time.
const AT_A_TIME: usize = 8;

/// A right to do something with objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Right {
    /// `list`, `watch`.
    pub verbs: Vec<String>,
    /// Empty for the core group, `*` for all groups.
    pub group: String,
    /// The plural, or `pods/status`, or `*` for all.
    pub resource: String,
    /// Absent for all namespaces, or for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Absent for all names.
    pub name: Option<String>,
}

impl Right {
    fn lacking(&self, verbs: Vec<String>) -> Permission {
        Permission {
            api_groups: vec![self.group.clone()],
            resources: vec![self.resource.clone()],
            verbs,
            resource_names: self.name.iter().cloned().collect(),
            namespaces: self.namespace.iter().cloned().collect(),
            http: None,
            directory: None,
        }
    }
}

impl Access {
    /// Whether this ServiceAccount exists. An error means that the API server did not answer.
    pub async fn exists(&self, identity: &Identity) -> Result<bool, CallError> {
        let accounts = Resource::of("v1", "ServiceAccount", "serviceaccounts", true);
        let wire = ApiRequest::get(accounts.path(Some(&identity.namespace), Some(&identity.service_account), None));
        let what = format!("look whether there is a {identity}");
        match self.sender.send(None, &what, &wire, &mut RequestStats::default()).await {
            Ok(_) => Ok(true),
            Err(error) if error.reason == CallReason::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns the rights that the ServiceAccount does not have. An error means that the API server did not answer.
    pub async fn missing_rights(&self, identity: &Identity, rights: &[Right]) -> Result<Vec<Permission>, CallError> {
        let asked: Vec<(Right, Vec<String>)> = stream::iter(rights.to_vec())
            .map(|right| async move {
                let mut lacking = Vec::new();
                for verb in &right.verbs {
                    if !self.is_allowed(identity, verb, &right).await? {
                        lacking.push(verb.clone());
                    }
                }
                Ok::<_, CallError>((right, lacking))
            })
            .buffered(AT_A_TIME)
            .try_collect()
            .await?;
        let lacking = asked.into_iter().filter(|(_, lacking)| !lacking.is_empty());
        Ok(lacking.map(|(right, verbs)| right.lacking(verbs)).collect())
    }

    /// Whether a hook may do something: its grants allow it, and the API server allows it to the hook's identity. This
    /// needs no permission, because a hook could also try.
    pub async fn allowed(&self, caller: &Caller, question: &AccessQuestion) -> Result<bool, CallError> {
        let AccessQuestion { verb, group, resource, namespace, name } = question;
        let namespace = namespace.as_deref().filter(|namespace| !namespace.is_empty());
        let name = name.as_deref().filter(|name| !name.is_empty());
        for (what, text) in [("verb", verb), ("resource", resource)] {
            text::check(what, text)?;
        }
        let (plural, subresource) = match resource.split_once('/') {
            Some((plural, subresource)) => (plural, Some(subresource)),
            None => (resource.as_str(), None),
        };
        let reach = namespace.map_or(Reach::AllNamespaces, Reach::Namespace);
        let subject = ResourceAttributes { group, resource: plural, subresource, reach, name };
        if !grants::allows(&caller.permissions, verb, &subject) {
            return Ok(false);
        }
        let attributes = attributes(verb, group, resource, namespace, name);
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        });
        let what = format!("ask whether the hook may {} {}", text::quoted(verb), text::quoted(resource));
        self.reviewed(Some(caller), &what, OWN_PATH, &body).await
    }

    async fn is_allowed(&self, identity: &Identity, verb: &str, right: &Right) -> Result<bool, CallError> {
        let what = format!("ask whether {identity} may {verb} {}", right.resource);
        self.reviewed(None, &what, PATH, &review(identity, verb, right)).await
    }

    async fn reviewed(
        &self,
        caller: Option<&Caller>,
        what: &str,
        path: &str,
        review: &Value,
    ) -> Result<bool, CallError> {
        let wire = ApiRequest { asks: true, ..wire(Method::POST, path.to_owned(), &review.to_string(), true) };
        let body = self.sender.send(caller, what, &wire, &mut RequestStats::default()).await?;
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| errors::invalid(format!("{what}: the answer cannot be read: {error}")))?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or_default())
    }
}

fn review(identity: &Identity, verb: &str, right: &Right) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": identity.user(),
            "groups": identity.groups(),
            "resourceAttributes":
                attributes(verb, &right.group, &right.resource, right.namespace.as_deref(), right.name.as_deref()),
        },
    })
}

/// `resource` can be `pods/log`.
fn attributes(verb: &str, group: &str, resource: &str, namespace: Option<&str>, name: Option<&str>) -> Value {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    json!({
        "group": group,
        "resource": resource,
        "subresource": subresource,
        "namespace": namespace.unwrap_or_default(),
        "name": name.unwrap_or_default(),
        "verb": verb,
    })
}
