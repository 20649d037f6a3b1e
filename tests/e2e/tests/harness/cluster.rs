//! An API server for tests: the real control plane or the local cluster, with a kubeconfig and a client.
//! The client is kube-rs with typed objects: never Boathook's own way to the cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustix::process::Signal;

use super::process::Process;
use super::settings;
use super::wait::eventually;

/// A start takes 3 s on a free machine; this one may be compiling something.
const START: Duration = Duration::from_secs(90);
const STOP: Duration = Duration::from_secs(20);

const CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,deployment-controller,\
                           replicaset-controller,serviceaccount-controller";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// etcd and kube-apiserver.
    Real,
    /// `boathook cluster`.
    Local,
}

/// What a cluster has to be able to do; the local one can do none of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// To be stopped and started again on the same data.
    pub keeps_data: bool,
    /// To take watches straight to etcd, whose compactions they then notice.
    pub no_watch_cache: bool,
    /// To say of each request who made it as whom.
    pub audit_log: bool,
}

pub struct Cluster {
    pub backend: Backend,
    pub client: Client,
    pub kubeconfig: PathBuf,
    /// Where it serves: `127.0.0.1:PORT`.
    pub address: String,
    dir: PathBuf,
    needs: Needs,
    process: Mutex<Option<Arc<Process>>>,
}

impl Cluster {
    /// Starts one with its files in `dir`. The real one keeps its data there if it is to be started
    /// again; without, it removes the data when it ends, even if the suite is killed.
    pub async fn start(backend: Backend, dir: &Path, needs: Needs) -> Arc<Self> {
        std::fs::create_dir_all(dir).expect("make the cluster's directory");
        let kubeconfig = dir.join("kubeconfig");
        let process = spawn(backend, dir, "127.0.0.1:0", needs).await;
        let config = Kubeconfig::read_from(&kubeconfig).expect("read the cluster's kubeconfig");
        let address = address(&config);
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .expect("use the cluster's kubeconfig");
        let client = Client::try_from(config).expect("make a client");
        let process = Mutex::new(Some(Arc::new(process)));
        Arc::new(Self { backend, client, kubeconfig, address, dir: dir.to_owned(), needs, process })
    }

    /// Stops the API server as a node that shuts down would: SIGTERM.
    pub async fn stop(&self) {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        let process = process.expect("the API server runs");
        process.signal(Signal::TERM);
        let status = process.ended(STOP).await;
        assert!(status.success(), "the API server ended with {status}");
    }

    /// Starts a stopped API server on the same data and the same port.
    pub async fn start_again(&self) {
        assert!(
            self.needs.keeps_data && self.backend == Backend::Real,
            "this cluster keeps no data to be started again with"
        );
        let process = spawn(self.backend, &self.dir, &self.address, self.needs).await;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(process));
    }

    /// Copies the data of a stopped API server.
    pub fn back_up(&self) {
        self.copy("data", "backup");
    }

    /// Puts the copy in the place of a stopped API server's data, as nobody is to do it: no version is raised, and nothing
    /// is marked as compacted.
    pub fn restore(&self) {
        self.copy("backup", "data");
    }

    fn copy(&self, from: &str, to: &str) {
        let [from, to] = [from, to].map(|name| self.dir.join(name));
        let _ = std::fs::remove_dir_all(&to);
        let copied = Command::new("cp").arg("-a").args([&from, &to]).status().expect("run cp");
        assert!(copied.success(), "copy {}", from.display());
    }

    /// A line for each request that was answered, if it was asked for.
    pub fn audit_log(&self) -> PathBuf {
        assert!(self.needs.audit_log && self.backend == Backend::Real, "this cluster keeps no audit log");
        audit_log(&self.dir)
    }

    /// Makes etcd forget all history up to now.
    pub async fn compact(&self) {
        assert_eq!(self.backend, Backend::Real, "the local cluster has no etcd");
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let process = process.expect("the API server runs");
        let told = || process.log().lines().filter(|line| line.starts_with("compacted ")).count();
        let before = told();
        process.tell("compact");
        let compacted = async || if told() > before { Ok(()) } else { Err("it does not say so") };
        eventually("etcd is compacted", compacted).await;
    }
}

async fn spawn(backend: Backend, dir: &Path, listen: &str, needs: Needs) -> Process {
    let mut command = match backend {
        Backend::Real => real(dir, needs),
        Backend::Local => local(),
    };
    command.arg("--listen").arg(listen).arg("--write-kubeconfig").arg(dir.join("kubeconfig"));
    // A log for each start: the word "ready" is to be that of this one.
    let log = (1..)
        .map(|n| dir.join(format!("apiserver-{n}.log")))
        .find(|path| !path.exists())
        .expect("there is always another number");
    let process = Process::start("the API server", command, &log).await;
    process.logged(START, "the API server is ready", |line| (line == "ready").then_some(())).await;
    process
}

fn real(dir: &Path, needs: Needs) -> Command {
    let mut command = Command::new(settings::apiserver());
    command.arg("--exit-with-parent").arg(format!("--controllers={CONTROLLERS}"));
    if needs.keeps_data {
        command.arg("--data").arg(dir.join("data"));
    }
    if needs.no_watch_cache {
        command.arg("--watch-cache=false");
    }
    if needs.audit_log {
        command.arg("--audit-log").arg(audit_log(dir));
    }
    command
}

fn audit_log(dir: &Path) -> PathBuf {
    dir.join("audit.jsonl")
}

fn local() -> Command {
    let mut command = Process::bound(&settings::boathook());
    command.arg("cluster");
    command
}

fn address(config: &Kubeconfig) -> String {
    let cluster = config.clusters.first().and_then(|named| named.cluster.as_ref());
    let server = cluster.and_then(|cluster| cluster.server.as_deref()).expect("the kubeconfig names a server");
    let address = server.split("://").nth(1).expect("the server is a URL");
    address.trim_end_matches('/').to_owned()
}
