//! What records of runs show that a hook's document may leave out: limits far above the high water, permissions that no call
//! needed, objects and events that led to nothing, and parts of objects that the hook does not read. Each piece of advice is
//! a patch of the document.
//!
//! Pure, apart from reading what `record` gives. The caller reads the files, and repeats runs for the probes.
//!
//! ```text
//!  records ─▶ Seen ─▶ probes ─▶ (replays without a part of the objects) ─▶ advise ─▶ items ─▶ patch
//!                                                                                      │
//!                                              each record again ─▶ judge: none may contradict a patch
//! ```

mod bindings;
mod check;
mod document;
mod grants;
mod limits;
mod probe;
mod seen;

use boathook_core::model::HookSpec;
use serde_json::Value;

pub use check::{Verdict, judge};
pub use document::{Change, patch, patched};
pub use probe::{Probe, Without, probes};
pub use seen::{Changed, Most, OfBinding, Place, Seen, Times};

use crate::rbac::Kinds;

/// Runs that advice needs. Fewer show too little.
pub const ENOUGH: usize = 10;
/// Events that something must spare.
const FEW: usize = 3;
/// Names or namespaces that a selector may list, and how often each must have occurred if nothing else was seen.
const SOME: usize = 5;

/// One hook, and what is known of it.
pub struct Subject<'a> {
    pub spec: &'a HookSpec,
    /// The document as the hook's `config` returns it.
    pub document: &'a Value,
    pub seen: &'a Seen,
    /// What no run read.
    pub unread: &'a [Probe],
    pub kinds: &'a Kinds,
}

/// One piece of advice.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The key of the document: `limits.memory`, `kubernetes[0].namespace.nameSelector`.
    pub at: String,
    /// What should be there.
    pub advice: String,
    pub reason: String,
    /// The runs that it rests on.
    pub runs: usize,
    /// Recorded events that would not run the hook any more. All of them led to nothing.
    pub spares: usize,
    pub changes: Vec<Change>,
}

/// The advice, in the order of the document's parts.
pub fn advise(subject: &Subject<'_>) -> Vec<Item> {
    if subject.seen.runs < ENOUGH {
        return Vec::new();
    }
    let mut items = limits::advise(subject);
    // A record that lacks calls or objects does not show that they are not needed.
    if subject.seen.incomplete == 0 {
        items.extend(grants::advise(subject));
        // Documents without a version have other keys.
        if subject.document.get("configVersion").is_some() {
            items.extend(bindings::advise(subject));
        }
    }
    items
}

