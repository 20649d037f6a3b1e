//! `--check`: asks the cluster for each access whether it is allowed. It changes nothing in the cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    time::Duration,
};

use anyhow::{Context as _, bail};
use boathook_author::rbac::{self, Access, Asker, Layout, Place, Reason, Rule, Who};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use serde_json::{Value, json};

use super::{Subject, report};
use crate::{cli::rbac::Rbac, cmd::connect};

const PATIENCE: Duration = Duration::from_secs(15);
const AT_A_TIME: usize = 16;

type Missing = BTreeMap<Who, BTreeMap<Access, BTreeSet<Reason>>>;

/// Whether nothing is missing.
pub(super) async fn run(args: &Rbac, subject: &Subject) -> anyhow::Result<bool> {
    let needs = subject.needs()?;
    let (client, server) = connect::client(&args.connection).await?;
    let questions = needs.of.iter().flat_map(|(who, all)| all.iter().map(move |one| (who, one)));
    let asked = stream::iter(questions.map(|(who, (access, reasons))| {
        let (client, asker) = (&client, asker(args, &subject.layout, who));
        async move {
            let answer = ask(client, &asker, access).await;
            let allowed = answer.with_context(|| format!("cannot ask whether {} may {access}", name(&asker)))?;
            anyhow::Ok((!allowed).then_some((who, access, reasons)))
        }
    }));
    let refused: Vec<_> = asked.buffered(AT_A_TIME).try_collect().await.with_context(|| server.clone())?;
    let mut missing = Missing::new();
    for (who, access, reasons) in refused.into_iter().flatten() {
        missing.entry(who.clone()).or_default().insert(access.clone(), reasons.clone());
    }
    report(args, &data(args, subject, needs.len(), &missing), &text(args, subject, &server, needs.len(), &missing))?;
    Ok(missing.is_empty())
}

fn asker(args: &Rbac, layout: &Layout, who: &Who) -> Asker {
    match (who, &args.user) {
        (Who::Host, None) => Asker::Myself,
        (Who::Host, Some(user)) => Asker::User(user.clone()),
        (Who::Hook(_) | Who::Tenant(_), _) => Asker::User(layout.user(who)),
    }
}

fn name(asker: &Asker) -> &str {
    match asker {
        Asker::Myself => "the user of the kubeconfig",
        Asker::User(user) => user,
    }
}

async fn ask(client: &Client, asker: &Asker, access: &Access) -> anyhow::Result<bool> {
    let (path, body) = rbac::review(asker, access);
    let request = http::Request::post(path).header("content-type", "application/json");
    let answer = client.request::<Value>(request.body(body.to_string().into_bytes())?);
    let answer =
        tokio::time::timeout(PATIENCE, answer).await.with_context(|| format!("no answer within {PATIENCE:?}"))??;
    match rbac::allowed(&answer) {
        Some(allowed) => Ok(allowed),
        None => bail!("the API server did not answer: does it authorize requests?"),
    }
}

fn text(args: &Rbac, subject: &Subject, server: &str, asked: usize, missing: &Missing) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    if missing.is_empty() {
        let namespace = &subject.layout.namespace;
        let _ = writeln!(
            out,
            "nothing is missing: all {asked} accesses of an operator in namespace {namespace} are allowed on {server}"
        );
        return out;
    }
    for (who, accesses) in missing {
        let asker = asker(args, &subject.layout, who);
        let _ = writeln!(out, "{} may not, and should:", name(&asker));
        for (place, rules) in rbac::rules(accesses) {
            for rule in rules {
                let _ = writeln!(out, "  {}", line(&place, &rule));
                for reason in &rule.reasons {
                    let _ = writeln!(out, "      {reason}");
                }
            }
        }
    }
    let count: usize = missing.values().map(BTreeMap::len).sum();
    let _ = writeln!(
        out,
        "{count} of {asked} accesses are missing; `boathook rbac --namespace {}` without --check prints the roles to apply",
        subject.layout.namespace
    );
    out
}

/// `list, watch secrets named a in namespace b`
fn line(place: &Place, rule: &Rule) -> String {
    let mut line = format!("{} {}", rule.verbs.join(", "), rule.resources.join(", "));
    let groups: Vec<_> =
        rule.groups.iter().map(|group| if group.is_empty() { "the core group" } else { group }).collect();
    if rule.groups != [""] {
        let _ = write!(line, " of {}", groups.join(", "));
    }
    if !rule.names.is_empty() {
        let _ = write!(line, " named {}", rule.names.join(", "));
    }
    match place {
        Place::Cluster => line + " in the whole cluster",
        Place::Namespace(namespace) => line + " in namespace " + namespace,
    }
}

fn data(args: &Rbac, subject: &Subject, asked: usize, missing: &Missing) -> Value {
    let entries = missing.iter().flat_map(|(who, accesses)| {
        let asker = asker(args, &subject.layout, who);
        accesses.iter().map(move |(access, reasons)| entry(&asker, access, reasons))
    });
    json!({ "namespace": subject.layout.namespace, "asked": asked, "missing": entries.collect::<Vec<_>>() })
}

fn entry(asker: &Asker, access: &Access, reasons: &BTreeSet<Reason>) -> Value {
    let user = match asker {
        Asker::Myself => None,
        Asker::User(user) => Some(user),
    };
    json!({
        "user": user,
        "namespace": access.place.namespace(),
        "verb": access.verb,
        "apiGroup": access.group,
        "resource": access.resource,
        "name": access.name,
        "for": reasons.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
