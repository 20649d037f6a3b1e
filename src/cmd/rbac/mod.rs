//! `boathook rbac`: prints the least roles for a set of hooks, and the differences from them. `rbac` decides about
//! rights. Nothing here changes a cluster.

mod check;
mod used;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, bail};
use boathook_author::rbac::{self, Kinds, Layout, Needs, ServedKind, Tenant};
use boathook_cluster::{Cluster, Options, State};
use boathook_core::{
    hooks::HookFile,
    model::{HookName, HookSpec, error_chain},
};
use boathook_operator::app::{component, load};
use boathook_sandbox::Sandbox;
use futures::{StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::Client;

use super::{connect, projects, runtime::block_on, sandbox};
use crate::cli::{Output, rbac::Rbac};

pub(super) use self::used::read as read_records;

/// Exit code if `--check` found differences.
const DIFFERENCES: u8 = 1;
/// Exit code if an input is invalid, so that no result is possible.
const UNUSABLE: u8 = 2;

pub(super) fn run(args: Rbac) -> anyhow::Result<ExitCode> {
    match block_on(act(&args)) {
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Ok(ExitCode::from(DIFFERENCES)),
        Err(error) => {
            eprintln!("error: {}", error_chain(error.as_ref()));
            Ok(ExitCode::from(UNUSABLE))
        }
    }
}

/// The hooks, and what is known about them.
struct Subject {
    hooks: Vec<HookSpec>,
    kinds: Kinds,
    layout: Layout,
}

impl Subject {
    fn needs(&self) -> anyhow::Result<Needs> {
        Ok(rbac::needs(&self.hooks, &self.kinds, &self.layout)?)
    }
}

/// Returns whether nothing differs.
async fn act(args: &Rbac) -> anyhow::Result<bool> {
    let hooks = hooks(&args.hooks).await?;
    let kinds = kinds_of(args, &hooks).await?;
    let layout = Layout {
        namespace: namespace(args).await?,
        service_account: args.service_account.clone(),
        per_hook: args.per_hook,
        webhook_secret: Some(args.webhook_secret.clone()).filter(|name| name != "none"),
        hook_bundles: args.hook_bundles || !args.tenant.is_empty(),
        lease: args.leader_elect.then(|| args.lease_name.clone()),
        console: args.console,
        tenants: args.tenant.iter().map(tenant).collect(),
    };
    let subject = Subject { hooks, kinds, layout };
    match (args.check, args.used.is_empty()) {
        (false, _) => generate(args, &subject).map(|()| true),
        (true, true) => check::run(args, &subject).await,
        (true, false) => used::run(args, &subject),
    }
}

/// The operator's namespace, for the roles. For a check, the namespace that an operator with this user or kubeconfig
/// would assume.
async fn namespace(args: &Rbac) -> anyhow::Result<String> {
    const INSTALLED: &str = "boathook";
    let account = args.user.as_deref().and_then(|user| user.strip_prefix("system:serviceaccount:"));
    let of_account = account.and_then(|account| account.split_once(':')).map(|(namespace, _)| namespace.to_owned());
    Ok(match (args.namespace.clone().or(of_account), args.check && args.used.is_empty() && args.user.is_none()) {
        (Some(namespace), _) => namespace,
        (None, true) => connect::client(&args.connection).await?.0.default_namespace().to_owned(),
        (None, false) => INSTALLED.to_owned(),
    })
}

fn generate(args: &Rbac, subject: &Subject) -> anyhow::Result<()> {
    let needs = subject.needs()?;
    let manifest = rbac::manifest(&subject.hooks, &needs, &subject.layout);
    match args.output {
        None | Some(Output::Yaml) => print!("{}", rbac::yaml(&manifest)),
        Some(Output::Json) => {
            println!("{:#}", rbac::json(&manifest));
            manifest.notes.iter().for_each(|note| eprintln!("note: {note}"));
        }
        Some(Output::Text) => bail!("roles are printed with -o yaml or -o json; text is for --check"),
    }
    Ok(())
}

fn tenant(args: &crate::cli::rbac::Tenant) -> Tenant {
    Tenant { namespace: args.namespace.clone(), service_account: args.service_account.clone() }
}

fn report(args: &Rbac, data: &serde_json::Value, text: &str) -> anyhow::Result<()> {
    super::print(args.output.unwrap_or(Output::Text), data, || text.to_owned())
}

/// The interface for calls to Kubernetes, without its version.
const KUBE: &str = "boathook:hook/kube";

/// All hooks, ordered by name. Reports all files that are not hooks before it fails.
async fn hooks(paths: &[PathBuf]) -> anyhow::Result<Vec<HookSpec>> {
    let sandbox = Sandbox::new(sandbox::config(None)?)?;
    let mut hooks: BTreeMap<HookName, (PathBuf, HookSpec)> = BTreeMap::new();
    let mut wrong = 0_usize;
    for file in files(paths)? {
        let path = file.path.clone();
        let problem = match read(file, &sandbox).await {
            Err(error) => Some(format!("{}; see `boathook inspect {}`", error_chain(error.as_ref()), path.display())),
            Ok(spec) => {
                let twice =
                    |(other, _): &(PathBuf, HookSpec)| format!("{} is a hook of the same name", other.display());
                let problem = hooks.get(&spec.name).map(twice);
                hooks.entry(spec.name.clone()).or_insert_with(|| (path.clone(), spec));
                problem
            }
        };
        if let Some(problem) = problem {
            wrong += 1;
            eprintln!("{}: {problem}", path.display());
        }
    }
    if wrong > 0 {
        let files = if wrong == 1 { "1 file is not a hook".to_owned() } else { format!("{wrong} files are not hooks") };
        bail!("{files} that Boathook can use: build the hooks again, or leave these files out");
    }
    Ok(hooks.into_values().map(|(_, spec)| spec).collect())
}

fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<HookFile>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = projects::hooks(path)?;
            if found.is_empty() {
                bail!(
                    "{} holds no hook: each NAME.wasm and each executable NAME.sh in it would be one",
                    path.display()
                );
            }
            files.extend(found);
        } else {
            projects::warn_of_stale(path);
            files.push(HookFile::of(path.clone()));
        }
    }
    Ok(files)
}

