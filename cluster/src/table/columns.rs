//! Which columns each built-in kind has.
//!
//! Never computes a cell; the neighbours do.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cell, age, core, workloads};

pub(crate) struct Column {
    name: &'static str,
    kind: &'static str,
    /// 1 shows it with `-o wide` only.
    priority: u8,
    cell: Cell,
}

impl Column {
    pub(crate) fn definition(&self) -> Value {
        json!({ "name": self.name, "type": self.kind, "format": "", "description": "", "priority": self.priority })
    }

    pub(crate) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        (self.cell)(object, now)
    }
}

const fn text(name: &'static str, cell: Cell) -> Column {
    Column { name, kind: "string", priority: 0, cell }
}

const fn wide(name: &'static str, cell: Cell) -> Column {
    Column { name, kind: "string", priority: 1, cell }
}

const fn number(name: &'static str, cell: Cell) -> Column {
    Column { name, kind: "integer", priority: 0, cell }
}

const AGE: Column = text("Age", age);

const PODS: &[Column] = &[
    text("Ready", workloads::pod_ready),
    text("Status", workloads::pod_status),
    text("Restarts", workloads::pod_restarts),
    AGE,
    wide("IP", workloads::pod_ip),
    wide("Node", workloads::pod_node),
    wide("Nominated Node", workloads::pod_nominated),
    wide("Readiness Gates", workloads::pod_gates),
];
const DEPLOYMENTS: &[Column] = &[
    text("Ready", workloads::ready_of_wanted),
    text("Up-to-date", workloads::updated),
    text("Available", workloads::available),
    AGE,
    wide("Containers", workloads::containers),
    wide("Images", workloads::images),
    wide("Selector", workloads::selector),
];
const REPLICA_SETS: &[Column] = &[
    number("Desired", workloads::wanted),
    number("Current", workloads::current),
    number("Ready", workloads::ready),
    AGE,
    wide("Containers", workloads::containers),
    wide("Images", workloads::images),
    wide("Selector", workloads::selector),
];
const STATEFUL_SETS: &[Column] = &[
    text("Ready", workloads::ready_of_wanted),
    AGE,
    wide("Containers", workloads::containers),
    wide("Images", workloads::images),
];
const DAEMON_SETS: &[Column] = &[
    number("Desired", workloads::scheduled_wanted),
    number("Current", workloads::scheduled),
    number("Ready", workloads::daemons_ready),
    number("Up-to-date", workloads::daemons_updated),
    number("Available", workloads::daemons_available),
    text("Node Selector", workloads::node_selector),
    AGE,
    wide("Containers", workloads::containers),
    wide("Images", workloads::images),
    wide("Selector", workloads::selector),
];
const JOBS: &[Column] = &[
    text("Status", workloads::job_status),
    text("Completions", workloads::completions),
    text("Duration", workloads::duration),
    AGE,
    wide("Containers", workloads::containers),
    wide("Images", workloads::images),
    wide("Selector", workloads::selector),
];
const CRON_JOBS: &[Column] = &[
    text("Schedule", workloads::schedule),
    text("Timezone", workloads::time_zone),
    text("Suspend", workloads::suspend),
    number("Active", workloads::active),
    text("Last Schedule", workloads::last_schedule),
    AGE,
];
const SERVICES: &[Column] = &[
    text("Type", core::service_type),
    text("Cluster-IP", core::cluster_ip),
    text("External-IP", core::external_ip),
    text("Port(s)", core::ports),
    AGE,
    wide("Selector", core::plain_selector),
];
const NODES: &[Column] = &[
    text("Status", core::node_status),
    text("Roles", core::node_roles),
    AGE,
    text("Version", core::node_version),
    wide("Internal-IP", core::internal_ip),
    wide("External-IP", core::node_external_ip),
    wide("OS-Image", core::os_image),
    wide("Kernel-Version", core::kernel),
    wide("Container-Runtime", core::container_runtime),
];
const EVENTS: &[Column] = &[
    text("Last Seen", core::last_seen),
    text("Type", core::event_type),
    text("Reason", core::reason),
    text("Object", core::involved),
    wide("Subobject", core::subobject),
    wide("Source", core::event_source),
    text("Message", core::message),
    wide("First Seen", core::first_seen),
    wide("Count", core::event_count),
    wide("Name", core::name),
];
const CLAIMS: &[Column] = &[
    text("Status", core::phase),
    text("Volume", core::volume_name),
    text("Capacity", core::claim_capacity),
    text("Access Modes", core::access_modes),
    text("StorageClass", core::storage_class),
    AGE,
    wide("VolumeMode", core::volume_mode),
];
const VOLUMES: &[Column] = &[
    text("Capacity", core::volume_capacity),
    text("Access Modes", core::access_modes),
    text("Reclaim Policy", core::reclaim_policy),
    text("Status", core::phase),
    text("Claim", core::claim),
    text("StorageClass", core::storage_class),
    AGE,
    wide("VolumeMode", core::volume_mode),
];
const INGRESSES: &[Column] = &[
    text("Class", core::ingress_class),
    text("Hosts", core::hosts),
    text("Address", core::ingress_address),
    text("Ports", core::ingress_ports),
    AGE,
];

