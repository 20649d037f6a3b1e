//! The places of a scenario where something can go wrong, and the scenario in which it does. Pure.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::super::{
    faults::{Noted, Passed},
    targets::Target,
};

/// A scenario in parts. Between two of them, the operator comes to rest.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// The whole document, without its steps.
    rest: Map<String, Value>,
    parts: Vec<Vec<Value>>,
    /// Retries of the operator follow the machine's clock. After a fault, a restart stands for the time until them.
    pub restarts: bool,
}

/// One fault.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// The part in which it happens.
    part: usize,
    change: Change,
    /// What happens, as a sentence.
    pub text: String,
}

#[derive(Debug, Clone)]
enum Change {
    Fault(Value),
    Late(Value),
    Http(Value),
    Again,
}

/// The keys of steps that only wait.
const WAITS: [&str; 3] = ["expect", "wait", "settle"];

impl Parts {
    /// The parts of a valid scenario.
    pub fn of(document: &Value) -> Self {
        let mut rest = document.as_object().cloned().unwrap_or_default();
        let steps = rest.shift_remove("steps");
        let mut parts = vec![Vec::new()];
        for step in steps.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let waits = WAITS.iter().any(|key| step.get(key).is_some());
            let first = parts.len() == 1;
            match parts.last_mut() {
                Some(part) if !waits => part.push(step.clone()),
                Some(part) if part.is_empty() && !first => {}
                _ => parts.push(Vec::new()),
            }
        }
        if parts.len() > 1 && parts.last().is_some_and(Vec::is_empty) {
            parts.pop();
        }
        Self { rest, parts, restarts: false }
    }

    /// The scenario as it is, and the operator at rest at its end.
    pub fn judged(document: &Value) -> Value {
        let mut document = document.clone();
        if let Some(steps) = document.get_mut("steps").and_then(Value::as_array_mut) {
            steps.push(json!({"settle": "all"}));
        }
        document
    }

    /// The scenario without its expectations, and with one fault.
    pub fn with(&self, point: Option<&Point>) -> Value {
        let mut rest = self.rest.clone();
        let mut steps = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let here = point.filter(|point| point.part == number);
            if let Some(point) = here {
                point.begin(number, &mut rest, &mut steps);
            }
            steps.extend(part.iter().cloned());
            let late = |point: &Point| matches!(point.change, Change::Late(_)) && point.part < number;
            let last = number + 1 == self.parts.len();
            let released = point.is_some_and(late) || last;
            steps.push(json!({"settle": if released { "all" } else { "operator" }}));
            if here.is_some_and(|point| matches!(point.change, Change::Again)) {
                steps.extend([json!({"again": "last run"}), json!({"settle": "all"})]);
            }
        }
        if self.restarts {
            steps.extend([json!({"restart": "operator"}), json!({"settle": "all"})]);
        }
        if point.is_some_and(Point::crashes) {
            // What was lost of a tick comes with the next one.
            let mut ticks = self.parts.iter().flatten().filter(|step| step.get("tick").is_some());
            if let Some(tick) = ticks.next_back() {
                steps.extend([tick.clone(), json!({"settle": "all"})]);
            }
        }
        if let Some(expected) = self.rest.get("sweep") {
            steps.push(json!({"expect": expected}));
        }
        if let (Some(point), Some(Value::String(name))) = (point, rest.get_mut("name")) {
            *name = format!("{name}: {}", point.text);
        }
        rest.insert("steps".to_owned(), steps.into());
        rest.into()
    }

    /// Whether what the fault disturbs may still be under way at a later step: an event that is held back, a retry that
    /// follows the clock, and what was lost of a tick.
    pub fn holds_up(&self, point: &Point) -> bool {
        let mut steps = self.parts.iter().flatten();
        self.restarts || point.disturbs_an_event() || (point.crashes() && steps.any(|step| step.get("tick").is_some()))
    }

    /// The part that each step of [`Parts::with`] belongs to, without a fault.
    fn part_of_steps(&self) -> Vec<usize> {
        self.parts.iter().enumerate().flat_map(|(number, part)| vec![number; part.len() + 1]).collect()
    }

    /// Every place where something can go wrong, in the order of an undisturbed play.
    pub fn points(
        &self,
        noted: &[Noted],
        targets: &BTreeMap<String, Target>,
        http: &[(Option<usize>, String, String)],
    ) -> Vec<Point> {
        let parts = self.part_of_steps();
        let part = |step: Option<usize>| step.and_then(|step| parts.get(step)).copied().unwrap_or_default();
        let mut points = Vec::new();
        // A fault begins with its part, so earlier calls of the same kind in that part pass.
        let mut before: HashMap<(usize, &str, &str), usize> = HashMap::new();
        let mut skipped = move |part, verb, path| {
            let count = before.entry((part, verb, path)).or_default();
            *count += 1;
            *count - 1
        };
        for Noted { step, what } in noted {
            let part = part(*step);
            match what {
                Passed::Call { verb, path, struck } => {
                    let skip = skipped(part, verb, path);
                    if let (Some(target), false) = (targets.get(path), struck) {
                        points.extend(calls(part, verb, target, skip));
                    }
                }
                Passed::Event { event, path } => {
                    let skip = skipped(part, event, path);
                    if let Some(target) = targets.get(path) {
                        points.extend(events(part, event, target, skip));
                    }
                }
            }
        }
        for (step, method, url) in http {
            let part = part(*step);
            let skip = skipped(part, method, url);
            let answer = json!({"method": method, "url": url, "fails": "connection", "skip": skip, "times": 1});
            let text = format!("{method} {url} fails{}", counted(skip));
            points.push(Point { part, change: Change::Http(answer), text });
        }
        let again = |part| Point {
            part,
            change: Change::Again,
            text: format!("the triggers of the last run arrive again {}", rest_after(part)),
        };
        points.extend((0..self.parts.len()).map(again));
        points
    }
}

