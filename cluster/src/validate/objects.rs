//! Rules of built-in kinds.

use serde_json::{Value, json};

use super::quantity::Quantity;
use super::{data, events, network, pods, webhooks};
use crate::field::{Field, NOT_NEGATIVE, problems as collect};
use crate::json::{at, object, text};
use crate::kinds::{Resource, definition};
use crate::names;
use crate::status::Cause;

const FIXED: &str = "field is immutable";

/// Problems of `object`, in its storage version. `old` is the version that it replaces.
pub(crate) fn problems(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<Cause> {
    collect(object, |object| match &*resource.storage {
        "customresourcedefinitions.apiextensions.k8s.io" => definition::check(object, old),
        "pods" => pods::spec(&object.at("spec")),
        "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "daemonsets.apps" => workload(object),
        "replicationcontrollers" => object.at("spec").counts(&["replicas", "minReadySeconds"]),
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
        "limitranges" => object.each("spec.limits").for_each(|limit| limit_range(&limit)),
        "poddisruptionbudgets.policy" => budget(&object.at("spec")),
        "priorityclasses.scheduling.k8s.io" => priority(object),
        "persistentvolumeclaims" => claim(object, old),
        "persistentvolumes" => volume(&object.at("spec")),
        "storageclasses.storage.k8s.io" => {
            object.at("provisioner").need("");
            object.at("reclaimPolicy").one_of(&["Delete", "Retain"]);
        }
        "runtimeclasses.node.k8s.io" => {
            object.at("handler").need("");
        }
        "events" => events::check(resource, object, old),
        "leases.coordination.k8s.io" => {
            object.at("spec.leaseDurationSeconds").within(1.., "must be greater than 0");
            object.at("spec").counts(&["leaseTransitions"]);
        }
        "horizontalpodautoscalers.autoscaling" => autoscaler(&object.at("spec")),
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io" => {
            object.each("rules").for_each(|each| rule(&each));
        }
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => binding(object),
        "mutatingwebhookconfigurations.admissionregistration.k8s.io"
        | "validatingwebhookconfigurations.admissionregistration.k8s.io" => webhooks::configuration(object),
        _ => {}
    })
}

/// Changes of immutable fields. Both versions are complete.
pub(crate) fn immutable_problems(resource: &Resource, old: &Value, new: &Value) -> Vec<Cause> {
    collect(new, |new| match &*resource.storage {
        "pods" => pod_changes(old, new),
        "deployments.apps" | "replicasets.apps" | "daemonsets.apps" | "jobs.batch" => {
            let selector = new.at("spec.selector");
            if at(old, &["spec", "selector"]) != selector.value {
                selector.invalid(FIXED);
            }
        }
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            let role = new.at("roleRef");
            if old.get("roleRef") != role.value {
                // The internal type, which has no JSON names.
                let part = |key: &str| role.at(key).text();
                let shown = json!({ "APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name") });
                role.invalid_as(shown, "cannot change roleRef");
            }
        }
        _ => {}
    })
}

/// A part of an object without these of its fields.
fn without(value: Option<&Value>, keys: &[&str]) -> Value {
    let mut rest = value.cloned().unwrap_or_default();
    object(&mut rest).retain(|key, _| !keys.contains(&key.as_str()));
    rest
}

/// A pod's spec is immutable, except for images, a deadline and additional tolerations.
fn pod_changes(old: &Value, new: &Field<'_>) {
    let fixed = |pod: Option<&Value>| {
        let kept = ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"];
        let mut spec = without(pod.and_then(|pod| pod.get("spec")), &kept);
        for key in ["containers", "initContainers"] {
            for container in spec.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                // The default of the pull policy depends on the image.
                *container = without(Some(container), &["image", "imagePullPolicy"]);
            }
        }
        spec
    };
    let tolerations = new.at("spec.tolerations").list();
    let kept = crate::json::list(old, &["spec", "tolerations"]).iter().all(|t| tolerations.contains(t));
    if !kept || fixed(Some(old)) != fixed(new.value) {
        new.at("spec").forbidden(
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
             `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
             `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        );
    }
}

fn taints(node: &Field<'_>) {
    for (index, taint) in node.each("spec.taints").enumerate() {
        let taint = taint.named(format!("metadata.taints[{index}]"));
        taint.at("key").need("");
        taint.at("effect").need("");
    }
}

