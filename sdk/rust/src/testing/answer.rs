//! Failures of calls, in the words and with the codes that a real host passes on.
//!
//! Pure.

use super::patch::Refused;
use crate::bindings::boathook::hook::kube::{Failure, Reason as Wire};
use crate::kube::Reason;
use serde_json::json;

pub(super) fn failure(reason: Reason, message: impl Into<String>) -> Failure {
    let (wire, code, word) = of(reason);
    let message = message.into();
    let status = code.map(|code| {
        let status =
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": word, "message": message, "code": code});
        status.to_string()
    });
    Failure { reason: wire, message, code, status }
}

/// What the hook asked for is wrong in itself: no server was asked.
pub(super) fn invalid(message: impl Into<String>) -> Failure {
    Failure { reason: Wire::Invalid, message: message.into(), code: None, status: None }
}

/// A namespace that is being deleted takes nothing in.
pub(super) fn terminating(namespace: &str) -> Failure {
    let message = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": message, "code": 403,
        "details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]},
    });
    Failure { reason: Wire::ForbiddenByCluster, message, code: Some(403), status: Some(status.to_string()) }
}

/// The in-memory host cannot do it. The test fails at the end of the run, whatever the hook makes of this answer.
pub(super) fn unable(what: &str) -> Failure {
    let message = format!("{UNABLE} {what}: show it by a scenario, which `boathook test` plays on an API server");
    Failure { reason: Wire::Other, message, code: None, status: None }
}

/// How the text of [`unable`] begins.
pub(super) const UNABLE: &str = "the in-memory host of tests cannot do";

pub(super) fn refused(what: &str, refused: Refused) -> Failure {
    match refused {
        Refused::Wrong(text) => failure(Reason::Invalid, format!("{what}: {text}")),
        Refused::Conflict(text) => failure(Reason::Conflict, format!("{what}: {text}")),
        Refused::Unknown(text) => unable(&text),
    }
}

fn of(reason: Reason) -> (Wire, Option<u16>, &'static str) {
    match reason {
        Reason::NotFound => (Wire::NotFound, Some(404), "NotFound"),
        Reason::AlreadyExists => (Wire::AlreadyExists, Some(409), "AlreadyExists"),
        Reason::Conflict => (Wire::Conflict, Some(409), "Conflict"),
        Reason::Invalid => (Wire::Invalid, Some(422), "Invalid"),
        Reason::ForbiddenByGrant => (Wire::ForbiddenByGrant, None, ""),
        Reason::ForbiddenByCluster => (Wire::ForbiddenByCluster, Some(403), "Forbidden"),
        Reason::TooLarge => (Wire::TooLarge, Some(413), "RequestEntityTooLarge"),
        Reason::Timeout => (Wire::Timeout, Some(504), "Timeout"),
        Reason::BudgetExceeded => (Wire::BudgetExceeded, None, ""),
        Reason::Unavailable => (Wire::Unavailable, Some(503), "ServiceUnavailable"),
        Reason::UnexpectedShape | Reason::Other => (Wire::Other, None, ""),
    }
}

/// The reason in the word that logs, metrics and scenarios have for it.
pub(super) fn word(reason: Wire) -> &'static str {
    match reason {
        Wire::NotFound => "not-found",
        Wire::AlreadyExists => "already-exists",
        Wire::Conflict => "conflict",
        Wire::Invalid => "invalid",
        Wire::ForbiddenByGrant => "forbidden-by-grant",
        Wire::ForbiddenByCluster => "forbidden-by-cluster",
        Wire::TooLarge => "too-large",
        Wire::Timeout => "timeout",
        Wire::BudgetExceeded => "budget-exceeded",
        Wire::Unavailable => "unavailable",
        Wire::Other => "other",
    }
}
