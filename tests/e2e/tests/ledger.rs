//! What the test hook `ledger` keeps books of: ConfigMaps that come, change and go, and their entries.
//! The hook does only what its events say, so an entry is right only if no last event of its object was lost.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::harness::{Operator, eventually_within};
use crate::objects::{delete, merge, meta};

pub const HOOK: &str = "test/ledger";
/// Its name unless it runs under another.
pub const NAME: &str = "ledger";

/// The operator's delays grow to half a minute while it gets no answer.
const SETTLED: Duration = Duration::from_secs(90);

/// Value and uid of each object, by its name.
type Books = BTreeMap<String, (String, String)>;

/// Changes the objects, round by round.
pub struct Objects {
    api: Api<ConfigMap>,
    round: usize,
}

enum Step {
    Create,
    Change,
    Delete,
}

impl Objects {
    pub fn new(client: &Client) -> Self {
        Self { api: api(client), round: 0 }
    }

    /// One round. Of the four objects that each round creates, the first stays as it is. The next round
    /// changes the second and deletes the others. The round after that creates the last again. So the
    /// last event of an object comes once, and if it is lost, nothing makes up for it. Each round begins
    /// with another step.
    pub async fn round(&mut self) {
        let n = self.round;
        self.round += 1;
        let mut steps: Vec<_> = (0..4).map(|kind| (Step::Create, object(n, kind))).collect();
        if let Some(n) = n.checked_sub(1) {
            steps.extend([(Step::Change, object(n, 1)), (Step::Delete, object(n, 2)), (Step::Delete, object(n, 3))]);
        }
        if let Some(n) = n.checked_sub(2) {
            steps.push((Step::Create, object(n, 3)));
        }
        let first = n % steps.len();
        steps.rotate_left(first);
        for (step, name) in steps {
            match step {
                Step::Create => self.create(&name, n).await,
                Step::Change => merge(&self.api, &name, json!({"data": {"value": n.to_string()}})).await,
                Step::Delete => delete(&self.api, &name).await,
            }
        }
    }

    pub async fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.round().await;
        }
    }

    async fn create(&self, name: &str, value: usize) {
        let map = ConfigMap {
            metadata: meta(name, &[("e2e", "ledger")]),
            data: Some(BTreeMap::from([("value".to_owned(), value.to_string())])),
            ..ConfigMap::default()
        };
        let created = self.api.create(&PostParams::default(), &map).await;
        created.unwrap_or_else(|error| panic!("create {name}: {error}"));
    }
}

/// Waits until the hook's entries are as the objects are: none missing, none old, none left over.
pub async fn settled(client: &Client, hook: &str) {
    settled_within(SETTLED, client, hook).await;
}

/// [`settled`] with a deadline of its own.
pub async fn settled_within(within: Duration, client: &Client, hook: &str) {
    eventually_within(within, &format!("the entries of {hook} are as the objects are"), async || {
        let wanted = objects(client).await?;
        let entries = entries(client, hook).await?;
        let wrong: Vec<_> = wanted
            .keys()
            .chain(entries.keys().filter(|name| !wanted.contains_key(*name)))
            .filter(|name| wanted.get(*name) != entries.get(*name))
            .map(|name| format!("{name}: object {:?}, entry {:?}", wanted.get(name), entries.get(name)))
            .collect();
        if wrong.is_empty() { Ok(()) } else { Err(format!("{} wrong: {}", wrong.len(), wrong.join("; "))) }
    })
    .await;
}

async fn objects(client: &Client) -> Result<Books, String> {
    let maps = labelled(client, "e2e=ledger").await?;
    Ok(maps.iter().map(|map| (map.name_any(), (datum(map, "value"), map.uid().unwrap_or_default()))).collect())
}

/// Those of one hook, by the names of the objects.
pub async fn entries(client: &Client, hook: &str) -> Result<Books, String> {
    let own = |map: &ConfigMap| Some(map.name_any().strip_prefix(hook)?.strip_prefix('.')?.to_owned());
    let maps = labelled(client, "e2e=ledger-entry").await?;
    Ok(maps.iter().filter_map(|map| Some((own(map)?, (datum(map, "value"), datum(map, "uid"))))).collect())
}

async fn labelled(client: &Client, selector: &str) -> Result<Vec<ConfigMap>, String> {
    let list = api(client).list(&ListParams::default().labels(selector)).await;
    list.map(|list| list.items).map_err(|error| error.to_string())
}

fn datum(map: &ConfigMap, key: &str) -> String {
    map.data.as_ref().and_then(|data| data.get(key)).cloned().unwrap_or_default()
}

/// Makes the hook's runs wait (`held`) or fail (`broken`) until [`release`].
pub async fn tell(client: &Client, hook: &str, what: &str) {
    let map = ConfigMap { metadata: meta(&format!("{hook}-{what}"), &[]), ..ConfigMap::default() };
    api(client).create(&PostParams::default(), &map).await.expect("create a ConfigMap");
}

pub async fn release(client: &Client, hook: &str, what: &str) {
    delete(&api(client), &format!("{hook}-{what}")).await;
}

/// The triggers that the hook logged, oldest first.
pub fn told(operator: &Operator, hook: &str) -> Vec<Value> {
    let lines = operator.log().into_iter().filter(|line| line["hook"] == hook);
    let told = lines.filter_map(|line| serde_json::from_str(line["message"].as_str()?).ok());
    told.filter(|told: &Value| told["ledger"].is_string()).collect()
}

/// The highest attempt of any run of the hook up to now.
pub fn attempts(operator: &Operator, hook: &str) -> u64 {
    told(operator, hook).iter().filter_map(|told| told["attempt"].as_u64()).max().unwrap_or(0)
}

/// One synchronization in the life of an operator, whatever happened: what a fault hid comes as events.
pub fn synchronized_once(operator: &Operator, hook: &str) {
    let first = |told: &Value| told["ledger"] == "Synchronization" && told["attempt"] == 1;
    let times = told(operator, hook).into_iter().filter(first).count();
    assert_eq!(times, 1, "synchronizations of {hook}");
}

pub fn api(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

fn object(round: usize, kind: usize) -> String {
    format!("o-{round}-{kind}")
}
