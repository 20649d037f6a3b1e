//! The guest `tell` with documents of a test's own, and the triggers that it received.
//! It never knows what a document means.

use serde_json::Value;

use crate::harness::{Operator, Test, eventually, hook_file};

const SLOT: &[u8] = b"# document of the guest tell";
const SLOT_SIZE: usize = 16 * 1024;

/// Hooks by name, each with its document, for the operator that the test starts next.
pub fn write_hooks(test: &Test, hooks: &[(&str, String)]) {
    let dir = test.dir().join("hooks");
    std::fs::create_dir_all(&dir).expect("make a directory of hooks");
    for (name, document) in hooks {
        std::fs::write(dir.join(format!("{name}.wasm")), with_document(document)).expect("write a hook");
    }
}

/// The guest with this document.
pub fn with_document(document: &str) -> Vec<u8> {
    assert!(document.len() <= SLOT_SIZE, "the document does not fit into the guest's slot");
    let mut bytes = std::fs::read(hook_file("test/tell")).expect("read the guest");
    let at = bytes.windows(SLOT.len()).position(|window| window == SLOT).expect("the guest has a slot");
    let slot = &mut bytes[at..at + SLOT_SIZE];
    slot.fill(b' ');
    slot[..document.len()].copy_from_slice(document.as_bytes());
    bytes
}

/// The triggers that a hook received up to now, in order.
pub fn told(operator: &Operator, hook: &str) -> Vec<Value> {
    let log = operator.log();
    let of_hook = log.iter().filter(|line| line["target"] == "hook" && line["hook"] == hook);
    let messages = of_hook.filter_map(|line| line["message"].as_str()?.strip_prefix("told "));
    messages.map(|told| serde_json::from_str(told).expect("the guest logs JSON")).collect()
}

/// The changes that a hook received: `Added NAME`.
pub fn changes(operator: &Operator, hook: &str) -> Vec<String> {
    let told = told(operator, hook);
    let events = told.iter().filter(|line| line["type"] == "Event");
    let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    events.map(|line| format!("{} {}", text(line, "change"), text(line, "name"))).collect()
}

/// Waits until a hook has received this change, and returns all changes up to now.
pub async fn changes_up_to(operator: &Operator, hook: &str, last: &str) -> Vec<String> {
    eventually(&format!("{hook} is told {last}"), async || {
        let changes = changes(operator, hook);
        if changes.iter().any(|change| change == last) { Ok(changes) } else { Err(format!("{changes:?}")) }
    })
    .await
}
