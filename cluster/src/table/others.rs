//! Cells of quotas, autoscalers, storage, admission, discovery and other less common kinds. Incomplete objects are not
//! errors.

use jiff::Timestamp;
use serde_json::Value;

use super::{Cell, or_none};
use crate::json::{at, int, list, text};
use crate::kinds::scale::selector_text;

type Column = (&'static str, Cell);

const QUOTAS: &[Column] = &[("Request", quota_requests), ("Limit", quota_limits)];
const TEMPLATES: &[Column] = &[
    ("Containers", |o, _| names(o, "name")),
    ("Images", |o, _| names(o, "image")),
    ("Pod Labels", |o, _| or_none(selector_text(at(o, &["template", "metadata", "labels"])))),
];
const AUTOSCALERS: &[Column] = &[
    ("Reference", |o, _| {
        format!("{}/{}", text(o, &["spec", "scaleTargetRef", "kind"]), text(o, &["spec", "scaleTargetRef", "name"]))
            .into()
    }),
    ("Targets", targets),
    ("MinPods", |o, _| int(o, &["spec", "minReplicas"]).map_or_else(|| "<unset>".into(), |n| n.to_string().into())),
    ("MaxPods", |o, _| int(o, &["spec", "maxReplicas"]).unwrap_or_default().into()),
    ("Replicas", |o, _| int(o, &["status", "currentReplicas"]).unwrap_or_default().into()),
];
const STORAGE_CLASSES: &[Column] = &[
    ("Provisioner", |o, _| text(o, &["provisioner"]).into()),
    ("ReclaimPolicy", |o, _| text(o, &["reclaimPolicy"]).into()),
    ("VolumeBindingMode", |o, _| text(o, &["volumeBindingMode"]).into()),
    ("AllowVolumeExpansion", |o, _| flag(o, &["allowVolumeExpansion"])),
];
const DRIVERS: &[Column] = &[
    ("AttachRequired", |o, _| flag(o, &["spec", "attachRequired"])),
    ("PodInfoOnMount", |o, _| flag(o, &["spec", "podInfoOnMount"])),
    ("StorageCapacity", |o, _| flag(o, &["spec", "storageCapacity"])),
    ("TokenRequests", |o, _| {
        let audiences = list(o, &["spec", "tokenRequests"]).iter().map(|t| text(t, &["audience"]));
        unset(audiences.collect::<Vec<_>>().join(","))
    }),
    ("RequiresRepublish", |o, _| flag(o, &["spec", "requiresRepublish"])),
    ("Modes", |o, _| joined(o, &["spec", "volumeLifecycleModes"])),
];
const ATTACHMENTS: &[Column] = &[
    ("Attacher", |o, _| text(o, &["spec", "attacher"]).into()),
    ("PV", |o, _| text(o, &["spec", "source", "persistentVolumeName"]).into()),
    ("Node", |o, _| text(o, &["spec", "nodeName"]).into()),
    ("Attached", |o, _| flag(o, &["status", "attached"])),
];
const SLICES: &[Column] = &[
    ("AddressType", |o, _| text(o, &["addressType"]).into()),
    ("Ports", |o, _| {
        shortened(
            list(o, &["ports"]).iter().map(|port| match (int(port, &["port"]), text(port, &["name"])) {
                (Some(number), _) => number.to_string(),
                (None, "") => "*".to_owned(),
                (None, name) => name.to_owned(),
            }),
            "<unset>",
        )
    }),
    ("Endpoints", |o, _| {
        let all = list(o, &["endpoints"]).iter().flat_map(|e| list(e, &["addresses"]));
        shortened(all.filter_map(Value::as_str).map(str::to_owned), "<unset>")
    }),
];
const PRIORITIES: &[Column] = &[
    ("Value", |o, _| int(o, &["value"]).unwrap_or_default().into()),
    ("Global-Default", |o, _| flag(o, &["globalDefault"])),
    ("PreemptionPolicy", |o, _| text(o, &["preemptionPolicy"]).into()),
];
const REQUESTS: &[Column] = &[
    ("SignerName", |o, _| or_none(text(o, &["spec", "signerName"]))),
    ("Requestor", |o, _| text(o, &["spec", "username"]).into()),
    ("RequestedDuration", |o, _| match int(o, &["spec", "expirationSeconds"]) {
        Some(seconds) => crate::time::human(seconds).into(),
        None => "<none>".into(),
    }),
    ("Condition", request_state),
];
const FLOW_SCHEMAS: &[Column] = &[
    ("PriorityLevel", |o, _| text(o, &["spec", "priorityLevelConfiguration", "name"]).into()),
    ("MatchingPrecedence", |o, _| int(o, &["spec", "matchingPrecedence"]).unwrap_or_default().into()),
    ("DistinguisherMethod", |o, _| or_none(text(o, &["spec", "distinguisherMethod", "type"]))),
    ("MissingPL", |o, _| {
        let conditions = list(o, &["status", "conditions"]).iter();
        let mut dangling = conditions.filter(|c| text(c, &["type"]) == "Dangling").map(|c| text(c, &["status"]));
        dangling.next_back().unwrap_or("?").into()
    }),
];
const PRIORITY_LEVELS: &[Column] = &[
    ("Type", |o, _| text(o, &["spec", "type"]).into()),
    ("NominalConcurrencyShares", |o, _| level(o, &["spec", "limited", "nominalConcurrencyShares"])),
    ("Queues", |o, _| level(o, &["spec", "limited", "limitResponse", "queuing", "queues"])),
    ("HandSize", |o, _| level(o, &["spec", "limited", "limitResponse", "queuing", "handSize"])),
    ("QueueLengthLimit", |o, _| level(o, &["spec", "limited", "limitResponse", "queuing", "queueLengthLimit"])),
];
const POLICIES: &[Column] = &[
    ("Validations", |o, _| list(o, &["spec", "validations"]).len().into()),
    ("Mutations", |o, _| list(o, &["spec", "mutations"]).len().into()),
    ("ParamKind", |o, _| match at(o, &["spec", "paramKind"]) {
        Some(kind) => format!("{}/{}", text(kind, &["apiVersion"]), text(kind, &["kind"])).into(),
        None => unset(String::new()),
    }),
];
const POLICY_BINDINGS: &[Column] = &[
    ("PolicyName", |o, _| text(o, &["spec", "policyName"]).into()),
    ("ParamRef", |o, _| match at(o, &["spec", "paramRef"]) {
        Some(of) if !text(of, &["namespace"]).is_empty() => {
            format!("{}/{}", text(of, &["namespace"]), text(of, &["name"])).into()
        }
        Some(of) if !text(of, &["name"]).is_empty() => format!("*/{}", text(of, &["name"])).into(),
        _ => unset(String::new()),
    }),
];
const SERVICES: &[Column] = &[
    ("Service", |o, _| match text(o, &["spec", "service", "name"]) {
        "" => "Local".into(),
        name => format!("{}/{name}", text(o, &["spec", "service", "namespace"])).into(),
    }),
    ("Available", |o, _| {
        let found = list(o, &["status", "conditions"]).iter().find(|c| text(c, &["type"]) == "Available");
        found.map_or("Unknown", |c| text(c, &["status"])).into()
    }),
];
const DEVICES: &[Column] = &[
    ("Node", |o, _| text(o, &["spec", "nodeName"]).into()),
    ("Driver", |o, _| text(o, &["spec", "driver"]).into()),
    ("Pool", |o, _| text(o, &["spec", "pool", "name"]).into()),
];

/// The cells of a collection's columns, except names and ages.
pub(crate) fn of(storage: &str) -> &'static [Column] {
    match storage {
        "resourcequotas" => QUOTAS,
        "podtemplates" => TEMPLATES,
        "horizontalpodautoscalers.autoscaling" => AUTOSCALERS,
        "storageclasses.storage.k8s.io" => STORAGE_CLASSES,
        "csidrivers.storage.k8s.io" => DRIVERS,
        "csinodes.storage.k8s.io" => const { &[("Drivers", |o, _| list(o, &["spec", "drivers"]).len().into())] },
        "volumeattachments.storage.k8s.io" => ATTACHMENTS,
        "volumeattributesclasses.storage.k8s.io" => const { &[("DriverName", |o, _| text(o, &["driverName"]).into())] },
        "endpointslices.discovery.k8s.io" => SLICES,
        "priorityclasses.scheduling.k8s.io" => PRIORITIES,
        "certificatesigningrequests.certificates.k8s.io" => REQUESTS,
        "flowschemas.flowcontrol.apiserver.k8s.io" => FLOW_SCHEMAS,
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io" => PRIORITY_LEVELS,
        "runtimeclasses.node.k8s.io" => const { &[("Handler", |o, _| text(o, &["handler"]).into())] },
        "ipaddresses.networking.k8s.io" => const { &[("ParentRef", parent)] },
        "servicecidrs.networking.k8s.io" => const { &[("CIDRs", |o, _| joined(o, &["spec", "cidrs"]))] },
        "apiservices.apiregistration.k8s.io" => SERVICES,
        "resourceclaims.resource.k8s.io" => const { &[("State", claim_state)] },
        "resourceslices.resource.k8s.io" => DEVICES,
        s if s.ends_with("policies.admissionregistration.k8s.io") => POLICIES,
        s if s.ends_with("policybindings.admissionregistration.k8s.io") => POLICY_BINDINGS,
        _ => &[],
    }
}

