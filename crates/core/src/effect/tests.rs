//! Tests of how effects read, without a cluster.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::json;

use super::*;

fn effect(verb: &'static str, before: State, after: State) -> Effect {
    let object = after.object().or(before.object()).cloned().unwrap_or_default();
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Effect {
        hook: HookName::new("copy").unwrap(),
        run: RunId::new("p", 1),
        verb,
        object: ObjectRef {
            api_version: text("/apiVersion").unwrap_or_else(|| "v1".to_owned()),
            kind: text("/kind").unwrap_or_else(|| "ConfigMap".to_owned()),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name").unwrap_or_else(|| "a".to_owned()),
        },
        subresource: None,
        before,
        after,
        ending: Ending::Done,
        note: None,
        dry_run: true,
    }
}

fn object(kind: &str, version: &str, rest: Value) -> State {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": {"name": "a", "namespace": "n", "uid": "u", "creationTimestamp": "t", "resourceVersion": version},
    });
    object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    State::Present(object)
}

fn shown(effect: &Effect) -> String {
    render(effect, Style::default())
}

#[test]
fn a_new_object_is_shown_whole_without_what_the_server_adds_to_each() {
    let made = object("ConfigMap", "7", json!({"data": {"mode": "on", "n": "1"}}));
    let effect = effect("create", State::Absent, made);
    assert_eq!(effect.action(), Action::Create);
    assert_eq!(shown(&effect), "+ create v1 ConfigMap n/a (dry run)\n  + data:\n  +   mode: on\n  +   n: '1'\n");
}

#[test]
fn a_change_is_shown_field_by_field() {
    let before = json!({"data": {"mode": "fast", "old": "x", "conf": "a\nb\nc\n"}, "list": [{"name": "p", "port": 1}]});
    let after = json!({"data": {"mode": "slow", "conf": "a\nB\nc\n", "new": {"deep": [1]}}, "list": [{"name": "p", "port": 2}]});
    let effect = effect("patch", object("ConfigMap", "7", before), object("ConfigMap", "8", after));
    assert_eq!(
        shown(&effect),
        "~ patch v1 ConfigMap n/a (dry run)
  ~ data.mode: fast -> slow
  - data.old: x
  ~ data.conf: |
      a
    - b
    + B
      c
  + data.new:
  +   deep:
  +   - 1
  ~ list[name=p].port: 1 -> 2
"
    );
}

#[test]
fn what_does_not_fit_into_a_line_takes_two() {
    let long = |c: &str| json!({"data": {"a": c.repeat(40)}});
    let effect = effect("update", object("ConfigMap", "7", long("x")), object("ConfigMap", "8", long("y")));
    let narrow = render(&effect, Style { width: 60, ..Style::default() });
    assert_eq!(
        narrow.lines().skip(1).collect::<Vec<_>>(),
        [format!("  - data.a: {}", "x".repeat(40)), format!("  + data.a: {}", "y".repeat(40))]
    );
    assert_eq!(shown(&effect).lines().count(), 2);
}

#[test]
fn a_write_that_changes_nothing_says_so() {
    let same = |version| object("ConfigMap", version, json!({"data": {"a": "b"}}));
    let effect = effect("update", same("7"), same("8"));
    assert_eq!(shown(&effect), "  update v1 ConfigMap n/a (dry run): no change\n");
}

