//! Tests of one elector step by step, and of several electors on a Lease whose API server is slow, loses requests, and
//! has other clocks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    collections::BTreeMap,
    time::{Duration, Instant as Std},
};

use jiff::Timestamp;
use proptest::prelude::*;
use tokio::time::Instant;

use super::{
    Standing, Terms,
    elector::{Elector, Step},
    lease::LeaderElectionRecord,
    lease_name,
};

const SECOND: Duration = Duration::from_secs(1);

/// An elector with a clock that the test sets.
struct Hand {
    elector: Elector,
    start: Instant,
    at: u32,
}

impl Hand {
    fn new() -> Self {
        let start = Instant::from_std(Std::now());
        Self { elector: Elector::new("me".to_owned(), Terms::of(15 * SECOND), start), start, at: 0 }
    }

    /// It has made the Lease.
    fn leading() -> Self {
        let mut one = Self::new();
        let step = one.saw(None);
        one.done(step);
        one
    }

    fn now(&self) -> Instant {
        self.start + self.at * SECOND
    }

    fn seconds(&self, at: Instant) -> u64 {
        (at - self.start).as_secs()
    }

    fn at(&mut self, second: u32) -> &mut Self {
        self.at = second;
        self
    }

    fn failed(&mut self, conflict: bool) {
        self.elector.failed(conflict, self.now(), 0.0);
    }

    fn step(&mut self) -> Step {
        self.elector.next(self.now(), Timestamp::from_second(self.at.into()).unwrap())
    }

    fn saw(&mut self, found: Option<LeaderElectionRecord>) -> Step {
        self.elector.saw(found, self.now(), 0.0);
        self.step()
    }

    /// Performs the write of the step at once.
    fn done(&mut self, step: Step) {
        let (Step::Write(record) | Step::Create(record)) = step else { panic!("not a write: {step:?}") };
        self.elector.wrote(
            LeaderElectionRecord { version: format!("v{}", self.at), ..record },
            self.now(),
            self.now(),
            0.0,
        );
    }

    fn standing(&self) -> Standing {
        self.elector.standing(self.now())
    }

    fn leads_until(&self) -> Option<u64> {
        match self.standing() {
            Standing::Leading { until } => Some(self.seconds(until)),
            _ => None,
        }
    }
}

fn held(by: &str, renewed: i64) -> Option<LeaderElectionRecord> {
    let renewed = Some(Timestamp::from_second(renewed).unwrap());
    let (holder, duration) = (Some(by.to_owned()).filter(|by| !by.is_empty()), Some(15 * SECOND));
    let version = format!("{by}{renewed:?}");
    Some(LeaderElectionRecord { holder, duration, renewed, acquired: renewed, transitions: 4, version })
}

#[test]
fn the_first_one_makes_the_lease() {
    let mut one = Hand::new();
    assert_eq!(one.step(), Step::Look);
    let step = one.saw(None);
    assert!(matches!(&step, Step::Create(record) if record.transitions == 0), "{step:?}");
    assert_eq!(one.standing(), Standing::Standby { led: false });
    one.done(step);
    assert_eq!(one.leads_until(), Some(10));
    let Step::Rest(at) = one.step() else { panic!() };
    assert_eq!(one.seconds(at), 2);
}

#[test]
fn it_renews_and_keeps_what_stands_there() {
    let mut one = Hand::leading();
    let step = one.at(2).step();
    let Step::Write(record) = &step else { panic!("{step:?}") };
    assert_eq!((record.version.as_str(), record.transitions), ("v0", 0));
    assert_eq!((record.acquired.unwrap().as_second(), record.renewed.unwrap().as_second()), (0, 2));
    one.done(step);
    assert_eq!(one.leads_until(), Some(12));
}

#[test]
fn a_lease_is_taken_when_its_holder_was_silent_for_so_long_by_our_clock() {
    let mut one = Hand::new();
    // The time in the record is the holder's and does not matter.
    assert!(matches!(one.at(100).saw(held("other", 1)), Step::Rest(_)));
    assert_eq!(one.standing(), Standing::Standby { led: true });
    assert_eq!(one.at(102).step(), Step::Look);
    assert!(matches!(one.saw(held("other", 1)), Step::Rest(_)));
    assert!(matches!(one.at(104).saw(held("other", 2)), Step::Rest(_)));
    assert!(matches!(one.at(118).saw(held("other", 2)), Step::Rest(_)));
    let step = one.at(119).saw(held("other", 2));
    let Step::Write(record) = &step else { panic!("{step:?}") };
    assert_eq!((record.transitions, record.acquired.unwrap().as_second()), (5, 119));
    assert_eq!(one.standing(), Standing::Standby { led: false });
}

