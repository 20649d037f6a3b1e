//! Scenario files: the objects of a cluster, what happens to them, and the expected result. Each scenario is played on
//! the real operator and its own local cluster, and reaches no other cluster. `docs/reference/scenario.md` describes
//! the format.

mod admin;
mod contexts;
mod directories;
mod document;
mod end;
mod faults;
mod files;
mod http;
mod judge;
mod log;
mod matcher;
mod play;
mod reader;
mod recorded;
mod subject;
mod sweep;
mod targets;
mod tree;

pub use self::matcher::{Edit, apply};
pub use self::tree::{Place, Problem};
pub use contexts::{Contexts, contexts};
pub use document::Scenario;
pub use files::{Case, FindError, find};
pub use play::{Failure, Playable, Played, Settings, play_all};
pub use recorded::{NotAScenario, of_record};
pub use subject::Subject;
pub use sweep::{Choice, Found, Outcome, Plain, Swept, sweep};

/// The schema that `boathook test --schema` prints. The reader does not use it.
pub fn schema() -> serde_json::Value {
    serde_json::from_str(include_str!("../../../../docs/reference/scenario.schema.json")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::{document, faults, http};

    #[test]
    fn the_schema_has_the_words_of_the_reader() {
        let schema = super::schema();
        let at = |place: &str| schema.pointer(&format!("/$defs/{place}")).unwrap();
        let words = |place: &str| at(&format!("{place}/enum")).as_array().unwrap().len();
        let has = |place: &str, word: Value| at(&format!("{place}/enum")).as_array().unwrap().contains(&word);
        let texts: [(&str, &[&str]); 9] = [
            ("admission/properties/operation", &document::OPERATIONS),
            ("write/properties/verb", &document::WRITE_VERBS),
            ("failures/properties/kind", &document::FAILURES),
            ("fault/properties/verb", &faults::VERBS),
            ("fault/properties/event", &faults::EVENTS),
            ("fault/properties/delivery", &faults::DELIVERIES.map(|(word, _)| word)),
            ("answered/properties/conditions/items/properties/status", &document::STATUSES),
            ("answered/properties/events/items/properties/type", &document::EVENT_TYPES),
            ("answer/properties/fails", &http::FAILS.map(|(word, _)| word)),
        ];
        for (place, known) in texts {
            assert!(words(place) == known.len() && known.iter().all(|word| has(place, (*word).into())), "{place}");
        }
        let answer = "fault/properties/answer";
        assert!(words(answer) == faults::ANSWERS.len() + faults::FATES.len());
        assert!(faults::FATES.iter().all(|(word, _)| has(answer, (*word).into())));
        assert!(faults::ANSWERS.iter().all(|(code, _)| has(answer, (*code).into())));
        let steps: BTreeSet<&str> = at("step/properties").as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(steps, document::ACTIONS.into());
        assert_eq!(at("fault/properties/times/maximum"), document::MAX_TIMES);
    }
}
