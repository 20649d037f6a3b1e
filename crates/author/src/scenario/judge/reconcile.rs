//! Compares what a hook wants for an object with what is expected.

use std::time::Duration;

use boathook_core::model::{EventType, OwnCondition, OwnEvent, Reconciled, format_duration};
use serde_json::Value;

use super::{
    super::document::{Answered, Condition, EVENT_TYPES, STATUSES},
    Answer, Spot, Wrong, no_answer, object_differs,
};

/// What a hook wants for an object.
#[derive(Debug, Clone, PartialEq)]
pub(in super::super) struct Wants {
    pub children: Vec<Value>,
    pub none_wanted: bool,
    pub done: bool,
    pub status: Value,
    pub conditions: Vec<OwnCondition>,
    pub requeue_after: Option<Duration>,
    pub events: Vec<OwnEvent>,
}

impl TryFrom<Reconciled> for Wants {
    type Error = String;

    fn try_from(answer: Reconciled) -> Result<Self, String> {
        let parse = |text: &String| {
            serde_json::from_str::<Value>(text).map_err(|error| format!("the hook gave no JSON: {error}"))
        };
        Ok(Self {
            children: answer.children.iter().map(parse).collect::<Result<_, _>>()?,
            none_wanted: answer.none_wanted,
            done: answer.done,
            status: answer.status.as_ref().map(parse).transpose()?.unwrap_or_default(),
            conditions: answer.conditions,
            requeue_after: answer.requeue_after,
            events: answer.events,
        })
    }
}

fn status(holds: Option<bool>) -> &'static str {
    let [yes, no, unknown] = STATUSES;
    match holds {
        Some(true) => yes,
        Some(false) => no,
        None => unknown,
    }
}

fn event_type(event: &OwnEvent) -> &'static str {
    let [normal, warning] = EVENT_TYPES;
    match event.r#type {
        EventType::Normal => normal,
        EventType::Warning => warning,
    }
}

/// Whether a text is this one, if one is expected.
fn is(wanted: &Option<String>, found: &str) -> bool {
    wanted.as_ref().is_none_or(|wanted| wanted == found)
}

fn contains(wanted: &Option<String>, found: &str) -> bool {
    wanted.as_ref().is_none_or(|wanted| found.contains(wanted))
}

