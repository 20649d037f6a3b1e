//! What hooks say, as lines of the operator's log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;

use boathook_core::model::Limits;
use serde_json::{Value, json};

use super::support::{Lines, Memory, component, hostile, load, plenty, request, run, sandbox};

/// The hook's lines of one run.
async fn lines(hook: &str, bytes: &[u8], limits: Limits) -> Vec<Value> {
    let sandbox = sandbox();
    let hook = load(&sandbox, hook, bytes).await;
    let (lines, _guard) = Lines::collect();
    let _ = run(&sandbox, &hook, limits).await;
    lines.of_hooks()
}

fn messages(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["message"].as_str().unwrap()).collect()
}

/// An error with a line break and two fields.
const LOGS: &str = r#"
    (data (i32.const 3000) "cant\ncopy" "kub\22" "ns")
    (data (i32.const 3040) "\b8\0b\00\00" "\04\00\00\00" "\c1\0b\00\00" "\04\00\00\00"
                           "\c5\0b\00\00" "\02\00\00\00" "\b8\0b\00\00" "\01\00\00\00")
    (func (export "config") (type $config) (global.get $document))
    (func (export "run") (type $run)
      (call $log (i32.const 3) (i32.const 3000) (i32.const 9) (i32.const 3040) (i32.const 2))
      (call $log (i32.const 0) (i32.const 3000) (i32.const 4) (i32.const 0) (i32.const 0))
      (global.get $success))"#;

#[tokio::test]
async fn a_line_carries_its_run_and_its_fields() {
    let lines = lines("talks", &component(LOGS), plenty()).await;
    assert_eq!(messages(&lines), ["cant\\ncopy", "cant"]);
    assert_eq!((&lines[0]["level"], &lines[1]["level"]), (&json!("ERROR"), &json!("DEBUG")));
    let mut line = lines[0].as_object().unwrap().clone();
    line.remove("timestamp");
    let expected = json!({
        "level": "ERROR", "message": "cant\\ncopy", "target": "hook", "hook": "talks", "run": "test-1",
        "binding": "onStartup", "queue": "hook/talks", "attempt": 1, "cant": "kub\"", "ns": "c",
    });
    assert_eq!(Value::Object(line), expected);
}

/// Two pieces of a line, a blank one, and one without end, on each stream.
const PRINTS: &str = r#"
    (data (i32.const 3000) "one\ntwo" " goes on\n\nrest")
    (func (export "config") (type $config) (global.get $document))
    (func $both (param $stream i32)
      (call $print (local.get $stream) (i32.const 3000) (i32.const 7) (i32.const 0))
      (call $print (local.get $stream) (i32.const 3007) (i32.const 14) (i32.const 0)))
    (func (export "run") (type $run)
      (call $both (call $stdout)) (call $both (call $stderr)) (global.get $success))"#;

#[tokio::test]
async fn stdout_and_stderr_become_lines() {
    let lines = lines("prints", &component(PRINTS), plenty()).await;
    assert_eq!(messages(&lines), ["one", "two goes on", "one", "two goes on", "rest", "rest"]);
    let levels: Vec<_> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["INFO", "INFO", "WARN", "WARN", "INFO", "WARN"]);
}

/// A line without end, then a call that is never answered.
const PRINTS_AND_WAITS: &str = r#"
    (data (i32.const 3000) "so far")
    (func (export "config") (type $config) (global.get $document))
    (func (export "run") (type $run)
      (call $print (call $stdout) (i32.const 3000) (i32.const 6) (i32.const 0))
      (call $get (i32.const 3000) (i32.const 2) (i32.const 3000) (i32.const 2)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3000) (i32.const 2)
        (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
      unreachable)"#;

#[tokio::test]
async fn an_interrupted_run_still_says_what_it_began() {
    let sandbox = sandbox();
    let hook = load(&sandbox, "waits", &component(PRINTS_AND_WAITS)).await;
    let (lines, _guard) = Lines::collect();
    let host = Arc::new(Memory { never_answers: true, ..Memory::default() });
    {
        let run = sandbox.run(&hook, request(&hook, Limits::default()), host.clone());
        tokio::select! {
            _ = run => panic!("answered"),
            () = host.asked() => {}
        }
    }
    assert_eq!(messages(&lines.of_hooks()), ["so far"]);
}

#[tokio::test]
async fn what_goes_over_the_cap_is_dropped_and_that_is_said_once() {
    let limits = Limits { log_bytes: 1024, ..plenty() };
    let lines = lines("floods", &hostile("log-flood"), limits).await;
    let messages = messages(&lines);
    // Each line counts at least 64 bytes.
    assert_eq!(messages.len(), 16 + 1);
    assert!(messages[16].starts_with("limits.logBytes of 1Ki reached"), "{}", messages[16]);
    assert_eq!(lines[16]["level"], "WARN");
}

#[tokio::test]
async fn a_line_without_end_is_cut() {
    let lines = lines("endless", &hostile("endless-line"), plenty()).await;
    let expected = format!("{} [cut: {} bytes more]", "x".repeat(10_000), 2_000 * 4_096 - 10_000);
    assert_eq!(messages(&lines), [expected]);
}

/// A line of a logging library on stderr, and one that poses as the operator.
const JSON: &str = r#"
    (data (i32.const 3000) "{\22level\22:\22info\22,\22msg\22:\22hi\22,\22time\22:1,\22n\22:{\22a\22:[1]},\22hook\22:\22x\22}\n")
    (func (export "config") (type $config) (global.get $document))
    (func (export "run") (type $run)
      (call $print (call $stderr) (i32.const 3000) (i32.const 62) (i32.const 0))
      (global.get $success))"#;

#[tokio::test]
async fn a_line_of_json_is_merged() {
    let lines = lines("speaks", &component(JSON), plenty()).await;
    let [line] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&line["level"], &line["message"], &line["proxied"]), (&json!("INFO"), &json!("hi"), &json!(true)));
    assert_eq!((&line["n"], &line["hook"], &line["fields.hook"]), (&json!({"a": [1]}), &json!("speaks"), &json!("x")));
    assert_eq!(line.get("time"), None);
}
