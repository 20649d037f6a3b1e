//! `boathook serve`: started as a user starts it, seen through its HTTP endpoints and its log.
//! It never reaches into the process otherwise.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::process::Process;
use super::wait::{SOON, eventually, eventually_within};
use super::{http, settings};

/// The first start compiles the hooks, on a machine where other tests do so too.
const READY: Duration = Duration::from_secs(180);
/// The operator's own grace period is bounded by 30 s.
const STOP: Duration = Duration::from_secs(35);

pub struct Operator {
    /// Where it answers health checks: `127.0.0.1:PORT`.
    listen: String,
    process: Process,
}

impl Operator {
    /// Starts it with the named hooks and waits until it listens, not until it is ready. `NAME=HOOK` runs
    /// a hook under another name.
    /// `dir` gets its log, and the directory of hooks if there is none yet.
    pub async fn start(dir: &Path, kubeconfig: &Path, hooks: &[&str]) -> Self {
        Self::start_with(dir, kubeconfig, hooks, &[]).await
    }

    /// [`Operator::start`] with more flags.
    pub async fn start_with(dir: &Path, kubeconfig: &Path, hooks: &[&str], flags: &[&str]) -> Self {
        let mut command = Process::bound(&settings::boathook());
        command
            .arg("serve")
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .arg("--hooks")
            .arg(hooks_dir(dir, hooks))
            .args(["--listen", "127.0.0.1:0", "--log-format", "json"])
            .args(flags)
            // Many run at the same time.
            .env("BOATHOOK_ADMIN_SOCKET", "none")
            // Compiled hooks are shared with other runs, and never with the user's own.
            .env("BOATHOOK_CACHE_DIR", settings::compiled_hooks())
            .env("XDG_CACHE_HOME", settings::run_dir().join("cache"));
        let log = (1..)
            .map(|n| dir.join(format!("operator-{n}.log")))
            .find(|path| !path.exists())
            .expect("there is always another number");
        let process = Process::start("the operator", command, &log).await;
        let listen = process.logged(SOON, "the operator logs where it listens", listen_of).await;
        Self { listen, process }
    }

    /// Waits until every hook has synchronised.
    pub async fn ready(&self) {
        self.ready_within(READY).await;
    }

    /// [`Operator::ready`], for hooks whose interpreter is compiled first.
    pub async fn ready_within(&self, time: Duration) {
        eventually_within(time, "/readyz answers 200", async || {
            if let Some(status) = self.process.status() {
                panic!("the operator ended with {status} before it was ready");
            }
            match self.get("/readyz").await? {
                (200, _) => Ok(()),
                (code, body) => Err(format!("/readyz answers {code}: {body}")),
            }
        })
        .await;
    }

    /// Status code and body of one of its endpoints.
    pub async fn get(&self, path: &str) -> Result<(u16, String), String> {
        http::get(&self.listen, path).await
    }

    pub fn is_running(&self) -> bool {
        self.process.status().is_none()
    }

    /// Stops it as Kubernetes would, and expects the clean end that it promises.
    pub async fn stop(self) {
        let status = self.terminate().await;
        assert_eq!(status.code(), Some(0), "exit code after SIGTERM ({status})");
    }

    /// Stops it as Kubernetes would and tells how it ended.
    pub async fn terminate(&self) -> ExitStatus {
        self.process.signal(Signal::TERM);
        self.process.ended(STOP).await
    }

    /// Kills it in the middle of whatever it does.
    pub async fn kill(self) {
        self.process.signal(Signal::KILL);
        self.process.ended(SOON).await;
    }

    /// [`Operator::kill`], and its log.
    pub async fn killed(self) -> Vec<Value> {
        self.process.signal(Signal::KILL);
        self.process.ended(SOON).await;
        self.log()
    }

    /// It stands still, as on a machine without any time for it, until [`Operator::thaw`].
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Waits until it ends by itself.
    pub async fn ended(&self) -> ExitStatus {
        self.process.ended(STOP).await
    }

    /// Its log up to now: the lines that are JSON objects.
    pub fn log(&self) -> Vec<Value> {
        self.process.log().lines().filter_map(parse).collect()
    }

    /// Waits for a line of its log.
    pub async fn logs(&self, what: &str, find: impl Fn(&Value) -> bool) -> Value {
        eventually(&format!("the operator logs {what}"), async || {
            self.log().into_iter().find(&find).ok_or("no such line yet")
        })
        .await
    }
}

fn listen_of(line: &str) -> Option<String> {
    Some(parse(line)?.get("listen")?.as_str()?.to_owned())
}

fn parse(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}

/// A directory with just these hooks. A restarted operator finds the one of its predecessor.
fn hooks_dir(dir: &Path, hooks: &[&str]) -> PathBuf {
    let hooks_dir = dir.join("hooks");
    std::fs::create_dir_all(&hooks_dir).expect("make a directory of hooks");
    for hook in hooks {
        let own = hook.rsplit('/').next().unwrap_or(hook);
        let (name, hook) = hook.split_once('=').unwrap_or((own, hook));
        std::fs::copy(settings::hook(hook), hooks_dir.join(format!("{name}.wasm"))).expect("copy a hook");
    }
    hooks_dir
}
