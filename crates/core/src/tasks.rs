//! The long-lived tasks of an operator, each with a name. No task ends before it is dropped. One that does, by a panic
//! or by itself, is a defect, and the operator without it would only seem to work. Such an end is reported, health
//! fails, and the code that runs the operator ends it. Nothing is restarted here, because a new process holds no
//! half-changed state.

use std::{
    any::Any,
    borrow::Cow,
    collections::BTreeMap,
    fmt, io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    thread,
};

use futures::FutureExt as _;
use tokio::{
    sync::watch,
    task::{AbortHandle, JoinError},
};
use tokio_util::task::AbortOnDropHandle;
use tracing::error;

/// All tasks of one operator. It is cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tasks(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    running: Mutex<Running>,
    /// From now on, all tasks may end.
    closed: AtomicBool,
    /// The first task that ended by itself.
    ended: watch::Sender<Option<Ended>>,
}

#[derive(Debug, Default)]
struct Running {
    tasks: BTreeMap<u64, (String, Option<AbortHandle>)>,
    next: u64,
}

/// A task that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub task: String,
    /// The text of its panic, that it returned, or that it was ended from outside.
    pub why: String,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the task {:?} ended by itself: {}", self.task, self.why)
    }
}

impl Tasks {
    /// Starts a task on the current tokio runtime. The name shows people what is missing without it.
    pub fn spawn<F>(&self, name: impl Into<Cow<'static, str>>, task: F) -> Task<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let guard = Guard::new(self, name.into().into_owned());
        let (id, dropped) = (guard.id, guard.dropped.clone());
        let handle = tokio::spawn(async move {
            let mut task = pin!(AssertUnwindSafe(task).catch_unwind());
            // Dropped before the task. This task is therefore reported before those that end because its channels
            // close.
            let mut guard = guard;
            match task.as_mut().await {
                Ok(output) => {
                    guard.why = Some("it returned".to_owned());
                    output
                }
                Err(panic) => {
                    guard.why = Some(panic_text(panic.as_ref()));
                    drop(guard);
                    resume_unwind(panic)
                }
            }
        });
        if let Some((_, abort)) = self.0.running().tasks.get_mut(&id) {
            *abort = Some(handle.abort_handle());
        }
        Task { handle: AbortOnDropHandle::new(handle), dropped }
    }

    /// Starts a thread that lives as long as something holds what it works on. It may end when `work` returns. Only a
    /// panic is a defect.
    pub fn thread(
        &self,
        name: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        let guard = Guard::new(self, name.to_owned());
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let mut guard = guard;
            match catch_unwind(AssertUnwindSafe(work)) {
                Ok(()) => guard.dropped.store(true, Ordering::SeqCst),
                Err(panic) => guard.why = Some(panic_text(panic.as_ref())),
            }
        })
    }

    /// Returns when a task has ended by itself.
    pub async fn ended(&self) -> Ended {
        let mut ended = self.0.ended.subscribe();
        match ended.wait_for(Option::is_some).await.map(|ended| ended.clone()) {
            Ok(Some(ended)) => ended,
            // This value holds the sender, so the channel does not close.
            _ => std::future::pending().await,
        }
    }

    /// The first task that ended by itself, if one did.
    pub fn first_ended(&self) -> Option<Ended> {
        self.0.ended.borrow().clone()
    }

    /// From now on, every task may end.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
    }

    /// The names of the tasks that run, in the order of their start.
    pub fn names(&self) -> Vec<String> {
        self.0.running().tasks.values().map(|(name, _)| name.clone()).collect()
    }

    /// Ends a task as a defect would. Returns false if no task with this name runs. For tests.
    pub fn kill(&self, name: &str) -> bool {
        let running = self.0.running();
        let found = running.tasks.values().find(|(known, _)| known == name).and_then(|(_, abort)| abort.as_ref());
        found.inspect(|abort| abort.abort()).is_some()
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that runs. Dropping this ends it.
#[derive(Debug)]
pub struct Task<T> {
    handle: AbortOnDropHandle<T>,
    dropped: Arc<AtomicBool>,
}

impl<T> Task<T> {
    /// Ends the task soon.
    pub fn abort(&self) {
        self.dropped.store(true, Ordering::SeqCst);
        self.handle.abort();
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.abort();
    }
}

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.handle).poll(cx)
    }
}

