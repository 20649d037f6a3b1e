//! Which kinds are found: on the local cluster, when definitions come and go, and on a server that answers only in part.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, extract::Request, response::Response};
use boathook_cluster::{Cluster, Options};
use boathook_kube::discovery::{Discovery, DiscoveryError};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};
use tokio::time::Instant;

fn boats() -> CustomResourceDefinition {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    serde_json::from_value(json!({
        "metadata": {"name": "boats.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Boat", "plural": "boats", "singular": "boat", "listKind": "BoatList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]
        }
    }))
    .unwrap()
}

#[tokio::test]
async fn news_of_a_group_make_it_be_asked_for_at_once() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = Client::try_from(kube::Config::new(cluster.url().parse().unwrap())).unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let discovery = Discovery::new(client);
    let find = || discovery.find(Some("example.com/v1"), "boat");
    assert!(matches!(find().await, Err(DiscoveryError::Unknown { .. })));

    let mut changes = discovery.changes();
    crds.create(&PostParams::default(), &boats()).await.unwrap();
    let told = tokio::join!(changes.next(), async { discovery.invalidate(|group| group == "example.com") });
    let ((), ()) = told;
    assert_eq!(find().await.unwrap().plural, "boats");

    // What was found is remembered until there is reason to doubt it.
    crds.delete("boats.example.com", &DeleteParams::default()).await.unwrap();
    assert!(find().await.is_ok());
    discovery.invalidate(|group| group == "other.com");
    assert!(find().await.is_ok());
    discovery.invalidate(|group| group == "example.com");
    assert!(matches!(find().await, Err(DiscoveryError::Unknown { .. })));
}

#[tokio::test]
async fn kinds_are_found_as_kubectl_names_them() {
    let cluster = Cluster::start(Options::default()).await.unwrap();
    let client = Client::try_from(kube::Config::new(cluster.url().parse().unwrap())).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &boats()).await.unwrap();
    let discovery = Discovery::new(client);
    for (name, found) in [
        ("po", "v1 Pod"),
        ("Deployment", "apps/v1 Deployment"),
        ("deploy.apps", "apps/v1 Deployment"),
        ("deployments.v1.apps", "apps/v1 Deployment"),
        ("pods.v1.", "v1 Pod"),
        ("events.events.k8s.io", "events.k8s.io/v1 Event"),
        ("boats.example.com", "example.com/v1 Boat"),
        ("BOAT", "example.com/v1 Boat"),
    ] {
        assert_eq!(discovery.named(name).await.unwrap().to_string(), found, "{name}");
    }
    for name in ["nothing", "pods.apps", "boats.v2.example.com", "boats.", ""] {
        assert!(matches!(discovery.named(name).await, Err(DiscoveryError::Unknown { .. })), "{name}");
    }
}

/// An API server of a few words: what it answers can be changed, and what it was asked is counted.
#[derive(Clone, Default)]
struct Words(Arc<Mutex<Spoken>>);

#[derive(Default)]
struct Spoken {
    answers: HashMap<String, (u16, Value)>,
    /// Paths that get no answer.
    silent: HashSet<String>,
    asked: Vec<String>,
}

impl Words {
    fn client(&self) -> Client {
        let words = self.clone();
        Client::new(Router::new().fallback(move |request: Request| words.clone().answer(request)), "default")
    }

    async fn answer(self, request: Request) -> Response {
        let path = request.uri().path().to_owned();
        let silent = {
            let mut spoken = self.0.lock().unwrap();
            spoken.asked.push(path.clone());
            spoken.silent.contains(&path)
        };
        if silent {
            return std::future::pending().await;
        }
        // Other requests can come in the meantime.
        tokio::time::sleep(Duration::from_millis(5)).await;
        let found = self.0.lock().unwrap().answers.get(&path).cloned();
        let (code, body) = found.unwrap_or((404, status(404)));
        Response::builder().status(code).body(body.to_string().into()).unwrap()
    }

    fn set(&self, path: &str, body: Value) -> &Self {
        self.0.lock().unwrap().answers.insert(path.to_owned(), (200, body));
        self
    }

    fn fail(&self, path: &str) {
        self.0.lock().unwrap().answers.insert(path.to_owned(), (503, status(503)));
    }

    fn mute(&self, path: &str) {
        self.0.lock().unwrap().silent.insert(path.to_owned());
    }

    fn asked(&self, path: &str) -> usize {
        self.0.lock().unwrap().asked.iter().filter(|asked| *asked == path).count()
    }

    /// Groups as servers before Kubernetes 1.27 list them.
    fn plain(&self, groups: &[&str]) -> &Self {
        let group = |version: &&str| {
            json!({"name": version.split_once('/').unwrap().0, "versions": [],
            "preferredVersion": {"groupVersion": version, "version": "v1"}})
        };
        self.set("/api", json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}));
        self.set("/apis", json!({"kind": "APIGroupList", "groups": groups.iter().map(group).collect::<Vec<_>>()}))
    }
}

fn status(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "as the test wants it", "code": code})
}

fn list(version: &str, kind: &str, plural: &str) -> Value {
    let resource = json!({"name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list"]});
    json!({"kind": "APIResourceList", "groupVersion": version, "resources": [resource]})
}

/// A group as aggregated discovery has it.
fn group(name: &str, freshness: &str, kinds: &[(&str, &str)]) -> Value {
    let resource = |(kind, plural): &(&str, &str)| json!({"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": ["list"]});
    let resources: Vec<_> = kinds.iter().map(resource).collect();
    json!({"metadata": {"name": name}, "versions": [{"version": "v1", "freshness": freshness, "resources": resources}]})
}

