//! `--check --used`: compares what hooks request with what their runs did. It queries no cluster about rights.

use std::{
    fmt::Write as _,
    fs::File,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use boathook_author::rbac::{self, Evidence, Refused, Usage};
use boathook_core::model::HookName;
use boathook_operator::record::{self, SUFFIX};
use serde_json::{Value, json};

use super::{Subject, report};
use crate::cli::rbac::Rbac;

/// Whether nothing differs.
pub(super) fn run(args: &Rbac, subject: &Subject) -> anyhow::Result<bool> {
    let mut evidence = Evidence::default();
    for file in &args.used {
        let read = if are_in(file) { read } else { read_log };
        read(file, &mut evidence).with_context(|| format!("cannot use {}", file.display()))?;
    }
    for line in &evidence.unreadable {
        eprintln!("warning: passed over: it tells of a write in a way that is not known: {line}");
    }
    let usages = rbac::compare(&subject.hooks, &evidence, &subject.kinds);
    report(args, &data(&usages), &usages.iter().map(text).collect::<String>())?;
    Ok(!usages.iter().any(Usage::differs))
}

fn read_log(file: &Path, evidence: &mut Evidence) -> anyhow::Result<()> {
    let mut reader = BufReader::new(File::open(file)?);
    let (mut line, mut any) = (Vec::new(), false);
    while reader.read_until(b'\n', &mut line)? > 0 {
        any |= evidence.read_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    if !any {
        bail!("no line of it is JSON: `boathook serve --log-format json` writes such a log");
    }
    Ok(())
}

fn text(usage: &Usage) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    let hook = &usage.hook;
    if usage.unknown {
        let _ = writeln!(out, "hook {hook}: no run of it is recorded, so nothing is said of it");
        return out;
    }
    if !usage.differs() {
        let _ = writeln!(out, "hook {hook}: it requests what it used");
        return out;
    }
    let _ = writeln!(out, "hook {hook}:");
    for asked in &usage.unused {
        let what = what(&asked.verb, &asked.resource, &asked.group);
        let _ = writeln!(out, "  unused   permissions.kubernetes[{}]: {what}", asked.index);
    }
    for (refused, times) in &usage.refused {
        let _ = writeln!(out, "  refused  {}", refusal(refused, *times));
    }
    if usage.document_differs() {
        let _ = writeln!(out, "  what its document should ask for:");
        for line in rbac::permissions_yaml(&usage.proposed).lines() {
            let _ = writeln!(out, "    {line}");
        }
    }
    out
}

fn refusal(refused: &Refused, times: u64) -> String {
    let place = refused.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
    let what = what(&refused.verb, &refused.resource, &refused.group);
    let by = if refused.by_cluster {
        "by the cluster: see `boathook rbac --check` without --used"
    } else {
        "by the hook's own permissions"
    };
    format!("{what}{place}, {times}×, {by}")
}

fn what(verb: &str, resource: &str, group: &str) -> String {
    if group.is_empty() { format!("{verb} {resource}") } else { format!("{verb} {resource} of {group}") }
}

fn data(usages: &[Usage]) -> Value {
    let hooks: Vec<_> = usages.iter().map(entry).collect();
    json!({ "hooks": hooks })
}

fn entry(usage: &Usage) -> Value {
    let unused: Vec<_> = usage
        .unused
        .iter()
        .map(|asked| {
            json!({"permission": asked.index, "apiGroup": asked.group, "resource": asked.resource, "verb": asked.verb})
        })
        .collect();
    let refused: Vec<_> = usage
        .refused
        .iter()
        .map(|(refused, times)| {
            json!({
                "apiGroup": refused.group,
                "resource": refused.resource,
                "verb": refused.verb,
                "namespace": refused.namespace,
                "by": if refused.by_cluster { "cluster" } else { "permissions" },
                "times": times,
            })
        })
        .collect();
    let proposed: Value = yaml_serde::from_str(&rbac::permissions_yaml(&usage.proposed)).unwrap_or_default();
    json!({
        "hook": usage.hook.as_str(),
        "recorded": !usage.unknown,
        "unused": unused,
        "refused": refused,
        "permissions": proposed.get("permissions").cloned().unwrap_or_default(),
    })
}

/// Whether a path names records.
pub(super) fn are_in(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(SUFFIX)
}

/// Reads a record, or all records of a directory.
pub(in crate::cmd) fn read(path: &Path, evidence: &mut Evidence) -> anyhow::Result<()> {
    let files = files(path)?;
    if files.is_empty() {
        bail!("it holds no record: no file ends with {SUFFIX}");
    }
    for file in files {
        let record = record::read(&file)?;
        let calls = evidence.of(HookName::new(&record.header.hook)?);
        calls.partial |= record.header.incomplete.is_some();
        record.calls.iter().for_each(|call| calls.recorded(call));
    }
    Ok(())
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).context("it cannot be read")? {
        let file = entry.context("it cannot be read")?.path();
        if file.to_string_lossy().ends_with(SUFFIX) {
            files.push(file);
        }
    }
    Ok(files)
}
