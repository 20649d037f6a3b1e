//! The tasks of one hook: one for each of its bindings and schedules. This module keeps them, restarts them after a
//! panic, and exchanges some of them when a new version of the hook takes over. It does not know what they do.

use std::{collections::HashMap, sync::Arc, time::Duration};

use boathook_core::{
    model::{BindingName, BindingRef, HookName, KubernetesBinding, ScheduleBinding},
    tasks::Task,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{AbortHandle, JoinError, JoinSet},
};
use tracing::error;

use super::{
    Services,
    binding_states::{BindingStates, Progress},
    bindings,
    hooks::Hook,
    schedules,
    upgrade_plan::Plan,
};

/// Between a panic in a hook's task and the restart of its tasks.
const AFTER_PANIC: Duration = Duration::from_secs(5);

/// The tasks of one hook. They end when this is dropped.
pub(super) struct HookTasks {
    /// This field is first, so that the task ends before the channel of its orders closes.
    task: Task<()>,
    orders: mpsc::UnboundedSender<Order>,
}

/// An order to exchange some tasks.
struct Order {
    plan: Arc<Plan>,
    /// Notified when the tasks that the plan does not keep have ended.
    stopped: oneshot::Sender<()>,
    /// Receives the hook to continue with. If there is none, the old hook continues with all of its tasks.
    go_on: oneshot::Receiver<Arc<Hook>>,
}

/// Some tasks have ended, and the rest waits for a hook to continue with.
pub(super) struct Stopped(oneshot::Sender<Arc<Hook>>);

impl Stopped {
    /// Starts the missing tasks for this hook.
    pub fn go_on(self, hook: Arc<Hook>) {
        // Tasks that have ended need no hook.
        let _ = self.0.send(hook);
    }
}

impl HookTasks {
    /// Starts all tasks of a hook, whose lists [`expect`] has announced.
    pub fn start(services: Arc<Services>, hook: Arc<Hook>, states: Arc<BindingStates>) -> Self {
        let (orders, inlet) = mpsc::unbounded_channel();
        let name = format!("hook {}", hook.spec.name);
        let tasks = services.tasks.clone();
        Self { task: tasks.spawn(name, run(RunningTasks::start(services, hook, states), inlet)), orders }
    }

    /// Ends the tasks that the plan does not keep. Returns `None` if the tasks have ended.
    pub fn stop(&self, plan: Arc<Plan>) -> impl Future<Output = Option<Stopped>> + Send + use<> {
        let (stopped, ended) = oneshot::channel();
        let (to, go_on) = oneshot::channel();
        let sent = self.orders.send(Order { plan, stopped, go_on });
        async move {
            sent.ok()?;
            ended.await.ok()?;
            Some(Stopped(to))
        }
    }

    /// Signals all tasks to end.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Ends all tasks, and waits until they have ended.
    pub async fn end(self) {
        self.abort();
        // If the task ended for another reason, that was already reported.
        let _ = self.task.await;
    }
}

/// A task of a binding, and the binding's entry in the document.
struct Watching {
    task: AbortHandle,
    terms: watch::Sender<KubernetesBinding>,
}

struct RunningTasks {
    services: Arc<Services>,
    hook: Arc<Hook>,
    states: Arc<BindingStates>,
    tasks: JoinSet<()>,
    bindings: HashMap<BindingName, Watching>,
    schedules: HashMap<BindingName, AbortHandle>,
}

impl RunningTasks {
    fn start(services: Arc<Services>, hook: Arc<Hook>, states: Arc<BindingStates>) -> Self {
        let (bindings, schedules) = (HashMap::new(), HashMap::new());
        let mut running = Self { services, hook, states, tasks: JoinSet::new(), bindings, schedules };
        running.begin_missing();
        running
    }

    /// Starts every task of the hook that is not running.
    fn begin_missing(&mut self) {
        let hook = self.hook.clone();
        for binding in hook.spec.bindings() {
            match binding {
                BindingRef::Kubernetes(binding) => self.watch(&hook, binding),
                BindingRef::Schedule(schedule) if self.services.schedules_tick => self.tick(&hook, schedule),
                BindingRef::Schedule(_) => {}
                // The hook manager pushes it, in the order of all hooks.
                BindingRef::Startup(_) => {}
                // It runs with its module.
                BindingRef::Stage(_) => {}
                // Its informers are `kubernetes` bindings.
                BindingRef::Reconcile(_) => {}
                // They answer the webhook server, without a queue.
                BindingRef::Admission(_) | BindingRef::Conversion(_) => {}
            }
        }
    }

    fn watch(&mut self, hook: &Hook, binding: &KubernetesBinding) {
        if let Some(known) = self.bindings.get(&binding.name) {
            known.terms.send_replace(binding.clone());
            return;
        }
        let (terms, followed) = watch::channel(binding.clone());
        let (name, tenant) = (hook.spec.name.clone(), hook.tenant());
        let progress = Progress::new(self.states.clone(), binding.name.clone(), self.services.queue.clone());
        let binding_task = bindings::run(self.services.clone(), name, tenant.clone(), followed, progress);
        let task = self.tasks.spawn(self.services.streams.pace().paced(tenant, binding_task));
        self.bindings.insert(binding.name.clone(), Watching { task, terms });
    }

