//! Variables in selectors, and operators that each work for one node.

use boathook_core::model::Variables;
use boathook_operator::app::Options;
use serde_json::Value;

use super::{
    fixture::{Pipeline, config_map},
    written::{Deed, hook},
};
use crate::support::{cluster::TestCluster, guests::guest};

const OF_THE_NODE: &str = "{configVersion: v1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    executeHookOnSynchronization: false, nameSelector: {matchNames: [$(NODE_NAME)]}, \
    labelSelector: {matchLabels: {zone: $(ZONE)}}}]}";

fn variables(all: &[(&str, &str)]) -> Variables {
    let mut variables = Variables::default();
    all.iter().for_each(|(name, value)| variables.set(name, value).unwrap());
    variables
}

async fn start(document: &str, adjust: impl FnOnce(&mut Options)) -> Pipeline {
    Pipeline::on(TestCluster::start().await, &[("words", hook(document, &Deed::Says("seen")))], adjust).await
}

fn reason(pipeline: &Pipeline) -> String {
    pipeline.operator.app.readiness().quarantined[0].1.clone()
}

// mutant: crates/operator/src/app/hook_manager.rs: `Ok(Hook { spec: hook.spec.with_variables(&self.services.variables)?, ..hook })` => `Ok(hook)`
#[tokio::test]
async fn selectors_have_the_values_of_their_variables() {
    let values = variables(&[("NODE_NAME", "n1"), ("ZONE", "a")]);
    let pipeline = start(OF_THE_NODE, |options| options.variables = values).await;
    pipeline.operator.ready().await;
    for (name, zone) in [("n2", "a"), ("n1", "a")] {
        pipeline.create(config_map(name, ("zone", zone), Value::Null)).await;
    }
    pipeline.operator.said("words", "seen").await;
    let again = config_map("n3", ("zone", "a"), Value::Null);
    pipeline.create(again).await;
    pipeline.delete(config_map("n1", ("zone", "a"), Value::Null)).await;
    let twice = |operator: &super::fixture::Operator| (operator.log.said("words").len() >= 2).then_some(());
    pipeline.operator.until("the deletion is reported", twice).await;
    assert_eq!(pipeline.operator.log.said("words").len(), 2, "neither n2 nor n3 is selected");
}

#[tokio::test]
async fn a_variable_without_a_value_keeps_the_hook_from_running() {
    let values = variables(&[("NODE_NAME", "n1")]);
    let pipeline = start(OF_THE_NODE, |options| options.variables = values).await;
    let why = reason(&pipeline);
    assert!(why.contains("binding maps: $(ZONE) has no value: start the operator with --var ZONE=VALUE"), "{why}");
}

// mutant: crates/operator/src/app/hooks.rs: `found.map_or(Ok(()), |(key, _)| Err(HookLoadError::NodeAgent { key }))` => `Ok(())`
#[tokio::test]
async fn what_one_replica_may_do_alone_does_not_run_on_every_node() {
    for (name, key) in [("wish", "reconcile"), ("allow", "kubernetesValidating")] {
        let component = guest(name);
        let pipeline = Pipeline::on(TestCluster::start().await, &[(name, component)], |options| {
            options.node_agent = true;
        })
        .await;
        let quarantined = pipeline.operator.app.readiness().quarantined;
        let part = format!("its document has {key}, and a node agent runs each hook on every node");
        assert!(quarantined.iter().any(|(_, why)| why.contains(&part)), "{name}: {quarantined:?}");
    }
}
