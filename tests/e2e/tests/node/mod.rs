//! The shipped manifests on a real node: kubelet, containerd and runc run the operator's image (`tests/node`). Commands are
//! typed on the node as a reader of the book types them.
//!
//! One node serves all tests, one after the other: the manifests name the objects of a whole cluster. Never looks into
//! the operator but by what Kubernetes and the operator's own commands show.

mod agent;
pub mod book;
mod components;
mod ends;
mod helm;
mod install;
mod objects;
mod outside;
mod registry;
mod replicas;
mod resources;
mod rights;
mod upgrade;

pub use objects::restarts;
pub use registry::HOST;

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::harness::{Process, RUNTIME, Said, eventually_within, from_env, run_dir, workspace};

/// From nothing to a Node that is Ready, the images imported.
const START: Duration = Duration::from_secs(120);
/// The longest command.
const COMMAND: Duration = Duration::from_secs(180);
/// For what containers have to start or end for.
const WHILE: Duration = Duration::from_secs(120);

/// A module for the tests of this list, in the order of their names.
macro_rules! on_the_node {
    ($($area:ident: $($test:ident),+;)+) => {
        $(mod $area {
            $(#[test]
            fn $test() {
                super::run(concat!(stringify!($area), "::", stringify!($test)), |node| super::super::$area::$test(node));
            })+
        })+
    };
}

mod tests {
    use super::run;

    on_the_node! {
        agent:
            a_key_is_on_the_node_while_its_object_is_there;
        book:
            every_section_with_commands_has_a_test;
        components:
            all_namespaces,
            bundle_references,
            documented_kustomization,
            hooks_image_volume,
            hooks_init_container,
            no_webhooks;
        ends:
            a_killed_one_is_cleared_by_the_next,
            nothing_is_left_when_it_ends;
        helm:
            documented_values,
            installed_upgraded_and_uninstalled;
        install:
            as_printed;
        outside:
            as_printed;
        replicas:
            a_rolling_update_answers_every_review,
            another_leads_when_the_leader_goes;
        resources:
            a_full_volume_stops_nothing_else,
            a_pod_beyond_its_volume_is_replaced,
            a_pod_killed_for_memory_comes_back;
        rights:
            as_printed;
        upgrade:
            from_the_version_before;
    }
}

/// The node, which is this test's alone until it is dropped.
pub struct Node {
    shared: &'static Shared,
    /// What the test writes on this machine, which the node sees at the same place.
    pub dir: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

struct Shared {
    dir: PathBuf,
    /// Held for its life, as the node is.
    _registry: registry::Registry,
    /// Its script, which names the cgroup after itself.
    process: Process,
}

static SHARED: OnceCell<Shared> = OnceCell::const_new();
static TURN: Mutex<()> = Mutex::const_new(());

/// Runs a test. One that fails shows what the node has.
pub fn run<F: Future<Output = ()>>(name: &'static str, test: fn(Arc<Node>) -> F) {
    let dir = run_dir().join(format!("node-{}", name.replace("::", "-")));
    std::fs::create_dir_all(&dir).expect("make the test's directory");
    let node = RUNTIME.block_on(async {
        let turn = TURN.lock().await;
        let shared = SHARED.get_or_init(start).await;
        let node = Node { shared, dir, _turn: turn };
        node.swept().await;
        Arc::new(node)
    });
    if let Err(failure) = catch_unwind(AssertUnwindSafe(|| RUNTIME.block_on(test(node.clone())))) {
        RUNTIME.block_on(dump(name, &node));
        resume_unwind(failure);
    }
}

async fn start() -> Shared {
    let dir = run_dir().join("node");
    std::fs::create_dir_all(&dir).expect("make the node's directory");
    let build = from_env("BOATHOOK_NODE_BUILD")
        .filter(|build| build.join("boathook.tar").exists())
        .expect("BOATHOOK_NODE_BUILD does not name what tools/build-node makes: run `make node`");
    let mut command = std::process::Command::new(workspace().join("tests/node/start"));
    command.arg(&dir).env("BOATHOOK_NODE_BUILD", build).env("BOATHOOK_APISERVER", crate::harness::apiserver());
    let process = Process::start("the node", command, &dir.join("node.log")).await;
    process.logged(START, "the node is ready", |line| (line == "ready").then_some(())).await;
    let registry = registry::Registry::start(&dir).await;
    Shared { dir, _registry: registry, process }
}

/// A command for the node, in the checkout.
fn command_on(node: &Path, words: &[&str]) -> std::process::Command {
    let build = from_env("BOATHOOK_NODE_BUILD").expect("it was there when the node started");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = std::process::Command::new(workspace().join("tests/node/exec"));
    command.arg(node).args(words).current_dir(workspace());
    command.env("PATH", format!("{}:{path}:/usr/sbin:/sbin", build.join("bin").display()));
    command.env("XDG_CACHE_HOME", run_dir().join("cache")).env("HELM_CACHE_HOME", run_dir().join("helm"));
    command.env("HELM_CONFIG_HOME", run_dir().join("helm")).env("HELM_DATA_HOME", run_dir().join("helm"));
    command
}

impl Node {
    /// The cgroup of all its containers.
    pub fn cgroup(&self) -> String {
        format!("/boathook-node-{}", self.shared.process.id())
    }

