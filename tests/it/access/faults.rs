//! What happens when the API server answers with failures, late, too much or not at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use boathook_core::model::{
    Allowance, CallError, CallReason, Caller, Charge, Create, Delete, IfExists, ListQuery, Operation, PatchBody,
    Propagation, Update,
};
use boathook_kube::access::AccessConfig;
use futures::future::join_all;
use serde_json::json;

use super::{
    fixture::{access, anyone, parsed, patch},
    script::{Script, Step},
};

const OBJECT: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"},"data":{"k":"1"}}"#;
const OK: Step = Step::Answer(200, "", OBJECT);
const THERE: Step = Step::Answer(
    409,
    "",
    r#"{"kind":"Status","reason":"AlreadyExists","message":"configmaps \"a\" already exists","code":409}"#,
);
const CHANGED: Step =
    Step::Answer(409, "", r#"{"kind":"Status","reason":"Conflict","message":"it changed","code":409}"#);
const MISSING: Step = Step::Answer(404, "", r#"{"kind":"Status","reason":"NotFound","message":"gone","code":404}"#);
const BUSY: Step = Step::Answer(429, "Retry-After: 0\r\n", "");

fn create(if_exists: IfExists) -> Operation {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}});
    Operation::Create(Create { object: object.to_string(), if_exists, subresource: None })
}

fn generated() -> Operation {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a", "namespace": "n"}});
    Operation::Create(Create { object: object.to_string(), if_exists: IfExists::Fail, subresource: None })
}

fn update(version: Option<&str>) -> Operation {
    let mut metadata = json!({"name": "a", "namespace": "n"});
    if let Some(version) = version {
        metadata["resourceVersion"] = version.into();
    }
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).to_string();
    Operation::Update(Update { object, subresource: None })
}

fn apply() -> Operation {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).to_string();
    patch(Script::object(), PatchBody::Apply { object, force: true, field_manager: None })
}

fn merge() -> Operation {
    patch(Script::object(), PatchBody::Merge("{}".into()))
}

fn json_patch() -> Operation {
    patch(Script::object(), PatchBody::Json("[]".into()))
}

fn jq() -> Operation {
    patch(Script::object(), PatchBody::Jq(".data.k = \"2\"".into()))
}

fn delete(uid: Option<&str>) -> Operation {
    Operation::Delete(Delete {
        target: Script::object(),
        propagation: Propagation::Background,
        ignore_missing: false,
        uid: uid.map(str::to_owned),
        resource_version: None,
        wait: None,
    })
}

async fn write(steps: Vec<Step>, operation: &Operation) -> (Result<Option<String>, CallError>, Vec<String>, String) {
    let script = Script::start(steps).await;
    let result = script.access.write(&anyone(), operation).await;
    let record = script.records.take().pop().unwrap();
    let outcome = record.rsplit_once(": ").unwrap().1.to_owned();
    (result, script.requests(), outcome)
}

#[tokio::test]
async fn after_a_lost_answer_only_what_may_happen_twice_is_repeated() {
    let repeated = [create(IfExists::Fail), update(Some("7")), apply(), merge(), delete(Some("u"))];
    let not_repeated = [generated(), update(None), json_patch(), delete(None)];
    for fault in [Step::Cut, Step::CutAnswer, Step::Stall, Step::Answer(500, "", ""), Step::Answer(504, "", "")] {
        join_all(repeated.iter().map(async |operation| {
            let (result, requests, outcome) = write(vec![fault, OK], operation).await;
            result.unwrap();
            assert_eq!((requests.len(), outcome.as_str()), (2, "ok 200 2"), "{operation:?}");
            assert_eq!(requests[0], requests[1]);
        }))
        .await;
        join_all(not_repeated.iter().map(async |operation| {
            let (result, requests, _) = write(vec![fault, OK], operation).await;
            let error = result.unwrap_err();
            assert_eq!(requests.len(), 1, "{operation:?}");
            assert!(matches!(error.reason, CallReason::Unavailable | CallReason::Timeout), "{error:?}");
            assert!(error.message.ends_with("; it may have happened"), "{error}");
        }))
        .await;
    }
}

