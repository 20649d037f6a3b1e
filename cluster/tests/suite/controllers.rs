//! Controllers: Deployments that roll out, Jobs that complete, what namespaces come with.

use boathook_cluster::{Controller, Options};
use serde_json::{Value, json};

use super::support::{Fixture, soon, start_with};
use super::webhooks::webhook;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn cluster() -> Fixture {
    start_with(Options::default().controllers(Controller::ALL)).await
}

/// Asks until an object is as it should be.
async fn until(fixture: &Fixture, path: &str, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let look = async {
        loop {
            let (_, object) = fixture.get(path).await;
            if fits(&object) {
                return object;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(what, look).await
}

fn deployment(replicas: usize, image: &str) -> Value {
    json!({
        "metadata": { "name": "d" },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": "d" } },
            "strategy": { "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": {
                "metadata": { "labels": { "app": "d" } }, "spec": { "containers": [{ "name": "c", "image": image }] },
            },
        },
    })
}

fn is_done(deployment: &Value, replicas: usize) -> bool {
    let status = &deployment["status"];
    let counts = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
    status["observedGeneration"] == deployment["metadata"]["generation"]
        && counts.iter().all(|key| status[key].as_u64().unwrap_or_default() == replicas as u64)
}

#[tokio::test]
async fn a_deployment_rolls_out_scales_and_goes_back() {
    let f = cluster().await;
    let path = format!("{DEPLOYMENTS}/d");
    assert_eq!(f.post(DEPLOYMENTS, deployment(3, "i:1")).await.0, 201);
    let first = until(&f, &path, "the first rollout", |d| is_done(d, 3)).await;
    assert_eq!(first["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let progress = first["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Progressing");
    assert_eq!(progress.unwrap()["reason"], "NewReplicaSetAvailable");

    f.patch(
        &path,
        "merge",
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "i:2" }] } } } }),
    )
    .await;
    let second = until(&f, &path, "the second rollout", |d| is_done(d, 3) && d["metadata"]["generation"] == 2).await;
    assert_eq!(second["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "2");
    let pods = until(&f, PODS, "the old pods to go", |p| p["items"].as_array().is_some_and(|i| i.len() == 3)).await;
    assert!(pods["items"].as_array().unwrap().iter().all(|p| p["spec"]["containers"][0]["image"] == "i:2"));
    let (_, sets) = f.get(SETS).await;
    let sizes: Vec<u64> =
        sets["items"].as_array().unwrap().iter().map(|s| s["spec"]["replicas"].as_u64().unwrap()).collect();
    assert_eq!((sizes.iter().sum::<u64>(), sizes.len()), (3, 2));

    f.patch(&format!("{path}/scale"), "merge", json!({ "spec": { "replicas": 5 } })).await;
    until(&f, &path, "five replicas", |d| is_done(d, 5)).await;
    f.patch(
        &path,
        "merge",
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "c", "image": "i:1" }] } } } }),
    )
    .await;
    let back = until(&f, &path, "the way back", |d| is_done(d, 5) && d["metadata"]["generation"] == 4).await;
    assert_eq!(back["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "3");
    assert_eq!(f.get(SETS).await.1["items"].as_array().unwrap().len(), 2);

    f.delete(&path).await;
    until(&f, PODS, "all pods to go", |p| p["items"].as_array().is_some_and(Vec::is_empty)).await;
}

#[tokio::test]
async fn a_deleted_pod_is_made_again() {
    let f = cluster().await;
    f.post(DEPLOYMENTS, deployment(1, "i")).await;
    let pods = until(&f, PODS, "a pod", |p| p["items"][0]["status"]["phase"] == "Running").await;
    let name = pods["items"][0]["metadata"]["name"].as_str().unwrap().to_owned();
    f.delete(&format!("{PODS}/{name}")).await;
    let other = |p: &Value| p["items"][0]["metadata"]["name"].as_str().is_some_and(|n| n != name);
    until(&f, PODS, "another pod", other).await;
}

#[tokio::test]
async fn a_job_completes() {
    let f = cluster().await;
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let template = json!({ "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] } });
    let spec = json!({ "completions": 3, "parallelism": 2, "template": template });
    assert_eq!(f.post(jobs, json!({ "metadata": { "name": "j" }, "spec": spec })).await.0, 201);
    let job =
        until(&f, &format!("{jobs}/j"), "the end of the job", |j| j["status"]["completionTime"].is_string()).await;
    assert_eq!(job["status"]["succeeded"], 3);
    assert_eq!(job["status"]["conditions"][1]["type"], "Complete");
    assert_eq!(f.get(PODS).await.1["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn namespaces_come_with_what_they_need() {
    let f = cluster().await;
    f.post("/api/v1/namespaces", json!({ "metadata": { "name": "a" } })).await;
    let accounts = "/api/v1/namespaces/a/serviceaccounts/default";
    let account = until(&f, accounts, "the service account", |a| a["metadata"]["uid"].is_string()).await;
    f.delete(accounts).await;
    let again = |a: &Value| a["metadata"]["uid"].is_string() && a["metadata"]["uid"] != account["metadata"]["uid"];
    until(&f, accounts, "another service account", again).await;
    let map = "/api/v1/namespaces/a/configmaps/kube-root-ca.crt";
    let root = until(&f, map, "the certificate", |m| m["data"].is_object()).await;
    assert_eq!(root["data"]["ca.crt"], f.cluster.certificate());
    until(&f, "/api/v1/namespaces/default/services/kubernetes", "the service", |s| s["spec"]["clusterIP"].is_string())
        .await;
    f.delete("/api/v1/namespaces/a").await;
    until(&f, "/api/v1/namespaces/a", "the end of the namespace", |n| n["code"] == 404).await;
}

#[tokio::test]
async fn nothing_happens_unasked() {
    let f = start_with(Options::default().controllers([Controller::Pods])).await;
    f.post(DEPLOYMENTS, deployment(1, "i")).await;
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    f.post(PODS, pod).await;
    until(&f, &format!("{PODS}/p"), "the pod to run", |p| p["status"]["phase"] == "Running").await;
    assert!(f.get(SETS).await.1["items"].as_array().unwrap().is_empty());
    assert!(f.get("/api/v1/serviceaccounts").await.1["items"].as_array().unwrap().is_empty());
}

/// Who is asked about by whom, and what is made of it.
async fn reviewed(f: &Fixture, resources: &[&str], answer: fn(&Value) -> Value) {
    let (address, bundle) = webhook("127.0.0.1", answer).await;
    let hook = json!({
        "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": { "url": format!("https://{address}/"), "caBundle": bundle },
        "rules": [{ "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": resources }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let (code, body) = f.post(path, json!({ "metadata": { "name": "c" }, "webhooks": [hook] })).await;
    assert_eq!(code, 201, "{body}");
}

fn failure(object: &Value) -> Option<Value> {
    object["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == "ReplicaFailure").cloned()
}

#[tokio::test]
async fn a_pod_that_a_webhook_denies_is_tried_again_and_its_owners_say_why() {
    let f = cluster().await;
    let deny = |review: &Value| {
        let (user, image) = (&review["request"]["userInfo"]["username"], &review["request"]["object"]["spec"]);
        let by_controller = user == "system:serviceaccount:kube-system:replicaset-controller";
        let good = image["containers"][0]["image"] == "good";
        json!({ "allowed": good, "status": { "message": if by_controller { "not this image" } else { "who?" } } })
    };
    reviewed(&f, &["pods"], deny).await;
    assert_eq!(f.post(DEPLOYMENTS, deployment(2, "bad")).await.0, 201);
    let path = format!("{DEPLOYMENTS}/d");
    let message = "admission webhook \"a.example.com\" denied the request: not this image";
    let stuck = until(&f, &path, "the deployment to say why", |d| failure(d).is_some()).await;
    let condition = failure(&stuck).unwrap();
    assert_eq!((&condition["reason"], &condition["message"]), (&json!("FailedCreate"), &json!(message)));
    let (_, sets) = f.get(SETS).await;
    assert_eq!(failure(&sets["items"][0]).unwrap()["message"], message);
    let again = |events: &Value| {
        let about = events["items"].as_array().into_iter().flatten().find(|e| e["reason"] == "FailedCreate");
        about.is_some_and(|e| {
            e["message"] == format!("Error creating: {message}")
                && e["involvedObject"]["kind"] == "ReplicaSet"
                && e["count"].as_u64() >= Some(2)
        })
    };
    until(&f, "/api/v1/namespaces/default/events", "a new try", again).await;

    f.delete("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/c").await;
    let done = until(&f, &path, "the rollout", |d| is_done(d, 2) && failure(d).is_none()).await;
    assert_eq!(failure(&done), None);
}

#[tokio::test]
async fn a_replica_set_that_a_webhook_denies_stops_the_rollout() {
    let f = cluster().await;
    let deny = |_: &Value| json!({ "allowed": false, "status": { "message": "no sets" } });
    reviewed(&f, &["replicasets"], deny).await;
    assert_eq!(f.post(DEPLOYMENTS, deployment(1, "i")).await.0, 201);
    let refused = |d: &Value| {
        let mut conditions = d["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .any(|c| c["type"] == "Progressing" && c["reason"] == "ReplicaSetCreateError" && c["status"] == "False")
    };
    until(&f, &format!("{DEPLOYMENTS}/d"), "the deployment to say why", refused).await;
}