#[test]
fn what_was_given_back_is_taken_at_once() {
    let mut one = Hand::new();
    assert!(matches!(one.saw(held("other", 1)), Step::Rest(_)));
    assert!(matches!(one.saw(held("", 1)), Step::Write(_)));
}

#[test]
fn a_longer_time_that_the_holder_was_reported_counts() {
    let mut one = Hand::new();
    let longer = held("other", 1).map(|record| LeaderElectionRecord { duration: Some(40 * SECOND), ..record });
    one.saw(longer.clone());
    assert!(matches!(one.at(39).saw(longer.clone()), Step::Rest(_)));
    assert!(matches!(one.at(40).saw(longer), Step::Write(_)));
}

#[test]
fn who_deletes_the_lease_makes_no_second_leader() {
    let mut one = Hand::new();
    one.saw(held("other", 1));
    assert!(matches!(one.at(3).saw(None), Step::Rest(_)));
    assert!(matches!(one.at(17).saw(None), Step::Rest(_)));
    assert!(matches!(one.at(18).saw(None), Step::Create(_)));
}

#[test]
fn who_leads_ends_when_it_cannot_renew() {
    let mut one = Hand::leading();
    one.at(2).failed(false);
    assert!(matches!(one.step(), Step::Rest(_)));
    assert_eq!(one.at(4).step(), Step::Look);
    one.failed(false);
    assert_eq!(one.at(9).step(), Step::Look);
    one.failed(false);
    let Step::Rest(at) = one.step() else { panic!() };
    assert_eq!(one.seconds(at), 10, "not beyond the end");
    assert_eq!(one.at(10).step(), Step::End);
    assert_eq!(one.standing(), Standing::Over);
}

#[test]
fn a_renewal_that_comes_too_late_is_none() {
    let mut one = Hand::leading();
    let Step::Write(record) = one.at(9).step() else { panic!() };
    let sent = one.now();
    let late = one.at(11).now();
    one.elector.wrote(record, sent, late, 0.0);
    assert_eq!((one.standing(), one.step()), (Standing::Over, Step::End));
}

#[test]
fn who_leads_ends_when_another_holds_the_lease_or_nobody() {
    for by in ["other", ""] {
        let mut one = Hand::leading();
        one.at(2).failed(true);
        assert_eq!(one.at(3).step(), Step::Look);
        assert_eq!(one.saw(held(by, 1)), Step::End);
        assert_eq!(one.standing(), Standing::Over);
    }
}

#[test]
fn an_answer_that_was_lost_counts_as_none() {
    let mut one = Hand::new();
    one.saw(None);
    one.failed(false);
    // The Lease was created after all. Only a write whose time is known makes a leader.
    let step = one.at(3).saw(held("me", 0));
    assert!(matches!(one.standing(), Standing::Standby { .. }));
    let Step::Write(record) = &step else { panic!("{step:?}") };
    assert_eq!(record.transitions, 4);
    one.done(step);
    assert_eq!(one.leads_until(), Some(13));
}

#[test]
fn only_who_holds_it_gives_it_back() {
    let one = Hand::new();
    assert_eq!(one.elector.released(held("other", 1).unwrap()), None);
    assert_eq!(one.elector.released(held("me", 1).unwrap()).unwrap().holder, None);
}

#[test]
fn a_lease_is_named_after_the_instance() {
    assert_eq!(lease_name(None), "boathook");
    assert_eq!(lease_name(Some("Team_a.2")), "boathook-team-a.2");
}

/// What happens to one request: how long each way takes, in ms, and whether the request or its response is lost.
#[derive(Debug, Clone, Copy)]
struct Weather {
    there: u64,
    back: u64,
    lost: bool,
    unheard: bool,
}

