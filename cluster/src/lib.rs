//! A Kubernetes API server in one process, in memory, for development and tests.
//!
//! [`Cluster::start`] gives kubectl, kube-rs and any other client a server on loopback, without etcd, containers or
//! certificates to set up. The server listens only on loopback, refuses requests from web pages, sends requests only to
//! webhooks, and never writes to disk. Namespaces and CustomResourceDefinitions are emptied when they are deleted, and
//! dependents are deleted with their owners. RBAC and further controllers are options.
//!
//! ```no_run
//! # async fn example() -> Result<(), boathook_cluster::Error> {
//! let cluster = boathook_cluster::Cluster::start(Default::default()).await?;
//! println!("{}", cluster.kubeconfig());
//! cluster.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! The modules: `server` speaks HTTP, `auth` authenticates and authorizes requests, `kinds` knows the served resources,
//! `lifecycle` prepares objects for storage, `admission` and `conversion` call webhooks, `controllers` runs the
//! cluster's controllers, `store` keeps objects and their history, `patch` computes changes and field ownership,
//! `selectors` selects objects, `table` renders tables, and `state` reads and writes all objects as YAML.

#![warn(missing_docs)]

mod admission;
mod auth;
mod cluster;
mod context;
mod controllers;
mod conversion;
mod field;
mod json;
mod jsonpath;
mod kinds;
mod lifecycle;
mod names;
mod patch;
mod proto;
mod selectors;
mod server;
mod shared;
mod state;
mod status;
mod store;
mod table;
mod time;
mod tls;
mod validate;
mod webhook;

pub use auth::User;
pub use cluster::{Cluster, Error, Options};
pub use controllers::{Controller, UnknownController};
pub use state::{State, StateError};

#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// Doc tests of the page about the local cluster.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../../docs/local-cluster.md")]
struct Page;
