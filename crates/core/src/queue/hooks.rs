//! Which hooks the queues know, and which of them are paused.

use crate::{
    fair::Tenant,
    model::{BindingName, HookName, JobId},
};

use super::{
    HookQueueConfig, State,
    item::{Item, Phase},
    preconditions::Hook,
    rate_limit::Bucket,
};

impl State {
    /// Makes a hook known. For a known hook, new terms apply from now on. A new concurrency applies from the next time
    /// that its own queue is empty. Tokens that it has used stay used if its rate is the same.
    pub fn add_hook(&mut self, name: HookName, terms: HookQueueConfig) {
        let hook = self.hooks.entry(name.clone()).or_default();
        let bucket = terms.rate.and_then(Bucket::new);
        let same = matches!((&hook.bucket, &bucket), (Some(old), Some(new)) if old.same_limit(new));
        if !same {
            hook.bucket = bucket;
        }
        hook.tenant = terms.tenant.clone().unwrap_or_else(|| Tenant::hook(name.as_str()));
        hook.terms =
            HookQueueConfig { concurrency: terms.concurrency.min(self.config.max_concurrency).max(1), ..terms };
        self.look_again(&name);
    }

    /// The hook's triggers that include this binding's snapshot wait until [`State::listed`]. So do all its later
    /// events and ticks, unless the binding is one in the background. The binding's synchronization goes before them,
    /// if it is pushed before then.
    pub fn expect_list(&mut self, name: &HookName, binding: BindingName) {
        if let Some(hook) = self.hooks.get_mut(name) {
            self.last += 1;
            hook.expect_list(binding, self.last);
        }
    }

    /// All objects of the binding were listed, its snapshot shows them, and its synchronization was pushed if it makes
    /// one. Or there are no objects. Triggers that include its snapshot may be taken, and a group's synchronizations as
    /// one.
    pub fn listed(&mut self, name: &HookName, binding: &BindingName) {
        if self.hooks.get_mut(name).is_some_and(|hook| hook.listed(binding)) {
            self.look_again(name);
        }
    }

    /// Nobody knows whether the binding's objects will ever be listed. Its synchronization no longer has a place, and
    /// only triggers that include its snapshot still wait.
    pub fn excuse(&mut self, name: &HookName, binding: &BindingName) {
        if self.hooks.get_mut(name).is_some_and(|hook| hook.excuse(binding)) {
            self.look_again(name);
        }
    }

    /// The snapshot of a binding shows all its objects again.
    pub fn complete(&mut self, name: &HookName, binding: &BindingName) {
        if self.hooks.get_mut(name).is_some_and(|hook| hook.complete(binding)) {
            self.look_again(name);
        }
    }

    /// The snapshot of a binding is missing objects. Triggers that include it wait until it is
    /// [`complete`](State::complete) again.
    pub fn incomplete(&mut self, name: &HookName, binding: &BindingName) {
        if let Some(hook) = self.hooks.get_mut(name) {
            hook.incomplete(binding.clone());
            // In shared queues, others may pass the hook now.
            self.look_again_everywhere();
        }
    }

    /// Starts nothing more of the hook until [`State::resume`]. What runs may end. Its triggers continue to queue, and
    /// in shared queues others pass them. Returns false if the hook is not known. O(jobs).
    pub fn pause(&mut self, name: &HookName) -> bool {
        self.stop(name, |hook| hook.paused = true)
    }

    /// Does the same for another reason, until [`State::release`]. A pause or its end does not affect it.
    pub fn hold(&mut self, name: &HookName) -> bool {
        self.stop(name, |hook| hook.held = true)
    }

    fn stop(&mut self, name: &HookName, set: impl FnOnce(&mut Hook)) -> bool {
        let Some(hook) = self.hooks.get_mut(name) else { return false };
        let stood = hook.stands_still();
        set(hook);
        if stood {
            return true;
        }
        for (id, batch) in self.batches.iter().filter(|(_, batch)| batch.hook == *name && !batch.is_running()) {
            if let Some(line) = self.lines.get_mut(&batch.line) {
                line.put_aside(*id, &batch.hook, batch.phase == Phase::Due);
            }
        }
        self.look_again(name);
        self.look_again_everywhere();
        true
    }

    /// Ends a pause. The hook's triggers have the places that they would have without it, but a job that others passed
    /// goes before what waits and after what runs. Returns false if the hook is not known. O(queues), and O(n log n)
    /// later for shared queues that have triggers of it.
    pub fn resume(&mut self, name: &HookName) -> bool {
        self.go_on(name, |hook| hook.paused = false)
    }

    /// Ends a [`State::hold`].
    pub fn release(&mut self, name: &HookName) -> bool {
        self.go_on(name, |hook| hook.held = false)
    }

    fn go_on(&mut self, name: &HookName, set: impl FnOnce(&mut Hook)) -> bool {
        let Some(hook) = self.hooks.get_mut(name) else { return false };
        let stood = hook.stands_still();
        set(hook);
        if !stood || hook.stands_still() {
            return true;
        }
        self.look_again(name);
        self.look_again_everywhere();
        true
    }

    /// Forgets a hook, its pause and its dead letters, and drops its triggers. Returns how many. What runs may end, and
    /// its triggers are dropped then. O(n) in what waits in the queues.
    pub fn remove_hook(&mut self, name: &HookName) -> usize {
        let Some(hook) = self.hooks.remove(name) else { return 0 };
        for line in self.lines.values_mut() {
            line.remove_hook(name, &self.config);
        }
        let ids: Vec<_> = self.batches.iter().filter(|(_, batch)| batch.hook == *name).map(|(id, _)| *id).collect();
        let mut running = 0;
        for id in ids {
            match self.batches.get_mut(&id) {
                Some(batch) if batch.is_running() => {
                    batch.hook_removed = true;
                    running += batch.items.len();
                }
                _ => drop(self.drop_waiting(id)),
            }
        }
        self.archive.forget(name);
        let held = self.debounce.forget(name);
        self.refills.retain(|(_, hook)| hook != name);
        self.drop_empty_lines();
        self.relax_unused();
        self.look_again_everywhere();
        (hook.outstanding + held).saturating_sub(running)
    }

    /// Drops a job that waits. Returns what it held.
    pub(super) fn drop_waiting(&mut self, id: JobId) -> Vec<Item> {
        let Some(batch) = self.batches.remove(&id) else { return Vec::new() };
        if let Phase::Waiting { due } = batch.phase {
            self.timers.remove(&(due, id));
        }
        if let Some(line) = self.lines.get_mut(&batch.line) {
            line.ended(id, &batch);
        }
        batch.items
    }

    pub(super) fn drop_empty_lines(&mut self) {
        self.lines.retain(|_, line| !line.is_empty());
        self.names.retain(|_, id| self.lines.contains_key(id));
        self.shares.retain(|id| self.lines.contains_key(&id));
    }
}
