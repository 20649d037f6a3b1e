//! Many things at once.
//! It never measures: the deadlines only tell working from not working.

use std::sync::Arc;
use std::time::Duration;

use crate::copies::{ensure_source, without_copy};
use crate::harness::{Test, eventually_within, for_each};
use crate::objects::create_namespace;

const NAMESPACES: usize = 1_000;
/// Creations in flight.
const WIDTH: usize = 50;

pub async fn a_thousand_namespaces(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    let client = &cluster.client;
    ensure_source(client).await;
    let operator = test.operator(&cluster).await;
    operator.ready().await;

    for_each(0..NAMESPACES, WIDTH, |number| {
        let (client, name) = (client.clone(), test.name(&number.to_string()));
        async move { create_namespace(&client, &name, &[]).await }
    })
    .await;

    eventually_within(Duration::from_secs(120), "every namespace has a copy", async || {
        match without_copy(client).await.as_slice() {
            [] => Ok(()),
            missing => Err(format!("{} have none, {} among them", missing.len(), missing[0])),
        }
    })
    .await;
    operator.stop().await;
}
