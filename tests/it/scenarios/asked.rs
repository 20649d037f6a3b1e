//! Scenarios that ask a hook what an API server would ask it: questions that cannot be asked, answers that are not as
//! expected. Never knows how they are asked.

use super::Author;

const MAP: &str = "apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: m";

/// A scenario of the reviewer with these steps.
fn scenario(steps: &str) -> String {
    format!("name: asked\nsteps:\n{steps}")
}

async fn author(scenarios: &[(&'static str, String)]) -> Author {
    let files: Vec<_> = scenarios.iter().map(|(name, text)| (*name, text.as_str())).collect();
    Author::of("reviewer", &files).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_nobody_answers_ends_the_scenario_and_says_why() {
    let widget = "{apiVersion: reviewer.test/v1, kind: Widget, metadata: {name: w}}";
    let cases = [
        (
            "rule",
            "  - admission: {operation: CREATE, object: {apiVersion: v1, kind: Node, metadata: {name: n}}}\n"
                .to_owned(),
            "steps[0]: admission: no rule of the hook is for CREATE of nodes in v1 of the core group",
        ),
        (
            "binding",
            format!("  - admission: {{operation: CREATE, binding: x.y.z, object: {{{MAP}}}}}}}\n"),
            "steps[0]: admission: the hook has no binding \"x.y.z\" for admission",
        ),
        (
            "kind",
            "  - admission: {operation: CREATE, object: {apiVersion: v1, kind: Teapot, metadata: {name: t}}}\n"
                .to_owned(),
            "steps[0]: admission: Teapot t: ",
        ),
        (
            "group",
            format!("  - conversion: {{to: v2, objects: [{{{MAP}}}}}]}}\n"),
            "steps[0]: conversion: the hook converts nothing of the group \"\"",
        ),
        (
            "crd",
            format!("  - conversion: {{to: v2, crd: others.reviewer.test, objects: [{widget}]}}\n"),
            "steps[0]: conversion: the hook converts nothing of the group \"reviewer.test\"",
        ),
        (
            "unasked",
            "  - expect: {admission: {allowed: true}, within: 50ms}\n".to_owned(),
            "no step has called the hook since the operator started",
        ),
    ];
    let files: Vec<_> = cases.iter().map(|(name, steps, _)| (*name, scenario(steps))).collect();
    let ended = author(&files).await.test(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for (_, _, expected) in cases {
        assert!(ended.stdout.contains(expected), "no {expected:?} in:\n{}", ended.stdout);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_not_as_expected_is_reported_by_its_parts() {
    let denied = format!(
        "  - admission: {{operation: CREATE, object: {{{MAP}, annotations: {{validate.reviewer.test/deny: not here}}}}}}}}\n  \
         - expect: {{admission: {{allowed: true, message: gone, code: 422, warnings: [old]}}, within: 50ms}}\n"
    );
    let misfit = format!(
        "  - admission: {{operation: CREATE, object: {{{MAP}, annotations: \
         {{mutate.reviewer.test/patch: '[{{\"op\": \"remove\", \"path\": \"/none\"}}]'}}}}}}}}\n  \
         - expect: {{admission: {{allowed: true}}, within: 50ms}}\n"
    );
    let files = [("denied", scenario(&denied)), ("misfit", scenario(&misfit))];
    let ended = author(&files).await.test(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for part in [
        "allowed\n        - expected true\n        + found    false: not here",
        "message\n        - expected \"gone\"\n        + found    \"not here\"",
        "code\n        - expected 422\n        + found    403",
        "warnings\n        - expected [\"old\"]\n        + found    []",
        "it failed: hook reviewer, binding mutate.reviewer.test: its patch does not fit",
    ] {
        assert!(ended.stdout.contains(part), "no {part:?} in:\n{}", ended.stdout);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_answers_can_be_accepted() {
    let steps = format!(
        "  - admission: {{operation: CREATE, object: {{{MAP}, annotations: {{mutate.reviewer.test/label: new}}}}}}}}
  - expect:
      within: 50ms
      admission:
        object:
          metadata:
            labels: {{reviewed: old}} # by whom?
  - conversion:
      to: v2
      objects:
        - {{apiVersion: reviewer.test/v1, kind: Widget, metadata: {{name: w}}, spec: {{size: 7}}}}
  - expect:
      within: 50ms
      conversion: {{objects: [{{spec: {{dimensions: {{size: 8}}}}}}]}}
"
    );
    let author = author(&[("accepted", scenario(&steps))]).await;
    for _ in 0..2 {
        // An expectation that fails ends a scenario, so each time one is accepted.
        author.test(&["--update"]).await;
    }
    let text = std::fs::read_to_string(author.file("accepted")).unwrap();
    assert!(text.contains("{reviewed: \"new\"} # by whom?") && text.contains("{size: 7}}}]}\n"), "{text}");
    assert_eq!(author.test(&[]).await.code, Some(0));
}

const WISH: &str = "apiVersion: example.com/v1, kind: Wish, metadata: {namespace: default, name: w}";

/// A scenario of the guests `farewell` and `wish` with these steps.
fn about_a_wish(steps: &str) -> String {
    let definition = |scope: &str, kind: &str, plural: &str| {
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {plural}.example.com}}, \
             spec: {{group: example.com, scope: {scope}, names: {{kind: {kind}, plural: {plural}}}, versions: [{{name: v1, \
             served: true, storage: true, subresources: {{status: {{}}}}, \
             schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}}}]}}}}"
        )
    };
    let own = definition("Namespaced", "Wish", "wishes");
    // The guest `wish` reconciles them, too.
    let other = definition("Cluster", "ClusterWish", "clusterwishes");
    format!("name: a wish\ngiven: [{own}, {other}]\nsteps:\n{steps}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_is_called_about_an_object_with_its_children_and_related_objects() {
    let steps = format!(
        "  - reconcile:
      object: {{{WISH}, spec: {{children: [{{{MAP}}}}}], secret: key, events: [{{type: Warning, reason: Wet, message: it is wet}}]}}}}
      related: {{secret: [{{apiVersion: v1, kind: Secret, metadata: {{namespace: default, name: key}}}}]}}
  - expect:
      reconcile:
        children: [{{kind: ConfigMap, metadata: {{name: m}}}}]
        noneWanted: false
        status: {{related: [secret default/key]}}
        events: [{{type: Warning, reason: Wet, message: wet}}]
  - reconcile: {{object: {{{WISH}, spec: {{}}}}, binding: wishes}}
  - expect: {{reconcile: {{children: [], noneWanted: true, status: {{related: []}}, events: []}}}}
  - reconcile: {{object: {{{WISH}, spec: {{end: {{done: false, status: {{left: 1}}}}}}}}, finalize: true}}
  - expect: {{reconcile: {{done: false, status: {{left: 1}}}}}}
  - reconcile: {{object: {{{WISH}, spec: {{end: {{fail: true}}}}}}, finalize: true}}
  - expect: {{reconcile: {{failed: it is not over}}, onlyWrites: []}}
"
    );
    let author = Author::of("farewell", &[("called", &about_a_wish(&steps))]).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_about_an_object_that_cannot_be_ends_the_scenario_and_says_why() {
    let called = |more: &str| format!("  - reconcile: {{object: {{{WISH}, spec: {{}}}}, {more}}}\n");
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s}}";
    let cases = [
        ("kind", format!("  - reconcile: {{object: {secret}}}\n"), "reconcile: the hook reconciles no Secret of v1"),
        ("binding", called("binding: other"), "reconcile: the hook has no reconcile binding \"other\""),
        ("child", called(&format!("children: [{secret}]")), "child Secret s: its kind is not in owns of the binding"),
        ("entry", called(&format!("related: {{other: [{secret}]}}")), "has no related entry \"other\""),
        ("related", called(&format!("related: {{shared: [{secret}]}}")), "the entry \"shared\" is about ConfigMap"),
        (
            "other",
            format!(
                "{}  - expect: {{reconcile: {{noneWanted: false, children: [{{}}]}}, within: 50ms}}\n",
                called("finalize: false")
            ),
            "reconcile: 0 children, expected 1",
        ),
        (
            "unlike",
            format!("{}  - expect: {{admission: {{allowed: true}}, within: 50ms}}\n", called("finalize: false")),
            "+ found    an answer about an object that the hook reconciles",
        ),
    ];
    let files: Vec<_> = cases.iter().map(|(name, steps, _)| (*name, about_a_wish(steps))).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let ended = Author::of("farewell", &files).await.test(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for (name, _, expected) in cases {
        assert!(ended.stdout.contains(expected), "{name}: no {expected:?} in:\n{}", ended.stdout);
    }
    let steps = format!("  - reconcile: {{object: {{{WISH}, spec: {{}}}}, finalize: true}}\n");
    let ended = Author::of("wish", &[("finalize", &about_a_wish(&steps))]).await.test(&[]).await;
    assert!(ended.stdout.contains("the hook has no function finalize"), "{}", ended.stdout);
}
