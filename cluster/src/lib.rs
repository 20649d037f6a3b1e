//! A Kubernetes API server in one process, in memory, for development and tests.
//!
//! [`Cluster::start`] gives kubectl, kube-rs and any other client a server on loopback, with no etcd, no container
//! and no certificates. It listens on loopback only, answers no web pages, calls nobody but webhooks, and never writes
//! to disk. Namespaces and CustomResourceDefinitions empty themselves when they are deleted, and dependents go with
//! their owners; who may do what, and other controllers, are options.
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
//! Where things live: `server` speaks HTTP, `auth` knows who asks and what they may, `kinds` knows what is served,
//! `lifecycle` prepares objects before they are stored, `admission` and `conversion` ask webhooks, `controllers` do
//! what a cluster does by itself, `store` keeps objects and their history, `patch` computes changes and who owns which
//! field, `selectors` and `table` choose and show, `state` reads and writes the whole as YAML.

#![warn(missing_docs)]

mod admission;
mod auth;
mod cluster;
mod context;
mod controllers;
mod conversion;
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

pub use auth::user::User;
pub use cluster::{Cluster, Error, Options};
pub use controllers::{Controller, UnknownController};
pub use state::{State, StateError};

#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// What the book tells of the local cluster.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../../docs/local-cluster.md")]
struct Page;
