//! kubectl, as a user types it.
//! It never reads the user's own configuration.

use std::process::Stdio;

use tokio::process::Command;

use super::cluster::Cluster;
use super::settings;

/// What kubectl said: its end, and both of its outputs.
#[derive(Debug)]
pub struct Said {
    pub ok: bool,
    pub out: String,
    /// Warnings and complaints.
    pub err: String,
}

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
        let Said { ok, out, err } = self.kubectl_says(arguments).await;
        if ok { Ok(out) } else { Err(err) }
    }

    /// Runs kubectl and returns all that it said.
    pub async fn kubectl_says(&self, arguments: &[&str]) -> Said {
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
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr).trim().to_owned() }
    }
}
