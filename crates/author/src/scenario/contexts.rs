//! Binding contexts as shell-operator writes them: a JSON or YAML array, the file at `BINDING_CONTEXT_PATH`. It reports
//! all problems of a file at once. Whether the hook has such a binding is checked elsewhere.

use boathook_core::model::{AdmissionKind, WatchEventKind};
use boathook_operator::app::run_once::{Asked, Question, TriggerRequest, Wanted};
use serde_json::Value;

use super::{
    document::OPERATIONS,
    reader::{Fields, describe},
    tree::{self, Kind, Node, Place, Problem, Problems},
};

const TYPES: [&str; 7] = ["Schedule", "Synchronization", "Event", "Group", "Validating", "Mutating", "Conversion"];

/// The content of a file.
#[derive(Debug, Default)]
pub struct Contexts {
    /// Each context, with its position.
    pub asked: Vec<(Place, Asked)>,
    /// The API server's request that the file contains, with its position. There are then no other contexts.
    pub question: Option<(Place, Question)>,
    /// Objects of snapshots and synchronizations, which the run's cluster must contain.
    pub objects: Vec<Value>,
    /// Number of snapshot items with only a filter's result, from which no object can be made.
    pub without_object: usize,
}

/// Reads a list of contexts, or a single one. Problems are in the file's order.
pub fn contexts(text: &str) -> Result<Contexts, Vec<Problem>> {
    let start = Place { line: 1, column: 1 };
    if text.trim().is_empty() {
        return Err(vec![Problem::new(start, "", "is empty; it holds a list like [{binding: onStartup}]")]);
    }
    // A tab is a blank in JSON, but is no indentation in YAML.
    let json = text.trim_start().starts_with(['[', '{']).then(|| text.replace('\t', " "));
    let root = tree::read(json.as_deref().unwrap_or(text)).map_err(|problem| vec![problem])?;
    let problems = Problems::default();
    let mut contexts = Contexts::default();
    match &root.kind {
        Kind::List(items) => {
            items.iter().enumerate().for_each(|(n, item)| context(item, &format!("[{n}]"), &problems, &mut contexts));
        }
        Kind::Map(_) => context(&root, "", &problems, &mut contexts),
        Kind::Scalar(_) => problems.add(root.place, "", format!("must be a list of contexts, not {}", describe(&root))),
    }
    if let Some((place, _)) = contexts.question
        && root_len(&root) > 1
    {
        problems.add(place, "", "an API server waits for its answer alone: such a context is the only one of a file");
    }
    let problems = problems.finish();
    if problems.is_empty() { Ok(contexts) } else { Err(problems) }
}

fn root_len(root: &Node) -> usize {
    if let Kind::List(items) = &root.kind { items.len() } else { 1 }
}

fn context(node: &Node, path: &str, problems: &Problems, all: &mut Contexts) {
    let Some(fields) = Fields::of(node, path, problems) else { return };
    let binding = fields.needed_text("binding");
    items(&fields, "objects", all);
    snapshots(&fields, all);
    let occasion = match (fields.take("type").and_then(|_| fields.word("type", &TYPES)), binding) {
        (None, Some("onStartup")) => Some(TriggerRequest::Startup),
        (None, _) => {
            fields.need("type");
            None
        }
        (Some("Schedule"), _) => Some(TriggerRequest::Schedule),
        (Some("Synchronization"), _) => Some(TriggerRequest::Synchronization),
        (Some("Group"), _) => fields.needed_text("groupName").map(|name| TriggerRequest::Group(name.to_owned())),
        (Some("Event"), _) => event(&fields),
        (Some(kind), binding) => {
            let question = binding.and_then(|binding| question(kind, binding, &fields));
            all.question = question.map(|question| (node.place, question));
            None
        }
    };
    fields.take("groupName");
    fields.finish();
    if let (Some(binding), Some(occasion)) = (binding, occasion) {
        // A group is identified by its name. The binding is only that of its last trigger.
        let binding = (!matches!(occasion, TriggerRequest::Group(_))).then(|| binding.to_owned());
        all.asked.push((node.place, Asked { binding, occasion }));
    }
}

fn event(fields: &Fields<'_>) -> Option<TriggerRequest> {
    fields.need("watchEvent");
    let kind = match fields.word("watchEvent", &["Added", "Modified", "Deleted"])? {
        "Added" => WatchEventKind::Added,
        "Modified" => WatchEventKind::Modified,
        _ => WatchEventKind::Deleted,
    };
    let filter_result = fields.take("filterResult").map(Node::value);
    let Some(object) = fields.take("object") else {
        fields.wrong("object is missing, so the object is unknown; add it, with apiVersion, kind and metadata.name");
        return None;
    };
    let object = whole(object, &fields.child("object"), fields.problems())?;
    Some(TriggerRequest::Event { kind, object: Wanted::Given(object), filter_result })
}

