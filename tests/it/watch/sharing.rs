//! Several subscribers of one stream.

use std::time::Duration;

use boathook_kube::watch::{Selection, StreamConfig, Streams};

use super::{
    follower::{Follower, config_maps},
    recorder::{Recorder, Report},
    scripted::Scripted,
};

fn config() -> StreamConfig {
    StreamConfig { streaming_lists: false, backoff_initial: Duration::from_millis(10), ..StreamConfig::default() }
}

#[tokio::test]
async fn joins_that_arrive_together_share_a_list_and_the_watch() {
    let mut server = Scripted::start().await;
    let streams = Streams::new(server.client(), config(), Recorder::new());
    let mut all: Vec<_> = (0..3).map(|_| Follower::new(streams.subscribe(config_maps()))).collect();
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    lines.event("ADDED", "b", "6");
    for follower in &mut all {
        assert_eq!(follower.words(4).await, "[ +a ] +b");
    }
    // What they got is the same memory.
    assert!(std::ptr::eq(all[0].object("b").unwrap(), all[1].object("b").unwrap()));
    assert!(!server.is_asked());
    assert_eq!(streams.stats()[0].subscribers, 3);
}

#[tokio::test]
async fn other_selections_have_other_streams() {
    let mut server = Scripted::start().await;
    let streams = Streams::new(server.client(), config(), Recorder::new());
    let one = config_maps();
    let two = Selection { label_selector: Some("a in (b,c)".into()), ..one.clone() };
    let three = Selection { namespace: Some("n".into()), ..one.clone() };
    let _all: Vec<_> = [one, two, three].map(|selection| streams.subscribe(selection)).into();
    let mut asked: Vec<_> = Vec::new();
    for _ in 0..3 {
        let request = server.next().await;
        asked.push((request.path.clone(), request.param("labelSelector").map(str::to_owned)));
    }
    asked.sort();
    assert_eq!(
        asked,
        [
            ("/api/v1/configmaps".into(), None),
            ("/api/v1/configmaps".into(), Some("a in (b,c)".to_owned())),
            ("/api/v1/namespaces/n/configmaps".into(), None)
        ]
    );
}

#[tokio::test]
async fn a_late_subscriber_gets_a_list_that_the_others_do_not_see() {
    let mut server = Scripted::start().await;
    let streams = Streams::new(server.client(), config(), Recorder::new());
    let mut early = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    assert_eq!(early.words(3).await, "[ +a ]");

    let mut late = Follower::new(streams.subscribe(config_maps()));
    let asked = server.next().await;
    // `b` was made before the list, `c` after it; the watch is slower than the list.
    asked.page("6", &["a", "b"], None);
    assert_eq!(late.words(4).await, "[ +a +b ]");
    lines.event("ADDED", "b", "6");
    lines.event("ADDED", "c", "7");
    assert_eq!(early.words(2).await, "+b +c");
    assert_eq!(late.words(1).await, "+c");
    assert!(early.is_idle() && late.is_idle() && !server.is_asked());
}

#[tokio::test]
async fn a_watch_that_is_ahead_of_a_late_list_goes_back_for_the_late_one_only() {
    let mut server = Scripted::start().await;
    let streams = Streams::new(server.client(), config(), Recorder::new());
    let mut early = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    assert_eq!(early.words(3).await, "[ +a ]");

    let mut late = Follower::new(streams.subscribe(config_maps()));
    let asked = server.next().await;
    lines.event("ADDED", "b", "7");
    assert_eq!(early.words(1).await, "+b");
    asked.page("6", &["a"], None);
    assert_eq!(late.words(3).await, "[ +a ]");
    let watch = server.next().await;
    assert!(watch.is_watch_from("6"), "{:?}", watch.query);
    let again = watch.lines();
    again.event("ADDED", "b", "7");
    again.event("ADDED", "c", "8");
    assert_eq!(late.words(2).await, "+b +c");
    assert_eq!(early.words(1).await, "+c");
    assert!(early.is_idle());
    lines.closed().await;
}

#[tokio::test]
async fn going_back_too_far_costs_only_the_late_one_a_list() {
    let mut server = Scripted::start().await;
    let streams = Streams::new(server.client(), config(), Recorder::new());
    let mut early = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    assert_eq!(early.words(3).await, "[ +a ]");
    let mut late = Follower::new(streams.subscribe(config_maps()));
    let asked = server.next().await;
    lines.event("ADDED", "b", "7");
    assert_eq!(early.words(1).await, "+b");
    asked.page("6", &["a"], None);
    server.next().await.status(410, "too old");
    // Now the watch of the one and the list of the other, in any order.
    let (mut list, mut watch) = (None, None);
    for _ in 0..2 {
        let asked = server.next().await;
        if asked.is_page() { list = Some(asked) } else { watch = Some(asked) }
    }
    let (list, watch) = (list.unwrap(), watch.unwrap());
    assert!(watch.is_watch_from("7"), "{:?}", watch.query);
    let lines = watch.lines();
    list.page("8", &["a", "b", "c"], None);
    assert_eq!(late.words(8).await, "[ +a ] [ +a +b +c ]");
    lines.event("ADDED", "c", "8");
    lines.event("ADDED", "d", "9");
    assert_eq!(early.words(2).await, "+c +d");
    assert_eq!(late.words(1).await, "+d");
}

