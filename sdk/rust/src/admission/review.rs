//! One question: an AdmissionRequest (admission.k8s.io/v1).
//!
//! Objects are parsed when the hook asks for them, and as what it asks for.

use crate::bindings::boathook::hook::types as wire;
use crate::context::RunInfo;
use crate::data::{DataError, absent, decode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A request to the API server that the hook decides on.
#[derive(Clone, Debug)]
pub struct Review {
    /// The circumstances of the call.
    pub info: RunInfo,
    /// The binding that asks: the webhook's name in the document.
    pub binding: String,
    /// What is to be done.
    pub operation: Operation,
    /// With what, in the version in which the object is shown here.
    pub resource: Resource,
    /// `status`, `scale` and the like, when it is about a subresource.
    pub subresource: Option<String>,
    /// The object's kind, like `Pod`.
    pub kind: String,
    /// The namespace of the object; for a Namespace its own name. Absent for other cluster-scoped objects.
    pub namespace: Option<String>,
    /// The object's name; empty when the API server is to make one.
    pub name: String,
    /// Who asks.
    pub user: User,
    /// Nothing will be stored; the hook's own writes are not kept either.
    pub dry_run: bool,
    request: String,
}

/// What is to be done with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is made.
    Create,
    /// It is replaced, patched or applied.
    Update,
    /// It is deleted.
    Delete,
    /// Something is connected to it, as with `kubectl exec`.
    Connect,
}

/// A resource as paths name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Resource {
    /// Empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `pods`.
    pub resource: String,
}

/// Who made a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct User {
    /// `jane`, `system:serviceaccount:NAMESPACE:NAME`.
    #[serde(deserialize_with = "text")]
    pub username: String,
    /// Unlike the name, never given to somebody else; empty when the API server knows none.
    #[serde(deserialize_with = "text")]
    pub uid: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// What else its authentication told.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// All but objects.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    operation: Operation,
    kind: Kind,
    resource: Resource,
    sub_resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    user_info: Option<User>,
    dry_run: Option<bool>,
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

#[derive(Deserialize)]
struct NewObject<T> {
    object: Option<T>,
}

#[derive(Deserialize)]
struct OldObject<T> {
    #[serde(rename = "oldObject")]
    object: Option<T>,
}

#[derive(Deserialize)]
struct Options<T> {
    options: Option<T>,
}

impl Review {
    pub(crate) fn new(info: wire::RunInfo, binding: String, request: String) -> Result<Self, DataError> {
        let head: Head = decode(&request, || "the request".to_owned())?;
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(Self {
            info: RunInfo { run_id: info.run_id, hook: info.hook, attempt: info.attempt, dry_run: info.dry_run },
            binding,
            operation: head.operation,
            resource: head.resource,
            subresource: some(head.sub_resource),
            kind: head.kind.kind,
            namespace: some(head.namespace),
            name: head.name.unwrap_or_default(),
            user: head.user_info.unwrap_or_default(),
            dry_run: head.dry_run.unwrap_or_default(),
            request,
        })
    }

    /// The object as it is to be; for [`Operation::Connect`] the options of the connection. An error for
    /// [`Operation::Delete`], which has only an [old one](Self::old_object).
    pub fn object<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        let read: NewObject<T> = decode(&self.request, || format!("the object of {}", self.path()))?;
        read.object.ok_or_else(|| absent(format!("there is no object of {}: see old_object", self.path())))
    }

    /// The object as it is now; for [`Operation::Update`] and [`Operation::Delete`].
    pub fn old_object<T: DeserializeOwned>(&self) -> Result<Option<T>, DataError> {
        let read: OldObject<T> = decode(&self.request, || format!("the old object of {}", self.path()))?;
        Ok(read.object)
    }

    /// `CreateOptions`, `UpdateOptions`, `DeleteOptions`, where the API server tells them.
    pub fn options<T: DeserializeOwned>(&self) -> Result<Option<T>, DataError> {
        let read: Options<T> = decode(&self.request, || format!("the options of {}", self.path()))?;
        Ok(read.options)
    }

    /// The whole AdmissionRequest as JSON.
    pub fn json(&self) -> &str {
        &self.request
    }

    /// `Pod web/a`
    fn path(&self) -> String {
        let place = self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        format!("{} {place}{}", self.kind, self.name)
    }
}

/// Clients may write null for nothing.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::kube::Object;
    use serde_json::{Value, json};

    fn review(request: &Value) -> Result<Review, DataError> {
        let info = wire::RunInfo { run_id: "r".to_owned(), hook: "h".to_owned(), attempt: 1, dry_run: true };
        Review::new(info, "b".to_owned(), request.to_string())
    }

    fn scale() -> Value {
        json!({
            "uid": "u", "operation": "UPDATE", "subResource": "scale", "namespace": "web", "name": "d", "dryRun": true,
            "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
            "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
            "userInfo": {"username": "jane", "uid": null, "groups": ["g"], "extra": {"k": ["v"]}},
            "object": {"spec": {"replicas": 2}}, "oldObject": {"spec": {"replicas": 1}},
            "options": {"kind": "UpdateOptions", "fieldManager": "kubectl"},
        })
    }

    #[test]
    fn everything_is_at_hand() {
        let review = review(&scale()).unwrap();
        assert_eq!((review.operation, review.subresource.as_deref()), (Operation::Update, Some("scale")));
        assert_eq!((review.resource.group.as_str(), review.resource.resource.as_str()), ("apps", "deployments"));
        assert_eq!(
            (review.kind.as_str(), review.namespace.as_deref(), review.name.as_str()),
            ("Scale", Some("web"), "d")
        );
        assert_eq!((review.user.username.as_str(), review.user.uid.as_str()), ("jane", ""));
        assert_eq!((&review.user.groups, &review.user.extra["k"]), (&vec!["g".to_owned()], &vec!["v".to_owned()]));
        assert!(review.dry_run && review.info.dry_run);
        assert_eq!(review.object::<Object>().unwrap()["spec"]["replicas"], 2);
        assert_eq!(review.old_object::<Object>().unwrap().unwrap()["spec"]["replicas"], 1);
        assert_eq!(review.options::<Value>().unwrap().unwrap()["fieldManager"], "kubectl");
    }

    #[test]
    fn what_may_be_missing_may_be_null() {
        let mut request = scale();
        for key in ["subResource", "namespace", "name", "dryRun", "userInfo", "object", "oldObject", "options"] {
            request[key] = Value::Null;
        }
        let null = review(&request).unwrap();
        for key in ["subResource", "namespace", "name", "dryRun", "userInfo", "object", "oldObject", "options"] {
            request.as_object_mut().unwrap().remove(key);
        }
        for review in [null, review(&request).unwrap()] {
            assert_eq!((review.namespace.as_deref(), review.name.as_str(), review.dry_run), (None, "", false));
            assert_eq!(review.user, User::default());
            assert!(review.old_object::<Value>().unwrap().is_none() && review.options::<Value>().unwrap().is_none());
            assert!(review.object::<Value>().unwrap_err().to_string().contains("see old_object"));
        }
    }

    #[test]
    fn another_shape_is_an_error_that_says_of_what() {
        let mut request = scale();
        request["operation"] = json!("PATCH");
        assert_eq!(review(&request).unwrap_err().to_string(), "the request has an unexpected shape");
        let error = review(&scale()).unwrap().object::<Vec<u8>>().unwrap_err();
        assert_eq!(error.to_string(), "the object of Scale web/d has an unexpected shape");
    }
}
