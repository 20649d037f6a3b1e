//! kubectl, as a user types it.
//! It never reads the user's own configuration.

use std::process::Stdio;

use tokio::process::Command;

use super::cluster::Cluster;
use super::settings;

impl Cluster {
    /// Runs kubectl and returns what it printed; fails when kubectl does.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        match self.try_kubectl(arguments).await {
            Ok(printed) => printed,
            Err(complaint) => panic!("kubectl {}: {complaint}", arguments.join(" ")),
        }
    }

    /// Runs kubectl and returns what it printed, or what it complained of.
    pub async fn try_kubectl(&self, arguments: &[&str]) -> Result<String, String> {
        let program = settings::kubectl();
        let output = Command::new(&program)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(settings::run_dir().join("kubectl-cache"))
            .arg("--request-timeout=20s")
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap_or_else(|error| {
                panic!("start {}: {error}; install kubectl or set BOATHOOK_KUBECTL", program.display())
            });
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
        }
    }
}
