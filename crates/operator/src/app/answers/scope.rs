//! Whether the API server would send such a request to a binding. This checks everything that can be checked without
//! the namespace's labels: the rules, the namespace's name, and that the request names the object that it contains.
//! Pure.
//!
//! Requests that the API server sends are always in scope. A request out of scope was made up, or comes from an earlier
//! registration. A hook that answered it could be made to write on behalf of objects that it has nothing to do with.

use boathook_core::model::{AdmissionBinding, Requested};
use serde::Deserialize;
use serde_json::Value;

/// Kubernetes gives every namespace this label, with the namespace's name as its value.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Request {
    pub kind: Kind,
    resource: Resource,
    sub_resource: Option<String>,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub operation: String,
    pub user_info: User,
    object: Option<Object>,
    old_object: Option<Object>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Kind {
    pub kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub username: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Resource {
    group: String,
    version: String,
    resource: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Object {
    kind: Option<String>,
    pub metadata: Option<Metadata>,
}

impl Object {
    /// What is no object says nothing about itself.
    pub fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub name: Option<String>,
    pub namespace: Option<String>,
}

/// `left_out` are the namespaces that a binding does not receive requests about, unless it includes those of the
/// system. The error says what is out of scope.
pub(super) fn check(binding: &AdmissionBinding, left_out: &[String], request: &str) -> Result<(), String> {
    let request = Request::read(request).map_err(|error| format!("cannot be read: {error}"))?;
    let (sub, own_namespace) = (text(&request.sub_resource), text(&request.namespace));
    let Resource { group, version, resource } = &request.resource;
    let is_namespace = group.is_empty() && resource == "namespaces";
    let operation = &request.operation;
    let what = || match sub {
        "" => format!("{operation} of {resource} in {group}/{version}"),
        sub => format!("{operation} of {resource}/{sub} in {group}/{version}"),
    };
    let namespaced = !is_namespace && !own_namespace.is_empty();
    let requested = Requested { group, version, resource, subresource: sub, operation, namespaced };
    if !binding.rules.iter().any(|rule| rule.matches(&requested)) {
        return Err(format!("is {}, for which the binding has no rule", what()));
    }
    request.is_of_one_object(sub.is_empty(), is_namespace)?;
    let namespace = if is_namespace { request.name() } else { own_namespace };
    let asked = namespace.is_empty() || in_namespace(binding, left_out, namespace);
    if asked { Ok(()) } else { Err(format!("is about namespace {namespace:?}, which the binding does not review")) }
}

fn text(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

impl Request {
    pub fn read(json: &str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    fn objects(&self) -> impl Iterator<Item = &Object> {
        [&self.object, &self.old_object].into_iter().flatten()
    }

    /// While a namespace is created, its name may be only in the object.
    fn name(&self) -> &str {
        let own = self.objects().filter_map(|object| Some(text(&object.metadata.as_ref()?.name)));
        [text(&self.name)].into_iter().chain(own).find(|name| !name.is_empty()).unwrap_or_default()
    }

    /// Hooks read the object, and the rules apply to the request, so both must agree. Objects of subresources have
    /// another kind, and some have no name.
    fn is_of_one_object(&self, whole: bool, is_namespace: bool) -> Result<(), String> {
        let differs = |said: &str, has: &str| !has.is_empty() && said != has;
        for Object { kind, metadata } in self.objects().filter(|_| whole) {
            let metadata = metadata.as_ref();
            let name = metadata.map_or("", |metadata| text(&metadata.name));
            let namespace = metadata.map_or("", |metadata| text(&metadata.namespace));
            let named = !text(&self.name).is_empty() && differs(text(&self.name), name);
            let placed = !is_namespace && differs(text(&self.namespace), namespace);
            if named || placed || differs(&self.kind.kind, text(kind)) {
                return Err("names another object than the one that it has".to_owned());
            }
        }
        Ok(())
    }
}

/// Checks the namespace, as far as its name decides.
fn in_namespace(binding: &AdmissionBinding, left_out: &[String], namespace: &str) -> bool {
    if !binding.include_system && left_out.iter().any(|name| name == namespace) {
        return false;
    }
    let Some(selector) = &binding.namespace_selector else { return true };
    let label = selector.pointer("/matchLabels").and_then(|labels| labels.get(NAMESPACE_NAME));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    let mut own = expressions.filter(|expression| expression.get("key").is_some_and(|key| key == NAMESPACE_NAME));
    let holds = |expression: &Value| {
        let values = expression.get("values").and_then(Value::as_array);
        let listed = values.is_some_and(|values| values.iter().any(|value| value == namespace));
        match expression.get("operator").and_then(Value::as_str) {
            Some("In") => listed,
            Some("NotIn") => !listed,
            Some("DoesNotExist") => false,
            _ => true,
        }
    };
    label.is_none_or(|label| label == namespace) && own.all(holds)
}

#[cfg(test)]
mod tests {
    use boathook_core::{hooks::parse, model::HookName};
    use serde_json::json;

    use super::*;

    fn binding(rule: &str, more: &str) -> AdmissionBinding {
        let document =
            format!("{{configVersion: v1, kubernetesValidating: [{{name: a.b.c, rules: [{{{rule}}}]{more}}}]}}");
        parse(&HookName::new("h").unwrap(), &document, &|_| Ok(())).unwrap().admission.remove(0)
    }

    fn rule(groups: &str, resources: &str, operations: &str) -> String {
        format!("apiGroups: ['{groups}'], apiVersions: [v1], resources: ['{resources}'], operations: [{operations}]")
    }

    fn request(resource: &str, more: Value) -> Value {
        let mut request = json!({
            "uid": "u", "operation": "CREATE", "namespace": "team", "name": "x",
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": resource},
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team", "name": "x"}},
        });
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    }

    fn asked(binding: &AdmissionBinding, request: &Value) -> bool {
        check(binding, &["kube-system".to_owned(), "ops".to_owned()], &request.to_string()).is_ok()
    }

    #[test]
    fn rules_are_those_of_the_api_server() {
        for (of, resource, more, expected) in [
            (rule("", "configmaps", "CREATE"), "configmaps", json!({}), true),
            (rule("", "configmaps", "CREATE"), "secrets", json!({}), false),
            (rule("", "configmaps", "UPDATE"), "configmaps", json!({}), false),
            (rule("apps", "configmaps", "CREATE"), "configmaps", json!({}), false),
            (rule("", "*", "'*'"), "secrets", json!({}), true),
            (rule("", "pods", "CREATE"), "pods", json!({"subResource": "eviction"}), false),
            (rule("", "*", "CREATE"), "pods", json!({"subResource": "eviction"}), false),
            (rule("", "pods/*", "CREATE"), "pods", json!({"subResource": "eviction"}), true),
            (rule("", "*/eviction", "CREATE"), "pods", json!({"subResource": "eviction"}), true),
            (rule("", "*/*", "CREATE"), "pods", json!({}), true),
            (rule("", "configmaps", "CREATE") + ", scope: Cluster", "configmaps", json!({}), false),
            (rule("", "configmaps", "CREATE"), "", json!({"resource": null}), false),
        ] {
            assert_eq!(asked(&binding(&of, ""), &request(resource, more.clone())), expected, "{of} {resource} {more}");
        }
        let other = json!({"resource": {"group": "", "version": "v2", "resource": "configmaps"}});
        assert!(!asked(&binding(&rule("", "configmaps", "CREATE"), ""), &request("configmaps", other)));
    }

    #[test]
    fn namespaces_are_held_against_the_selector_as_far_as_their_name_goes() {
        let all = rule("", "*/*", "CREATE");
        let selector = |text: &str| format!(", namespace: {{labelSelector: {text}}}");
        let only = |operator: &str| {
            selector(&format!(
                "{{matchExpressions: [{{key: {NAMESPACE_NAME}, operator: {operator}, values: [team]}}]}}"
            ))
        };
        let in_namespace = |binding: &AdmissionBinding, namespace: &str| {
            let object = json!({"kind": "ConfigMap", "metadata": {"namespace": namespace, "name": "x"}});
            asked(binding, &request("configmaps", json!({"namespace": namespace, "object": object})))
        };
        for (more, namespace, expected) in [
            (String::new(), "team", true),
            (String::new(), "ops", false),
            (String::new(), "kube-system", false),
            (", namespace: {includeSystem: true}".to_owned(), "ops", true),
            (only("In"), "team", true),
            (only("In"), "other", false),
            (only("NotIn"), "team", false),
            (only("NotIn"), "other", true),
            (selector(&format!("{{matchLabels: {{{NAMESPACE_NAME}: team}}}}")), "other", false),
            (selector("{matchLabels: {nobody: knows}}"), "other", true),
        ] {
            assert_eq!(in_namespace(&binding(&all, &more), namespace), expected, "{more} {namespace}");
        }
        // A namespace is in no namespace. It is selected by its own name.
        let of = |name: &str| {
            let kind = json!({"group": "", "version": "v1", "kind": "Namespace"});
            let object = json!({"kind": "Namespace", "metadata": {"name": name}});
            request("namespaces", json!({"name": null, "namespace": name, "kind": kind, "object": object}))
        };
        assert!(asked(&binding(&all, &only("In")), &of("team")) && !asked(&binding(&all, &only("In")), &of("other")));
        let cluster = binding(&(all.clone() + ", scope: Cluster"), "");
        assert!(asked(&cluster, &of("team")));
    }

    #[test]
    fn the_object_is_the_one_that_is_named() {
        let of = binding(&rule("", "*/*", "CREATE"), "");
        let with = |object: Value| request("configmaps", json!({ "object": object }));
        for object in [
            json!({"kind": "Secret", "metadata": {"namespace": "team", "name": "x"}}),
            json!({"kind": "ConfigMap", "metadata": {"namespace": "kube-system", "name": "x"}}),
            json!({"kind": "ConfigMap", "metadata": {"namespace": "team", "name": "other"}}),
        ] {
            assert!(!asked(&of, &with(object.clone())), "{object}");
            let old = request("configmaps", json!({"oldObject": object, "object": null}));
            assert!(!asked(&of, &old), "{old}");
        }
        for object in [json!({"kind": "ConfigMap"}), json!({"metadata": null}), json!({"metadata": {"name": "x"}})] {
            assert!(asked(&of, &with(object.clone())), "{object}");
        }
        // The API server generates the name later.
        let generated = json!({"kind": "ConfigMap", "metadata": {"generateName": "x-", "namespace": "team"}});
        assert!(asked(&of, &request("configmaps", json!({"name": null, "object": generated}))));
        // A Scale is not a Deployment.
        let scale = json!({"kind": "Scale", "metadata": {"name": "y"}});
        assert!(asked(&of, &request("configmaps", json!({"subResource": "scale", "object": scale}))));
    }
}