fn rest_after(part: usize) -> String {
    format!("after {}", nth(part + 1, "part of the steps"))
}

fn nth(number: usize, what: &str) -> String {
    match number {
        1 => format!("the first {what}"),
        number => format!("{what} {number}"),
    }
}

fn counted(skip: usize) -> String {
    if skip == 0 { String::new() } else { format!(", the call after {skip} others") }
}

fn calls(part: usize, verb: &str, target: &Target, skip: usize) -> Vec<Point> {
    let subject = subject(target);
    let of = counted(skip);
    let point = |answer: Value, text: String| {
        let mut fault = json!({"verb": verb, "object": target.object, "answer": answer});
        if let (Some(fields), Some(subresource)) = (fault.as_object_mut(), &target.subresource) {
            fields.insert("subresource".to_owned(), subresource.as_str().into());
        }
        Point { part, change: Change::Fault(skipping(fault, skip)), text }
    };
    let refused = point("refused".into(), format!("{verb} of {subject} is refused{of}"));
    if verb == "get" {
        return vec![refused];
    }
    let mut points = vec![
        point("crash".into(), format!("the operator crashes after {verb} of {subject}{of}")),
        point("lost".into(), format!("{verb} of {subject} gets no answer{of}")),
        refused,
    ];
    if ["update", "patch"].contains(&verb) {
        points.push(point(409.into(), format!("{verb} of {subject} is a conflict{of}")));
    }
    points
}

fn events(part: usize, event: &str, target: &Target, skip: usize) -> [Point; 2] {
    let subject = subject(target);
    let of = if skip == 0 { String::new() } else { format!(", the event after {skip} others") };
    let fault = |delivery: &str| skipping(json!({"event": event, "object": target.object, "delivery": delivery}), skip);
    [
        Point {
            part,
            change: Change::Late(fault("late")),
            text: format!("the event that {subject} was {event} is late{of}"),
        },
        Point {
            part,
            change: Change::Fault(fault("missed")),
            text: format!("the event that {subject} was {event} is missed{of}"),
        },
    ]
}

fn skipping(mut fault: Value, skip: usize) -> Value {
    if let (Some(fields), true) = (fault.as_object_mut(), skip > 0) {
        fields.insert("skip".to_owned(), skip.into());
    }
    fault
}

