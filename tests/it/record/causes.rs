//! What led to a recorded run.

use serde_json::json;

use super::{Recorded, records, replay};
use crate::{pipeline::fixture::config_map, support::guests::guest};

#[tokio::test]
async fn a_record_has_the_writes_that_led_to_its_run() {
    let names = ["relay-1", "relay-2"];
    let recorded = Recorded::start(&names.map(|name| (name, guest("relay"))), |_| ()).await;
    let data = json!({"holder": "relay-1", "order": "relay-1 relay-2", "left": "2"});
    recorded.pipeline.create(config_map("one", ("test", "relay"), data)).await;
    // Each hook sees the three states of the object.
    for name in names {
        recorded.until(name, 3).await;
    }
    let (_records, path) = recorded.stop().await;
    let records = records(&path);
    let writes =
        |hook: &str| records.iter().find(|record| record.header.hook == hook && !record.calls.is_empty()).unwrap();
    let (first, second) = (writes("relay-1"), writes("relay-2"));
    let causes = first.causes.as_ref().unwrap();
    assert_eq!((causes.steps.len(), causes.reason.as_ref().unwrap().cause.as_str()), (0, "Added"));
    assert!(causes.origin.starts_with("somebody else changed ConfigMap default/one"), "{causes:?}");
    let causes = second.causes.as_ref().unwrap();
    let [step] = causes.steps.as_slice() else { panic!("{causes:?}") };
    assert_eq!((step.hook.as_str(), step.run.as_str()), ("relay-1", first.header.run.as_str()));
    let reason = causes.reason.as_ref().unwrap();
    assert_eq!((reason.cause.as_str(), &reason.resource_version), ("Modified", &step.resource_version));
    // A replay does not need them.
    let ended = replay(&[path.to_str().unwrap()]).await;
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}
