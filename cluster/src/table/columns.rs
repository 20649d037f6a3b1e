//! The cell functions of built-in kinds, by column name. The published definitions say which columns exist.

use super::{Cell, core, others, workloads};

type Column = (&'static str, Cell);

const PODS: &[Column] = &[
    ("Ready", workloads::pod_ready),
    ("Status", workloads::pod_status),
    ("Restarts", workloads::pod_restarts),
    ("IP", workloads::pod_ip),
    ("Node", workloads::pod_node),
    ("Nominated Node", workloads::pod_nominated),
    ("Readiness Gates", workloads::pod_gates),
];
const DEPLOYMENTS: &[Column] = &[
    ("Ready", workloads::ready_of_wanted),
    ("Up-to-date", workloads::updated),
    ("Available", workloads::available),
    ("Containers", workloads::containers),
    ("Images", workloads::images),
    ("Selector", workloads::selector),
];
const REPLICA_SETS: &[Column] = &[
    ("Desired", workloads::wanted),
    ("Current", workloads::current),
    ("Ready", workloads::ready),
    ("Containers", workloads::containers),
    ("Images", workloads::images),
    ("Selector", workloads::selector),
];
const STATEFUL_SETS: &[Column] =
    &[("Ready", workloads::ready_of_wanted), ("Containers", workloads::containers), ("Images", workloads::images)];
const DAEMON_SETS: &[Column] = &[
    ("Desired", workloads::scheduled_wanted),
    ("Current", workloads::scheduled),
    ("Ready", workloads::daemons_ready),
    ("Up-to-date", workloads::daemons_updated),
    ("Available", workloads::daemons_available),
    ("Node Selector", workloads::node_selector),
    ("Containers", workloads::containers),
    ("Images", workloads::images),
    ("Selector", workloads::selector),
];
const JOBS: &[Column] = &[
    ("Status", workloads::job_status),
    ("Completions", workloads::completions),
    ("Duration", workloads::duration),
    ("Containers", workloads::containers),
    ("Images", workloads::images),
    ("Selector", workloads::selector),
];
const CRON_JOBS: &[Column] = &[
    ("Schedule", workloads::schedule),
    ("Timezone", workloads::time_zone),
    ("Suspend", workloads::suspend),
    ("Active", workloads::active),
    ("Last Schedule", workloads::last_schedule),
    ("Containers", workloads::job_containers),
    ("Images", workloads::job_images),
    ("Selector", workloads::job_selector),
];
const SERVICES: &[Column] = &[
    ("Type", core::service_type),
    ("Cluster-IP", core::cluster_ip),
    ("External-IP", core::external_ip),
    ("Port(s)", core::ports),
    ("Selector", core::plain_selector),
];
const NODES: &[Column] = &[
    ("Status", core::node_status),
    ("Roles", core::node_roles),
    ("Version", core::node_version),
    ("Internal-IP", core::internal_ip),
    ("External-IP", core::node_external_ip),
    ("OS-Image", core::os_image),
    ("Kernel-Version", core::kernel),
    ("Container-Runtime", core::container_runtime),
];
const EVENTS: &[Column] = &[
    ("Last Seen", core::last_seen),
    ("Type", core::event_type),
    ("Reason", core::reason),
    ("Object", core::involved),
    ("Subobject", core::subobject),
    ("Source", core::event_source),
    ("Message", core::message),
    ("First Seen", core::first_seen),
    ("Count", core::event_count),
    ("Name", core::name),
];
const CLAIMS: &[Column] = &[
    ("Status", core::phase),
    ("Volume", core::volume_name),
    ("Capacity", core::claim_capacity),
    ("Access Modes", core::granted_modes),
    ("StorageClass", core::storage_class),
    ("VolumeAttributesClass", core::attributes_class),
    ("VolumeMode", core::volume_mode),
];
const VOLUMES: &[Column] = &[
    ("Capacity", core::volume_capacity),
    ("Access Modes", core::access_modes),
    ("Reclaim Policy", core::reclaim_policy),
    ("Status", core::phase),
    ("Claim", core::claim),
    ("StorageClass", core::storage_class),
    ("VolumeAttributesClass", core::attributes_class),
    ("Reason", core::status_reason),
    ("VolumeMode", core::volume_mode),
];
const INGRESSES: &[Column] = &[
    ("Class", core::ingress_class),
    ("Hosts", core::hosts),
    ("Address", core::ingress_address),
    ("Ports", core::ingress_ports),
];

/// The cells of a collection's columns, except names and ages.
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
        "namespaces" => const { &[("Status", core::phase)] },
        "configmaps" => const { &[("Data", core::config_data)] },
        "secrets" => const { &[("Type", core::event_type), ("Data", core::secret_data)] },
        "endpoints" => const { &[("Endpoints", core::endpoints)] },
        "leases.coordination.k8s.io" => const { &[("Holder", core::holder)] },
        "networkpolicies.networking.k8s.io" => const { &[("Pod-Selector", core::pod_selector)] },
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            const {
                &[
                    ("Role", core::role),
                    ("Users", core::users),
                    ("Groups", core::groups),
                    ("ServiceAccounts", core::accounts),
                ]
            }
        }
        "poddisruptionbudgets.policy" => {
            const {
                &[
                    ("Min Available", core::min_available),
                    ("Max Unavailable", core::max_unavailable),
                    ("Allowed Disruptions", core::disruptions),
                ]
            }
        }
        s if s.ends_with("webhookconfigurations.admissionregistration.k8s.io") => {
            const { &[("Webhooks", core::webhooks)] }
        }
        "ingressclasses.networking.k8s.io" => {
            const { &[("Controller", core::controller), ("Parameters", core::parameters)] }
        }
        "controllerrevisions.apps" => const { &[("Controller", core::owner), ("Revision", core::revision)] },
        _ => others::of(storage),
    }
}