/// Rules of a deployment's strategy.
fn strategy(spec: &Field<'_>) {
    let (kind, rolling) = (spec.at("strategy.type").text(), spec.at("strategy.rollingUpdate"));
    match kind {
        "Recreate" if rolling.is_set() => rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"),
        "RollingUpdate" => {
            let (surge, missing) = (rolling.at("maxSurge"), rolling.at("maxUnavailable"));
            missing.share();
            surge.share();
            let none = |share: &Field<'_>| share.value.is_some_and(|v| *v == 0 || *v == "0%");
            if none(&surge) && none(&missing) {
                missing.invalid("may not be 0 when `maxSurge` is 0");
            }
        }
        "Recreate" => {}
        kind => {
            let shown = json!({ "Type": kind, "RollingUpdate": rolling.value });
            spec.push(Cause::unsupported("spec.strategy", &shown, &["Recreate", "RollingUpdate"]));
        }
    }
    let ready = spec.at("minReadySeconds").int().unwrap_or_default();
    spec.at("progressDeadlineSeconds").within(ready.saturating_add(1).., "must be greater than minReadySeconds");
}

fn workload(object: &Field<'_>) {
    let (spec, template) = (object.at("spec"), object.at("spec.template.spec"));
    spec.counts(&["replicas", "minReadySeconds", "revisionHistoryLimit"]);
    if object.at("kind").text() == "Deployment" {
        strategy(&spec);
    }
    let (selector, labels) = (spec.at("selector"), spec.at("template.metadata.labels"));
    selector.need("");
    let wanted = selector.at("matchLabels");
    let fits = wanted.is_object() && wanted.keys().all(|key| labels.entry(key).value == wanted.entry(key).value);
    if !fits && selector.at("matchExpressions").is_empty() {
        labels.invalid("`selector` does not match template `labels`");
    }
    pods::spec(&template);
    // A workload that runs permanently must restart its pods.
    let policy = template.at("restartPolicy");
    if matches!(policy.text(), "OnFailure" | "Never") {
        policy.unsupported(&["Always"]);
    }
}

fn autoscaler(spec: &Field<'_>) {
    let (least, most) = (spec.at("minReplicas"), spec.at("maxReplicas"));
    let most_replicas = most.int().unwrap_or_default();
    least.within(1.., "must be greater than or equal to 1");
    if most_replicas < 1 {
        most.required("must be set and greater than 0");
    }
    if least.int().is_some_and(|least| most_replicas < least) {
        most.invalid_as(most_replicas, "must be greater than or equal to `minReplicas`");
    }
    let target = spec.at("scaleTargetRef");
    target.at("kind").need("");
    target.at("name").need("");
    if target.at("apiVersion").is_empty() {
        target.at("apiVersion").invalid_as("", "apiVersion must specify API group");
    }
}

/// Checks a rule of a role.
fn rule(rule: &Field<'_>) {
    rule.at("verbs").need("verbs must contain at least one value");
    if rule.at("nonResourceURLs").is_empty() {
        rule.at("apiGroups").need("resource rules must supply at least one api group");
        rule.at("resources").need("resource rules must supply at least one resource");
    }
}

/// Checks the role and the subjects of a binding.
fn binding(object: &Field<'_>) {
    let must_be = |field: &Field<'_>, allowed: &[&str]| {
        if !allowed.contains(&field.text()) {
            field.unsupported(allowed);
        }
    };
    let clusterwide = object.at("kind").text() == "ClusterRoleBinding";
    must_be(&object.at("roleRef.apiGroup"), &["rbac.authorization.k8s.io"]);
    must_be(&object.at("roleRef.kind"), if clusterwide { &["ClusterRole"] } else { &["Role", "ClusterRole"] });
    object.at("roleRef.name").need("");
    for subject in object.each("subjects") {
        subject.at("name").need("");
        if subject.at("kind").text() == "ServiceAccount" && clusterwide {
            subject.at("namespace").need("");
        }
        must_be(&subject.at("kind"), &["ServiceAccount", "User", "Group"]);
    }
}

/// Resources whose quantities must be whole numbers.
const WHOLE: &str = "pods services replicationcontrollers resourcequotas secrets configmaps persistentvolumeclaims \
    services.nodeports services.loadbalancers";
const MEASURED: &str = "cpu memory ephemeral-storage requests.cpu requests.memory requests.storage \
    requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage";
const SCOPES: &str = "Terminating NotTerminating BestEffort NotBestEffort PriorityClass CrossNamespacePodAffinity \
    VolumeAttributesClass";

fn quota(object: &Field<'_>) {
    let is_in = |list: &str, word: &str| list.split(' ').any(|known| known == word);
    for (name, quantity) in object.entries("spec.hard") {
        let known = name.contains('/') || is_in(WHOLE, name) || is_in(MEASURED, name);
        if !known && !name.starts_with("hugepages-") && !name.starts_with("requests.hugepages-") {
            quantity.invalid_as(name, "must be a standard resource type or fully qualified");
            quantity.invalid_as(name, "must be a standard resource for quota");
        }
        if Quantity::parse(quantity.text()).is_some_and(Quantity::is_negative) {
            quantity.invalid(NOT_NEGATIVE);
        }
        if is_in(WHOLE, name) && quantity.text().ends_with('m') {
            quantity.invalid("must be an integer");
        }
    }
    let scopes = object.at("spec.scopes");
    if scopes.list().iter().any(|scope| !is_in(SCOPES, scope.as_str().unwrap_or_default())) {
        scopes.invalid("unsupported scope");
    }
}

