//! Whether this process leads, and until when it may act. The parts of the operator that run hooks and write query
//! this. It sends no requests, so it is cheap enough for each write.

use std::future::pending;

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

/// The role of this process among the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Another replica leads, or none does yet.
    Standby {
        /// Another replica gave a sign of life lately.
        led: bool,
    },
    Leading {
        /// The process may act until then, and longer after it has renewed the Lease.
        until: Instant,
    },
    /// The process led, and will never lead again.
    Over,
}

/// The error of an action that only the leader may perform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this operator does not hold the Lease: only the leader may write")]
pub struct NotLeading;

/// Reports whether this process leads. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Leadership(Option<watch::Receiver<Standing>>);

impl Leadership {
    /// For an operator without other replicas: it leads without end.
    pub fn alone() -> Self {
        Self(None)
    }

    /// Follows the election through a channel. If the channel closes, the last value stays valid until its time ends.
    pub fn observing(standing: watch::Receiver<Standing>) -> Self {
        Self(Some(standing))
    }

    /// Whether no other replica can lead.
    pub fn is_alone(&self) -> bool {
        self.0.is_none()
    }

    /// Returns until when the process may act. `None` means without end, for an operator without other replicas.
    pub fn check(&self) -> Result<Option<Instant>, NotLeading> {
        let Some(standing) = &self.0 else { return Ok(None) };
        match *standing.borrow() {
            Standing::Leading { until } if Instant::now() < until => Ok(Some(until)),
            _ => Err(NotLeading),
        }
    }

    /// Whether the process may act now.
    pub fn leads(&self) -> bool {
        self.check().is_ok()
    }

    /// Whether the process waits for its turn.
    pub fn is_standby(&self) -> bool {
        self.0.as_ref().is_some_and(|standing| matches!(*standing.borrow(), Standing::Standby { .. }))
    }

    /// Whether another replica leads.
    pub fn led_by_another(&self) -> bool {
        self.0.as_ref().is_some_and(|standing| *standing.borrow() == Standing::Standby { led: true })
    }

    /// Returns when the process leads. If it can no longer lead, this never returns.
    pub async fn gained(&self) {
        let Some(mut standing) = self.0.clone() else { return };
        if standing.wait_for(|standing| matches!(standing, Standing::Leading { .. })).await.is_err() {
            pending::<()>().await;
        }
    }

    /// Returns when the process has led and may no longer act. The end of its time is enough, without a notification.
    pub async fn lost(&self) {
        let Some(mut standing) = self.0.clone() else { return pending().await };
        loop {
            let now = *standing.borrow_and_update();
            match now {
                Standing::Over => return,
                Standing::Leading { until } => tokio::select! {
                    biased;
                    changed = standing.changed() => if changed.is_err() { return sleep_until(until).await },
                    () = sleep_until(until) => return,
                },
                Standing::Standby { .. } => {
                    if standing.changed().await.is_err() {
                        pending::<()>().await;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_ends_by_time_alone() {
        let (to, standing) = watch::channel(Standing::Standby { led: true });
        let leadership = Leadership::observing(standing);
        assert!(leadership.is_standby() && leadership.led_by_another() && leadership.check() == Err(NotLeading));
        assert_eq!(leadership.gained().now_or_never(), None);
        let start = Instant::now();
        to.send_replace(Standing::Leading { until: start + SECOND });
        leadership.gained().await;
        assert_eq!(leadership.check(), Ok(Some(start + SECOND)));
        let lost = leadership.lost();
        tokio::pin!(lost);
        assert_eq!(lost.as_mut().now_or_never(), None);
        to.send_replace(Standing::Leading { until: start + 3 * SECOND });
        lost.await;
        assert_eq!(start.elapsed(), 3 * SECOND);
        assert_eq!(leadership.check(), Err(NotLeading));
        assert!(!leadership.is_standby());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_reported_the_end_does_not_wait_for_it() {
        let start = Instant::now();
        let (to, standing) = watch::channel(Standing::Leading { until: start + SECOND });
        let leadership = Leadership::observing(standing);
        to.send_replace(Standing::Over);
        leadership.lost().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn alone_it_leads_for_ever() {
        let leadership = Leadership::alone();
        leadership.gained().await;
        assert_eq!((leadership.check(), leadership.is_standby()), (Ok(None), false));
        assert_eq!(leadership.lost().now_or_never(), None);
    }
}
