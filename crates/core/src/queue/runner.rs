//! The driver: one task that takes jobs as they may run, runs the action, and gives outcomes back. It does not decide
//! what runs, and it does not poll: it sleeps until a push, an outcome or the end of a delay.

use std::{any::Any, future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use super::{Handle, Observer, QueueConfig, handle::Shared};
use crate::{
    model::{Failure, FailureKind, Job, JobId, Outcome},
    tasks::{Task, Tasks, panic_message},
};
use futures::{FutureExt as _, future::BoxFuture};
use tokio::{
    sync::oneshot,
    task::JoinSet,
    time::{Instant, sleep_until, timeout},
};

/// Runs a job. A panic in it counts as a failure of the host.
pub type Action = Arc<dyn Fn(Job) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// How long `drain` waits for interrupted runs to let go.
const LET_GO: Duration = Duration::from_secs(1);

/// The result of `drain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Runs that ended within the grace period.
    pub finished: usize,
    /// Runs that were interrupted after that.
    pub interrupted: usize,
}

/// The running queues. Dropping them aborts the runs.
pub struct Runner {
    handle: Handle,
    stop: oneshot::Sender<Duration>,
    driver: Task<Drained>,
}

impl Runner {
    /// Starts the driver on the current tokio runtime.
    pub fn new(config: QueueConfig, action: Action, observer: Arc<dyn Observer>, tasks: &Tasks) -> Self {
        Self::of(Handle::new(config, observer), action, tasks)
    }

    /// The same for queues that something has a handle of already.
    pub fn of(handle: Handle, action: Action, tasks: &Tasks) -> Self {
        let (stop, stopped) = oneshot::channel();
        let driver = Driver { shared: handle.0.clone(), action, runs: JoinSet::new(), drained: Drained::default() };
        Self { handle, stop, driver: tasks.spawn("queues", driver.run(stopped)) }
    }

    /// For code that pushes triggers.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Takes and accepts nothing more, lets runs end within `grace`, and then aborts them.
    pub async fn drain(self, grace: Duration) -> Drained {
        self.handle.0.state().close();
        // The driver only ends through this message, or through a panic, after which nothing runs.
        let _ = self.stop.send(grace);
        self.driver.await.unwrap_or_default()
    }
}

struct Driver {
    shared: Arc<Shared>,
    action: Action,
    runs: JoinSet<(JobId, Outcome)>,
    drained: Drained,
}

impl Driver {
    async fn run(mut self, mut stopped: oneshot::Receiver<Duration>) -> Drained {
        loop {
            let due = self.dispatch();
            tokio::select! {
                biased;
                grace = &mut stopped => {
                    if let Ok(grace) = grace {
                        self.drain(grace).await;
                    }
                    return self.drained;
                }
                Some(ended) = self.runs.join_next() => {
                    // Runs catch panics and are aborted only while draining, so all of them have an outcome.
                    if let Ok((id, outcome)) = ended {
                        self.shared.finish(id, outcome);
                    }
                }
                () = self.shared.wake.notified() => {}
                () = sleep_until_some(due) => {}
            }
        }
    }

    /// Starts everything that may run now. Returns when more may run.
    fn dispatch(&mut self) -> Option<Instant> {
        loop {
            let (ahead, now) = (self.shared.ahead(), self.shared.now());
            let mut state = self.shared.state();
            let job = state.take(now);
            // Events that were held for their object to be quiet may have had no room.
            let emptied = state.take_emptied();
            emptied.iter().for_each(|emptied| self.shared.observer.emptied(emptied));
            let Some(job) = job else {
                if state.is_idle() {
                    self.shared.idle.notify_waiters();
                }
                let due = state.next_due(now)?;
                // A time that the clock cannot represent is long past.
                return Some(due.checked_sub(ahead).map_or_else(Instant::now, Instant::from_std));
            };
            drop(state);
            self.shared.observer.started(&job);
            let (id, action) = (job.id, self.action.clone());
            self.runs.spawn(async move {
                let run = AssertUnwindSafe(async move { action(job).await }).catch_unwind();
                (id, run.await.unwrap_or_else(|panic| Err(host_failure(panic.as_ref()))))
            });
        }
    }

