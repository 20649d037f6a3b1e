//! The guest `tell` with any document, and the triggers that it received.
//!
//! Never judges these triggers.

use serde_json::Value;

use super::fixture::{Operator, Pipeline};
use crate::support::{cluster::TestCluster, guests::guest};

const SLOT: &[u8] = b"# document of the guest tell";
const SLOT_SIZE: usize = 16 * 1024;

/// The guest with this document.
pub fn tell(document: &str) -> Vec<u8> {
    assert!(document.len() <= SLOT_SIZE, "the document does not fit into the guest's slot");
    let mut bytes = guest("tell");
    let at = bytes.windows(SLOT.len()).position(|window| window == SLOT).unwrap();
    let slot = &mut bytes[at..at + SLOT_SIZE];
    slot.fill(b' ');
    slot[..document.len()].copy_from_slice(document.as_bytes());
    bytes
}

/// Starts one hook, `tell`, and waits until it is ready.
pub async fn telling(document: &str) -> Pipeline {
    let pipeline = Pipeline::on(TestCluster::start().await, &[("tell", tell(document))], |_| ()).await;
    pipeline.operator.ready().await;
    pipeline
}

/// The triggers that a hook received, in order.
pub fn told(operator: &Operator, hook: &str) -> Vec<Value> {
    let lines = operator.log.said(hook);
    lines.iter().filter_map(|line| line.strip_prefix("told ")).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The triggers of a kind that a hook received, once there are so many of them.
pub async fn told_of(operator: &Operator, hook: &str, kind: &str, count: usize) -> Vec<Value> {
    let enough = |operator: &Operator| {
        let mut lines = told(operator, hook);
        lines.retain(|line| line["type"] == kind);
        (lines.len() >= count).then_some(lines)
    };
    operator.until(&format!("{hook} is told {count} times of {kind}"), enough).await
}

/// `Added default/a`.
pub fn change(event: &Value) -> String {
    let text = |key: &str| event[key].as_str().unwrap_or_default();
    format!("{} {}/{}", text("change"), text("namespace"), text("name"))
}
