//! `aws-service`: custom resources become buckets and queues of a server of that API, which is moto's.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Cluster, Gate, Operator, Process, Proxy, Test, eventually, hook_file, http, moto, workspace};
use crate::reconcile::{apply, apply_file, get, gone, has, told};

const HOOK: &str = "hooks-wasm/aws-service";
/// The same hook for a server on this machine.
const LOCAL: &str = "aws-local";
const START: Duration = Duration::from_secs(60);
const OWNER: &str = "boathook.dev/owner";

/// A cluster, the server, a proxy before it, and an operator that reaches the server only by the proxy.
struct Site {
    cluster: Arc<Cluster>,
    server: Server,
    proxy: Proxy,
    operator: Operator,
}

impl Site {
    async fn begin(test: &Test) -> Self {
        let cluster = test.own_cluster().await;
        apply_file(&cluster, &workspace().join(HOOK).join("crd.yaml")).await;
        let server = Server::start(test.dir()).await;
        let mut proxy = Proxy::to(server.address.clone());
        proxy.open();
        let operator = operator(test.dir(), &cluster, &proxy.address).await;
        operator.ready().await;
        Self { cluster, server, proxy, operator }
    }

    async fn ready(&self, kind: &str, name: &str, status: &str, reason: &str) -> String {
        ready(&self.cluster, kind, name, status, reason).await
    }
}

/// Waits until the object is ready for this reason, or is not synced for it. Returns the condition's message.
async fn ready(cluster: &Cluster, kind: &str, name: &str, status: &str, reason: &str) -> String {
    eventually(&format!("{kind} {name} is {status}/{reason}"), async || {
        let found = get(cluster, kind, name).await?;
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        // While it is deleted, `Ready` is the operator's.
        let type_ = if status == "True" { "Ready" } else { "Synced" };
        let found = conditions.iter().find(|one| one["type"] == type_);
        let fits = found.filter(|one| one["status"] == status && one["reason"] == reason);
        fits.map(|one| one["message"].as_str().unwrap_or_default().to_owned()).ok_or_else(|| json!(found).to_string())
    })
    .await
}

/// An operator whose hook sends its requests to this port, and has credentials for both services.
async fn operator(dir: &Path, cluster: &Cluster, proxy: &str) -> Operator {
    let port = proxy.rsplit(':').next().expect("an address has a port");
    let hooks = dir.join("hooks");
    fs::create_dir_all(&hooks).expect("make a directory of hooks");
    fs::write(hooks.join(format!("{LOCAL}.wasm")), hook_for(port)).expect("write a hook");
    let key = dir.join("key");
    fs::create_dir_all(&key).expect("make a directory");
    for (name, value) in [("accessKeyId", "AKIAEXAMPLE"), ("secretAccessKey", "secret")] {
        fs::write(key.join(name), value).expect("write a credential");
    }
    // A credential signs for one service, so each service has a name of its own.
    let hosts = [("s3", format!("localhost:{port}")), ("sqs", format!("127.0.0.1:{port}"))];
    let credential = |(service, host): &(&str, String)| {
        json!({
            "hooks": [LOCAL], "host": format!("http://{host}"), "directory": key,
            "awsSigV4": {"region": "eu-central-1", "service": service},
        })
    };
    let credentials = json!({
        "apiVersion": "boathook.dev/v1alpha1", "kind": "HttpCredentials",
        "credentials": hosts.iter().map(credential).collect::<Vec<_>>(),
    });
    let file = dir.join("credentials.yaml");
    fs::write(&file, credentials.to_string()).expect("write the credentials");
    let mut flags = vec!["--http-credentials".to_owned(), file.display().to_string()];
    for (_, host) in &hosts {
        flags.extend(["--http-private-host", host, "--http-insecure-host", host].map(str::to_owned));
    }
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    Operator::start_with(dir, &cluster.kubeconfig, &[], &flags).await
}

/// The guest, with this port instead of the one of its source, which has five digits, too.
fn hook_for(port: &str) -> Vec<u8> {
    const PORT: &[u8] = b":54321";
    let mut bytes = fs::read(hook_file(&format!("test/{LOCAL}"))).expect("read a guest");
    let new = format!(":{port}");
    assert_eq!(new.len(), PORT.len(), "a free port has five digits");
    let at: Vec<_> = (0..bytes.len() - PORT.len()).filter(|at| bytes[*at..].starts_with(PORT)).collect();
    assert!(!at.is_empty(), "the guest names the server");
    for at in at {
        bytes[at..at + PORT.len()].copy_from_slice(new.as_bytes());
    }
    bytes
}

