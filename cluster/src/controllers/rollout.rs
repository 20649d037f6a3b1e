//! Computes one step of a Deployment's rollout. Pure: sizes in, sizes out.

use serde_json::Value;

use crate::json;

/// The wanted and the available replicas of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub wanted: usize,
    pub available: usize,
}

/// The limits of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    Recreate,
    Rolling { surge: usize, unavailable: usize },
}

impl Strategy {
    pub(super) fn of(deployment: &Value, replicas: usize) -> Self {
        let strategy = &["spec", "strategy", "type"];
        if json::text(deployment, strategy) == "Recreate" {
            return Self::Recreate;
        }
        let bound = |key: &str, up: bool| {
            let given = json::at(deployment, &["spec", "strategy", "rollingUpdate", key]);
            amount(given.unwrap_or(&Value::from("25%")), replicas, up)
        };
        let (surge, unavailable) = (bound("maxSurge", true), bound("maxUnavailable", false));
        // If both were zero, a rollout could never make progress.
        Self::Rolling { surge, unavailable: if surge == 0 { unavailable.max(1) } else { unavailable } }
    }

    pub(super) fn surge(self) -> usize {
        match self {
            Self::Recreate => 0,
            Self::Rolling { surge, .. } => surge,
        }
    }

    /// The next sizes of the new set and of the old ones, oldest first.
    pub(super) fn step(self, replicas: usize, new: Size, old: &[Size]) -> (usize, Vec<usize>) {
        let sizes = || -> Vec<usize> { old.iter().map(|size| size.wanted).collect() };
        match self {
            Self::Recreate if old.iter().any(|size| size.wanted > 0) => (new.wanted, vec![0; old.len()]),
            Self::Recreate => (replicas, sizes()),
            Self::Rolling { surge, unavailable } => {
                let total = new.wanted + sizes().iter().sum::<usize>();
                let room = (replicas + surge).saturating_sub(total);
                let next = if new.wanted > replicas { replicas } else { (new.wanted + room).min(replicas) };
                if next != new.wanted {
                    return (next, sizes());
                }
                (next, shrink(replicas.saturating_sub(unavailable), total, new, old))
            }
        }
    }
}

/// An absolute number, or a percentage of `replicas`, rounded up or down.
fn amount(value: &Value, replicas: usize, up: bool) -> usize {
    let number = |n: Option<i64>| usize::try_from(n.unwrap_or_default()).unwrap_or_default();
    match value.as_str().and_then(|text| text.strip_suffix('%')) {
        Some(percent) => {
            let share = number(percent.parse().ok()) * replicas;
            if up { share.div_ceil(100) } else { share / 100 }
        }
        None => number(value.as_i64()),
    }
}

/// Removes unavailable replicas from the old sets first, and then replicas that are not needed.
fn shrink(needed: usize, total: usize, new: Size, old: &[Size]) -> Vec<usize> {
    let mut spare = total.saturating_sub(needed + new.wanted.saturating_sub(new.available));
    let mut left: Vec<usize> = Vec::with_capacity(old.len());
    for size in old {
        let taken = size.wanted.saturating_sub(size.available).min(spare);
        spare -= taken;
        left.push(size.wanted - taken);
    }
    let available = new.available + old.iter().map(|size| size.available).sum::<usize>();
    let mut spare = spare.min(available.saturating_sub(needed));
    for size in &mut left {
        let taken = (*size).min(spare);
        spare -= taken;
        *size -= taken;
    }
    left
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rollout_keeps_its_bounds_and_ends() {
        for (replicas, strategy) in [
            (4, json!({ "maxSurge": 1, "maxUnavailable": 0 })),
            (4, json!({ "maxSurge": 0, "maxUnavailable": 1 })),
            (10, json!({ "maxSurge": "25%", "maxUnavailable": "25%" })),
            (1, json!({ "maxSurge": 0, "maxUnavailable": 0 })),
            (3, json!({ "maxSurge": "100%", "maxUnavailable": "50%" })),
        ] {
            let deployment = json!({ "spec": { "strategy": { "rollingUpdate": strategy } } });
            let rolling = Strategy::of(&deployment, replicas);
            let Strategy::Rolling { surge, unavailable } = rolling else { continue };
            let mut new = Size::default();
            let mut old = [Size { wanted: replicas, available: replicas }];
            let mut steps = 0;
            while new.wanted != replicas || old[0].wanted != 0 {
                let (next, left) = rolling.step(replicas, new, &old);
                assert!(next + left[0] <= replicas + surge, "{strategy}");
                assert!((next, left[0]) != (new.wanted, old[0].wanted), "{strategy}: stuck at {new:?} {old:?}");
                // Old replicas end before new ones are available.
                let least = new.available.min(next) + old[0].available.min(left[0]);
                assert!(least + unavailable >= replicas, "{strategy}: {new:?} {old:?}");
                new = Size { wanted: next, available: next };
                old = [Size { wanted: left[0], available: left[0] }];
                steps += 1;
                assert!(steps < 50, "{strategy}");
            }
        }
    }

    #[test]
    fn pods_that_never_were_available_make_room() {
        let rolling = Strategy::Rolling { surge: 1, unavailable: 1 };
        let broken = [Size { wanted: 2, available: 0 }, Size { wanted: 3, available: 3 }];
        assert_eq!(rolling.step(4, Size::default(), &broken), (0, vec![0, 3]));
    }

    #[test]
    fn recreating_waits_for_the_old_to_go() {
        let old = [Size { wanted: 2, available: 2 }];
        assert_eq!(Strategy::Recreate.step(2, Size::default(), &old), (0, vec![0]));
        assert_eq!(Strategy::Recreate.step(2, Size::default(), &[Size::default()]), (2, vec![0]));
    }
}