    async fn drain(&mut self, grace: Duration) {
        let all_ended = async {
            while let Some(ended) = self.runs.join_next().await {
                self.drained.finished += usize::from(ended.is_ok());
                if let Ok((id, outcome)) = ended {
                    self.shared.finish(id, outcome);
                }
            }
        };
        if timeout(grace, all_ended).await.is_ok() {
            return;
        }
        self.runs.abort_all();
        // A run that does not let go blocks its thread. Nothing more can be done about it here.
        let _ = timeout(LET_GO, async { while self.runs.join_next().await.is_some() {} }).await;
        let running: Vec<_> = self.shared.state().running().collect();
        self.drained.interrupted = running.len();
        for id in running {
            self.shared.finish(id, Err(interrupted()));
        }
    }
}

async fn sleep_until_some(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => pending().await,
    }
}

fn interrupted() -> Failure {
    Failure {
        kind: FailureKind::Interrupted,
        message: "the run was interrupted because the grace period of the shutdown ended".to_owned(),
        backtrace: None,
    }
}

fn host_failure(panic: &(dyn Any + Send)) -> Failure {
    let message = format!("the host panicked while it ran the hook: {}", panic_message(panic).unwrap_or("no message"));
    Failure { kind: FailureKind::Host, message, backtrace: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use tokio::sync::{Semaphore, mpsc};

    use super::*;
    use crate::{
        model::{Cause, Trigger},
        queue::{Finished, HookQueueConfig, Pushed, Verdict, testing::*},
    };

    /// Runs jobs as the test says, and reports to it what happens.
    struct Stage {
        runner: Runner,
        jobs: mpsc::UnboundedReceiver<Job>,
        ends: mpsc::UnboundedReceiver<Finished>,
        /// One permit lets one run end.
        let_end: Arc<Semaphore>,
    }

    struct Tell(mpsc::UnboundedSender<Finished>);

    impl Observer for Tell {
        fn finished(&self, finished: &Finished) {
            let _ = self.0.send(finished.clone());
        }
    }

    impl Stage {
        fn new(outcome: impl Fn(&Job) -> Outcome + Send + Sync + 'static) -> Self {
            let (job_to, jobs) = mpsc::unbounded_channel();
            let (end_to, ends) = mpsc::unbounded_channel();
            let let_end = Arc::new(Semaphore::new(0));
            let (outcome, permits) = (Arc::new(outcome), let_end.clone());
            let action: Action = Arc::new(move |job| {
                let (outcome, permits) = (outcome.clone(), permits.clone());
                job_to.send(job.clone()).unwrap();
                Box::pin(async move {
                    permits.acquire().await.unwrap().forget();
                    outcome(&job)
                })
            });
            let runner = Runner::new(QueueConfig::default(), action, Arc::new(Tell(end_to)), &Tasks::default());
            runner.handle().add_hook(hook("h"), HookQueueConfig::default());
            runner.handle().add_hook(hook("g"), HookQueueConfig::default());
            Self { runner, jobs, ends, let_end }
        }

        fn push(&self, hook: &str, cause: Cause) {
            assert_eq!(self.runner.handle().push(trigger(hook, own(hook), "b", cause)), Pushed::Queued);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn runs_what_is_pushed_and_becomes_idle() {
        let mut stage = Stage::new(|_| Ok(()));
        stage.runner.handle().idle().await;
        stage.push("h", modified("a", 1));
        stage.push("g", modified("a", 2));
        let mut seen = [labels(&stage.jobs.recv().await.unwrap()), labels(&stage.jobs.recv().await.unwrap())].concat();
        seen.sort();
        assert_eq!(seen, ["a1", "a2"]);
        assert_eq!(stage.runner.handle().stats().running, 2);
        stage.let_end.add_permits(2);
        stage.runner.handle().idle().await;
        assert_eq!(stage.runner.handle().stats().running, 0);
        assert_eq!(stage.ends.recv().await.unwrap().verdict, Verdict::Done);
    }

    #[tokio::test(start_paused = true)]
    async fn retries_when_the_delay_is_over_and_not_before() {
        let stage = Stage::new(|job| if job.attempt < 4 { failed(FailureKind::Retry) } else { Ok(()) });
        stage.let_end.add_permits(100);
        let start = Instant::now();
        stage.push("h", tick(1));
        stage.runner.handle().idle().await;
        // 5 + 10 + 20 s. tokio's timer rounds up to the millisecond.
        assert!((secs(35)..secs(35) + Duration::from_millis(5)).contains(&start.elapsed()), "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_passes_at_once_ends_delays_and_does_not_shorten_those_that_begin_later() {
        let fails = |job: &Job| job.hook == hook("h") && job.attempt < 3;
        let mut stage = Stage::new(move |job| if fails(job) { failed(FailureKind::Retry) } else { Ok(()) });
        stage.let_end.add_permits(100);
        let start = Instant::now();
        stage.push("h", tick(1));
        stage.ends.recv().await.unwrap();
        stage.runner.handle().pass(secs(5));
        // The first retry is due. The second one waits its 10 s, and a debounced event waits its time, too.
        stage.ends.recv().await.unwrap();
        assert!(start.elapsed() < Duration::from_millis(5), "{:?}", start.elapsed());
        stage.runner.handle().push(Trigger { debounce: secs(2), ..trigger("g", own("g"), "b", modified("a", 1)) });
        assert_eq!(stage.ends.recv().await.unwrap().hook, hook("g"));
        assert!((secs(2)..secs(2) + Duration::from_millis(5)).contains(&start.elapsed()), "{:?}", start.elapsed());
        stage.runner.handle().pass(secs(7));
        stage.runner.handle().idle().await;
        assert!((secs(3)..secs(3) + Duration::from_millis(9)).contains(&start.elapsed()), "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_a_failure_of_the_host() {
        let mut stage = Stage::new(|job| if job.attempt == 1 { panic!("boom {}", 7) } else { Ok(()) });
        stage.let_end.add_permits(2);
        stage.push("h", tick(1));
        let Verdict::Retry { failure, .. } = stage.ends.recv().await.unwrap().verdict else {
            panic!("not tried again")
        };
        assert_eq!(failure.kind, FailureKind::Host);
        assert!(failure.message.contains("boom 7"), "{}", failure.message);
        stage.runner.handle().idle().await;
    }

    #[tokio::test(start_paused = true)]
    async fn drain_lets_runs_end_and_then_interrupts_them() {
        let mut stage = Stage::new(|_| Ok(()));
        stage.push("h", tick(1));
        stage.push("g", tick(2));
        stage.jobs.recv().await.unwrap();
        stage.jobs.recv().await.unwrap();
        stage.push("g", tick(3));
        stage.let_end.add_permits(1);
        let handle = stage.runner.handle();
        let drained = stage.runner.drain(secs(20)).await;
        assert_eq!(drained, Drained { finished: 1, interrupted: 1 });
        assert_eq!(handle.push(trigger("h", own("h"), "b", tick(4))), Pushed::Refused);
        assert!(stage.jobs.recv().await.is_none(), "nothing more was run");
        let verdicts: Vec<_> = std::iter::from_fn(|| stage.ends.try_recv().ok()).map(|end| end.verdict).collect();
        assert_eq!(verdicts, [Verdict::Done, Verdict::Interrupted]);
        assert_eq!(handle.stats().running, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn drain_ends_at_once_when_nothing_runs() {
        let stage = Stage::new(|_| failed(FailureKind::Retry));
        stage.let_end.add_permits(1);
        stage.push("h", tick(1));
        let mut ends = stage.ends;
        ends.recv().await.unwrap();
        let start = Instant::now();
        assert_eq!(stage.runner.drain(secs(20)).await, Drained::default());
        assert_eq!(start.elapsed(), Duration::ZERO, "the waiting retry was not waited for");
    }

    #[tokio::test(start_paused = true)]
    async fn dropping_the_runner_aborts_its_runs() {
        let mut stage = Stage::new(|_| Ok(()));
        stage.push("h", tick(1));
        stage.jobs.recv().await.unwrap();
        drop(stage.runner);
        assert!(stage.jobs.recv().await.is_none(), "the action is gone, with all that held it");
    }

    #[tokio::test]
    async fn a_removed_hook_makes_way_for_others() {
        let mut stage = Stage::new(|job| if job.hook == hook("h") { failed(FailureKind::Retry) } else { Ok(()) });
        stage.let_end.add_permits(2);
        stage.runner.handle().push(trigger("h", shared("x"), "b", tick(1)));
        stage.ends.recv().await.unwrap();
        stage.runner.handle().push(trigger("g", shared("x"), "b", tick(2)));
        assert_eq!(stage.runner.handle().remove_hook(&hook("h")), 1);
        assert_eq!(stage.ends.recv().await.unwrap().hook, hook("g"));
        stage.runner.handle().idle().await;
    }
}
