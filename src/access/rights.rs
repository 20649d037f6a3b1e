//! What a ServiceAccount may watch, as the API server says. It asks for the operator, never as the ServiceAccount, and
//! answers nothing itself.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};

use super::{
    Access, errors,
    send::{Meter, Wire},
    write::wire,
};
use crate::model::{CallError, Identity, Permission};

const PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// Questions under way at the same time.
const AT_A_TIME: usize = 8;

/// A right to list and watch objects.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WatchRight {
    /// Empty for the core group.
    pub group: String,
    /// Plural.
    pub resource: String,
    /// Absent: all namespaces, or a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Absent: all names.
    pub name: Option<String>,
}

impl WatchRight {
    fn lacking(&self, verbs: Vec<String>) -> Permission {
        Permission {
            api_groups: vec![self.group.clone()],
            resources: vec![self.resource.clone()],
            verbs,
            resource_names: self.name.iter().cloned().collect(),
            namespaces: self.namespace.iter().cloned().collect(),
        }
    }
}

impl Access {
    /// Those of the rights that the ServiceAccount lacks. An error means that the API server did not say.
    pub async fn lacks(&self, identity: &Identity, rights: &[WatchRight]) -> Result<Vec<Permission>, CallError> {
        let asked: Vec<(WatchRight, Vec<String>)> = stream::iter(rights.to_vec())
            .map(|right| async move {
                let mut lacking = Vec::new();
                for verb in ["list", "watch"] {
                    if !self.may(identity, verb, &right).await? {
                        lacking.push(verb.to_owned());
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

    async fn may(&self, identity: &Identity, verb: &str, right: &WatchRight) -> Result<bool, CallError> {
        let what = format!("ask whether {identity} may {verb} {}", right.resource);
        let wire = Wire { asks: true, ..wire(Method::POST, PATH.to_owned(), &review(identity, verb, right), true) };
        let body = self.sender.send(None, &what, &wire, &mut Meter::default()).await?;
        let answer: Value = serde_json::from_slice(&body)
            .map_err(|error| errors::invalid(format!("{what}: the answer can't be read: {error}")))?;
        Ok(answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or_default())
    }
}

fn review(identity: &Identity, verb: &str, right: &WatchRight) -> String {
    json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": identity.user(),
            "groups": identity.groups(),
            "resourceAttributes": {
                "group": right.group,
                "resource": right.resource,
                "namespace": right.namespace.as_deref().unwrap_or_default(),
                "name": right.name.as_deref().unwrap_or_default(),
                "verb": verb,
            },
        },
    })
    .to_string()
}
