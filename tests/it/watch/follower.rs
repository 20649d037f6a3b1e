//! A subscriber like the filter stage: it keeps what it received, by mark and sweep.

use std::collections::BTreeMap;

use boathook_core::model::{Change, Object, Resource};
use boathook_kube::watch::{Selection, Subscription};
use futures::StreamExt;
use tokio::time::timeout;

use super::scripted::DEADLINE;

pub fn config_maps() -> Selection {
    Selection::of(Resource::of("v1", "ConfigMap", "configmaps", true).into())
}

/// One word for a change: `[`, `+name`, `-name`, `]`.
pub fn word(change: &Change) -> String {
    match change {
        Change::ListStarted => "[".into(),
        Change::Upsert(object) => format!("+{}", object.key.name),
        Change::Delete(object) => format!("-{}", object.key.name),
        Change::ListDone => "]".into(),
        Change::Unserved => "!".into(),
    }
}

pub struct Follower {
    subscription: Subscription,
    known: BTreeMap<String, std::sync::Arc<Object>>,
    listed: Option<Vec<String>>,
    pub lists: usize,
}

impl Follower {
    pub fn new(subscription: Subscription) -> Self {
        Self { subscription, known: BTreeMap::new(), listed: None, lists: 0 }
    }

    pub async fn next(&mut self) -> Change {
        let change = timeout(DEADLINE, self.subscription.next()).await.expect("a change").expect("a live stream");
        self.apply(&change);
        change
    }

    /// The next changes, as words.
    pub async fn words(&mut self, count: usize) -> String {
        let mut words = Vec::new();
        for _ in 0..count {
            words.push(word(&self.next().await));
        }
        words.join(" ")
    }

    /// Follows until what is known is as wanted.
    pub async fn until(&mut self, wanted: impl Fn(&Self) -> bool) {
        let until = async {
            while !wanted(self) {
                self.next().await;
            }
        };
        timeout(DEADLINE, until).await.expect("the wanted state");
    }

    /// Until the next list is complete.
    pub async fn until_listed(&mut self) {
        let lists = self.lists;
        self.until(|follower| follower.lists > lists).await;
    }

    /// Nothing waits.
    pub fn is_idle(&mut self) -> bool {
        futures::FutureExt::now_or_never(self.subscription.next()).is_none()
    }

    pub fn names(&self) -> Vec<&str> {
        self.known.keys().map(String::as_str).collect()
    }

    pub fn object(&self, name: &str) -> Option<&Object> {
        self.known.get(name).map(|object| &**object)
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::ListStarted => self.listed = Some(Vec::new()),
            Change::Upsert(object) => {
                let name = object.key.name.to_string();
                if let Some(listed) = &mut self.listed {
                    listed.push(name.clone());
                }
                self.known.insert(name, object.clone());
            }
            Change::Delete(object) => drop(self.known.remove(&*object.key.name)),
            Change::ListDone => {
                let listed = self.listed.take().expect("a list that has started");
                self.known.retain(|name, _| listed.contains(name));
                self.lists += 1;
            }
            Change::Unserved => self.known.clear(),
        }
    }
}
