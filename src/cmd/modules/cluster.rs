//! `boathook modules` on a cluster: what would change, what was applied, rollbacks, and modules that are turned on and off.

use std::{fmt::Write as _, sync::Arc};

use anyhow::Context as _;
use boathook_core::model::ObjectRef;
use boathook_modules::{Catalogue, Layout, ModuleName};
use boathook_operator::app::{
    ModuleAdoption, ModuleChange, ModulePlanned, ModulePreview, ModuleRevision, ModulesInCluster,
};
use boathook_sandbox::Sandbox;
use serde_json::{Value, json};

use super::read_catalogue;
use crate::{
    cli::modules::{Adopt, Compared, Diff, History, Place, Plan, Rollback, Turn},
    cmd::{
        connect,
        runtime::block_on,
        sandbox,
        table::{aligned, unified},
    },
};

/// The characters of a digest that are shown to people.
const DIGEST: usize = 12;

async fn modules(place: &Place) -> anyhow::Result<ModulesInCluster> {
    let (client, _) = connect::client(&place.connection).await?;
    let namespace = place.namespace.clone().unwrap_or_else(|| client.default_namespace().to_owned());
    Ok(ModulesInCluster::new(client, namespace))
}

fn module(name: &str) -> anyhow::Result<ModuleName> {
    name.parse().with_context(|| format!("{name:?} is not the name of a module"))
}

/// Whether nothing would change.
pub(super) fn plan(args: Plan) -> anyhow::Result<bool> {
    let previews = preview(&args.compared, None)?;
    let rows: Vec<Value> = previews.iter().map(row).collect();
    crate::cmd::print(args.output, &Value::Array(rows), || previews.iter().map(text).collect())?;
    whole(&previews)
}

/// Whether nothing would change.
pub(super) fn diff(args: Diff) -> anyhow::Result<bool> {
    let previews = preview(&args.compared, Some(&module(&args.name)?))?;
    for one in &previews {
        if one.planned == ModulePlanned::Delete {
            eprintln!("boathook: the module {} would be deleted: {}", one.module, one.why);
        }
        one.objects.iter().for_each(|changed| print!("{}", unified(changed, ["APPLIED", "PLANNED"])));
    }
    whole(&previews)
}

/// Whether nothing would change. An error if that is not known.
fn whole(previews: &[ModulePreview]) -> anyhow::Result<bool> {
    let failed = previews.iter().find(|one| one.planned == ModulePlanned::Fail);
    if let Some(one) = failed {
        anyhow::bail!("the module {}: {}", one.module, one.why);
    }
    let stays = |one: &ModulePreview| matches!(one.planned, ModulePlanned::Stay | ModulePlanned::Off);
    Ok(previews.iter().all(stays))
}

fn preview(compared: &Compared, only: Option<&ModuleName>) -> anyhow::Result<Vec<ModulePreview>> {
    let catalogue = directories(compared)?;
    let sandbox = sandbox::config(None)?;
    let (previews, problems) = block_on(async {
        let modules = modules(&compared.place).await?;
        let sandbox = Arc::new(Sandbox::new(sandbox)?);
        Ok(modules.preview(&catalogue, &compared.config.modules_config_map, sandbox, only).await?)
    })?;
    for problem in problems {
        eprintln!("boathook: warning: {problem}");
    }
    Ok(previews)
}

fn directories(compared: &Compared) -> anyhow::Result<Catalogue> {
    read_catalogue(&Layout {
        modules: compared.modules.clone(),
        global: compared.global_hooks.clone(),
        unnumbered: compared.unnumbered_order,
        strict: compared.strict,
        ..Layout::default()
    })
}

