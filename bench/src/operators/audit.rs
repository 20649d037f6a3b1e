//! What the API server's audit log says of the contender's requests. Its metrics do not say whose requests they count.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead as _, BufReader, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// Requests by what they did.
pub type Requests = BTreeMap<String, usize>;

/// The log from one place on.
pub struct Mark {
    log: PathBuf,
    from: u64,
}

#[derive(Deserialize)]
struct Line {
    verb: String,
    user: User,
    #[serde(rename = "objectRef", default)]
    object: Object,
    #[serde(rename = "requestURI")]
    uri: String,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Object {
    resource: String,
    subresource: String,
}

impl Mark {
    /// Here and now.
    pub fn now(log: &Path) -> Result<Self> {
        let from = log.metadata().with_context(|| format!("no audit log {}", log.display()))?.len();
        Ok(Self { log: log.to_owned(), from })
    }

    /// The user's requests since then, without watches. The API server writes a line before the client has the answer.
    pub fn requests_of(&self, username: &str) -> Result<Requests> {
        let mut file = File::open(&self.log)?;
        ensure!(file.metadata()?.len() >= self.from, "the API server began another audit log");
        file.seek(SeekFrom::Start(self.from))?;
        let mut requests = Requests::new();
        for line in BufReader::new(file).lines() {
            let Line { verb, user, object, uri } = serde_json::from_str(&line?).context("the audit log")?;
            if user.username == username && verb != "watch" {
                *requests.entry(name(&verb, &object, &uri)).or_default() += 1;
            }
        }
        Ok(requests)
    }
}

fn name(verb: &str, Object { resource, subresource }: &Object, uri: &str) -> String {
    match (resource.is_empty(), subresource.is_empty()) {
        (true, _) => format!("{verb} {}", uri.split('?').next().unwrap_or_default()),
        (false, true) => format!("{verb} {resource}"),
        (false, false) => format!("{verb} {resource}/{subresource}"),
    }
}

/// All of them.
pub fn total(requests: &Requests) -> usize {
    requests.values().sum()
}

/// Each kind and how often, the most frequent first.
pub fn list(requests: &Requests) -> String {
    let mut all: Vec<_> = requests.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let each: Vec<_> = all.into_iter().map(|(name, count)| format!("{count} {name}")).collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}
