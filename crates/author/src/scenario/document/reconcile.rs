//! A step that calls `reconcile` or `finalize` of a hook, and what its answer must be.

use std::time::Duration;

use super::{
    super::{
        reader::Fields,
        tree::{Kind, Node, Problems},
    },
    MAX_PASS, Object, each, flag, is_map, object, objects,
};

/// A call about one object.
#[derive(Debug, Clone)]
pub struct Asking {
    /// None for the only binding of the object's kind.
    pub binding: Option<String>,
    pub object: Object,
    pub children: Vec<Object>,
    /// By the entries of the document's `related`.
    pub related: Vec<(String, Vec<Object>)>,
    /// The call is to `finalize`.
    pub finalize: bool,
}

/// The expected answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The number must match.
    pub children: Option<Vec<Node>>,
    pub none_wanted: Option<bool>,
    /// The status has at least these fields.
    pub status: Option<Node>,
    /// At least these.
    pub conditions: Vec<Condition>,
    pub requeue_after: Option<Duration>,
    /// The number must match.
    pub events: Option<Vec<Event>>,
    pub done: Option<bool>,
    /// There is no answer, for this reason.
    pub failed: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Condition {
    pub r#type: String,
    pub status: Option<&'static str>,
    pub reason: Option<String>,
    /// The message contains it.
    pub message: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Event {
    pub r#type: Option<&'static str>,
    pub reason: Option<String>,
    /// The message contains it.
    pub message: Option<String>,
}

/// The values of a condition's status.
pub const STATUSES: [&str; 3] = ["True", "False", "Unknown"];
/// The types of Events.
pub const EVENT_TYPES: [&str; 2] = ["Normal", "Warning"];

impl Asking {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let asked = fields.need("object").and_then(|node| object(node, &fields.child("object"), problems));
        let binding = fields.text("binding").map(str::to_owned);
        let children = objects(&fields, "children");
        let related = related(&fields);
        let finalize = flag(&fields, "finalize").unwrap_or_default();
        fields.finish();
        Some(Self { binding, object: asked?, children, related, finalize })
    }
}

fn related(fields: &Fields<'_>) -> Vec<(String, Vec<Object>)> {
    let Some(node) = fields.take("related") else { return Vec::new() };
    let path = fields.child("related");
    let Kind::Map(entries) = &node.kind else {
        fields.problems().add(
            node.place,
            &path,
            "must be a mapping of lists, by the entries of the document's related",
        );
        return Vec::new();
    };
    let mut all = Vec::new();
    for entry in entries {
        let path = format!("{path}.{}", entry.key);
        let Kind::List(items) = &entry.node.kind else {
            fields.problems().add(entry.node.place, &path, "must be a list of objects");
            continue;
        };
        let items = items.iter().enumerate();
        let read = items.filter_map(|(n, item)| object(item, &format!("{path}[{n}]"), fields.problems()));
        all.push((entry.key.clone(), read.collect()));
    }
    all
}

impl Answered {
    pub fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let children = fields.items("children").map(|items| {
            items.filter(|(node, path)| is_map(node, path, problems)).map(|(node, _)| node.clone()).collect()
        });
        let status = fields.take("status").filter(|node| is_map(node, &fields.child("status"), problems)).cloned();
        let answered = Self {
            children,
            none_wanted: flag(&fields, "noneWanted"),
            status,
            conditions: each(&fields, "conditions", Condition::read).unwrap_or_default(),
            requeue_after: fields.duration("requeueAfter", MAX_PASS),
            events: each(&fields, "events", Event::read),
            done: flag(&fields, "done"),
            failed: fields.text("failed").map(str::to_owned),
        };
        fields.finish();
        match &node.kind {
            Kind::Map(entries) if entries.is_empty() => fields.wrong("needs at least one key"),
            Kind::Map(entries) if answered.failed.is_some() && entries.len() > 1 => {
                fields.wrong("a call that failed has no answer: failed stands alone");
            }
            _ => {}
        }
        Some(answered)
    }
}

impl Condition {
    fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let (r#type, status) = (fields.needed_text("type"), fields.word("status", &STATUSES));
        let [reason, message] = ["reason", "message"].map(|key| fields.text(key).map(str::to_owned));
        fields.finish();
        Some(Self { r#type: r#type?.to_owned(), status, reason, message })
    }
}

impl Event {
    fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let r#type = fields.word("type", &EVENT_TYPES);
        let [reason, message] = ["reason", "message"].map(|key| fields.text(key).map(str::to_owned));
        fields.finish();
        Some(Self { r#type, reason, message })
    }
}