fn limit_range(limit: &Field<'_>) {
    let kind = limit.at("type");
    kind.check(names::qualified_name);
    for key in ["default", "defaultRequest"].iter().filter(|_| kind.text() == "Pod") {
        if limit.at(key).is_set() {
            limit.at(key).forbidden("may not be specified when `type` is 'Pod'");
        }
    }
    let mut names = Vec::new();
    for name in ["max", "min", "default", "defaultRequest"].iter().flat_map(|key| limit.at(key).keys()) {
        if !names.contains(&name) {
            names.push(name);
            bounds(limit, name);
        }
    }
}

/// Compares the bounds of one resource. In some errors, the real server shows the other value.
fn bounds(limit: &Field<'_>, name: &str) {
    // The field, the shown value, and the bounds that must not be above each other, with their names.
    let rules = [
        ("min", "min", ("min", "min"), ("max", "max")),
        ("defaultRequest", "defaultRequest", ("min", "min"), ("default request", "defaultRequest")),
        ("defaultRequest", "defaultRequest", ("default request", "defaultRequest"), ("max", "max")),
        ("defaultRequest", "defaultRequest", ("default request", "defaultRequest"), ("default limit", "default")),
        ("default", "min", ("min", "min"), ("default", "default")),
        ("default", "max", ("default", "default"), ("max", "max")),
    ];
    let given = |key: &str| limit.at(key).entry(name).text();
    for (field, shown, (low, low_key), (high, high_key)) in rules {
        let (below, above) = (given(low_key), given(high_key));
        let sizes = Quantity::parse(below).zip(Quantity::parse(above));
        if sizes.is_some_and(|(low, high)| low > high) {
            let why = format!("{low} value {below} is greater than {high} value {above}");
            limit.at(field).entry(name).invalid_as(given(shown), why);
        }
    }
}

fn budget(spec: &Field<'_>) {
    let (least, most) = (spec.at("minAvailable"), spec.at("maxUnavailable"));
    if least.is_set() && most.is_set() {
        let shown = json!({
            "MinAvailable": least.value, "Selector": spec.at("selector").value, "MaxUnavailable": most.value,
            "UnhealthyPodEvictionPolicy": spec.at("unhealthyPodEvictionPolicy").value,
        });
        spec.invalid_as(shown, "minAvailable and maxUnavailable cannot be both set");
    }
    least.share();
    most.share();
    spec.at("selector").selector();
    spec.at("unhealthyPodEvictionPolicy").one_of(&["AlwaysAllow", "IfHealthyBudget"]);
}

fn priority(class: &Field<'_>) {
    const MOST: i64 = 1_000_000_000;
    let name = class.at("metadata.name");
    if matches!(name.text(), "system-node-critical" | "system-cluster-critical") {
        return;
    }
    if name.text().starts_with("system-") {
        name.forbidden(format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {} is not a known system \
             priority class",
            name.text()
        ));
    }
    if class.at("value").int().is_some_and(|value| value > MOST) {
        class.at("value").forbidden(format!("maximum allowed value of a user defined priority is {MOST}"));
    }
}

const CONTROLLER: &str = "batch.kubernetes.io/controller-uid";

fn job(object: &Field<'_>, old: Option<&Value>) {
    let spec = object.at("spec");
    job_spec(&spec);
    match old {
        None => own_selector(object),
        Some(old) => job_changes(old, &spec),
    }
}

/// A job's selector must be based on its own uid, unless `manualSelector` is set.
fn own_selector(job: &Field<'_>) {
    let labels = job.at("spec.selector.matchLabels");
    if job.at("spec.manualSelector").is_true() || !labels.is_object() || labels.entry(CONTROLLER).is_set() {
        return;
    }
    let mut labels = labels.value.cloned().unwrap_or_default();
    object(&mut labels).insert(CONTROLLER.into(), job.at("metadata.uid").text().into());
    job.at("spec.selector").invalid_as(json!({ "matchLabels": labels }), "`selector` not auto-generated");
}

fn job_changes(old: &Value, spec: &Field<'_>) {
    let indexed = spec.at("completionMode").text() == "Indexed";
    for key in ["completions", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"] {
        let after = spec.at(key);
        let elastic = key == "completions" && indexed && spec.at("parallelism").value == after.value;
        if at(old, &["spec", key]) != after.value && !elastic {
            after.invalid(FIXED);
        }
    }
    // A suspended job may still be scheduled to other nodes.
    let may_move = at(old, &["spec", "suspend"]) == Some(&Value::Bool(true));
    let kept: &[&str] = if may_move { &["nodeSelector", "affinity", "tolerations", "schedulingGates"] } else { &[] };
    let template = spec.at("template.spec");
    if without(at(old, &["spec", "template", "spec"]), kept) != without(template.value, kept) {
        template.invalid(FIXED);
    }
}