/// What a reader of the advice has to know.
pub fn notes(subject: &Subject<'_>) -> Vec<String> {
    let (seen, mut notes) = (subject.seen, Vec::new());
    if seen.runs < ENOUGH {
        let runs = if seen.runs == 1 { "1 run is".to_owned() } else { format!("{} runs are", seen.runs) };
        notes.push(format!("{runs} recorded, and advice needs {ENOUGH}: record more of them"));
        return notes;
    }
    notes.extend(limits::reached(subject));
    if seen.incomplete > 0 {
        notes.push(format!(
            "{} of its records do not show everything, so nothing is said of permissions and bindings",
            seen.incomplete
        ));
    } else if subject.document.get("configVersion").is_none() {
        notes.push("its document has no configVersion, so nothing is said of bindings".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::sync::Arc;

    use boathook_core::{
        hooks::parse,
        model::{
            BindingName, Cause, Create, Failure, FailureKind, HookName, IfExists, Item as Object, Limit, Limits,
            ObjectEvent, ObjectKey, Operation, Resource, WatchEventKind, WriteOptions,
        },
    };
    use boathook_operator::record::{AmbientValues, Answer, Call, End, Header, Record, RecordedTrigger, Request};
    use serde_json::json;

    use super::*;

    /// A hook that watches ConfigMaps, and may create Secrets.
    fn document() -> Value {
        json!({
            "configVersion": "v1",
            "kubernetes": [{"name": "maps", "apiVersion": "v1", "kind": "ConfigMap"}],
            "permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]},
            "limits": {"memory": "64Mi"},
        })
    }

    fn spec(document: &Value) -> HookSpec {
        parse(&HookName::new("h").unwrap(), &document.to_string(), &|_| Ok(())).unwrap()
    }

    /// A run because of an event, which creates a Secret or does nothing.
    fn record(number: u64, kind: WatchEventKind, name: &str, object: &Value, writes: bool) -> Record {
        let item = Object {
            key: ObjectKey { namespace: Some("web".into()), name: name.into() },
            uid: name.into(),
            resource_version: number.to_string().into(),
            object: Some(object.to_string().into()),
            filter_result: None,
        };
        let event = ObjectEvent {
            kind,
            resource: Arc::new(Resource::of("v1", "ConfigMap", "configmaps", true)),
            item: Arc::new(item),
            previous_filter_result: None,
            previous_object: None,
            managers: None,
        };
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "web", "name": name}});
        let create = Create { object: secret.to_string(), if_exists: IfExists::Keep, subresource: None };
        let request = Request::Write { operation: Operation::Create(create), options: WriteOptions::default() };
        let call = Call { request, answer: Some(Answer::Written(Ok(None))) };
        Record {
            header: Header {
                boathook: "1".into(),
                engine: "wasmtime".into(),
                component: "sha256:0".into(),
                hook: "h".into(),
                binding: "maps".into(),
                queue: "hook/h".into(),
                run: format!("p-{number}"),
                attempt: 1,
                started: number,
                limits: Limits::default(),
                permissions: Vec::new(),
                settings: None,
                dry_run: false,
                redacted: true,
                incomplete: None,
            },
            triggers: vec![RecordedTrigger {
                binding: BindingName::new("maps"),
                cause: Cause::Event(event),
                group: None,
                snapshots: Arc::new([]),
                allow_failure: false,
            }],
            question: None,
            snapshots: Vec::new(),
            calls: if writes { vec![call] } else { Vec::new() },
            ambient: AmbientValues::default(),
            log: Vec::new(),
            causes: None,
            end: End {
                failure: None,
                answer: None,
                metrics: Vec::new(),
                duration_us: 1_000,
                cpu_us: 1_000,
                memory_peak: 3 << 20,
                host_calls: 3,
                host_bytes: 300,
            },
        }
    }

    fn object(data: &str, status: u64) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": data}, "status": status})
    }

    /// Ten objects that lead to something, and one whose status changes four times, for nothing.
    fn noisy() -> Vec<Record> {
        use WatchEventKind::{Added, Modified};
        let added = (0..10).map(|n| record(n, Added, &format!("a-{n}"), &object("1", 0), true));
        let first = [record(10, Added, "b", &object("1", 0), false)];
        let modified = (1..5).map(|n| record(10 + n, Modified, "b", &object("1", n), false));
        added.chain(first).chain(modified).collect()
    }

    fn seen(records: &[Record]) -> Seen {
        let mut seen = Seen::default();
        records.iter().for_each(|record| seen.add(record, false));
        seen
    }

    fn advice(document: &Value, seen: &Seen, unread: &[Probe]) -> Vec<Item> {
        let (spec, kinds) = (spec(document), Kinds::default());
        advise(&Subject { spec: &spec, document, seen, unread, kinds: &kinds })
    }

    #[test]
    fn a_field_that_changes_for_nothing_and_is_not_read_gets_a_filter() {
        let (document, seen) = (document(), seen(&noisy()));
        let status = Probe { binding: BindingName::new("maps"), without: Without::Field("status".into()) };
        assert!(probes(&spec(&document), &seen).contains(&status));
        let items = advice(&document, &seen, std::slice::from_ref(&status));
        let filter = items.iter().find(|item| item.at == "kubernetes[0].jqFilter").unwrap();
        assert!(filter.advice.starts_with("del(.[\"status\"], .metadata.resourceVersion"), "{}", filter.advice);
        assert_eq!(filter.spares, 4);
        // One change of it that led to something is enough.
        let mut records = noisy();
        records.push(record(20, WatchEventKind::Modified, "b", &object("1", 9), true));
        let seen = self::seen(&records);
        assert!(!probes(&spec(&document), &seen).contains(&status));
    }

    #[test]
    fn a_part_is_hidden_wherever_the_run_had_it() {
        let all = noisy();
        let (first, last) = (all.first().unwrap(), all.last().unwrap());
        let binding = BindingName::new("maps");
        let hide = |without, record| Probe { binding: binding.clone(), without }.hide(record);
        let text = |record: Record| match &record.triggers[0].cause {
            Cause::Event(event) => event.item.object.as_deref().unwrap_or_default().to_owned(),
            cause => panic!("{cause:?}"),
        };
        let hidden = text(hide(Without::Field("status".into()), last).unwrap());
        assert!(hidden.contains("data") && !hidden.contains("status"), "{hidden}");
        let metadata = boathook_core::model::Content::Metadata;
        let hidden = text(hide(Without::Content(metadata), first).unwrap());
        assert!(hidden.contains("metadata") && !hidden.contains("data\":{\"x"), "{hidden}");
        assert_eq!(text(hide(Without::Content(boathook_core::model::Content::None), first).unwrap()), "");
        assert_eq!(hide(Without::Key("x".into()), first), None);
        let other = Probe { binding: BindingName::new("others"), without: Without::Field("status".into()) };
        assert_eq!(other.hide(first), None);
    }

    #[test]
    fn few_or_incomplete_records_and_limits_that_were_reached_give_no_advice() {
        let document = document();
        let few: Vec<_> = noisy().into_iter().take(ENOUGH - 1).collect();
        assert_eq!(advice(&document, &seen(&few), &[]), []);
        let ats = |items: &[Item]| items.iter().map(|item| item.at.clone()).collect::<Vec<_>>();
        let mut records = noisy();
        records[0].header.incomplete = Some("too large".into());
        assert!(ats(&advice(&document, &seen(&records), &[])).iter().all(|at| at.starts_with("limits.")));
        let memory = "limits.memory".to_owned();
        assert!(ats(&advice(&document, &seen(&noisy()), &[])).contains(&memory));
        records[0].header.incomplete = None;
        let failure = Failure { kind: FailureKind::Limit(Limit::Memory), ..interrupted() };
        records[0].end.failure = Some(failure);
        assert!(!ats(&advice(&document, &seen(&records), &[])).contains(&memory));
        // A run that was interrupted shows less than a whole one.
        records.truncate(ENOUGH);
        records[0].end.failure = Some(interrupted());
        assert_eq!(seen(&records).runs, ENOUGH - 1);
    }

    fn interrupted() -> Failure {
        Failure { kind: FailureKind::Interrupted, message: "stop".into(), backtrace: None }
    }

    // mutant: crates/author/src/advice/check.rs: `if !still && led {` => `if false {`
    // mutant: crates/author/src/advice/check.rs: `used.into_iter().find(|(_, used, limit)| used > limit)` => `used.into_iter().find(|_| false)`
    #[test]
    fn a_record_contradicts_what_takes_something_from_its_run() {
        let before = document();
        let changed = |at: &str, value: Value| {
            let mut after = before.clone();
            let (above, key) = at.rsplit_once('/').unwrap();
            after.pointer_mut(above).unwrap().as_object_mut().unwrap().insert(key.to_owned(), value);
            spec(&after)
        };
        let kinds = Kinds::default();
        let (led, idle) = (
            record(1, WatchEventKind::Added, "a", &object("1", 0), true),
            record(2, WatchEventKind::Added, "a", &object("1", 0), false),
        );
        let judged = |record: &Record, after: &HookSpec| judge(record, &spec(&before), after, &kinds, false);
        let lists = |verbs: &[&str]| json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": verbs}]);
        for (after, why) in [
            (changed("/limits/memory", "2Mi".into()), "used more than limits.memory"),
            (changed("/limits/hostCalls", 2.into()), "used more than limits.hostCalls"),
            (changed("/permissions/kubernetes", lists(&["delete"])), "needed to create secrets"),
            (changed("/kubernetes/0/executeHookOnEvent", json!(["Deleted"])), "acted because of web/a"),
            (changed("/kubernetes/0/namespace", json!({"nameSelector": {"matchNames": ["b"]}})), "acted because of"),
            (changed("/kubernetes/0/nameSelector", json!({"matchNames": ["b"]})), "acted because of"),
            (changed("/kubernetes/0/labelSelector", json!({"matchLabels": {"a": "b"}})), "acted because of"),
            (changed("/kubernetes/0/kind", "Secret".into()), "acted because of"),
        ] {
            let Verdict::Contradicted(text) = judged(&led, &after) else { panic!("{why}") };
            assert!(text.contains(why), "{text}");
        }
        let fewer = changed("/kubernetes/0/executeHookOnEvent", json!(["Deleted"]));
        assert_eq!(judged(&idle, &fewer), Verdict::Spared);
        let silent = judge(&idle, &spec(&before), &fewer, &kinds, true);
        assert!(matches!(silent, Verdict::Contradicted(_)), "{silent:?}");
        for after in [
            changed("/limits/memory", "3Mi".into()),
            changed("/limits/time", "1ms".into()),
            changed("/kubernetes/0/nameSelector", json!({"matchNames": ["a"]})),
            changed("/permissions/kubernetes", lists(&["create", "get"])),
        ] {
            assert_eq!(judged(&led, &after), Verdict::Same);
        }
    }
}
