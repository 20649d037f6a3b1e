//! The whole operator in this process, on a local cluster; and the command line of the real binary.
//!
//! Never looks into a stage: what counts is what hooks receive, what the cluster holds, what is logged.

mod admission;
mod bundles;
mod calls;
mod changes;
mod cli;
mod credentials;
mod cves;
mod dead_hook;
mod definitions;
pub mod directories;
mod failure_events;
mod failures;
mod filters;
pub mod fixture;
mod grants;
pub mod http;
mod identity;
mod kinds;
mod metrics;
mod namespaces;
mod node_agent;
mod outages;
mod own_writes;
mod parity;
mod quarantine;
mod queues;
pub mod reconcile;
mod reconcile_languages;
pub mod refused;
mod replicas;
mod rights;
mod semantics;
mod served;
mod settings;
mod shares;
mod shipped;
mod shutdown;
mod starts;
mod swap;
mod tasks;
pub mod tell;
mod traces;
pub mod validating;
mod waiting;
pub mod written;
