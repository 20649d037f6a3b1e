//! When a request is sent again. Pure: the caller provides the random number.
//!
//! A request that may have taken effect is only repeated if doing it twice is as good as once.

use std::time::Duration;

/// How a try failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symptom {
    /// No connection was made, so the server has seen nothing.
    NotConnected,
    /// The connection ended after the request may have been sent.
    Lost,
    /// No response arrived in time.
    TimedOut,
    /// An HTTP status other than 2xx.
    Answered {
        code: u16,
        /// The pause that the server requested.
        retry_after: Option<Duration>,
    },
    /// Another try is of no use.
    Hopeless,
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The call fails with this error.
    GiveUp,
    /// The request is sent again.
    Repeat {
        after: Duration,
        /// The failed try may have taken effect.
        uncertain: bool,
    },
}

/// The limits of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Policy {
    /// The most repetitions of a request.
    pub retries: u32,
    /// If the server requests a longer pause, the call fails.
    pub max_retry_after: Duration,
}

const FIRST_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(3);

/// Decides what to do after try number `tried` (1 for the first). `repeatable` means that doing the operation twice is
/// as good as once. `dice` is from 0 to 1.
pub(super) fn decide(symptom: Symptom, repeatable: bool, tried: u32, policy: Policy, dice: f64) -> Next {
    let uncertain = may_have_happened(symptom);
    if certainty(symptom).is_none() || tried > policy.retries || (uncertain && !repeatable) {
        return Next::GiveUp;
    }
    match symptom {
        Symptom::Answered { retry_after: Some(asked), .. } if asked > policy.max_retry_after => Next::GiveUp,
        Symptom::Answered { retry_after: Some(asked), .. } => {
            // Never earlier than requested. The spread keeps many clients from coming back together.
            Next::Repeat { after: asked.saturating_add(FIRST_DELAY.mul_f64(dice)), uncertain }
        }
        _ => Next::Repeat { after: backoff(tried, dice), uncertain },
    }
}

/// Whether the try may have taken effect.
pub(super) fn may_have_happened(symptom: Symptom) -> bool {
    certainty(symptom) == Some(Certainty::MayHaveHappened)
}

/// The pause before try number `tried + 1`. It doubles each time, and is spread between half of it and all of it.
pub(super) fn backoff(tried: u32, dice: f64) -> Duration {
    let full = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(tried.saturating_sub(1))).min(MAX_DELAY);
    full.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0)
}

#[derive(PartialEq, Eq)]
enum Certainty {
    DidNotHappen,
    MayHaveHappened,
}

/// `None` if the response is final.
fn certainty(symptom: Symptom) -> Option<Certainty> {
    match symptom {
        Symptom::NotConnected
        | Symptom::Answered { code: 429, .. }
        | Symptom::Answered { code: 503, retry_after: Some(_) } => Some(Certainty::DidNotHappen),
        Symptom::Lost | Symptom::TimedOut | Symptom::Answered { code: 408 | 500..=599, .. } => {
            Some(Certainty::MayHaveHappened)
        }
        Symptom::Answered { .. } | Symptom::Hopeless => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Policy = Policy { retries: 5, max_retry_after: Duration::from_secs(10) };

    fn answered(code: u16, retry_after: Option<u64>) -> Symptom {
        Symptom::Answered { code, retry_after: retry_after.map(Duration::from_secs) }
    }

    fn repeats(symptom: Symptom, repeatable: bool) -> Option<bool> {
        match decide(symptom, repeatable, 1, POLICY, 0.5) {
            Next::GiveUp => None,
            Next::Repeat { uncertain, .. } => Some(uncertain),
        }
    }

    #[test]
    fn what_cannot_have_happened_is_always_repeated() {
        for symptom in [Symptom::NotConnected, answered(429, None), answered(429, Some(1)), answered(503, Some(1))] {
            assert_eq!(repeats(symptom, false), Some(false), "{symptom:?}");
            assert_eq!(repeats(symptom, true), Some(false), "{symptom:?}");
        }
    }

    #[test]
    fn what_may_have_happened_is_repeated_only_where_that_is_harmless() {
        let ambiguous = [500, 502, 503, 504, 408].map(|code| answered(code, None));
        for symptom in ambiguous.into_iter().chain([Symptom::Lost, Symptom::TimedOut, answered(500, Some(1))]) {
            assert_eq!(repeats(symptom, false), None, "{symptom:?}");
            assert_eq!(repeats(symptom, true), Some(true), "{symptom:?}");
        }
    }

    #[test]
    fn answers_about_the_request_itself_are_final() {
        for code in [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 301] {
            assert_eq!(repeats(answered(code, None), true), None, "{code}");
        }
        assert_eq!(repeats(Symptom::Hopeless, true), None);
    }

    #[test]
    fn the_tries_are_counted() {
        assert_ne!(decide(Symptom::NotConnected, true, 5, POLICY, 0.5), Next::GiveUp);
        assert_eq!(decide(Symptom::NotConnected, true, 6, POLICY, 0.5), Next::GiveUp);
        assert_eq!(decide(Symptom::NotConnected, true, 1, Policy { retries: 0, ..POLICY }, 0.5), Next::GiveUp);
    }

    #[test]
    fn the_server_is_never_asked_again_earlier_than_it_wants() {
        for dice in [0.0, 0.3, 1.0] {
            let Next::Repeat { after, .. } = decide(answered(429, Some(2)), false, 1, POLICY, dice) else {
                unreachable!("a 429 is repeated")
            };
            assert!(after >= Duration::from_secs(2) && after <= Duration::from_millis(2100), "{after:?}");
        }
        assert_eq!(decide(answered(429, Some(11)), true, 1, POLICY, 0.0), Next::GiveUp);
    }

    #[test]
    fn the_pauses_grow_up_to_a_bound() {
        assert_eq!(backoff(1, 1.0), Duration::from_millis(100));
        assert_eq!(backoff(1, 0.0), Duration::from_millis(50));
        assert_eq!(backoff(3, 1.0), Duration::from_millis(400));
        assert_eq!(backoff(u32::MAX, 1.0), MAX_DELAY);
    }
}
