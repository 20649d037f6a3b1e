//! The cases: what they consist of, and reading them.
//! It never sends anything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// Cases that are known to differ, by id, each with its reason.
pub type Known = BTreeMap<String, String>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    #[serde(default)]
    pub ignore: Vec<Ignored>,
    pub steps: Vec<Step>,
    #[serde(skip)]
    pub area: String,
    /// A namespace, and part of cluster-wide names, of the case's own.
    #[serde(skip)]
    pub namespace: String,
}

/// Fields that are not compared: a path in the answers' bodies whose segments may be `*`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ignored {
    pub field: String,
    pub reason: String,
}

/// One request, with what to make of its answer. `{NAME}` stands for a saved value, `{ns}` for the namespace.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    pub get: Option<String>,
    pub post: Option<String>,
    pub put: Option<String>,
    pub patch: Option<String>,
    pub delete: Option<String>,
    /// Opens a watch, plays `during`, and takes `events`.
    pub watch: Option<String>,
    /// Arguments of kubectl; `body` is its stdin.
    pub kubectl: Option<String>,
    /// Content type, or a short name of one.
    pub r#type: Option<String>,
    /// What is accepted, or a short name of it.
    pub accept: Option<String>,
    pub body: Option<Value>,
    /// The user to impersonate.
    pub r#as: Option<String>,
    /// The groups to impersonate.
    pub groups: Vec<String>,
    /// Other headers.
    pub headers: BTreeMap<String, String>,
    /// The bearer token to send instead of the administrator's; the empty one is none.
    pub token: Option<String>,
    /// Names for values at JSON pointers of the answer.
    pub save: BTreeMap<String, String>,
    /// Repeats the request until its answer is like this.
    pub until: Option<Until>,
    /// Compares only these parts of the body; a segment `[KEY=VALUE]` chooses the item of a list.
    pub select: Vec<String>,
    /// Programs the webhook of this name with `body`.
    pub hook: Option<String>,
    /// Creates a configuration of webhooks, and waits until the server heeds it.
    pub configure: Option<Configure>,
    /// Takes what the webhook of this name was sent since the last time.
    pub calls: Option<String>,
    pub during: Vec<Step>,
    pub events: usize,
}

/// A configuration of webhooks; each one's fields win over those that all have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configure {
    /// `Validating` or `Mutating`.
    pub kind: String,
    /// Its name begins with the case's namespace and ends in this.
    #[serde(default)]
    pub name: String,
    /// Fields of the API, with `path`, the name of a programmed webhook, for `clientConfig`.
    pub hooks: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Until {
    pub status: Option<u16>,
    /// Values at paths like those of `select`; null for absent.
    pub at: BTreeMap<String, Value>,
}

impl Case {
    pub fn id(&self) -> String {
        format!("{}/{}", self.area, self.name)
    }
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for area in entries(&package().join("cases")) {
        for file in entries(&area) {
            cases.extend(read(&area, &file));
        }
    }
    cases
}

/// With the variable set nothing is known, so that every difference is shown.
pub fn known() -> Known {
    if std::env::var_os("BOATHOOK_CONFORMANCE_ALL").is_some() {
        return Known::new();
    }
    let text = std::fs::read_to_string(package().join("known.yaml")).expect("read known.yaml");
    let known: Option<Known> = yaml_serde::from_str(&text).expect("known.yaml maps cases to reasons");
    known.unwrap_or_default()
}

/// Refuses namesakes, differences that name no case, and fields left out without a reason.
pub fn check(cases: &[Case], known: &Known) {
    let mut ids = BTreeSet::new();
    for case in cases {
        assert!(ids.insert(case.id()), "two cases are called {:?}", case.id());
        assert!(!case.name.contains('|'), "{:?}: a name is a cell of a table", case.id());
        assert!(case.ignore.iter().all(|i| !i.reason.is_empty()), "{}: say why a field is not compared", case.id());
        let of_body = |ignored: &Ignored| !ignored.field.starts_with("/body");
        assert!(case.ignore.iter().all(of_body), "{}: fields that are not compared are those of the body", case.id());
    }
    let strangers: Vec<&String> = known.keys().filter(|id| !ids.contains(*id)).collect();
    assert!(strangers.is_empty(), "known.yaml names cases that do not exist: {strangers:?}");
}

pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(area: &Path, file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("read a file of cases");
    let mut cases: Vec<Case> =
        yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let (area, stem) = (name_of(area), name_of(file));
    for (number, case) in cases.iter_mut().enumerate() {
        case.area.clone_from(&area);
        case.namespace = format!("{area}-{stem}-{number}");
    }
    cases
}

fn name_of(path: &Path) -> String {
    path.file_stem().expect("an entry has a name").to_string_lossy().into_owned()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(dir).expect("read the directory of cases");
    let mut paths: Vec<PathBuf> = read.map(|entry| entry.expect("read an entry").path()).collect();
    paths.sort();
    paths
}
