//! The published JSON Schema and the reader of scenarios say the same.

use std::{fs, path::Path};

use boathook_author::scenario::{Scenario, schema};
use serde_json::Value;

use super::bad::WRONG;

const PUBLISHED: &str = include_str!("../../../docs/reference/scenario.schema.json");

/// What only the reader can say: parts of its messages.
const BEYOND: [&str; 3] =
    ["at most 10m", "is not the path of a file in a directory", "which is a scenario: put it into a folder"];

const FULL: &str = "name: all
given: [{apiVersion: v1, kind: Node, metadata: {name: n}}]
faults: [{verb: patch, object: {apiVersion: v1, kind: Node, metadata: {name: n}}, answer: 409, times: 2}, {event: added, object: {apiVersion: v1, kind: Node, metadata: {name: n}}, delivery: missed, skip: 1}]
http: [{url: u, method: POST, status: 201, headers: {a: b}, body: c}, {url: v, after: {method: POST, url: u}}, {url: u, json: [1]}, {url: u, fails: timeout, skip: 1, times: 2}]
sweep: {present: [{apiVersion: v1, kind: Node, metadata: {name: n}}], files: {/keys/a: b}, within: 1s}
files: {/keys/a/b: text, /logs/: ''}
variables: {NODE_NAME: n1}
settings: {port: 80, more: [a]}
globalHooks: ../../../global-hooks
module: web-shop
values: {port: 80}
global: {}
steps:
  - create: &secret {apiVersion: v1, kind: Secret, metadata: {namespace: a, name: s}, data: {a: null}}
  - apply: *secret
  - patch: *secret
  - delete: *secret
  - tick: noon
  - pass: 24h
  - wait: 1m0.5s
  - fault: {verb: get, object: *secret, answer: 503}
  - fault: {verb: patch, object: *secret, subresource: status, answer: crash, skip: 2}
  - fault: {event: deleted, object: *secret, delivery: late}
  - http: {url: u, json: {a: b}}
  - restart: operator
  - settle: operator
  - settle: all
  - again: last run
  - settings: {}
  - settings: off
  - admission: {operation: UPDATE, object: *secret, oldObject: *secret, subresource: status, user: u, groups: [g], dryRun: true, binding: b}
  - admission: {operation: DELETE, oldObject: *secret}
  - conversion: {to: v1, objects: [*secret], crd: secrets.example.com}
  - expect: {admission: {allowed: false, message: m, code: 422, reason: Invalid, warnings: [w], audit: {a: b}, object: {data: {a: null}}}}
  - expect: {admission: {failed: f}, conversion: {objects: []}}
  - expect: {conversion: {failed: f}}
  - reconcile: {object: *secret, children: [*secret], related: {keys: [*secret], none: []}, finalize: true, binding: b}
  - expect: {reconcile: {children: [{kind: Secret}], noneWanted: true, status: {a: null}, conditions: [{type: Ready, status: 'True', reason: r, message: m}, {type: Other}], requeueAfter: 5m, events: [{type: Warning, reason: r, message: m}, {}], done: false}}
  - expect: {reconcile: {failed: f}}
  - expect:
      present: [*secret]
      absent: [*secret]
      logged: [x, {text: y, times: 0}, {text: z, atLeast: 2}]
      writes: [{verb: patch, object: Node n, subresource: status, outcome: forbidden-by-grant}]
      onlyWrites: []
      metrics: [{name: m, labels: {a: b}, value: 1.5}]
      http: [{url: u}, {method: POST, url: u, body: a, times: 0}, {url: u, json: {a: b}}]
      files: {/keys/a/b: text}
      failures: [{kind: limit-time, message: x, times: 1}, {kind: trap, atLeast: 2}, {kind: host}]
      within: 15s
  - expect: {values: {port: 80, none: null}, global: {zone: a}, settings: {}, manifests: snapshots/web.yaml, failed: f}
  - expect: {manifests: web.txt}
  - expect: {onlyWrites: []}
";

fn accepts(document: &Value) -> bool {
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("schema.json", schema()).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("schema.json", &mut schemas).unwrap();
    schemas.validate(document, index).is_ok()
}

fn parsed(text: &str) -> Value {
    yaml_serde::from_str(text).unwrap()
}

#[test]
fn the_published_file_is_the_generated_one() {
    let regenerate = "cargo run -- test --schema > docs/reference/scenario.schema.json";
    assert!(PUBLISHED.trim_end() == format!("{:#}", schema()), "out of date; run: {regenerate}");
}

#[test]
fn both_accept_everything_that_a_scenario_may_hold() {
    Scenario::parse(FULL).unwrap();
    assert!(accepts(&parsed(FULL)));
    let mut files = 0;
    for hook in fs::read_dir("hooks-wasm").unwrap() {
        let Ok(folder) = fs::read_dir(hook.unwrap().path().join("scenarios")) else { continue };
        for file in folder {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            assert!(accepts(&parsed(&text)), "{text}");
            files += 1;
        }
    }
    assert!(files > 20, "{files} in {}", Path::new("hooks-wasm").display());
}

#[test]
fn both_refuse_what_it_may_not_hold() {
    for (text, complaint) in WRONG.into_iter().filter(|(_, complaint)| !BEYOND.contains(complaint)) {
        assert!(!accepts(&parsed(text)), "the schema accepts what the reader calls {complaint:?}: {text}");
    }
}
