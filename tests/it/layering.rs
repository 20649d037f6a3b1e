//! The architecture, as a test: who may import what, how long a file may be, how it opens.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each module of `src/`, and the modules that it may import.
const MAY_IMPORT: [(&str, &[&str]); 30] = [
    ("model", &["fair"]),
    ("fair", &[]),
    ("child", &[]),
    ("connections", &[]),
    ("tasks", &[]),
    ("memory", &["fair"]),
    ("effect", &["model"]),
    ("discovery", &["model"]),
    ("election", &["model", "tasks"]),
    ("hooks", &["model"]),
    ("watch", &["fair", "model"]),
    ("filter", &["model", "fair", "child", "memory"]),
    ("queue", &["model", "fair", "tasks"]),
    ("sandbox", &["model", "fair", "child", "memory", "tasks"]),
    ("access", &["model", "fair", "discovery", "effect", "election"]),
    ("record", &["model", "sandbox", "tasks"]),
    ("telemetry", &["connections", "model", "fair", "memory", "tasks"]),
    ("webhook", &["connections", "model", "fair", "tasks"]),
    ("admin", &["model", "tasks"]),
    ("author", &["model"]),
    ("bundle", &["model", "fair"]),
    ("hookbundle", &["model", "fair", "bundle", "election", "tasks"]),
    ("rbac", &["model"]),
    ("registration", &["model", "fair", "tasks"]),
    ("cli", &[]),
    (
        "app",
        &[
            "model",
            "fair",
            "child",
            "memory",
            "effect",
            "discovery",
            "election",
            "hooks",
            "watch",
            "filter",
            "queue",
            "sandbox",
            "tasks",
            "access",
            "record",
            "registration",
            "telemetry",
            "admin",
            "webhook",
        ],
    ),
    ("dev", &["admin", "app", "author", "effect", "model"]),
    ("scenario", &["app", "model", "hooks", "sandbox", "telemetry", "webhook"]),
    (
        "cmd",
        &[
            "fair",
            "admin",
            "app",
            "author",
            "bundle",
            "child",
            "memory",
            "cli",
            "dev",
            "effect",
            "election",
            "hookbundle",
            "model",
            "hooks",
            "filter",
            "rbac",
            "record",
            "registration",
            "sandbox",
            "scenario",
            "tasks",
            "telemetry",
        ],
    ),
    ("main", &["cmd", "cli", "model"]),
];

/// Paths into other crates that only some modules may name.
const ONLY_IN: [(&str, &[&str]); 11] = [
    ("wasmtime::", &["sandbox"]),
    ("wasmtime_wasi::", &["sandbox"]),
    ("clap::", &["cli", "main"]),
    ("jaq_core::", &["filter"]),
    ("kube::Client", KUBERNETES),
    ("kube::Error", KUBERNETES),
    ("kube::Config", &["cmd", "scenario"]),
    ("axum::", &["telemetry", "admin", "webhook"]),
    ("prometheus::", &["telemetry"]),
    ("ring::", &["bundle", "model", "webhook"]),
    ("rustls::", &["bundle"]),
];

const KUBERNETES: &[&str] =
    &["discovery", "election", "watch", "webhook", "access", "hookbundle", "registration", "app", "scenario", "cmd"];

/// Lines of a file, its tests left out.
const MAX_LINES: usize = 400;

struct Source {
    module: String,
    path: PathBuf,
    text: String,
}

impl Source {
    /// The file without its inline tests.
    fn code(&self) -> &str {
        self.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
    }

    /// Files of nothing but tests.
    fn is_test(&self) -> bool {
        self.path
            .components()
            .any(|part| ["tests", "tests.rs", "testing.rs"].iter().any(|name| part.as_os_str() == *name))
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut report = |what: String| problems.push(format!("{}: {what}", self.path.display()));
        if !self.text.starts_with("//! ") {
            report("does not open with `//!`: say what it does, then what it never does".into());
        }
        let lines = self.code().lines().count();
        if lines > MAX_LINES && !self.is_test() {
            report(format!("has {lines} lines without its tests; {MAX_LINES} are allowed"));
        }
        let allowed = MAY_IMPORT.iter().find(|(module, _)| *module == self.module).map(|(_, allowed)| *allowed);
        match allowed {
            None => report("belongs to a module that the table in tests/it/layering.rs does not know".into()),
            Some(allowed) => imports(self.code())
                .filter(|import| *import != self.module && !allowed.contains(import))
                .for_each(|import| report(format!("{} may not import {import}", self.module))),
        }
        for (path, places) in ONLY_IN {
            if names(self.code(), path) && !places.contains(&self.module.as_str()) {
                report(format!("only {places:?} may name {path}"));
            }
        }
        problems
    }
}

