//! A hook whose tasks ended by a defect, and its next version.

use std::time::Duration;

use super::{
    fixture::Pipeline,
    swap::put,
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, until};

const WORDS: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    namespace: {nameSelector: {matchNames: [default]}}, labelSelector: {matchLabels: {w: x}}}]}";

/// The run of the old version is interrupted for the swap. An old version that stayed would be interrupted at once, again
/// and again.
#[tokio::test]
async fn a_hook_whose_tasks_are_gone_is_replaced_and_not_interrupted_for_ever() {
    let hooks = [("spins", hook(WORDS, &Deed::Spins))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.grace_period = Duration::from_millis(100);
        options.sandbox.maxima.time = Duration::from_secs(300);
    })
    .await;
    let operator = &pipeline.operator;
    let spins = async || (operator.app.queue().stats().running == 1).then_some(());
    until("the hook spins", spins).await;
    let task = "hook spins";
    assert!(operator.app.tasks().kill(task));
    assert_eq!(operator.app.tasks().ended().await.task, task);

    let swapped = operator.app.swap(put(operator, "spins", &hook(WORDS, &Deed::Says("new")))).await.unwrap();
    assert!(swapped.interrupted && swapped.from.is_some());
    // It watches again: it lists first.
    assert_eq!((swapped.kept, swapped.begun), (0, 1));
    operator.said("spins", "new").await;
    operator.app.queue().idle().await;
    assert_eq!(operator.log.said("spins"), ["new"]);
    assert_eq!(operator.log.told("run interrupted").len(), 1);
}
