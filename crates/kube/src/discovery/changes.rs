//! Who waits for kinds, and telling them that it is time to look again. Asks no server.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts the news, and those who wait for them.
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

    /// Waits until somebody waits, or until nobody does.
    pub async fn awaited(&self, wanted: bool) {
        // Its sender is held here, so it can't be closed.
        let _ = self.waiting.subscribe().wait_for(|count| (*count > 0) == wanted).await;
    }
}

/// Waits for kinds to come or go. As long as it is held, it counts as someone who waits.
#[derive(Debug)]
pub struct Changes {
    news: watch::Receiver<u64>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Changes {
    /// Returns when the API server may serve other kinds than when this was made, or than when it last
    /// returned. Cancel-safe.
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
