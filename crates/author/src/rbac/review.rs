//! Builds the request that checks an access, and reads the response.

use serde_json::{Value, json};

use super::access::Access;

/// The user whose access is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// The user that sends the request.
    Myself,
    /// Another user. RBAC must allow the request for others.
    User(String),
}

/// Path and body of the request.
pub fn review(asker: &Asker, access: &Access) -> (&'static str, Value) {
    let (resource, subresource) = match access.resource.split_once('/') {
        Some((resource, sub)) => (resource, Some(sub)),
        None => (access.resource.as_str(), None),
    };
    let mut attributes = json!({ "verb": access.verb, "group": access.group, "resource": resource });
    let rest =
        [("namespace", access.place.namespace()), ("name", access.name.as_deref()), ("subresource", subresource)];
    if let Some(fields) = attributes.as_object_mut() {
        fields.extend(rest.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into()))));
    }
    let mut spec = json!({ "resourceAttributes": attributes });
    let (path, kind) = match asker {
        Asker::Myself => ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "SelfSubjectAccessReview"),
        Asker::User(user) => {
            if let Some(fields) = spec.as_object_mut() {
                fields.insert("user".to_owned(), user.as_str().into());
                fields.insert("groups".to_owned(), groups(user).into());
            }
            ("/apis/authorization.k8s.io/v1/subjectaccessreviews", "SubjectAccessReview")
        }
    };
    (path, json!({ "apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec }))
}

/// The groups that the API server adds to a user by itself. Roles may be bound to them.
fn groups(user: &str) -> Vec<String> {
    let mut groups = vec!["system:authenticated".to_owned()];
    if let Some((namespace, _)) = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':')) {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    groups
}

/// The result in the response. None if it is not a valid response.
pub fn allowed(answer: &Value) -> Option<bool> {
    answer.pointer("/status/allowed")?.as_bool()
}

#[cfg(test)]
mod tests {
    use super::{super::access::Place, *};

    #[test]
    fn a_question_names_everything() {
        let access = Access {
            place: Place::Namespace("n".into()),
            group: "apps".into(),
            resource: "deployments/scale".into(),
            name: Some("web".into()),
            verb: "patch".into(),
        };
        let (path, body) = review(&Asker::Myself, &access);
        assert!(path.ends_with("/selfsubjectaccessreviews"));
        let attributes = json!({"verb": "patch", "group": "apps", "resource": "deployments", "namespace": "n", "name": "web", "subresource": "scale"});
        assert_eq!(body["spec"], json!({ "resourceAttributes": attributes }));
        let (_, body) = review(&Asker::User("system:serviceaccount:ops:b".into()), &access);
        assert_eq!(body["kind"], "SubjectAccessReview");
        assert_eq!(body["spec"]["user"], "system:serviceaccount:ops:b");
        assert_eq!(
            body["spec"]["groups"],
            json!(["system:authenticated", "system:serviceaccounts", "system:serviceaccounts:ops"])
        );
    }
}
