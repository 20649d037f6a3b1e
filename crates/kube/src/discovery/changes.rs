//! Counts the callers that wait for kinds, and notifies them when it is time to check again.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts the notifications and the callers that wait for them.
#[derive(Debug, Default)]
pub(super) struct Board {
    news: watch::Sender<u64>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Board {
    pub fn tell(&self) {
        self.news.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub fn wait(&self) -> Changes {
        self.waiting.send_modify(|count| *count = count.saturating_add(1));
        Changes { news: self.news.subscribe(), waiting: self.waiting.clone() }
    }

    /// Waits until somebody waits for kinds or, with `wanted` false, until nobody does.
    pub async fn awaited(&self, wanted: bool) {
        // The sender is held here, so the channel cannot be closed.
        let _ = self.waiting.subscribe().wait_for(|count| (*count > 0) == wanted).await;
    }
}

/// Waits for kinds to come or go. While this value lives, it counts as a caller that waits.
#[derive(Debug)]
pub struct Changes {
    news: watch::Receiver<u64>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Changes {
    /// Returns when the API server may serve other kinds than it did when this value was created or when this function
    /// last returned. Cancel-safe.
    pub async fn next(&mut self) {
        if self.news.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.waiting.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn news_reach_all_who_waited_when_they_came_and_none_later() {
        let board = Board::default();
        let (mut one, mut two) = (board.wait(), board.wait());
        assert!(one.next().now_or_never().is_none());
        board.tell();
        board.tell();
        for changes in [&mut one, &mut two] {
            assert!(changes.next().now_or_never().is_some());
            assert!(changes.next().now_or_never().is_none(), "several news at once are one");
        }
        assert!(board.wait().next().now_or_never().is_none());
    }

    #[test]
    fn it_is_known_whether_somebody_waits() {
        let board = Board::default();
        let awaited = |wanted| board.awaited(wanted).now_or_never().is_some();
        assert!(!awaited(true) && awaited(false));
        let (one, two) = (board.wait(), board.wait());
        assert!(awaited(true) && !awaited(false));
        drop(one);
        assert!(awaited(true));
        drop(two);
        assert!(!awaited(true) && awaited(false));
    }
}
