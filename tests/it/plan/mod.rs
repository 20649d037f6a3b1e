//! Plans: what hooks would write is shown, and nothing is written.
//!
//! Never on anything but a local cluster of the test's own.

mod answers;
mod effects;
mod pipeline;
mod run;
mod serve;

use std::sync::{Arc, Mutex};

use boathook_core::effect::{Effect, Sink, Style, render};
use serde_json::Value;

use crate::support::cluster::TestCluster;

/// Keeps all effects.
#[derive(Default)]
pub struct Seen(Mutex<Vec<Effect>>);

impl Sink for Seen {
    fn effect(&self, effect: Effect) {
        self.0.lock().unwrap().push(effect);
    }
}

impl Seen {
    pub fn shared() -> (Arc<Self>, Arc<dyn Sink>) {
        let seen = Arc::new(Self::default());
        (seen.clone(), seen)
    }

    pub fn all(&self) -> Vec<Effect> {
        self.0.lock().unwrap().clone()
    }

    /// Each as a person sees it.
    pub fn shown(&self) -> Vec<String> {
        self.all().iter().map(|effect| render(effect, Style::default())).collect()
    }
}

/// The cluster's revision, which every write of whatever kind raises.
pub async fn revision(cluster: &TestCluster) -> String {
    let request = http::Request::get("/api/v1/configmaps").body(Vec::new()).unwrap();
    let list: Value = cluster.admin.client.request(request).await.unwrap();
    list["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}
