//! What manifests cannot hold of the structure: siblings import each other in no circle, each file says what it is, and each
//! long-lived task is supervised. Which crate may use which is in their manifests, and the compiler holds it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::visit::{self, Visit};

const ROOTS: [&str; 12] = [
    "src",
    "cluster/src",
    "crates/applyset/src",
    "crates/author/src",
    "crates/bundle/src",
    "crates/cel/src",
    "crates/core/src",
    "crates/egress/src",
    "crates/kube/src",
    "crates/modules/src",
    "crates/operator/src",
    "crates/sandbox/src",
];

/// The names of a module, from its crate's root.
type Module = Vec<String>;

struct Source {
    /// From the root of the repository.
    path: PathBuf,
    module: Module,
    text: String,
}

impl Source {
    fn new(path: &Path, below: &Path, text: String) -> Self {
        let mut module: Module =
            below.with_extension("").components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            module.pop();
        }
        Self { path: path.to_owned(), module, text }
    }

    /// The file without its inline tests.
    fn code(&self) -> &str {
        self.text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
    }

    /// Files of nothing but tests.
    fn is_test(&self) -> bool {
        let parts = ["tests", "tests.rs", "testing", "testing.rs"];
        self.path.components().any(|part| parts.iter().any(|name| part.as_os_str() == *name))
    }

    /// The paths that the code names, each from its crate's root.
    fn names(&self) -> Vec<Module> {
        let file = syn::parse_file(self.code()).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        let mut named = Named { module: self.module.clone(), paths: Vec::new() };
        named.visit_file(&file);
        named.paths
    }
}

struct Named {
    module: Module,
    paths: Vec<Module>,
}

impl Named {
    /// Takes a path that begins with `crate`, `self` or `super`. Others are of other crates, or were imported by one of these.
    fn take(&mut self, path: &[String]) {
        let mut at = match path.first().map(String::as_str) {
            Some("crate") => Module::new(),
            Some("self" | "super") => self.module.clone(),
            _ => return,
        };
        for part in path {
            match part.as_str() {
                "crate" | "self" => {}
                "super" => drop(at.pop()),
                _ => at.push(part.clone()),
            }
        }
        self.paths.push(at);
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.take(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.take(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.take(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|one| self.tree(before, one)),
        }
    }
}

impl<'file> Visit<'file> for Named {
    fn visit_item_use(&mut self, item: &'file syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'file syn::Path) {
        let parts: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.take(&parts);
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, item: &'file syn::ItemMod) {
        let tests = item.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
        });
        if !tests {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }
}

fn sources() -> Vec<Source> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for root in ROOTS {
        let root = repository.join(root);
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(&path).unwrap();
                    let below = path.strip_prefix(&root).unwrap();
                    found.push(Source::new(path.strip_prefix(repository).unwrap(), below, text));
                }
            }
        }
    }
    assert!(found.len() > 300, "found only {} files", found.len());
    found
}

/// Siblings that import each other, each circle with the paths that make it. A parent and its child may.
fn circles(sources: &[&Source]) -> BTreeSet<String> {
    let known: BTreeSet<&Module> = sources.iter().map(|source| &source.module).collect();
    // Of each parent, what its children, with all that is in them, import of one another.
    let mut edges: BTreeMap<Module, BTreeMap<String, BTreeMap<String, PathBuf>>> = BTreeMap::new();
    for source in sources {
        for mut path in source.names() {
            while !known.contains(&path) && path.pop().is_some() {}
            let shared = path.iter().zip(&source.module).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (source.module.get(shared), path.get(shared)) {
                let of = edges.entry(path[..shared].to_vec()).or_default().entry(from.clone()).or_default();
                of.entry(to.clone()).or_insert_with(|| source.path.clone());
            }
        }
    }
    let reaches = |of: &BTreeMap<String, BTreeMap<String, PathBuf>>, from: &str, to: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(at) = next.pop() {
            for name in of.get(&at).into_iter().flatten().map(|(name, _)| name) {
                if name == to {
                    return true;
                }
                if seen.insert(name.clone()) {
                    next.push(name.clone());
                }
            }
        }
        false
    };
    let mut found = BTreeSet::new();
    for (parent, of) in &edges {
        for (from, imported) in of {
            for (to, file) in imported.iter().filter(|(to, _)| reaches(of, to, from)) {
                found.insert(format!("{}: {from} imports {to} ({})", parent.join("::"), file.display()));
            }
        }
    }
    found
}

