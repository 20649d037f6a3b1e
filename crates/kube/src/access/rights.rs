//! Whether a ServiceAccount exists, and what it may do, according to the API server. The operator sends these requests
//! with its own identity, never as the ServiceAccount.

use boathook_core::model::{CallError, CallReason, Identity, Permission, Resource};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};

use super::{
    Access, errors,
    send::{ApiRequest, RequestStats},
    write::wire,
};

const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
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

    async fn is_allowed(&self, identity: &Identity, verb: &str, right: &Right) -> Result<bool, CallError> {
        let what = format!("ask whether {identity} may {verb} {}", right.resource);
        let wire =
            ApiRequest { asks: true, ..wire(Method::POST, PATH.to_owned(), &review(identity, verb, right), true) };
        let body = self.sender.send(None, &what, &wire, &mut RequestStats::default()).await?;
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| errors::invalid(format!("{what}: the answer cannot be read: {error}")))?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or_default())
    }
}

fn review(identity: &Identity, verb: &str, right: &Right) -> String {
    let (resource, subresource) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": identity.user(),
            "groups": identity.groups(),
            "resourceAttributes": {
                "group": right.group,
                "resource": resource,
                "subresource": subresource,
                "namespace": right.namespace.as_deref().unwrap_or_default(),
                "name": right.name.as_deref().unwrap_or_default(),
                "verb": verb,
            },
        },
    })
    .to_string()
}