#[test]
fn an_object_that_is_gone_is_one_line_and_json_has_it() {
    let effect = effect("delete", object("ConfigMap", "7", json!({"data": {"a": "b"}})), State::Absent);
    assert_eq!(shown(&effect), "- delete v1 ConfigMap n/a (dry run)\n");
    assert!(json(&effect, false).to_string().contains(r#"{"a":"b"}"#), "{}", json(&effect, false));
}

#[test]
fn what_is_not_known_is_not_made_up() {
    let unknown = State::Unknown("get: forbidden".to_owned());
    let patched = effect("patch", unknown.clone(), object("ConfigMap", "8", json!({"data": {"a": "b"}})));
    assert_eq!(
        shown(&patched),
        "? patch v1 ConfigMap n/a (dry run)\n    (how it was before is not known: get: forbidden)\n    data:\n      a: b\n"
    );
    assert_eq!(effect("delete", unknown, State::Absent).action(), Action::Delete);
}

#[test]
fn a_failure_says_why_and_shows_no_object() {
    let mut effect = effect("patch", object("ConfigMap", "7", json!({})), State::Unknown("not written".to_owned()));
    effect.ending = Ending::Failed { reason: CallReason::ForbiddenByGrant, message: "patch: not granted".to_owned() };
    assert_eq!(shown(&effect), "! patch v1 ConfigMap n/a (dry run): forbidden-by-grant: patch: not granted\n");
    assert_eq!(json(&effect, false)["error"], json!({"reason": "forbidden-by-grant", "message": "patch: not granted"}));
}

#[test]
fn the_call_is_not_said_twice() {
    let mut effect = effect("patch", object("ConfigMap", "7", json!({})), State::Unknown("not written".to_owned()));
    let message = "patch v1 ConfigMap n/a (status): it is gone: really".to_owned();
    effect.ending = Ending::Failed { reason: CallReason::NotFound, message };
    assert_eq!(shown(&effect), "! patch v1 ConfigMap n/a (dry run): not-found: it is gone: really\n");
}

#[test]
fn values_of_secrets_are_hidden_in_every_form() {
    let secret = |password: &str| {
        let annotation = json!({"kubectl.kubernetes.io/last-applied-configuration": password, "team": "x"});
        let metadata = json!({"name": "a", "namespace": "n", "annotations": annotation});
        object("Secret", "7", json!({"metadata": metadata, "data": {"password": password}, "type": "Opaque"}))
    };
    let changed = effect("update", secret("aHVudGVy"), secret("c3dvcmRmaXNo"));
    let made = effect("create", State::Absent, secret("aHVudGVy"));
    let gone = effect("delete", secret("aHVudGVy"), State::Absent);
    let unknown = effect("patch", State::Unknown("x".to_owned()), secret("aHVudGVy"));
    assert!(shown(&changed).contains("~ data.password: (sensitive, changed)"), "{}", shown(&changed));
    assert!(shown(&made).contains("+   password: (sensitive)"), "{}", shown(&made));
    assert!(shown(&made).contains("team: x") && shown(&made).contains("type: Opaque"), "{}", shown(&made));
    for effect in [changed, made, gone, unknown] {
        for text in [shown(&effect), json(&effect, false).to_string()] {
            assert!(!text.contains("aHVudGVy") && !text.contains("c3dvcmRmaXNo"), "{text}");
        }
        let open = render(&effect, Style { secrets: true, ..Style::default() });
        // A deletion shows nothing of the object.
        assert!(open.contains("aHVudGVy") || effect.action() == Action::Delete, "{open}");
        assert!(json(&effect, true).to_string().contains("aHVudGVy"), "{open}");
    }
}

#[test]
fn no_control_character_of_an_object_gets_through() {
    let nasty = json!({"data": {"\u{1b}[2J": "\u{1b}[31m\u{7}", "b": "a\n\u{1b}[0m"}});
    let plain = json!({"data": {"b": "a\nb"}});
    let all = [
        effect("create", State::Absent, object("ConfigMap", "7", nasty.clone())),
        effect("update", object("ConfigMap", "7", plain), object("ConfigMap", "7", nasty)),
    ];
    for effect in all {
        assert!(!shown(&effect).contains('\u{1b}'), "{:?}", shown(&effect));
    }
}

#[test]
fn a_great_object_is_cut() {
    let data: Value = (0..500).map(|n| (format!("k{n:03}"), Value::from("v"))).collect();
    let effect =
        effect("create", State::Absent, object("ConfigMap", "7", json!({"data": data, "x": "y".repeat(10_000)})));
    let text = render(&effect, Style { lines: 10, ..Style::default() });
    assert_eq!(text.lines().count(), 12);
    assert!(text.ends_with("... 492 more lines\n"), "{text}");
    assert!(shown(&effect).lines().all(|line| line.len() < 500));
}

#[test]
fn colours_are_there_only_when_asked_for() {
    let effect = effect("create", State::Absent, object("ConfigMap", "7", json!({"data": {"a": "b"}})));
    let colored = render(&effect, Style { color: true, ..Style::default() });
    assert!(colored.starts_with("\u{1b}[32m+ create") && !shown(&effect).contains('\u{1b}'));
}

#[test]
fn programs_get_paths_and_values() {
    let state = |mode: &str| object("ConfigMap", mode, json!({"data": {"mode": mode, "app.conf": "x"}}));
    let reported = json(&effect("update", state("fast"), state("slow")), false);
    assert_eq!(reported["action"], "change");
    assert_eq!(reported["object"], json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "n", "name": "a"}));
    let change = json!({"path": "data.mode", "action": "replace", "before": "fast", "after": "slow"});
    assert_eq!(reported["changes"], json!([change]));
}
