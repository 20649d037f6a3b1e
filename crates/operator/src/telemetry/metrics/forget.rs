//! Removes the series of hooks, bindings and queues that are gone, so that they do not pile up when hooks are loaded
//! again and again.

use std::collections::BTreeSet;

use boathook_core::{
    fair::Share,
    model::{BindingName, HookName, HookSpec, QueueName},
};

use super::{Metrics, register::forget};

impl Metrics {
    /// A hook has this document. Each of its bindings that is not a `kubernetes` one takes `each` units of `room` for
    /// its series. Without room, the binding has no series of its own.
    pub fn hook_described(&self, spec: &HookSpec, room: Share, each: u64) {
        let gone = self.series.replace(spec, room, each);
        self.forget_queues(&gone.queues);
        if !gone.bindings.is_empty() {
            let gone: BTreeSet<&str> = gone.bindings.iter().map(BindingName::unique).collect();
            self.forget(&spec.name, &|binding| binding.is_some_and(|binding| gone.contains(binding)));
        }
    }

    /// Drops all series of a hook that was removed.
    pub fn forget_hook(&self, hook: &HookName) {
        self.forget_queues(&self.series.forget(hook));
        self.forget(hook, &|_| true);
    }

    fn forget_queues(&self, gone: &BTreeSet<QueueName>) {
        for queue in gone {
            for vec in [&self.tasks_folded, &self.tasks_beyond] {
                // The queue may never have been counted.
                let _ = vec.remove_label_values(&[queue.to_string()]);
            }
        }
    }

    /// Drops those of the hook's series whose label `binding`, if any, is `gone`.
    fn forget(&self, hook: &HookName, gone: &dyn Fn(Option<&str>) -> bool) {
        for vec in [
            &self.hook_run,
            &self.hook_run_cpu,
            &self.hook_run_memory,
            &self.hook_run_host_calls,
            &self.jq_filter,
            &self.event,
        ] {
            forget(vec, hook, gone);
        }
        for vec in [
            &self.hook_run_success,
            &self.hook_run_errors,
            &self.hook_run_allowed_errors,
            &self.hook_run_failures,
            &self.grant_refusals,
            &self.records,
            &self.tasks_given_up,
            &self.filter_errors,
            &self.enable_errors,
            &self.hook_metric_refusals,
        ] {
            forget(vec, hook, gone);
        }
        self.answers.forget(hook, gone);
        forget(&self.task_wait, hook, gone);
        forget(&self.enable_seconds, hook, gone);
        for vec in [
            &self.snapshot_objects,
            &self.snapshot_bytes,
            &self.snapshot_late,
            &self.hook_run_rss,
            &self.enable_success,
            &self.hook_metric_series,
        ] {
            forget(vec, hook, gone);
        }
    }
}
