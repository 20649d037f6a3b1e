//! Required fields of built-in kinds.

use serde_json::{Map, Value, json};

use super::quantity::Quantity;
use super::{NOT_NEGATIVE, counts, data, events, network, pods, selector, share, webhooks};
use crate::json::{at, int, is_empty, list, text};
use crate::kinds::{Resource, definition};
use crate::names;
use crate::status::Cause;

/// Problems of `object`, in its storage version. `old` is the version that it replaces.
pub(crate) fn problems(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    match &*resource.storage {
        "customresourcedefinitions.apiextensions.k8s.io" => definition::problems(object, old),
        "pods" => at(object, &["spec"]).map(|spec| pods::spec(spec, "spec")).unwrap_or_default(),
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => workload(object),
        "replicationcontrollers" => counts(at(object, &["spec"]), "spec", &["replicas", "minReadySeconds"]),
        "jobs.batch" => job(object, old),
        "cronjobs.batch" => cron_job(object),
        "secrets" => data::secret(object, old),
        "configmaps" => data::config_map(object, old),
        "nodes" => taints(object),
        "services" => network::service(object, old),
        "networkpolicies.networking.k8s.io" => network::network_policy(object),
        "ingresses.networking.k8s.io" => network::ingress(object),
        "ingressclasses.networking.k8s.io" => network::ingress_class(object),
        "resourcequotas" => quota(object),
        "limitranges" => limit_range(object),
        "poddisruptionbudgets.policy" => budget(object),
        "priorityclasses.scheduling.k8s.io" => priority(object),
        "persistentvolumeclaims" => claim(object, old),
        "persistentvolumes" => volume(object),
        "storageclasses.storage.k8s.io" => class(object),
        "runtimeclasses.node.k8s.io" => runtime(object),
        "events" => events::problems(resource, object, old),
        "leases.coordination.k8s.io" => lease(object),
        "horizontalpodautoscalers.autoscaling" => autoscaler(object),
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io" => rules(object),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => binding(object),
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
            role_changes(old, new)
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

pub(super) fn lease(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, least) in [("leaseDurationSeconds", 1), ("leaseTransitions", 0)] {
        if let Some(number) = int(object, &["spec", key]).filter(|n| *n < least) {
            let why = if least == 1 { "must be greater than 0" } else { "must be greater than or equal to 0" };
            causes.push(Cause::invalid(format!("spec.{key}"), &number.into(), why));
        }
    }
    causes
}

pub(super) fn autoscaler(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let least = int(object, &["spec", "minReplicas"]);
    let most = int(object, &["spec", "maxReplicas"]).unwrap_or_default();
    if let Some(least) = least.filter(|least| *least < 1) {
        causes.push(Cause::invalid("spec.minReplicas", &least.into(), "must be greater than or equal to 1"));
    }
    if most < 1 {
        causes.push(Cause::required("spec.maxReplicas", "must be set and greater than 0"));
    }
    if least.is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &most.into(), why));
    }
    let target = |key: &str| text(object, &["spec", "scaleTargetRef", key]);
    for key in ["kind", "name"].into_iter().filter(|key| target(key).is_empty()) {
        causes.push(Cause::required(format!("spec.scaleTargetRef.{key}"), ""));
    }
    if target("apiVersion").is_empty() {
        let why = "apiVersion must specify API group";
        causes.push(Cause::invalid("spec.scaleTargetRef.apiVersion", &"".into(), why));
    }
    causes
}

/// Rules of roles.
pub(super) fn rules(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, rule) in list(object, &["rules"]).iter().enumerate() {
        let none = |key: &str| list(rule, &[key]).is_empty();
        if none("verbs") {
            let why = "verbs must contain at least one value";
            causes.push(Cause::required(format!("rules[{index}].verbs"), why));
        }
        if !none("nonResourceURLs") {
            continue;
        }
        if none("apiGroups") {
            let why = "resource rules must supply at least one api group";
            causes.push(Cause::required(format!("rules[{index}].apiGroups"), why));
        }
        if none("resources") {
            let why = "resource rules must supply at least one resource";
            causes.push(Cause::required(format!("rules[{index}].resources"), why));
        }
    }
    causes
}

