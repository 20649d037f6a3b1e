//! Reviews over TLS: a hook that allows everything, and `image-policy` with its snapshot, beside a webhook in
//! native Rust that does the same. Asked as the API server does: HTTP/1.1 on connections that stay.
//!
//! The API server takes no part: what it adds is the same for both.

mod client;
mod native;
mod reviews;

use std::{ffi::OsString, path::Path, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::{
    admissionregistration::v1::ValidatingWebhookConfiguration,
    core::v1::{ConfigMap, Namespace},
};
use kube::{Api, api::PostParams};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use self::client::{Client, Series};
use crate::{
    Paths,
    backend::Backend,
    contender::{Contender, Job, Kind},
    report::{Report, Rounds},
    stats::{ms, us},
};

pub use native::serve;

const CONNECTIONS: usize = 16;
/// Reviews of a series; half as many warm up.
const ALONE: usize = 5_000;
const TOGETHER: usize = 16_000;

/// Where both answer.
const NOOP: &str = "/validate/allow/everything.allow.test";
const POLICY: &str = "/validate/image-policy/image-policy.boathook.dev";
/// The policy's name, and the namespace of the Pods.
const POLICIES: &str = "image-policy";
const NAMESPACE: &str = "web";

/// What one round gave of one contender.
pub struct Figures {
    noop: Pair,
    policy: Pair,
}

struct Pair {
    alone: Series,
    together: Series,
}

type Figure = fn(&Figures) -> f64;

/// What the report shows of a series.
const ROWS: [(&str, &str, &str, Figure); 16] = [
    ("review by a no-op hook over TLS, p50", "ms", "≤ bare + 0.3 ms", |f| ms(f.noop.alone.times.p50)),
    ("– p99", "ms", "", |f| ms(f.noop.alone.times.p99)),
    ("– reviews", "/s", "", |f| f.noop.alone.rate),
    ("– CPU time of the webhook for each", "µs", "", |f| us(f.noop.alone.cpu)),
    ("– over 16 connections: p50", "ms", "", |f| ms(f.noop.together.times.p50)),
    ("– p99", "ms", "", |f| ms(f.noop.together.times.p99)),
    ("– reviews", "/s", "", |f| f.noop.together.rate),
    ("– CPU time of the webhook for each", "µs", "", |f| us(f.noop.together.cpu)),
    ("review by `image-policy` over TLS, p50", "ms", "≤ bare + 0.3 ms", |f| ms(f.policy.alone.times.p50)),
    ("– p99", "ms", "", |f| ms(f.policy.alone.times.p99)),
    ("– reviews", "/s", "", |f| f.policy.alone.rate),
    ("– CPU time of the webhook for each", "µs", "", |f| us(f.policy.alone.cpu)),
    ("– over 16 connections: p50", "ms", "", |f| ms(f.policy.together.times.p50)),
    ("– p99", "ms", "", |f| ms(f.policy.together.times.p99)),
    ("– reviews", "/s", "", |f| f.policy.together.rate),
    ("– CPU time of the webhook for each", "µs", "", |f| us(f.policy.together.cpu)),
];

/// Adds the table's rows.
pub fn report(report: &mut Report, rounds: &Rounds<Figures>) {
    for (what, unit, hold, figure) in ROWS {
        report.compare(what, unit, hold, rounds, figure);
    }
}

/// Measures one round of one contender.
pub async fn measure(kind: Kind, paths: &Paths) -> Result<Figures> {
    let backend = Backend::start(paths).await?;
    write_policy(&backend).await?;
    let certificates = tempfile::tempdir()?;
    let authority = issue(certificates.path())?;
    let (contender, address) = start(kind, paths, &backend, certificates.path()).await?;
    let mut client = Client::new(&address, &authority)?;
    if kind == Kind::Boathook {
        for (path, hook) in [(NOOP, "allow"), (POLICY, POLICIES)] {
            client.register(path, registered(&backend, hook).await?);
        }
    }
    decides(&client).await?;
    let series = async |path, body: &str, connections, reviews| {
        let cpu = || contender.process.cpu();
        client.series(path, body, connections, reviews, cpu).await.with_context(|| format!("{kind:?} {path}"))
    };
    let pair = async |path, body: String| {
        let alone = series(path, &body, 1, ALONE).await?;
        anyhow::Ok(Pair { alone, together: series(path, &body, CONNECTIONS, TOGETHER).await? })
    };
    Ok(Figures { noop: pair(NOOP, reviews::config_map()).await?, policy: pair(POLICY, reviews::pod(ALLOWED)).await? })
}

const ALLOWED: &str = "registry.example.com/team/web:1.29";
const DENIED: &str = "registry.example.com/other/web:1.29";

/// The path of the hook's webhook, with its secret part, once it is registered.
async fn registered(backend: &Backend, hook: &str) -> Result<String> {
    const BETWEEN: Duration = Duration::from_millis(100);
    const TRIES: usize = 600;
    let all: Api<ValidatingWebhookConfiguration> = Api::all(backend.client.clone());
    for _ in 0..TRIES {
        let found = all.get_opt(&format!("boathook-{hook}")).await?;
        let webhook = found.and_then(|found| found.webhooks?.into_iter().next());
        if let Some(url) = webhook.and_then(|webhook| webhook.client_config.url) {
            return Ok(url.strip_prefix(NOWHERE).context("it is registered elsewhere")?.to_owned());
        }
        tokio::time::sleep(BETWEEN).await;
    }
    bail!("hook {hook} was not registered")
}

/// Registered at a port where nobody is: the API server has nothing to ask.
const NOWHERE: &str = "https://127.0.0.1:9";

/// Contenders that don't decide aren't compared.
async fn decides(client: &Client) -> Result<()> {
    let questions = [
        (POLICY, reviews::pod(ALLOWED), true),
        (POLICY, reviews::pod(DENIED), false),
        (NOOP, reviews::config_map(), true),
    ];
    for (path, review, allowed) in questions {
        let answer = client.ask(path, &review).await?;
        let found = answer.pointer("/response/allowed").and_then(serde_json::Value::as_bool);
        ensure!(found == Some(allowed), "{path} answered {answer}");
    }
    Ok(())
}

async fn write_policy(backend: &Backend) -> Result<()> {
    let namespaces: Api<Namespace> = Api::all(backend.client.clone());
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(NAMESPACE.to_owned());
    namespaces.create(&PostParams::default(), &namespace).await?;
    let policies: Api<ConfigMap> = Api::namespaced(backend.client.clone(), NAMESPACE);
    let mut policy = ConfigMap::default();
    policy.metadata.name = Some(POLICIES.to_owned());
    let places = "registry.example.com/team # ours\nmirror.example.com\nquay.example.com/base\n";
    policy.data = Some([("registries".to_owned(), places.to_owned())].into());
    policies.create(&PostParams::default(), &policy).await?;
    Ok(())
}

async fn start(kind: Kind, paths: &Paths, backend: &Backend, certificates: &Path) -> Result<(Contender, String)> {
    let certificates = certificates.as_os_str().to_owned();
    let url = format!("--webhook-url={NOWHERE}");
    let flags = ["--webhook-listen=127.0.0.1:0", &url, "--webhook-certs"];
    let job = Job {
        hooks: vec![("allow".to_owned(), "test/allow.wasm"), (POLICIES.to_owned(), "image-policy.wasm")],
        flags: flags.map(OsString::from).into_iter().chain([certificates.clone()]).collect(),
        bare: "bare-webhook",
        arguments: vec![certificates],
    };
    let mut contender = Contender::start(kind, paths, backend, &job).await?;
    let address = contender.process.wait_for("the webhooks' address", async |log| log.lines().find_map(served)).await?;
    Ok((contender, address))
}

/// What both say once they serve.
const SERVED: &str = "webhooks served";

fn served(line: &str) -> Option<String> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    line.get("message").filter(|message| *message == SERVED)?;
    Some(line.get("listen")?.as_str()?.to_owned())
}

/// Puts a certificate into `dir`, as a mounted Secret has it; its authority in PEM.
fn issue(dir: &Path) -> Result<String> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let authority = params.self_signed(&key)?.pem();
    let (issuer, key) = (Issuer::new(params, key), KeyPair::generate()?);
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&key, &issuer)?;
    let files = [("ca.crt", &authority), ("tls.crt", &certificate.pem()), ("tls.key", &key.serialize_pem())];
    for (name, text) in files {
        std::fs::write(dir.join(name), text)?;
    }
    Ok(authority)
}
