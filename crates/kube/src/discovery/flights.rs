//! Requests under way. A caller that needs the same thing in the meantime waits for the same response. Responses are
//! not kept here.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};

use super::DiscoveryError;

type Answer<T> = BoxFuture<'static, Result<T, DiscoveryError>>;

/// Requests under way, by their topic. Cheap to clone.
pub(super) struct Flights<K, T>(Arc<Mutex<Table<K, T>>>);

struct Table<K, T> {
    under_way: HashMap<K, (u64, WeakShared<Answer<T>>)>,
    next: u64,
}

impl<K, T> Default for Flights<K, T> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Table { under_way: HashMap::new(), next: 0 })))
    }
}

impl<K, T> Clone for Flights<K, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Eq + Hash, T: Clone> Flights<K, T> {
    fn table(&self) -> MutexGuard<'_, Table<K, T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the response to the request that is under way, or sends one. `ask` receives the request's number. A
    /// request that nobody waits for any more is canceled.
    pub async fn join<F>(&self, about: K, ask: impl FnOnce(u64) -> F) -> Result<T, DiscoveryError>
    where
        F: Future<Output = Result<T, DiscoveryError>> + Send + 'static,
    {
        self.shared(about, ask).await
    }

    fn shared<F>(&self, about: K, ask: impl FnOnce(u64) -> F) -> Shared<Answer<T>>
    where
        F: Future<Output = Result<T, DiscoveryError>> + Send + 'static,
    {
        let mut table = self.table();
        let found = table.under_way.get(&about).and_then(|(_, answer)| answer.upgrade());
        if let Some(found) = found.filter(|answer| answer.peek().is_none()) {
            return found;
        }
        table.under_way.retain(|_, (_, answer)| answer.upgrade().is_some_and(|answer| answer.peek().is_none()));
        let number = table.next;
        table.next += 1;
        let answer = ask(number).boxed().shared();
        if let Some(weak) = answer.downgrade() {
            table.under_way.insert(about, (number, weak));
        }
        answer
    }

    /// Ends a request. Returns whether it was still the one that other callers would join.
    pub fn landed(&self, about: &K, number: u64) -> bool {
        let mut table = self.table();
        let is = table.under_way.get(about).is_some_and(|(known, _)| *known == number);
        if is {
            table.under_way.remove(about);
        }
        is
    }

    /// Lets new callers no longer join these requests.
    pub fn forget(&self, forgotten: impl Fn(&K) -> bool) {
        self.table().under_way.retain(|about, _| !forgotten(about));
    }
}
