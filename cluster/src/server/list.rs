//! GET of objects and lists: revisions, selectors, pages. A list and all of its pages show one revision.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine};
use http::Response;
use serde_json::{Value, json};

use super::call::{Call, Params};
use super::render;
use super::render::ListMeta;
use super::respond::{Body, Shape};
use crate::kinds::Resource;
use crate::selectors::{FieldSelector, LabelSelector, Selection};
use crate::status::{Cause, Failure};
use crate::store::{OutOfRange, Query};
use crate::{conversion, json};

pub(crate) async fn get(call: &Call<'_>) -> Result<Response<Body>, Failure> {
    let resource = call.resource;
    call.accept.check(false, &internal_type(resource))?;
    check_table(call)?;
    if let Some(asked) = revision(&call.params.resource_version)? {
        let current = call.shared.store.revision();
        if asked > current {
            return Err(Failure::future_revision(asked, current));
        }
    }
    let found = call.found().await?;
    Ok(render::one(200, resource, &found.seen, call.params, call.accept))
}

/// The Go type of an object in the real server, for error texts.
pub(crate) fn internal_type(resource: &Resource) -> String {
    if resource.custom.is_some() {
        return "*unstructured.Unstructured".to_owned();
    }
    let package = match resource.group.split('.').next() {
        None | Some("" | "events") => "core",
        Some(package) => package,
    };
    format!("*{package}.{}", resource.kind)
}

/// The value of `includeObject` for tables must be one of a fixed set.
fn check_table(call: &Call<'_>) -> Result<(), Failure> {
    let include = &call.params.include_object;
    if call.accept.shape == Shape::Table && !matches!(include.as_str(), "" | "Metadata" | "Object" | "None") {
        return Err(Failure::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: \"{include}\": must be 'Metadata', \
             'Object', 'None', or empty"
        )));
    }
    Ok(())
}

/// Parses a resourceVersion. An empty one is none.
pub(crate) fn revision(text: &str) -> Result<Option<u64>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let parsed: Result<u64, _> = text.parse();
    let wrong =
        format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax");
    parsed.map(Some).map_err(|_| Failure::internal(wrong))
}

pub(crate) fn selection(resource: &Resource, params: &Params) -> Result<Selection, Failure> {
    Ok(Selection {
        labels: LabelSelector::parse(&params.label_selector)?,
        fields: FieldSelector::parse(&params.field_selector, |path| resource.field_problem(path))?,
    })
}

/// The prefix of all keys in a namespace. Empty for all namespaces.
pub(crate) fn prefix(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!("{namespace}/") }
}

struct Start {
    at: Option<u64>,
    after: Option<String>,
    limit: usize,
}

fn options_problem(field: &str, why: &str) -> Failure {
    Failure::invalid("meta.k8s.io", "ListOptions", "", &[Cause::forbidden(field, why)])
}

fn start(params: &Params, current: u64) -> Result<Start, Failure> {
    let version = revision(&params.resource_version)
        .map_err(|failure| Failure::bad_request(format!("invalid resource version: {}", failure.message())))?;
    let matching = params.resource_version_match.as_str();
    if params.send_initial_events.is_some() {
        return Err(options_problem("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if !matches!(matching, "" | "Exact" | "NotOlderThan") {
        let supported = ["Exact", "NotOlderThan", ""];
        let cause = Cause::unsupported("resourceVersionMatch", &matching.into(), &supported);
        return Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &[cause]));
    }
    if !matching.is_empty() {
        let exact_any = matching == "Exact" && version == Some(0);
        let problems = [
            (version.is_none(), "resourceVersionMatch is forbidden unless resourceVersion is provided"),
            (!params.continue_token.is_empty(), "resourceVersionMatch is forbidden when continue is provided"),
            (exact_any, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""),
        ];
        let causes: Vec<Cause> = problems
            .iter()
            .filter(|(wrong, _)| *wrong)
            .map(|(_, why)| Cause::forbidden("resourceVersionMatch", why))
            .collect();
        if !causes.is_empty() {
            return Err(Failure::invalid("meta.k8s.io", "ListOptions", "", &causes));
        }
    }
    if !params.continue_token.is_empty() {
        if version.is_some_and(|v| v != 0) {
            return Err(Failure::bad_request("specifying resource version is not allowed when using continue"));
        }
        let (at, after) = decode_continue(&params.continue_token)?;
        return Ok(Start { at, after: Some(after), limit: params.limit });
    }
    if let Some(asked) = version.filter(|v| *v > current) {
        return Err(Failure::future_revision(asked, current));
    }
    // The real server answers "any version" from a cache, which does not support pages.
    let limit = if version == Some(0) { 0 } else { params.limit };
    Ok(Start { at: version.filter(|_| matching == "Exact"), after: None, limit })
}