#[tokio::test]
async fn versions_that_are_no_numbers_cost_lists_but_lose_nothing() {
    let mut server = Scripted::start().await;
    let streams = Streams::new(server.client(), config(), Recorder::new());
    let mut early = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("five", &["a"], None);
    let lines = server.next().await.lines();
    lines.event("ADDED", "b", "six");
    assert_eq!(early.words(4).await, "[ +a ] +b");
    let mut late = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("seven", &["c"], None);
    assert_eq!(late.words(3).await, "[ +c ]");
    // Both the early one's list and the watch are asked for, in any order.
    for _ in 0..2 {
        let asked = server.next().await;
        if asked.is_page() {
            asked.page("seven", &["c"], None);
        } else {
            assert!(asked.is_watch_from("seven"));
        }
    }
    early.until_listed().await;
    assert_eq!(early.names(), ["c"]);
}

#[tokio::test]
async fn the_last_to_leave_ends_the_stream() {
    let mut server = Scripted::start().await;
    let streams = Streams::new(server.client(), config(), Recorder::new());
    let mut one = Follower::new(streams.subscribe(config_maps()));
    let two = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    assert_eq!(one.words(3).await, "[ +a ]");
    drop(two);
    lines.event("ADDED", "b", "6");
    assert_eq!(one.words(1).await, "+b");
    assert_eq!(streams.stats()[0].subscribers, 1);
    drop(one);
    lines.closed().await;
    assert!(streams.stats().is_empty());
    // And it can begin again.
    let _again = streams.subscribe(config_maps());
    assert!(server.next().await.is_page());
}

#[tokio::test]
async fn a_slow_subscriber_is_left_behind_and_catches_up_by_a_list() {
    let mut server = Scripted::start().await;
    let recorder = Recorder::new();
    let streams = Streams::new(
        server.client(),
        StreamConfig { capacity: 4, grace: Duration::from_millis(50), ..config() },
        recorder.clone(),
    );
    let mut quick = Follower::new(streams.subscribe(config_maps()));
    let mut slow = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    assert_eq!(quick.words(3).await, "[ +a ]");
    for version in 6..26 {
        lines.event("ADDED", &format!("o{version}"), &version.to_string());
        assert_eq!(quick.words(1).await, format!("+o{version}"));
    }
    recorder.wait_for(|report| *report == Report::Lagging).await;
    assert!(!server.is_asked(), "no list before the channel is empty");
    // Four changes waited; then comes a list.
    assert_eq!(slow.words(4).await, "[ +a ] +o6");
    assert!(slow.is_idle());
    server.next().await.page("25", &["a", "z"], None);
    assert_eq!(slow.words(4).await, "[ +a +z ]");
    lines.event("ADDED", "end", "26");
    assert_eq!(slow.words(1).await, "+end");
    assert_eq!(quick.words(1).await, "+end");
    assert_eq!(slow.names(), ["a", "end", "z"]);
}

#[tokio::test]
async fn a_subscriber_too_slow_for_the_common_list_gets_its_own_at_its_own_pace() {
    let mut server = Scripted::start().await;
    let recorder = Recorder::new();
    let streams = Streams::new(
        server.client(),
        StreamConfig { capacity: 4, grace: Duration::from_millis(50), ..config() },
        recorder.clone(),
    );
    let mut quick = Follower::new(streams.subscribe(config_maps()));
    let mut slow = Follower::new(streams.subscribe(config_maps()));
    let names: Vec<_> = (0..50).map(|n| format!("o{n:02}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    server.next().await.page("5", &names, None);
    quick.until_listed().await;
    assert_eq!(quick.names(), names);
    recorder.wait_for(|report| *report == Report::Lagging).await;
    let _lines = server.next().await.lines();
    assert_eq!(slow.words(4).await, "[ +o00 +o01 +o02");
    server.next().await.page("5", &names, None);
    // Far slower than the grace allows, and still it gets to the end.
    for _ in 0..10 {
        slow.next().await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    slow.until_listed().await;
    assert_eq!(slow.names(), names);
    assert_eq!(recorder.all().iter().filter(|report| **report == Report::Lagging).count(), 1);
}
