//! Files that are no records, or no whole ones: each has a clear error, and nothing panics.

use std::path::Path;

use boathook_core::model::{
    BindingName, CallError, CallReason, Cause, Create, Denial, EventType, IfExists, Limits, ObjectRef, Operation,
    OwnCondition, OwnEvent, Tick, WriteOptions,
};
use boathook_operator::record::{
    AmbientValues, Answer, Asks, Call, End, FormatError, Header, LogLine, Record, RecordedAnswer, RecordedChild,
    RecordedQuestion, RecordedRelated, RecordedTrigger, Request, decode, encode,
};
use proptest::prelude::*;

use super::replay;

pub(super) fn example() -> Record {
    let target =
        ObjectRef { api_version: "v1".into(), kind: "ConfigMap".into(), namespace: Some("a".into()), name: "b".into() };
    let missing = CallError { reason: CallReason::NotFound, message: "no".into(), code: Some(404), status: None };
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"a","name":"b"}}"#.to_owned();
    let create = Operation::Create(Create { object: object.clone(), if_exists: IfExists::Keep, subresource: None });
    let binding = BindingName::nth("kubernetes", 2);
    Record {
        header: Header {
            boathook: "0.1.0".into(),
            engine: "wasmtime 48".into(),
            component: "sha256:00".into(),
            hook: "h".into(),
            binding: "kubernetes#2".into(),
            queue: "hook/h".into(),
            run: "0a1b2c3d-17".into(),
            attempt: 1,
            started: 1_767_607_331_403,
            limits: Limits::default(),
            permissions: Vec::new(),
            settings: None,
            dry_run: false,
            redacted: true,
            incomplete: None,
        },
        triggers: vec![RecordedTrigger {
            binding: binding.clone(),
            cause: Cause::Schedule(Tick { scheduled_at: 5, missed: 0 }),
            group: None,
            snapshots: [binding].into(),
            allow_failure: false,
        }],
        question: None,
        snapshots: Vec::new(),
        calls: vec![
            Call { request: Request::Get { target, subresource: None }, answer: Some(Answer::Object(Err(missing))) },
            Call {
                request: Request::Write { operation: create, options: WriteOptions::default() },
                answer: Some(Answer::Written(Ok(Some(object)))),
            },
        ],
        ambient: AmbientValues { insecure_seed: "2a".into(), ..AmbientValues::default() },
        log: vec![LogLine { level: "INFO".into(), message: "hello".into(), fields: String::new() }],
        causes: None,
        end: End {
            failure: None,
            answer: None,
            metrics: Vec::new(),
            duration_us: 1,
            cpu_us: 1,
            memory_peak: 65_536,
            host_calls: 2,
            host_bytes: 200,
        },
    }
}

#[test]
fn what_is_written_is_read() {
    assert_eq!(decode(&encode(&example()).unwrap()).unwrap(), example());
}

