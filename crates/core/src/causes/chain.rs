//! The way back from a write to its first cause.

use std::{sync::Arc, time::Duration};

use super::{Made, ObjectId, Reason, Run, Version, Write, memory::Memory};

/// The most steps of a chain that are followed.
const STEPS: usize = 32;
/// How long after a write without a response an event may be its.
const UNKNOWN_FOR: Duration = Duration::from_secs(600);

/// A write, and what led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The newest write first. Each was caused by the next one.
    pub steps: Vec<Step>,
    /// The cause of the last one.
    pub origin: Origin,
}

/// A write of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub write: Write,
    /// The reason of its run that the chain follows.
    pub reason: Option<Reason>,
    /// Whether the next step is only possibly the cause: it got no response, or others wrote in the same second.
    pub possibly: bool,
}

/// Where a chain ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The reason of the last run needs no other cause: a start, a schedule, a question of the API server.
    Reason,
    /// Nobody said why: the operator itself writes for a hook, or for a module.
    Operator,
    /// Somebody else changed this object: no hook of this process did.
    SomebodyElse(Arc<ObjectId>),
    /// A hook may have changed it: writes of that time are forgotten.
    Forgotten(Arc<ObjectId>),
    /// There are more steps.
    TooLong,
}

/// What led to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Led {
    /// The reason that the chain follows.
    pub reason: Option<Reason>,
    /// The writes before it.
    pub chain: Chain,
}

pub(super) fn led_to(memory: &Memory, run: &Run) -> Led {
    let (reason, next) = cause(memory, run, None);
    let chain = match next {
        Ok(write) => of(memory, write),
        Err(origin) => Chain { steps: Vec::new(), origin },
    };
    Led { reason, chain }
}

pub(super) fn why(memory: &Memory, asked: impl Fn(&ObjectId) -> bool, most: usize) -> Vec<Chain> {
    let mut objects: Vec<&Arc<ObjectId>> = memory.objects().filter(|object| asked(object)).collect();
    objects.sort();
    let each = objects.into_iter().flat_map(|object| memory.writes_to(object).take(most));
    each.take(most).map(|write| of(memory, write)).collect()
}

pub(super) fn of(memory: &Memory, write: &Write) -> Chain {
    let mut steps: Vec<Step> = Vec::new();
    let mut at = write;
    loop {
        let (reason, next) = cause(memory, &at.run, Some(&at.object));
        let possibly = matches!(&next, Ok(write) if !is_certain(write));
        steps.push(Step { write: at.clone(), reason, possibly });
        match next {
            Err(origin) => return Chain { steps, origin },
            Ok(_) if steps.len() == STEPS => return Chain { steps, origin: Origin::TooLong },
            Ok(write) => at = write,
        }
    }
}

fn is_certain(write: &Write) -> bool {
    match write.made {
        Made::Version { certain, .. } => certain,
        Made::Deletion { .. } => true,
        Made::Unknown => false,
    }
}

/// The reason that explains a write of a run to an object, or the run, and the write that caused it. A reason about the same object explains it best.
/// Of several, the newest write is taken: without it, the run would not have seen what it saw.
fn cause<'m>(memory: &'m Memory, run: &Run, object: Option<&ObjectId>) -> (Option<Reason>, Result<&'m Write, Origin>) {
    let maker = |reason: &Reason| {
        let seen = reason.seen.as_ref()?;
        memory.maker(&seen.version).or_else(|| possible(memory, run, &seen.object, &seen.version))
    };
    // The hook acted on the newest state that it was shown.
    let same = object.and_then(|object| run.reasons.iter().rfind(|reason| reason.is_about(object)));
    let made = match same {
        Some(reason) => maker(reason).map(|write| (reason, write)),
        None => {
            let made = run.reasons.iter().filter_map(|reason| Some((reason, maker(reason)?)));
            made.max_by_key(|(_, write)| (is_certain(write), write.at))
        }
    };
    if let Some((reason, write)) = made {
        return (Some(reason.clone()), Ok(write));
    }
    let seen = same.or_else(|| run.reasons.iter().find(|reason| reason.seen.is_some()));
    let Some(reason) = seen.or_else(|| run.reasons.first()) else { return (None, Err(Origin::Operator)) };
    let origin = match &reason.seen {
        None => Origin::Reason,
        Some(seen) if memory.forgotten().until.is_some_and(|until| until + UNKNOWN_FOR > run.began) => {
            Origin::Forgotten(seen.object.clone())
        }
        Some(seen) => Origin::SomebodyElse(seen.object.clone()),
    };
    (Some(reason.clone()), Err(origin))
}

/// A write to the object that got no response.
fn possible<'m>(memory: &'m Memory, run: &Run, object: &ObjectId, seen: &Version) -> Option<&'m Write> {
    let may_be = |write: &&Write| {
        write.made == Made::Unknown
            && write.run.id != run.id
            && run.began.duration_since(write.at).is_ok_and(|after| after < UNKNOWN_FOR)
            // A deletion ends an object, and nothing else does.
            && (write.verb == "delete" || !seen.resource_version.is_empty())
    };
    memory.writes_to(object).find(may_be)
}
