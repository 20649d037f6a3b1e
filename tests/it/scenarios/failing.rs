//! Scenarios that do not hold: how that is reported, and accepted. Never knows how they are played.

use serde_json::Value;

use super::Author;

const TAINT: &str = "name: a taint that nobody asks for
given:
  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {taint.boathook.dev/gpu: NoSchedule}}}
steps:
  - expect:
      within: 500ms
      present:
        - apiVersion: v1
          kind: Node
          metadata: {name: n1}
          spec:
            taints: # zwölf
              - key: taint.boathook.dev/gpu
                effect: NoExecute
            unschedulable: true # no
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_hold_is_reported_with_file_line_step_and_difference() {
    let other = "name: much that is not so
given:
  - {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {taint.boathook.dev/gpu: NoSchedule}}}
steps:
  - expect: {writes: [{verb: patch, object: Node n1}]}
  - expect:
      within: 200ms
      absent: [{apiVersion: v1, kind: Node, metadata: {name: n1}}]
      logged: [a line that no hook writes]
      onlyWrites: [{verb: patch, object: v1 Node n1}, {verb: delete, object: Node n1}]
      metrics: [{name: taints_total, labels: {node: n1}, value: 1}]
      failures: [{kind: trap}]
";
    let author = Author::of("node-taint", &[("taint", TAINT), ("other", other)]).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for part in [
        &format!("{}:5: steps[0]: expect does not hold after 500ms", author.file("taint").display()),
        "    present[0] Node n1:
      .spec.taints[0].effect
        - expected \"NoExecute\"
        + found    \"NoSchedule\"
      .spec.unschedulable
        - expected true
        + found    nothing
",
        &format!("{}:6: steps[1]: ", author.file("other").display()),
        "absent[0] Node n1: is there: {",
        "logged: no line contains \"a line that no hook writes\"",
        "onlyWrites:
      - expected patch v1 Node n1 ok
      - expected delete Node n1 ok
      + found    patch v1 Node n1 ok
",
        "- expected taints_total{node=\"n1\"} 1\n      + found    no such series",
        "failures: 0 runs failed with trap, expected at least 1",
        "hook loaded",
        "2 scenarios: 0 passed, 2 failed",
    ] {
        assert!(ended.stdout.contains(part), "no {part:?} in:\n{}", ended.stdout);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_found_can_be_accepted() {
    let author = Author::of("node-taint", &[("taint", TAINT)]).await;
    let ended = author.test(&["--update", "-o", "json"]).await;
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        (ended.code, &told["updated"], &told["scenarios"][0]["result"]),
        (Some(0), &1.into(), &"updated".into())
    );
    let wanted = TAINT.replace("NoExecute", "\"NoSchedule\"").replace("true #", "null #");
    assert_eq!(std::fs::read_to_string(author.file("taint")).unwrap(), wanted);
    assert_eq!(author.test(&["--filter", "nobody asks"]).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_write_ends_the_scenario() {
    let steps = [
        ("delete", "delete: {apiVersion: v1, kind: Node, metadata: {name: n9}}", "steps[0]: delete Node n9: "),
        ("patch", "patch: {apiVersion: v1, kind: Node, metadata: {name: n9}}", "steps[0]: patch Node n9: "),
        (
            "create",
            "create: {apiVersion: v1, kind: Namespace, metadata: {name: default}}",
            "create Namespace default: ",
        ),
        ("kind", "apply: {apiVersion: v1, kind: Teapot, metadata: {name: t}}", "steps[0]: apply Teapot t: "),
        ("scope", "apply: {apiVersion: v1, kind: Secret, metadata: {name: t}}", "Secret needs metadata.namespace"),
        ("name", "apply: {apiVersion: v1, kind: Node, metadata: {name: a b}}", "steps[0]: apply Node a b: "),
        (
            "fault",
            "fault: {verb: get, answer: 409, object: {apiVersion: v1, kind: Teapot, metadata: {name: t}}}",
            "steps[0]: fault Teapot t: ",
        ),
        ("tick", "tick: noon", "steps[0]: tick \"noon\": the hook has no schedule of this name"),
    ];
    let texts = steps.map(|(name, step, _)| (name, format!("name: refused\nsteps:\n  - {step}\n")));
    let files: Vec<_> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let author = Author::of("node-taint", &files).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(1));
    for (_, _, expected) in steps {
        assert!(ended.stdout.contains(expected), "no {expected:?} in:\n{}", ended.stdout);
    }
    assert!(ended.stdout.contains("8 scenarios: 0 passed, 8 failed"), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_ticks_than_a_queue_is_for_are_no_time_to_pass() {
    let author = Author::of("schedule", &[("day", "name: a day\nsteps: [{pass: 24h}]\n")]).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(1));
    let told = "steps[0]: pass: the hook's schedules strike more than 1000 times in it";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_is_none_is_reported_by_its_scenario() {
    let author = Author::of("startup", &[("a", "name: x\nsteps: []\n")]).await;
    std::fs::write(author.folder.path().join("startup.wasm"), "no component").unwrap();
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("the hook cannot be used: "), "{}", ended.stdout);
}