impl Answered {
    /// The differences.
    pub fn differs(&self, answer: &Answer) -> Vec<Wrong> {
        let found = match (answer, &self.failed) {
            (Answer::Failed(text), Some(wanted)) if text.contains(wanted) => return Vec::new(),
            (Answer::Reconciled(found), None) => found,
            (answer, wanted) => return vec![no_answer("reconcile", wanted.as_deref(), answer)],
        };
        let mut lines = String::new();
        let mut check = |key: &str, wanted: Option<String>, found: String| {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
                lines.push_str(&format!("\n  {key}\n    - expected {wanted}\n    + found    {found}"));
            }
        };
        check("noneWanted", self.none_wanted.map(|it| it.to_string()), found.none_wanted.to_string());
        check("done", self.done.map(|it| it.to_string()), found.done.to_string());
        let after = found.requeue_after.map_or("nothing".to_owned(), format_duration);
        check("requeueAfter", self.requeue_after.map(format_duration), after);
        for wanted in &self.conditions {
            let same = |one: &&OwnCondition| {
                wanted.status.is_none_or(|it| it == status(one.holds))
                    && is(&wanted.reason, &one.reason)
                    && contains(&wanted.message, &one.message)
            };
            let of_type: Vec<_> = found.conditions.iter().filter(|one| one.r#type == wanted.r#type).collect();
            if !of_type.iter().any(same) {
                let shown = |one: &&OwnCondition| format!("{} {}: {}", status(one.holds), one.reason, one.message);
                let found = of_type.first().map_or("nothing".to_owned(), shown);
                check(&format!("conditions: {}", wanted.r#type), Some(wanted.shown()), found);
            }
        }
        if let Some(events) = &self.events {
            let same = events.len() == found.events.len()
                && events.iter().zip(&found.events).all(|(wanted, event)| {
                    wanted.r#type.is_none_or(|it| it == event_type(event))
                        && is(&wanted.reason, &event.reason)
                        && contains(&wanted.message, &event.message)
                });
            let shown = |one: &OwnEvent| format!("{} {}: {}", event_type(one), one.reason, one.message);
            let found = found.events.iter().map(shown).collect::<Vec<_>>().join("; ");
            if !same {
                check("events", Some(format!("{} like those in the file", events.len())), format!("[{found}]"));
            }
        }
        let mut wrong = Vec::new();
        if !lines.is_empty() {
            wrong.push(Wrong::from(format!("reconcile:{lines}")));
        }
        if let Some(wanted) = &self.status {
            wrong.extend(object_differs("reconcile.status", wanted, &found.status, Spot::Status));
        }
        let children = self.children.as_ref().map(|wanted| (wanted.len(), found.children.len()));
        if let Some((wanted, found)) = children.filter(|(wanted, found)| wanted != found) {
            wrong.push(Wrong::from(format!("reconcile: {found} children, expected {wanted}")));
        }
        let pairs = self.children.iter().flatten().zip(&found.children).enumerate();
        wrong.extend(pairs.filter_map(|(n, (wanted, found))| {
            object_differs(&format!("reconcile.children[{n}]"), wanted, found, Spot::Child(n))
        }));
        wrong
    }
}

impl Condition {
    fn shown(&self) -> String {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "any".to_owned());
        format!("{} {}: {}", self.status.unwrap_or("any"), text(&self.reason), text(&self.message))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::scenario::document::{Action, Scenario};

    /// The differences from an expectation in a scenario's notation.
    fn wrong(expected: &str) -> Vec<String> {
        let text = format!("name: x\nsteps: [{{expect: {{reconcile: {expected}}}}}]\n");
        let scenario = Scenario::parse(&text).unwrap();
        let Action::Expect(expect) = &scenario.steps[0].action else { return Vec::new() };
        let condition = |r#type: &str, holds| {
            let (reason, message) = ("Replicas".to_owned(), "1 of 2 are ready".to_owned());
            OwnCondition { r#type: r#type.to_owned(), holds, reason, message }
        };
        let event = OwnEvent { r#type: EventType::Warning, reason: "Wet".to_owned(), message: "it is wet".to_owned() };
        let answer = Reconciled {
            children: vec![r#"{"kind": "Service", "spec": {"port": 80}}"#.to_owned()],
            none_wanted: false,
            done: true,
            status: Some(r#"{"ready": 1}"#.to_owned()),
            conditions: vec![condition("Ready", Some(false)), condition("Other", None)],
            requeue_after: Some(Duration::from_secs(90)),
            events: vec![event],
        };
        let answer = Answer::Reconciled(Box::new(answer.try_into().unwrap()));
        let wrong = expect.reconcile.as_ref().unwrap().differs(&answer);
        wrong.into_iter().map(|wrong| wrong.text).collect()
    }

    #[test]
    fn each_part_of_an_answer_can_be_expected() {
        for right in [
            "{children: [{kind: Service, spec: {port: 80}}]}",
            "{status: {ready: 1, other: null}, done: true, noneWanted: false, requeueAfter: 1m30s}",
            "{conditions: [{type: Ready, status: 'False', reason: Replicas, message: 1 of 2}, {type: Other, status: Unknown}]}",
            "{events: [{type: Warning, reason: Wet, message: wet}]}",
        ] {
            assert_eq!(wrong(right), [] as [String; 0], "{right}");
        }
        for (other, part) in [
            ("{children: []}", "reconcile: 1 children, expected 0"),
            ("{children: [{spec: {port: 81}}]}", "reconcile.children[0]:\n  .spec.port\n    - expected 81"),
            ("{status: {ready: 2}}", "reconcile.status:\n  .ready\n    - expected 2"),
            ("{done: false}", "done\n    - expected false\n    + found    true"),
            ("{noneWanted: true}", "noneWanted\n    - expected true"),
            ("{requeueAfter: 2m}", "requeueAfter\n    - expected 2m\n    + found    1m30s"),
            (
                "{conditions: [{type: Ready, status: 'True'}]}",
                "conditions: Ready\n    - expected True any: any\n    + found    False Replicas: 1 of 2",
            ),
            ("{conditions: [{type: Ready, message: 2 of 2}]}", "expected any any: 2 of 2"),
            ("{conditions: [{type: None}]}", "+ found    nothing"),
            (
                "{events: []}",
                "events\n    - expected 0 like those in the file\n    + found    [Warning Wet: it is wet]",
            ),
            ("{events: [{reason: Dry}]}", "events"),
            ("{failed: it}", "expected it fails with \"it\"\n  + found    an answer about an object"),
        ] {
            let found = wrong(other);
            assert!(found.len() == 1 && found[0].contains(part), "{other}: {found:#?}");
        }
    }
}
