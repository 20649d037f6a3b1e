//! Documents without `configVersion`.

use boathook_core::model::{Content, QueueName, WatchEventKind::*};

use super::{good, read, refused};

#[test]
fn a_full_document() {
    let spec = good(
        r#"
onStartup: 5
schedule:
- {name: nightly, crontab: "0 3 * * *", allowFailure: true}
- crontab: "TZ=Asia/Tokyo @daily"
onKubernetesEvent:
- name: pods
  kind: pod
  event: [update, add]
  selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  objectName: web-0
  namespaceSelector: {matchNames: [one, two]}
  jqFilter: .metadata.labels
  allowFailure: true
- {kind: Node, event: [delete], namespaceSelector: {any: true, matchNames: [one]}, selector: {}, objectName: ""}
permissions: {kubernetes: [{apiGroups: [""], resources: [pods], verbs: [get]}]}
limits: {time: 1s}
"#,
    );
    assert_eq!(spec.on_startup.as_ref().map(|startup| startup.order), Some(5));
    assert!(!spec.combine);
    assert_eq!((spec.permissions.len(), spec.limits.time.as_secs()), (1, 1));
    let names: Vec<_> = spec.schedules.iter().map(|b| (b.name.as_str(), b.allow_failure)).collect();
    assert_eq!(names, [("nightly", true), ("schedule", false)]);
    assert_eq!(spec.schedules[1].time_zone.as_deref(), Some("Asia/Tokyo"));

    let pods = &spec.kubernetes[0];
    assert_eq!((pods.name.as_str(), pods.kind.as_str(), pods.api_version.as_deref()), ("pods", "pod", None));
    assert_eq!(
        (pods.events.as_slice(), pods.on_synchronization, pods.content),
        (&[Added, Modified][..], false, Content::Full)
    );
    assert_eq!(pods.label_selector.as_deref(), Some("app=web,tier in (a,b)"));
    assert_eq!((pods.names.join(","), pods.namespaces.join(",")), ("web-0".into(), "one,two".into()));
    assert_eq!((pods.jq_filter.as_deref(), pods.allow_failure), (Some(".metadata.labels"), true));
    assert_eq!(pods.queue, QueueName::Own(spec.name.clone()));

    let nodes = &spec.kubernetes[1];
    assert_eq!((nodes.name.as_str(), nodes.events.as_slice()), ("onKubernetesEvent", &[Deleted][..]));
    assert!(nodes.names.is_empty() && nodes.namespaces.is_empty() && nodes.label_selector.is_none());
}

#[test]
fn warnings_say_what_to_write_instead_and_what_is_ignored() {
    let spec = good(
        "onStartup: 1\nschedule: [{crontab: \"@daily\", queue: main}]\nonKubernetesEvent: [{kind: Pod, colour: red}]",
    );
    let warned = |path: &str, hint: &str| {
        let found = |warning: &String| warning.starts_with(&format!("{path}: ")) && warning.contains(hint);
        assert!(spec.warnings.iter().any(found), "no warning at {path} about {hint:?}: {:#?}", spec.warnings);
    };
    warned("the document", "configVersion: v1");
    warned("schedule[0].queue", "ignored; allowed: allowFailure, crontab, name");
    warned("onKubernetesEvent[0].colour", "ignored");
    warned("onKubernetesEvent[0].event", "no event runs the hook");
    assert!(spec.kubernetes[0].events.is_empty());
}

#[test]
fn what_is_refused() {
    refused("onKubernetesEvent: [{kind: Pod, event: [Added]}]", "onKubernetesEvent[0].event[0]", "add, update, delete");
    refused("onKubernetesEvent: [{event: [add]}]", "onKubernetesEvent[0].kind", "is missing");
    refused("onKubernetesEvent: [Pod]", "onKubernetesEvent[0]", "must be a mapping");
    refused("onKubernetesEvent: Pod", "onKubernetesEvent", "must be a list");
    refused("schedule: [{crontab: \"*/0 * * * *\"}]", "schedule[0].crontab", "at least 1");
    refused(
        "onStartup: 1\ncolour: red",
        "colour",
        "allowed: limits, onKubernetesEvent, onStartup, permissions, schedule",
    );
    refused("onStartup: 1\nsettings: {}", "configVersion", "\"settings\" is known from v1 on");
    refused("{}", "the document", "no configVersion and no binding");
    refused("schedule: []", "the document", "no binding");
    refused(
        "onKubernetesEvent: [{kind: Pod, event: [add], selector: {matchLabels: {a: \"b c\"}}}]",
        "onKubernetesEvent[0].selector.matchLabels.a",
        "label value",
    );
}

/// What `boathook inspect` prints can be taken over as it is. Only that several triggers may then
/// come in one run differs.
#[test]
fn it_prints_as_v1() {
    let spec = good(
        "onStartup: 1\nonKubernetesEvent: [{kind: Pod, event: [add]}, {kind: Pod, event: []}]\nschedule: [{crontab: \"@daily\"}]",
    );
    let mut again = read(&boathook_core::hooks::print(&spec).to_string()).unwrap();
    assert!(again.combine && again.warnings.is_empty());
    again.combine = false;
    again.warnings = spec.warnings.clone();
    assert_eq!(again, spec);
}
