//! Post-mortems: what hostile guests leave, and that it can be opened and repeated.

use boathook_operator::record::{Record, RecordConfig, Which};
use serde_json::json;

use super::{names, of_hook, records, replay};
use crate::{
    pipeline::fixture::{Operator, Pipeline, config_map, guests},
    support::{
        cluster::TestCluster,
        process::{boathook, run},
    },
};

/// On a machine that is busy, the time can end first.
const CALLS: &str = "limit-host-calls limit-time";

/// How each hostile guest ends, and a part of its back-trace.
const HOSTILE: [(&str, &str, &str); 6] = [
    ("hostile-deep-recursion", "limit-stack", "hostile_deep_recursion"),
    ("hostile-huge-log", "trap", ""),
    ("hostile-many-calls", CALLS, ""),
    ("hostile-many-logs", CALLS, ""),
    ("hostile-memory-bomb", "limit-memory", "hostile_memory_bomb"),
    ("hostile-spin-run", "limit-time", "hostile_spin_run"),
];

/// An operator that keeps one post-mortem of each hook.
async fn start(hooks: &[(&str, Vec<u8>)]) -> (Pipeline, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_owned();
    let pipeline = Pipeline::on(TestCluster::start().await, hooks, |options| {
        let mut config = RecordConfig::new(place.join("post-mortems"), options.hooks.clone().unwrap());
        (config.which, config.keep) = (Which::Crashed, 1);
        options.post_mortems = Some(config);
    })
    .await;
    (pipeline, directory)
}

fn of<'r>(records: &'r [Record], hook: &str) -> &'r Record {
    records.iter().find(|record| record.header.hook == hook).unwrap_or_else(|| panic!("no post-mortem of {hook}"))
}

#[tokio::test]
async fn each_hostile_guest_leaves_one_that_can_be_repeated() {
    let (pipeline, directory) = start(&guests(HOSTILE.map(|(name, ..)| name))).await;
    let place = directory.path().join("post-mortems");
    for (hook, ..) in HOSTILE {
        // Each of them is tried again and again.
        pipeline.operator.told("run failed", hook, 2).await;
        let left = |_: &Operator| (!of_hook(&place, hook).is_empty()).then_some(());
        pipeline.operator.until(&format!("a post-mortem of {hook}"), left).await;
    }
    pipeline.operator.shutdown().await;
    let records = records(&place);
    assert_eq!(records.len(), HOSTILE.len(), "one of each hook: {:?}", names(&place));
    for (hook, kind, frame) in HOSTILE {
        let record = of(&records, hook);
        let failure = record.end.failure.as_ref().unwrap();
        assert!(kind.split(' ').any(|kind| failure.kind.label() == kind), "{hook}: {failure}");
        assert!(failure.backtrace.as_deref().unwrap_or_default().contains(frame), "{hook}: {failure:?}");
        assert!(record.end.memory_peak > 0, "{hook}");
        let causes = record.causes.as_ref().unwrap();
        assert_eq!(causes.origin, "Synchronization of binding configmaps", "{hook}");
    }
    // A run that ended because of its time comes further, or less far, when it is repeated.
    let mut same = HOSTILE.len();
    for name in names(&place).iter().map(ToString::to_string) {
        let late = |(hook, kind, _): &(&str, &str, &str)| {
            *kind == CALLS
                && name.contains(*hook)
                && of(&records, hook).end.failure.as_ref().unwrap().kind.label() == "limit-time"
        };
        if HOSTILE.iter().any(late) {
            std::fs::remove_file(place.join(&name)).unwrap();
            same -= 1;
        }
    }
    let place = place.to_str().unwrap();
    let ended = replay(&[place]).await;
    let all = format!("{same} runs: {same} same, 0 differ");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), all.as_str()), "{}", ended.stderr);
    let shown = replay(&[place, "--show"]).await;
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for part in ["failed: limit-memory: ", "bytes at most, of ", "first cause: Synchronization of binding configmaps"] {
        assert!(shown.stdout.contains(part), "no {part:?} in {}", shown.stdout);
    }
}

#[tokio::test]
async fn other_failures_leave_none_and_secrets_are_removed() {
    let (pipeline, directory) = start(&guests(["fail"])).await;
    pipeline.operator.ready().await;
    let place = directory.path().join("post-mortems");
    let bad = |name: &str, data: serde_json::Value| config_map(name, ("test", "fail"), data);
    pipeline.create(bad("retried", json!({"mode": "retry", "attempts": "1"}))).await;
    pipeline.operator.told("run failed", "fail", 1).await;
    // The synchronization, and the second attempt.
    pipeline.operator.told("run succeeded", "fail", 2).await;
    pipeline.create(bad("trapped", json!({"mode": "panic"}))).await;
    let left = |_: &Operator| (!of_hook(&place, "fail").is_empty()).then_some(());
    pipeline.operator.until("a post-mortem", left).await;
    pipeline.operator.shutdown().await;
    let records = records(&place);
    let record = of(&records, "fail");
    assert_eq!((records.len(), record.end.failure.as_ref().unwrap().kind.label()), (1, "trap"));
    assert!(record.header.redacted, "the values of Secrets are placeholders");
    assert!(!record.log.is_empty(), "its log lines are there");
    let origin = &record.causes.as_ref().unwrap().origin;
    assert!(origin.starts_with("somebody else changed ConfigMap default/trapped"), "{origin}");
}

#[tokio::test]
async fn one_that_was_changed_or_is_missing_is_refused_and_the_directories_are_kept_apart() {
    let (pipeline, directory) = start(&guests(["hostile-many-calls"])).await;
    let place = directory.path().join("post-mortems");
    let left = |_: &Operator| (!names(&place).is_empty()).then_some(());
    pipeline.operator.until("a post-mortem", left).await;
    pipeline.operator.shutdown().await;
    let file = place.join(names(&place)[0].to_string());
    let mut bytes = std::fs::read(&file).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    for arguments in [&[file, "--show"][..], &[file]] {
        let refused = replay(arguments).await;
        assert_eq!(refused.code, Some(2), "{}", refused.stdout);
        let expected = "it is damaged: its checksum does not match its content";
        assert!(refused.stderr.contains(file) && refused.stderr.contains(expected), "{}", refused.stderr);
    }
    let empty = directory.path().to_str().unwrap();
    let refused = replay(&[empty, "--show"]).await;
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("there is no record"), "{}", refused.stderr);

    let mut serve = boathook(["serve", "--hooks"]);
    serve.arg(directory.path()).arg("--record").arg(&place).arg("--post-mortems").arg(&place);
    let refused = run(serve).await;
    assert_ne!(refused.code, Some(0));
    let expected = "--record and --post-mortems name the same directory";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
}