fn snapshots(fields: &Fields<'_>, all: &mut Contexts) {
    let Some(node) = fields.take("snapshots") else { return };
    let path = fields.child("snapshots");
    let Kind::Map(entries) = &node.kind else {
        fields.problems().add(node.place, &path, format!("must be a mapping, not {}", describe(node)));
        return;
    };
    for entry in entries {
        list(&entry.node, &format!("{path}.{}", entry.key), fields.problems(), all);
    }
}

fn items(fields: &Fields<'_>, key: &'static str, all: &mut Contexts) {
    if let Some(node) = fields.take(key) {
        list(node, &fields.child(key), fields.problems(), all);
    }
}

/// `[{object, filterResult}]`
fn list(node: &Node, path: &str, problems: &Problems, all: &mut Contexts) {
    let Kind::List(items) = &node.kind else {
        problems.add(node.place, path, format!("must be a list, not {}", describe(node)));
        return;
    };
    for (n, item) in items.iter().enumerate() {
        let path = format!("{path}[{n}]");
        let Some(fields) = Fields::of(item, &path, problems) else { continue };
        fields.take("filterResult");
        match fields.take("object") {
            Some(object) => all.objects.extend(whole(object, &fields.child("object"), problems)),
            None => all.without_object += 1,
        }
        fields.finish();
    }
}

/// An object with apiVersion, kind and name.
fn whole(node: &Node, path: &str, problems: &Problems) -> Option<Value> {
    let value = node.value();
    let missing: Vec<_> = ["/apiVersion", "/kind", "/metadata/name"]
        .into_iter()
        .filter(|pointer| value.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty))
        .map(|pointer| pointer.trim_start_matches('/').replace('/', "."))
        .collect();
    if missing.is_empty() {
        return Some(value);
    }
    problems.add(node.place, path, format!("an object needs {}", missing.join(", ")));
    None
}

/// The request in a context of this type.
pub(super) fn question(kind: &str, binding: &str, fields: &Fields<'_>) -> Option<Question> {
    // Not needed, because each object has its version.
    fields.take("fromVersion");
    let to = fields.text("toVersion").map(str::to_owned);
    let request = request(fields)?;
    let read = match kind {
        "Validating" => review(AdmissionKind::Validating, binding, request),
        "Mutating" => review(AdmissionKind::Mutating, binding, request),
        _ => conversion(binding, to, &request),
    };
    read.map_err(|problem| fields.wrong(format!("review.request: {problem}"))).ok()
}

/// `review.request`, a mapping.
fn request(fields: &Fields<'_>) -> Option<Value> {
    let review = fields.need("review")?;
    let request = match &review.kind {
        Kind::Map(entries) => entries.iter().find(|entry| entry.key == "request").map(|entry| &entry.node),
        _ => None,
    };
    let Some(request) = request.filter(|node| matches!(node.kind, Kind::Map(_))) else {
        let text = format!("review needs a request, a mapping, as an API server sends it; it is {}", describe(review));
        fields.wrong(text);
        return None;
    };
    Some(request.value())
}

fn review(kind: AdmissionKind, binding: &str, request: Value) -> Result<Question, String> {
    let operation = request.get("operation").and_then(Value::as_str).unwrap_or_default();
    if !OPERATIONS.contains(&operation) {
        return Err(format!("operation is {operation:?}; allowed: {}", OPERATIONS.join(", ")));
    }
    if ["object", "oldObject"].iter().all(|key| !request.get(key).is_some_and(Value::is_object)) {
        return Err("it has neither an object nor an oldObject".to_owned());
    }
    Ok(Question::Review { kind, binding: binding.to_owned(), request })
}

