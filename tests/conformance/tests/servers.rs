//! Starts both servers. They end with the suite, however it ends: one is part of it, the other sees its stdin closed.
//! It never sends a request beside those of the clients it makes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use boathook_cluster::{Cluster, Controller, Options};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tempfile::TempDir;

use crate::hooks::Hooks;

const CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,deployment-controller,\
                           replicaset-controller,serviceaccount-controller,\
                           clusterrole-aggregation-controller,job-controller";

pub struct Server {
    pub client: Client,
    /// A client without credentials.
    pub stranger: Client,
    pub kubeconfig: PathBuf,
    /// A directory of its own for kubectl.
    pub home: PathBuf,
    /// How the webhooks' addresses begin that this server is to call.
    pub hooks: String,
}

pub struct Servers {
    pub local: Server,
    pub real: Server,
    pub hooks: Hooks,
    _cluster: Cluster,
    process: Child,
    _dir: TempDir,
}

impl Servers {
    pub async fn start() -> Self {
        let dir = tempfile::tempdir().expect("make a directory");
        let real = dir.path().join("real");
        let local = dir.path().join("local");
        std::fs::create_dir_all(&real).expect("make a directory");
        std::fs::create_dir_all(&local).expect("make a directory");
        let process = control_plane(&real);
        let options = Options::default().rbac(true).controllers(controllers());
        let cluster = Cluster::start(options).await.expect("start the local cluster");
        std::fs::write(local.join("kubeconfig"), cluster.kubeconfig()).expect("write a kubeconfig");
        let hooks = Hooks::start().await;
        let (local, real) = (server(local, hooks.url("local")).await, server(real, hooks.url("real")).await);
        Self { local, real, hooks, _cluster: cluster, process, _dir: dir }
    }
}

/// All but the stand-in for nodes, which the real server has none of, and certificates, which come into lists of
/// ConfigMaps at any moment.
fn controllers() -> impl Iterator<Item = Controller> {
    Controller::ALL.into_iter().filter(|controller| !matches!(controller, Controller::Pods | Controller::RootCa))
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn server(home: PathBuf, hooks: String) -> Server {
    let kubeconfig = home.join("kubeconfig");
    let config = Kubeconfig::read_from(&kubeconfig).expect("read a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
    let config = config.expect("use a kubeconfig");
    let mut bare = config.clone();
    bare.auth_info = kube::config::AuthInfo::default();
    let client = Client::try_from(config).expect("make a client");
    let stranger = Client::try_from(bare).expect("make a client");
    Server { client, stranger, kubeconfig, home, hooks }
}

/// Returns when it is ready. Its log lies beside its kubeconfig.
fn control_plane(dir: &Path) -> Child {
    let hint = "run `make e2e`, which builds the control plane of tests/apiserver and sets it";
    let program =
        std::env::var_os("BOATHOOK_APISERVER").unwrap_or_else(|| panic!("BOATHOOK_APISERVER is not set: {hint}"));
    let log = std::fs::File::create(dir.join("log")).expect("make a log file");
    let mut child = Command::new(&program)
        .arg("--exit-with-parent")
        .arg(format!("--controllers={CONTROLLERS}"))
        .arg("--write-kubeconfig")
        .arg(dir.join("kubeconfig"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .unwrap_or_else(|error| panic!("start {}: {error}; {hint}", program.display()));
    let stdout = BufReader::new(child.stdout.take().expect("its stdout is a pipe"));
    let ready = stdout.lines().map_while(Result::ok).any(|line| line == "ready");
    if !ready {
        let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
        panic!("the control plane ended before it was ready:\n{log}");
    }
    child
}