fn encode_continue(revision: Option<u64>, last: &str) -> String {
    let rv = revision.map_or(-1, |r| i64::try_from(r).unwrap_or(i64::MAX));
    let token = json!({ "v": "meta.k8s.io/v1", "rv": rv, "start": format!("{last}\u{0}") });
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn decode_continue(token: &str) -> Result<(Option<u64>, String), Failure> {
    let invalid =
        |why: String| Failure::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes = URL_SAFE_NO_PAD.decode(token.trim_end_matches('=')).map_err(|error| {
        let at = match error {
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. } => at,
            _ => token.len(),
        };
        invalid(format!("illegal base64 data at input byte {at}"))
    })?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|e| invalid(json::error(&e, &bytes)))?;
    let version = json::text(&value, &["v"]);
    if version != "meta.k8s.io/v1" {
        return Err(invalid(format!("server does not recognize this encoded version {version}")));
    }
    let empty = || invalid(format!("encoded start key empty (version {version})"));
    let last = json::text(&value, &["start"]).strip_suffix('\u{0}').ok_or_else(empty)?;
    let rv = json::int(&value, &["rv"]).unwrap_or_default();
    Ok((u64::try_from(rv).ok(), last.to_owned()))
}

pub(crate) async fn list(call: &Call<'_>) -> Result<Response<Body>, Failure> {
    let Call { shared, resource, params, .. } = call;
    call.accept.check(true, "")?;
    check_table(call)?;
    let selection = selection(resource, params)?;
    let start = start(params, shared.store.revision())?;
    let prefix = prefix(call.namespace);
    let query = Query {
        prefix: &prefix,
        after: start.after.as_deref(),
        at: start.at,
        limit: start.limit,
        matches: &|object| selection.matches(object),
    };
    let page = shared.store.list(&resource.storage, &query).map_err(|problem| match problem {
        OutOfRange::Expired { .. } => match &start.after {
            Some(last) => Failure::continue_expired(&encode_continue(None, last)),
            None => Failure::expired("The resourceVersion for the provided list is too old."),
        },
        OutOfRange::Future { current } => Failure::future_revision(start.at.unwrap_or_default(), current),
    })?;
    let more = page.remaining > 0;
    let next = page.items.last().filter(|_| more).map(|last| encode_continue(Some(page.revision), &last.key));
    let remaining = (more && selection.is_everything()).then_some(page.remaining);
    let meta = ListMeta { revision: page.revision, next, remaining };
    let items = conversion::all(shared, resource, page.items).await?;
    Ok(render::list(resource, items, &meta, params, call.accept))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn continue_tokens_come_back() {
        let token = encode_continue(Some(7), "a/b");
        assert_eq!(decode_continue(&token).unwrap(), (Some(7), "a/b".to_owned()));
        assert_eq!(decode_continue(&encode_continue(None, "x")).unwrap(), (None, "x".to_owned()));
        for bad in ["%%%", "e30", "bm90anNvbg"] {
            assert_eq!(decode_continue(bad).unwrap_err().code(), 400);
        }
    }
}
