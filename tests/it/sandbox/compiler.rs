//! Compiling in a process of its own.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use boathook_core::{fair::Tenant, model::error_chain};
use boathook_sandbox::{CompilerConfig, Sandbox, SandboxConfig};
use futures::future::join_all;

use super::support::{self, component, hostile, load, name, plenty, run};

fn config() -> CompilerConfig {
    CompilerConfig::new(env!("CARGO_BIN_EXE_boathook"))
}

fn with(compiler: CompilerConfig, pooling: bool) -> Sandbox {
    Sandbox::new(SandboxConfig { compiler: Some(compiler), pooling, ..support::small() }).unwrap()
}

async fn refused(compiler: CompilerConfig, bytes: &[u8]) -> String {
    let error = with(compiler, false).load(&name("h"), bytes).await.unwrap_err();
    boathook_core::model::error_chain(&error)
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
    assert_eq!(refused(config(), &bad).await, boathook_core::model::error_chain(&here));
}

// mutant: crates/core/src/child.rs: `timeout(self.deadline, self.exchange(file, input)).await.unwrap_or(Err(Failed::Ended(Cause::Time)))` => `self.exchange(file, input).await`
#[tokio::test]
async fn a_compiler_that_does_not_end_is_ended() {
    let sleeper = CompilerConfig {
        command: "/bin/sh".into(),
        args: vec!["-c".to_owned(), "exec sleep 20".to_owned()],
        deadline: Duration::from_millis(100),
        ..config()
    };
    let text = refused(sleeper, &hostile("good")).await;
    assert!(text.contains("not compiled within 100ms"), "{text}");
}

// mutant: crates/sandbox/src/load.rs: `let Some(config) = &self.compiler else { return Ok(None) };` => `let Some(config) = self.compiler.as_ref().filter(|_| false) else { return Ok(None) };`
#[tokio::test]
async fn a_compiler_that_dies_is_reported_of() {
    let args = vec!["-c".to_owned(), "echo no memory left >&2; kill -9 $$".to_owned()];
    let dying = CompilerConfig { command: "/bin/sh".into(), args, ..config() };
    let text = refused(dying, &hostile("good")).await;
    assert!(text.contains("signal: 9") && text.contains("no memory left"), "{text}");
}

/// One function with so many instructions that its compiler needs many times the component's size.
// mutant: crates/core/src/child.rs: `lower(Resource::Data, self.memory, self.memory)?;` => ``
#[tokio::test]
async fn a_component_that_takes_the_compilers_memory_is_refused() {
    let adds: String =
        (0..200_000).map(|n| format!("(local.set $n (i32.add (local.get $n) (i32.const {n})))")).collect();
    let large = support::component(&format!(
        r#"(func (export "config") (type $config) (local $n i32) {adds} (global.get $document))
        (func (export "run") (type $run) (global.get $success))"#
    ));
    let text = refused(CompilerConfig { memory: 96 << 20, ..config() }, &large).await;
    assert!(text.contains("takes more than 96Mi of memory"), "{text}");
}

#[tokio::test]
async fn without_the_program_it_is_compiled_here() {
    let sandbox = with(CompilerConfig::new("/nonexistent/boathook"), true);
    assert_eq!(run(&sandbox, &load(&sandbox, "good", &hostile("good")).await, plenty()).await.outcome, Ok(()));
}