fn conversion(binding: &str, to: Option<String>, request: &Value) -> Result<Question, String> {
    let desired = request.get("desiredAPIVersion").and_then(Value::as_str).map(str::to_owned);
    let to = desired.or(to).ok_or("desiredAPIVersion is missing, and there is no toVersion")?;
    let objects = request.get("objects").and_then(Value::as_array).cloned().unwrap_or_default();
    if objects.is_empty() {
        return Err("objects is missing, a list of those to convert".to_owned());
    }
    let versioned = |object: &Value| object.get("apiVersion").and_then(Value::as_str).is_some_and(|it| !it.is_empty());
    match objects.iter().position(|object| !versioned(object)) {
        Some(n) => Err(format!("objects[{n}] has no apiVersion")),
        None => Ok(Question::Conversion { binding: binding.to_owned(), to, objects }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn wrong(text: &str, expected: &[&str]) {
        let reported: Vec<_> = contexts(text).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(reported, expected, "{text}");
    }

    #[test]
    fn every_type_is_read() {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}});
        let file = json!([
            {"binding": "onStartup"},
            {"binding": "tick", "type": "Schedule", "snapshots": {"pods": [{"object": object, "filterResult": 1}]}},
            {"binding": "pods", "type": "Synchronization", "objects": [{"filterResult": {}}]},
            {"binding": "pods", "type": "Event", "watchEvent": "Deleted", "object": object, "filterResult": null},
            {"binding": "x", "type": "Group", "groupName": "g", "snapshots": {}},
        ]);
        let read = contexts(&file.to_string()).unwrap();
        let asked: Vec<_> = read.asked.into_iter().map(|(_, asked)| asked).collect();
        let named = |binding: &str, occasion| Asked { binding: Some(binding.to_owned()), occasion };
        let event = TriggerRequest::Event {
            kind: WatchEventKind::Deleted,
            object: Wanted::Given(object.clone()),
            filter_result: Some(Value::Null),
        };
        assert_eq!(
            asked,
            [
                named("onStartup", TriggerRequest::Startup),
                named("tick", TriggerRequest::Schedule),
                named("pods", TriggerRequest::Synchronization),
                named("pods", event),
                Asked { binding: None, occasion: TriggerRequest::Group("g".to_owned()) },
            ]
        );
        assert_eq!((read.objects, read.without_object), (vec![object], 1));
    }

    #[test]
    fn one_context_and_indentation_by_tabs_will_do() {
        assert_eq!(contexts("binding: tick\ntype: Schedule\n").unwrap().asked.len(), 1);
        assert_eq!(contexts("[\n\t{\n\t\t\"binding\": \"onStartup\"\n\t}\n]\n").unwrap().asked.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        wrong(" \n", &["1:1: the file: is empty; it holds a list like [{binding: onStartup}]"]);
        wrong("7", &["1:1: the file: must be a list of contexts, not 7"]);
        wrong("- binding: pods\n", &["1:3: [0]: type is missing"]);
        wrong(
            "- type: Schedule\n  bindng: x\n",
            &[
                "1:3: [0]: binding is missing",
                "2:3: [0].bindng: is not known here; allowed: binding, groupName, objects, snapshots, type",
            ],
        );
        wrong(
            "- binding: a\n  type: Event\n  watchEvent: added\n",
            &["3:15: [0].watchEvent: is \"added\"; allowed: Added, Modified, Deleted"],
        );
        wrong(
            "- binding: a\n  type: Event\n  watchEvent: Added\n  object: {kind: Pod}\n",
            &["4:11: [0].object: an object needs apiVersion, metadata.name"],
        );
        wrong(
            "- binding: a\n  type: Validating\n  review: {}\n",
            &["1:3: [0]: review needs a request, a mapping, as an API server sends it; it is a mapping"],
        );
        wrong(
            "- binding: a\n  type: Mutating\n  review: {request: {operation: PATCH}}\n- binding: onStartup\n",
            &["1:3: [0]: review.request: operation is \"PATCH\"; allowed: CREATE, UPDATE, DELETE, CONNECT"],
        );
        wrong(
            "- binding: a\n  type: Mutating\n  review: {request: {operation: CREATE}}\n",
            &["1:3: [0]: review.request: it has neither an object nor an oldObject"],
        );
        wrong(
            "- binding: a\n  type: Conversion\n  toVersion: v2\n  review: {request: {objects: [{kind: X}]}}\n",
            &["1:3: [0]: review.request: objects[0] has no apiVersion"],
        );
        wrong(
            "- binding: onStartup\n- binding: a\n  type: Conversion\n  toVersion: v2\n  \
             review: {request: {objects: [{apiVersion: a/v1}]}}\n",
            &["2:3: the file: an API server waits for its answer alone: such a context is the only one of a file"],
        );
        let broken = contexts("[{\"binding\": \"a\",}\n, {]").unwrap_err();
        assert_eq!((broken.len(), broken[0].place.line), (1, 2), "{broken:?}");
    }
}
