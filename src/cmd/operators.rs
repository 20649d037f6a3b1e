//! `boathook operators`: the revisions of a custom resource's children in a cluster, and rollbacks.

use std::process::ExitCode;

use boathook_operator::app::{KeptRevision, RevisionsOfParent};
use serde_json::{Value, json};

use super::{
    connect,
    runtime::block_on,
    table::{aligned, unified},
};
use crate::cli::operators::{Diff, History, Operators, OperatorsCommand, Parent, Rollback};

/// The characters of a digest that are shown to people.
const DIGEST: usize = 12;

pub(super) fn run(args: Operators) -> ExitCode {
    let done = match args.command {
        OperatorsCommand::History(args) => history(&args),
        OperatorsCommand::Diff(args) => diff(&args),
        OperatorsCommand::Rollback(args) => rollback(&args),
    };
    super::exit_code(done)
}

async fn find(of: &Parent) -> anyhow::Result<RevisionsOfParent> {
    let (client, _) = connect::client(&of.connection).await?;
    let namespace = of.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
    Ok(RevisionsOfParent::find(client, &of.parent, &namespace).await?)
}

/// Always true.
fn history(args: &History) -> anyhow::Result<bool> {
    let all = block_on(async { Ok(find(&args.of).await?.history()?) })?;
    let row = |one: &KeptRevision| {
        json!({
            "revision": one.revision,
            "time": one.time,
            "generation": one.generation,
            "digest": one.digest,
            "whole": one.whole,
            "current": one.current,
        })
    };
    let rows: Vec<Value> = all.iter().map(row).collect();
    super::print(args.output, &Value::Array(rows), || table(&all))?;
    Ok(true)
}

fn table(all: &[KeptRevision]) -> String {
    let mut rows = vec![["REVISION", "TIME", "GENERATION", "DIGEST", "CURRENT"].map(str::to_owned)];
    for one in all {
        let digest = match (&one.digest, one.whole) {
            (Some(digest), true) => digest.chars().take(DIGEST).collect(),
            _ => "damaged".to_owned(),
        };
        let current = if one.current { "*" } else { "" };
        rows.push([one.revision.to_string(), one.time.clone(), one.generation.to_string(), digest, current.to_owned()]);
    }
    aligned(&rows)
}

/// Whether nothing differs.
fn diff(args: &Diff) -> anyhow::Result<bool> {
    let (from, to, changed) = block_on(async { Ok(find(&args.of).await?.diff(args.from, args.to)?) })?;
    let (before, after) = (format!("REVISION-{from}"), format!("REVISION-{to}"));
    changed.iter().for_each(|changed| print!("{}", unified(changed, [&before, &after])));
    Ok(changed.is_empty())
}

/// Always true.
fn rollback(args: &Rollback) -> anyhow::Result<bool> {
    let parent = &args.of.parent;
    block_on(async {
        let of = find(&args.of).await?;
        if args.end {
            of.end_rollback().await?;
            println!("the operator is asked to apply what the hook returns for {parent}");
        } else {
            let to = of.roll_back(args.to).await?;
            println!("the operator is asked to apply the children of revision {to} of {parent}");
        }
        Ok(true)
    })
}