/// Rules of the role and the subjects of a binding.
pub(super) fn binding(object: &Value) -> Vec<Cause> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let role = |key: &str| text(object, &["roleRef", key]);
    let mut causes = Vec::new();
    if role("apiGroup") != GROUP {
        causes.push(Cause::unsupported("roleRef.apiGroup", &role("apiGroup").into(), &[GROUP]));
    }
    let clusterwide = text(object, &["kind"]) == "ClusterRoleBinding";
    let kinds: &[&str] = if clusterwide { &["ClusterRole"] } else { &["Role", "ClusterRole"] };
    if !kinds.contains(&role("kind")) {
        causes.push(Cause::unsupported("roleRef.kind", &role("kind").into(), kinds));
    }
    if role("name").is_empty() {
        causes.push(Cause::required("roleRef.name", ""));
    }
    for (index, subject) in list(object, &["subjects"]).iter().enumerate() {
        let field = |key: &str| format!("subjects[{index}].{key}");
        if text(subject, &["name"]).is_empty() {
            causes.push(Cause::required(field("name"), ""));
        }
        let kind = text(subject, &["kind"]);
        match kind {
            "User" | "Group" => {}
            "ServiceAccount" if clusterwide && text(subject, &["namespace"]).is_empty() => {
                causes.push(Cause::required(field("namespace"), ""));
            }
            "ServiceAccount" => {}
            kind => {
                let kinds = ["ServiceAccount", "User", "Group"];
                causes.push(Cause::unsupported(field("kind"), &kind.into(), &kinds));
            }
        }
    }
    causes
}

/// A binding cannot change its role.
pub(super) fn role_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let (before, after) = (old.get("roleRef"), new.get("roleRef"));
    if before == after {
        return Vec::new();
    }
    let part = |key: &str| after.map(|r| text(r, &[key])).unwrap_or_default();
    // The internal type, which has no JSON names.
    let shown = serde_json::json!({ "APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name") });
    vec![Cause::invalid("roleRef", &shown, "cannot change roleRef")]
}

/// Resources whose quantities must be whole numbers.
const WHOLE: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

pub(super) fn quota(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (name, quantity) in entries(object, &["spec", "hard"]) {
        let field = format!("spec.hard[{name}]");
        let known = name.contains('/') || WHOLE.contains(&name.as_str()) || MEASURED.contains(&name.as_str());
        if !known && !name.starts_with("hugepages-") && !name.starts_with("requests.hugepages-") {
            for why in ["must be a standard resource type or fully qualified", "must be a standard resource for quota"]
            {
                causes.push(Cause::invalid(&field, &name.as_str().into(), why));
            }
        }
        let text = quantity.as_str().unwrap_or_default();
        if Quantity::parse(text).is_some_and(Quantity::is_negative) {
            causes.push(Cause::invalid(&field, quantity, super::NOT_NEGATIVE));
        }
        if WHOLE.contains(&name.as_str()) && text.ends_with('m') {
            causes.push(Cause::invalid(&field, quantity, "must be an integer"));
        }
    }
    let scopes = list(object, &["spec", "scopes"]);
    if scopes.iter().any(|scope| !scope.as_str().is_some_and(|scope| SCOPES.contains(&scope))) {
        causes.push(Cause::invalid("spec.scopes", &scopes.into(), "unsupported scope"));
    }
    causes
}

fn entries<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
    at(object, path).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

pub(super) fn limit_range(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (index, limit) in list(object, &["spec", "limits"]).iter().enumerate() {
        let field = format!("spec.limits[{index}]");
        let kind = text(limit, &["type"]);
        let wrong = names::qualified_name(kind).into_iter();
        causes.extend(wrong.map(|why| Cause::invalid(format!("{field}.type"), &kind.into(), why)));
        if kind == "Pod" {
            let given = ["default", "defaultRequest"].into_iter().filter(|key| limit.get(*key).is_some());
            let why = "may not be specified when `type` is 'Pod'";
            causes.extend(given.map(|key| Cause::forbidden(format!("{field}.{key}"), why)));
        }
        let mut names: Vec<&String> = Vec::new();
        for key in ["max", "min", "default", "defaultRequest"] {
            names.extend(
                entries(limit, &[key]).map(|(name, _)| name).filter(|name| !names.contains(name)).collect::<Vec<_>>(),
            );
        }
        for name in names {
            bounds(limit, name, &field, &mut causes);
        }
    }
    causes
}

