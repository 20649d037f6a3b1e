//! `boathook demo`: runs the registry-secret hook on a local cluster and explains each step. It uses the real parts:
//! the operator of `serve`, the API server of `cluster`, and a component from a file.

use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use boathook_cluster::Cluster;
use boathook_operator::app::{App, Options};
use k8s_openapi::{
    ByteString,
    api::core::v1::{Namespace, Secret},
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};

use super::{
    cluster::write_kubeconfig,
    connect, directories,
    runtime::{Stop, block_on},
};
use crate::cli::Demo;

const SECRET: &str = "registry-credentials";
const NAMESPACE: &str = "team-a";
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn run(args: Demo) -> anyhow::Result<ExitCode> {
    block_on(async {
        let mut stop = Stop::new()?;
        let directory = hooks_directory(&args.hook)?;
        let cluster = Cluster::start(boathook_cluster::Options::default()).await?;
        say("a Kubernetes API server runs in this process");
        let client = connect::client_of(kube::Config::new(cluster.url().parse()?))?;
        let app = App::start(options(client.clone(), directory.path())?).await?;
        say(&format!("the operator runs the hook {} in a sandbox", args.hook.display()));
        tokio::select! {
            reported = report(&client) => reported?,
            () = stop.requested() => return Ok(ExitCode::from(130)),
        }
        if args.keep {
            keep(&cluster, directory.path(), &mut stop).await?;
        }
        app.shutdown().await;
        cluster.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}

fn say(text: &str) {
    println!("  {text}");
}

/// A directory with only this hook.
fn hooks_directory(hook: &Path) -> anyhow::Result<tempfile::TempDir> {
    let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
    std::fs::copy(hook, directory.path().join("registry-secret.wasm"))
        .with_context(|| format!("cannot read {}; run `make guests`", hook.display()))?;
    Ok(directory)
}

fn options(client: Client, hooks: &Path) -> anyhow::Result<Options> {
    let mut options = Options::new(client, hooks).context("cannot find this program's own file")?;
    options.sandbox.cache_dir = directories::cache();
    options.sandbox.interpreters = directories::interpreters(Vec::new());
    Ok(options)
}

async fn report(client: &Client) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let sources: Api<Secret> = Api::namespaced(client.clone(), "default");
    let copies: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);

    sources.create(&PostParams::default(), &secret("first")).await?;
    say(&format!("$ kubectl create secret {SECRET} -n default"));

    namespaces.create(&PostParams::default(), &named(NAMESPACE)).await?;
    let took = wait_for(&copies, |copy| holds(copy, "first")).await?;
    say(&format!("$ kubectl create namespace {NAMESPACE}"));
    say(&format!("    the copy is there, {took}"));

    sources.patch(SECRET, &PatchParams::default(), &Patch::Merge(secret("second"))).await?;
    let took = wait_for(&copies, |copy| holds(copy, "second")).await?;
    say("$ kubectl edit secret (the source changes)");
    say(&format!("    the copy follows, {took}"));

    copies.delete(SECRET, &DeleteParams::default()).await?;
    let took = wait_for(&copies, |copy| holds(copy, "second")).await?;
    say(&format!("$ kubectl delete secret {SECRET} -n {NAMESPACE}"));
    say(&format!("    it is back, {took}"));

    let skip = serde_json::json!({ "metadata": { "labels": { "registry-secret.boathook.dev/skip": "true" } } });
    namespaces.patch(NAMESPACE, &PatchParams::default(), &Patch::Merge(skip)).await?;
    let took = wait_for(&copies, |copy| copy.is_none()).await?;
    say(&format!("$ kubectl label namespace {NAMESPACE} registry-secret.boathook.dev/skip=true"));
    say(&format!("    the copy is gone, {took}"));
    Ok(())
}

fn named(name: &str) -> Namespace {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    namespace
}

fn secret(password: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(SECRET.to_owned());
    secret.data = Some([("password".to_owned(), ByteString(password.as_bytes().to_vec()))].into());
    secret
}

fn holds(copy: Option<&Secret>, password: &str) -> bool {
    let data = copy.and_then(|copy| copy.data.as_ref()?.get("password"));
    data.is_some_and(|value| value.0 == password.as_bytes())
}

/// How long it took until the copy was as expected.
async fn wait_for(copies: &Api<Secret>, wanted: impl Fn(Option<&Secret>) -> bool) -> anyhow::Result<String> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if wanted(copies.get_opt(SECRET).await?.as_ref()) {
            return Ok(format!("{:.1} ms later", started.elapsed().as_secs_f64() * 1e3));
        }
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    bail!("the hook did nothing for {PATIENCE:?}; run `boathook serve` with --log-level debug to see why")
}

async fn keep(cluster: &Cluster, directory: &Path, stop: &mut Stop) -> anyhow::Result<()> {
    let file = directory.join("kubeconfig");
    write_kubeconfig(&file, &cluster.kubeconfig())?;
    println!("\ngoes on until Ctrl-C; try\n  kubectl --kubeconfig {} create namespace team-b", file.display());
    stop.requested().await;
    Ok(())
}
