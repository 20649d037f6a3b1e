//! Programs of an attack: how they are started, and how they begin. A program ends when its stdin does, so that none
//! outlives the test; what it has to say are lines on its stdout.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::{author, registry, stranger, tenant, victim};
use crate::harness::Process;
use crate::node::Node;

/// The program that this process is.
const NAME: &str = "BOATHOOK_ATTACK_PROGRAM";
/// Parts of the attack, separated by commas.
const ONLY: &str = "BOATHOOK_ATTACK_ONLY";
/// A line that says what must never happen.
const CROSSED: &str = "CROSSED ";

/// What attackers share of one processor, in per cent. The API server's work for them comes on top.
const SHARE: u32 = 40;

/// What a program is started with.
pub struct Start<'a> {
    pub name: &'a str,
    /// Its rights in the cluster, if it has any.
    pub kubeconfig: Option<&'a Path>,
    /// The network namespace, if it is another than the node's.
    pub network: Option<&'a str>,
    /// Further variables.
    pub with: &'a [(&'a str, &'a str)],
    /// Whether it shares the bounded CPU of attackers.
    pub attacks: bool,
}

pub async fn start(node: &Node, start: Start<'_>) -> Process {
    let this = std::env::current_exe().expect("this program has a file");
    let mut script = String::from("exec");
    if start.attacks {
        script += &format!(" tests/attack/bounded {}/attack {SHARE}", node.cgroup());
    }
    if let Some(network) = start.network {
        script += &format!(" nsenter --net={network}");
    }
    script += match start.kubeconfig {
        Some(_) => " env",
        None => " env -u KUBECONFIG",
    };
    script += &format!(" {NAME}={}", start.name);
    if let Some(file) = start.kubeconfig {
        script += &format!(" KUBECONFIG={}", file.display());
    }
    for (name, value) in start.with {
        script += &format!(" {name}='{value}'");
    }
    script += &format!(" {} attack::program --exact --ignored --nocapture", this.display());
    let process = node.start(start.name, &crate::harness::workspace(), &script).await;
    process.logged(Duration::from_secs(30), "a program begins", |line| line.ends_with("begun").then_some(())).await;
    process
}

/// What the process was started as.
pub fn main() {
    let name = std::env::var(NAME).expect("the attack starts its programs");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("start a runtime");
    runtime.block_on(async {
        println!("\nbegun");
        let work = async {
            match name.as_str() {
                "author" => author::run().await,
                "registry" => registry::run().await,
                "stranger" => stranger::run().await,
                "tenant" => tenant::run().await,
                "victim" => victim::run().await,
                other => panic!("there is no program {other}"),
            }
        };
        tokio::select! {
            () = work => {}
            () = hang_up() => {}
        }
    });
    // What its tasks still do is of no use to anybody.
    std::process::exit(0);
}

/// The end of stdin.
async fn hang_up() {
    let (closed, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = closed.send(());
    });
    let _ = wait.await;
}

/// A variable that the program was started with.
pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is given to the program"))
}

/// Whether this part of the attack takes place: all of them, or those that `BOATHOOK_ATTACK_ONLY` names, separated by
/// commas. Set it to find the part that breaks something.
pub fn wanted(name: &str) -> bool {
    std::env::var(ONLY).map_or(true, |only| only.split(',').any(|one| one == name))
}

pub fn wanted_all() -> bool {
    std::env::var_os(ONLY).is_none()
}

/// Milliseconds of the clock, which all programs share.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    u64::try_from(since.as_millis()).expect("milliseconds fit")
}

pub fn say(line: &Value) {
    println!("{line}");
}

/// Something got where it must never get.
pub fn crossed(what: &str) {
    println!("{CROSSED}{what}");
}

/// What a program's log says to have crossed.
pub fn crossings(log: &str) -> Vec<&str> {
    log.lines().filter_map(|line| line.strip_prefix(CROSSED)).collect()
}

/// For a moment at random, so that actors fall out of step; without a dependency for it.
pub async fn pause(around: Duration) {
    let noise = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), now()) % 1000;
    let millis = around.as_millis() as u64 / 2 + around.as_millis() as u64 * noise / 1000;
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
