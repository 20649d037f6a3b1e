//! Faults and HTTP responses in a scenario file.

use serde_json::Value;

use super::{
    super::{
        faults::{ANSWERS, Answer, DELIVERIES, Delivery, EVENTS, FATES, VERBS},
        http::{self, FAILS},
        reader::{Fields, describe},
        tree::{Kind, Node, Problems},
    },
    MAX_TIMES, Object, body, method, object,
};

/// Something that goes wrong between the operator and the API server.
#[derive(Debug, Clone)]
pub(in crate::scenario) enum Fault {
    Call(CallFault),
    Event(EventFault),
}

/// The next calls of one kind receive another response than the API server's.
#[derive(Debug, Clone)]
pub(in crate::scenario) struct CallFault {
    pub verb: &'static str,
    pub object: Object,
    pub subresource: Option<String>,
    pub answer: Answer,
    /// So many calls pass before.
    pub skip: usize,
    pub times: usize,
}

/// The next event of one type is not delivered as the API server sends it.
#[derive(Debug, Clone)]
pub(in crate::scenario) struct EventFault {
    pub event: &'static str,
    pub object: Object,
    pub delivery: Delivery,
    /// So many events pass before.
    pub skip: usize,
}

impl Fault {
    pub(super) fn read(node: &Node, path: &str, problems: &Problems) -> Option<Self> {
        let fields = Fields::of(node, path, problems)?;
        let fault = match fields.take("event") {
            Some(_) => event(&fields).map(Self::Event),
            None => call(&fields).map(Self::Call),
        };
        fields.finish();
        fault
    }

    pub fn object(&self) -> &Object {
        match self {
            Self::Call(fault) => &fault.object,
            Self::Event(fault) => &fault.object,
        }
    }
}

fn call(fields: &Fields<'_>) -> Option<CallFault> {
    for key in ["verb", "object", "answer"] {
        fields.need(key);
    }
    let verb = fields.word("verb", &VERBS);
    let object = target(fields);
    let subresource = fields.text("subresource").map(str::to_owned);
    let answer = answer(fields);
    let skip = skip(fields);
    let times = times(fields).unwrap_or(1);
    Some(CallFault { verb: verb?, object: object?, subresource, answer: answer?, skip, times })
}

fn event(fields: &Fields<'_>) -> Option<EventFault> {
    for key in ["object", "delivery"] {
        fields.need(key);
    }
    let (event, object) = (fields.word("event", &EVENTS), target(fields));
    let word = fields.word("delivery", &DELIVERIES.map(|(word, _)| word));
    let delivery = DELIVERIES.into_iter().find(|(known, _)| Some(*known) == word).map(|(_, delivery)| delivery);
    let skip = skip(fields);
    Some(EventFault { event: event?, object: object?, delivery: delivery?, skip })
}

fn target(fields: &Fields<'_>) -> Option<Object> {
    fields.take("object").and_then(|node| object(node, &fields.child("object"), fields.problems()))
}

fn answer(fields: &Fields<'_>) -> Option<Answer> {
    let node = fields.take("answer")?;
    let found = match &node.kind {
        Kind::Scalar(Value::String(word)) => FATES.into_iter().find(|(known, _)| known == word).map(|(_, fate)| fate),
        Kind::Scalar(value) => {
            let code = ANSWERS.into_iter().find(|(code, _)| value.as_u64() == Some(u64::from(*code)));
            code.map(|(code, _)| Answer::Status(code))
        }
        _ => None,
    };
    if found.is_none() {
        let codes = ANSWERS.map(|(code, _)| code.to_string()).join(", ");
        let words = FATES.map(|(word, _)| word).join(", ");
        fields.wrong(format!("answer is {}; allowed: {codes}, {words}", describe(node)));
    }
    found
}

fn skip(fields: &Fields<'_>) -> usize {
    let skip = fields.count("skip").unwrap_or_default();
    if skip > MAX_TIMES {
        fields.wrong(format!("skip is {skip}; it is at most {MAX_TIMES}"));
    }
    skip
}

fn times(fields: &Fields<'_>) -> Option<usize> {
    let times = fields.count("times")?;
    if !(1..=MAX_TIMES).contains(&times) {
        fields.wrong(format!("times is {times}; it is from 1 to {MAX_TIMES}"));
    }
    Some(times)
}

pub(super) fn http_answer(node: &Node, path: &str, problems: &Problems) -> Option<http::Answer> {
    let fields = Fields::of(node, path, problems)?;
    let (method, url) = (method(&fields), fields.needed_text("url"));
    let status = fields.count("status").unwrap_or(200);
    if !(200..=599).contains(&status) {
        fields.wrong(format!("status is {status}; it is from 200 to 599"));
    }
    let fails = fields.word("fails", &FAILS.map(|(word, _)| word));
    let (headers, body) = (fields.texts("headers"), body(&fields));
    if fails.is_some() && ["status", "headers", "body", "json"].iter().any(|key| fields.take(key).is_some()) {
        fields.wrong("a request that fails has no response: leave `fails` out, or the others");
    }
    let (skip, times) = (skip(&fields), times(&fields));
    if skip > 0 && times.is_none() {
        fields.wrong("skip needs times: a response for all requests skips none");
    }
    let after = fields.take("after").and_then(|node| request(node, &fields.child("after"), problems));
    if after.is_some() && times.is_some() {
        fields.wrong("after is for all requests from then on: leave `times` out");
    }
    fields.finish();
    let reason = fails.and_then(|fails| FAILS.iter().find(|(word, _)| *word == fails)).map(|(_, reason)| *reason);
    let status = u16::try_from(status).unwrap_or_default();
    let response = reason.map_or_else(|| Ok(http::response(status, headers, body.unwrap_or_default())), Err);
    Some(http::Answer { method, url: url?.to_owned(), response, skip, times, after })
}

/// A method and a URL.
fn request(node: &Node, path: &str, problems: &Problems) -> Option<(String, String)> {
    let fields = Fields::of(node, path, problems)?;
    let (method, url) = (method(&fields), fields.needed_text("url"));
    fields.finish();
    Some((method, url?.to_owned()))
}
