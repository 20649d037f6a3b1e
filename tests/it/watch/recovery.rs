//! What goes wrong between a stream and its server, and that nothing is lost by it.

use std::{sync::Arc, time::Duration};

use boathook_kube::watch::{StreamConfig, StreamState, Streams, WatchErrorKind};

use super::{
    follower::{Follower, config_maps},
    recorder::{Recorder, Report},
    scripted::{Lines, Scripted, event},
};

struct Bench {
    server: Scripted,
    streams: Streams,
    recorder: Arc<Recorder>,
    follower: Follower,
}

fn quick() -> StreamConfig {
    StreamConfig {
        streaming_lists: false,
        backoff_initial: Duration::from_millis(10),
        backoff_max: Duration::from_millis(50),
        ..StreamConfig::default()
    }
}

async fn bench(config: StreamConfig) -> Bench {
    let server = Scripted::start().await;
    let recorder = Recorder::new();
    let streams = Streams::new(server.client(), config, recorder.clone());
    let follower = Follower::new(streams.subscribe(config_maps()));
    Bench { server, streams, recorder, follower }
}

/// A stream that has listed `a` at version 5 and watches from there.
async fn watching(config: StreamConfig) -> (Bench, Lines) {
    let mut bench = bench(config).await;
    bench.server.next().await.page("5", &["a"], None);
    let watch = bench.server.next().await;
    assert!(watch.is_watch_from("5"), "{:?}", watch.query);
    let lines = watch.lines();
    assert_eq!(bench.follower.words(3).await, "[ +a ]");
    (bench, lines)
}

#[tokio::test]
async fn lists_page_by_page_and_watches_from_the_list() {
    let mut bench = bench(StreamConfig { page_size: 2, ..quick() }).await;
    let first = bench.server.next().await;
    assert_eq!(
        (first.path.as_str(), first.param("limit"), first.param("continue")),
        ("/api/v1/configmaps", Some("2"), None)
    );
    first.page("5", &["a", "b"], Some("more"));
    let second = bench.server.next().await;
    assert_eq!(second.param("continue"), Some("more"));
    second.page("5", &["c"], None);
    let watch = bench.server.next().await;
    assert!(watch.is_watch_from("5"));
    assert_eq!(watch.param("allowWatchBookmarks"), Some("true"));
    let lines = watch.lines();
    lines.event("ADDED", "d", "6");
    lines.event("DELETED", "a", "7");
    assert_eq!(bench.follower.words(7).await, "[ +a +b +c ] +d -a");
    let stats = bench.streams.stats();
    assert_eq!((stats.len(), stats[0].state, stats[0].subscribers), (1, StreamState::Watching, 1));
    assert_eq!(stats[0].objects_seen, 5);
    assert_eq!(bench.recorder.all(), [Report::List(3)]);
}

#[tokio::test]
async fn a_streaming_list_becomes_the_watch() {
    let mut bench = bench(StreamConfig { streaming_lists: true, ..quick() }).await;
    let asked = bench.server.next().await;
    assert!(asked.is_streaming_list());
    assert_eq!(asked.param("resourceVersionMatch"), Some("NotOlderThan"));
    let lines = asked.lines();
    lines.event("ADDED", "a", "3");
    lines.list_done("5");
    lines.event("ADDED", "b", "6");
    assert_eq!(bench.follower.words(4).await, "[ +a ] +b");
    drop(lines);
    assert!(bench.server.next().await.is_watch_from("6"));
}

