//! The normalised document reads as the same hook.

use std::{num::NonZeroU32, time::Duration};

use boathook_core::{
    hooks::print,
    model::{
        Adopt, AnnotationRule, AnnotationTest, BindingName, Content, DirectoryAccess, DirectoryRule, FieldPath,
        HookName, HookSpec, HttpRule, KubernetesBinding, Limits, MissedRuns, ObjectRef, OwnedKind, Permission,
        PruneLimits, QueueName, RateLimit, ReconcileBinding, Related, RetryPolicy, ScheduleBinding, StartupBinding,
        WatchEventKind,
    },
};
use proptest::{collection::vec, option, prelude::*, sample::select};

use super::{good, read};

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
kubernetesValidating:
- name: a.b.c
  rules: [{apiGroups: [""], apiVersions: [v1], resources: ["*", "*/scale"], operations: [CREATE]}]
  labelSelector: {matchExpressions: [{key: d, operator: DoesNotExist}]}
  includeSnapshotsFrom: [a]
kubernetesMutating:
- name: a.b.c
  rules: [{apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], operations: ["*"], scope: Cluster}]
  failurePolicy: Ignore
  sideEffects: NoneOnDryRun
  timeoutSeconds: 1
  matchPolicy: Exact
  reinvocationPolicy: IfNeeded
  matchConditions: [{name: a, expression: "true"}]
  namespace: {labelSelector: {matchLabels: {a: b}}, includeSystem: true}
  auditAnnotations: {a: b}
kubernetesCustomResourceConversion:
- {name: x, crdName: a.b, conversions: [{fromVersion: v1, toVersion: b/v2}], includeSnapshotsFrom: [a]}
permissions: {kubernetes: [{apiGroups: [apps], resources: ["*"], verbs: [get], namespaces: [n]}]}
"#,
    );
    let printed = boathook_core::hooks::print(&spec);
    let again = good(&printed.to_string());
    assert_eq!(again, spec, "{printed:#}");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "[ -~é\n]{1,8}"]
}

fn label_selector() -> impl Strategy<Value = Option<String>> {
    let key = "([a-z]{1,3}\\.[a-z]{1,3}/)?[a-zA-Z]([-_.a-z0-9]{0,4}[a-z0-9])?";
    let value = "([a-z0-9]([-_.a-z0-9]{0,4}[a-z0-9])?)?";
    let equal = vec((key, value), 0..3).prop_map(|pairs| {
        let pairs: std::collections::BTreeMap<_, _> = pairs.into_iter().collect();
        pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
    });
    let expression = (key, vec(value, 1..4), 0..4).prop_map(|(key, values, operator)| match operator {
        0 => key,
        1 => format!("!{key}"),
        2 => format!("{key} in ({})", values.join(",")),
        _ => format!("{key} notin ({})", values.join(",")),
    });
    (equal, vec(expression, 0..3)).prop_map(|(equal, others)| {
        let terms = [equal, others].concat();
        (!terms.is_empty()).then(|| terms.join(","))
    })
}

fn field_selector() -> impl Strategy<Value = Option<String>> {
    let escape = |value: String| value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
    let term = ("[a-z]{1,4}(\\.[a-zA-Z]{1,4})?", select(vec!["=", "!="]), "[a-z,=!\\\\ ]{0,6}")
        .prop_map(move |(field, operator, value)| format!("{field}{operator}{}", escape(value)));
    vec(term, 0..3).prop_map(|terms| (!terms.is_empty()).then(|| terms.join(",")))
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![(1..10_000_u64).prop_map(Duration::from_secs), (1..u64::from(u32::MAX)).prop_map(Duration::from_millis)]
}

fn retry() -> impl Strategy<Value = RetryPolicy> {
    (duration(), duration(), 1.0..100.0, 0.0..=1.0, option::of(any::<NonZeroU32>())).prop_map(
        |(a, b, multiplier, jitter, attempts)| RetryPolicy {
            initial: a.min(b),
            max: a.max(b),
            multiplier,
            jitter,
            attempts,
        },
    )
}

