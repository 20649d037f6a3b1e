//! The real binary under siege: it answers other clients in the meantime, and its memory stays within a bound.
//!
//! The clients send several times what the binary may keep. Bounds are of memory, never of time.

use std::{fs, time::Duration};

use futures::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::client::TlsStream;

use super::{
    client::Client,
    frames,
    stage::{Authority, review},
};
use crate::support::{
    PATIENCE,
    cluster::TestCluster,
    guests::{cache_dir, guest, hooks_dir},
    process::{Process, boathook},
    until,
};

/// What the process may grow by: all bodies under way have 64 MiB, and each connection its buffers.
const MOST: u64 = 320 << 20;

/// A `boathook serve` whose hook allows everything.
struct Siege {
    process: Process,
    client: Client,
    /// As the API server has it.
    path: String,
    /// Resident before the siege, in bytes.
    before: u64,
    _cluster: TestCluster,
    _directories: [TempDir; 2],
}

impl Siege {
    async fn begin() -> Self {
        let cluster = TestCluster::start().await;
        let (files, hooks) = (tempfile::tempdir().unwrap(), hooks_dir(&[("allow", guest("allow"))]).await);
        let kubeconfig = files.path().join("kubeconfig");
        fs::write(&kubeconfig, cluster.cluster.kubeconfig()).unwrap();
        let authority = Authority::new();
        authority.serve_from(files.path());
        let mut command = boathook(["serve", "--listen=127.0.0.1:0", "--log-format=json"]);
        command.arg("--kubeconfig").arg(kubeconfig).arg("--hooks").arg(hooks.path());
        command.arg("--cache-dir").arg(cache_dir()).arg("--webhook-certs").arg(files.path());
        // Registered at a port where nobody is: all questions are the test's.
        command.args(["--webhook-listen=127.0.0.1:0", "--webhook-url=https://127.0.0.1:9"]);
        let mut process = Process::start(command);
        let served = |line: &str| {
            let line: Value = serde_json::from_str(line).ok()?;
            (line["message"] == "webhooks served").then(|| line["listen"].as_str().unwrap().to_owned())
        };
        let address = process.logged("webhooks are served", served).await.unwrap();
        let client = Client::new(address.parse().unwrap(), &authority.pem, None);
        let path = registered(&cluster).await;
        let mut siege = Self { process, client, path, before: 0, _cluster: cluster, _directories: [files, hooks] };
        assert_eq!(siege.ask(&large_review()).await, Some(200));
        siege.before = siege.memory("VmRSS:");
        siege
    }

    /// The status of an answer, if there is one.
    async fn ask(&self, review: &Value) -> Option<u16> {
        let body = review.to_string().into_bytes();
        let answer = self.client.http1().await.ok()?.post(&format!("{}?timeout=30s", self.path), body).await.ok()?;
        Some(answer.status.as_u16())
    }

    /// A client that is not one of the hostile ones gets an answer.
    async fn answers_others(&self) {
        until("another client is answered", async || (self.ask(&small_review()).await == Some(200)).then_some(()))
            .await;
    }

    fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// The end: the process is as it was, but for memory that it may keep.
    async fn survived(self) {
        self.answers_others().await;
        let grown = self.memory("VmHWM:").saturating_sub(self.before);
        assert!(grown < MOST, "it grew by {} MiB over {} MiB", grown >> 20, self.before >> 20);
    }

    /// So many connections at once, with what each of them says.
    async fn streams(&self, count: usize, bytes: impl Fn(usize) -> Vec<u8>) -> Vec<TlsStream<TcpStream>> {
        let open = async |bytes: Vec<u8>| {
            // Who is cut off has done what he could.
            let mut stream = self.client.tls().await.ok()?;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.flush().await;
            Some(stream)
        };
        join_all((0..count).map(|number| open(bytes(number)))).await.into_iter().flatten().collect()
    }
}

/// The path of the hook's webhook.
async fn registered(cluster: &TestCluster) -> String {
    let metadata = json!({"name": "boathook-allow"});
    let kind = "ValidatingWebhookConfiguration";
    let object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata});
    let found = until("the hook is registered", async || cluster.admin.get(&object).await.unwrap()).await;
    let url = found["webhooks"][0]["clientConfig"]["url"].as_str().unwrap();
    url.strip_prefix("https://127.0.0.1:9").unwrap().to_owned()
}

