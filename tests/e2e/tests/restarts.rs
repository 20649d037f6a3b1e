//! The operator goes away, the world changes, the operator comes back: everything is as it ought to be.
//! What is made while it is away shows that nothing depends on having seen it happen.

use std::sync::Arc;

use crate::copies::{NAME, SKIP, copied, ensure_source, gone, set_password};
use crate::harness::{Cluster, Operator, Test};
use crate::internet_access::{ALLOW, allowed, refused};
use crate::node_taint::{create_node, label_node, tainted};
use crate::objects::{create_namespace, delete, label_namespace, secrets};

pub async fn after_sigterm(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    operator.stop().await;
    go_on(&test, &cluster).await;
}

pub async fn after_sigkill(test: Arc<Test>) {
    let (cluster, operator) = begin(&test).await;
    operator.kill().await;
    go_on(&test, &cluster).await;
}

/// A cluster of its own, an operator, and the world as the hooks have dealt with it.
pub async fn begin(test: &Test) -> (Arc<Cluster>, Operator) {
    let cluster = test.own_cluster().await;
    let operator = test.operator(&cluster).await;
    operator.ready().await;
    World::new(test).make(&cluster).await;
    (cluster, operator)
}

async fn go_on(test: &Test, cluster: &Cluster) {
    let world = World::new(test);
    world.change(cluster).await;
    let operator = test.operator(cluster).await;
    operator.ready().await;
    world.converged(cluster).await;

    // It also follows what happens from now on.
    let name = test.name("after");
    create_namespace(&cluster.client, &name, &[]).await;
    copied(&cluster.client, &name).await;
    operator.stop().await;
}

/// Objects of all three hooks that change while the operator cannot see it.
pub struct World {
    stays: String,
    opts_out: String,
    was_allowed: String,
    appears: String,
    node: String,
}

impl World {
    pub fn new(test: &Test) -> Self {
        Self {
            stays: test.name("stays"),
            opts_out: test.name("opts-out"),
            was_allowed: test.name("was-allowed"),
            appears: test.name("appears"),
            node: test.name("node"),
        }
    }

    /// Makes what is there before, and waits until the hooks have dealt with it.
    pub async fn make(&self, cluster: &Cluster) {
        let client = &cluster.client;
        ensure_source(client).await;
        for name in [&self.stays, &self.opts_out] {
            create_namespace(client, name, &[]).await;
        }
        create_namespace(client, &self.was_allowed, &[(ALLOW, "true")]).await;
        create_node(client, &self.node, &[("taint.boathook.dev/gpu", "NoSchedule")]).await;

        for name in [&self.stays, &self.opts_out, &self.was_allowed] {
            copied(client, name).await;
        }
        allowed(client, &self.was_allowed).await;
        tainted(client, &self.node, &["gpu:NoSchedule"]).await;
    }

    /// Changes all of it: the source, a copy, labels that come, labels that go, a new namespace.
    pub async fn change(&self, cluster: &Cluster) {
        let client = &cluster.client;
        delete(&secrets(client, &self.stays), NAME).await;
        set_password(client, "changed-meanwhile").await;
        label_namespace(client, &self.opts_out, SKIP, Some("true")).await;
        label_namespace(client, &self.was_allowed, ALLOW, None).await;
        create_namespace(client, &self.appears, &[(ALLOW, "true")]).await;
        label_node(client, &self.node, "gpu", None).await;
        label_node(client, &self.node, "batch", Some("NoExecute")).await;
    }

    /// Waits until everything is as the changes want it.
    pub async fn converged(&self, cluster: &Cluster) {
        let client = &cluster.client;
        for name in [&self.stays, &self.was_allowed, &self.appears] {
            copied(client, name).await;
        }
        gone(client, &self.opts_out).await;
        refused(client, &self.was_allowed).await;
        allowed(client, &self.appears).await;
        tainted(client, &self.node, &["batch:NoExecute"]).await;
    }
}