/// `Secret web/s`
fn subject(target: &Target) -> String {
    let text = |pointer: &str| target.object.pointer(pointer).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let name = text("/metadata/name").unwrap_or_default();
    let of = target.subresource.as_ref().map(|subresource| format!("{subresource} of ")).unwrap_or_default();
    format!("{of}{} {namespace}{name}", text("/kind").unwrap_or_default())
}

impl Point {
    fn disturbs_an_event(&self) -> bool {
        match &self.change {
            Change::Late(_) => true,
            Change::Fault(fault) => fault.get("delivery").is_some(),
            Change::Http(_) | Change::Again => false,
        }
    }

    fn crashes(&self) -> bool {
        matches!(&self.change, Change::Fault(fault) if fault.get("answer").is_some_and(|answer| answer == "crash"))
    }

    /// Adds the fault at the beginning of its part. Those of the first part exist before the hook is loaded.
    fn begin(&self, part: usize, rest: &mut Map<String, Value>, steps: &mut Vec<Value>) {
        let (key, list, value) = match &self.change {
            Change::Fault(fault) | Change::Late(fault) => ("fault", "faults", fault),
            Change::Http(answer) => ("http", "http", answer),
            Change::Again => return,
        };
        if part > 0 {
            return steps.push(json!({ key: value }));
        }
        let all = rest.entry(list).or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            all.push(value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn scenario() -> Value {
        json!({"name": "n", "steps": [
            {"create": 1}, {"expect": {}}, {"wait": "1m"}, {"tick": "t"}, {"delete": 2}, {"expect": {}},
        ]})
    }

    #[test]
    fn the_operator_comes_to_rest_where_the_scenario_expects_something() {
        let plain = Parts::of(&scenario()).with(None);
        let steps = json!([{"create": 1}, {"settle": "operator"}, {"tick": "t"}, {"delete": 2}, {"settle": "all"}]);
        assert_eq!(plain, json!({"name": "n", "steps": steps}));
        assert_eq!(Parts::of(&scenario()).part_of_steps(), [0, 0, 1, 1, 1]);
        let empty = Parts::of(&json!({"name": "n", "steps": []})).with(None);
        assert_eq!(empty["steps"], json!([{"settle": "all"}]));
    }

    #[test]
    fn each_call_and_event_is_a_point() {
        let (path, call) = ("/api/v1/nodes/n".to_owned(), |verb, path: &str, struck| Passed::Call {
            verb,
            path: path.to_owned(),
            struck,
        });
        let noted = [
            Noted { step: None, what: call("patch", &path, true) },
            Noted { step: Some(0), what: call("patch", &path, false) },
            Noted { step: Some(4), what: Passed::Event { event: "modified", path: path.clone() } },
            Noted { step: Some(4), what: call("get", "/unknown", false) },
        ];
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
        let targets = [(path, Target { object: node.clone(), subresource: None })].into();
        let parts = Parts::of(&scenario());
        let points = parts.points(&noted, &targets, &[(Some(2), "GET".to_owned(), "u".to_owned())]);
        let texts: Vec<_> = points.iter().map(|point| point.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "the operator crashes after patch of Node n, the call after 1 others",
                "patch of Node n gets no answer, the call after 1 others",
                "patch of Node n is refused, the call after 1 others",
                "patch of Node n is a conflict, the call after 1 others",
                "the event that Node n was modified is late",
                "the event that Node n was modified is missed",
                "GET u fails",
                "the triggers of the last run arrive again after the first part of the steps",
                "the triggers of the last run arrive again after part of the steps 2",
            ]
        );
        let crash = parts.with(Some(&points[0]));
        assert_eq!(crash["faults"], json!([{"verb": "patch", "object": node, "answer": "crash", "skip": 1}]));
        assert_eq!(crash["steps"].as_array().unwrap().len(), 7, "{crash}");
        assert_eq!(crash["steps"][5], json!({"tick": "t"}));
        let held_up: Vec<_> = points.iter().map(|point| parts.holds_up(point)).collect();
        assert_eq!(held_up, [true, false, false, false, true, true, false, false, false]);
        let late = parts.with(Some(&points[4]));
        assert_eq!(late["steps"][2], json!({"fault": {"event": "modified", "object": node, "delivery": "late"}}));
    }
}
