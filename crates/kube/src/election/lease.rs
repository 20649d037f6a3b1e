//! What a Lease says about the leader, and the bodies of writes to it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{api::coordination::v1::Lease, apimachinery::pkg::apis::meta::v1::MicroTime};
use serde_json::{Value, json};

/// The fields of a Lease that matter to an election.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LeaderElectionRecord {
    /// Absent if no replica leads.
    pub holder: Option<String>,
    /// How long the Lease lasts without a renewal, as its holder says.
    pub duration: Option<Duration>,
    /// By the holder's clock. It is only compared with other values of that clock, never with this process's time.
    pub renewed: Option<Timestamp>,
    pub acquired: Option<Timestamp>,
    /// How often the Lease passed from one holder to another.
    pub transitions: i32,
    /// The resource version of the Lease. Empty before the Lease is written.
    pub version: String,
}

impl LeaderElectionRecord {
    pub fn of(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let time = |time: MicroTime| time.0;
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            duration: seconds.map(Duration::from_secs),
            renewed: spec.renew_time.map(time),
            acquired: spec.acquire_time.map(time),
            transitions: spec.lease_transitions.unwrap_or_default(),
            version: lease.metadata.resource_version.clone().unwrap_or_default(),
        }
    }

    /// Whether no holder gave a sign of life between the two.
    pub fn is_as(&self, other: &Self) -> bool {
        Self { version: String::new(), ..self.clone() } == Self { version: String::new(), ..other.clone() }
    }

    /// The body of a merge patch or, with a name, of a creation. A patch includes the version that was read, so that
    /// only one of two writers succeeds.
    pub fn body(&self, create: Option<(&str, &str)>) -> Value {
        let time = |time: Option<Timestamp>| time.map(|time| format!("{time:.6}"));
        // The field has whole seconds. Rounding up makes sure that no other replica believes that the Lease ends early.
        let seconds = self.duration.map(|duration| duration.as_millis().div_ceil(1000).max(1));
        let spec = json!({
            "holderIdentity": self.holder.as_deref().unwrap_or_default(),
            "leaseDurationSeconds": seconds,
            "acquireTime": time(self.acquired),
            "renewTime": time(self.renewed),
            "leaseTransitions": self.transitions,
        });
        match create {
            Some((namespace, name)) => json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"namespace": namespace, "name": name},
                "spec": spec,
            }),
            None => json!({"metadata": {"resourceVersion": self.version}, "spec": spec}),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let at: Timestamp = "2026-05-04T03:02:01.654321Z".parse().unwrap();
        let record = LeaderElectionRecord {
            holder: Some("pod-a_1".to_owned()),
            duration: Some(Duration::from_secs(15)),
            renewed: Some(at),
            acquired: Some(at),
            transitions: 3,
            version: String::new(),
        };
        let lease: Lease = serde_json::from_value(record.body(Some(("ns", "boathook")))).unwrap();
        assert_eq!(LeaderElectionRecord::of(&lease), record);
        let released = LeaderElectionRecord { holder: None, version: "7".to_owned(), ..record.clone() };
        let body = released.body(None);
        assert_eq!(body["metadata"]["resourceVersion"], "7");
        let lease: Lease = serde_json::from_value(body).unwrap();
        assert_eq!(LeaderElectionRecord::of(&lease), released);
        assert!(!released.is_as(&record));
    }

    #[test]
    fn parts_of_seconds_count_as_whole_ones() {
        let record =
            LeaderElectionRecord { duration: Some(Duration::from_millis(1500)), ..LeaderElectionRecord::default() };
        assert_eq!(record.body(None)["spec"]["leaseDurationSeconds"], 2);
    }
}
