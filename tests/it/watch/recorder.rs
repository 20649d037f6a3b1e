//! Remembers what streams report.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use boathook_kube::watch::{Observer, Selection, WatchErrorKind};
use tokio::{sync::Notify, time::timeout};

use super::scripted::DEADLINE;

#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    List(u64),
    Error { kind: WatchErrorKind, text: String, retry_in: Duration },
    Rebuilt,
    Invalid(String),
    Lagging,
    Unserved,
    Died(String),
}

#[derive(Default)]
pub struct Recorder {
    reports: Mutex<Vec<Report>>,
    changed: Notify,
}

impl Recorder {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    fn add(&self, report: Report) {
        self.reports.lock().unwrap().push(report);
        self.changed.notify_one();
    }

    pub fn all(&self) -> Vec<Report> {
        self.reports.lock().unwrap().clone()
    }

    /// The first report that is wanted, as soon as there is one.
    pub async fn wait_for(&self, wanted: impl Fn(&Report) -> bool) -> Report {
        let found = async {
            loop {
                if let Some(report) = self.all().into_iter().find(&wanted) {
                    return report;
                }
                self.changed.notified().await;
            }
        };
        timeout(DEADLINE, found).await.expect("a report")
    }

    /// Waits until there are so many reports that are wanted.
    pub async fn count(&self, wanted: impl Fn(&Report) -> bool, count: usize) {
        let found = async {
            while self.all().iter().filter(|report| wanted(report)).count() < count {
                self.changed.notified().await;
            }
        };
        timeout(DEADLINE, found).await.expect("reports");
    }

    pub async fn error(&self, wanted: WatchErrorKind) -> (String, Duration) {
        match self.wait_for(|report| matches!(report, Report::Error { kind, .. } if *kind == wanted)).await {
            Report::Error { text, retry_in, .. } => (text, retry_in),
            _ => unreachable!(),
        }
    }
}

impl Observer for Recorder {
    fn on_list(&self, _: &Selection, objects: u64, _: Duration) {
        self.add(Report::List(objects));
    }

    fn on_watch_error(&self, _: &Selection, kind: WatchErrorKind, text: &str, retry_in: Duration) {
        self.add(Report::Error { kind, text: text.to_owned(), retry_in });
    }

    fn on_rebuilt(&self, _: &Selection, _: Duration) {
        self.add(Report::Rebuilt);
    }

    fn on_invalid_object(&self, _: &Selection, text: &str) {
        self.add(Report::Invalid(text.to_owned()));
    }

    fn on_unserved(&self, _: &Selection) {
        self.add(Report::Unserved);
    }

    fn on_died(&self, _: &Selection, text: &str) {
        self.add(Report::Died(text.to_owned()));
    }

    fn on_lagging(&self, _: &Selection) {
        self.add(Report::Lagging);
    }
}
