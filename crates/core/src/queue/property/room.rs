//! Random pushes and runs of hooks whose tenants have little room: whatever is dropped, hooks end up knowing what there
//! is, and what triggers take of the memory goes back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use proptest::collection::vec;

use super::*;

/// Name and concurrency. The first two are one tenant.
const HOOKS: [(&str, usize); 3] = [("a", 1), ("b", 3), ("c", 1)];
/// Name, whether its queue is a shared one, and whether its events are debounced.
const BINDINGS: [(&str, bool, bool); 4] =
    [("plain", false, false), ("shared", true, false), ("quiet", false, true), ("silent", false, false)];
const SILENT: usize = 3;

#[derive(Debug, Clone)]
enum Act {
    Create(usize, usize),
    Modify(usize, usize, usize),
    Delete(usize, usize, usize),
    Take,
    Finish(usize, bool),
    Pass(u64),
    Pause(usize),
    Resume(usize),
}

type Bound = (HookName, BindingName);

struct World {
    state: State,
    now: Instant,
    version: u64,
    shown: BTreeMap<Bound, BTreeSet<String>>,
    /// What the hook has seen in a snapshot or received, and does not know to be gone.
    known: BTreeMap<Bound, BTreeSet<String>>,
    jobs: Vec<Job>,
}