fn flag(o: &Value, path: &[&str]) -> Value {
    at(o, path).and_then(Value::as_bool).unwrap_or_default().into()
}

fn joined(o: &Value, path: &[&str]) -> Value {
    list(o, path).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",").into()
}

fn unset(text: String) -> Value {
    if text.is_empty() { "<unset>".into() } else { text.into() }
}

fn level(o: &Value, path: &[&str]) -> Value {
    int(o, path).map_or_else(|| "<none>".into(), Value::from)
}

fn names(o: &Value, key: &str) -> Value {
    let containers = list(o, &["template", "spec", "containers"]).iter();
    containers.map(|c| text(c, &[key])).collect::<Vec<_>>().join(",").into()
}

/// The first three, and the number of the others.
fn shortened(all: impl Iterator<Item = String>, empty: &str) -> Value {
    let all: Vec<String> = all.collect();
    let shown = all.iter().take(3).cloned().collect::<Vec<_>>().join(",");
    match all.len() {
        0 => empty.into(),
        count if count > 3 => format!("{shown} + {} more...", count - 3).into(),
        _ => shown.into(),
    }
}

fn quota(o: &Value, limits: bool) -> Value {
    let hard = at(o, &["status", "hard"]).and_then(Value::as_object);
    let mut parts: Vec<String> = hard
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.contains("limits") == limits)
        .map(|(name, hard)| {
            let used = match text(o, &["status", "used", name]) {
                "" => "0",
                used => used,
            };
            format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
        })
        .collect();
    parts.sort();
    parts.join(", ").into()
}