#[test]
fn siblings_import_each_other_in_no_circle() {
    let all = sources();
    let mut problems = Vec::new();
    for root in ROOTS {
        let of: Vec<_> = all.iter().filter(|source| source.path.starts_with(root) && !source.is_test()).collect();
        problems.extend(circles(&of).into_iter().map(|circle| format!("{root} {circle}")));
    }
    assert!(problems.is_empty(), "these are in circles:\n{}", problems.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let source = |path: &str, text: &str| Source::new(Path::new(path), Path::new(path), text.to_owned());
    let child = source("a/b.rs", "use super::Parent;");
    let parent = source("a/mod.rs", "mod b;\npub use self::b::Child;");
    assert!(circles(&[&parent, &child]).is_empty(), "a module and its own child");
    let one = source("a.rs", "use crate::{c::d::{E, F}, x};");
    let deep = source("c/d.rs", "fn f() -> super::super::g::H {}");
    let back = source("g.rs", "use super::a as other;");
    let tests = source("c/mod.rs", "mod d;\n#[cfg(test)]\nmod inner { use crate::a; }");
    let found = circles(&[&one, &deep, &back, &tests]);
    let found: Vec<_> = found.iter().map(String::as_str).collect();
    assert_eq!(found, [": a imports c (a.rs)", ": c imports g (c/d.rs)", ": g imports a (g.rs)"]);
}

#[test]
fn every_file_says_what_it_is() {
    let all = sources();
    let silent: Vec<_> =
        all.iter().filter(|source| !source.text.starts_with("//! ")).map(|source| source.path.display()).collect();
    assert!(silent.is_empty(), "these do not open with `//!`: {silent:?}");
}

/// Who starts tasks or threads without telling `tasks`, and why nobody needs to know when they end.
const UNSUPERVISED: [(&str, &str); 21] = [
    ("crates/cel/src/source.rs", "joined by the call that starts it"),
    ("crates/operator/src/app/bundles/mod.rs", "awaited by the call that starts it"),
    ("crates/operator/src/app/shadows.rs", "one run that is compared, after which it ends"),
    ("crates/operator/src/app/modules/mod.rs", "steps of modules, which their driver awaits"),
    ("crates/operator/src/app/hook_tasks.rs", "tasks of a hook, which HookTasks restarts"),
    ("crates/operator/src/app/hook_manager.rs", "awaited by the call that starts it"),
    ("crates/core/src/child.rs", "deadlines and work of a child process"),
    ("src/cmd/replay/mod.rs", "awaited by the call that starts it"),
    ("crates/operator/src/admin/client.rs", "a connection of a command"),
    ("crates/operator/src/hookbundle/reconciler/mod.rs", "awaited by the reconciler that starts it"),
    ("crates/core/src/queue/runner.rs", "runs, which the driver awaits"),
    ("crates/operator/src/app/modules/charts/release.rs", "a timer of one release, which sleeps and reports"),
    ("crates/operator/src/app/reconcile/sets.rs", "a timer of one parent, which sleeps and pushes a trigger"),
    ("crates/operator/src/app/reconcile/strays.rs", "one list, after which it ends"),
    ("crates/sandbox/src/turns.rs", "awaited by the call that starts it"),
    ("crates/core/src/tasks.rs", "all the others"),
    ("crates/egress/src/reach.rs", "one look-up of a name, which counts until it ends"),
    ("crates/operator/src/telemetry/log.rs", "sets a log level back once"),
    ("crates/kube/src/watch/stream.rs", "awaited by the stream, which ends with them"),
    ("crates/kube/src/watch/streams.rs", "a stream, which restarts when it has a subscriber"),
    ("crates/operator/src/connections.rs", "connections, each its client's affair"),
];

#[test]
fn whatever_lives_long_is_supervised() {
    let starts = ["tokio::spawn(", "thread::Builder", "thread::spawn(", "JoinSet::new("];
    let own = |source: &&Source| !source.is_test() && !source.path.starts_with("cluster");
    let all = sources();
    let found = all.iter().filter(own).filter(|source| starts.iter().any(|start| source.code().contains(start)));
    let found: BTreeSet<_> = found.map(|source| source.path.display().to_string()).collect();
    let known: BTreeSet<_> = UNSUPERVISED.iter().map(|(path, _)| (*path).to_owned()).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(
        new.is_empty(),
        "start it by crates/core/src/tasks.rs, or say here why nobody needs to know when it ends: {new:?}"
    );
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "nothing is started in these any more: {gone:?}");
}