    fn tick(&mut self, hook: &Hook, schedule: &ScheduleBinding) {
        if self.schedules.contains_key(&schedule.name) {
            return;
        }
        let (queue, jumps) = (self.services.queue.clone(), self.services.jumps.subscribe());
        let ticks = schedules::run(queue, hook.spec.name.clone(), schedule.clone(), jumps);
        let (leadership, states) = (self.services.leadership.clone(), self.states.clone());
        let (health, is_of_module) = (self.services.health.clone(), hook.module.is_some());
        let task = self.tasks.spawn(async move {
            leadership.gained().await;
            states.passed().await;
            if is_of_module {
                health.sources().modules_settled().await;
            }
            ticks.await;
        });
        self.schedules.insert(schedule.name.clone(), task);
    }
}

impl Restartable for RunningTasks {
    type Order = Order;

    fn name(&self) -> &HookName {
        &self.hook.spec.name
    }

    fn tasks(&mut self) -> &mut JoinSet<()> {
        &mut self.tasks
    }

    fn restart(&mut self) {
        let states = expect(&self.services, &self.hook, |_| true);
        *self = Self::start(self.services.clone(), self.hook.clone(), states);
    }

    async fn exchange(&mut self, order: Order) -> Result<(), JoinError> {
        let Order { plan, stopped, go_on } = order;
        let bindings = self.bindings.extract_if(|name, _| !plan.watching.contains(name)).map(|(_, known)| known.task);
        let schedules = self.schedules.extract_if(|name, _| !plan.ticking.contains(name)).map(|(_, task)| task);
        let ending: Vec<_> = bindings.chain(schedules).collect();
        ending.iter().for_each(AbortHandle::abort);
        let mut panicked = Ok(());
        while !ending.iter().all(AbortHandle::is_finished)
            && let Some(ended) = self.tasks.join_next().await
        {
            panicked = panicked.and(ended.or_else(|error| if error.is_panic() { Err(error) } else { Ok(()) }));
        }
        // The caller may be gone.
        let _ = stopped.send(());
        match go_on.await {
            Ok(hook) => self.hook = hook,
            // The bindings that were stopped start as they did at the operator's start.
            Err(_) => self.states = expect(&self.services, &self.hook, |name| !plan.watching.contains(name)),
        }
        self.begin_missing();
        panicked
    }
}

/// Announces that the bindings are about to list their objects.
pub(super) fn expect(services: &Services, hook: &Hook, begins: impl Fn(&BindingName) -> bool) -> Arc<BindingStates> {
    let states = services.health.replace(&hook.spec, hook.counts_at_the_start_only(), |name| !begins(name));
    for binding in hook.spec.kubernetes.iter().filter(|binding| begins(&binding.name)) {
        services.queue.expect_list(&hook.spec.name, binding.name.clone());
    }
    states
}

/// Tasks that are kept together.
trait Restartable {
    type Order;

    fn name(&self) -> &HookName;

    fn tasks(&mut self) -> &mut JoinSet<()>;

    /// Restarts all tasks. Call it after they have ended.
    fn restart(&mut self);

    /// Carries out an order. The error is that of a task that panicked in the meantime.
    fn exchange(&mut self, order: Self::Order) -> impl Future<Output = Result<(), JoinError>> + Send;
}

/// After a panic in one task, all tasks restart. The synchronization then brings the hook up to date.
async fn run<T: Restartable>(mut restartable: T, mut orders: mpsc::UnboundedReceiver<T::Order>) {
    loop {
        let ended = tokio::select! {
            Some(ended) = restartable.tasks().join_next() => ended,
            order = orders.recv() => match order {
                Some(order) => restartable.exchange(order).await,
                None => return,
            },
        };
        let Err(panicked) = ended else { continue };
        if !panicked.is_panic() {
            continue;
        }
        error!(hook = %restartable.name(), error = %panicked, "a task of the hook panicked: its bindings start again");
        restartable.tasks().shutdown().await;
        tokio::time::sleep(AFTER_PANIC).await;
        restartable.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fragile {
        name: HookName,
        tasks: JoinSet<()>,
        starts: watch::Sender<usize>,
        neighbour: Arc<()>,
    }

    impl Fragile {
        fn begin(&mut self) {
            let (round, neighbour) = (*self.starts.borrow(), self.neighbour.clone());
            self.starts.send_modify(|starts| *starts += 1);
            self.tasks.spawn(async move {
                assert!(round >= 2, "as the test wants it");
            });
            self.tasks.spawn(async move {
                let _held = neighbour;
                std::future::pending().await
            });
        }
    }

    impl Restartable for Fragile {
        type Order = ();

        fn name(&self) -> &HookName {
            &self.name
        }

        fn tasks(&mut self) -> &mut JoinSet<()> {
            &mut self.tasks
        }

        fn restart(&mut self) {
            assert_eq!(Arc::strong_count(&self.neighbour), 1, "the neighbours ended before");
            self.begin();
        }

        async fn exchange(&mut self, (): ()) -> Result<(), JoinError> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_panic_all_tasks_start_anew() {
        let (starts, mut seen) = watch::channel(0);
        let name = HookName::new("h").unwrap();
        let mut restartable = Fragile { name, tasks: JoinSet::new(), starts, neighbour: Arc::default() };
        restartable.begin();
        let (orders, inlet) = mpsc::unbounded_channel();
        let kept = tokio::spawn(run(restartable, inlet));
        seen.wait_for(|starts| *starts == 3).await.unwrap();
        drop(orders);
        kept.await.unwrap();
    }
}
