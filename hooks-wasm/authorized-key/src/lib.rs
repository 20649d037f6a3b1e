//! The keys of an AuthorizedKey are lines of its user's `authorized_keys`, on every node where the hook runs.
//!
//! It never changes a line that it did not write.

mod keys;

use boathook_sdk::kube::Operation;
use boathook_sdk::prelude::*;
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::time::Duration;

const API_VERSION: &str = "example.com/v1alpha1";
const KIND: &str = "AuthorizedKey";

/// The directory with the homes of users, as the admin offers it.
const HOMES: &str = "homes";

/// The user's file, and the new one before it takes its place.
const FILE: &str = "authorized_keys";
const NEW: &str = ".authorized_keys.boathook";

#[derive(Deserialize)]
struct AuthorizedKey {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    generation: Option<i64>,
}

#[derive(Deserialize)]
struct Spec {
    user: String,
    keys: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    nodes: Vec<NodeStatus>,
}

/// What one node says about an AuthorizedKey.
#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
struct NodeStatus {
    name: String,
    ready: bool,
    #[serde(default)]
    message: String,
    observed_generation: Option<i64>,
}

fn config() -> Config {
    // Each node writes its own part of the status. Without the filter, each of these writes would wake the hook on all nodes.
    let keys = Kubernetes::new("keys").api_version(API_VERSION).kind(KIND).jq_filter(".spec");
    let node = Kubernetes::new("node")
        .api_version("v1")
        .kind("Node")
        .names(["$(NODE_NAME)"])
        .content(Content::None)
        .on_events([])
        .on_synchronization(false);
    let repair = Schedule::new("*/5 * * * *").name("repair");
    Config::new()
        .kubernetes(keys.include_snapshots_from(["node"]))
        .kubernetes(node)
        .schedule(repair.jitter(Duration::from_secs(60)).include_snapshots_from(["keys", "node"]))
        .directory(DirectoryPermission::new(HOMES).write())
        .permission(Permission::new().groups(["example.com"]).resources(["authorizedkeys/status"]).verbs(["patch"]))
        .limits(Limits::new().host_calls(200_000).time(Duration::from_secs(60)))
}

fn run(_: Context) -> Result<()> {
    let Some(node) = snapshots::open("node")?.iter().next() else {
        return Err(Error::retry("the node of this operator is not in the cluster"));
    };
    let mut objects = BTreeMap::new();
    for item in &snapshots::open("keys")? {
        objects.insert(item.name.clone(), item.object::<AuthorizedKey>()?);
    }
    let mut wanted: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for object in objects.values() {
        let valid = object.spec.keys.iter().filter(|key| keys::problem(key).is_none());
        let lines = wanted.entry(&object.spec.user).or_default();
        for key in valid {
            if !lines.contains(key) {
                lines.push(key.clone());
            }
        }
    }
    let mut problems: BTreeMap<String, String> = BTreeMap::new();
    let mut failure = Ok(());
    for user in users(wanted.keys().copied())? {
        let lines = wanted.get(user.as_str()).map(Vec::as_slice).unwrap_or_default();
        match update(&user, lines) {
            Ok(changed) => {
                if changed {
                    log::info!("{user}: {} keys", lines.len());
                }
            }
            Err(problem) => {
                log::warn!("{user}: {problem}");
                // Somebody reads it in the status, if there is one.
                if !wanted.contains_key(user.as_str()) {
                    failure = Err(Error::retry(format!("{user}: {problem}")));
                }
                problems.insert(user, problem);
            }
        }
    }
    for (name, object) in &objects {
        report(name, object, &node.name, problems.get(&object.spec.user))?;
    }
    failure
}

/// The users with a home here, and those that are named.
fn users<'a>(named: impl Iterator<Item = &'a str>) -> Result<BTreeSet<String>> {
    let mut users: BTreeSet<_> = named.map(str::to_owned).collect();
    for entry in fs::read_dir(format!("/{HOMES}")).context("the directory of homes")? {
        if let Ok(name) = entry.context("the directory of homes")?.file_name().into_string() {
            users.insert(name);
        }
    }
    Ok(users)
}

/// Writes the user's keys. Returns whether something changed.
fn update(user: &str, keys: &[String]) -> Result<bool, String> {
    let home = format!("/{HOMES}/{user}/.ssh");
    let file = format!("{home}/{FILE}");
    let (text, there) = match fs::read_to_string(&file) {
        Ok(text) => (text, true),
        Err(error) if is_absent(&error) => (String::new(), false),
        // Who has no keys may have what they like there.
        Err(_) if keys.is_empty() => return Ok(false),
        Err(error) => {
            return Err(format!("{FILE} cannot be read: {error}; it must be a file with one name, and no link"));
        }
    };
    if keys.is_empty() && !keys::has_part(&text) {
        return Ok(false);
    }
    if !there && !fs::symlink_metadata(&home).is_ok_and(|seen| seen.is_dir()) {
        return Err(
            "there is no directory .ssh in the user's home on this node: create it, and its owner owns the file"
                .to_owned(),
        );
    }
    let Some(wanted) = keys::with_keys(&text, keys) else {
        return Err(format!("{FILE} has the hook's first line without its last one, or twice: remove these lines"));
    };
    if wanted == text {
        return Ok(false);
    }
    let new = format!("{home}/{NEW}");
    // One that an interrupted run has left.
    let _ = fs::remove_file(&new);
    fs::write(&new, wanted)
        .and_then(|()| fs::rename(&new, &file))
        .map_err(|error| format!("{FILE} cannot be written: {error}"))?;
    Ok(true)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Writes what this node has to say into its own part of the status, if that changed.
fn report(name: &str, object: &AuthorizedKey, node: &str, problem: Option<&String>) -> Result<()> {
    let refused = object.spec.keys.iter().enumerate().filter_map(|(n, key)| Some((n, keys::problem(key)?)));
    let mut messages: Vec<_> = refused.map(|(n, problem)| format!("keys[{n}] {problem}")).collect();
    messages.extend(problem.cloned());
    let status = NodeStatus {
        name: node.to_owned(),
        ready: messages.is_empty(),
        message: messages.join("; "),
        observed_generation: object.metadata.generation,
    };
    if object.status.nodes.iter().any(|known| *known == status) {
        return Ok(());
    }
    let entry = json!({
        "name": status.name, "ready": status.ready, "message": status.message,
        "observedGeneration": status.observed_generation,
    });
    let applied = json!({
        "apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "status": {"nodes": [entry]},
    });
    let apply =
        Operation::apply_object(&applied).subresource("status").field_manager(&format!("authorized-key/{node}"));
    match apply.force().run() {
        // It was deleted in the meantime, which is the next event.
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(drop).with_context(|| format!("the status of {name}")),
    }
}

boathook_sdk::hook!(config, run);
