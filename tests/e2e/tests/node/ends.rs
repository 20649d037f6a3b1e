//! What is left of a node: nothing, however it ends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::Node;
use crate::harness::{Process, eventually_within, from_env, workspace};

const SOON: Duration = Duration::from_secs(60);

/// Ctrl-C, and the end of the process that started it.
pub async fn nothing_is_left_when_it_ends(node: Arc<Node>) {
    for (name, signal) in [("interrupted", Some(Signal::INT)), ("left", None)] {
        let dir = node.dir.join(name);
        let process = begun(&dir).await;
        let group = group(&process);
        assert!(!left(&group).is_empty(), "it has cgroups: {group}");
        match signal {
            Some(signal) => process.signal(signal),
            // Its end of the pipe is closed, as by the kernel when the suite is killed.
            None => process.hang_up(),
        }
        process.ended(SOON).await;
        assert_eq!(left(&group), [""; 0], "after it was {name}");
        ended(&dir).await;
    }
}

/// When even its script is killed, the kernel ends the node; the next one to start removes the empty cgroups.
pub async fn a_killed_one_is_cleared_by_the_next(node: Arc<Node>) {
    let dir = node.dir.join("killed");
    let process = begun(&dir).await;
    let group = group(&process);
    process.signal(Signal::KILL);
    process.ended(SOON).await;
    ended(&dir).await;
    let next = begun(&node.dir.join("next")).await;
    eventually_within(SOON, "its cgroups are gone", async || match left(&group) {
        left if left.is_empty() => Ok(()),
        left => Err(left.join(" ")),
    })
    .await;
    next.signal(Signal::INT);
    next.ended(SOON).await;
}

/// A node of this test's own, as soon as containers could run on it.
async fn begun(dir: &Path) -> Process {
    std::fs::create_dir_all(dir).expect("make a directory");
    let build = from_env("BOATHOOK_NODE_BUILD").expect("it was there when the shared node started");
    // A shell starts what it runs in the background with SIGINT ignored, which a script cannot undo.
    let mut command = std::process::Command::new("env");
    command.arg("--default-signal=INT").arg(workspace().join("tests/node/start"));
    command.arg(dir).env("BOATHOOK_NODE_BUILD", build).env("BOATHOOK_APISERVER", crate::harness::apiserver());
    let process = Process::start("a node", command, &dir.join("node.log")).await;
    eventually_within(SOON, "containerd runs", async || {
        let log = std::fs::read_to_string(dir.join("log/containerd.log")).unwrap_or_default();
        if log.contains("containerd successfully booted") { Ok(()) } else { Err(log) }
    })
    .await;
    process
}

/// The name of its cgroups.
fn group(process: &Process) -> String {
    format!("boathook-node-{}", process.id())
}

/// The cgroups of this name.
fn left(group: &str) -> Vec<String> {
    let root = Path::new("/sys/fs/cgroup");
    let hierarchies = std::fs::read_dir(root).expect("there are cgroups").flatten().map(|entry| entry.path());
    let all = hierarchies.chain([root.to_owned()]).map(|hierarchy| hierarchy.join(group));
    all.filter(|path| path.is_dir()).map(|path| path.display().to_string()).collect()
}

/// No process works for the node of this directory.
async fn ended(dir: &Path) {
    let name = dir.display().to_string();
    eventually_within(SOON, "its processes have ended", async || {
        let all = std::fs::read_dir("/proc").expect("there are processes").flatten();
        // The first process of the node has the directory as an argument; all others end with it.
        let words = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        let words = words.map(|words| String::from_utf8_lossy(&words).replace('\0', " "));
        let left: Vec<_> = words.filter(|words| words.contains("tests/node/inside") && words.contains(&name)).collect();
        if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
    })
    .await;
}
