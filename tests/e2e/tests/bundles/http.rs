//! HTTP requests of the hooks of a HookBundle: a server with TLS, which the owner of the namespace grants and the admin
//! opens.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;

use super::registry::{directory, say};
use super::{Site, TEAM, grant, text};
use crate::harness::{Operator, Process, Test, hook_file};

const START: Duration = Duration::from_secs(60);

/// What the server has at `/v1/page`.
const PAGE: &str = "a page of the server";

/// The extensions of a certificate that is not an authority's.
const CERTIFICATE: &str = "[req]\ndistinguished_name = name\nx509_extensions = own\nprompt = no\n[name]\nCN = localhost\n\
    [own]\nsubjectAltName = DNS:localhost\nbasicConstraints = critical, CA:FALSE\n";

/// openssl's own server, which has the files of a directory.
struct Server {
    host: String,
    certificate: PathBuf,
    process: Process,
}

impl Server {
    async fn start(dir: &Path) -> Self {
        let dir = dir.join("server");
        std::fs::create_dir_all(dir.join("v1")).expect("make the server's directory");
        for (name, content) in [("v1/page", PAGE), ("page", PAGE), ("openssl.cnf", CERTIFICATE)] {
            std::fs::write(dir.join(name), content).expect("write a file");
        }
        let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -config openssl.cnf \
            -keyout key.pem -out certificate.pem";
        say(Command::new("openssl").args(make.split_whitespace()).current_dir(&dir)).await;
        let mut command = std::process::Command::new("openssl");
        let serve = "s_server -accept 127.0.0.1:0 -key key.pem -cert certificate.pem -WWW";
        command.args(serve.split_whitespace()).current_dir(&dir);
        let process = Process::start("the server", command, &dir.join("server.log")).await;
        let port = |line: &str| line.strip_prefix("ACCEPT 127.0.0.1:").map(|port| port.trim().to_owned());
        let port = process.logged(START, "the server says where it listens", port).await;
        Self { host: format!("localhost:{port}"), certificate: dir.join("certificate.pem"), process }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.host)
    }

    /// The files that were asked for.
    fn seen(&self) -> Vec<String> {
        self.process.log().lines().filter_map(|line| line.strip_prefix("FILE:")).map(str::to_owned).collect()
    }

    /// The guest `fetch`, whose permissions are for this server. Its document has a port of five digits.
    fn hook(&self) -> Vec<u8> {
        let mut bytes = std::fs::read(hook_file("test/fetch")).expect("read a guest");
        let (old, new) = (b"localhost:54321".as_slice(), self.host.as_bytes());
        assert_eq!(old.len(), new.len(), "a free port has five digits");
        let at: Vec<_> = (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
        assert!(!at.is_empty(), "the guest names the server of its permissions");
        for at in at {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
        bytes
    }
}

// mutant: crates/egress/src/client.rs: `check_target(&caller.hook, &caller.permissions, &target)?;` => ``
// mutant: crates/egress/src/reach.rs: `Reach::Public(allowed) if !allowed.is_private(url) => allowed,` => `Reach::Public(allowed) if false => allowed,`
pub async fn requests_leave_if_they_are_granted_and_opened(test: Arc<Test>) {
    let site = Site::installed(&test).await;
    let server = Server::start(test.dir()).await;
    let hooks = directory(&test.dir().join("v1"), &[("fetch.wasm", &server.hook())]);
    let digest = site.registry.push(&hooks, "v1").await;
    let trusts = ["--http-ca", text(&server.certificate)];
    let operator = site.operator_with(&[trusts.as_slice(), &["--http-private-host", &server.host]].concat()).await;

    // The hook waits for the grant, and the status says for which.
    site.bundle("v1", json!({})).await;
    let message = site.condition("Granted=False/MissingGrants").await;
    assert!(message.contains(&server.host), "{message}");
    let hosts = json!([server.host, "http://127.0.0.1:54321"]);
    let http = json!({"http": {"hosts": hosts, "methods": ["GET", "POST"], "paths": ["/v1/*"]}});
    site.change(json!({"grants": [grant("configmaps", &["*"]), http]})).await;
    site.runs(&digest).await;
    synchronized(&operator).await;

    let line = fetched(&site, &operator, "granted", &server.url("/v1/page")).await;
    assert_eq!((&line["status"], line["body"].as_str()), (&json!(200), Some(PAGE)), "{line}");
    let audit = operator.logs("the request", |line| line["message"] == "audit" && line["verb"] == "http").await;
    assert_eq!((audit["url"].as_str(), &audit["outcome"]), (Some(server.url("/v1/page").as_str()), &json!("ok")));
    for (name, url) in [
        ("path", server.url("/page")),
        ("dots", server.url("/v1/../page")),
        ("metadata", "https://169.254.169.254/v1/".to_owned()),
        ("insecure", "http://127.0.0.1:54321/v1/".to_owned()),
    ] {
        let line = fetched(&site, &operator, name, &url).await;
        assert_eq!(line["kind"], "Denied", "{line}");
    }
    operator.stop().await;

    // The owner of the namespace grants the request, but the admin does not open the host.
    let operator = site.operator_with(&trusts).await;
    site.runs(&digest).await;
    synchronized(&operator).await;
    let line = fetched(&site, &operator, "closed", &server.url("/v1/page")).await;
    assert_eq!(line["kind"], "Address", "{line}");
    assert_eq!(server.seen(), ["v1/page"]);
    operator.stop().await;
}

/// The hook sends requests for changes only, and what it finds when it starts is none. A status that was written by an
/// earlier operator does not say that this one has started the hook.
async fn synchronized(operator: &Operator) {
    operator.logs("the synchronization", |line| line["message"] == "run succeeded").await;
}

/// Has the hook send a request; gives what it logs about it.
async fn fetched(site: &Site, operator: &Operator, name: &str, url: &str) -> Value {
    let metadata = json!({"name": name, "namespace": TEAM, "labels": {"fetch": "true"}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"url": url}});
    site.try_apply(&map).await.expect("make a ConfigMap");
    let own = |line: &Value| line["message"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let about = |line: &Value| own(line).is_some_and(|said| said["fetch"] == name);
    let line = operator.logs(&format!("the request {name}"), about).await;
    own(&line).expect("it was found by this")
}
