//! Documents against calls.

use boathook_author::rbac::{Evidence, Usage, compare, permissions_yaml};
use boathook_core::model::HookSpec;

use super::kinds;

fn hook(permissions: &str) -> HookSpec {
    let block = format!("permissions: {{kubernetes: [{permissions}]}}\n");
    super::hook("h", &format!("onStartup: 1\n{}", if permissions.is_empty() { "" } else { &block }))
}

/// `VERB OBJECT OUTCOME`, as the log has them.
fn log(lines: &[(&str, &str, &str)]) -> Evidence {
    let mut evidence = Evidence::default();
    for (verb, object, outcome) in lines {
        let line = serde_json::json!({"audit": true, "hook": "h", "run": "p-1", "verb": verb, "object": object, "outcome": outcome});
        assert!(evidence.read_line(&line.to_string()));
    }
    evidence
}

fn judged(permissions: &str, evidence: &Evidence) -> Usage {
    compare(&[hook(permissions)], evidence, &kinds()).pop().unwrap()
}

fn unused(usage: &Usage) -> Vec<String> {
    usage.unused.iter().map(|asked| format!("{} {} {}", asked.index, asked.verb, asked.resource)).collect()
}

#[test]
fn what_no_run_did_is_unused() {
    let permissions = r#"{apiGroups: [""], resources: [secrets], verbs: [create, delete, get]},
        {apiGroups: [""], resources: [nodes], verbs: [patch]}"#;
    let usage = judged(permissions, &log(&[("create", "v1 Secret web/a", "ok")]));
    // Reads are not in the log.
    assert_eq!(unused(&usage), ["0 delete secrets", "1 patch nodes"]);
    assert!(usage.differs() && usage.refused.is_empty());
    assert_eq!(
        permissions_yaml(&usage.proposed),
        "permissions:\n  kubernetes:\n    - apiGroups: [\"\"]\n      resources: [\"secrets\"]\n      verbs: [\"create\", \"get\"]\n"
    );
    let all =
        [("create", "v1 Secret web/a", "ok"), ("delete", "v1 Secret web/a", "not-found"), ("patch", "v1 Node n", "ok")];
    assert!(!judged(permissions, &log(&all)).differs());
}

#[test]
fn a_verb_that_another_may_stand_for_is_not_judged() {
    let secrets = r#"{apiGroups: [""], resources: [secrets], verbs: [create, update, patch]}"#;
    // An apply creates, and the log says patch; a create that replaces is an update there.
    assert_eq!(unused(&judged(secrets, &log(&[("patch", "v1 Secret web/a", "ok")]))), ["0 update secrets"]);
    assert_eq!(unused(&judged(secrets, &log(&[("update", "v1 Secret web/a", "ok")]))), ["0 patch secrets"]);
    assert_eq!(unused(&judged(secrets, &log(&[("create", "v1 Secret web/a", "ok")]))), ["0 patch secrets"]);
}

#[test]
fn complete_records_judge_every_verb() {
    let mut evidence = log(&[("patch", "v1 Secret web/a", "ok")]);
    evidence.hooks.values_mut().for_each(|calls| calls.partial = false);
    let secrets = r#"{apiGroups: [""], resources: [secrets], verbs: [create, get, patch]}"#;
    assert_eq!(unused(&judged(secrets, &evidence)), ["0 create secrets", "0 get secrets"]);
}

#[test]
fn names_and_namespaces_tell_permissions_apart() {
    let permissions = r#"{apiGroups: [""], resources: [secrets], verbs: [delete], resourceNames: [a]},
        {apiGroups: [""], resources: [secrets], verbs: [delete], namespaces: [web]},
        {apiGroups: [""], resources: [secrets], verbs: [delete], namespaces: [ops]}"#;
    let usage = judged(permissions, &log(&[("delete", "v1 Secret web/b", "ok")]));
    assert_eq!(unused(&usage), ["0 delete secrets", "2 delete secrets"]);
    assert_eq!(usage.proposed, hook(permissions).permissions[1..2]);
}