fn weather() -> impl Strategy<Value = Weather> {
    let way = || prop_oneof![8 => 0..50_u64, 2 => 0..4_000_u64];
    let often = || prop::bool::weighted(0.15);
    (way(), way(), often(), often()).prop_map(|(there, back, lost, unheard)| Weather { there, back, lost, unheard })
}

#[derive(Debug, Clone)]
enum Event {
    /// The elector decides what to do. Only the last such event counts.
    Wake(usize, u64),
    /// A request reaches the server.
    Arrives(usize, Step, Instant, Weather),
    /// Its response arrives, or the time limit of the request has passed.
    Answered(usize, Result<Option<LeaderElectionRecord>, bool>, bool, Instant),
    /// The Lease is deleted.
    Deleted,
    /// A replica gives the Lease back and ends.
    Stops(usize),
}

/// A replica, and since when and until when it leads, as it believes. The times are those of the world's clock.
type Reign = (usize, u64, u64);

struct World {
    start: Instant,
    lease: Option<LeaderElectionRecord>,
    version: u64,
    electors: Vec<(Elector, f64, u64)>,
    stopped: Vec<usize>,
    events: BTreeMap<(u64, u64), Event>,
    number: u64,
    weather: std::iter::Cycle<std::vec::IntoIter<Weather>>,
    reigns: Vec<Reign>,
}

impl World {
    /// The elector's own clock, which may be faster or slower than the world's.
    fn clock(&self, who: usize, at: u64) -> Instant {
        self.start + Duration::from_millis(at).mul_f64(self.electors[who].1)
    }

    /// The inverse of [`Self::clock`]. It rounds up, so that reigns look longer than they are.
    fn time(&self, who: usize, clock: Instant) -> u64 {
        ((clock - self.start).as_secs_f64() * 1e3 / self.electors[who].1).ceil() as u64
    }

    fn push(&mut self, at: u64, event: Event) {
        self.number += 1;
        self.events.insert((at, self.number), event);
    }

    fn wake(&mut self, who: usize, at: u64) {
        self.electors[who].2 += 1;
        let turn = self.electors[who].2;
        self.push(at, Event::Wake(who, turn));
    }

    fn apply(&mut self, step: Step) -> Result<Option<LeaderElectionRecord>, bool> {
        let record = match (step, &self.lease) {
            (Step::Look, lease) => return Ok(lease.clone()),
            (Step::Create(record), None) => record,
            (Step::Write(record), Some(lease)) if lease.version == record.version => record,
            (Step::Write(_), None) => return Err(false),
            _ => return Err(true),
        };
        self.version += 1;
        self.lease = Some(LeaderElectionRecord { version: self.version.to_string(), ..record });
        Ok(self.lease.clone())
    }

    fn note(&mut self, who: usize, at: u64) {
        match self.electors[who].0.standing(self.clock(who, at)) {
            Standing::Leading { until } => {
                let until = self.time(who, until);
                match self.reigns.iter_mut().find(|reign| reign.0 == who) {
                    Some(reign) => reign.2 = until,
                    None => self.reigns.push((who, at, until)),
                }
            }
            Standing::Over => self.reigns.iter_mut().filter(|r| r.0 == who).for_each(|r| r.2 = r.2.min(at)),
            Standing::Standby { .. } => {}
        }
    }

