//! Keeps an entry for each ConfigMap labelled `e2e=ledger`: for tests of what a fault may lose.
//!
//! It does just what each trigger says and never looks for what it was not told: an event that does
//! not come leaves a wrong entry.
//!
//! It works in the namespace `default`. The entry of `NAME` is the ConfigMap `HOOK.NAME`, with the same
//! `data.value` and the object's uid; HOOK is its own name, so that several can keep books beside each
//! other. While there is a ConfigMap `HOOK-held`, a run waits before it writes anything; while there is
//! a `HOOK-broken`, it fails. It logs each trigger as one line of JSON.

use boathook_sdk::kube::{Object, Operation};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

const NAMESPACE: &str = "default";
/// Between two looks whether the hold is over.
const LOOK: Duration = Duration::from_millis(100);

fn config() -> Config {
    let sources = Kubernetes::new("sources")
        .api_version("v1")
        .kind("ConfigMap")
        .namespaces([NAMESPACE])
        .label("e2e", "ledger")
        .jq_filter(".data.value")
        .content(Content::None)
        .include_snapshots_from(["sources", "entries"]);
    let entries = Kubernetes::new("entries")
        .api_version("v1")
        .kind("ConfigMap")
        .namespaces([NAMESPACE])
        .label("e2e", "ledger-entry")
        .on_synchronization(false)
        .on_events([])
        .content(Content::None);
    Config::new()
        .kubernetes(sources)
        .kubernetes(entries)
        .permission(Permission::new().resources(["configmaps"]).verbs(["get", "create", "patch", "delete"]))
        .limits(Limits::new().time(Duration::from_secs(60)))
        .retry(Retry::new().initial(Duration::from_millis(200)).max(Duration::from_secs(1)))
}

fn run(ctx: Context) -> Result<()> {
    let book = Book { hook: &ctx.info.hook };
    let mut writes = Vec::new();
    for trigger in &ctx.triggers {
        match &trigger.cause {
            Cause::Synchronization => {
                note(&ctx, "Synchronization", "", &Value::Null);
                book.synchronize(&mut writes)?;
            }
            Cause::Event(event) => {
                let value: Value = event.filter_result()?;
                note(&ctx, &format!("{:?}", event.change), &event.target.name, &value);
                writes.push(match event.change {
                    Change::Deleted => Operation::delete(configmap(&book.entry(&event.target.name))).ignore_missing(),
                    Change::Added | Change::Modified => book.enter(&event.target.name, &event.uid, &value),
                });
            }
            _ => {}
        }
    }
    book.wait(&ctx)?;
    if book.is_told("broken")? {
        return Err(Error::retry("asked to fail"));
    }
    kube::batch(writes).into_iter().find_map(Result::err).map_or(Ok(()), |error| Err(error.into()))
}

/// The entries of one hook.
struct Book<'a> {
    hook: &'a str,
}

impl Book<'_> {
    /// An entry for each object there is, and none for others.
    fn synchronize(&self, writes: &mut Vec<Operation>) -> Result<()> {
        let mut names = BTreeSet::new();
        for source in &snapshots::open("sources")? {
            writes.push(self.enter(&source.name, &source.uid, &source.filter_result()?));
            names.insert(self.entry(&source.name));
        }
        for entry in &snapshots::open("entries")? {
            if entry.name.starts_with(&self.entry("")) && !names.contains(&entry.name) {
                writes.push(Operation::delete(configmap(&entry.name)).ignore_missing());
            }
        }
        Ok(())
    }

    fn enter(&self, name: &str, uid: &str, value: &Value) -> Operation {
        Operation::apply_object(&json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.entry(name), "namespace": NAMESPACE, "labels": {"e2e": "ledger-entry"}},
            "data": {"value": value, "uid": uid},
        }))
    }

    fn entry(&self, name: &str) -> String {
        format!("{}.{name}", self.hook)
    }

    fn wait(&self, ctx: &Context) -> Result<()> {
        if self.is_told("held")? {
            note(ctx, "held", "", &Value::Null);
            while self.is_told("held")? {
                sleep(LOOK);
            }
        }
        Ok(())
    }

    fn is_told(&self, what: &str) -> Result<bool> {
        let switch = configmap(&format!("{}-{what}", self.hook));
        Ok(kube::find_object::<Object>(&switch)?.is_some())
    }
}

fn note(ctx: &Context, what: &str, name: &str, value: &Value) {
    log::info!("{}", json!({"ledger": what, "name": name, "value": value, "attempt": ctx.info.attempt}));
}

fn configmap(name: &str) -> ObjectRef {
    ObjectRef::new("v1", "ConfigMap", NAMESPACE, name)
}

boathook_sdk::hook!(config, run);
