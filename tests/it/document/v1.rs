//! Documents with `configVersion: v1`.

use std::time::Duration;

use boathook_core::model::{Content, MissedRuns, QueueName, WatchEventKind::*};

use super::{good, kubernetes, problems, refused, schedule};

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
  http:
  - {hosts: [api.example.com]}
  - {hosts: ["*.example.com:8443", "http://[::1]"], methods: [POST, "*"], paths: [/v1/*, /healthz]}
  directories:
  - {name: logs}
  - {name: keys, access: write}
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
    let others: Vec<_> = spec.permissions[1..].iter().map(ToString::to_string).collect();
    let other = "POST, * at *.example.com:8443, http://[::1] under /v1/*, /healthz";
    let directories = ["read directory logs", "read, write directory keys"];
    assert_eq!(others, ["GET, HEAD at api.example.com", other, directories[0], directories[1]]);
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
fn what_the_other_keys_mean() {
    let spec = good(
        r#"
configVersion: v1
settings: {executionMinInterval: 1m30s, executionBurst: 3}
failureEvents: {regarding: {apiVersion: apps/v1, kind: Deployment, namespace: a, name: b}}
retry: {attempts: 7}
schedule:
- {crontab: "0 * * * *", missedRuns: once, jitter: 1.5s, timeZone: Asia/Tokyo}
kubernetes:
- kind: Pod
  waitForSynchronization: false
  resynchronizationPeriod: 1h
  ignoreOwnWrites: true
  debounce: 2s
  previousObject: true
  namespace:
    nameSelector: {matchNames: [a]}
    labelSelector: {matchLabels: {x: y}, matchExpressions: [{key: z, operator: Exists}]}
  retry: {attempts: 1}
"#,
    );
    let rate = spec.rate.unwrap();
    assert_eq!((rate.min_interval.as_secs(), rate.burst.get()), (90, 3));
    assert_eq!(spec.failure_events.unwrap().to_string(), "apps/v1 Deployment a/b");
    let schedule = &spec.schedules[0];
    assert_eq!((schedule.missed_runs, schedule.jitter), (MissedRuns::Once, Duration::from_millis(1500)));
    assert_eq!(
        (schedule.retry.attempts.map(|n| n.get()), schedule.time_zone.as_deref()),
        (Some(7), Some("Asia/Tokyo"))
    );
    let pods = &spec.kubernetes[0];
    assert_eq!((pods.wait_for_synchronization, pods.ignore_own_writes), (false, true));
    assert_eq!((pods.debounce, pods.previous_object), (Duration::from_secs(2), true));
    assert_eq!(pods.resynchronization_period, Some(Duration::from_secs(3600)));
    assert_eq!((&*pods.namespaces, pods.namespace_labels.as_deref()), (&["a".to_owned()][..], Some("x=y,z")));
    assert_eq!(pods.retry.attempts.map(|n| n.get()), Some(1));
    assert!(spec.combine && spec.warnings.is_empty());
}

#[test]
fn what_is_left_out_has_its_default() {
    let spec = good(&kubernetes(""));
    let pods = &spec.kubernetes[0];
    assert!(pods.on_synchronization && pods.wait_for_synchronization && !pods.ignore_own_writes && !pods.allow_failure);
    assert_eq!((pods.resynchronization_period, &pods.namespace_labels, &pods.group), (None, &None, &None));
    assert_eq!((spec.rate, spec.concurrency, spec.failure_events), (None, 1, None));
    let spec = good(&schedule(""));
    assert_eq!((spec.schedules[0].missed_runs, spec.schedules[0].jitter), (MissedRuns::Skip, Duration::ZERO));
    assert_eq!(spec.schedules[0].retry.attempts, None);
}

#[test]
fn rate_limits_have_shell_operators_corner_cases() {
    let rate = |fields: &str| good(&format!("configVersion: v1\nsettings: {{{fields}}}")).rate.unwrap();
    let none = rate("executionMinInterval: 0s, executionBurst: 0");
    assert_eq!((none.min_interval, none.burst.get()), (Duration::ZERO, 1));
    assert_eq!(rate("executionMinInterval: \"0\", executionBurst: 5").burst.get(), 5);
}

/// shell-operator counts keys: with any key beside the version the document is complete.
#[test]
fn a_hook_may_have_no_binding_when_it_says_so() {
    let spec = good("configVersion: v1\nsettings: {executionMinInterval: 1s, executionBurst: 1}");
    assert!(spec.warnings.iter().any(|warning| warning.contains("has no binding")), "{:?}", spec.warnings);
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
- {name: other, labelSelector: {matchExpressions: [{key: "a b", operator: Is}]}}
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
    refused("kubernetes: [{kind: Pod}]", "configVersion", "\"kubernetes\" is known from v1 on");
    refused("kubernetesValidating: []", "configVersion", "is missing");
    refused("configVersion: v2", "configVersion", "only \"v1\"");
    refused("configVersion: v0\nonStartup: 1", "configVersion", "remove the key");
    refused("configVersion:\nonStartup: 1", "configVersion", "is null");
    refused("configVersion: 1", "configVersion", "must be the string \"v1\", not 1");
    refused("configVersion: v1", "the document", "has no binding");
    refused("configVersion: v1\nkubernetes: []", "kubernetes", "empty list");
    refused("configVersion: v1\nkubernetes: [Pod]", "kubernetes[0]", "must be a mapping");
    refused(&kubernetes("|allowFailure: \"yes\""), "kubernetes[0].allowFailure", "true or false");
    refused(&kubernetes("|allowFailure:"), "kubernetes[0].allowFailure", "is null");
    refused(&kubernetes("|name: \"\""), "kubernetes[0].name", "is empty");
    refused(&kubernetes("|waitForSynchronization: 1"), "kubernetes[0].waitForSynchronization", "true or false");
    refused(&kubernetes("|resynchronizationPeriod: 10ms"), "kubernetes[0].resynchronizationPeriod", "from 1s to 8784h");
    refused(&kubernetes("|resynchronizationPeriod: 1d"), "kubernetes[0].resynchronizationPeriod", "1h30m");
    refused(
        &kubernetes("|namespace: {nameSelector: {matchNames: [a/b]}}"),
        "kubernetes[0].namespace.nameSelector.matchNames[0]",
        "cannot be a name",
    );
    refused(
        &kubernetes("|namespace: {labelSelector: {matchLabels: {a: \"x y\"}}}"),
        "kubernetes[0].namespace.labelSelector.matchLabels.a",
        "label value",
    );
    refused(
        &kubernetes("|namespace: {labelSelector: {}}"),
        "kubernetes[0].namespace.labelSelector.matchLabels",
        "missing",
    );
    refused(&kubernetes("|retry: {attempts: 0}"), "kubernetes[0].retry.attempts", "from 1 to");
    refused(&kubernetes("|retry: {initial: 60s}"), "kubernetes[0].retry.max", "give both");
    refused(&schedule("missedRuns: all"), "schedule[0].missedRuns", "skip, once");
    refused(&schedule("jitter: -1s"), "schedule[0].jitter", "a duration");
    refused(&schedule("timeZone: Mars/Base"), "schedule[0].timeZone", "IANA");
    let settings = |fields: &str| format!("configVersion: v1\nonStartup: 1\nsettings: {fields}");
    refused(&settings("{executionMinInterval: 3s}"), "settings.executionBurst", "is missing");
    refused(&settings("{executionBurst: 3}"), "settings.executionMinInterval", "is missing");
    refused(&settings("{executionBurst: -1, executionMinInterval: 1s}"), "settings.executionBurst", "from 0 to");
    refused(
        &settings("{executionBurst: 1, executionMinInterval: \"\"}"),
        "settings.executionMinInterval",
        "a duration",
    );
    let events = |fields: &str| format!("configVersion: v1\nonStartup: 1\nfailureEvents: {fields}");
    refused(&events("{}"), "failureEvents.regarding", "is missing");
    refused(&events("{regarding: {kind: A}}"), "failureEvents.regarding.name", "is missing");
    refused(
        &events("{regarding: {kind: A, name: b, apiVersion: a b}}"),
        "failureEvents.regarding.apiVersion",
        "needed",
    );
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
    let twice = "configVersion: v1\nonStartup: 1\npermissions: {kubernetes: [{apiGroups: ['', ''], resources: [a, b, a], \
        verbs: [get, get], resourceNames: [c, c], namespaces: [d, d]}]}";
    for place in ["apiGroups[1]", "resources[2]", "verbs[1]", "resourceNames[1]", "namespaces[1]"] {
        refused(twice, &format!("permissions.kubernetes[0].{place}"), "once more");
    }
    let http = |rule: &str| format!("configVersion: v1\nonStartup: 1\npermissions: {{http: [{rule}]}}");
    for (rule, place, part) in [
        ("{methods: [GET]}", "hosts", "is missing"),
        ("{hosts: [a.io], ports: [1]}", "ports", "allowed: hosts, methods, paths"),
        ("{hosts: [a.io, a.io]}", "hosts[1]", "once more"),
        ("{hosts: ['*']}", "hosts[0]", "*.example.com"),
        ("{hosts: ['https://a.io']}", "hosts[0]", "api.example.com"),
        ("{hosts: ['a.io:443']}", "hosts[0]", "a port if it is not 443"),
        ("{hosts: [a.io], methods: [get]}", "methods[0]", "allowed: GET"),
        ("{hosts: [a.io], paths: ['/v1?x']}", "paths[0]", "without a query"),
    ] {
        refused(&http(rule), &format!("permissions.http[0].{place}"), part);
    }
    let directories = |rules: &str| format!("configVersion: v1\nonStartup: 1\npermissions: {{directories: [{rules}]}}");
    for (rules, place, part) in [
        ("{access: read}", "[0].name", "is missing"),
        ("{name: Keys}", "[0].name", "lower-case letters"),
        ("{name: ../etc}", "[0].name", "lower-case letters"),
        ("{name: ''}", "[0].name", "is empty"),
        ("{name: a, access: all}", "[0].access", "allowed: read, write"),
        ("{name: a, path: /etc}", "[0].path", "allowed: access, name"),
        ("{name: a}, {name: a, access: write}", "[1].name", "once more"),
    ] {
        refused(&directories(rules), &format!("permissions.directories{place}"), part);
    }
}
