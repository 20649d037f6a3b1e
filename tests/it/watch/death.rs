//! A stream whose task dies by a defect. An observer that panics stands for one.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use boathook_kube::watch::{Observer, Selection, StreamConfig, Streams, WatchErrorKind};
use tokio::time::Instant;

use super::{
    follower::{Follower, config_maps},
    recorder::{Recorder, Report},
    scripted::Scripted,
};

/// Panics so many times, when it is notified of a list (in a task of the stream's task) or of an error
/// (in the stream's own task).
struct Defect {
    left: AtomicUsize,
    in_lists: bool,
    recorder: Arc<Recorder>,
}

impl Defect {
    fn fire(&self, here: bool) {
        let take = |left: usize| left.checked_sub(1);
        if here && self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            panic!("a defect");
        }
    }
}

impl Observer for Defect {
    fn on_list(&self, _: &Selection, _: u64, _: Duration) {
        self.fire(self.in_lists);
    }

    fn on_watch_error(&self, _: &Selection, _: WatchErrorKind, _: &str, _: Duration) {
        self.fire(!self.in_lists);
    }

    fn on_died(&self, selection: &Selection, text: &str) {
        self.recorder.on_died(selection, text);
    }
}

fn bench(times: usize, in_lists: bool) -> (Scripted, Streams, Arc<Recorder>) {
    let server = Scripted::without_socket();
    let recorder = Recorder::new();
    let defect = Defect { left: times.into(), in_lists, recorder: recorder.clone() };
    let longest = Duration::from_secs(10);
    let config = StreamConfig { streaming_lists: false, backoff_max: longest, ..StreamConfig::default() };
    let streams = Streams::new(server.client(), config, Arc::new(defect));
    (server, streams, recorder)
}

#[tokio::test(start_paused = true)]
async fn all_subscribers_get_a_new_stream_and_a_list() {
    let (mut server, streams, recorder) = bench(1, false);
    let mut all: Vec<_> = (0..2).map(|_| Follower::new(streams.subscribe(config_maps()))).collect();
    server.next().await.page("5", &["a"], None);
    let lines = server.next().await.lines();
    for follower in &mut all {
        assert_eq!(follower.words(3).await, "[ +a ]");
    }
    lines.error(500);
    recorder.wait_for(|report| *report == Report::Died("a defect".into())).await;
    // A subscriber that comes now is also on the new stream.
    all.push(Follower::new(streams.subscribe(config_maps())));
    assert!(all.iter_mut().all(Follower::is_idle), "they notice");
    server.next().await.page("9", &["b"], None);
    for follower in &mut all {
        assert_eq!(follower.words(3).await, "[ +b ]");
        assert_eq!(follower.names(), ["b"]);
    }
    let lines = server.next().await.lines();
    lines.event("ADDED", "c", "10");
    for follower in &mut all {
        assert_eq!(follower.words(1).await, "+c");
    }
    let stats = streams.stats();
    assert_eq!((stats.len(), stats[0].subscribers, stats[0].failures.of(WatchErrorKind::Died)), (1, 3, 1));
    drop(all);
    lines.closed().await;
    assert!(streams.stats().is_empty(), "the count of subscribers is right");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_dies_takes_nobody_along() {
    let (mut server, streams, recorder) = bench(1, true);
    let mut follower = Follower::new(streams.subscribe(config_maps()));
    server.next().await.page("5", &["a"], None);
    // The list was delivered when its task died, but the stream never heard of it.
    assert_eq!(follower.words(3).await, "[ +a ]");
    let next = follower.next();
    let serve = async {
        server.next().await.page("6", &["b"], None);
    };
    tokio::join!(next, serve);
    follower.until_listed().await;
    assert_eq!(follower.names(), ["b"]);
    recorder.wait_for(|report| *report == Report::Died("a defect".into())).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_dies_again_and_again_does_so_slowly() {
    let (mut server, streams, recorder) = bench(usize::MAX, true);
    let mut follower = Follower::new(streams.subscribe(config_maps()));
    let start = Instant::now();
    tokio::select! {
        () = async {
            loop {
                server.wait(Duration::from_secs(3600)).await.unwrap().page("5", &["a"], None);
            }
        } => {}
        () = async {
            while start.elapsed() < Duration::from_secs(600) {
                follower.next().await;
            }
        } => {}
    }
    let died = recorder.all().len();
    assert!((60..140).contains(&died), "{died} times in ten minutes");
}