/// The columns after the name.
pub(crate) fn of(storage: &str) -> &'static [Column] {
    match storage {
        "pods" => PODS,
        "deployments.apps" => DEPLOYMENTS,
        "replicasets.apps" | "replicationcontrollers" => REPLICA_SETS,
        "statefulsets.apps" => STATEFUL_SETS,
        "daemonsets.apps" => DAEMON_SETS,
        "jobs.batch" => JOBS,
        "cronjobs.batch" => CRON_JOBS,
        "services" => SERVICES,
        "nodes" => NODES,
        "events" => EVENTS,
        "persistentvolumeclaims" => CLAIMS,
        "persistentvolumes" => VOLUMES,
        "ingresses.networking.k8s.io" => INGRESSES,
        "namespaces" => const { &[text("Status", core::phase), AGE] },
        "configmaps" => const { &[text("Data", core::config_data), AGE] },
        "secrets" => const { &[text("Type", core::event_type), number("Data", core::secret_data), AGE] },
        "serviceaccounts" => const { &[number("Secrets", core::secrets), AGE] },
        "endpoints" => const { &[text("Endpoints", core::endpoints), AGE] },
        "leases.coordination.k8s.io" => const { &[text("Holder", core::holder), AGE] },
        "networkpolicies.networking.k8s.io" => const { &[text("Pod-Selector", core::pod_selector), AGE] },
        "roles.rbac.authorization.k8s.io"
        | "clusterroles.rbac.authorization.k8s.io"
        | "customresourcedefinitions.apiextensions.k8s.io" => const { &[text("Created At", core::created)] },
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            const {
                &[
                    text("Role", core::role),
                    AGE,
                    wide("Users", core::users),
                    wide("Groups", core::groups),
                    wide("ServiceAccounts", core::accounts),
                ]
            }
        }
        "poddisruptionbudgets.policy" => {
            const {
                &[
                    text("Min Available", core::min_available),
                    text("Max Unavailable", core::max_unavailable),
                    number("Allowed Disruptions", core::disruptions),
                    AGE,
                ]
            }
        }
        s if s.ends_with("webhookconfigurations.admissionregistration.k8s.io") => {
            const { &[number("Webhooks", core::webhooks), AGE] }
        }
        "ingressclasses.networking.k8s.io" => {
            const { &[text("Controller", core::controller), text("Parameters", core::parameters), AGE] }
        }
        "controllerrevisions.apps" => {
            const { &[text("Controller", core::owner), number("Revision", core::revision), AGE] }
        }
        _ => const { &[AGE] },
    }
}
