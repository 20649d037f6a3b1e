//! Required fields of built-in kinds.

use serde_json::Value;

use super::common::{counts, share};
use super::{batch, data, events, kinds, limits, network, pods, storage, webhooks};
use crate::json::{at, int, is_empty, list, text};
use crate::kinds::{Resource, definition};
use crate::status::Cause;

/// Problems of `object`, in its storage version. `old` is the version that it replaces.
pub(crate) fn problems(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match &*resource.storage {
        "customresourcedefinitions.apiextensions.k8s.io" => definition::problems(object, old),
        "pods" => at(object, &["spec"]).map(|spec| pods::spec(spec, "spec")).unwrap_or_default(),
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => workload(object),
        "replicationcontrollers" => counts(at(object, &["spec"]), "spec", &["replicas", "minReadySeconds"]),
        "jobs.batch" => batch::job(object, old),
        "cronjobs.batch" => batch::cron_job(object),
        "secrets" => data::secret(object, old),
        "configmaps" => data::config_map(object, old),
        "nodes" => taints(object),
        "services" => network::service(object, old),
        "networkpolicies.networking.k8s.io" => network::network_policy(object),
        "ingresses.networking.k8s.io" => network::ingress(object),
        "ingressclasses.networking.k8s.io" => network::ingress_class(object),
        "resourcequotas" => limits::quota(object),
        "limitranges" => limits::limit_range(object),
        "poddisruptionbudgets.policy" => limits::budget(object),
        "priorityclasses.scheduling.k8s.io" => limits::priority(object),
        "persistentvolumeclaims" => storage::claim(object, old),
        "persistentvolumes" => storage::volume(object),
        "storageclasses.storage.k8s.io" => storage::class(object),
        "runtimeclasses.node.k8s.io" => storage::runtime(object),
        "events" => events::problems(resource, object, old),
        "leases.coordination.k8s.io" => kinds::lease(object),
        "horizontalpodautoscalers.autoscaling" => kinds::autoscaler(object),
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io" => kinds::rules(object),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            kinds::binding(object)
        }
        "mutatingwebhookconfigurations.admissionregistration.k8s.io"
        | "validatingwebhookconfigurations.admissionregistration.k8s.io" => webhooks::configuration(object),
        _ => Vec::new(),
    }
}

/// Changes of immutable fields. Both versions are complete.
pub(crate) fn immutable_problems(resource: &Resource, old: &Value, new: &Value) -> Vec<Cause> {
    match &*resource.storage {
        "pods" => pod_changes(old, new),
        "deployments.apps" | "replicasets.apps" | "daemonsets.apps" | "jobs.batch" => {
            let selector = |o: &Value| at(o, &["spec", "selector"]).cloned().unwrap_or_default();
            let (before, after) = (selector(old), selector(new));
            let changed = before != after;
            changed.then(|| Cause::invalid("spec.selector", &after, "field is immutable")).into_iter().collect()
        }
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            kinds::role_changes(old, new)
        }
        _ => Vec::new(),
    }
}

/// A pod's spec is immutable, except for images, a deadline and additional tolerations.
fn pod_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let fixed = |pod: &Value| {
        let mut spec = pod.get("spec").cloned().unwrap_or_default();
        for key in ["containers", "initContainers"] {
            for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                // The default of the pull policy depends on the image.
                crate::json::object(container).retain(|key, _| !matches!(key.as_str(), "image" | "imagePullPolicy"));
            }
        }
        crate::json::object(&mut spec).retain(|key, _| {
            !matches!(
                key.as_str(),
                "activeDeadlineSeconds" | "tolerations" | "terminationGracePeriodSeconds" | "schedulingGates"
            )
        });
        spec
    };
    let tolerations = list(new, &["spec", "tolerations"]);
    let kept = list(old, &["spec", "tolerations"]).iter().all(|t| tolerations.contains(t));
    if kept && fixed(old) == fixed(new) {
        return Vec::new();
    }
    let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
        `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
        `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    vec![Cause::forbidden("spec", why)]
}

fn taints(node: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, taint) in list(node, &["spec", "taints"]).iter().enumerate() {
        for key in ["key", "effect"] {
            if text(taint, &[key]).is_empty() {
                causes.push(Cause::required(format!("metadata.taints[{index}].{key}"), ""));
            }
        }
    }
    causes
}

/// Rules of a deployment's strategy.
fn strategy(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (Some(spec), "Deployment") = (at(object, &["spec"]), text(object, &["kind"])) else { return causes };
    let rolling = at(spec, &["strategy", "rollingUpdate"]);
    match (text(spec, &["strategy", "type"]), rolling) {
        ("Recreate", Some(_)) => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            causes.push(Cause::forbidden("spec.strategy.rollingUpdate", why));
        }
        ("RollingUpdate", Some(rolling)) => {
            let field = "spec.strategy.rollingUpdate";
            let (surge, missing) = (rolling.get("maxSurge"), rolling.get("maxUnavailable"));
            causes.extend(share(missing, &format!("{field}.maxUnavailable")));
            causes.extend(share(surge, &format!("{field}.maxSurge")));
            let none = |value: Option<&Value>| value.is_some_and(|v| *v == 0 || *v == "0%");
            if none(surge) && none(missing) {
                let shown = missing.cloned().unwrap_or_default();
                let why = "may not be 0 when `maxSurge` is 0";
                causes.push(Cause::invalid(format!("{field}.maxUnavailable"), &shown, why));
            }
        }
        ("Recreate" | "RollingUpdate", None) => {}
        (kind, _) => {
            let shown = serde_json::json!({ "Type": kind, "RollingUpdate": rolling });
            causes.push(Cause::unsupported("spec.strategy", &shown, &["Recreate", "RollingUpdate"]));
        }
    }
    let deadline = int(spec, &["progressDeadlineSeconds"]);
    if let Some(seconds) = deadline.filter(|s| *s <= int(spec, &["minReadySeconds"]).unwrap_or_default()) {
        let why = "must be greater than minReadySeconds";
        causes.push(Cause::invalid("spec.progressDeadlineSeconds", &seconds.into(), why));
    }
    causes
}

fn workload(object: &Value) -> Vec<Cause> {
    let mut causes = counts(at(object, &["spec"]), "spec", &["replicas", "minReadySeconds", "revisionHistoryLimit"]);
    causes.extend(strategy(object));
    let selector = at(object, &["spec", "selector"]);
    if is_empty(selector) {
        causes.push(Cause::required("spec.selector", ""));
    }
    let labels = at(object, &["spec", "template", "metadata", "labels"]);
    let wanted = selector.and_then(|s| at(s, &["matchLabels"])).and_then(Value::as_object);
    let fits = wanted.is_some_and(|w| w.iter().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v)));
    let by_expression = selector.is_some_and(|s| !list(s, &["matchExpressions"]).is_empty());
    if !fits && !by_expression {
        let why = "`selector` does not match template `labels`";
        let labels = labels.cloned().unwrap_or_default();
        causes.push(Cause::invalid("spec.template.metadata.labels", &labels, why));
    }
    if let Some(spec) = at(object, &["spec", "template", "spec"]) {
        causes.extend(pods::spec(spec, "spec.template.spec"));
        // A workload that runs permanently must restart its pods.
        let policy = text(spec, &["restartPolicy"]);
        if matches!(policy, "OnFailure" | "Never") {
            causes.push(Cause::unsupported("spec.template.spec.restartPolicy", &policy.into(), &["Always"]));
        }
    }
    causes
}
