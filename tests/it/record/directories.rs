//! Runs with files in records: they work as without a record, and cannot be replayed.

use serde_json::json;

use super::{Recorded, replay};
use crate::{
    pipeline::directories::{Place, steps},
    support::guests::guest,
};

#[tokio::test]
async fn a_recorded_run_has_its_directories_and_a_replay_says_that_it_would_not() {
    let place = Place::new();
    let hooks = [("files", guest("files"))];
    let recorded = Recorded::start_with(&hooks, |options| options.directories = place.directories.clone()).await;
    recorded.pipeline.create(steps("a", json!([{"do": "write", "path": "/keys/a", "text": "one"}]))).await;
    recorded.until("files", 2).await;
    assert_eq!(place.read("keys/a").as_deref(), Some("one"));
    let (_records, path) = recorded.stop().await;
    let ended = replay(&[path.to_str().unwrap()]).await;
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert!(all.contains("the hook reads files of a directory, and a record has none"), "{all}");
    assert_ne!(ended.code, Some(0));
}
