//! `boathook rbac` as an admin types it: roles for components, and what differs from them.
//!
//! What the roles let happen is the black-box suite's matter, on an API server that enforces them.

mod check;
pub mod roles;
mod shipped;
mod usage;

use std::{ffi::OsStr, path::Path};

use boathook_author::rbac::{Kinds, ServedKind};
use boathook_core::{
    hooks,
    model::{HookName, HookSpec},
};

use crate::support::process::{Ended, boathook, run};

async fn rbac<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ended {
    let mut command = boathook(["rbac"]);
    command.args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
    command.env("XDG_CACHE_HOME", crate::support::guests::cache_dir());
    run(command).await
}

fn hook(name: &str, document: &str) -> HookSpec {
    let document = format!("configVersion: v1\n{document}");
    hooks::parse(&HookName::new(name).unwrap(), &document, &|_| Ok(())).unwrap()
}

/// A few kinds of Kubernetes.
fn kinds() -> Kinds {
    let kind = |api_version: &str, kind: &str, plural: &str, subresources: &[&str]| ServedKind {
        api_version: api_version.into(),
        kind: kind.into(),
        plural: plural.into(),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        namespaced: !["Node", "Namespace"].contains(&kind),
        subresources: subresources.iter().map(|sub| (*sub).to_owned()).collect(),
    };
    Kinds::new(vec![
        kind("v1", "Namespace", "namespaces", &["status"]),
        kind("v1", "Node", "nodes", &["status"]),
        kind("v1", "Pod", "pods", &["eviction", "status"]),
        kind("v1", "Secret", "secrets", &[]),
        kind("v1", "Event", "events", &[]),
        kind("apps/v1", "Deployment", "deployments", &["scale", "status"]),
    ])
}