/// Of an answer, which version 1 did not know.
fn answer() -> Record {
    let (binding, request) = (BindingName::new("a.b.c"), r#"{"uid":"u"}"#.to_owned());
    let denied = Denial { message: "no".into(), code: Some(422), reason: None };
    let answer = RecordedAnswer::Review {
        denied: Some(denied),
        warnings: vec!["w".into()],
        audit_annotations: vec![("k".into(), "v".into())],
        patch: None,
        object: None,
    };
    let question = RecordedQuestion { binding, snapshots: [].into(), asks: Asks::Validating { request } };
    let end = End { answer: Some(answer), ..example().end };
    Record { triggers: Vec::new(), question: Some(question), end, ..example() }
}

/// Of the end of a parent, which version 3 did not know.
fn reconciled() -> Record {
    let target =
        ObjectRef { api_version: "v1".into(), kind: "ConfigMap".into(), namespace: Some("a".into()), name: "b".into() };
    let asks = Asks::Reconcile {
        finalizes: true,
        parent: r#"{"kind":"Wish"}"#.into(),
        children: vec![RecordedChild { target, object: "{}".into() }],
        related: vec![RecordedRelated { entry: "pull".into(), object: "{}".into() }],
    };
    let answer = RecordedAnswer::Reconciled {
        children: vec!["{}".into()],
        none_wanted: true,
        done: false,
        status: Some(r#"{"left":1}"#.into()),
        conditions: vec![OwnCondition {
            r#type: "Ready".into(),
            holds: None,
            reason: "Asked".into(),
            message: "m".into(),
        }],
        requeue_after: Some(500),
        events: vec![OwnEvent { r#type: EventType::Warning, reason: "Late".into(), message: "m".into() }],
    };
    let question = RecordedQuestion { binding: BindingName::new("wishes"), snapshots: [].into(), asks };
    let end = End { answer: Some(answer), ..example().end };
    Record { triggers: Vec::new(), question: Some(question), end, ..example() }
}

/// Records that earlier Boathooks wrote. When this fails, the format is another one and needs another version.
#[test]
fn records_of_all_versions_are_read_for_ever() {
    for (version, expected) in [(1, example()), (2, answer()), (4, reconciled())] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/records/version-{version}.record"));
        if std::env::var_os("BOATHOOK_UPDATE_DOCS").is_some() && !path.exists() {
            std::fs::write(&path, encode(&expected).unwrap()).unwrap();
        }
        assert_eq!(decode(&std::fs::read(path).unwrap()).unwrap(), expected);
    }
}

#[test]
fn a_record_is_of_a_run_or_of_an_answer() {
    let both = Record { triggers: example().triggers, ..answer() };
    let neither = Record { question: None, ..answer() };
    for (record, said) in [(both, "triggers and a question"), (neither, "neither triggers nor a question")] {
        let error = decode(&encode(&record).unwrap()).unwrap_err();
        assert!(matches!(&error, FormatError::Contradiction(what) if what == said), "{error}");
    }
}

#[test]
fn a_record_cut_short_at_any_length_says_so() {
    let whole = encode(&example()).unwrap();
    for length in 1..whole.len() {
        let error = decode(&whole[..length]).unwrap_err();
        assert!(matches!(error, FormatError::CutShort { found, .. } if found == length as u64), "{length}: {error}");
    }
    assert!(matches!(decode(&[]), Err(FormatError::NoRecord)));
    assert_eq!(
        decode(&whole[..100]).unwrap_err().to_string(),
        format!("it is truncated: it has 100 of {} bytes", whole.len())
    );
    let longer = [&whole[..], b"x"].concat();
    assert!(matches!(decode(&longer), Err(FormatError::TooLong(1))));
}

#[test]
fn a_bit_that_flipped_anywhere_is_found() {
    let whole = encode(&example()).unwrap();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            assert!(decode(&bytes).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn another_version_is_distinguished_from_damage() {
    let mut bytes = encode(&example()).unwrap();
    bytes[8] = 5;
    let error = decode(&bytes).unwrap_err().to_string();
    assert!(error.starts_with("it has version 5; this boathook reads 1 to 4"), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), begins: bool) {
        let bytes = if begins { [&b"BHRECORD\x01\0\0\0"[..], &bytes].concat() } else { bytes };
        prop_assert!(decode(&bytes).is_err());
    }

    /// Whole files with another content, checksum and all.
    #[test]
    fn nonsense_that_is_well_packed_has_an_error_too(text in ".{0,200}", at in 0usize..4) {
        let mut value = serde_json::to_value(example()).unwrap();
        let place = ["/header/hook", "/header/run", "/ambient/insecureSeed", "/calls/0/request/call"][at];
        *value.pointer_mut(place).unwrap() = text.into();
        if let Ok(record) = serde_json::from_value::<Record>(value) {
            prop_assert!(decode(&encode(&record).unwrap()).is_ok());
        }
    }
}

#[tokio::test]
async fn the_command_names_the_file_and_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let whole = encode(&example()).unwrap();
    let mut strange = example();
    strange.header.run = "no id".into();
    for (name, bytes, said) in [
        ("cut.record", whole[..whole.len() - 1].to_vec(), "it is truncated: it has"),
        ("text.record", b"apiVersion: v1".to_vec(), "it is not a record of a run"),
        ("component.record", whole.clone(), "the component sha256:00 of hook h is not in"),
    ] {
        std::fs::write(path(name), bytes).unwrap();
        let ended = replay(&[&path(name)]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(&path(name)) && ended.stderr.contains(said), "{ended:?}");
    }
    let ended = replay(&[&path("missing.record")]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("cannot read"), "{ended:?}");
    let empty = tempfile::tempdir().unwrap();
    let ended = replay(&[empty.path().to_str().unwrap()]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(2), "error: there is no record: no file ends with .record"));
    let with = crate::support::guests::guest_file("noop");
    std::fs::write(path("strange.record"), encode(&strange).unwrap()).unwrap();
    let ended = replay(&[&path("strange.record"), "--with", with.to_str().unwrap()]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("the record has an invalid run ID \"no id\""), "{ended:?}");
}
