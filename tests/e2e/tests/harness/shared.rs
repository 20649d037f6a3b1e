//! The cluster of each backend that most tests share, with an operator that runs all example hooks on it.
//! Tests that stop anything, or that count on being alone, never use it.

use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell};

use super::cluster::{Backend, Cluster, Needs};
use super::operator::Operator;
use super::settings;

pub struct Shared {
    pub cluster: Arc<Cluster>,
    /// A test that changes what all tests see, the source Secret, holds this while it does so.
    pub changing: Mutex<()>,
    /// Held for its life; it ends with the suite.
    _operator: Operator,
}

pub const ALL_HOOKS: [&str; 3] = ["registry-secret", "internet-access", "node-taint"];

static REAL: OnceCell<Shared> = OnceCell::const_new();
static LOCAL: OnceCell<Shared> = OnceCell::const_new();

/// Starts it with the first test that asks.
pub async fn shared(backend: Backend) -> &'static Shared {
    let (cell, name) = match backend {
        Backend::Real => (&REAL, "real-shared"),
        Backend::Local => (&LOCAL, "local-shared"),
    };
    cell.get_or_init(|| start(backend, name)).await
}

async fn start(backend: Backend, name: &str) -> Shared {
    let dir = settings::run_dir().join(name);
    let cluster = Cluster::start(backend, &dir, Needs::default()).await;
    let operator = Operator::start(&dir, &cluster.kubeconfig, &ALL_HOOKS).await;
    operator.ready().await;
    Shared { cluster, changing: Mutex::new(()), _operator: operator }
}