#[tokio::test]
async fn what_the_server_turned_away_is_always_repeated() {
    for operation in [generated(), update(None), json_patch(), delete(None), apply()] {
        let steps = vec![BUSY, Step::Answer(503, "Retry-After: 0\r\n", ""), OK];
        let (result, requests, outcome) = write(steps, &operation).await;
        result.unwrap();
        assert_eq!((requests.len(), outcome.as_str()), (3, "ok 200 3"), "{operation:?}");
    }
}

#[tokio::test]
async fn the_tries_have_an_end() {
    let (result, requests, outcome) = write(vec![BUSY], &apply()).await;
    let error = result.unwrap_err();
    assert_eq!((error.reason, error.code), (CallReason::Unavailable, Some(429)));
    assert_eq!((requests.len(), outcome.as_str()), (3, "unavailable 429 3"));

    let (result, requests, outcome) = write(vec![Step::Stall], &apply()).await;
    assert_eq!(result.unwrap_err().reason, CallReason::Timeout);
    assert_eq!((requests.len(), outcome.as_str()), (3, "timeout - 3"));
}

#[tokio::test]
async fn retry_after_is_kept_to() {
    for steps in [
        vec![Step::Answer(429, "Retry-After: 1\r\n", ""), OK],
        vec![Step::Answer(429, "", r#"{"kind":"Status","details":{"retryAfterSeconds":1}}"#), OK],
    ] {
        let script = Script::start(steps).await;
        let started = Instant::now();
        script.access.get(&anyone(), &Script::object(), None).await.unwrap();
        assert!(started.elapsed() >= Duration::from_secs(1));
    }
    // A pause that is too long for a run is not waited for, and not cut short either.
    let script = Script::start(vec![Step::Answer(429, "Retry-After: 3600\r\n", ""), OK]).await;
    let error = script.access.get(&anyone(), &Script::object(), None).await.unwrap_err();
    assert_eq!((error.reason, script.requests().len()), (CallReason::Unavailable, 1));
}

#[tokio::test]
async fn a_create_that_finds_what_it_may_have_made_says_so() {
    let (result, ..) = write(vec![Step::Cut, THERE], &create(IfExists::Fail)).await;
    let error = result.unwrap_err();
    assert_eq!(error.reason, CallReason::AlreadyExists);
    assert!(error.message.contains("an earlier try got no answer"), "{error}");
    let (result, ..) = write(vec![THERE], &create(IfExists::Fail)).await;
    assert!(!result.unwrap_err().message.contains("earlier try"));
    let (result, ..) = write(vec![Step::Cut, THERE], &create(IfExists::Keep)).await;
    assert_eq!(result.unwrap(), None);
}

#[tokio::test]
async fn a_deletion_that_finds_nothing_after_a_lost_answer_has_succeeded() {
    let (result, ..) = write(vec![Step::Cut, MISSING], &delete(Some("u"))).await;
    assert_eq!(result.unwrap(), None);
    let (result, ..) = write(vec![MISSING], &delete(Some("u"))).await;
    assert_eq!(result.unwrap_err().reason, CallReason::NotFound);
}

#[tokio::test]
async fn waiting_ends_when_another_object_has_taken_the_name() {
    const DELETED: Step = Step::Answer(200, "", r#"{"kind":"Status","status":"Success","details":{"uid":"u"}}"#);
    const OTHER: Step = Step::Answer(200, "", r#"{"kind":"ConfigMap","metadata":{"name":"a","uid":"other"}}"#);
    let script = Script::with(vec![DELETED, OK, OTHER], |_| {}).await;
    let Operation::Delete(delete) = delete(None) else { unreachable!() };
    let operation = Operation::Delete(Delete { wait: Some(Duration::from_secs(60)), ..delete });
    assert_eq!(script.access.write(&anyone(), &operation).await.unwrap(), None);
    assert_eq!(script.requests().len(), 3);
}

#[tokio::test]
async fn a_replacement_follows_the_object() {
    // There, read, changed, read, gone, created.
    let steps = vec![THERE, OK, CHANGED, OK, MISSING, OK];
    let (result, requests, outcome) = write(steps, &create(IfExists::Replace)).await;
    result.unwrap();
    let methods: Vec<_> = requests.iter().map(|request| request.split(' ').next().unwrap()).collect();
    assert_eq!(methods, ["POST", "GET", "PUT", "GET", "PUT", "POST"]);
    assert!(requests[2].contains(r#""resourceVersion":"7""#), "{}", requests[2]);
    assert!(outcome.starts_with("ok 200 6"), "{outcome}");
    let (result, requests, _) = write(
        vec![THERE, OK, CHANGED, OK, CHANGED, OK, CHANGED, OK, CHANGED, OK, CHANGED, OK, CHANGED],
        &create(IfExists::Replace),
    )
    .await;
    assert_eq!((result.unwrap_err().reason, requests.len()), (CallReason::Conflict, 13));
}

#[tokio::test]
async fn a_jq_patch_begins_anew_on_conflict_but_not_when_it_may_have_written() {
    let (result, requests, _) = write(vec![OK, CHANGED, OK, OK], &jq()).await;
    result.unwrap();
    assert_eq!(requests.len(), 4);
    let (result, requests, _) = write(vec![OK, Step::Cut, CHANGED, OK, OK], &jq()).await;
    let error = result.unwrap_err();
    assert_eq!((error.reason, requests.len()), (CallReason::Conflict, 3));
    assert!(error.message.contains("may have written"), "{error}");
}

#[tokio::test]
async fn every_write_names_its_field_manager() {
    for operation in [create(IfExists::Fail), update(None), merge(), json_patch(), apply()] {
        let (_, requests, _) = write(vec![OK], &operation).await;
        assert!(requests[0].contains("fieldManager=boathook.dev%2Fprobe"), "{}", requests[0]);
        assert!(!requests[0].contains("dryRun"), "{}", requests[0]);
    }
    let (_, requests, _) = write(vec![OK, OK], &jq()).await;
    assert!(requests[1].contains("fieldManager=boathook.dev%2Fprobe"), "{}", requests[1]);
}

#[tokio::test]
async fn answers_and_bodies_have_bounds() {
    let small = |bounds: &mut AccessConfig| {
        bounds.max_object_bytes = 300;
        bounds.max_list_bytes = 10_000;
        bounds.request_timeout = Duration::from_secs(10);
    };
    let script = Script::with(vec![Step::Flood], small).await;
    let error = script.access.get(&anyone(), &Script::object(), None).await.unwrap_err();
    assert_eq!((error.reason, script.requests().len()), (CallReason::TooLarge, 1));
    let query = ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: None,
        label_selector: None,
        field_selector: None,
        limit: None,
        continue_token: None,
    };
    let error = script.access.list(&anyone(), &query).await.unwrap_err();
    assert_eq!(error.reason, CallReason::TooLarge);
    assert!(error.message.contains("10000 bytes") && error.message.contains("`limit`"), "{error}");
    script.requests();
    let big = patch(Script::object(), PatchBody::Merge(format!("{{\"a\":\"{}\"}}", "x".repeat(300))));
    let error = script.access.write(&anyone(), &big).await.unwrap_err();
    assert_eq!((error.reason, script.requests().len()), (CallReason::TooLarge, 0));
}

/// So many bytes, and how many were asked for.
struct Bytes(AtomicUsize, Arc<AtomicUsize>);

impl Charge for Bytes {
    fn charge(&self, bytes: usize) -> bool {
        self.1.fetch_add(bytes, Ordering::SeqCst);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(bytes)).is_ok()
    }
}

// mutant: crates/kube/src/access/send.rs: `if !memory.charge(COPIES * piece.len()) {` => `if false {`
#[tokio::test]
async fn an_answer_is_read_only_as_far_as_there_is_memory() {
    let script = Script::with(vec![Step::Flood], |bounds| {
        bounds.max_object_bytes = 64 << 20;
        bounds.max_list_bytes = 64 << 20;
        bounds.request_timeout = Duration::from_secs(60);
    })
    .await;
    script.requests();
    let asked = Arc::new(AtomicUsize::new(0));
    let memory = || Allowance::of(Bytes((1 << 20).into(), asked.clone()));
    let error = script.access.get(&Caller { memory: memory(), ..anyone() }, &Script::object(), None).await.unwrap_err();
    assert_eq!((error.reason, script.requests().len()), (CallReason::Unavailable, 1));
    assert!(error.message.contains("the memory that all runs share is used up"), "{error}");
    let query = ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: None,
        label_selector: None,
        field_selector: None,
        limit: None,
        continue_token: None,
    };
    let error = script.access.list(&Caller { memory: memory(), ..anyone() }, &query).await.unwrap_err();
    assert_eq!(error.reason, CallReason::Unavailable);
    assert!(asked.load(Ordering::SeqCst) < 8 << 20, "{asked:?}");
}

#[tokio::test]
async fn an_answer_that_is_no_object_is_an_error() {
    for body in ["", "text", "[]", "{\"a\":"] {
        let script = Script::start(vec![Step::Answer(200, "", body)]).await;
        let error = script.access.get(&anyone(), &Script::object(), None).await.unwrap_err();
        assert_eq!(error.reason, CallReason::Other, "{body}: {error}");
    }
}

#[tokio::test]
async fn an_expired_continue_token_says_what_to_do() {
    let expired = r#"{"kind":"Status","reason":"Expired","message":"too old","code":410}"#;
    let script = Script::start(vec![Step::Answer(410, "", expired)]).await;
    let query = ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: None,
        label_selector: None,
        field_selector: None,
        limit: None,
        continue_token: Some("t".into()),
    };
    let error = script.access.list(&anyone(), &query).await.unwrap_err();
    assert_eq!((error.reason, error.code), (CallReason::Other, Some(410)));
    assert!(error.message.contains("from the first page"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    // A port that was free a moment ago.
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let bounds = AccessConfig { retries: 1, ..AccessConfig::default() };
    let (access, records, _) = access(kube::Config::new(format!("http://{port}").parse().unwrap()), bounds);
    let error = access.write(&anyone(), &generated()).await.unwrap_err();
    assert_eq!(error.reason, CallReason::Unavailable, "{error}");
    assert!(!error.message.contains("may have happened"), "{error}");
    assert!(records.take()[0].ends_with(": unavailable - 0"));
}

#[tokio::test]
async fn a_server_that_goes_away_is_unavailable_and_nothing_has_happened() {
    let script = Script::start(vec![OK]).await;
    script.stop().await;
    let error = script.access.write(&anyone(), &generated()).await.unwrap_err();
    assert_eq!(error.reason, CallReason::Unavailable, "{error}");
    assert!(error.message.contains("cannot be reached") && !error.message.contains("may have"), "{error}");
    assert!(script.records.take()[0].ends_with(": unavailable - 3"));
}

#[tokio::test]
async fn a_write_that_is_given_up_leaves_its_record() {
    let script = Script::with(vec![Step::Stall], |bounds| bounds.request_timeout = Duration::from_secs(60)).await;
    let (caller, operation) = (anyone(), apply());
    let write = script.access.write(&caller, &operation);
    assert!(tokio::time::timeout(Duration::from_millis(200), write).await.is_err());
    assert_eq!(script.records.take(), ["patch v1 ConfigMap n/a: interrupted - 1"]);
}

/// What the log gets, as JSON lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

// mutant: crates/kube/src/access/intent.rs: `(Some(target), _) => Named::object(target, None).to_string(),` => `(Some(_), _) => format!("{:?}", self.operation),`
#[tokio::test]
async fn the_audit_line_has_every_field_and_nothing_of_the_object() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt().json().with_writer(move || writer.clone()).finish();
    let script = Script::start(vec![BUSY, OK]).await;
    // While there is one subscriber only, tracing asks the subscriber of the thread that meets a
    // log statement first, and that may be another test's, which has none.
    let _another = tracing::Dispatch::new(tracing_subscriber::registry());
    let guard = tracing::subscriber::set_default(subscriber);
    let body = PatchBody::Merge(r#"{"data":{"password":"hunter2"}}"#.into());
    script.access.write(&anyone(), &patch(Script::object(), body)).await.unwrap();
    drop(guard);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("password"), "{text}");
    let audit: Vec<_> = text.lines().map(parsed).filter(|line| line["target"] == "audit").collect();
    assert_eq!(audit.len(), 1, "{text}");
    let expected = json!({
        "message": "audit", "audit": true, "hook": "probe", "run": "it-1", "verb": "patch",
        "object": "v1 ConfigMap n/a", "outcome": "ok", "code": 200, "dry_run": false, "tries": 2
    });
    assert_eq!(audit[0]["fields"], expected);
}
