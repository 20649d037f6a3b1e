//! Pages that cost time to make and memory to keep. Any client may request them as often, and read them as slowly, as
//! it likes.

use std::{
    fmt,
    ops::Deref,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    task::spawn_blocking,
    time::sleep_until,
};

/// After a page was made, the next one waits this many times as long as it took. Making pages then takes at most a
/// tenth of one CPU, unless the wait reaches [`LONGEST`].
const REST: u32 = 9;
/// The maximum wait, so that a page that was slow once does not delay readers for long.
const LONGEST: Duration = Duration::from_secs(1);
/// The maximum number of versions of a page in memory: the last one, the next one, and one that is still being read.
const VERSIONS: usize = 3;

/// One page. All requests that arrive while it cannot be made share the next one, so an answer is never older than its
/// request. We rejected a cache with a fixed lifetime, because a client that waits for a change would wait longer.
///
/// There is an exception: when slow readers have all versions that may exist, everybody gets the last one.
pub(super) struct Page<T> {
    make: Arc<dyn Fn() -> T + Send + Sync>,
    last: Arc<Mutex<Option<Made<T>>>>,
    versions: Arc<Semaphore>,
}

/// A version of a page. It exists while somebody has it.
pub(super) struct Version<T> {
    value: T,
    _place: OwnedSemaphorePermit,
}

impl<T> Deref for Version<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

struct Made<T> {
    version: Arc<Version<T>>,
    began: Instant,
    ended: Instant,
}

impl<T> Made<T> {
    fn next(&self) -> Instant {
        self.ended + ((self.ended - self.began) * REST).min(LONGEST)
    }
}

impl<T> Clone for Page<T> {
    fn clone(&self) -> Self {
        Self { make: self.make.clone(), last: self.last.clone(), versions: self.versions.clone() }
    }
}

impl<T> fmt::Debug for Page<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> Page<T> {
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self { make: Arc::new(make), last: Arc::default(), versions: Arc::new(Semaphore::new(VERSIONS)) }
    }

    /// Returns the page as it is now, or `None` while the process ends.
    pub async fn get(&self) -> Option<Arc<Version<T>>> {
        let asked = Instant::now();
        let mut last = self.last.clone().lock_owned().await;
        if let Some(made) = &*last {
            if made.began >= asked {
                return Some(made.version.clone());
            }
            sleep_until(made.next().into()).await;
        }
        let place = match (self.versions.clone().try_acquire_owned(), &*last) {
            (Ok(place), _) => place,
            (Err(_), Some(made)) => return Some(made.version.clone()),
            (Err(_), None) => self.versions.clone().acquire_owned().await.ok()?,
        };
        let make = self.make.clone();
        // The work holds the lock. Otherwise, if a client goes away in the meantime, the page would be made a second
        // time in parallel.
        let work = move || {
            let began = Instant::now();
            let version = Arc::new(Version { value: make(), _place: place });
            *last = Some(Made { version: version.clone(), began, ended: Instant::now() });
            version
        };
        spawn_blocking(work).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    fn counted(took: Duration) -> Page<usize> {
        let made = AtomicUsize::new(0);
        Page::new(move || {
            thread::sleep(took);
            made.fetch_add(1, Ordering::Relaxed) + 1
        })
    }

    // mutant: crates/operator/src/telemetry/page.rs: `if made.began >= asked {` => `if false {`
    #[tokio::test]
    async fn who_asks_meanwhile_shares_the_next_one() {
        let page = counted(Duration::from_millis(2));
        let all = futures::future::join_all((0..1000).map(|_| page.get())).await;
        // The first page is for the request that came first, and the second one for all others.
        let made: Vec<usize> = all.into_iter().map(|made| **made.unwrap()).collect();
        assert!(made.iter().all(|made| *made <= 2), "{:?}", made.iter().max());
    }

    // mutant: crates/operator/src/telemetry/page.rs: `sleep_until(made.next().into()).await;` => ``
    #[tokio::test]
    async fn pages_are_made_for_a_tenth_of_the_time() {
        let page = counted(Duration::from_millis(5));
        let began = Instant::now();
        for _ in 0..5 {
            page.get().await.unwrap();
        }
        // Four waits of nine times the duration. It is never less, because the waits use the same clock.
        assert!(began.elapsed() >= Duration::from_millis(4 * (5 + 45)), "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn an_answer_is_never_older_than_its_question() {
        let page = counted(Duration::ZERO);
        for expected in 1..20 {
            assert_eq!(**page.get().await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn who_goes_away_has_no_second_one_made_beside_the_first() {
        let page = counted(Duration::from_millis(20));
        for _ in 0..50 {
            let asked = page.get();
            tokio::select! {
                biased;
                _ = asked => {}
                () = tokio::task::yield_now() => {}
            }
        }
        assert!(**page.get().await.unwrap() <= 2);
    }

    // mutant: crates/operator/src/telemetry/page.rs: `Semaphore::new(VERSIONS)` => `Semaphore::new(1000)`
    #[tokio::test]
    async fn slow_readers_have_few_versions_and_keep_nobody_from_reading() {
        let page = counted(Duration::ZERO);
        let mut slow = Vec::new();
        for expected in [1, 2, 3, 3, 3] {
            slow.push(page.get().await.unwrap());
            assert_eq!(***slow.last().unwrap(), expected);
        }
        // One of the slow readers has finished.
        slow.remove(0);
        assert_eq!(**page.get().await.unwrap(), 4);
    }
}