#[tokio::test]
async fn servers_without_streaming_lists_are_asked_for_pages_and_remembered() {
    for code in [400, 422] {
        let mut bench = bench(StreamConfig { streaming_lists: true, ..quick() }).await;
        let asked = bench.server.next().await;
        assert!(asked.is_streaming_list());
        asked.status(code, "sendInitialEvents: Forbidden");
        let asked = bench.server.next().await;
        assert!(asked.is_page());
        asked.page("5", &[], None);
        assert_eq!(bench.follower.words(2).await, "[ ]");
        let lines = bench.server.next().await.lines();
        lines.error(410);
        assert!(bench.server.next().await.is_page());
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_parameter_is_found_out() {
    let config = StreamConfig { streaming_lists: true, list_silence: Duration::from_millis(500), ..quick() };
    let mut bench = bench(config).await;
    let lines = bench.server.next().await.lines();
    lines.event("ADDED", "a", "3");
    let asked = bench.server.next().await;
    assert!(asked.is_page());
    asked.page("5", &["a"], None);
    assert_eq!(bench.follower.words(5).await, "[ +a [ +a ]");
}

#[tokio::test]
async fn lost_history_means_a_list_at_once() {
    let (mut bench, lines) = watching(quick()).await;
    lines.error(410);
    let asked = bench.server.next().await;
    assert!(asked.is_page());
    asked.page("50", &["b"], None);
    assert_eq!(bench.follower.words(3).await, "[ +b ]");
    assert_eq!(bench.follower.names(), ["b"]);
    let watch = bench.server.next().await;
    assert!(watch.is_watch_from("50"));
    let (_, retry_in) = bench.recorder.error(WatchErrorKind::Expired).await;
    assert_eq!(retry_in, Duration::ZERO);
    // The same as an answer; the second in a row is not for at once.
    watch.status(410, "too old");
    bench.server.next().await.page("60", &["c"], None);
    assert_eq!(bench.follower.words(3).await, "[ +c ]");
    let delays: Vec<_> = bench
        .recorder
        .all()
        .into_iter()
        .filter_map(|report| match report {
            Report::Error { kind: WatchErrorKind::Expired, retry_in, .. } => Some(retry_in.is_zero()),
            _ => None,
        })
        .collect();
    assert_eq!(delays, [true, false]);
}

#[tokio::test]
async fn an_expired_token_starts_the_list_again() {
    let mut bench = bench(quick()).await;
    bench.server.next().await.page("5", &["a"], Some("old"));
    bench.server.next().await.status(410, "the continue token is too old");
    let asked = bench.server.next().await;
    assert!(asked.is_page() && asked.param("continue").is_none());
    asked.page("9", &["b"], None);
    assert_eq!(bench.follower.words(5).await, "[ +a [ +b ]");
    assert_eq!(bench.follower.names(), ["b"]);
}

#[tokio::test]
async fn a_watch_that_ends_goes_on_where_it_was() {
    let (mut bench, lines) = watching(quick()).await;
    lines.event("MODIFIED", "a", "6");
    lines.bookmark("40");
    drop(lines);
    let watch = bench.server.next().await;
    assert!(watch.is_watch_from("40"), "{:?}", watch.query);
    watch.lines().event("DELETED", "a", "41");
    assert_eq!(bench.follower.words(2).await, "+a -a");
    // A proper end is no error.
    assert_eq!(bench.recorder.all(), [Report::List(1)]);
}

#[tokio::test]
async fn a_cut_connection_loses_nothing() {
    let (mut bench, lines) = watching(quick()).await;
    lines.event("ADDED", "b", "6");
    // Half a line must be neither used nor joined to what comes after.
    let half = event("ADDED", "c", "7");
    lines.raw(&half[..half.len() / 2]);
    assert_eq!(bench.follower.words(1).await, "+b");
    lines.cut();
    let watch = bench.server.next().await;
    assert!(watch.is_watch_from("6"));
    let lines = watch.lines();
    lines.event("ADDED", "c", "7");
    assert_eq!(bench.follower.words(1).await, "+c");
    bench.recorder.error(WatchErrorKind::UnexpectedEof).await;
    lines.raw(&half[..half.len() / 2]);
    drop(lines);
    assert!(bench.server.next().await.is_watch_from("7"));
}

#[tokio::test]
async fn a_watch_that_ends_at_once_is_not_asked_for_in_a_loop() {
    let (mut bench, lines) = watching(quick()).await;
    drop(lines);
    let (_, retry_in) = bench.recorder.error(WatchErrorKind::Eof).await;
    assert!(!retry_in.is_zero());
    assert!(bench.server.next().await.is_watch_from("5"));
}

#[tokio::test]
async fn silence_ends_a_connection_and_is_reported() {
    let (mut bench, lines) = watching(StreamConfig { silence: Duration::from_millis(500), ..quick() }).await;
    lines.bookmark("8");
    let watch = bench.server.next().await;
    assert!(watch.is_watch_from("8"));
    lines.closed().await;
    assert_eq!(bench.recorder.all(), [Report::List(1), Report::Rebuilt]);
    // Also one that never answers.
    let _silent = watch;
    assert!(bench.server.next().await.is_watch_from("8"));
}

#[tokio::test]
async fn the_servers_wish_for_patience_is_obeyed() {
    let mut bench = bench(quick()).await;
    bench.server.next().await.status_with(429, "too many requests", &[("Retry-After", "1")]);
    let (text, retry_in) = bench.recorder.error(WatchErrorKind::Unavailable).await;
    assert_eq!(retry_in, Duration::from_secs(1));
    assert!(text.contains("429"), "{text}");
    bench.server.next().await.page("5", &[], None);
    assert_eq!(bench.follower.words(2).await, "[ ]");
    bench.server.next().await.status_with(429, "too many requests", &[("Retry-After", "1")]);
    assert!(bench.server.next().await.is_watch_from("5"));
}

#[tokio::test]
async fn errors_are_reported_apart_and_tried_again() {
    let mut bench = bench(quick()).await;
    for (code, kind) in [
        (401, WatchErrorKind::Forbidden),
        (403, WatchErrorKind::Forbidden),
        (404, WatchErrorKind::NotFound),
        (500, WatchErrorKind::Unavailable),
        (503, WatchErrorKind::Unavailable),
        (409, WatchErrorKind::Other),
    ] {
        bench.server.next().await.status(code, "scripted");
        let (text, retry_in) = bench.recorder.error(kind).await;
        assert!(text.ends_with(": scripted"), "{text}");
        assert!(!retry_in.is_zero());
    }
    assert_eq!(bench.streams.stats()[0].state, StreamState::Unserved);
    bench.server.next().await.page("5", &["a"], None);
    assert_eq!(bench.follower.words(4).await, "! [ +a ]");
    bench.server.next().await.status(403, "scripted");
    assert!(bench.server.next().await.is_watch_from("5"));
}

#[tokio::test]
async fn a_server_that_is_away_is_tried_again() {
    let server = Scripted::start().await;
    let (address, client) = (server.address.unwrap(), server.client());
    drop(server);
    let recorder = Recorder::new();
    let streams = Streams::new(client, quick(), recorder.clone());
    let _follower = Follower::new(streams.subscribe(config_maps()));
    let (text, _) = recorder.error(WatchErrorKind::Unavailable).await;
    assert!(text.contains("refused") || text.contains("closed"), "{address}: {text}");
}

#[tokio::test]
async fn what_cannot_be_read_is_reported_and_skipped() {
    let (mut bench, lines) = watching(quick()).await;
    lines.raw("\n");
    lines.raw("nonsense\n");
    lines.raw("{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}\n");
    lines.raw("{\"type\":\"RENAMED\",\"object\":{}}\n");
    lines.event("ADDED", "b", "6");
    assert_eq!(bench.follower.words(1).await, "+b");
    let invalid: Vec<_> =
        bench.recorder.all().into_iter().filter(|report| matches!(report, Report::Invalid(_))).collect();
    assert_eq!(invalid.len(), 3, "{invalid:?}");
    lines.error(410);
    let page = r#"{"metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"x"}},{"metadata":7},{"metadata":{"name":"y"}}]}"#;
    bench.server.next().await.text(page);
    assert_eq!(bench.follower.words(4).await, "[ +x +y ]");
}

#[tokio::test]
async fn a_page_that_is_no_list_is_an_error() {
    let mut bench = bench(quick()).await;
    bench.server.next().await.text("<html>a proxy's page</html>");
    let (text, _) = bench.recorder.error(WatchErrorKind::Other).await;
    assert!(text.contains("not a list"), "{text}");
    assert!(bench.server.next().await.is_page());
}

#[tokio::test]
async fn pages_that_are_too_long_come_in_smaller_parts() {
    let mut bench = bench(StreamConfig { page_size: 16, max_page_bytes: 400, ..quick() }).await;
    let names = ["a-rather-long-name"; 16];
    let asked = bench.server.next().await;
    assert_eq!(asked.param("limit"), Some("16"));
    asked.page("5", &names, None);
    let asked = bench.server.next().await;
    assert_eq!(asked.param("limit"), Some("2"));
    asked.page("5", &["a", "b"], Some("more"));
    let asked = bench.server.next().await;
    assert_eq!((asked.param("limit"), asked.param("continue")), (Some("2"), Some("more")));
    asked.page("5", &["c"], None);
    assert_eq!(bench.follower.words(5).await, "[ +a +b +c ]");
}

#[tokio::test]
async fn a_line_without_end_does_not_fill_the_memory() {
    let (mut bench, lines) = watching(StreamConfig { max_line_bytes: 1000, ..quick() }).await;
    lines.raw(&"x".repeat(2000));
    let (text, _) = bench.recorder.error(WatchErrorKind::Other).await;
    assert!(text.contains("1000"), "{text}");
    assert!(bench.server.next().await.is_watch_from("5"));
}
