//! Writes of a replica that leads for a time: none is sent after that, nor waited for.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{sync::Arc, time::Duration};

use boathook_core::model::{CallReason, Create, Delete, IfExists, Operation, PatchBody, Propagation};
use boathook_kube::{
    access::Access,
    election::{Leadership, Standing},
};
use serde_json::json;
use tokio::{sync::watch, time::Instant};

use super::{
    fixture::{Fixture, anyone, patch},
    script::{Script, Step},
};

fn led(access: &Access, standing: Standing) -> (watch::Sender<Standing>, Access) {
    let (to, told) = watch::channel(standing);
    (to, access.fenced(Leadership::observing(told)))
}

fn leading(time: Duration) -> Standing {
    Standing::Leading { until: Instant::now() + time }
}

fn operations(fixture: &Fixture) -> Vec<Operation> {
    let (object, target) = (fixture.config_map("a", json!({"k": "new"})), fixture.object("ConfigMap", "a"));
    let made = fixture.config_map("b", json!({}));
    vec![
        Operation::Create(Create { object: made, if_exists: IfExists::Keep, subresource: None }),
        Operation::Create(Create { object: object.clone(), if_exists: IfExists::Replace, subresource: None }),
        patch(target.clone(), PatchBody::Merge(object)),
        patch(target.clone(), PatchBody::Jq(".data.k = \"new\"".to_owned())),
        fixture.apply("a", json!({"k": "new"})),
        Operation::Delete(Delete {
            target,
            propagation: Propagation::Background,
            ignore_missing: true,
            uid: None,
            resource_version: None,
            wait: None,
        }),
    ]
}

#[tokio::test]
async fn only_who_leads_writes() {
    let fixture = Fixture::start("fence").await;
    fixture.create("a", json!({"k": "old"})).await;
    for standing in [Standing::Standby { led: true }, Standing::Over, leading(Duration::ZERO)] {
        let (_told, access) = led(&fixture.access, standing);
        for operation in operations(&fixture) {
            let error = access.write(&anyone(), &operation).await.unwrap_err();
            assert_eq!(error.reason, CallReason::Unavailable, "{error}");
            assert!(error.message.contains("not sent: this operator does not hold the Lease"), "{error}");
        }
        assert_eq!(fixture.live("a").await.unwrap()["data"]["k"], "old");
        assert!(fixture.live("b").await.is_none());
        let read = access.get(&anyone(), &fixture.object("ConfigMap", "a"), None).await;
        assert!(read.is_ok(), "reading harms nobody: {read:?}");
    }
    let (_told, access) = led(&fixture.access, leading(Duration::from_secs(600)));
    for operation in operations(&fixture) {
        access.write(&anyone(), &operation).await.unwrap();
    }
    assert!(fixture.live("a").await.is_none() && fixture.live("b").await.is_some());
}

/// The script's own bound is longer than the test.
#[tokio::test]
async fn no_answer_is_waited_for_after_the_end() {
    let script = Script::with(vec![Step::Stall], |bounds| bounds.request_timeout = Duration::from_secs(600)).await;
    let (_told, access) = led(&script.access, leading(Duration::from_millis(500)));
    let deleted = Operation::Delete(Delete {
        target: Script::object(),
        propagation: Propagation::Background,
        ignore_missing: false,
        uid: Some("u".to_owned()),
        resource_version: None,
        wait: None,
    });
    let error = access.write(&anyone(), &deleted).await.unwrap_err();
    // An answer that is waited for ends in a timeout.
    assert_eq!(error.reason, CallReason::Unavailable, "{error}");
    assert_eq!(script.requests().len(), 1, "repeated, had it been allowed");
}

/// Another replica's turn comes between two tries.
#[tokio::test]
async fn what_failed_is_not_repeated_after_the_end() {
    let busy = Step::Answer(503, "Retry-After: 1\r\n", "");
    let script = Script::start(vec![busy]).await;
    let (told, access) = led(&script.access, leading(Duration::from_secs(600)));
    let (access, asked) = (Arc::new(access), script.requests());
    assert_eq!(asked.len(), 0);
    let operation = patch(Script::object(), PatchBody::Merge("{}".to_owned()));
    let write = tokio::spawn(async move { access.write(&anyone(), &operation).await });
    let mut requests = 0;
    while requests == 0 {
        tokio::task::yield_now().await;
        requests = script.requests().len();
    }
    told.send_replace(Standing::Over);
    let error = write.await.unwrap().unwrap_err();
    assert!(error.message.contains("not sent"), "{error}");
    assert_eq!(script.requests().len(), 0);
}