#[test]
fn a_pattern_is_narrowed_to_what_was_used_of_it() {
    let usage = judged(
        r#"{apiGroups: ["*"], resources: ["*"], verbs: [patch, delete, list]}"#,
        &log(&[("patch", "v1 Node n", "ok"), ("patch", "sea.dev/v1 Ferry web/a", "ok")]),
    );
    assert_eq!(unused(&usage), ["0 delete *"]);
    let proposed = permissions_yaml(&usage.proposed);
    assert!(
        proposed.contains("apiGroups: [\"sea.dev\"]\n      resources: [\"ferries\"]\n      verbs: [\"patch\"]"),
        "{proposed}"
    );
    assert!(
        proposed.contains("apiGroups: [\"\"]\n      resources: [\"nodes\"]\n      verbs: [\"patch\"]"),
        "{proposed}"
    );
    // Reads are not known, so what allows them stays.
    assert!(proposed.contains("apiGroups: [\"*\"]\n      resources: [\"*\"]\n      verbs: [\"list\"]"), "{proposed}");
}

#[test]
fn what_was_refused_is_proposed_where_it_was_refused() {
    let refused = |namespaces: &[&str]| {
        let objects: Vec<_> = namespaces.iter().map(|namespace| format!("v1 Secret {namespace}/x")).collect();
        let lines: Vec<_> = objects.iter().map(|object| ("delete", object.as_str(), "forbidden-by-grant")).collect();
        judged("", &log(&lines))
    };
    let usage = refused(&["web", "web", "ops"]);
    let times: Vec<_> =
        usage.refused.iter().map(|(what, times)| (what.namespace.as_deref().unwrap(), *times)).collect();
    assert_eq!(times, [("ops", 1), ("web", 2)]);
    assert_eq!(usage.proposed[0].namespaces, ["ops", "web"]);
    assert!(usage.proposed[0].resource_names.is_empty() && usage.document_differs());
    let many = refused(&["a", "b", "c", "d", "e", "f"]);
    assert!(many.proposed[0].namespaces.is_empty());
    assert_eq!(many.refused.len(), 6);
}

#[test]
fn what_the_cluster_refused_is_no_fault_of_the_document() {
    let secrets = r#"{apiGroups: [""], resources: [secrets], verbs: [delete]}"#;
    let usage = judged(secrets, &log(&[("delete", "v1 Secret web/x", "forbidden-by-cluster")]));
    assert!(usage.differs() && !usage.document_differs());
    assert_eq!(usage.proposed, *hook(secrets).permissions);
}

#[test]
fn a_hook_of_which_nothing_is_known_is_not_judged() {
    let usage = judged(r#"{apiGroups: [""], resources: [secrets], verbs: [delete]}"#, &Evidence::default());
    assert!(usage.unknown && !usage.differs());
    let mut ran = Evidence::default();
    assert!(ran.read_line(r#"{"message":"run finished","hook":"h","run":"p-1"}"#));
    let usage = judged(r#"{apiGroups: [""], resources: [secrets], verbs: [delete]}"#, &ran);
    assert_eq!(unused(&usage), ["0 delete secrets"]);
    assert_eq!(permissions_yaml(&usage.proposed), "permissions: {}\n");
}

#[test]
fn events_are_sent_to_one_group_and_allowed_by_both() {
    for group in ["", "events.k8s.io"] {
        let permission = format!(r#"{{apiGroups: ["{group}"], resources: [events], verbs: [create]}}"#);
        assert!(!judged(&permission, &log(&[("create", "events.k8s.io/v1 Event web/x", "ok")])).differs(), "{group:?}");
    }
}

#[test]
fn what_the_document_has_by_now_is_refused_no_more() {
    let evidence = log(&[("delete", "v1 Secret web/x", "forbidden-by-grant")]);
    assert!(judged("", &evidence).differs());
    assert!(!judged(r#"{apiGroups: [""], resources: [secrets], verbs: [delete]}"#, &evidence).differs());
}
