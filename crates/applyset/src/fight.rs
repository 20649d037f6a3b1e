//! Another manager that changes the same fields back again and again.
//!
//! An honest edit is repaired at once. A fight is slowed, because two controllers that correct each other as fast as
//! they can are a load on the API server, and nobody wins.

use std::time::{Duration, Instant};

/// So many repairs of the same drift are at once.
const FREE: u32 = 3;
/// The delay of the first repair after those. Each further one waits twice as long.
const FIRST_DELAY: Duration = Duration::from_secs(10);
const MAX_DELAY: Duration = Duration::from_secs(300);
/// After so long without the same drift, it counts as new. It is longer than any delay. Otherwise, a delay would end
/// the fight.
const QUIET: Duration = Duration::from_secs(900);
/// So many different drifts of one object are remembered. Managers that take turns are remembered separately.
const MAX_ROWS: usize = 4;

/// The drifts of one object.
#[derive(Debug, Clone, Default)]
pub struct Fights(Vec<Row>);

#[derive(Debug, Clone)]
struct Row {
    /// Of the managers and the fields.
    signature: u64,
    count: u32,
    last: Instant,
}

/// When a drift is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    pub at: Instant,
    /// How often this drift occurred, if often enough to be called a fight.
    pub fight: Option<u32>,
}

impl Fights {
    /// Notes a drift. `signature` is that of who caused it and of which fields differ.
    pub fn drifted(&mut self, signature: u64, now: Instant) -> Repair {
        self.0.retain(|row| now.saturating_duration_since(row.last) < QUIET);
        let at = self.0.iter().position(|row| row.signature == signature);
        let mut row = at.map_or(Row { signature, count: 0, last: now }, |at| self.0.remove(at));
        (row.count, row.last) = (row.count.saturating_add(1), now);
        let count = row.count;
        if self.0.len() >= MAX_ROWS {
            self.0.remove(0);
        }
        self.0.push(row);
        match count.checked_sub(FREE + 1) {
            None => Repair { at: now, fight: None },
            Some(exponent) => {
                let delay = FIRST_DELAY.saturating_mul(1_u32.checked_shl(exponent.min(16)).unwrap_or(u32::MAX));
                Repair { at: now + delay.min(MAX_DELAY), fight: Some(count) }
            }
        }
    }

    /// The last drift was none: the repair changed nothing.
    pub fn forgive(&mut self) {
        if let Some(row) = self.0.last_mut() {
            row.count = row.count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(fights: &mut Fights, signature: u64, now: Instant) -> u64 {
        fights.drifted(signature, now).at.duration_since(now).as_secs()
    }

    // mutant: crates/applyset/src/fight.rs: `let delay = FIRST_DELAY` => `let delay = Duration::ZERO`
    #[test]
    fn a_fight_is_slowed_and_an_edit_is_not() {
        let (mut fights, start) = (Fights::default(), Instant::now());
        let delays: Vec<_> = (0..10).map(|n| seconds(&mut fights, 1, start + Duration::from_secs(n))).collect();
        assert_eq!(delays, [0, 0, 0, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(fights.drifted(1, start).fight, Some(11));
        assert_eq!(fights.drifted(2, start), Repair { at: start, fight: None }, "another drift");
    }

    #[test]
    fn quiet_ends_a_fight() {
        let (mut fights, mut now) = (Fights::default(), Instant::now());
        for _ in 0..20 {
            seconds(&mut fights, 1, now);
        }
        now += MAX_DELAY + Duration::from_secs(60);
        assert_eq!(seconds(&mut fights, 1, now), 300, "a delay is no quiet");
        now += QUIET;
        assert_eq!(seconds(&mut fights, 1, now), 0);
    }

    #[test]
    fn managers_that_take_turns_are_each_in_a_fight() {
        let (mut fights, now) = (Fights::default(), Instant::now());
        (0..3).for_each(|_| (1..=3).for_each(|one| assert_eq!(seconds(&mut fights, one, now), 0)));
        assert!((1..=3).all(|one| seconds(&mut fights, one, now) == 10));
        for one in 10..30 {
            seconds(&mut fights, one, now);
        }
        assert_eq!(fights.0.len(), MAX_ROWS);
    }

    #[test]
    fn a_repair_that_changed_nothing_does_not_count() {
        let (mut fights, now) = (Fights::default(), Instant::now());
        for _ in 0..10 {
            assert_eq!(seconds(&mut fights, 1, now), 0);
            fights.forgive();
        }
    }
}
