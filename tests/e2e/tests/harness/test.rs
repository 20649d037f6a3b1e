//! One test on one backend: its directory, its names, the clusters that it uses; and how it is run.
//! It keeps what a failed test leaves, shows it, and never hides the failure.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::runtime::Runtime;

use super::cluster::{Backend, Cluster, Needs};
use super::operator::Operator;
use super::shared::{ALL_HOOKS, Shared, shared};
use super::{dump, settings};

/// One runtime for all tests, for the shared clusters outlive each of them.
pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("start a runtime")
});

pub struct Test {
    pub backend: Backend,
    name: &'static str,
    dir: PathBuf,
    /// What the dump shows, and what has to outlive a failure for that.
    clusters: Mutex<Vec<Arc<Cluster>>>,
}

impl Test {
    /// The backend's shared cluster, with all hooks running.
    pub async fn shared(&self) -> &'static Shared {
        let shared = shared(self.backend).await;
        self.remember(&shared.cluster);
        shared
    }

    /// A cluster for this test alone.
    pub async fn own_cluster(&self) -> Arc<Cluster> {
        self.own_cluster_with(Needs { keeps_data: true, ..Needs::default() }).await
    }

    pub async fn own_cluster_with(&self, needs: Needs) -> Arc<Cluster> {
        let cluster = Cluster::start(self.backend, &self.dir.join("cluster"), needs).await;
        self.remember(&cluster);
        cluster
    }

    /// An operator with all example hooks.
    pub async fn operator(&self, cluster: &Cluster) -> Operator {
        self.operator_with(&cluster.kubeconfig, &ALL_HOOKS).await
    }

    pub async fn operator_with(&self, kubeconfig: &Path, hooks: &[&str]) -> Operator {
        Operator::start(&self.dir, kubeconfig, hooks).await
    }

    /// The cluster's kubeconfig with another address in it.
    pub fn kubeconfig_via(&self, cluster: &Cluster, address: &str) -> PathBuf {
        let text = std::fs::read_to_string(&cluster.kubeconfig).expect("read a kubeconfig");
        assert!(text.contains(&cluster.address), "the kubeconfig names its server");
        let file = self.dir.join("kubeconfig-via-proxy");
        std::fs::write(&file, text.replace(&cluster.address, address)).expect("write a kubeconfig");
        file
    }

    /// A name for an object that no other test uses.
    pub fn name(&self, what: &str) -> String {
        format!("{}-{what}", self.slug())
    }

    /// What all names of this test begin with.
    pub fn slug(&self) -> String {
        let own = self.name.rsplit("::").next().unwrap_or(self.name);
        own.replace('_', "-")
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn clusters(&self) -> Vec<Arc<Cluster>> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, cluster: &Arc<Cluster>) {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner).push(cluster.clone());
    }
}

/// Runs a test; called by the functions that the `suite!` macro makes.
pub fn run<F: Future<Output = ()>>(backend: Backend, name: &'static str, test: fn(Arc<Test>) -> F) {
    let dir = settings::run_dir().join(format!("{backend:?}-{name}").replace("::", "-").to_lowercase());
    std::fs::create_dir_all(&dir).expect("make the test's directory");
    let context = Arc::new(Test { backend, name, dir, clusters: Mutex::default() });

    let result = catch_unwind(AssertUnwindSafe(|| RUNTIME.block_on(test(context.clone()))));
    match result {
        Ok(()) => {
            let dir = context.dir.clone();
            drop(context);
            if !settings::keep() {
                let _ = std::fs::remove_dir_all(dir);
            }
        }
        Err(failure) => {
            RUNTIME.block_on(dump::dump(&context));
            resume_unwind(failure);
        }
    }
}
