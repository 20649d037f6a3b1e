//! Compiling in a process of its own.

use std::time::Duration;

use boathook::sandbox::{CompilerConfig, Sandbox, SandboxConfig};

use super::support::{self, hostile, load, name, plenty, run};

fn config() -> CompilerConfig {
    CompilerConfig::new(env!("CARGO_BIN_EXE_boathook"))
}

fn with(compiler: CompilerConfig, pooling: bool) -> Sandbox {
    Sandbox::new(SandboxConfig { compiler: Some(compiler), pooling, ..support::small() }).unwrap()
}

async fn refused(compiler: CompilerConfig, bytes: &[u8]) -> String {
    let error = with(compiler, false).load(&name("h"), bytes).await.unwrap_err();
    boathook::model::error_chain(&error)
}

#[tokio::test]
async fn what_another_process_compiled_runs_here() {
    for pooling in [true, false] {
        let sandbox = with(config(), pooling);
        let hook = load(&sandbox, "good", &hostile("good")).await;
        assert!(!hook.from_cache());
        assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    }
}

#[tokio::test]
async fn a_bad_component_is_refused_in_the_same_words() {
    let mut bad = hostile("good");
    let middle = bad.len() / 2;
    bad.get_mut(middle..middle + 8).unwrap().fill(0xff);
    let here = Sandbox::new(support::small()).unwrap().load(&name("h"), &bad).await.unwrap_err();
    assert_eq!(refused(config(), &bad).await, boathook::model::error_chain(&here));
}

#[tokio::test]
async fn a_compiler_that_does_not_end_is_ended() {
    let sleeper = CompilerConfig {
        command: "/bin/sh".into(),
        args: vec!["-c".to_owned(), "exec sleep 1000".to_owned()],
        deadline: Duration::from_millis(100),
        ..config()
    };
    let text = refused(sleeper, &hostile("good")).await;
    assert!(text.contains("not compiled within 100ms"), "{text}");
}

#[tokio::test]
async fn a_compiler_that_dies_is_told_of() {
    let args = vec!["-c".to_owned(), "echo no memory left >&2; kill -9 $$".to_owned()];
    let dying = CompilerConfig { command: "/bin/sh".into(), args, ..config() };
    let text = refused(dying, &hostile("good")).await;
    assert!(text.contains("signal: 9") && text.contains("no memory left"), "{text}");
}

#[tokio::test]
async fn without_the_program_it_is_compiled_here() {
    let sandbox = with(CompilerConfig::new("/nonexistent/boathook"), true);
    assert_eq!(run(&sandbox, &load(&sandbox, "good", &hostile("good")).await, plenty()).await.outcome, Ok(()));
}