fn queue() -> impl Strategy<Value = QueueName> {
    prop_oneof![
        Just(QueueName::Own(HookName::new("test").unwrap())),
        text().prop_map(|name| QueueName::Shared(name.into())),
    ]
}

/// Bindings without the names of others, which depend on all of them.
fn kubernetes() -> impl Strategy<Value = KubernetesBinding> {
    let what = (
        option::of(select(vec!["v1", "apps/v1", "a.b-c/v1beta1"])),
        text(),
        vec("[a-z]{1,5}", 0..3),
        vec("[a-z]{1,5}", 0..3),
        label_selector(),
        label_selector(),
        field_selector(),
        option::of(text().prop_filter("a program", |text| !text.trim().is_empty() && !text.contains("bad"))),
    );
    let events = proptest::sample::subsequence(
        vec![WatchEventKind::Added, WatchEventKind::Modified, WatchEventKind::Deleted],
        0..=3,
    );
    let content = select(vec![Content::Full, Content::Metadata, Content::None]);
    let when = (events, any::<[bool; 4]>(), option::of(duration()), content);
    let resynchronization = |period: Option<Duration>| period.map(|period| period.max(Duration::from_secs(1)));
    (what, when, option::of(select(vec!["g", "h"])), queue(), retry()).prop_map(
        move |(
            (version, kind, names, namespaces, labels, namespace_labels, fields, filter),
            when,
            group,
            queue,
            retry,
        )| {
            let (events, [on_synchronization, wait, own, allow_failure], period, content) = when;
            KubernetesBinding {
                name: BindingName::new("later"),
                role: None,
                api_version: version.map(Into::into),
                kind,
                names,
                namespaces,
                namespace_labels,
                label_selector: labels,
                field_selector: fields,
                events,
                on_synchronization,
                wait_for_synchronization: wait,
                resynchronization_period: resynchronization(period),
                ignore_own_writes: own,
                debounce: period.unwrap_or_default(),
                previous_object: !own,
                content,
                jq_filter: filter.map(Into::into),
                group: group.map(Into::into),
                include_snapshots_from: [].into(),
                queue,
                allow_failure,
                retry,
                may_watch: Default::default(),
            }
        },
    )
}

fn schedule() -> impl Strategy<Value = ScheduleBinding> {
    let crontab = select(vec!["*/5 * * * *", "@daily", "0 0 3 1 jan ?", "@every 90s"]);
    let zone = option::of(select(vec!["Europe/Berlin", "UTC"]));
    let missed = select(vec![MissedRuns::Skip, MissedRuns::Once]);
    let group = option::of(select(vec!["g", "only-here"]));
    let jitter = prop_oneof![Just(Duration::ZERO), duration()];
    (crontab, zone, missed, jitter, group, queue(), any::<bool>(), retry()).prop_map(
        |(crontab, zone, missed_runs, jitter, group, queue, allow_failure, retry)| ScheduleBinding {
            name: BindingName::new("later"),
            crontab: crontab.into(),
            time_zone: zone.map(Into::into),
            missed_runs,
            jitter,
            group: group.map(Into::into),
            queue,
            allow_failure,
            include_snapshots_from: [].into(),
            retry,
        },
    )
}

/// The names that bindings have in a document, of which some are doubled; each binding's list of
/// snapshots is its own choice among the others, and then its group's.
fn name(kubernetes: &mut [KubernetesBinding], schedules: &mut [ScheduleBinding], doubled: usize, own: &[usize]) {
    for (i, binding) in kubernetes.iter_mut().enumerate() {
        binding.name =
            if i < doubled { BindingName::nth("kubernetes", i + 1) } else { BindingName::new(format!("b{i}")) };
    }
    for (i, binding) in schedules.iter_mut().enumerate() {
        binding.name = BindingName::nth("tick", i + 1);
    }
    let names: Vec<_> = kubernetes.iter().map(|b| (b.name.clone(), b.group.clone())).collect();
    let choosable: Vec<_> = names.iter().skip(if doubled == 1 { 0 } else { doubled }).collect();
    let list = |i: usize, group: &Option<std::sync::Arc<str>>| {
        let mut list = Vec::new();
        let chosen = own.iter().map(|n| n + i).filter(|n| n % 3 != 0).filter_map(|n| choosable.get(n % 5));
        let members = names.iter().filter(|(_, other)| group.is_some() && other == group);
        for (name, _) in chosen.copied().chain(members) {
            if !list.contains(name) {
                list.push(name.clone());
            }
        }
        list.into()
    };
    kubernetes.iter_mut().enumerate().for_each(|(i, b)| b.include_snapshots_from = list(i, &b.group));
    schedules.iter_mut().enumerate().for_each(|(i, b)| b.include_snapshots_from = list(i + 1, &b.group));
}