/// moto's server. It keeps everything in memory.
struct Server {
    address: String,
    _process: Process,
}

impl Server {
    async fn start(dir: &Path) -> Self {
        let mut command: Command = Process::bound(&moto());
        command.args(["--host", "127.0.0.1", "--port", "0"]).env("PYTHONUNBUFFERED", "1").env("NO_COLOR", "1");
        let process = Process::start("moto's server", command, &dir.join("moto.log")).await;
        let listens = |line: &str| line.split("Running on http://").nth(1).map(|address| address.trim().to_owned());
        let address = process.logged(START, "moto's server says where it listens", listens).await;
        Self { address, _process: process }
    }

    /// What somebody else with an account there does. moto finds the service by the credential's scope.
    async fn s3(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let scope =
            "AWS4-HMAC-SHA256 Credential=other/20260101/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        let headers = [("Authorization", scope), ("Content-Type", "application/xml")];
        http::send(&self.address, method, path, &headers, body).await.expect("moto answers")
    }

    async fn sqs(&self, action: &str, body: Value) -> Value {
        let scope =
            "AWS4-HMAC-SHA256 Credential=other/20260101/eu-central-1/sqs/aws4_request, SignedHeaders=host, Signature=0";
        let target = format!("AmazonSQS.{action}");
        let headers =
            [("Authorization", scope), ("X-Amz-Target", &*target), ("Content-Type", "application/x-amz-json-1.0")];
        let (_, text) =
            http::send(&self.address, "POST", "/", &headers, &body.to_string()).await.expect("moto answers");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Waits until a bucket's answer to a query contains a text.
    async fn shows(&self, bucket_and_query: &str, part: &str) {
        eventually(&format!("{bucket_and_query} contains {part}"), async || {
            let (_, text) = self.s3("GET", &format!("/{bucket_and_query}"), "").await;
            if text.contains(part) { Ok(()) } else { Err(text) }
        })
        .await;
    }

    /// Waits until an attribute of a queue has this value.
    async fn has(&self, queue: &str, attribute: &str, value: &str) {
        let url = self.sqs("GetQueueUrl", json!({"QueueName": queue})).await["QueueUrl"].clone();
        eventually(&format!("{attribute} of {queue} is {value}"), async || {
            let found = self.sqs("GetQueueAttributes", json!({"QueueUrl": url, "AttributeNames": ["All"]})).await;
            if found["Attributes"][attribute] == value { Ok(()) } else { Err(found.to_string()) }
        })
        .await;
    }
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "default"});
    json!({"apiVersion": "example.com/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
}

const SUSPENDED: &str = "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";

pub async fn buckets_and_queues_are_created_put_right_and_deleted(test: Arc<Test>) {
    let site = Site::begin(&test).await;
    let (cluster, server) = (&site.cluster, &site.server);
    apply(&test, cluster, &object("Bucket", "logs", json!({"name": "team-logs", "versioning": true}))).await;
    let kept = json!({"name": "team-kept", "deletionPolicy": "Orphan"});
    apply(&test, cluster, &object("Bucket", "kept", kept)).await;
    let queue = json!({"name": "jobs", "visibilityTimeoutSeconds": 60});
    apply(&test, cluster, &object("Queue", "jobs", queue)).await;
    for (kind, name) in [("bucket", "logs"), ("bucket", "kept"), ("queue", "jobs")] {
        site.ready(kind, name, "True", "Available").await;
    }
    has(cluster, "bucket", "logs", "/status/arn", json!("arn:aws:s3:::team-logs")).await;
    let arn = get(cluster, "queue", "jobs").await.unwrap()["status"]["arn"].clone();
    assert!(arn.as_str().is_some_and(|arn| arn.ends_with(":jobs")), "{arn}");
    server.shows("team-logs?versioning", "<Status>Enabled</Status>").await;
    server.shows("team-logs?tagging", OWNER).await;
    server.has("jobs", "VisibilityTimeout", "60").await;

    // Somebody changes what is outside.
    assert_eq!(server.s3("PUT", "/team-logs?versioning", SUSPENDED).await.0, 200);
    let url = server.sqs("GetQueueUrl", json!({"QueueName": "jobs"})).await["QueueUrl"].clone();
    server.sqs("SetQueueAttributes", json!({"QueueUrl": url, "Attributes": {"VisibilityTimeout": "5"}})).await;
    server.shows("team-logs?versioning", "<Status>Enabled</Status>").await;
    server.has("jobs", "VisibilityTimeout", "60").await;
    // Somebody deletes it.
    assert_eq!(server.s3("DELETE", "/team-kept", "").await.0, 204);
    server.shows("team-kept?tagging", OWNER).await;
    // The custom resource changes.
    let patch = r#"{"spec":{"visibilityTimeoutSeconds":90}}"#;
    cluster.kubectl(&["patch", "queue", "jobs", "--type=merge", "--patch", patch]).await;
    server.has("jobs", "VisibilityTimeout", "90").await;
    let renamed = cluster
        .try_kubectl(&["patch", "bucket", "logs", "--type=merge", "--patch", r#"{"spec":{"name":"other-logs"}}"#])
        .await;
    assert!(renamed.as_ref().is_err_and(|error| error.contains("cannot be renamed")), "{renamed:?}");

    // A bucket with an object stays until the object is gone.
    assert_eq!(server.s3("PUT", "/team-logs/a", "text").await.0, 200);
    cluster.kubectl(&["delete", "bucket", "logs", "--wait=false"]).await;
    let message = site.ready("bucket", "logs", "False", "BucketNotEmpty").await;
    assert!(message.contains("deletionPolicy"), "{message}");
    let (_, versions) = server.s3("GET", "/team-logs?versions", "").await;
    for id in versions.split("<VersionId>").skip(1).filter_map(|rest| rest.split('<').next()) {
        assert_eq!(server.s3("DELETE", &format!("/team-logs/a?versionId={id}"), "").await.0, 204);
    }
    gone(cluster, "bucket", "logs").await;
    server.shows("team-logs?tagging", "NoSuchBucket").await;
    cluster.kubectl(&["delete", "queue", "jobs"]).await;
    assert!(server.sqs("GetQueueUrl", json!({"QueueName": "jobs"})).await["QueueUrl"].is_null());
    cluster.kubectl(&["delete", "bucket", "kept"]).await;
    let (status, tags) = server.s3("GET", "/team-kept?tagging", "").await;
    assert!(!tags.contains(OWNER) && !tags.contains("NoSuchBucket"), "{status}: {tags}");
    site.operator.stop().await;
}

/// The operator is killed after each request that changes something: after the creation of a bucket, which has no mark yet,
/// after its mark, after its versioning, and after its deletion, when the custom resource has its finalizer still.
pub async fn an_operator_that_is_killed_after_any_request_is_continued(test: Arc<Test>) {
    let cluster = test.own_cluster().await;
    apply_file(&cluster, &workspace().join(HOOK).join("crd.yaml")).await;
    let server = Server::start(test.dir()).await;
    let gate = Gate::to(&server.address).await;
    let mut running = operator(test.dir(), &cluster, &gate.address).await;
    running.ready().await;
    let shut = async |what: &str| {
        let shut = async || if gate.is_shut() { Ok(()) } else { Err("it has not sent so much yet") };
        eventually(what, shut).await;
    };
    for (sent, query) in ["", "?tagging", "?versioning"].into_iter().enumerate() {
        let name = format!("bucket-{sent}");
        gate.passes(sent + 1);
        apply(&test, &cluster, &object("Bucket", &name, json!({"name": name, "versioning": true}))).await;
        shut(&format!("PUT /{name}{query}")).await;
        running.kill().await;
        gate.opens();
        running = operator(test.dir(), &cluster, &gate.address).await;
        ready(&cluster, "bucket", &name, "True", "Available").await;
        server.shows(&format!("{name}?tagging"), &format!("default/{name}")).await;
        server.shows(&format!("{name}?versioning"), "<Status>Enabled</Status>").await;
        let passed = gate.passed();
        let puts: Vec<_> = passed.iter().map(|write| (write.method.as_str(), &*write.path, write.status)).collect();
        let urls = [format!("/{name}"), format!("/{name}?tagging"), format!("/{name}?versioning")];
        let expected: Vec<_> = urls.iter().zip([200, 204, 200]).map(|(url, status)| ("PUT", &**url, status)).collect();
        assert_eq!(puts, expected, "each once, with a kill after {sent} others");
    }
    gate.passes(1);
    cluster.kubectl(&["delete", "bucket", "bucket-0", "--wait=false"]).await;
    shut("DELETE /bucket-0").await;
    server.shows("bucket-0?tagging", "NoSuchBucket").await;
    running.kill().await;
    get(&cluster, "bucket", "bucket-0").await.expect("its finalizer keeps it");
    gate.opens();
    running = operator(test.dir(), &cluster, &gate.address).await;
    gone(&cluster, "bucket", "bucket-0").await;
    let passed: Vec<_> = gate.passed().into_iter().map(|write| (write.path, write.status)).collect();
    assert_eq!(passed, [("/bucket-0".to_owned(), 204)], "it is deleted once");
    running.stop().await;
}

pub async fn two_objects_claim_one_bucket(test: Arc<Test>) {
    let site = Site::begin(&test).await;
    let (cluster, server) = (&site.cluster, &site.server);
    apply(&test, cluster, &object("Bucket", "first", json!({"name": "shared"}))).await;
    site.ready("bucket", "first", "True", "Available").await;
    let second = json!({"name": "shared", "versioning": true, "adopt": true});
    apply(&test, cluster, &object("Bucket", "second", second)).await;
    let message = site.ready("bucket", "second", "False", "OwnedByAnother").await;
    assert!(message.contains("default/first"), "{message}");
    let (_, versioning) = server.s3("GET", "/shared?versioning", "").await;
    assert!(!versioning.contains("Enabled"), "it is not the second one's: {versioning}");
    // The one that was refused deletes nothing.
    cluster.kubectl(&["delete", "bucket", "second"]).await;
    server.shows("shared?tagging", OWNER).await;

    // Somebody's bucket is nobody's before it is adopted.
    let body =
        "<CreateBucketConfiguration><LocationConstraint>eu-central-1</LocationConstraint></CreateBucketConfiguration>";
    assert_eq!(server.s3("PUT", "/theirs", body).await.0, 200);
    apply(&test, cluster, &object("Bucket", "third", json!({"name": "theirs"}))).await;
    let message = site.ready("bucket", "third", "False", "Exists").await;
    assert!(message.contains("spec.adopt"), "{message}");
    cluster.kubectl(&["patch", "bucket", "third", "--type=merge", "--patch", r#"{"spec":{"adopt":true}}"#]).await;
    site.ready("bucket", "third", "True", "Available").await;
    server.shows("theirs?tagging", "default/third").await;
    site.operator.stop().await;
}

pub async fn the_api_goes_away_and_comes_back(test: Arc<Test>) {
    let mut site = Site::begin(&test).await;
    apply(&test, &site.cluster, &object("Bucket", "logs", json!({"name": "logs", "versioning": true}))).await;
    apply(&test, &site.cluster, &object("Bucket", "old", json!({"name": "old-logs"}))).await;
    for name in ["logs", "old"] {
        site.ready("bucket", name, "True", "Available").await;
    }
    site.proxy.cut();
    assert_eq!(site.server.s3("PUT", "/logs?versioning", SUSPENDED).await.0, 200);
    site.ready("bucket", "logs", "False", "Unreachable").await;
    let found = get(&site.cluster, "bucket", "logs").await.unwrap();
    assert_eq!(found["status"]["arn"], "arn:aws:s3:::logs", "what is known stays");
    // What cannot be deleted outside is not gone here, and an operator that starts now knows as much.
    site.cluster.kubectl(&["delete", "bucket", "old", "--wait=false"]).await;
    site.ready("bucket", "old", "False", "Unreachable").await;
    site.operator.stop().await;
    let operator = operator(test.dir(), &site.cluster, &site.proxy.address).await;
    apply(&test, &site.cluster, &object("Bucket", "new", json!({"name": "new-logs"}))).await;
    let told = told(&site.cluster, "bucket", "new", "Ready", "False").await;
    assert!(told.contains("new-logs"), "{told}");
    site.proxy.open();
    for name in ["logs", "new"] {
        ready(&site.cluster, "bucket", name, "True", "Available").await;
    }
    site.server.shows("logs?versioning", "<Status>Enabled</Status>").await;
    gone(&site.cluster, "bucket", "old").await;
    site.server.shows("old-logs?tagging", "NoSuchBucket").await;
    operator.stop().await;
}