/// Compares the bounds of one resource. In some errors, the real server shows the other value.
fn bounds(limit: &Value, name: &str, field: &str, causes: &mut Vec<Cause>) {
    let given = |key: &str| at(limit, &[key, name]).and_then(Value::as_str);
    let above = |a: Option<&str>, b: Option<&str>| match (a.and_then(Quantity::parse), b.and_then(Quantity::parse)) {
        (Some(a), Some(b)) => a > b,
        _ => false,
    };
    let (min, max, request, default) = (given("min"), given("max"), given("defaultRequest"), given("default"));
    let shown = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let mut refuse = |key: &str, value: Option<&str>, low: (&str, Option<&str>), high: (&str, Option<&str>)| {
        let why = format!("{} value {} is greater than {} value {}", low.0, shown(low.1), high.0, shown(high.1));
        causes.push(Cause::invalid(format!("{field}.{key}[{name}]"), &shown(value).into(), why));
    };
    if above(min, max) {
        refuse("min", min, ("min", min), ("max", max));
    }
    if above(min, request) {
        refuse("defaultRequest", request, ("min", min), ("default request", request));
    }
    if above(request, max) {
        refuse("defaultRequest", request, ("default request", request), ("max", max));
    }
    if above(request, default) {
        refuse("defaultRequest", request, ("default request", request), ("default limit", default));
    }
    if above(min, default) {
        refuse("default", min, ("min", min), ("default", default));
    }
    if above(default, max) {
        refuse("default", max, ("default", default), ("max", max));
    }
}