fn quota_requests(o: &Value, _: Timestamp) -> Value {
    quota(o, false)
}

fn quota_limits(o: &Value, _: Timestamp) -> Value {
    quota(o, true)
}

/// Current and wanted value of each metric: `cpu: 3%/80%`.
fn targets(o: &Value, _: Timestamp) -> Value {
    let all: Vec<String> = list(o, &["spec", "metrics"]).iter().map(|metric| target(o, metric)).collect();
    match all.len() {
        0 => "<none>".into(),
        count if count > 2 => {
            let shown = all.iter().take(2).cloned().collect::<Vec<_>>().join(", ");
            format!("{shown} + {} more...", count - 2).into()
        }
        _ => all.join(", ").into(),
    }
}

fn target(o: &Value, metric: &Value) -> String {
    let kind = text(metric, &["type"]);
    let mut word = kind.to_owned();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    let Some(source) = metric.get(&word) else {
        return "<unknown type>".to_owned();
    };
    let name = text(source, &["name"]);
    let same = |m: &&Value| text(m, &["type"]) == kind && text(m, &[&word, "name"]) == name;
    let current = list(o, &["status", "currentMetrics"]).iter().find(same);
    let (key, unit) = match text(source, &["target", "type"]) {
        "Utilization" => ("averageUtilization", "%"),
        "AverageValue" => ("averageValue", ""),
        _ => ("value", ""),
    };
    let shown = |value: Option<&Value>| value.map(|v| format!("{}{unit}", crate::jsonpath::text(v)));
    let used = shown(current.and_then(|c| at(c, &[&word, "current", key]))).unwrap_or_else(|| "<unknown>".into());
    let wanted = shown(at(source, &["target", key])).unwrap_or_else(|| "<auto>".into());
    match key {
        _ if kind == "Resource" => format!("{name}: {used}/{wanted}"),
        "averageValue" => format!("{used}/{wanted} (avg)"),
        _ => format!("{used}/{wanted}"),
    }
}

fn request_state(o: &Value, _: Timestamp) -> Value {
    let has = |kind: &str| list(o, &["status", "conditions"]).iter().any(|c| text(c, &["type"]) == kind);
    let mut words = vec![];
    if has("Denied") {
        words.push("Denied");
    } else if has("Approved") {
        words.push("Approved");
    } else {
        words.push("Pending");
    }
    if has("Failed") {
        words.push("Failed");
    }
    if !text(o, &["status", "certificate"]).is_empty() {
        words.push("Issued");
    }
    words.join(",").into()
}

fn parent(o: &Value, _: Timestamp) -> Value {
    let part = |key: &str| text(o, &["spec", "parentRef", key]);
    let resource = match part("group") {
        "" => part("resource").to_owned(),
        group => format!("{}.{group}", part("resource")),
    };
    [resource.as_str(), part("namespace"), part("name")]
        .into_iter()
        .filter(|p| !p.is_empty())
        .collect::<Vec<_>>()
        .join("/")
        .into()
}

fn claim_state(o: &Value, _: Timestamp) -> Value {
    let mut words = vec![];
    if at(o, &["metadata", "deletionTimestamp"]).is_some() {
        words.push("deleted");
    }
    if at(o, &["status", "allocation"]).is_none() {
        if words.is_empty() {
            words.push("pending");
        }
    } else {
        words.push("allocated");
        words.push(if list(o, &["status", "reservedFor"]).is_empty() { "" } else { "reserved" });
    }
    words.retain(|word| !word.is_empty());
    words.join(",").into()
}