fn groups(items: Vec<Value>) -> Value {
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn core() -> Value {
    groups(vec![group("", "Current", &[("ConfigMap", "configmaps")])])
}

#[tokio::test(start_paused = true)]
async fn an_aggregated_server_that_takes_questions_and_answers_none_keeps_nobody_waiting() {
    let words = Words::default();
    words.set("/api/v1", list("v1", "ConfigMap", "configmaps"));
    words.mute("/apis/mute.example/v1");
    let discovery = Discovery::new(words.client());
    discovery.resolve("v1", "ConfigMap").await.unwrap();
    let start = Instant::now();
    let (silent, known) = tokio::join!(discovery.resolve("mute.example/v1", "Mime"), async {
        tokio::task::yield_now().await;
        // Known ones, and others that have yet to be asked for.
        discovery.resolve("v1", "ConfigMap").await.unwrap();
        assert!(matches!(discovery.resolve("v1", "Boat").await, Err(DiscoveryError::Unknown { .. })));
        start.elapsed()
    });
    assert!(matches!(silent, Err(DiscoveryError::Silent(_))), "{silent:?}");
    assert!(known < Duration::from_secs(1), "{known:?}");
    assert!(start.elapsed() < Duration::from_secs(11), "it has a deadline: {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn one_group_that_fails_makes_the_kinds_of_others_unfindable_in_neither_form() {
    let plain = Words::default();
    plain.plain(&["broken.example/v1", "mute.example/v1", "sea.example/v1"]);
    plain.set("/api/v1", list("v1", "ConfigMap", "configmaps"));
    plain.set("/apis/sea.example/v1", list("sea.example/v1", "Boat", "boats"));
    plain.fail("/apis/broken.example/v1");
    plain.mute("/apis/mute.example/v1");
    let aggregated = Words::default();
    aggregated.set("/api", core());
    let stale = ["broken.example", "mute.example"].map(|name| group(name, "Stale", &[]));
    let sea = group("sea.example", "Current", &[("Boat", "boats")]);
    aggregated.set("/apis", groups([stale.as_slice(), &[sea]].concat()));
    for words in [plain, aggregated] {
        let discovery = Discovery::new(words.client());
        assert_eq!(discovery.find(None, "boats").await.unwrap().group, "sea.example");
        assert_eq!(discovery.find(None, "configmap").await.err().map(drop), None);
        let error = discovery.find(None, "Cart").await.unwrap_err();
        let DiscoveryError::Partial { groups, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*groups, ["broken.example/v1", "mute.example/v1"]);
        let text = error.to_string();
        assert!(text.contains("broken.example/v1, mute.example/v1 do not"), "{text}");
        // Asked for by its version, it is that group's affair as well.
        let error = discovery.find(Some("broken.example/v1"), "Cart").await;
        if words.asked("/apis/broken.example/v1") > 1 {
            assert!(matches!(error, Err(DiscoveryError::Partial { .. })), "{error:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn kinds_that_were_found_stay_while_nobody_can_be_asked() {
    let words = Words::default();
    words.set("/api", core()).set("/api/v1", list("v1", "ConfigMap", "configmaps"));
    words.set("/apis", groups(vec![group("sea.example", "Current", &[("Boat", "boats")])]));
    words.set("/apis/sea.example/v1", list("sea.example/v1", "Boat", "boats"));
    let discovery = Discovery::new(words.client());
    discovery.find(None, "boat").await.unwrap();
    discovery.resolve("v1", "ConfigMap").await.unwrap();
    for path in ["/api", "/api/v1", "/apis", "/apis/sea.example/v1"] {
        words.fail(path);
    }
    discovery.invalidate(|_| true);
    discovery.find(None, "boat").await.unwrap();
    discovery.resolve("v1", "ConfigMap").await.unwrap();
    discovery.resolve("sea.example/v1", "Boat").await.unwrap();
    // Whether there are others now, nobody knows: never that there are none.
    for unknown in [discovery.find(None, "Cart").await, discovery.resolve("v1", "Cart").await] {
        assert!(matches!(unknown, Err(DiscoveryError::Unavailable(_))), "{unknown:?}");
    }
    // A group of which nothing but old news comes.
    words.set("/api", core()).set("/apis", groups(vec![group("sea.example", "Stale", &[])]));
    discovery.invalidate(|_| true);
    discovery.find(None, "boats").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_for_the_same_ask_once() {
    let words = Words::default();
    words.set("/api", core()).set("/apis", groups(vec![])).set("/api/v1", list("v1", "ConfigMap", "configmaps"));
    let discovery = Discovery::new(words.client());
    let find = (0..50).map(|_| discovery.find(None, "ConfigMap"));
    let resolve = (0..50).map(|_| discovery.resolve("v1", "Boat"));
    let (found, none) = tokio::join!(futures::future::join_all(find), futures::future::join_all(resolve));
    assert!(found.iter().all(Result::is_ok) && none.iter().all(Result::is_err));
    assert_eq!(["/api", "/apis", "/api/v1"].map(|path| words.asked(path)), [1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_from_before_a_change_is_not_remembered_after_it() {
    let words = Words::default();
    words.set("/apis/sea.example/v1", list("sea.example/v1", "Boat", "boats"));
    let discovery = Discovery::new(words.client());
    let (before, ()) = tokio::join!(discovery.resolve("sea.example/v1", "Boat"), async {
        tokio::task::yield_now().await;
        discovery.invalidate(|group| group == "sea.example");
    });
    before.unwrap();
    words.set("/apis/sea.example/v1", list("sea.example/v1", "Ship", "ships"));
    discovery.resolve("sea.example/v1", "Ship").await.unwrap();
    assert_eq!(words.asked("/apis/sea.example/v1"), 2);
    assert!(discovery.resolve("sea.example/v1", "Boat").await.is_err());
}