    fn happens(&mut self, at: u64, event: Event) {
        match event {
            // The Lease is deleted only if all electors know its holder. One that does not cannot know that somebody
            // leads.
            Event::Deleted => {
                let holder = self.lease.as_ref().and_then(|lease| lease.holder.as_deref());
                if self.electors.iter().all(|(elector, ..)| elector.holder() == holder) {
                    self.lease = None;
                }
            }
            Event::Stops(who) => {
                if let Some(reign) = self.reigns.iter_mut().find(|reign| reign.0 == who) {
                    reign.2 = reign.2.min(at);
                }
                if let Some(lease) = self.lease.clone()
                    && let Some(free) = self.electors[who].0.released(lease)
                {
                    self.version += 1;
                    self.lease = Some(LeaderElectionRecord { version: self.version.to_string(), ..free });
                }
                self.stopped.push(who);
            }
            Event::Wake(who, _) | Event::Answered(who, ..) if self.stopped.contains(&who) => {}
            Event::Wake(who, turn) if turn == self.electors[who].2 => {
                let now = self.clock(who, at);
                let wall = Timestamp::from_millisecond(at as i64).unwrap();
                let step = self.electors[who].0.next(now, wall);
                self.note(who, at);
                match step {
                    Step::End => {}
                    Step::Rest(until) => {
                        let until = self.time(who, until).max(at + 1);
                        self.wake(who, until);
                    }
                    step => {
                        let weather = self.weather.next().unwrap();
                        self.push(at + weather.there, Event::Arrives(who, step, now, weather));
                    }
                }
            }
            Event::Wake(..) => {}
            Event::Arrives(who, step, sent, weather) => {
                let wrote = !matches!(step, Step::Look);
                let answer = if weather.lost { Err(false) } else { self.apply(step) };
                let answer = if weather.unheard { Err(false) } else { answer };
                let late = self.time(who, sent + Terms::of(15 * SECOND).patience);
                let back = at + weather.back;
                let (back, answer) = if back > late { (late.max(at), Err(false)) } else { (back, answer) };
                self.push(back, Event::Answered(who, answer, wrote, sent));
            }
            Event::Answered(who, answer, wrote, sent) => {
                let now = self.clock(who, at);
                let elector = &mut self.electors[who].0;
                match answer {
                    Ok(found) if wrote => elector.wrote(found.unwrap(), sent, now, 0.5),
                    Ok(found) => elector.saw(found, now, 0.5),
                    Err(conflict) => elector.failed(conflict, now, 0.5),
                }
                self.note(who, at);
                self.wake(who, at);
            }
        }
    }

    fn two_at_once(&self) -> Option<(Reign, Reign)> {
        let pairs = self.reigns.iter().flat_map(|a| self.reigns.iter().map(move |b| (*a, *b)));
        pairs.into_iter().find(|(a, b)| a.0 < b.0 && a.1 < b.2 && b.1 < a.2)
    }
}

/// Plays five minutes. The world's `reigns` show who led.
fn play(rates: &[f64], weather: Vec<Weather>, stops: &[(u64, usize)], deleted: Option<u64>) -> World {
    let start = Instant::from_std(Std::now());
    let terms = Terms::of(15 * SECOND);
    let elector = |(who, rate): (usize, &f64)| (Elector::new(format!("r{who}"), terms, start), *rate, 0);
    let electors = rates.iter().enumerate().map(elector).collect();
    let weather = weather.into_iter().cycle();
    let (events, reigns) = (BTreeMap::new(), Vec::new());
    let mut world =
        World { start, lease: None, version: 0, electors, stopped: Vec::new(), events, number: 0, weather, reigns };
    (0..rates.len()).for_each(|who| world.wake(who, 0));
    stops.iter().for_each(|(at, who)| world.push(*at, Event::Stops(*who % rates.len())));
    deleted.into_iter().for_each(|at| world.push(at, Event::Deleted));
    while let Some(((at, _), event)) = world.events.pop_first()
        && at < 300_000
    {
        world.happens(at, event);
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn never_two_lead_at_once(
        rates in prop::collection::vec(0.9..1.1, 2..4),
        weather in prop::collection::vec(weather(), 1..200),
        stops in prop::collection::vec((0..200_000_u64, 0..3_usize), 0..3),
        deleted in prop::option::of(30_000..200_000_u64),
    ) {
        let world = play(&rates, weather, &stops, deleted);
        prop_assert_eq!(world.two_at_once(), None, "{:?}", world.reigns);
    }
}

#[test]
fn in_good_weather_one_leads_and_another_follows_at_once() {
    let good = vec![Weather { there: 5, back: 5, lost: false, unheard: false }];
    let world = play(&[1.0, 1.0, 1.0], good, &[(60_000, 0)], None);
    assert_eq!((world.two_at_once(), world.reigns.len()), (None, 2));
    let (first, second) = (world.reigns[0], world.reigns[1]);
    assert_eq!((first.0, first.1, first.2), (0, 20, 60_000), "asked, written, and led until it stopped");
    assert!((60_000..62_100).contains(&second.1) && second.2 > 300_000, "{:?}", world.reigns);
}
