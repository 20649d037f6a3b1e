//! The certificates of the webhooks are exchanged while the API server asks all the time.
//! It never looks into a certificate: that the API server trusts what is served is enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Test, eventually, eventually_within};
use crate::webhooks::reviewer::{CONFIGURATION, DEFINITION, HOOK, MUTATE, config_map, definition};
use crate::webhooks::{OWN, SECRET, Site};

/// The shortest life that there is: a certificate is renewed after 40 s.
const LIFE: [&str; 2] = ["--webhook-certificate-lifetime", "1m"];
/// Requests under way at a time, and the pause after each.
const AT_A_TIME: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);

pub async fn rotation_drops_no_request(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let file = site.file("widgets.json", &definition(&json!({"strategy": "None"})));
    site.cluster.kubectl(&["create", "--filename", &file]).await;
    let operator = site.operator_with(&[HOOK], &LIFE).await;
    operator.ready().await;
    site.reviewed().await;
    let widgets = ["customresourcedefinition", DEFINITION];
    site.until(&widgets, |crd| (crd["spec"]["conversion"]["strategy"] == "Webhook").then_some(())).await;
    let widget = json!({"apiVersion": "reviewer.test/v1", "kind": "Widget", "metadata": {"name": "w"},
        "spec": {"size": 7}});
    let file = site.file("widget.json", &widget);
    site.until_said("a widget is converted", &["create", "--filename", &file], |said| said.ok.then_some(())).await;

    let began = Instant::now();
    let load = Load::start(&site.cluster.client);
    let first = secret(&site).await;
    load.goes_on().await;

    // Authority and certificate are lost: a new authority at once, a certificate of it, the old authority forgotten.
    site.cluster.kubectl(&["delete", "secret", SECRET, "--namespace", OWN]).await;
    let all_new = async || {
        let now = secret(&site).await;
        let done = now["tls.crt"] != first["tls.crt"] && authorities(&now) == 1 && now["ca.crt"] != first["ca.crt"];
        if done { Ok(now) } else { Err(format!("{} authorities", authorities(&now))) }
    };
    let second = eventually("authority and certificate are new", all_new).await;
    let known =
        |object: &Value, path: &str| object.pointer(path).is_some_and(|ca| *ca == second["ca.crt"]).then_some(());
    site.until(&["validatingwebhookconfiguration", CONFIGURATION], |object| {
        known(object, "/webhooks/0/clientConfig/caBundle")
    })
    .await;
    site.until(&widgets, |object| known(object, "/spec/conversion/webhook/clientConfig/caBundle")).await;
    load.goes_on().await;

    // And by its age.
    let renewed = async || {
        let now = secret(&site).await;
        if now["tls.crt"] == second["tls.crt"] { Err("it is the same certificate") } else { Ok(now) }
    };
    let third = eventually_within(Duration::from_secs(60), "the certificate is renewed", renewed).await;
    assert_eq!(third["ca.crt"], second["ca.crt"], "its authority is good for longer");
    load.goes_on().await;
    eventually("ten seconds have passed", async || {
        let passed = began.elapsed();
        if passed >= Duration::from_secs(10) { Ok(()) } else { Err(format!("{passed:?}")) }
    })
    .await;
    let (requests, failures) = load.stop().await;
    assert!(failures.is_empty(), "{} of {requests}: {failures:?}", failures.len());
    operator.stop().await;
}

/// The Secret's data.
async fn secret(site: &Site) -> Value {
    let data = |secret: &Value| secret.get("data").cloned();
    site.until(&["secret", SECRET, "--namespace", OWN], data).await
}

fn authorities(secret: &Value) -> usize {
    let pem: ByteString = serde_json::from_value(secret["ca.crt"].clone()).expect("base64");
    String::from_utf8_lossy(&pem.0).matches("BEGIN CERTIFICATE").count()
}

/// Steady requests, each of which needs a hook: a ConfigMap that is changed, and a widget in another version.
struct Load {
    stop: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
    tasks: JoinSet<Vec<String>>,
}

impl Load {
    fn start(client: &Client) -> Self {
        let (stop, count, mut tasks) = (Arc::default(), Arc::new(AtomicUsize::new(0)), JoinSet::new());
        for number in 0..AT_A_TIME {
            tasks.spawn(ask(client.clone(), number, Arc::clone(&stop), count.clone()));
        }
        Self { stop, count, tasks }
    }

    /// Waits until some more requests were answered.
    async fn goes_on(&self) {
        let before = self.count.load(Ordering::Relaxed);
        eventually("fifty more requests are answered", async || {
            let more = self.count.load(Ordering::Relaxed) - before;
            if more >= 50 { Ok(()) } else { Err(format!("{more} up to now")) }
        })
        .await;
    }

    /// How many requests there were, and those that failed.
    async fn stop(self) -> (usize, Vec<String>) {
        self.stop.store(true, Ordering::Relaxed);
        let failures = self.tasks.join_all().await.concat();
        (self.count.load(Ordering::Relaxed), failures)
    }
}

async fn ask(client: Client, number: usize, stop: Arc<AtomicBool>, count: Arc<AtomicUsize>) -> Vec<String> {
    let maps = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let map = config_map("default", &format!("steady-{number}"), &[(MUTATE, "label", "yes")]);
    let map: ConfigMap = serde_json::from_value(map).expect("a ConfigMap");
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("reviewer.test", "v3", "Widget"));
    let widgets = Api::<DynamicObject>::namespaced_with(client, "default", &kind);
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let mut failures = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let reviewed = match maps.create(&params, &map).await {
            Ok(map) => map.metadata.labels.is_some_and(|labels| labels.contains_key("reviewed")).then_some(()),
            Err(error) => {
                failures.push(error.to_string());
                Some(())
            }
        };
        if reviewed.is_none() {
            failures.push("the hook was not asked".to_owned());
        }
        if let Err(error) = converted(&widgets).await {
            failures.push(error);
        }
        count.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(PAUSE).await;
    }
    failures
}

async fn converted(widgets: &Api<DynamicObject>) -> Result<(), String> {
    let widget = widgets.get("w").await.map_err(|error| error.to_string())?;
    if widget.data["spec"]["dimensions"]["sizes"][0] == 7 { Ok(()) } else { Err(widget.data.to_string()) }
}
