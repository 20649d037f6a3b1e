//! In which order members are applied and deleted: waves that a member names, the order of kinds within a wave, and
//! what a wave waits for.

use serde_json::Value;

use crate::id::{self, MemberId};

/// The annotation with the wave of a member, a whole number. Lower waves come first. Default: 0.
pub const WAVE: &str = "boathook.dev/wave";
/// The annotation with what later waves wait for: `exists` or `ready`. Default: `ready`.
pub const GATE: &str = "boathook.dev/gate";

/// The place of a member: its wave, then the rank of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Order {
    pub wave: i32,
    pub rank: u8,
}

impl Order {
    /// The order of an object of the cluster. A wave that cannot be read is 0, because an object must be deletable
    /// whatever its annotations say.
    pub fn of(id: &MemberId, object: &Value) -> Self {
        Self { wave: wave(object).unwrap_or_default().unwrap_or_default(), rank: rank(&id.group, &id.kind) }
    }

    /// What is deleted together, in reverse. Kinds that others need to exist go last in their wave.
    pub(crate) fn teardown(self) -> (i32, u8) {
        (self.wave, self.rank.min(FIRST_PLAIN))
    }
}

/// The wave that the object names. `Err`: the text that is not a whole number.
pub(crate) fn wave(object: &Value) -> Result<Option<i32>, &str> {
    id::annotation(object, WAVE).map(|text| text.parse().map_err(|_| text)).transpose()
}

/// What later waves wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Gate {
    /// The member exists.
    Exists,
    /// The member is ready.
    #[default]
    Ready,
}

pub(crate) fn gate(object: &Value) -> Result<Gate, &str> {
    match id::annotation(object, GATE) {
        None => Ok(Gate::default()),
        Some("exists") => Ok(Gate::Exists),
        Some("ready") => Ok(Gate::Ready),
        Some(text) => Err(text),
    }
}

const NAMESPACE: u8 = 0;
const DEFINITION: u8 = 1;
/// Ranks from here on are of kinds that no other kind needs to exist.
const FIRST_PLAIN: u8 = 2;
/// Custom resources, and kinds that nobody knows here.
const OTHER: u8 = 12;

/// The order that Helm and Argo CD have, with few differences: what others read comes before the others, what sends
/// them traffic after them, and webhooks, which may refuse everything else, come last.
fn rank(group: &str, kind: &str) -> u8 {
    match (group, kind) {
        ("", "Namespace") => NAMESPACE,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => DEFINITION,
        ("", "ResourceQuota" | "LimitRange") | ("scheduling.k8s.io", _) | ("networking.k8s.io", "NetworkPolicy") => 2,
        ("policy", "PodDisruptionBudget") => 2,
        ("", "ServiceAccount") => 3,
        ("", "Secret" | "ConfigMap") => 4,
        ("storage.k8s.io", _) | ("", "PersistentVolume" | "PersistentVolumeClaim") => 5,
        ("rbac.authorization.k8s.io", "ClusterRole" | "Role") => 6,
        ("rbac.authorization.k8s.io", _) => 7,
        ("", "Service") => 8,
        ("apps", "DaemonSet") | ("", "Pod" | "ReplicationController") => 9,
        ("apps", _) => 10,
        ("batch", _) | ("autoscaling", _) => 11,
        ("networking.k8s.io" | "gateway.networking.k8s.io", _) => 13,
        ("apiregistration.k8s.io", _) => 14,
        ("admissionregistration.k8s.io", _) => 15,
        _ => OTHER,
    }
}

/// Another member that must be there first, whatever the waves say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The member's Namespace must exist.
    Namespace(MemberId),
    /// The definition of the member's kind must be established.
    Definition(MemberId),
}

/// The kind that a CustomResourceDefinition defines, as group and kind.
pub(crate) fn defines<'o>(id: &MemberId, object: &'o Value) -> Option<(&'o str, &'o str)> {
    if !id.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return None;
    }
    let spec = object.get("spec")?;
    Some((spec.get("group")?.as_str()?, spec.get("names")?.get("kind")?.as_str()?))
}

/// Kinds whose deletion takes more with it than the object.
pub(crate) fn is_precious(id: &MemberId) -> bool {
    id.is("", "Namespace")
        || id.is("", "PersistentVolumeClaim")
        || id.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn kinds_are_in_the_order_that_the_field_has() {
        let kinds = [
            ("", "Namespace"),
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            ("", "ResourceQuota"),
            ("", "ServiceAccount"),
            ("", "Secret"),
            ("", "PersistentVolumeClaim"),
            ("rbac.authorization.k8s.io", "Role"),
            ("rbac.authorization.k8s.io", "RoleBinding"),
            ("", "Service"),
            ("apps", "DaemonSet"),
            ("apps", "Deployment"),
            ("batch", "Job"),
            ("example.com", "App"),
            ("networking.k8s.io", "Ingress"),
            ("apiregistration.k8s.io", "APIService"),
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ];
        let ranks: Vec<_> = kinds.iter().map(|(group, kind)| rank(group, kind)).collect();
        assert!(ranks.is_sorted() && ranks.windows(2).all(|two| two[0] < two[1]), "{ranks:?}");
    }

    #[test]
    fn a_live_object_has_a_place_whatever_it_says() {
        let id = MemberId { group: "".into(), kind: "Secret".into(), namespace: None, name: "a".into() };
        let order = |wave: &str| Order::of(&id, &json!({"metadata": {"annotations": {WAVE: wave}}})).wave;
        assert_eq!((order("-3"), order("x"), order("99999999999")), (-3, 0, 0));
        assert_eq!(Order::of(&id, &json!({})), Order { wave: 0, rank: 4 });
    }
}
