//! A real registry on a free loopback port, what is pushed to it by Boathook's own commands, and what somebody with
//! access to its disk does there.
//! It never reads a manifest itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tokio::process::Command;

use crate::harness::{Process, boathook, hook_file, workspace};

const START: Duration = Duration::from_secs(60);

pub struct Registry {
    pub host: String,
    dir: PathBuf,
    _process: Process,
}

impl Registry {
    pub async fn start(dir: &Path) -> Self {
        let dir = dir.join("registry");
        std::fs::create_dir_all(&dir).expect("make the registry's directory");
        let config = json!({
            "version": "0.1", "log": {"level": "info"}, "http": {"addr": "127.0.0.1:0"},
            "storage": {"filesystem": {"rootdirectory": dir.join("data")}},
        });
        let file = dir.join("config.yml");
        std::fs::write(&file, config.to_string()).expect("write the registry's configuration");
        let mut command = std::process::Command::new(workspace().join("tools/docker-registry"));
        command.arg("serve").arg(&file).env("OTEL_TRACES_EXPORTER", "none");
        let process = Process::start("the registry", command, &dir.join("registry.log")).await;
        let host = process.logged(START, "the registry says where it listens", listen_of).await;
        Self { host, dir, _process: process }
    }

    pub fn repository(&self) -> String {
        format!("{}/team/hooks", self.host)
    }

    pub fn reference(&self, tag: &str) -> String {
        format!("{}:{tag}", self.repository())
    }

    /// Packs and pushes a directory of hooks, or of a module; gives the digest.
    pub async fn push(&self, hooks: &Path, tag: &str) -> String {
        let mut command = Command::new(boathook());
        let pinned = say(command.args(["bundle", "push", "--plain-http"]).arg(hooks).arg(self.reference(tag))).await;
        let digest = pinned.trim().rsplit_once('@').map(|(_, digest)| digest.to_owned());
        digest.unwrap_or_else(|| panic!("push prints the pinned reference: {pinned}"))
    }

    pub async fn sign(&self, tag: &str, key: &Path) {
        let mut command = Command::new(boathook());
        say(command.args(["bundle", "sign", "--plain-http"]).arg(self.reference(tag)).arg("--key").arg(key)).await;
    }

    /// Changes a blob on the registry's disk, which is as long as before: the registry does not notice.
    pub fn tamper(&self, content: &[u8]) {
        let mut found = 0;
        for file in files(&self.dir.join("data/docker/registry/v2/blobs")) {
            let mut bytes = std::fs::read(&file).expect("read a blob");
            if bytes == content {
                *bytes.last_mut().expect("it has bytes") ^= 1;
                std::fs::write(&file, bytes).expect("change a blob");
                found += 1;
            }
        }
        assert_eq!(found, 1, "the registry has the blob once");
    }
}

fn listen_of(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("listening on ")?;
    rest.split(['"', ' ', ',']).next().map(str::to_owned)
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// Runs a command that has to succeed; gives what it printed.
pub async fn say(command: &mut Command) -> String {
    let output = command.env_remove("KUBECONFIG").kill_on_drop(true).output().await.expect("start a command");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// A key pair, as the documentation makes it: the private key's file and the public key.
pub async fn key(dir: &Path, name: &str) -> (PathBuf, String) {
    let file = dir.join(format!("{name}.key"));
    let curve = "ec_paramgen_curve:P-256";
    say(Command::new("openssl").args(["genpkey", "-algorithm", "EC", "-pkeyopt", curve, "-out"]).arg(&file)).await;
    let public = say(Command::new("openssl").args(["pkey", "-pubout", "-in"]).arg(&file)).await;
    (file, public)
}

/// The hook `meddle`: it treats ConfigMaps that are labelled `meddle=true` as their `data.deed` says. Each mark gives
/// another digest, by a custom section at its end.
pub fn meddle(mark: &str) -> Vec<u8> {
    let mut bytes = std::fs::read(hook_file("test/meddle")).expect("read a guest");
    let content = [b"\x01v".as_slice(), mark.as_bytes()].concat();
    bytes.push(0);
    bytes.push(u8::try_from(content.len()).expect("a mark is short"));
    bytes.extend(content);
    bytes
}

/// A directory to push: hooks by name, and other files.
pub fn directory(dir: &Path, files: &[(&str, &[u8])]) -> PathBuf {
    for (name, bytes) in files {
        let file = dir.join(name);
        std::fs::create_dir_all(file.parent().unwrap_or(dir)).expect("make a directory");
        std::fs::write(file, bytes).expect("write a file");
    }
    dir.to_owned()
}