/// A review as a hook has to have it.
fn small_review() -> Value {
    let mut small = review("u");
    let request = &mut small["request"];
    request["kind"] = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    request["resource"] = json!({"group": "", "version": "v1", "resource": "configmaps"});
    (request["name"], request["namespace"]) = (json!("c"), json!("default"));
    request["userInfo"] = json!({"username": "jane"});
    small
}

/// 3 MiB, the most that the API server takes of one object.
fn large_review() -> Value {
    let mut large = small_review();
    large["request"]["object"]["data"]["large"] = json!("x".repeat(3 << 20));
    large
}

fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path}?timeout=30s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    )
}

#[tokio::test]
async fn bodies_without_an_end_and_large_reviews_take_no_more_than_their_bound() {
    const LENGTH: usize = 7 << 20;
    let siege = Siege::begin().await;
    let all_but_one = [head(&siege.path, LENGTH).into_bytes(), vec![b' '; LENGTH - 1]].concat();
    let held = siege.streams(60, |_| all_but_one.clone()).await;
    siege.answers_others().await;
    let large = large_review();
    // A client whose review is put off sends it again, as the API server would.
    let answered = async || (siege.ask(&large).await == Some(200)).then_some(());
    join_all((0..8).map(|_| until("a large review is answered", &answered))).await;
    drop(held);
    siege.survived().await;
}

#[tokio::test]
async fn more_connections_than_there_are_places_leave_one_to_others() {
    let siege = Siege::begin().await;
    // More than its 1024 places, half with a body that goes on for ever.
    let held = siege.streams(1100, |number| match number % 2 {
        0 => Vec::new(),
        _ => format!("{}{{", head(&siege.path, 100)).into_bytes(),
    });
    let held = held.await;
    siege.answers_others().await;
    let noise = async |byte: u8| {
        let mut stream = TcpStream::connect(siege.client.address()).await.unwrap();
        let _ = stream.write_all(&[&[0x16, 3, 1, byte, byte][..], &vec![byte; 20_000]].concat()).await;
        stream
    };
    let noise = join_all((0..200).map(noise)).await;
    siege.answers_others().await;
    drop((held, noise));
    siege.survived().await;
}

/// Of one connection each: streams that are opened and taken back, opened and left, heads without an end,
/// pings and settings that nobody reads the answers of.
#[tokio::test]
async fn floods_of_http2_frames_harm_their_connection_alone() {
    let siege = Siege::begin().await;
    let head = frames::head(&siege.path);
    let streams = || (0..20_000).map(|number| 2 * number + 1);
    let taken_back: Vec<u8> =
        streams().flat_map(|id| [frames::headers(id, &head), frames::reset(id)].concat()).collect();
    let left: Vec<u8> =
        streams().take(2_000).flat_map(|id| [frames::headers(id, &head), frames::data(id)].concat()).collect();
    let endless: Vec<u8> = [frames::open_headers(1, &head)]
        .into_iter()
        .chain((0..2_000).map(|_| frames::continuation(1)))
        .flatten()
        .collect();
    let pings: Vec<u8> = (0..200_000).flat_map(|_| frames::ping()).collect();
    let settings: Vec<u8> = (0..200_000).flat_map(|_| frames::settings()).collect();
    for flood in [taken_back, left, endless.clone(), pings, settings] {
        let mut stream = siege.client.tls().await.unwrap();
        let sent = async {
            stream.write_all(&frames::preface()).await?;
            stream.write_all(&flood).await
        };
        // A server that takes nothing more has cut the flood off, too.
        let _ = timeout(Duration::from_secs(2), sent).await;
        siege.answers_others().await;
        drop(stream);
    }
    assert!(is_closed_over(&siege.client, &endless).await, "a head without an end was read on and on");
    siege.survived().await;
}

async fn is_closed_over(client: &Client, flood: &[u8]) -> bool {
    let (mut reading, mut writing) = tokio::io::split(client.tls().await.unwrap());
    let talk = async {
        let write = async {
            writing.write_all(&frames::preface()).await?;
            writing.write_all(flood).await
        };
        let mut heard = Vec::new();
        let (_, _) = tokio::join!(write, reading.read_to_end(&mut heard));
    };
    timeout(PATIENCE, talk).await.is_ok()
}
