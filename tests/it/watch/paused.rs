//! What streams do by the clock, on a paused one.

use std::{sync::Arc, time::Duration};

use boathook::watch::{StreamConfig, Streams, Subscribe};
use tokio::time::{Instant, advance};

use super::{
    follower::{Follower, config_maps},
    recorder::Recorder,
    scripted::{Asked, Lines, Scripted},
};

const HOUR: Duration = Duration::from_secs(3600);

/// No silence is too long, and the server never ends a watch.
fn quiet() -> StreamConfig {
    StreamConfig { streaming_lists: false, silence: HOUR * 1000, ..StreamConfig::default() }
}

fn bench(config: StreamConfig) -> (Scripted, Streams, Arc<Recorder>) {
    let server = Scripted::without_socket();
    let recorder = Recorder::new();
    let streams = Streams::new(server.client(), config, recorder.clone());
    (server, streams, recorder)
}

fn every(period: Duration) -> Subscribe {
    Subscribe { selection: config_maps(), resynchronization: Some(period) }
}

async fn list_asked_within(server: &mut Scripted, least: Duration, most: Duration) -> Asked {
    let start = Instant::now();
    let asked = server.wait(most).await.expect("a request in time");
    assert!(asked.is_page(), "{:?}", asked.query);
    assert!(start.elapsed() >= least, "{:?}", start.elapsed());
    asked
}

/// A follower that has listed `a` at version 5, and its watch.
async fn watching(server: &mut Scripted, streams: &Streams, subscribe: Subscribe) -> (Follower, Lines) {
    let mut follower = Follower::new(streams.subscribe(subscribe));
    server.next().await.page("5", &["a"], None);
    assert_eq!(follower.words(3).await, "[ +a ]");
    let lines = server.next().await.lines();
    (follower, lines)
}

#[tokio::test(start_paused = true)]
async fn a_resynchronization_comes_as_a_list_and_shows_what_was_missed() {
    let (mut server, streams, _) = bench(quiet());
    let (mut follower, _lines) = watching(&mut server, &streams, every(HOUR)).await;
    for (version, names) in [("9", ["a", "b"]), ("12", ["b", "c"])] {
        let asked = list_asked_within(&mut server, HOUR, HOUR.mul_f64(1.05)).await;
        asked.page(version, &names, None);
        assert_eq!(follower.words(4).await, format!("[ +{} +{} ]", names[0], names[1]));
        assert_eq!(follower.names(), names);
        let watch = server.next().await;
        assert!(watch.is_watch_from(version), "{:?}", watch.query);
        std::mem::forget(watch.lines());
    }
}

#[tokio::test(start_paused = true)]
async fn a_resynchronization_is_for_those_who_asked_for_it() {
    let (mut server, streams, _) = bench(quiet());
    let mut plain = Follower::new(streams.subscribe(config_maps()));
    let mut two = [every(HOUR), every(HOUR)].map(|subscribe| Follower::new(streams.subscribe(subscribe)));
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    for follower in two.iter_mut().chain([&mut plain]) {
        assert_eq!(follower.words(3).await, "[ +a ]");
    }
    assert_eq!(streams.stats().len(), 1, "the stream is shared");
    // One list for the two; the watch goes on beside it.
    let asked = list_asked_within(&mut server, HOUR, HOUR.mul_f64(1.05)).await;
    lines.event("ADDED", "b", "7");
    assert_eq!(plain.words(1).await, "+b");
    for follower in &mut two {
        assert_eq!(follower.words(1).await, "+b", "until the list is there, they are on the watch");
    }
    asked.page("7", &["a", "b"], None);
    for follower in &mut two {
        assert_eq!(follower.words(4).await, "[ +a +b ]");
    }
    lines.event("ADDED", "c", "8");
    for follower in two.iter_mut().chain([&mut plain]) {
        assert_eq!(follower.words(1).await, "+c");
        assert!(follower.is_idle());
    }
    assert!(!server.is_asked());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_when_it_is_due_costs_no_change() {
    let (mut server, streams, recorder) = bench(quiet());
    let (mut follower, lines) = watching(&mut server, &streams, every(HOUR)).await;
    for version in 6..10 {
        let asked = server.wait(HOUR * 2).await.expect("a request");
        assert!(asked.is_page());
        asked.status(503, "overloaded");
        recorder.count(|report| matches!(report, super::recorder::Report::Error { .. }), version - 5).await;
        lines.event("MODIFIED", "a", &version.to_string());
        assert_eq!(follower.words(1).await, "+a");
    }
    server.next().await.page("10", &["a"], None);
    assert_eq!(follower.words(3).await, "[ +a ]");
}

#[tokio::test(start_paused = true)]
async fn any_other_list_puts_the_next_resynchronization_off() {
    let (mut server, streams, _) = bench(quiet());
    let (mut follower, lines) = watching(&mut server, &streams, every(HOUR)).await;
    advance(HOUR / 2).await;
    lines.error(410);
    server.next().await.page("9", &["a"], None);
    assert_eq!(follower.words(3).await, "[ +a ]");
    let _lines = server.next().await.lines();
    list_asked_within(&mut server, HOUR, HOUR.mul_f64(1.05)).await.page("10", &[], None);
    assert_eq!(follower.words(2).await, "[ ]");
}
