//! What to do about the certificates now. Pure.
//!
//! Authorities overlap. A new authority is registered for a while before the server uses a certificate that it signed.
//! The old one stays known for as long afterwards, so that replicas and API servers that are behind still agree. Keys
//! of the webhooks' paths are created together with serving certificates, and overlap in the same way.

use std::time::Duration;

use jiff::Timestamp;

/// The lifetimes of authorities and certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// The lifetime of an authority; 360 days.
    pub authority: Duration,
    /// The lifetime of a serving certificate; 90 days.
    pub serving: Duration,
    /// The time between a new authority and its first serving certificate, and between that and the end of the old
    /// authority; 10 minutes.
    pub overlap: Duration,
}

impl Lifetimes {
    /// The minimum lifetime of a serving certificate: 1 minute.
    pub const SHORTEST: Duration = Duration::from_secs(60);
    /// The maximum lifetime of a serving certificate: 1 year.
    pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// Serving certificates live this long, within [`Self::SHORTEST`] and [`Self::LONGEST`], and authorities four times
    /// as long. For short lifetimes the overlap is a fraction of them, too, so that an authority and a certificate that
    /// are due together are both renewed in time.
    pub fn of(serving: Duration) -> Self {
        let serving = serving.clamp(Self::SHORTEST, Self::LONGEST);
        let overlap = (serving / 60).min(Duration::from_secs(600));
        Self { authority: serving * 4, serving, overlap }
    }

    /// The maximum time between two checks, so that nothing is renewed too late.
    pub(super) fn every(&self) -> Duration {
        (self.overlap / 2).min(Duration::from_secs(60))
    }
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self::of(Duration::from_secs(90 * 24 * 60 * 60))
    }
}

/// A period of validity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub from: Timestamp,
    pub until: Timestamp,
}

impl Validity {
    pub fn holds(&self, now: Timestamp) -> bool {
        self.from <= now && now < self.until
    }

    /// Whether no more than a third of the period is left.
    fn is_due(&self, now: Timestamp) -> bool {
        let (from, until) = (self.from.as_second(), self.until.as_second());
        now.as_second() >= until - (until - from) / 3
    }

    fn is_older_than(&self, age: Duration, now: Timestamp) -> bool {
        now.duration_since(self.from) >= jiff::SignedDuration::try_from(age).unwrap_or(jiff::SignedDuration::MAX)
    }
}

/// The current state of the certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    /// The newest authority, if its own key is there.
    pub signer: Option<Validity>,
    /// Whether there are older authorities.
    pub older: bool,
    /// The serving certificate, if it has all names, its key, and an authority in the bundle.
    pub serving: Option<Validity>,
    /// Whether the newest authority signed the serving certificate.
    pub by_newest: bool,
    /// The number of keys of the webhooks' paths.
    pub paths: usize,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Keep,
    /// Add a new authority to the others.
    AddAuthority,
    /// Issue a new serving certificate with the newest authority.
    RenewServing,
    /// Keep only the newest authority.
    DropOlder,
    /// Add a key of the webhooks' paths if there is none. Each new serving certificate adds one, too.
    AddPath,
    /// Keep only the newest key of the paths.
    DropOlderPaths,
}

/// Decides the next step. Call it again after each step.
pub(super) fn decide(now: Timestamp, state: State, lifetimes: &Lifetimes) -> Decision {
    let Some(signer) = state.signer.filter(|signer| signer.holds(now) && !signer.is_due(now)) else {
        return Decision::AddAuthority;
    };
    let Some(serving) = state.serving.filter(|serving| serving.holds(now)) else {
        return Decision::RenewServing;
    };
    let known = !state.older || signer.is_older_than(lifetimes.overlap, now);
    if known && (!state.by_newest || serving.is_due(now)) {
        return Decision::RenewServing;
    }
    if state.older && state.by_newest && serving.is_older_than(lifetimes.overlap, now) {
        return Decision::DropOlder;
    }
    match state.paths {
        0 => Decision::AddPath,
        1 => Decision::Keep,
        // The older key stays while it is registered, and as long again.
        _ if serving.is_older_than(lifetimes.overlap * 2, now) => Decision::DropOlderPaths,
        _ => Decision::Keep,
    }
}

/// Whether the newest key of the paths is registered. All replicas know a key before the API server uses it, as with an
/// authority.
pub(super) fn newest_path_is_registered(now: Timestamp, serving: Option<Validity>, lifetimes: &Lifetimes) -> bool {
    serving.is_none_or(|serving| serving.is_older_than(lifetimes.overlap, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVES: Lifetimes = Lifetimes {
        authority: Duration::from_secs(3000),
        serving: Duration::from_secs(900),
        overlap: Duration::from_secs(10),
    };

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn validity(from: i64, until: i64) -> Option<Validity> {
        Some(Validity { from: at(from), until: at(until) })
    }

    #[test]
    fn short_lives_have_short_overlaps() {
        let lives = |seconds| {
            let lives = Lifetimes::of(Duration::from_secs(seconds));
            (lives.serving.as_secs(), lives.overlap.as_secs(), lives.every().as_millis())
        };
        assert_eq!(lives(0), (60, 1, 500));
        assert_eq!(lives(3600), (3600, 60, 30_000));
        assert_eq!(lives(u64::MAX), (365 * 86_400, 600, 60_000));
        assert_eq!(Lifetimes::default().overlap, Duration::from_secs(600));
    }

    #[test]
    fn each_thing_in_its_time() {
        let settled =
            State { signer: validity(0, 3000), older: false, serving: validity(0, 900), by_newest: true, paths: 1 };
        let added = State {
            signer: validity(2000, 5000),
            older: true,
            serving: validity(1500, 2400),
            by_newest: false,
            paths: 1,
        };
        let two = State { paths: 2, ..settled };
        let renewed = State { serving: validity(2010, 2910), by_newest: true, ..added };
        let table = [
            (0, State::default(), Decision::AddAuthority),
            (0, State { serving: None, ..settled }, Decision::RenewServing),
            (0, settled, Decision::Keep),
            (599, settled, Decision::Keep),
            (600, settled, Decision::RenewServing),
            (1000, settled, Decision::RenewServing),
            (2000, State { serving: validity(1500, 2400), ..settled }, Decision::AddAuthority),
            (100, State { signer: None, ..settled }, Decision::AddAuthority),
            // A new authority is not used before others know it, unless nothing else can be served.
            (2009, added, Decision::Keep),
            (2009, State { serving: validity(0, 2009), ..added }, Decision::RenewServing),
            (2009, State { serving: validity(1000, 2400), ..added }, Decision::Keep),
            (2010, added, Decision::RenewServing),
            // The old authority stays until nothing that it signed is served.
            (2019, renewed, Decision::Keep),
            (2020, renewed, Decision::DropOlder),
            (2020, State { older: false, ..renewed }, Decision::Keep),
            (0, State { paths: 0, ..settled }, Decision::AddPath),
            (19, two, Decision::Keep),
            (20, two, Decision::DropOlderPaths),
            // The clock went back. What is not valid yet is created again.
            (-1, settled, Decision::AddAuthority),
        ];
        for (now, state, expected) in table {
            assert_eq!(decide(at(now), state, &LIVES), expected, "at {now}: {state:?}");
        }
    }

    #[test]
    fn a_key_of_paths_is_known_before_it_is_registered() {
        let registered = |second| newest_path_is_registered(at(second), validity(0, 900), &LIVES);
        assert_eq!([registered(0), registered(9), registered(10)], [false, false, true]);
        assert!(newest_path_is_registered(at(0), None, &LIVES));
    }
}
