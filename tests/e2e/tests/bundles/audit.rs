//! What the API server says of who asked for what: its own audit log.
//! It never believes what the operator says of itself.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

/// The API server's audit log.
pub struct Audit(pub PathBuf);

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    pub user: String,
    /// As whom, if it is another.
    pub acts_as: Option<String>,
    pub verb: String,
    /// `GROUP/RESOURCE`, with `/SUBRESOURCE`.
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub code: u64,
}

impl Audit {
    /// All requests of a user up to now, but those that are about no resource: discovery.
    pub fn of(&self, user: &str) -> Vec<Request> {
        let text = std::fs::read_to_string(&self.0).expect("read the audit log");
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let requests = lines.filter_map(|line| request(&line));
        requests.filter(|request| request.user == user).collect()
    }
}

impl Request {
    /// `VERB GROUP/RESOURCE in NAMESPACE`
    pub fn access(&self) -> String {
        let place = if self.namespace.is_empty() { "the cluster" } else { &self.namespace };
        format!("{} {} in {place}", self.verb, self.resource)
    }
}

pub fn accesses<'a>(requests: impl IntoIterator<Item = &'a Request>) -> BTreeSet<String> {
    requests.into_iter().map(Request::access).collect()
}

fn request(line: &Value) -> Option<Request> {
    let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    line.get("objectRef")?;
    let mut resource = format!("{}/{}", text("/objectRef/apiGroup"), text("/objectRef/resource"));
    let subresource = text("/objectRef/subresource");
    if !subresource.is_empty() {
        resource = format!("{resource}/{subresource}");
    }
    Some(Request {
        user: text("/user/username"),
        acts_as: Some(text("/impersonatedUser/username")).filter(|user| !user.is_empty()),
        verb: text("/verb"),
        resource,
        namespace: text("/objectRef/namespace"),
        name: text("/objectRef/name"),
        code: line.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default(),
    })
}