/// Is dropped with the task, however the task ends.
struct Guard {
    shared: Arc<Shared>,
    id: u64,
    name: String,
    dropped: Arc<AtomicBool>,
    why: Option<String>,
}

impl Guard {
    fn new(tasks: &Tasks, name: String) -> Self {
        let shared = tasks.0.clone();
        let mut running = shared.running();
        let id = running.next;
        running.next += 1;
        running.tasks.insert(id, (name.clone(), None));
        drop(running);
        Self { shared, id, name, dropped: Arc::default(), why: None }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.running().tasks.remove(&self.id);
        if self.dropped.load(Ordering::SeqCst) || self.shared.closed.load(Ordering::SeqCst) {
            return;
        }
        let why = self.why.take().unwrap_or_else(|| "it was ended from outside".to_owned());
        let ended = Ended { task: std::mem::take(&mut self.name), why };
        error!(task = ended.task, why = ended.why, "a task of the operator ended by itself: this is a defect");
        self.shared.ended.send_if_modified(|first| {
            let none = first.is_none();
            first.get_or_insert(ended);
            none
        });
    }
}

/// The text of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    format!("it panicked: {}", panic_message(panic).unwrap_or("without a text"))
}

/// What a panic says, if it is a text.
pub fn panic_message(panic: &(dyn Any + Send)) -> Option<&str> {
    panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::{future::pending, time::Duration};

    use futures::FutureExt as _;

    use super::*;

    async fn why(tasks: &Tasks, name: &str) -> String {
        let ended = tasks.ended().await;
        assert_eq!((ended.task.as_str(), Some(&ended)), (name, tasks.first_ended().as_ref()));
        ended.why
    }

    #[tokio::test]
    async fn a_panic_an_end_and_a_kill_are_reported_by_name() {
        let tasks = Tasks::default();
        let _held = tasks.spawn("a", async { panic!("boom {}", 7) });
        assert_eq!(why(&tasks, "a").await, "it panicked: boom 7");
        let tasks = Tasks::default();
        let _held = tasks.spawn("b", async {});
        assert_eq!(why(&tasks, "b").await, "it returned");
        let tasks = Tasks::default();
        let _held = tasks.spawn("c", pending::<()>());
        assert_eq!(tasks.names(), ["c"]);
        assert!(tasks.kill("c") && !tasks.kill("d"));
        assert_eq!(why(&tasks, "c").await, "it was ended from outside");
        assert!(tasks.names().is_empty());
    }

    #[tokio::test]
    async fn what_is_dropped_or_may_end_is_no_defect() {
        let tasks = Tasks::default();
        let dropped = tasks.spawn("a", pending::<()>());
        drop(dropped);
        let aborted = tasks.spawn("b", pending::<()>());
        aborted.abort();
        assert!(aborted.await.unwrap_err().is_cancelled());
        let closed = tasks.spawn("c", async { tokio::time::sleep(Duration::from_millis(1)).await });
        tasks.close();
        closed.await.unwrap();
        while !tasks.names().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!((tasks.first_ended(), tasks.ended().now_or_never()), (None, None));
    }

    #[tokio::test]
    async fn a_thread_may_return_and_may_not_panic() {
        let tasks = Tasks::default();
        tasks.thread("a", || {}).unwrap().join().unwrap();
        assert_eq!(tasks.first_ended(), None);
        tasks.thread("b", || panic!("boom")).unwrap().join().unwrap();
        assert_eq!(why(&tasks, "b").await, "it panicked: boom");
    }
}
