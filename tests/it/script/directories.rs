//! Scripts have no files of the operator's machine.

use super::{interpreters, packed};
use crate::{
    pipeline::{directories::Place, fixture::Pipeline},
    support::cluster::TestCluster,
};

const SCRIPT: &str = "export default {
    config: { configVersion: 'v1', onStartup: 1, permissions: { directories: [{ name: 'keys' }] } },
    run() {},
};
";

// mutant: crates/operator/src/app/hooks.rs: `if hook.spec.has_directories() && hook.component.script().is_some() {` => `if false {`
#[tokio::test]
async fn a_script_that_requests_a_directory_does_not_run() {
    let place = Place::new();
    let hooks = [("script", packed(&[("hook.js", SCRIPT)]))];
    let pipeline = Pipeline::on(TestCluster::start().await, &hooks, |options| {
        options.directories = place.directories.clone();
        options.sandbox.interpreters = vec![interpreters()];
    })
    .await;
    let quarantined = pipeline.operator.app.readiness().quarantined;
    let why = "permissions.directories: a script has no files of the operator's machine";
    assert!(quarantined[0].1.contains(why), "{quarantined:?}");
}