/// Reconcilers named `r0` and so on, each of another kind.
fn reconcilers() -> impl Strategy<Value = Vec<ReconcileBinding>> {
    let kinds = vec![("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "ConfigMap"), ("example.com/v1", "Other")];
    let owned = |(api_version, kind): (&str, &str)| OwnedKind { api_version: api_version.into(), kind: kind.into() };
    let owns = proptest::sample::subsequence(kinds, 1..4);
    let prune = (1..=100_u8, 0..1000_usize)
        .prop_map(|(share, max_objects)| PruneLimits { max_share: share.try_into().unwrap(), max_objects });
    let adopt = select(vec![Adopt::Never, Adopt::IfUnowned, Adopt::Always]);
    let resync = (option::of((1..10_000_u64).prop_map(Duration::from_secs)), option::of(2..100_usize));
    let related = vec((option::of("[a-z]{1,4}"), "\\.[a-z]{1,4}(\\[\\]|\\.[a-z])?", label_selector()), 0..3);
    let entry =
        move |(i, (namespace, path, label_selector)): (usize, (Option<String>, String, Option<String>))| Related {
            name: format!("e{i}").into(),
            kind: owned(("v1", "Secret")),
            namespace,
            // Without a selector, a path is needed.
            name_from: (i % 2 == 0 || label_selector.is_none()).then(|| FieldPath::parse(&path).unwrap()),
            label_selector,
        };
    let related = related.prop_map(move |all| all.into_iter().enumerate().map(entry).collect::<Vec<_>>());
    let values = || vec("[ -~]{0,6}", 1..3);
    let test = prop_oneof![
        values().prop_map(AnnotationTest::In),
        values().prop_map(AnnotationTest::NotIn),
        Just(AnnotationTest::Exists),
        Just(AnnotationTest::DoesNotExist),
    ];
    let rule = ("[a-z]{1,4}", test).prop_map(|(key, test)| AnnotationRule { key, test });
    let decorates = option::of(vec(rule, 0..3));
    let one = (vec("[a-z]{1,4}", 0..2), label_selector(), decorates, owns, related, prune, adopt, (resync, retry()))
        .prop_map(move |(namespaces, label_selector, decorates, owns, related, prune, adopt, (resync, retry))| {
            let (resync, revisions) = resync;
            ReconcileBinding {
                revisions: revisions.filter(|_| decorates.is_none()),
                decorates: decorates.is_some(),
                annotations: decorates.unwrap_or_default(),
                name: BindingName::new("later"),
                parent: owned(("example.com/v1", "App")),
                namespaces,
                label_selector,
                owns: owns.into_iter().map(owned).collect(),
                related,
                prune,
                adopt,
                resync,
                include_snapshots_from: [].into(),
                queue: QueueName::Own(HookName::new("test").unwrap()),
                retry,
            }
        });
    vec(one, 0..3).prop_map(|mut all| {
        for (i, binding) in all.iter_mut().enumerate() {
            binding.name = BindingName::new(format!("r{i}"));
            binding.parent.kind = format!("App{i}").into();
        }
        all
    })
}

fn permission() -> impl Strategy<Value = Permission> {
    let verbs = proptest::sample::subsequence(vec!["get", "list", "create", "update", "patch", "delete", "*"], 1..4);
    let groups = vec(select(vec!["", "apps", "a.b"]), 1..3);
    // A word that is there twice is refused.
    let once = |mut words: Vec<String>| {
        let mut seen = std::collections::HashSet::new();
        words.retain(|word| seen.insert(word.clone()));
        words
    };
    (groups, vec("[a-z]{1,5}(/[a-z]{1,4})?", 1..3), verbs, vec(text(), 0..3), vec(text(), 0..3)).prop_map(
        move |(groups, resources, verbs, resource_names, namespaces)| Permission {
            api_groups: once(groups.into_iter().map(Into::into).collect()),
            resources: once(resources),
            verbs: verbs.into_iter().map(Into::into).collect(),
            resource_names: once(resource_names),
            namespaces: once(namespaces),
            http: None,
            directory: None,
        },
    )
}

fn http() -> impl Strategy<Value = Permission> {
    let some = |words: &[&'static str], least| {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let most = words.len();
        proptest::sample::subsequence(words, least..=most)
    };
    let hosts = some(&["a.io", "*.a.io", "a.io:8443", "http://a.io", "[::1]:8443", "10.0.0.1"], 1);
    let methods = some(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "*"], 1);
    (hosts, methods, some(&["/", "/v1/*", "/a%20b"], 0))
        .prop_map(|(hosts, methods, paths)| Permission::of_http(HttpRule { hosts, methods, paths }))
}

fn directories() -> impl Strategy<Value = Vec<Permission>> {
    let names = proptest::sample::subsequence(vec!["keys", "logs", "a-1"], 0..=3);
    let access = select(vec![DirectoryAccess::Read, DirectoryAccess::Write]);
    (names, access).prop_map(|(names, access)| {
        let rule = |name: &str| DirectoryRule { name: name.to_owned(), access };
        names.into_iter().map(|name| Permission::of_directory(rule(name))).collect()
    })
}

fn spec() -> impl Strategy<Value = HookSpec> {
    let named = (vec(kubernetes(), 0..5), vec(schedule(), 0..3), 0..4_usize, vec(0..20_usize, 0..4));
    let bindings = (named, reconcilers()).prop_map(|((mut kubernetes, mut schedules, doubled, own), reconcilers)| {
        name(&mut kubernetes, &mut schedules, doubled, &own);
        kubernetes.extend(reconcilers.iter().flat_map(ReconcileBinding::informers));
        (kubernetes, schedules, reconcilers)
    });
    let bytes = || 0..(1_u64 << 50);
    let limits = (bytes(), duration(), 0..(1_u64 << 50), bytes(), bytes());
    let rate = option::of((prop_oneof![Just(Duration::ZERO), duration()], any::<NonZeroU32>()));
    let regarding = option::of(("[a-z]{1,5}/v1", text(), option::of(text()), text()));
    let permissions = (vec(permission(), 0..3), vec(http(), 0..3), directories())
        .prop_map(|(kubernetes, http, directories)| [kubernetes, http, directories].concat());
    (bindings, option::of((any::<i32>(), retry())), permissions, limits, 1..=1000_usize, rate, regarding).prop_map(
        |((kubernetes, schedules, reconcilers), startup, permissions, limits, concurrency, rate, regarding)| {
            let (memory, time, host_calls, host_bytes, log_bytes) = limits;
            HookSpec {
                name: HookName::new("test").unwrap(),
                on_startup: startup.map(|(order, retry)| StartupBinding {
                    order: order.into(),
                    queue: QueueName::main(),
                    retry,
                }),
                stages: Vec::new(),
                schedules,
                kubernetes,
                admission: Vec::new(),
                conversions: Vec::new(),
                combine: reconcilers.is_empty(),
                reconcilers,
                permissions: permissions.into(),
                limits: Limits { memory, time, host_calls, host_bytes, log_bytes },
                concurrency,
                rate: rate.map(|(min_interval, burst)| RateLimit { min_interval, burst }),
                failure_events: regarding.map(|(api_version, kind, namespace, name)| ObjectRef {
                    api_version,
                    kind,
                    namespace,
                    name,
                }),
                warnings: Vec::new(),
            }
        },
    )
}

proptest! {
    #[test]
    fn any_hook_reads_back(spec in spec()) {
        let printed = print(&spec);
        for text in [printed.to_string(), yaml_serde::to_string(&printed).unwrap()] {
            let mut again = read(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            // A hook without bindings is accepted, and warned of.
            again.warnings.clear();
            prop_assert_eq!(&again, &spec, "{}", text);
        }
    }
}
