//! The ConfigMap with the configuration of modules, as a watch shows it.

use std::{sync::Arc, time::Duration};

use boathook_core::{
    fair::Tenant,
    model::{Change, Resource},
};
use boathook_kube::watch::{Selection, Subscribe, Subscription};
use futures::StreamExt as _;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::super::{Services, module_values::ModuleValues};

/// How long a ConfigMap may be gone before that means that nothing is configured. `kubectl replace --force` deletes it first,
/// and modules that are turned off are deleted at once.
const ABSENCE: Duration = Duration::from_secs(30);

pub(super) struct Configuration {
    changes: Subscription,
    followed: Followed,
    /// The last configuration could be read.
    usable: bool,
}

impl Configuration {
    pub fn watch(services: &Services, values: &ModuleValues) -> Self {
        let resource = Resource {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
        };
        let selection = Selection {
            namespace: Some(values.namespace().to_owned()),
            field_selector: Some(format!("metadata.name={}", values.config_map())),
            ..Selection::of(Arc::new(resource))
        };
        let tenant = Tenant::hook("modules");
        let changes = services.streams.subscribe(Subscribe { selection, resynchronization: None, tenant });
        Self { changes, followed: Followed::default(), usable: false }
    }

    /// Returns when it is known what is configured. A configuration that cannot be read is no reason to turn modules off, so
    /// it is waited for.
    pub async fn listed(&mut self, values: &ModuleValues) {
        let (mut complete, mut told) = (false, false);
        loop {
            complete |= self.next(values).await;
            if complete && self.usable {
                return;
            }
            if complete && !std::mem::replace(&mut told, true) {
                warn!(
                    config_map = values.config_map(),
                    "modules wait, because their configuration cannot be read: correct the ConfigMap"
                );
            }
        }
    }

    /// Returns after each change.
    pub async fn changed(&mut self, values: &ModuleValues) {
        self.next(values).await;
    }

    /// Takes one change. Returns whether a list is complete. Cancel-safe.
    async fn next(&mut self, values: &ModuleValues) -> bool {
        let until = self.followed.empty_at;
        let change = tokio::select! {
            change = self.changes.next() => change,
            () = at(until) => {
                (self.followed.existed, self.followed.empty_at) = (false, None);
                self.usable = values.configure(&Map::new());
                return false;
            }
        };
        let Some(change) = change else { return std::future::pending().await };
        if let Some(data) = self.followed.take(&change, Instant::now()) {
            self.usable = values.configure(&data);
        }
        matches!(change, Change::ListDone)
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// What is known of the ConfigMap.
#[derive(Default)]
struct Followed {
    /// Whether the list that goes on has the ConfigMap. `None` if none goes on.
    listing: Option<bool>,
    /// It was there.
    existed: bool,
    /// It is gone. From this time on, nothing is configured.
    empty_at: Option<Instant>,
}

impl Followed {
    /// Returns what is configured from now on, if that is something else.
    fn take(&mut self, change: &Change, now: Instant) -> Option<Map<String, Value>> {
        match change {
            Change::ListStarted => self.listing = Some(false),
            Change::Upsert(object) => {
                self.listing = self.listing.map(|_| true);
                (self.existed, self.empty_at) = (true, None);
                return Some(data(&object.json));
            }
            Change::Delete(_) => return self.gone(now),
            Change::ListDone => {
                if self.listing.take() == Some(false) {
                    return self.gone(now);
                }
            }
            // ConfigMaps are always served. Something in between has answered.
            Change::Unserved => self.listing = None,
        }
        None
    }

    fn gone(&mut self, now: Instant) -> Option<Map<String, Value>> {
        if self.existed {
            self.empty_at = self.empty_at.or(Some(now + ABSENCE));
            return None;
        }
        Some(Map::new())
    }
}

fn data(object: &str) -> Map<String, Value> {
    let object: Value = serde_json::from_str(object).unwrap_or_default();
    object.get("data").and_then(Value::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use boathook_core::model::Object;
    use serde_json::json;

    use super::*;

    fn object() -> Arc<Object> {
        let text = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "u", "resourceVersion": "1"},
            "data": {"webEnabled": "true"}});
        let made = Object::from_json(&text.to_string(), &"v1".into(), &"ConfigMap".into()).unwrap();
        Arc::new(made)
    }

    #[test]
    fn without_a_config_map_nothing_is_configured() {
        let (mut followed, now) = (Followed::default(), Instant::now());
        assert_eq!(followed.take(&Change::ListStarted, now), None);
        assert_eq!(followed.take(&Change::ListDone, now), Some(Map::new()));
        assert_eq!(followed.empty_at, None);
    }

    // mutant: crates/operator/src/app/modules/configuration.rs: `if self.existed {` => `if false {`
    #[test]
    fn what_is_gone_may_come_back() {
        let (mut followed, now) = (Followed::default(), Instant::now());
        let there = || Change::Upsert(object());
        let data = json!({"webEnabled": "true"}).as_object().cloned();
        assert_eq!(followed.take(&there(), now), data);
        assert_eq!(followed.take(&Change::Delete(object()), now), None, "not at once");
        assert_eq!(followed.empty_at, Some(now + ABSENCE));
        // Another list that does not have it does not make the time longer.
        assert_eq!(followed.take(&Change::ListStarted, now + ABSENCE / 2), None);
        assert_eq!(followed.take(&Change::ListDone, now + ABSENCE / 2), None);
        assert_eq!(followed.empty_at, Some(now + ABSENCE));
        assert_eq!(followed.take(&there(), now), data);
        assert_eq!(followed.empty_at, None);
    }

    #[test]
    fn config_maps_are_always_served() {
        let (mut followed, now) = (Followed::default(), Instant::now());
        for change in [Change::Unserved, Change::ListStarted, Change::Unserved, Change::ListDone] {
            assert_eq!(followed.take(&change, now), None, "{change:?}");
        }
    }
}