    /// Types commands into a shell of the node, in the checkout, as its administrator.
    pub async fn says(&self, script: &str) -> Said {
        self.says_in(&workspace(), script).await
    }

    pub async fn says_in(&self, dir: &Path, script: &str) -> Said {
        let mut command = Command::from(command_on(&self.shared.dir, &["sh", "-e", "-c", script]));
        command.current_dir(dir).stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(COMMAND, command.output()).await;
        let output = output.unwrap_or_else(|_| panic!("no end within {COMMAND:?}: {script}")).expect("start a shell");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr).trim().to_owned() }
    }

    /// [`Node::says`] of what has to succeed; gives what was printed.
    pub async fn sh(&self, script: &str) -> String {
        self.try_sh(script).await.unwrap_or_else(|error| panic!("$ {script}\n{error}"))
    }

    pub async fn try_sh(&self, script: &str) -> Result<String, String> {
        let Said { ok, out, err } = self.says(script).await;
        if ok { Ok(out) } else { Err(format!("{out}{err}")) }
    }

    /// What `kubectl get … -o json` shows.
    pub async fn get(&self, what: &str) -> Result<Value, String> {
        let text = self.try_sh(&format!("kubectl get {what} -o json")).await?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    }

    /// The items of a list.
    pub async fn list(&self, what: &str) -> Vec<Value> {
        let list = self.get(what).await.unwrap_or_else(|error| panic!("get {what}: {error}"));
        list["items"].as_array().cloned().unwrap_or_default()
    }

    pub async fn apply(&self, object: &Value) {
        self.apply_text("applied.json", &object.to_string()).await;
    }

    pub async fn apply_text(&self, name: &str, text: &str) {
        let file = self.dir.join(name);
        std::fs::write(&file, text).expect("write an object");
        self.sh(&format!("kubectl apply --server-side --force-conflicts -f {}", file.display())).await;
    }

    /// A long command in the background.
    pub async fn start(&self, name: &str, dir: &Path, script: &str) -> Process {
        let mut command = command_on(&self.shared.dir, &["sh", "-c", script]);
        command.current_dir(dir);
        Process::start(name, command, &self.dir.join(format!("{name}.log"))).await
    }

    /// Waits for something that containers have to start or end for.
    pub async fn until<T, E: Display>(&self, what: &str, probe: impl AsyncFnMut() -> Result<T, E>) -> T {
        eventually_within(WHILE, what, probe).await
    }

    /// The cluster as it was before the first test, whatever the one before left.
    async fn swept(&self) {
        self.sh(include_str!("sweep.sh")).await;
    }
}

/// What a failed test leaves to look at.
async fn dump(name: &str, node: &Node) {
    let questions = "set +e
        kubectl get pods,hookbundles --all-namespaces -o wide
        kubectl get events --all-namespaces --sort-by=.metadata.creationTimestamp | tail -n 40
        kubectl -n boathook describe pods | tail -n 80
        kubectl -n boathook logs --all-containers --tail=60 -l app.kubernetes.io/name=boathook
        kubectl -n boathook logs --all-containers --tail=30 --previous -l app.kubernetes.io/name=boathook";
    let Said { out, err, .. } = node.says(questions).await;
    eprintln!("==== {name} failed; the node's logs are in {}/log\n{out}{err}", node.shared.dir.display());
}
