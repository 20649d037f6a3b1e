//! Finds the kinds that exist, from a cluster or from the local cluster in this process.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use anyhow::Context as _;
use boathook_author::rbac::{Kinds, ServedKind};
use boathook_cluster::{Cluster, Options, State};
use boathook_core::model::HookSpec;
use futures::{StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;

use crate::{cli::rbac::Rbac, cmd::connect};

const PATIENCE: Duration = Duration::from_secs(30);
const AT_A_TIME: usize = 8;

/// The kinds of the cluster that the flags name, if they name one, and of the CRD files; otherwise the kinds of
/// Kubernetes itself.
pub(super) async fn of(args: &Rbac, hooks: &[HookSpec]) -> anyhow::Result<Kinds> {
    let bound = hooks.iter().flat_map(|hook| &hook.kubernetes).filter_map(|binding| binding.api_version.clone());
    let versions: BTreeSet<String> = bound.collect();
    let mut kinds = Vec::new();
    if args.connection.kubeconfig.is_some() || args.connection.context.is_some() {
        let (client, server) = connect::client(&args.connection).await?;
        kinds = ask(&client, &versions)
            .await
            .with_context(|| format!("can't learn from {server} which kinds it serves"))?;
    }
    if kinds.is_empty() || !args.crds.is_empty() {
        kinds.extend(local(&args.crds, &versions).await?);
    }
    Ok(Kinds::new(kinds))
}

/// The kinds of Kubernetes itself, and of the CRD files.
pub(in crate::cmd) async fn local(crds: &[PathBuf], versions: &BTreeSet<String>) -> anyhow::Result<Vec<ServedKind>> {
    let mut state = State::default();
    for path in crds {
        state.append(State::read(path)?);
    }
    let cluster =
        Cluster::start(Options::default().state(state)).await.context("can't take the definitions of --crds")?;
    let client = connect::client_of(kube::Config::new(cluster.url().parse()?))?;
    let kinds = ask(&client, versions).await.context("can't ask the local cluster for its kinds")?;
    cluster.shutdown().await;
    Ok(kinds)
}

/// Each group in its preferred version, and then the other versions in `versions`.
async fn ask(client: &Client, versions: &BTreeSet<String>) -> anyhow::Result<Vec<ServedKind>> {
    tokio::time::timeout(PATIENCE, all(client, versions))
        .await
        .with_context(|| format!("no answer within {PATIENCE:?}"))?
}

async fn all(client: &Client, wanted: &BTreeSet<String>) -> anyhow::Result<Vec<ServedKind>> {
    let groups = client.list_api_groups().await?.groups;
    let mut versions = vec!["v1".to_owned()];
    let preferred = |group: &k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup| {
        group.preferred_version.as_ref().or_else(|| group.versions.first()).map(|version| version.group_version.clone())
    };
    versions.extend(groups.iter().filter_map(preferred));
    let others = groups.iter().flat_map(|group| &group.versions).map(|version| version.group_version.clone());
    let others: Vec<_> = others.filter(|version| wanted.contains(version) && !versions.contains(version)).collect();
    versions.extend(others);
    let lists: Vec<_> = stream::iter(versions).map(|version| list(client, version)).buffered(AT_A_TIME).collect().await;
    Ok(lists.into_iter().flatten().flat_map(served).collect())
}

/// An aggregated API server that does not answer must not hide the other groups.
async fn list(client: &Client, version: String) -> Option<APIResourceList> {
    let answer = if version.contains('/') {
        client.list_api_group_resources(&version).await
    } else {
        client.list_core_api_resources(&version).await
    };
    match answer {
        Ok(list) => Some(list),
        Err(error) => {
            eprintln!("warning: the kinds of {version} are not known: {}", boathook_core::model::error_chain(&error));
            None
        }
    }
}

fn served(list: APIResourceList) -> Vec<ServedKind> {
    let sub = |plural: &str| {
        let prefix = format!("{plural}/");
        let subs = list.resources.iter().filter_map(|resource| resource.name.strip_prefix(&prefix));
        subs.map(str::to_owned).collect()
    };
    let whole = list.resources.iter().filter(|resource| !resource.name.contains('/') && !resource.verbs.is_empty());
    whole
        .map(|resource| ServedKind {
            api_version: list.group_version.clone(),
            kind: resource.kind.clone(),
            plural: resource.name.clone(),
            singular: resource.singular_name.clone(),
            short_names: resource.short_names.clone().unwrap_or_default(),
            namespaced: resource.namespaced,
            subresources: sub(&resource.name),
        })
        .collect()
}