pub(super) fn budget(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let Some(spec) = at(object, &["spec"]) else { return causes };
    let (least, most) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
    if least.is_some() && most.is_some() {
        let shown = json!({
            "MinAvailable": least, "Selector": spec.get("selector"), "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        });
        causes.push(Cause::invalid("spec", &shown, "minAvailable and maxUnavailable cannot be both set"));
    }
    causes.extend(share(least, "spec.minAvailable"));
    causes.extend(share(most, "spec.maxUnavailable"));
    causes.extend(selector(spec.get("selector"), "spec.selector"));
    pods::one_of(spec, "unhealthyPodEvictionPolicy", "spec", &["AlwaysAllow", "IfHealthyBudget"], &mut causes);
    causes
}

pub(super) fn priority(object: &Value) -> Vec<Cause> {
    const MOST: i64 = 1_000_000_000;
    let name = text(object, &["metadata", "name"]);
    let own = matches!(name, "system-node-critical" | "system-cluster-critical");
    let mut causes = Vec::new();
    if name.starts_with("system-") && !own {
        let why = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known \
             system priority class"
        );
        causes.push(Cause::forbidden("metadata.name", why));
    }
    if !own && int(object, &["value"]).is_some_and(|value| value > MOST) {
        let why = format!("maximum allowed value of a user defined priority is {MOST}");
        causes.push(Cause::forbidden("value", why));
    }
    causes
}

const RESTART: &str = r#"valid values: "OnFailure", "Never""#;
const CONTROLLER: &str = "batch.kubernetes.io/controller-uid";
const FIXED: &str = "field is immutable";

pub(super) fn job(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = job_spec(at(object, &["spec"]), "spec");
    match old {
        None => causes.extend(own_selector(object)),
        Some(old) => causes.extend(job_changes(old, object)),
    }
    causes
}

/// A job's selector must be based on its own uid, unless `manualSelector` is set.
fn own_selector(object: &Value) -> Option<Cause> {
    let manual = at(object, &["spec", "manualSelector"]) == Some(&Value::Bool(true));
    let labels = at(object, &["spec", "selector", "matchLabels"])?.as_object()?;
    if manual || labels.contains_key(CONTROLLER) {
        return None;
    }
    let mut labels = labels.clone();
    labels.insert(CONTROLLER.into(), text(object, &["metadata", "uid"]).into());
    Some(Cause::invalid("spec.selector", &json!({ "matchLabels": labels }), "`selector` not auto-generated"))
}

fn job_changes(old: &Value, new: &Value) -> Vec<Cause> {
    let part = |object: &Value, path: &[&str]| at(object, path).cloned().unwrap_or_default();
    let indexed = text(new, &["spec", "completionMode"]) == "Indexed";
    let mut causes = Vec::new();
    for key in ["completions", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"] {
        let (before, after) = (part(old, &["spec", key]), part(new, &["spec", key]));
        let elastic = key == "completions" && indexed && part(new, &["spec", "parallelism"]) == after;
        if before != after && !elastic {
            causes.push(Cause::invalid(format!("spec.{key}"), &after, FIXED));
        }
    }
    // A suspended job may still be scheduled to other nodes.
    let may_move = at(old, &["spec", "suspend"]) == Some(&Value::Bool(true));
    let fixed = |object: &Value| {
        let mut spec = part(object, &["spec", "template", "spec"]);
        if may_move {
            let kept = ["nodeSelector", "affinity", "tolerations", "schedulingGates"];
            crate::json::object(&mut spec).retain(|key, _| !kept.contains(&key.as_str()));
        }
        spec
    };
    if fixed(old) != fixed(new) {
        causes.push(Cause::invalid("spec.template.spec", &part(new, &["spec", "template", "spec"]), FIXED));
    }
    causes
}

fn job_spec(spec: Option<&Value>, shown: &str) -> Vec<Cause> {
    let Some(spec) = spec else { return Vec::new() };
    let keys = ["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"];
    let mut causes = counts(Some(spec), shown, &keys);
    if text(spec, &["completionMode"]) == "Indexed" && at(spec, &["completions"]).is_none() {
        let why = "when completion mode is Indexed";
        causes.push(Cause::required(format!("{shown}.completions"), why));
    }
    if let Some(template) = at(spec, &["template", "spec"]) {
        let shown = format!("{shown}.template.spec");
        causes.extend(pods::spec(template, &shown));
        if !matches!(text(template, &["restartPolicy"]), "OnFailure" | "Never") {
            causes.push(Cause::required(format!("{shown}.restartPolicy"), RESTART));
        }
    }
    causes
}

pub(super) fn cron_job(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let text_of = text(object, &["spec", "schedule"]);
    if text_of.is_empty() {
        causes.push(Cause::required("spec.schedule", ""));
    } else if let Some(why) = schedule(text_of) {
        causes.push(Cause::invalid("spec.schedule", &text_of.into(), why));
    }
    let Some(spec) = at(object, &["spec"]) else { return causes };
    causes.extend(counts(Some(spec), "spec", &["startingDeadlineSeconds"]));
    causes.extend(time_zone(spec));
    pods::one_of(spec, "concurrencyPolicy", "spec", &["Allow", "Forbid", "Replace"], &mut causes);
    causes.extend(job_spec(at(spec, &["jobTemplate", "spec"]), "spec.jobTemplate.spec"));
    let name = text(object, &["metadata", "name"]);
    if name.len() > 52 {
        // The names of its jobs are eleven characters longer.
        causes.push(Cause::invalid("metadata.name", &name.into(), "must be no more than 52 characters"));
    }
    causes
}

fn time_zone(spec: &Value) -> Option<Cause> {
    let name = at(spec, &["timeZone"])?.as_str()?;
    let known = |name: &str| jiff::tz::TimeZone::get(name).is_ok();
    // On a system without any time zones, names cannot be checked.
    let unknown = !known(name) && known("Europe/Berlin");
    unknown.then(|| Cause::invalid("spec.timeZone", &name.into(), format!("unknown time zone {name}")))
}

const NAMED: [&str; 8] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every"];

/// The problem of a schedule, in the words of the real server's parser.
fn schedule(text: &str) -> Option<String> {
    if text.contains("TZ") {
        return Some("cannot use TZ or CRON_TZ in schedule, use timeZone field instead".to_owned());
    }
    if text.starts_with('@') {
        let known = text.split_whitespace().next().is_some_and(|word| NAMED.contains(&word));
        return (!known).then(|| format!("unrecognized descriptor: {text}"));
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != 5 {
        return Some(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    let bounds = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
    fields.iter().zip(bounds).flat_map(|(field, bounds)| field.split(',').map(move |part| (part, bounds))).find_map(
        |(part, (least, most))| {
            let range = part.split('/').next().unwrap_or_default();
            // Words are names of days and months, or stars.
            let numbers: Vec<i64> = range.split('-').map_while(|number| number.parse().ok()).collect();
            let (first, last) = (*numbers.first()?, *numbers.last()?);
            if first < least {
                return Some(format!("beginning of range ({first}) below minimum ({least}): {part}"));
            }
            if last > most {
                return Some(format!("end of range ({last}) above maximum ({most}): {part}"));
            }
            let backwards = first > last;
            backwards.then(|| format!("beginning of range ({first}) beyond end of range ({last}): {part}"))
        },
    )
}

const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

pub(super) fn claim(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let modes = list(object, &["spec", "accessModes"]);
    if modes.is_empty() {
        causes.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    let unknown = modes.iter().filter(|mode| !mode.as_str().is_some_and(|mode| MODES.contains(&mode)));
    causes.extend(unknown.map(|mode| Cause::unsupported("spec.accessModes", mode, &MODES)));
    match at(object, &["spec", "resources", "requests", "storage"]) {
        None => causes.push(Cause::required("spec.resources[storage]", "")),
        Some(size) => {
            let nothing = |q: Quantity| q.is_negative() || Some(q) == Quantity::parse("0");
            if size.as_str().and_then(Quantity::parse).is_some_and(nothing) {
                causes.push(Cause::invalid("spec.resources[storage]", size, "must be greater than zero"));
            }
        }
    }
    causes.extend(old.and_then(|old| changed(old, object)));
    causes
}

/// A bound claim may grow and be assigned to a volume. Nothing else can change.
fn changed(old: &Value, new: &Value) -> Option<Cause> {
    let fixed = |claim: &Value, bound: bool| {
        let mut spec = claim.get("spec").cloned().unwrap_or_default();
        let map = crate::json::object(&mut spec);
        map.shift_remove("volumeAttributesClassName");
        if text(old, &["spec", "volumeName"]).is_empty() {
            map.shift_remove("volumeName");
        }
        if bound {
            map.shift_remove("resources");
        }
        spec
    };
    let bound = text(new, &["status", "phase"]) == "Bound";
    if fixed(old, bound) == fixed(new, bound) {
        return None;
    }
    let why =
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
    Some(Cause::forbidden("spec", why))
}

pub(super) fn class(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if text(object, &["provisioner"]).is_empty() {
        causes.push(Cause::required("provisioner", ""));
    }
    let policy = text(object, &["reclaimPolicy"]);
    if !matches!(policy, "" | "Delete" | "Retain") {
        causes.push(Cause::unsupported("reclaimPolicy", &policy.into(), &["Delete", "Retain"]));
    }
    causes
}

/// Rules of runtime classes.
pub(super) fn runtime(object: &Value) -> Vec<Cause> {
    let missing = text(object, &["handler"]).is_empty();
    missing.then(|| Cause::required("handler", "")).into_iter().collect()
}

pub(super) fn volume(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if at(object, &["spec", "capacity", "storage"]).is_none() {
        causes.push(Cause::required("spec.capacity", ""));
    }
    if list(object, &["spec", "accessModes"]).is_empty() {
        causes.push(Cause::required("spec.accessModes", ""));
    }
    if let Some(spec) = at(object, &["spec"]) {
        let policies = ["Delete", "Recycle", "Retain"];
        pods::one_of(spec, "persistentVolumeReclaimPolicy", "spec", &policies, &mut causes);
    }
    causes
}

/// Problems of the status of `object`, which replaces `old`.
pub(crate) fn status_problems(storage: &str, old: &Value, object: &Value) -> Vec<Cause> {
    let keys: &[&str] = match storage {
        "ingresses.networking.k8s.io" => return network::balanced(object),
        "jobs.batch" => return job_counts(old, object),
        "daemonsets.apps" => &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
        ],
        "deployments.apps" => &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
        ],
        "replicasets.apps" | "replicationcontrollers" => {
            &["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"]
        }
        "statefulsets.apps" => {
            &["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"]
        }
        "poddisruptionbudgets.policy" => {
            &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods", "observedGeneration"]
        }
        "horizontalpodautoscalers.autoscaling" => &["currentReplicas", "desiredReplicas"],
        _ => return Vec::new(),
    };
    counts(object.get("status"), "status", keys)
}

/// The counts of succeeded and failed pods of a job cannot decrease.
fn job_counts(old: &Value, object: &Value) -> Vec<Cause> {
    let count = |object: &Value, key: &str| int(object, &["status", key]).unwrap_or_default();
    let mut causes = Vec::new();
    for key in ["active", "succeeded", "failed"] {
        let field = format!("status.{key}");
        let now = count(object, key);
        if now < 0 {
            causes.push(Cause::invalid(&field, &now.into(), NOT_NEGATIVE));
        }
        if key != "active" && now < count(old, key) {
            causes.push(Cause::invalid(&field, &now.into(), format!("cannot decrease the {key} counter")));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_field_by_field() {
        let good = ["* * * * *", "*/5 0-23/2 1,15 JAN-MAR MON", "@hourly", "@every 5m", "0 0 * * 0"];
        assert!(good.iter().all(|text| schedule(text).is_none()));
        let why = |text: &str| schedule(text).unwrap_or_default();
        assert_eq!(why("61 * * * *"), "end of range (61) above maximum (59): 61");
        assert_eq!(why("* * 0 * *"), "beginning of range (0) below minimum (1): 0");
        assert_eq!(why("5-3 * * * *"), "beginning of range (5) beyond end of range (3): 5-3");
        assert_eq!(why("* * * *"), "expected exactly 5 fields, found 4: [* * * *]");
        assert_eq!(why("@sometimes"), "unrecognized descriptor: @sometimes");
    }
}