async fn read(file: HookFile, sandbox: &Sandbox) -> anyhow::Result<HookSpec> {
    let path = file.path.clone();
    let (name, bytes) = component(file, sandbox).await?;
    let hook = load(&name, &bytes, sandbox).await?;
    if hook.spec.permissions.is_empty() && hook.component.imports().iter().any(|import| import.starts_with(KUBE)) {
        warn_of_no_permissions(&path);
    }
    Ok(hook.spec)
}

/// Only a warning, because the hook can run and may never make a call.
fn warn_of_no_permissions(path: &Path) {
    eprintln!(
        "warning: {}: it can call Kubernetes, and its document has no permissions.kubernetes: each call is refused; \
         add what it calls",
        path.display()
    );
}

const PATIENCE: Duration = Duration::from_secs(30);
const AT_A_TIME: usize = 8;

/// The kinds of the cluster that the flags name, if they name one, and of the CRD files; otherwise the kinds of
/// Kubernetes itself.
async fn kinds_of(args: &Rbac, hooks: &[HookSpec]) -> anyhow::Result<Kinds> {
    let bound = hooks.iter().flat_map(|hook| &hook.kubernetes).filter_map(|binding| binding.api_version.clone());
    let versions: BTreeSet<String> = bound.collect();
    let mut kinds = Vec::new();
    if args.connection.kubeconfig.is_some() || args.connection.context.is_some() {
        let (client, server) = connect::client(&args.connection).await?;
        kinds = ask(&client, Some(&versions))
            .await
            .with_context(|| format!("cannot learn from {server} which kinds it serves"))?;
    }
    if kinds.is_empty() || !args.crds.is_empty() {
        kinds.extend(local(&args.crds).await?);
    }
    Ok(Kinds::new(kinds))
}

/// The kinds of Kubernetes itself, and of the CRD files, in all versions.
pub(in crate::cmd) async fn local(crds: &[PathBuf]) -> anyhow::Result<Vec<ServedKind>> {
    let mut state = State::default();
    for path in crds {
        state.append(State::read(path)?);
    }
    let cluster =
        Cluster::start(Options::default().state(state)).await.context("cannot take the definitions of --crds")?;
    let client = connect::client_of(kube::Config::new(cluster.url().parse()?))?;
    let kinds = ask(&client, None).await.context("cannot ask the local cluster for its kinds")?;
    cluster.shutdown().await;
    Ok(kinds)
}

/// Each group in its preferred version, and then its other versions: those in `versions`, or all.
async fn ask(client: &Client, versions: Option<&BTreeSet<String>>) -> anyhow::Result<Vec<ServedKind>> {
    tokio::time::timeout(PATIENCE, all(client, versions))
        .await
        .with_context(|| format!("no answer within {PATIENCE:?}"))?
}

async fn all(client: &Client, wanted: Option<&BTreeSet<String>>) -> anyhow::Result<Vec<ServedKind>> {
    let groups = client.list_api_groups().await?.groups;
    let mut versions = vec!["v1".to_owned()];
    let preferred = |group: &k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup| {
        group.preferred_version.as_ref().or_else(|| group.versions.first()).map(|version| version.group_version.clone())
    };
    versions.extend(groups.iter().filter_map(preferred));
    let others = groups.iter().flat_map(|group| &group.versions).map(|version| version.group_version.clone());
    let wanted = |version: &String| wanted.is_none_or(|wanted| wanted.contains(version));
    let others: Vec<_> = others.filter(|version| wanted(version) && !versions.contains(version)).collect();
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