/// A component whose one function has so many loops over many variables: each takes much to compile for its size.
fn greedy(loops: usize) -> Vec<u8> {
    const VARIABLES: usize = 64;
    let mut body = String::from(
        "(func (export \"config\") (type $config) (global.get $document))
         (func (export \"run\") (type $run) (global.get $success))
         (func (export \"greedy\")",
    );
    let declared = (0..VARIABLES).map(|variable| format!(" (local $v{variable} i32)"));
    body.extend(declared);
    for number in 0..loops {
        body.push_str("(loop $l");
        for variable in 0..VARIABLES {
            let next = (variable + number) % VARIABLES;
            write!(body, "(local.set $v{variable} (i32.add (local.get $v{next}) (i32.const 1)))").unwrap();
        }
        body.push_str("(br_if $l (local.get $v0)))");
    }
    body.push(')');
    component(&body)
}

// mutant: crates/core/src/child.rs: `lower(Resource::Data, self.memory, self.memory)?;` => ``
#[tokio::test]
async fn a_component_that_takes_too_much_memory_to_compile_is_refused_and_others_go_on() {
    let sandbox = with(CompilerConfig { memory: 128 << 20, ..config() }, false);
    let (greedy, good, tenants) = (greedy(1500), hostile("good"), ["team-a", "team-b"].map(Tenant::namespace));
    assert!(greedy.len() < 1 << 20, "{} bytes", greedy.len());
    let names = ["greedy", "good"].map(name);
    let (refused, loaded) = tokio::join!(
        sandbox.load_for(&tenants[0], &names[0], &greedy),
        sandbox.load_for(&tenants[1], &names[1], &good)
    );
    let refused = error_chain(&refused.unwrap_err());
    assert!(refused.contains("takes more than 128Mi of memory") && refused.contains("--compile-memory"), "{refused}");
    assert_eq!(run(&sandbox, &loaded.unwrap(), plenty()).await.outcome, Ok(()));
}

// mutant: crates/sandbox/src/load.rs: `let turn = self.compiling.take(tenant, 1).await;` => `let turn = self.compiling.take(&Tenant::hook(""), 1).await;`
#[tokio::test]
async fn tenants_take_turns_at_the_compiler() {
    let sandbox = with(config(), false);
    let (order, good) = (Mutex::new(Vec::new()), hostile("good"));
    let load = async |tenant: &str, hook: String| {
        sandbox.load_for(&Tenant::namespace(tenant), &name(&hook), &good).await.unwrap();
        order.lock().unwrap().push(tenant.to_owned());
    };
    // All ask before a few are compiled.
    let many = (0..12).map(|number| load("team-a", format!("a{number}")));
    tokio::join!(join_all(many), load("team-b", "b".to_owned()));
    let order = order.into_inner().unwrap();
    assert!(order.iter().position(|tenant| tenant == "team-b").unwrap() < 4, "{order:?}");
}

/// `boathook inspect` of a component, with its cache in this directory.
fn inspect(cache: &Path, file: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boathook"));
    command.arg("inspect").arg(file).env("XDG_CACHE_HOME", cache).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn files(cache: &Path, prefix: &str, suffix: &str) -> Vec<String> {
    let Ok(found) = fs::read_dir(cache.join("boathook")) else { return Vec::new() };
    let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(prefix) && name.ends_with(suffix)).collect()
}

/// Whether a child of this process is at work.
fn has_child(parent: u32) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let stat = fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    });
    processes.into_iter().any(|of| of == parent)
}

// mutant: crates/sandbox/src/compiler.rs: `let _ = cache::keep(&place, &artifact);` => `drop(place);`
#[tokio::test]
async fn what_is_compiled_is_kept_when_the_operator_is_killed_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("greedy.wasm"));
    fs::write(&file, greedy(1500)).unwrap();
    let mut operator = inspect(&cache, &file);
    support::until("the compiler is at work", || {
        !files(&cache, ".compiling-", ".cwasm").is_empty() && has_child(operator.id())
    })
    .await;
    operator.kill().unwrap();
    operator.wait().unwrap();
    let compiled = || files(&cache, "", ".cwasm").into_iter().filter(|name| !name.starts_with('.')).count();
    assert_eq!(compiled(), 0, "it was ready before the operator was killed: compile something larger");
    support::until("the code is kept", || compiled() == 1).await;
    // The next start takes it over.
    let config = SandboxConfig { cache_dir: Some(cache.join("boathook")), pooling: false, ..support::small() };
    let sandbox = Sandbox::new(config).unwrap();
    assert!(load(&sandbox, "greedy", &fs::read(&file).unwrap()).await.from_cache());
}

// mutant: crates/sandbox/src/cache.rs: `Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),` => `Err(rustix::io::Errno::WOULDBLOCK) => {}`
#[tokio::test]
async fn operators_that_crash_and_start_again_compile_a_component_once_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let (cache, file) = (folder.path().join("cache"), folder.path().join("greedy.wasm"));
    fs::write(&file, greedy(1500)).unwrap();
    let mut first = inspect(&cache, &file);
    support::until("the compiler is at work", || {
        !files(&cache, ".compiling-", ".cwasm").is_empty() && has_child(first.id())
    })
    .await;
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = inspect(&cache, &file);
    let mut compiles = false;
    while second.try_wait().unwrap().is_none() {
        compiles |= has_child(second.id());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!compiles, "it compiled what was being compiled");
}