fn job_spec(spec: &Field<'_>) {
    spec.counts(&["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"]);
    if spec.at("completionMode").text() == "Indexed" && !spec.at("completions").is_set() {
        spec.at("completions").required("when completion mode is Indexed");
    }
    let template = spec.at("template.spec");
    pods::spec(&template);
    if !matches!(template.at("restartPolicy").text(), "OnFailure" | "Never") {
        template.at("restartPolicy").required(r#"valid values: "OnFailure", "Never""#);
    }
}

fn cron_job(object: &Field<'_>) {
    let (spec, text) = (object.at("spec"), object.at("spec.schedule"));
    if text.need("") {
        text.check(schedule);
    }
    spec.counts(&["startingDeadlineSeconds"]);
    time_zone(&spec.at("timeZone"));
    spec.at("concurrencyPolicy").one_of(&["Allow", "Forbid", "Replace"]);
    job_spec(&spec.at("jobTemplate.spec"));
    let name = object.at("metadata.name");
    if name.text().len() > 52 {
        // The names of its jobs are eleven characters longer.
        name.invalid("must be no more than 52 characters");
    }
}

fn time_zone(zone: &Field<'_>) {
    let known = |name: &str| jiff::tz::TimeZone::get(name).is_ok();
    // On a system without any time zones, names cannot be checked.
    if zone.is_set() && !known(zone.text()) && known("Europe/Berlin") {
        zone.invalid(format!("unknown time zone {}", zone.text()));
    }
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

fn claim(claim: &Field<'_>, old: Option<&Value>) {
    let (spec, modes) = (claim.at("spec"), claim.at("spec.accessModes"));
    modes.need("at least 1 access mode is required");
    for mode in spec.each("accessModes").filter(|mode| !MODES.contains(&mode.text())) {
        mode.named(&modes.path).unsupported(&MODES);
    }
    let size = spec.at("resources.requests.storage").named("spec.resources[storage]");
    if !size.is_set() {
        size.required("");
    }
    let nothing = |q: Quantity| q.is_negative() || Some(q) == Quantity::parse("0");
    if Quantity::parse(size.text()).is_some_and(nothing) {
        size.invalid("must be greater than zero");
    }
    // A bound claim may grow and be assigned to a volume. Nothing else can change.
    let Some(old) = old else { return };
    let mut kept = vec!["volumeAttributesClassName"];
    kept.extend(text(old, &["spec", "volumeName"]).is_empty().then_some("volumeName"));
    kept.extend((claim.at("status.phase").text() == "Bound").then_some("resources"));
    if without(old.get("spec"), &kept) != without(spec.value, &kept) {
        spec.forbidden(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        );
    }
}

fn volume(spec: &Field<'_>) {
    if !spec.at("capacity.storage").is_set() {
        spec.at("capacity").required("");
    }
    spec.at("accessModes").need("");
    spec.at("persistentVolumeReclaimPolicy").one_of(&["Delete", "Recycle", "Retain"]);
}

/// Problems of the status of `object`, which replaces `old`.
pub(crate) fn status_problems(storage: &str, old: &Value, object: &Value) -> Vec<Cause> {
    let counts = match storage {
        "daemonsets.apps" => {
            "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration \
             updatedNumberScheduled numberAvailable numberUnavailable"
        }
        "deployments.apps" => {
            "observedGeneration replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas"
        }
        "replicasets.apps" | "replicationcontrollers" => {
            "replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration"
        }
        "statefulsets.apps" => "replicas readyReplicas currentReplicas updatedReplicas availableReplicas",
        "poddisruptionbudgets.policy" => {
            "disruptionsAllowed currentHealthy desiredHealthy expectedPods observedGeneration"
        }
        "horizontalpodautoscalers.autoscaling" => "currentReplicas desiredReplicas",
        "jobs.batch" => "active succeeded failed",
        _ => "",
    };
    collect(object, |object| {
        for field in counts.split(' ').map(|key| object.at("status").at(key)) {
            field.within(0.., NOT_NEGATIVE);
            let key = field.path.trim_start_matches("status.");
            let before = at(old, &["status", key]).and_then(Value::as_i64).unwrap_or_default();
            let now = field.int().unwrap_or_default();
            if storage == "jobs.batch" && key != "active" && now < before {
                field.invalid_as(now, format!("cannot decrease the {key} counter"));
            }
        }
        if storage == "ingresses.networking.k8s.io" {
            network::balanced(object);
        }
    })
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
