//! What the console shows in addition to the views of commands: the last writes, runs that have not ended, and sets.

use boathook_core::causes::{Causes, Step, Write};

use super::{
    Services,
    why::{forgotten, reason, step, time},
};
use crate::admin::{
    Refused,
    details::{LiveRunView, LiveRunsView, SetView, SetsView, WritesQuery, WritesView},
};

/// The most writes in an answer, and how many there are if nobody says.
const WRITES: (usize, usize) = (1_000, 200);
/// The reasons of a run that are shown.
const REASONS: usize = 8;
/// The sets, and the members of each, that are shown.
const SETS: (usize, usize) = (1_000, 50);

pub(super) fn writes(causes: &Causes, query: &WritesQuery) -> Result<WritesView, Refused> {
    let (most, usual) = WRITES;
    let limit = query.limit.unwrap_or(usual);
    if limit == 0 || limit > most {
        return Err(Refused::Bad(format!("limit {limit} is not possible: use 1 to {most}")));
    }
    let wanted = query.contains.as_deref().map(str::to_lowercase).filter(|text| !text.is_empty());
    let asked = |write: &Write| {
        query.run.as_deref().is_none_or(|run| write.run.id.as_str() == run)
            && wanted.as_deref().is_none_or(|text| {
                write.object.to_string().to_lowercase().contains(text)
                    || write.run.hook.as_str().to_lowercase().contains(text)
            })
    };
    let writes = causes.writes(asked, limit).into_iter().map(|write| {
        let reason = write.run.reasons.first().cloned();
        step(&Step { write, reason, possibly: false })
    });
    Ok(WritesView { writes: writes.collect(), forgotten: forgotten(causes) })
}

pub(super) fn live_runs(causes: &Causes) -> LiveRunsView {
    let runs = causes.under_way(REASONS).into_iter().map(|run| LiveRunView {
        id: run.id.to_string(),
        hook: run.hook.to_string(),
        began: time(run.began),
        reasons: run.reasons.iter().map(reason).collect(),
        reasons_count: run.count,
    });
    LiveRunsView { runs: runs.collect() }
}

pub(super) fn sets(services: &Services) -> SetsView {
    let mut view = SetsView::default();
    for (hook, binding, reconciler) in services.reconcilers.all() {
        let (most, members) = SETS;
        let room = most.saturating_sub(view.sets.len());
        let (count, sets) = reconciler.shown(room, members);
        view.count += count;
        view.sets.extend(sets.into_iter().map(|set| SetView {
            hook: hook.to_string(),
            binding: binding.to_string(),
            parent: set.parent,
            queued: set.queued,
            members: set.members,
            members_count: set.members_count,
        }));
    }
    view
}
