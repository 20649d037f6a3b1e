//! The configuration document: what is read, what is refused, and that all errors come at once.

use boathook::{
    hooks::{DocumentError, ProblemKind, parse},
    model::{Content, HookName, HookSpec, QueueName, WatchEventKind::*},
};

fn read(text: &str) -> Result<HookSpec, DocumentError> {
    let check = |program: &str| if program.contains("bad") { Err("unexpected token".to_owned()) } else { Ok(()) };
    parse(&HookName::new("test").unwrap(), text, &check)
}

fn good(text: &str) -> HookSpec {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

/// `path: message` of each problem.
fn problems(text: &str) -> Vec<String> {
    read(text).expect_err("the document is accepted").problems.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn refused(text: &str, path: &str, hint: &str) {
    let found = problems(text);
    assert!(
        found.iter().any(|problem| problem.starts_with(&format!("{path}: ")) && problem.contains(hint)),
        "expected a problem at {path} about {hint:?}, found {found:#?}"
    );
}

fn kubernetes(fields: &str) -> String {
    format!(
        "configVersion: v1\nkubernetes:\n- kind: Pod\n{}",
        fields.trim_end().replace("\n|", "\n  ").replacen('|', "  ", 1)
    )
}

#[test]
fn a_full_document() {
    let spec = good(
        r#"
configVersion: v1
onStartup: 10
concurrency: 4
retry: {initial: 1s, max: 8s, multiplier: 3, jitter: 0}
limits: {memory: 128Mi, time: 30s, hostCalls: 50, hostBytes: 1Gi, logBytes: 4096}
permissions:
  kubernetes:
  - {apiGroups: [""], resources: [secrets], verbs: [get, patch], resourceNames: [a], namespaces: [b]}
schedule:
- {name: hourly, crontab: "0 * * * *", queue: slow, allowFailure: true, includeSnapshotsFrom: [pods]}
kubernetes:
- name: pods
  apiVersion: v1
  kind: pods
  executeHookOnEvent: [Deleted, Added]
  executeHookOnSynchronization: false
  keepFullObjectsInMemory: false
  nameSelector: {matchNames: [x, y]}
  namespace: {nameSelector: {matchNames: [default]}}
  labelSelector:
    matchLabels: {app: web}
    matchExpressions:
    - {key: tier, operator: In, values: [a, b]}
    - {key: example.com/off, operator: DoesNotExist}
  fieldSelector: {matchExpressions: [{field: status.phase, operator: NotEquals, value: "a=b,c"}]}
  jqFilter: .metadata.labels
  retry: {initial: 2s}
"#,
    );
    assert_eq!(spec.on_startup.as_ref().map(|startup| startup.order), Some(10));
    assert_eq!((spec.concurrency, spec.limits.memory, spec.limits.host_calls), (4, 128 << 20, 50));
    let permission = &spec.permissions[0];
    assert_eq!((&*permission.verbs, &*permission.namespaces), (&["get".into(), "patch".into()][..], &["b".into()][..]));
    let schedule = &spec.schedules[0];
    assert_eq!((&schedule.queue, schedule.allow_failure), (&QueueName::Shared("slow".into()), true));
    assert_eq!((schedule.retry.initial.as_secs(), schedule.retry.multiplier), (1, 3.0));
    let pods = &spec.kubernetes[0];
    assert_eq!(pods.events, [Added, Deleted]);
    assert_eq!((pods.on_synchronization, pods.content), (false, Content::None));
    assert_eq!(pods.label_selector.as_deref(), Some("app=web,tier in (a,b),!example.com/off"));
    assert_eq!(pods.field_selector.as_deref(), Some(r"status.phase!=a\=b\,c"));
    assert_eq!((pods.names.len(), &*pods.namespaces), (2, &["default".to_owned()][..]));
    assert_eq!(pods.queue, QueueName::Own(spec.name.clone()));
    assert_eq!((pods.retry.initial.as_secs(), pods.retry.max.as_secs()), (2, 32));
}

#[test]
fn json_is_yaml_too() {
    let spec = good(r#"{"configVersion": "v1", "kubernetes": [{"kind": "Pod"}]}"#);
    assert_eq!(spec.kubernetes[0].name.as_str(), "kubernetes");
    assert_eq!(spec.kubernetes[0].events, [Added, Modified, Deleted]);
}

#[test]
fn the_older_name_of_the_event_list_is_kept() {
    assert_eq!(good(&kubernetes("|watchEvent: [Modified]")).kubernetes[0].events, [Modified]);
    let both = kubernetes("|watchEvent: [Modified]\n|executeHookOnEvent: []");
    assert!(good(&both).kubernetes[0].events.is_empty());
}

#[test]
fn all_errors_come_at_once_with_their_places() {
    let found = problems(
        r#"
configVersion: v1
onStartup: soon
colour: red
limits: {memory: lots, tyme: 1s}
schedule:
- {crontab: "61 * * * *", queue: 7}
- {name: no-crontab}
kubernetes:
- {kind: Pod, apiVersion: "a/b/c", jqFilter: "bad", executeHookOnEvent: [Gone], includeSnapshotsFrom: [nobody]}
- {labelSelector: {matchExpressions: [{key: "a b", operator: Is}]}}
"#,
    );
    let paths: Vec<_> = found.iter().map(|problem| problem.split(": ").next().unwrap()).collect();
    let expected = [
        "onStartup",
        "colour",
        "limits.memory",
        "limits.tyme",
        "schedule[0].crontab",
        "schedule[0].queue",
        "schedule[1].crontab",
        "kubernetes[0].apiVersion",
        "kubernetes[0].jqFilter",
        "kubernetes[0].executeHookOnEvent[0]",
        "kubernetes[0].includeSnapshotsFrom[0]",
        "kubernetes[1].kind",
        "kubernetes[1].labelSelector.matchExpressions[0].operator",
    ];
    for path in expected {
        assert!(paths.contains(&path), "no problem at {path} among {found:#?}");
    }
    assert_eq!(paths.len(), expected.len(), "{found:#?}");
}

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    refused("", "the document", "is empty");
    refused("[1, 2]", "the document", "must be a mapping");
    refused("a: [", "the document", "neither YAML nor JSON");
    refused("kubernetes: [{kind: Pod}]", "configVersion", "is missing");
    refused("configVersion: v2", "configVersion", "only \"v1\"");
    refused("configVersion: v1", "the document", "has no binding");
    refused("configVersion: v1\nkubernetes: []", "kubernetes", "empty list");
    refused("configVersion: v1\nkubernetes: [Pod]", "kubernetes[0]", "must be a mapping");
    refused(&kubernetes("|allowFailure: \"yes\""), "kubernetes[0].allowFailure", "true or false");
    refused(&kubernetes("|mode: x"), "kubernetes[0].mode", "allowed: ");
    refused(&kubernetes("|content: some"), "kubernetes[0].content", "full, metadata, none");
    refused(
        &kubernetes("|content: full\n|keepFullObjectsInMemory: false"),
        "kubernetes[0].keepFullObjectsInMemory",
        "contradicts",
    );
    refused(&kubernetes("|nameSelector: {}"), "kubernetes[0].nameSelector.matchNames", "missing");
    refused(&kubernetes("|labelSelector: {}"), "kubernetes[0].labelSelector.matchLabels", "missing");
    refused(
        &kubernetes("|labelSelector: {matchLabels: {a: \"x y\"}}"),
        "kubernetes[0].labelSelector.matchLabels.a",
        "label value",
    );
    let values = "|labelSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}";
    refused(&kubernetes(values), "kubernetes[0].labelSelector.matchExpressions[0].values", "left out");
    let both = "|nameSelector: {matchNames: [a]}\n|fieldSelector: {matchExpressions: [{field: metadata.name, operator: \"=\", value: b}]}";
    refused(&kubernetes(both), "kubernetes[0].fieldSelector.matchExpressions[0].field", "nameSelector");
    refused(&kubernetes("|retry: {initial: 5s, max: 1s}"), "kubernetes[0].retry.max", "less than");
    refused(&kubernetes("|retry: {initial: soon}"), "kubernetes[0].retry.initial", "duration");
    refused("configVersion: v1\nonStartup: 1\nconcurrency: 0", "concurrency", "from 1 to 1000");
    let rule = "configVersion: v1\nonStartup: 1\npermissions: {kubernetes: [{apiGroups: [apps/v1], resources: [Secret], verbs: [watch]}]}";
    refused(rule, "permissions.kubernetes[0].apiGroups[0]", "without a version");
    refused(rule, "permissions.kubernetes[0].resources[0]", "plural");
    refused(rule, "permissions.kubernetes[0].verbs[0]", "allowed: get");
}

#[test]
fn two_bindings_of_one_name_cannot_be_referred_to() {
    let text = "configVersion: v1\nkubernetes: [{kind: A}, {kind: B}]\nschedule: [{crontab: \"* * * * *\", includeSnapshotsFrom: [kubernetes]}]";
    refused(text, "schedule[0].includeSnapshotsFrom[0]", "ambiguous");
}

#[test]
fn what_comes_later_is_refused_and_says_so() {
    let later = [
        kubernetes("|group: a"),
        kubernetes("|resynchronizationPeriod: 1h"),
        kubernetes("|waitForSynchronization: false"),
        kubernetes("|ignoreOwnWrites: true"),
        kubernetes("|namespace: {labelSelector: {matchLabels: {a: b}}}"),
        kubernetes("|retry: {attempts: 3}"),
        "configVersion: v1\nonStartup: 1\nsettings: {executionMinInterval: 3s}".into(),
        "configVersion: v1\nkubernetesValidating: [{name: a.b.c}]".into(),
        "configVersion: v1\nkubernetesMutating: [{name: a.b.c}]".into(),
        "configVersion: v1\nkubernetesCustomResourceConversion: [{name: a}]".into(),
        "configVersion: v1\nonStartup: 1\npermissions: {http: [{host: a}]}".into(),
        "configVersion: v1\nschedule: [{crontab: \"* * * * *\", group: a}]".into(),
        "configVersion: v1\nschedule: [{crontab: \"* * * * *\", jitter: 3s}]".into(),
        "configVersion: v1\nschedule: [{crontab: \"* * * * *\", missedRuns: once}]".into(),
    ];
    for text in later {
        let found = read(&text).expect_err(&text).problems;
        assert!(found.iter().any(|problem| problem.kind == ProblemKind::NotYet), "{text}: {found:#?}");
        assert!(found.iter().any(|problem| problem.message.starts_with("not yet: ")), "{text}: {found:#?}");
    }
    // Asking for what happens anyway is no problem.
    good(&kubernetes("|waitForSynchronization: true\n|ignoreOwnWrites: false"));
}

#[test]
fn hostile_documents_end_in_an_error() {
    let deep = format!("configVersion: {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(read(&deep).is_err());
    let huge = format!("configVersion: v1\nonStartup: 1\n# {}", "x".repeat(2 << 20));
    refused(&huge, "the document", "at most");
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\nconfigVersion: v1";
    assert!(read(bomb).is_err());
}

#[test]
fn the_normalised_document_reads_as_the_same_hook() {
    let spec = good(
        r#"
configVersion: v1
onStartup: 1
retry: {initial: 1500ms}
schedule: [{crontab: "TZ=Europe/Berlin */5 * * * *", includeSnapshotsFrom: [a]}, {crontab: "0 3 * * *", timeZone: Asia/Tokyo}]
kubernetes:
- name: a
  kind: deploy
  labelSelector:
    matchLabels: {app: web}
    matchExpressions: [{key: b, operator: NotIn, values: [x, y]}, {key: c, operator: Exists}, {key: d, operator: DoesNotExist}, {key: e, operator: In, values: [z]}]
  fieldSelector: {matchExpressions: [{field: f, operator: "!=", value: "1,2"}, {field: g, operator: "=", value: "x=\\y"}]}
- {kind: Pod, content: metadata, queue: main, executeHookOnEvent: []}
permissions: {kubernetes: [{apiGroups: [apps], resources: ["*"], verbs: [get], namespaces: [n]}]}
"#,
    );
    let printed = boathook::hooks::print(&spec);
    let again = good(&printed.to_string());
    // `a=b` and `a in (b)` select the same.
    let mut expected = spec;
    expected.kubernetes[0].label_selector = Some("app in (web),b notin (x,y),c,!d,e in (z)".into());
    assert_eq!(again, expected, "{printed:#}");
}
