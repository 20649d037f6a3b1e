//! What may happen to the queues, and how often.

use proptest::{collection::vec, prelude::*};

use super::{BINDINGS, HOOKS};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Startup,
    Sync,
    Tick,
    Event(u8),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Push {
    pub(super) hook: usize,
    pub(super) binding: usize,
    pub(super) what: What,
    pub(super) in_main: bool,
    pub(super) allow_failure: bool,
    pub(super) bounded: bool,
    pub(super) deleted: bool,
    /// The object has the `uid` of the previous one, even if that was deleted.
    pub(super) returns: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Op {
    Push(Push),
    Take,
    Finish(usize, Ending),
    Pass(u64),
    Replace(usize),
    Pause(usize),
    Resume(usize),
    Hold(usize),
    Release(usize),
    /// Another version of the hook does not have this binding.
    UpdateHook(usize, usize),
    Expect(usize, usize),
    Listed(usize, usize),
    Complete(usize, usize),
    Excuse(usize, usize),
    Incomplete(usize, usize),
    RetryDead(Option<usize>),
    DropDead(usize),
    Restart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Ok,
    Retry,
    After(u64),
    Permanent,
    Interrupted,
    Host,
}

fn pushes() -> impl Strategy<Value = Push> {
    let what = prop_oneof![
        1 => Just(What::Startup), 3 => Just(What::Sync), 4 => Just(What::Tick), 30 => (0..4u8).prop_map(What::Event)
    ];
    let flags = (any::<bool>(), prop::bool::weighted(0.2), prop::bool::weighted(0.3), any::<bool>(), any::<bool>());
    (0..HOOKS.len(), 0..BINDINGS.len(), what, flags).prop_map(
        |(hook, binding, what, (in_main, allow_failure, bounded, deleted, returns))| Push {
            hook,
            binding,
            what,
            in_main,
            allow_failure,
            bounded,
            deleted,
            returns,
        },
    )
}

pub(super) fn ops() -> impl Strategy<Value = Vec<Op>> {
    let ending = prop_oneof![
        5 => Just(Ending::Ok),
        4 => Just(Ending::Retry),
        1 => (0..20_000u64).prop_map(Ending::After),
        2 => Just(Ending::Permanent),
        1 => Just(Ending::Interrupted),
        1 => Just(Ending::Host),
    ];
    let (hook, binding) = (0..HOOKS.len(), 0..BINDINGS.len());
    let op = prop_oneof![
        60 => pushes().prop_map(Op::Push),
        48 => Just(Op::Take),
        36 => (0..8usize, ending).prop_map(|(at, ending)| Op::Finish(at, ending)),
        18 => (1..9_000u64).prop_map(Op::Pass),
        2 => hook.clone().prop_map(Op::Replace),
        5 => hook.clone().prop_map(Op::Pause),
        6 => hook.clone().prop_map(Op::Resume),
        4 => hook.clone().prop_map(Op::Hold),
        5 => hook.clone().prop_map(Op::Release),
        3 => (hook.clone(), binding.clone()).prop_map(|(hook, binding)| Op::UpdateHook(hook, binding)),
        4 => (hook.clone(), binding.clone()).prop_map(|(hook, binding)| Op::Expect(hook, binding)),
        6 => (hook.clone(), binding.clone()).prop_map(|(hook, binding)| Op::Listed(hook, binding)),
        4 => (hook.clone(), binding.clone()).prop_map(|(hook, binding)| Op::Complete(hook, binding)),
        2 => (hook.clone(), binding.clone()).prop_map(|(hook, binding)| Op::Excuse(hook, binding)),
        4 => (hook.clone(), binding).prop_map(|(hook, binding)| Op::Incomplete(hook, binding)),
        6 => prop::option::of(hook.clone()).prop_map(Op::RetryDead),
        1 => hook.prop_map(Op::DropDead),
        1 => Just(Op::Restart),
    ];
    vec(op, 1..200)
}
