//! Scripts in bundles: what the bundle says of their interpreter, and a host that has it or not.

use std::fs;

use boathook_bundle::{Digest, HookInput, Input, Layout, Place, look, pack, save};
use boathook_core::model::{BundleId, HookName, HookPhase, HookSource, HookState, Installation};
use boathook_operator::app::Options;
use serde_json::Value;

use super::{interpreters, js, packed, running};
use crate::{
    pipeline::fixture::Pipeline,
    support::{
        cluster::TestCluster,
        process::{self, boathook},
    },
};

#[tokio::test]
async fn a_bundle_says_which_interpreter_its_scripts_have() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("hooks")).unwrap();
    fs::write(at("hooks/words.wasm"), running("run() {}")).unwrap();
    let typed = async |line: &str| {
        let mut command = boathook(["bundle"].into_iter().chain(line.split(' ')));
        command.current_dir(folder.path()).env("BOATHOOK_INTERPRETERS", interpreters());
        let ended = process::run(command).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    };
    typed("pack hooks -o team.bundle").await;
    let told: Value = serde_json::from_str(&typed("inspect team.bundle -o json").await).unwrap();
    assert_eq!(told["hooks"][0]["interpreter"], serde_json::to_value(js()).unwrap());
    let text = typed("inspect team.bundle").await;
    assert!(text.contains(&format!("a script  of js {}, {}", js().version, js().digest)), "{text}");

    // A component has none, and a script that cannot be read is not packed.
    let hook = |component: Vec<u8>| HookInput {
        name: HookName::new("words").unwrap(),
        component: component.into(),
        asks: Vec::new(),
    };
    let plain = pack(Input { hooks: vec![hook(wat::parse_str("(component)").unwrap())], ..Input::default() }).unwrap();
    save(&plain, &Layout::create(&at("plain.bundle")).unwrap(), None).unwrap();
    let seen = look(&Place::layout(Layout::open(&at("plain.bundle"), None).unwrap())).await.unwrap();
    assert_eq!(seen.contents.hooks[0].interpreter, None);
    let mut broken = running("run() {}");
    broken.truncate(broken.len() - 4);
    let error = pack(Input { hooks: vec![hook(broken)], ..Input::default() }).unwrap_err();
    assert!(error.to_string().contains("words.wasm cannot be read"), "{error}");
}

const SAYS: &str = "export default { config: { configVersion: 'v1', onStartup: 1 }, run() { console.log('here') } }";

/// Installs a bundle of one script, and gives what the operator says of it.
async fn installed(pipeline: &Pipeline) -> HookState {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = (folder.path().join("words.wasm"), packed(&[("hook.js", SAYS)]));
    fs::write(&path, &bytes).unwrap();
    let (name, digest) = (HookName::new("words").unwrap(), Digest::of(&bytes).to_string());
    let id = BundleId { namespace: Some("prod".to_owned()), name: "team".to_owned() };
    let source = HookSource { name, path, digest: Some(digest.clone()), declared: None };
    let installer = pipeline.operator.app.installer();
    installer.install(Installation::new(id.clone(), digest, vec![source])).await.unwrap();
    installer.states(&id).pop().unwrap()
}

async fn pipeline(adjust: impl FnOnce(&mut Options)) -> Pipeline {
    Pipeline::on(TestCluster::start().await, &[], adjust).await
}

#[tokio::test]
async fn a_host_that_has_the_interpreter_runs_it_and_says_which_it_is() {
    let pipeline = pipeline(|options| options.sandbox.interpreters = vec![interpreters()]).await;
    let state = installed(&pipeline).await;
    assert_eq!(state.interpreter, Some(js()), "{state:?}");
    pipeline.operator.said("words.team.prod", "here").await;
}

#[tokio::test]
async fn a_host_that_has_another_one_refuses_it_and_names_both() {
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("js-9.9.9.wasm"), "another").unwrap();
    let directory = other.path().to_owned();
    let pipeline = pipeline(|options| options.sandbox.interpreters = vec![directory]).await;
    let state = installed(&pipeline).await;
    assert_eq!(state.phase, HookPhase::Quarantined);
    let reason = &state.reason;
    assert!(reason.contains(&format!("was made for the interpreter {}", js())), "{reason}");
    assert!(reason.contains("has js 9.9.9 (sha256:") && reason.contains("interpreters pull"), "{reason}");
}
