//! What streams do by the clock, on a paused one.

use std::{sync::Arc, time::Duration};

use boathook_core::fair::Tenant;
use boathook_kube::watch::{Selection, StreamConfig, StreamState, Streams, Subscribe, WatchErrorKind};
use serde_json::json;
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
    Subscribe { resynchronization: Some(period), ..config_maps().into() }
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

/// A stream that knows version 1000 of `b`, and its watch.
async fn about_to_be_restored(server: &mut Scripted, streams: &Streams) -> (Follower, Lines) {
    server.shows_looks = true;
    let (mut follower, lines) = watching(server, streams, config_maps().into()).await;
    lines.event("ADDED", "b", "1000");
    assert_eq!(follower.words(1).await, "+b");
    (follower, lines)
}

/// A server that is restored from the state at version 7, and a stream that knows version 1000 of `b`.
async fn restored(server: &mut Scripted, streams: &Streams) -> Follower {
    let (follower, lines) = about_to_be_restored(server, streams).await;
    lines.cut();
    follower
}

/// The list of the restored server, and the watch from there.
async fn listed_anew(server: &mut Scripted, follower: &mut Follower, version: &str) {
    let list = server.next().await;
    assert!(list.is_page() && !list.is_look(), "{:?}", list.query);
    list.page(version, &["a"], None);
    assert_eq!(follower.words(3).await, "[ +a ]");
    assert_eq!(follower.names(), ["a"]);
    let watch = server.next().await;
    assert!(watch.is_watch_from(version), "{:?}", watch.query);
}

// mutant: crates/kube/src/watch/rollback.rs: `if head < known {` => `if head == 0 {`
#[tokio::test(start_paused = true)]
async fn a_server_restored_to_an_older_version_is_listed_at_once() {
    let (mut server, streams, recorder) = bench(quiet());
    let mut follower = restored(&mut server, &streams).await;
    let look = server.next().await;
    assert!(look.is_look() && look.param("fieldSelector") == Some("metadata.name=b"), "{:?}", look.query);
    assert!(look.path.ends_with("/namespaces/n/configmaps"), "{}", look.path);
    look.page("9", &[], None);
    listed_anew(&mut server, &mut follower, "9").await;
    let (text, _) = recorder.error(WatchErrorKind::Expired).await;
    assert!(text.contains("went back in time, from version 1000 to 9"), "{text}");
}

/// Chaos: the writes of the restored server had passed what the watch knew before it came back.
// mutant: crates/kube/src/watch/rollback.rs: `if now < witness.version` => `if now == 0`
#[tokio::test(start_paused = true)]
async fn a_restored_server_that_is_past_the_known_version_is_found_out_by_an_older_object() {
    let (mut server, streams, _) = bench(quiet());
    let mut follower = restored(&mut server, &streams).await;
    let item = json!({"metadata": {"name": "b", "namespace": "n", "resourceVersion": "6"}});
    server.next().await.text(json!({"metadata": {"resourceVersion": "2000"}, "items": [item]}).to_string());
    listed_anew(&mut server, &mut follower, "2000").await;
}

// mutant: crates/kube/src/watch/rollback.rs: `Some(version) if version >= self.by => Err(version)` => `Some(0) => Err(0)`
#[tokio::test(start_paused = true)]
async fn a_restored_server_that_is_past_the_known_version_is_found_out_by_an_object_that_vanished() {
    let (mut server, streams, _) = bench(quiet());
    let mut follower = restored(&mut server, &streams).await;
    server.next().await.page("2000", &[], None);
    let watch = server.next().await;
    assert!(watch.is_watch_from("1000"), "{:?}", watch.query);
    let lines = watch.lines();
    lines.event("ADDED", "c", "1500");
    assert_eq!(follower.words(1).await, "+c");
    // A history that goes on from version 1000 has its deletion before this.
    lines.bookmark("2000");
    listed_anew(&mut server, &mut follower, "2000").await;
}

