//! `batch`: many writes at once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_core::model::{CallReason, Create, Delete, IfExists, Operation, PatchBody, Propagation};
use serde_json::json;

use super::fixture::{Fixture, anyone, caller, parsed, patch, permission};

#[tokio::test]
async fn a_thousand_objects_are_applied_with_one_answer_each_in_order() {
    let fixture = Fixture::start("thousand").await;
    let operations: Vec<_> = (0..1000).map(|n| fixture.apply(&format!("c-{n}"), json!({"n": n.to_string()}))).collect();
    let results = fixture.access.batch(&anyone(), &operations).await;
    assert_eq!(results.len(), 1000);
    for (n, result) in results.into_iter().enumerate() {
        assert_eq!(parsed(&result.unwrap().unwrap())["data"]["n"], n.to_string());
    }
    assert_eq!(fixture.records.take().len(), 1000);
}

#[tokio::test]
async fn operations_of_one_object_keep_their_order() {
    let fixture = Fixture::start("order").await;
    let target = || fixture.object("ConfigMap", "a");
    let object = fixture.config_map("a", json!({"n": "0"}));
    let mut operations = vec![Operation::Create(Create { object, if_exists: IfExists::Fail, subresource: None })];
    for n in 0..20 {
        operations.push(patch(
            target(),
            PatchBody::Jq(format!("if .data.n == \"{n}\" then .data.n = \"{}\" else error end", n + 1)),
        ));
    }
    operations.push(Operation::Delete(Delete {
        target: target(),
        propagation: Propagation::Background,
        ignore_missing: false,
        uid: None,
        resource_version: None,
        wait: None,
    }));
    let object = fixture.config_map("a", json!({"n": "again"}));
    operations.push(Operation::Create(Create { object, if_exists: IfExists::Fail, subresource: None }));
    for (index, result) in fixture.access.batch(&anyone(), &operations).await.into_iter().enumerate() {
        assert!(result.is_ok(), "{index}: {result:?}");
    }
    assert_eq!(fixture.live("a").await.unwrap()["data"]["n"], "again");
}

#[tokio::test]
async fn a_failure_stops_no_other() {
    let fixture = Fixture::start("partial").await;
    let caller = caller(vec![permission(&[""], &["configmaps"], &["*"], &[&fixture.namespace])]);
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": fixture.namespace}});
    let operations = [
        fixture.apply("a", json!({"k": "1"})),
        Operation::Create(Create { object: secret.to_string(), if_exists: IfExists::Fail, subresource: None }),
        Operation::Create(Create { object: "{".into(), if_exists: IfExists::Fail, subresource: None }),
        patch(fixture.object("ConfigMap", "missing"), PatchBody::Merge("{}".into())),
        fixture.apply("b", json!({"k": "1"})),
    ];
    let results = fixture.access.batch(&caller, &operations).await;
    let reasons: Vec<_> = results.iter().map(|result| result.as_ref().err().map(|error| error.reason)).collect();
    let expected =
        [None, Some(CallReason::ForbiddenByGrant), Some(CallReason::Invalid), Some(CallReason::NotFound), None];
    assert_eq!(reasons, expected);
    assert!(fixture.access.batch(&caller, &[]).await.is_empty());
}
