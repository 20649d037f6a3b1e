//! What streams do by the clock, on a paused one.

use std::{sync::Arc, time::Duration};

use boathook::watch::{StreamConfig, StreamState, Streams, Subscribe, WatchErrorKind};
use tokio::time::{Instant, advance};

use super::{
    follower::{Follower, config_maps},
    recorder::{Recorder, Report},
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
        recorder.count(|report| matches!(report, Report::Error { .. }), version - 5).await;
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

const SILENCE: Duration = Duration::from_secs(90);

#[tokio::test(start_paused = true)]
async fn a_watch_at_a_version_of_the_future_is_given_up_after_two_silences() {
    let (mut server, streams, recorder) = bench(StreamConfig { streaming_lists: false, ..StreamConfig::default() });
    let (mut follower, lines) = watching(&mut server, &streams, config_maps().into()).await;
    lines.event("ADDED", "b", "1000");
    assert_eq!(follower.words(1).await, "+b");
    // The server is restored from the state at version 7. Nobody says so; the watch just finds another server.
    drop(lines);
    let start = Instant::now();
    for _ in 0..2 {
        let watch = server.wait(SILENCE * 2).await.unwrap();
        assert!(watch.is_watch_from("1000"), "{:?}", watch.query);
        std::mem::forget(watch.lines());
    }
    list_asked_within(&mut server, SILENCE, SILENCE * 2).await.page("7", &["a"], None);
    assert_eq!(start.elapsed(), SILENCE * 2);
    assert_eq!(follower.words(3).await, "[ +a ]");
    assert_eq!(follower.names(), ["a"]);
    let watch = server.next().await;
    assert!(watch.is_watch_from("7"), "{:?}", watch.query);
    watch.lines().event("ADDED", "c", "8");
    assert_eq!(follower.words(1).await, "+c");
    assert_eq!(recorder.all().iter().filter(|report| **report == Report::Rebuilt).count(), 2);
    assert_eq!(streams.stats()[0].failures.of(WatchErrorKind::Silent), 2);
}

#[tokio::test(start_paused = true)]
async fn a_bookmark_between_two_silences_is_a_sign_of_life() {
    let (mut server, streams, _) = bench(StreamConfig { streaming_lists: false, ..StreamConfig::default() });
    let (follower, mut lines) = watching(&mut server, &streams, config_maps().into()).await;
    for version in 6..12 {
        lines.bookmark(&version.to_string());
        let watch = server.wait(SILENCE * 2).await.unwrap();
        assert!(watch.is_watch_from(&version.to_string()), "{:?}", watch.query);
        lines = watch.lines();
    }
    assert_eq!(follower.lists, 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_without_bookmarks_is_listed_less_and_less() {
    let (mut server, streams, _) = bench(StreamConfig { streaming_lists: false, ..StreamConfig::default() });
    let (_follower, lines) = watching(&mut server, &streams, config_maps().into()).await;
    std::mem::forget(lines);
    let mut watches = Vec::new();
    let mut silent = 1;
    while watches.len() < 5 {
        let asked = server.wait(SILENCE * 2).await.unwrap();
        if asked.is_page() {
            watches.push(std::mem::take(&mut silent));
            asked.page("5", &[], None);
        } else {
            silent += 1;
            std::mem::forget(asked.lines());
        }
    }
    assert_eq!(watches, [2, 4, 8, 16, 32]);
}

#[tokio::test(start_paused = true)]
async fn a_list_from_the_past_means_that_everybody_needs_one() {
    let (mut server, streams, _) = bench(quiet());
    let (mut early, lines) = watching(&mut server, &streams, config_maps().into()).await;
    lines.event("ADDED", "b", "1000");
    assert_eq!(early.words(1).await, "+b");
    let mut late = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("7", &["a"], None);
    assert_eq!(late.words(3).await, "[ +a ]");
    for _ in 0..2 {
        let asked = server.next().await;
        if asked.is_page() {
            asked.page("7", &["a"], None);
        } else {
            assert!(asked.is_watch_from("7"), "{:?}", asked.query);
        }
    }
    assert_eq!(early.words(3).await, "[ +a ]");
    assert_eq!(early.names(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn figures_tell_how_a_stream_is() {
    let (mut server, streams, recorder) = bench(quiet());
    let (mut follower, lines) = watching(&mut server, &streams, config_maps().into()).await;
    let age = |streams: &Streams| streams.stats()[0].age(Instant::now().into_std());
    lines.bookmark("6");
    lines.event("ADDED", "b", "7");
    assert_eq!(follower.words(1).await, "+b");
    assert_eq!(age(&streams), Duration::ZERO);
    advance(HOUR).await;
    assert_eq!(age(&streams), HOUR);
    let stats = streams.stats().remove(0);
    assert_eq!((stats.state, stats.lists, stats.objects_seen), (StreamState::Watching, 1, 2));
    assert_eq!((stats.trouble, stats.failures), (None, boathook::watch::Failures::default()));
    lines.error(410);
    server.next().await.status(403, "no");
    recorder.error(WatchErrorKind::Forbidden).await;
    let stats = streams.stats().remove(0);
    assert_eq!((stats.state, stats.trouble), (StreamState::Trying, Some(WatchErrorKind::Forbidden)));
    let failures: Vec<_> = stats.failures.iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(failures, [(WatchErrorKind::Expired, 1), (WatchErrorKind::Forbidden, 1)]);
    server.next().await.page("9", &[], None);
    follower.until_listed().await;
    assert_eq!((age(&streams), streams.stats()[0].trouble, streams.stats()[0].lists), (Duration::ZERO, None, 2));
}