/// A server that stops in order, or that has lost etcd for a moment, ends its watches properly.
// mutant: crates/kube/src/watch/stream.rs: `self.doubt = true;` => `self.doubt |= self.silences > 0;`
#[tokio::test(start_paused = true)]
async fn a_server_that_went_back_in_time_is_found_out_however_the_watch_before_ended() {
    let (mut server, streams, _) = bench(quiet());
    let (mut follower, lines) = about_to_be_restored(&mut server, &streams).await;
    drop(lines);
    let look = server.next().await;
    assert!(look.is_look(), "{:?}", look.query);
    let item = json!({"metadata": {"name": "b", "namespace": "n", "resourceVersion": "1000"}});
    look.text(json!({"metadata": {"resourceVersion": "1000"}, "items": [item]}).to_string());
    let lines = server.next().await.lines();
    // A watch that ends as soon as it has begun.
    drop(lines);
    let look = server.next().await;
    assert!(look.is_look(), "{:?}", look.query);
    look.page("9", &[], None);
    listed_anew(&mut server, &mut follower, "9").await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_to_a_server_that_went_on_costs_no_list() {
    let (mut server, streams, _) = bench(quiet());
    let follower = &mut restored(&mut server, &streams).await;
    let item = json!({"metadata": {"name": "b", "namespace": "n", "resourceVersion": "1001"}});
    server.next().await.text(json!({"metadata": {"resourceVersion": "2000"}, "items": [item]}).to_string());
    let watch = server.next().await;
    assert!(watch.is_watch_from("1000"), "{:?}", watch.query);
    let lines = watch.lines();
    lines.event("MODIFIED", "b", "1001");
    assert_eq!(follower.words(1).await, "+b");
    lines.cut();
    // The object was deleted in the meantime, and the follower receives that.
    server.next().await.page("3000", &[], None);
    let watch = server.next().await;
    assert!(watch.is_watch_from("1001"), "{:?}", watch.query);
    let lines = watch.lines();
    lines.event("DELETED", "b", "2500");
    lines.bookmark("3000");
    assert_eq!(follower.words(1).await, "-b");
    lines.cut();
    // One that may not be looked at is gone on with.
    server.next().await.status(403, "scripted");
    assert!(server.next().await.is_watch_from("3000"));
    assert_eq!(follower.lists, 1);
}

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
    assert_eq!((stats.trouble, stats.failures), (None, boathook_kube::watch::Failures::default()));
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

fn by(tenant: &str, n: usize) -> Subscribe {
    let selection = Selection { label_selector: Some(format!("n={n}")), ..config_maps() };
    Subscribe { tenant: Tenant::namespace(tenant), ..selection.into() }
}

// mutant: crates/kube/src/watch/context.rs: `turns.next().await?.ok()` => `None`
#[tokio::test(start_paused = true)]
async fn lists_of_one_tenant_leave_turns_for_another() {
    let (mut server, streams, _) = bench(StreamConfig { lists_at_once: 8, ..quiet() });
    let mut greedy: Vec<_> = (0..100).map(|n| Follower::new(streams.subscribe(by("greedy", n)))).collect();
    let mut asked = Vec::new();
    while let Some(next) = server.wait(Duration::from_millis(1)).await {
        asked.push(next);
    }
    assert_eq!(asked.len(), 6, "three quarters of the turns");
    let mut other = Follower::new(streams.subscribe(by("other", 0)));
    // The stream of that selection exists already: its list takes the turn of whichever tenant comes first.
    let mut alone = Follower::new(streams.subscribe(by("other", 200)));
    let list = server.next().await;
    assert_eq!(list.param("labelSelector"), Some("n=200"));
    list.page("5", &["a"], None);
    assert_eq!(alone.words(3).await, "[ +a ]");
    drop(server.next().await.lines());
    // One that has its answer makes room for one that waits.
    asked.remove(0).page("5", &["a"], None);
    assert_eq!(other.words(3).await, "[ +a ]");
    assert_eq!(greedy.remove(0).words(3).await, "[ +a ]");
}

// mutant: crates/kube/src/watch/streams.rs: `self.pace.clone().paced(tenant, supervise(Arc::new(context), joined, delay))` => `supervise(Arc::new(context), joined, delay)`
#[tokio::test(start_paused = true)]
async fn a_change_is_handled_when_it_is_the_turn_of_its_tenant() {
    let (mut server, streams, _) = bench(quiet());
    let (mut follower, lines) = watching(&mut server, &streams, by("one", 0)).await;
    let (pace, another) = (streams.pace(), Tenant::namespace("another"));
    let held: Vec<_> = std::iter::from_fn(|| pace.try_take(&another, 1)).collect();
    lines.event("ADDED", "b", "6");
    tokio::time::sleep(HOUR).await;
    assert!(follower.is_idle(), "the other tenant has all turns");
    drop(held);
    assert_eq!(follower.words(1).await, "+b");
}

// mutant: crates/kube/src/watch/list.rs: `const TURN: Duration = Duration::from_secs(5);` => `const TURN: Duration = Duration::from_secs(5000);`
#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_gives_turns_back_in_time() {
    let (mut server, streams, _) = bench(StreamConfig { lists_at_once: 1, ..quiet() });
    let _silent = Follower::new(streams.subscribe(by("greedy", 0)));
    let first = server.next().await;
    let start = Instant::now();
    let mut other = Follower::new(streams.subscribe(by("other", 1)));
    server.next().await.page("5", &["a"], None);
    assert_eq!(other.words(3).await, "[ +a ]");
    assert_eq!(start.elapsed().as_secs(), 5);
    drop(first);
}