/// Whether nothing stands in the way.
pub(super) fn adopt(args: Adopt) -> anyhow::Result<bool> {
    let names = args.names.iter().map(|name| module(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let (compared, catalogue) = (&args.compared, directories(&args.compared)?);
    let sandbox = sandbox::config(None)?;
    block_on(async {
        let modules = modules(&compared.place).await?;
        let sandbox = Arc::new(Sandbox::new(sandbox)?);
        let map = &compared.config.modules_config_map;
        let mut free = true;
        // All plans come first, so that a mistake in a later name does not leave half of them taken over.
        let mut all = Vec::new();
        for name in &names {
            all.push(modules.adoption(&catalogue, map, sandbox.clone(), name, &args.manager).await?);
        }
        for adoption in &all {
            print!("{}", takeover(adoption));
            free &= adoption.conflicts.is_empty();
            if args.yes {
                modules.adopt(adoption).await?;
                println!("{}: taken over", adoption.module);
            }
        }
        if !args.yes {
            println!("nothing was written: run the command with --yes to take over");
        }
        Ok(args.yes || free)
    })
}

fn takeover(adoption: &ModuleAdoption) -> String {
    let ModuleAdoption { module, revision, chart, objects, left, next, conflicts, .. } = adoption;
    let count = objects.len();
    let mut shown = format!("{module}: adopt revision {revision} of Helm's release ({chart}), {count} objects\n");
    for (object, why) in left {
        let _ = writeln!(shown, "  not taken over: {object}: {why}");
    }
    let _ = write!(shown, "  then {}", text(next).replace('\n', "\n  ").trim_end());
    shown.push('\n');
    for (object, why) in conflicts {
        let _ = writeln!(shown, "  in the way: {object}: {why}");
    }
    shown
}

fn sign(changed: &ModuleChange) -> (&'static str, &'static str) {
    match (&changed.before, &changed.after) {
        (None, _) => ("+", "create"),
        (_, None) => ("-", "delete"),
        _ => ("~", "change"),
    }
}

fn text(preview: &ModulePreview) -> String {
    let mut text = format!("{}: {} ({})\n", preview.module, preview.planned.shown(), preview.why);
    for changed in &preview.objects {
        let _ = writeln!(text, "  {} {}", sign(changed).0, changed.object);
    }
    for (event, source) in &preview.hooks {
        let _ = writeln!(text, "  hook {event} {source}");
    }
    text
}

fn row(preview: &ModulePreview) -> Value {
    let object = |changed: &ModuleChange| {
        let ObjectRef { api_version, kind, namespace, name } = &changed.object;
        json!({"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name,
            "action": sign(changed).1, "before": changed.before, "after": changed.after})
    };
    let hook = |(event, source): &(&str, String)| json!({"event": event, "template": source});
    json!({
        "module": preview.module.as_str(),
        "action": preview.planned.shown(),
        "why": preview.why,
        "objects": preview.objects.iter().map(object).collect::<Value>(),
        "hooks": preview.hooks.iter().map(hook).collect::<Value>(),
    })
}

/// Always true.
pub(super) fn history(args: History) -> anyhow::Result<bool> {
    let module = module(&args.name)?;
    let history = block_on(async { Ok(modules(&args.place).await?.history(&module).await?) })?;
    let row = |one: &ModuleRevision| {
        json!({
            "revision": one.revision,
            "time": time(one.time),
            "chart": one.chart,
            "digest": one.digest,
            "changed": one.changed,
            "rollbackTo": one.rollback_to,
            "result": one.outcome,
        })
    };
    let rows: Vec<Value> = history.iter().map(row).collect();
    crate::cmd::print(args.output, &Value::Array(rows), || table(&history))?;
    Ok(true)
}

fn table(history: &[ModuleRevision]) -> String {
    let mut rows = vec![["REVISION", "TIME", "CHART", "DIGEST", "CHANGED", "RESULT"].map(str::to_owned)];
    for one in history {
        let causes: Vec<&str> = one.changed.iter().map(|cause| cause.shown()).collect();
        let to = one.rollback_to.map_or_else(String::new, |to| format!(" to {to}"));
        rows.push([
            one.revision.to_string(),
            time(one.time),
            one.chart.clone().unwrap_or_else(|| "-".to_owned()),
            one.digest.chars().take(DIGEST).collect(),
            format!("{}{to}", causes.join(", ")),
            one.outcome.shown().to_owned(),
        ]);
    }
    aligned(&rows)
}

/// In RFC 3339.
fn time(seconds: u64) -> String {
    humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).to_string()
}

/// Always true.
pub(super) fn rollback(args: Rollback) -> anyhow::Result<bool> {
    let module = module(&args.name)?;
    block_on(async {
        let modules = modules(&args.place).await?;
        if args.end {
            modules.end_rollback(&module).await?;
            println!("the operator is asked to apply what the chart of {module} gives");
        } else {
            let to = modules.roll_back(&module, args.to).await?;
            println!("the operator is asked to apply the manifests of revision {to} of {module}");
        }
        Ok(true)
    })
}

/// Always true.
pub(super) fn turn(args: Turn, on: bool) -> anyhow::Result<bool> {
    let (module, map) = (module(&args.name)?, &args.config.modules_config_map);
    block_on(async {
        let changed = modules(&args.place).await?.turn(map, &module, on).await?;
        let what = if on { "on" } else { "off" };
        let again = if changed { "" } else { " already" };
        println!("the ConfigMap {map}{again} turns the module {module} {what}");
        Ok(true)
    })
}