/// Modules of this crate that the code names, in paths or in grouped imports.
fn imports(code: &str) -> impl Iterator<Item = &str> {
    // Only main.rs names the library from outside; elsewhere `boathook::` is the WIT package's.
    let direct = ["crate::", "use boathook::"].into_iter().flat_map(move |root| {
        code.match_indices(root)
            .filter(move |(at, _)| !continues_a_path(code, *at))
            .map(move |(at, _)| &code[at + root.len()..])
    });
    direct.flat_map(|rest| match rest.strip_prefix('{') {
        Some(group) => top_level(group),
        None => vec![word(rest)],
    })
}

/// The first words of `a::b, c, d::{e, f}, …}`.
fn top_level(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                found.push(word(group[start..at].trim_start()));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

fn continues_a_path(code: &str, at: usize) -> bool {
    code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':'))
}

fn names(code: &str, path: &str) -> bool {
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.into_iter().any(|line| line.match_indices(path).any(|(at, _)| !continues_a_path(line, at)))
}

fn sources(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let first = path.strip_prefix(root).unwrap().components().next().unwrap();
                let module = first.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned();
                found.push(Source { module, text: fs::read_to_string(&path).unwrap(), path });
            }
        }
    }
    found
}

#[test]
fn every_file_keeps_to_its_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sources = sources(&root);
    assert!(sources.len() > 20, "found only {} files under {}", sources.len(), root.display());
    let checked = sources.iter().filter(|source| source.module != "lib");
    let problems: Vec<_> = checked.flat_map(Source::problems).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

/// The check finds what it is for.
#[test]
fn a_file_out_of_place_is_found() {
    let bad = |module: &str, text: &str| {
        Source { module: module.into(), path: "x.rs".into(), text: text.into() }.problems().join("; ")
    };
    assert_eq!(bad("filter", "//! Fine.\nuse crate::model::Trigger;\n"), "");
    assert!(bad("watch", "//! x\nuse crate::queue::Runner;\n").contains("watch may not import queue"));
    assert!(
        bad("model", "//! x\nuse crate::{\n    filter::Program,\n    model::{Item, Items},\n};\n")
            .contains("may not import filter")
    );
    assert!(bad("queue", "//! x\nfn f() -> wasmtime::Engine {}\n").contains("only [\"sandbox\"]"));
    assert!(bad("queue", "fn f() {}\n").contains("does not open"));
    assert!(bad("queue", &format!("//! x\n{}", "\n".repeat(500))).contains("lines without its tests"));
    assert!(bad("new", "//! x\n").contains("does not know"));
}

/// Who starts tasks or threads without telling `tasks`, and why nobody needs to know when they end.
const UNSUPERVISED: [(&str, &str); 18] = [
    ("app/bundles/mod.rs", "awaited by the call that starts it"),
    ("app/crew.rs", "members of a crew, which begins them anew"),
    ("app/replace.rs", "awaited by the call that starts it"),
    ("child.rs", "deadlines and work of a child process"),
    ("cmd/replay/mod.rs", "awaited by the call that starts it"),
    ("admin/client.rs", "a connection of a command"),
    ("filter/evaluator/slot.rs", "ends an idle worker"),
    ("filter/jq/compile.rs", "joined by the call that starts it"),
    ("filter/worker/child.rs", "the work of a child process"),
    ("hookbundle/fetch.rs", "awaited by the keeper that starts it"),
    ("queue/runner.rs", "runs, which the driver awaits"),
    ("sandbox/turns.rs", "awaited by the call that starts it"),
    ("tasks.rs", "all the others"),
    ("telemetry/server.rs", "connections, each its client's affair"),
    ("telemetry/log/control.rs", "sets a log level back once"),
    ("watch/stream/mod.rs", "awaited by the stream, which ends with them"),
    ("watch/streams.rs", "a stream, which begins anew when somebody is on it"),
    ("webhook/server/mod.rs", "connections, each its client's affair"),
];

#[test]
fn whatever_lives_long_is_supervised() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let starts = ["tokio::spawn(", "thread::Builder", "thread::spawn(", "JoinSet::new("];
    let all = sources(&root);
    let found = all.iter().filter(|source| !source.is_test()).filter_map(|source| {
        let spawns = starts.iter().any(|start| source.code().contains(start));
        spawns.then(|| source.path.strip_prefix(&root).unwrap().display().to_string())
    });
    let found: Vec<_> = found.filter(|path| UNSUPERVISED.iter().all(|(known, _)| path != known)).collect();
    assert!(found.is_empty(), "start it by src/tasks.rs, or say here why nobody needs to know when it ends: {found:?}");
}
