//! `crontab-conversion`: objects of three versions, stored in three versions, read and written in each.
//! It never converts anything itself.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Backend, Operator, Test, eventually, workspace};
use crate::webhooks::{Site, text};

const HOOK: &str = "crontab-conversion";
const DEFINITION: &str = "crontabs.stable.example.com";
const VERSIONS: [&str; 3] = ["v1alpha1", "v1beta1", "v1"];
const FIELDS: [&str; 5] = ["minute", "hour", "dayOfMonth", "month", "dayOfWeek"];

pub async fn all_directions(test: Arc<Test>) {
    let (site, operator) = start(&test).await;
    for stored in VERSIONS {
        store_in(&site, stored).await;
        for (number, written) in VERSIONS.iter().enumerate() {
            let spec = spec(written, &format!("{number} 2 * * 1-5"));
            create(&site, &format!("{stored}-{written}"), written, &spec).await;
        }
    }

    // Each by itself, and all in one list, whatever they are stored in.
    for version in VERSIONS {
        let list = list(&site, version).await.expect("a list");
        assert_eq!(list.len(), VERSIONS.len() * VERSIONS.len());
        for object in &list {
            assert_eq!(object["apiVersion"], format!("stable.example.com/{version}"));
            let name = object["metadata"]["name"].as_str().expect("a name");
            let (_, written) = name.split_once('-').expect("it tells in what it was written");
            let number = VERSIONS.iter().position(|version| *version == written).expect("a version");
            assert_eq!(object["spec"], spec(version, &format!("{number} 2 * * 1-5")), "{name} in {version}");
            assert_eq!(get(&site, name, version).await.expect("it is read")["spec"], object["spec"], "{name}");
        }
    }

    // Written again in another version.
    for (stored, through) in [("v1alpha1", "v1"), ("v1", "v1alpha1"), ("v1beta1", "v1")] {
        let name = format!("{stored}-{stored}");
        let spec = spec(through, "30 4 1 * *").to_string();
        let patch = format!(r#"{{"spec":{spec}}}"#);
        let kind = format!("crontabs.{through}.stable.example.com");
        site.cluster.kubectl(&["patch", &kind, &name, "--type=merge", "--patch", &patch]).await;
        for version in VERSIONS {
            let object = get(&site, &name, version).await.expect("it is read");
            assert_eq!(object["spec"], self::spec(version, "30 4 1 * *"), "{name} in {version}");
        }
    }
    operator.stop().await;
}

/// Without an operator, an object can be read in the version that it is stored in, and in no other: so the test knows
/// which version that is. Nothing has to be fixed afterwards.
pub async fn without_the_operator(test: Arc<Test>) {
    let (site, operator) = start(&test).await;
    for stored in VERSIONS {
        store_in(&site, stored).await;
        create(&site, stored, stored, &spec(stored, "0 0 * * *")).await;
    }
    operator.kill().await;
    for stored in VERSIONS {
        for version in VERSIONS {
            let read = get(&site, stored, version).await;
            assert_eq!(read.is_ok(), version == stored, "{stored} in {version}: {read:?}");
            let told = |complaint: String| complaint.contains("conversion webhook for stable.example.com/");
            assert!(read.err().is_none_or(told), "{stored} in {version}");
        }
    }
    let operator = site.operator(&[HOOK]).await;
    for version in VERSIONS {
        let listed = async || list(&site, version).await.map(|list| list.len());
        assert_eq!(eventually("all are read again", listed).await, VERSIONS.len());
    }
    operator.stop().await;
}

/// An object that cannot be in a version is named, and is in nobody's way elsewhere.
pub async fn an_object_that_can_not_be_converted(test: Arc<Test>) {
    let (site, operator) = start(&test).await;
    store_in(&site, "v1beta1").await;
    create(&site, "good", "v1beta1", &spec("v1beta1", "0 0 * * *")).await;
    create(&site, "bad", "v1beta1", &spec("v1beta1", "now and then")).await;
    for version in ["v1alpha1", "v1beta1"] {
        let object = get(&site, "bad", version).await.expect("it is read");
        assert_eq!(object["spec"], spec(version, "now and then"));
    }
    let names = |complaint: &str| {
        complaint.contains("CronTab default/bad: the schedule \"now and then\" needs five fields")
            && complaint.contains("hook crontab-conversion")
    };
    let complaint = get(&site, "bad", "v1").await.expect_err("it cannot be in v1");
    assert!(names(&complaint), "{complaint}");
    let complaint = list(&site, "v1").await.expect_err("nor can it in a list");
    assert!(names(&complaint), "{complaint}");
    assert_eq!(get(&site, "good", "v1").await.expect("the other is read")["spec"], spec("v1", "0 0 * * *"));
    // What could not be read in v1 again is not stored.
    let manifest = json!({"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "also-bad"},
        "spec": {"schedule": {"minute": "0 and 30"}}});
    let file = site.file("also-bad.json", &manifest);
    let said = site.cluster.kubectl_says(&["create", "--filename", &file]).await;
    assert!(!said.ok && said.err.contains("spec.schedule.minute is \"0 and 30\""), "{said:?}");
    get(&site, "also-bad", "v1beta1").await.expect_err("it is not there");

    site.cluster.kubectl(&["delete", "crontabs.v1beta1.stable.example.com", "bad", "--wait=false"]).await;
    let listed = async || list(&site, "v1").await.map(|list| list.len());
    assert_eq!(eventually("the list is read again", listed).await, 1);
    operator.stop().await;
}

async fn start(test: &Test) -> (Site, Operator) {
    let site = Site::new(test).await;
    let file = workspace().join("hooks-wasm").join(HOOK).join("crd.yaml");
    site.cluster.kubectl(&["apply", "--filename", &text(&file)]).await;
    let operator = site.operator(&[HOOK]).await;
    operator.ready().await;
    site.until(&["customresourcedefinition", DEFINITION], |definition| {
        (definition["spec"]["conversion"]["strategy"] == "Webhook").then_some(())
    })
    .await;
    // The API server takes it up a moment later.
    let probe = json!({"apiVersion": "stable.example.com/v1alpha1", "kind": "CronTab", "metadata": {"name": "probe"},
        "spec": {"cron": "@daily"}});
    let file = site.file("probe.json", &probe);
    let create = ["create", "--dry-run=server", "--output=json", "--filename", &file];
    site.until_said("objects are converted", &create, |said| said.ok.then_some(())).await;
    (site, operator)
}

/// Objects written from now on are stored in this version.
async fn store_in(site: &Site, stored: &str) {
    let hash = async || {
        let path = format!("/apis/stable.example.com/{stored}");
        let served: Value = serde_json::from_str(&site.cluster.kubectl(&["get", "--raw", &path]).await).expect("JSON");
        let resources = served["resources"].as_array().cloned().unwrap_or_default();
        resources.iter().find(|one| one["name"] == "crontabs").map(|one| one["storageVersionHash"].clone())
    };
    let definition = site.object(&["customresourcedefinition", DEFINITION]).await.expect("it is there");
    let versions = definition["spec"]["versions"].as_array().expect("a list").clone();
    if versions.iter().any(|version| version["name"] == stored && version["storage"] == true) {
        return;
    }
    let before = hash().await;
    let patch = versions.iter().enumerate().map(|(index, version)| {
        let path = format!("/spec/versions/{index}/storage");
        json!({"op": "replace", "path": path, "value": version["name"] == stored})
    });
    let patch = Value::Array(patch.collect()).to_string();
    site.cluster.kubectl(&["patch", "customresourcedefinition", DEFINITION, "--type=json", "--patch", &patch]).await;
    // The local cluster has no hash, and needs no time.
    if site.cluster.backend == Backend::Real {
        eventually("the API server stores in another version", async || {
            let now = hash().await;
            if now == before { Err(format!("{now:?}")) } else { Ok(()) }
        })
        .await;
    }
}

fn spec(version: &str, schedule: &str) -> Value {
    match version {
        "v1alpha1" => json!({"cron": schedule, "image": "backup"}),
        "v1beta1" => json!({"cronSpec": schedule, "image": "backup"}),
        _ => {
            let parts = FIELDS.iter().zip(schedule.split(' '));
            let fields: serde_json::Map<_, _> = parts.map(|(name, part)| ((*name).to_owned(), json!(part))).collect();
            json!({"schedule": fields, "image": "backup"})
        }
    }
}

async fn create(site: &Site, name: &str, version: &str, spec: &Value) {
    let api_version = format!("stable.example.com/{version}");
    let object = json!({"apiVersion": api_version, "kind": "CronTab", "metadata": {"name": name}, "spec": spec});
    let file = site.file("crontab.json", &object);
    site.cluster.kubectl(&["create", "--filename", &file]).await;
}

async fn get(site: &Site, name: &str, version: &str) -> Result<Value, String> {
    let kind = format!("crontabs.{version}.stable.example.com");
    let found = site.cluster.try_kubectl(&["get", &kind, name, "--output=json"]).await?;
    Ok(serde_json::from_str(&found).expect("kubectl prints JSON"))
}

async fn list(site: &Site, version: &str) -> Result<Vec<Value>, String> {
    let kind = format!("crontabs.{version}.stable.example.com");
    let found = site.cluster.try_kubectl(&["get", &kind, "--output=json"]).await?;
    let list: Value = serde_json::from_str(&found).expect("kubectl prints JSON");
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}