impl World {
    fn new(bytes: u64, max_pending: usize) -> Self {
        let config = QueueConfig { max_held_bytes: bytes, max_pending, batch_triggers: 3, ..QueueConfig::default() };
        let mut state = State::new(config);
        for (name, concurrency) in HOOKS {
            let tenant = (name != "c").then(|| Tenant::namespace("n"));
            let silent = vec![BindingName::new(BINDINGS[SILENT].0)];
            state.add_hook(hook(name), HookQueueConfig { tenant, silent, ..wide(concurrency) });
        }
        let (shown, known, jobs) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { state, now: Instant::now(), version: 0, shown, known, jobs }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Create(of, binding) => self.push(of, binding, None, WatchEventKind::Added),
            Act::Modify(of, binding, at) => self.push(of, binding, Some(at), WatchEventKind::Modified),
            Act::Delete(of, binding, at) => self.push(of, binding, Some(at), WatchEventKind::Deleted),
            Act::Take => self.take(),
            Act::Finish(at, ok) if !self.jobs.is_empty() => self.finish(at % self.jobs.len(), ok),
            Act::Finish(..) => {}
            Act::Pass(ms) => self.now += Duration::from_millis(ms),
            Act::Pause(of) => assert!(self.state.pause(&hook(HOOKS[of].0))),
            Act::Resume(of) => assert!(self.state.resume(&hook(HOOKS[of].0))),
        }
        self.now += Duration::from_millis(1);
        self.check_memory();
    }

    fn push(&mut self, of: usize, binding: usize, at: Option<usize>, kind: WatchEventKind) {
        let (name, (binding, in_shared, debounced)) = (HOOKS[of].0, BINDINGS[binding]);
        let shown = self.shown.entry((hook(name), BindingName::new(binding))).or_default();
        self.version += 1;
        let object = match at {
            None => format!("o{}", self.version),
            Some(_) if shown.is_empty() => return,
            Some(at) => shown.iter().nth(at % shown.len()).unwrap().clone(),
        };
        if kind == WatchEventKind::Deleted {
            shown.remove(&object)
        } else {
            shown.insert(object.clone())
        };
        let queue = if in_shared { shared("x") } else { own(name) };
        let debounce = Duration::from_millis(if debounced { 50 } else { 0 });
        let cause = event_of(kind, &object, self.version);
        self.state.push(Trigger { created: self.now, debounce, ..trigger(name, queue, binding, cause) });
    }

    /// A run may see all snapshots of its hook, at any moment until its end.
    fn see(&mut self, of: &HookName) {
        for (bound, shown) in self.shown.iter().filter(|((name, _), _)| name == of) {
            self.known.entry(bound.clone()).or_default().extend(shown.iter().cloned());
        }
    }

    fn take(&mut self) {
        if let Some(job) = self.state.take(self.now) {
            self.see(&job.hook);
            self.jobs.push(job);
        }
    }

    fn finish(&mut self, at: usize, ok: bool) {
        let job = self.jobs.remove(at);
        self.see(&job.hook);
        let outcome = if ok { Ok(()) } else { failed(FailureKind::Retry) };
        self.state.finish(job.id, outcome, self.now, 0.0).unwrap();
        for trigger in job.triggers.iter().filter(|_| ok) {
            let bound = (job.hook.clone(), trigger.binding.clone());
            let known = self.known.entry(bound.clone()).or_default();
            match &trigger.cause {
                Cause::Synchronization => known.clone_from(&self.shown[&bound]),
                Cause::Event(event) if event.kind == WatchEventKind::Deleted => drop(known.remove(&*event.item.uid)),
                Cause::Event(event) => drop(known.insert(event.item.uid.to_string())),
                Cause::Startup | Cause::Schedule(_) => {}
            }
            assert!(bound.1 != BindingName::new(BINDINGS[SILENT].0) || trigger.cause != Cause::Synchronization);
        }
    }

    /// What is used is what triggers take, and what has no room is little.
    fn check_memory(&self) {
        self.state.check_index();
        let waiting = self.state.lines.values().flat_map(|line| line.items());
        let in_jobs = self.state.batches.values().flat_map(|batch| &batch.items);
        let all: Vec<_> = waiting.chain(in_jobs).chain(self.state.debounce.items()).collect();
        let takes: u64 = all.iter().map(|item| item.all_bytes()).sum();
        assert_eq!(self.state.memory.all_used(), takes);
        let free = all.iter().filter(|item| !item.held.is_charged() && item.trigger.debounce.is_zero());
        assert!(free.count() <= 2 * HOOKS.len() * BINDINGS.len());
    }

    fn settle(&mut self) {
        for (name, _) in HOOKS {
            self.state.resume(&hook(name));
        }
        while !self.state.is_idle() {
            self.take();
            if self.jobs.is_empty() {
                self.now = self.state.next_due(self.now).unwrap_or(self.now) + Duration::from_millis(1);
            } else {
                self.finish(0, true);
            }
            self.check_memory();
        }
        assert_eq!(self.state.memory.all_used(), 0);
        let silent = BindingName::new(BINDINGS[SILENT].0);
        for (bound, shown) in self.shown.iter().filter(|((_, binding), _)| *binding != silent) {
            assert_eq!(self.known.get(bound).cloned().unwrap_or_default(), *shown, "{bound:?}");
        }
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let of = || (0..HOOKS.len(), 0..BINDINGS.len());
    let act = prop_oneof![
        40 => of().prop_map(|(of, binding)| Act::Create(of, binding)),
        20 => (of(), 0..9usize).prop_map(|((of, binding), at)| Act::Modify(of, binding, at)),
        40 => (of(), 0..9usize).prop_map(|((of, binding), at)| Act::Delete(of, binding, at)),
        12 => Just(Act::Take),
        12 => (0..9usize, any::<bool>()).prop_map(|(at, ok)| Act::Finish(at, ok)),
        6 => (1..9_000u64).prop_map(Act::Pass),
        2 => (0..HOOKS.len()).prop_map(Act::Pause),
        3 => (0..HOOKS.len()).prop_map(Act::Resume),
    ];
    vec(act, 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_triggers_take_goes_back_and_hooks_know_what_there_is(
        acts in acts(),
        bytes in prop_oneof![1..1_000u64, 1_000..60_000u64],
        max_pending in prop_oneof![Just(usize::MAX), 1..6usize],
    ) {
        let mut world = World::new(bytes, max_pending);
        acts.into_iter().for_each(|act| world.act(act));
        world.settle();
    }
}
