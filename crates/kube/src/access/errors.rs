//! Errors of calls: the reason and the message for an HTTP response. Pure.
//!
//! A message never contains a request's body. The server's own `Status` is passed on unchanged.

use boathook_core::model::{CallError, CallReason};
use serde::Deserialize;

/// An error that was found before anything was sent.
pub(super) fn refused(reason: CallReason, message: impl Into<String>) -> CallError {
    CallError { reason, message: message.into(), code: None, status: None }
}

/// An error in the call itself.
pub(super) fn invalid(message: impl Into<String>) -> CallError {
    refused(CallReason::Invalid, message)
}

/// The reason for an HTTP status, and for the `reason` of the server's `Status` if it sent one.
///
/// 410 (an expired continue token) is `Other`: the call was correct, and has to start over.
pub(super) fn reason_of(code: u16, status_reason: &str) -> CallReason {
    match code {
        404 => CallReason::NotFound,
        409 if status_reason == "AlreadyExists" => CallReason::AlreadyExists,
        409 => CallReason::Conflict,
        400 | 405 | 406 | 415 | 422 => CallReason::Invalid,
        401 | 403 => CallReason::ForbiddenByCluster,
        413 => CallReason::TooLarge,
        408 | 504 => CallReason::Timeout,
        429 | 500..=599 => CallReason::Unavailable,
        _ => CallReason::Other,
    }
}

/// The fields of a `Status` that are used here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    kind: String,
    reason: String,
    message: String,
    details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    retry_after_seconds: u64,
}

impl Status {
    /// Parses an error's body. `None` if it is not a `Status`.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(body).ok().filter(|status| status.kind == "Status")
    }

    /// The pause that the server requests, in seconds.
    pub(super) fn retry_after(&self) -> Option<u64> {
        self.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0)
    }
}

/// The error for an HTTP response. `what` names the verb and the object.
pub(super) fn answered(what: &str, code: u16, body: &[u8]) -> CallError {
    let status = Status::read(body);
    let reason = reason_of(code, status.as_ref().map_or("", |status| &status.reason));
    let said = match &status {
        Some(status) if !status.message.is_empty() => status.message.clone(),
        _ => format!("the API server answered {code}"),
    };
    let hint = match code {
        410 => "; list again from the first page",
        // The refusals of RBAC contain this text. A webhook or a quota refuses with the same code.
        403 if said.contains("\" cannot ") => {
            "; forbidden-by-cluster: no role of the cluster allows it, and `boathook rbac --check` lists what is missing"
        }
        _ => "",
    };
    CallError {
        reason,
        message: format!("{what}: {said}{hint}"),
        code: Some(code),
        status: status.and_then(|_| String::from_utf8(body.to_vec()).ok()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_rbac_refuses_says_how_to_find_out_more() {
        let reported = |message: &str| {
            let status = serde_json::json!({"kind": "Status", "reason": "Forbidden", "message": message});
            answered("create Pod a/b", 403, status.to_string().as_bytes()).message
        };
        let rbac =
            "pods is forbidden: User \"x\" cannot create resource \"pods\" in API group \"\" in the namespace \"a\"";
        let said = reported(rbac);
        assert!(
            said.contains(rbac) && said.contains("forbidden-by-cluster") && said.contains("rbac --check"),
            "{said}"
        );
        let webhook = reported("admission webhook \"w\" denied the request: no");
        assert_eq!(webhook, "create Pod a/b: admission webhook \"w\" denied the request: no");
    }

    #[test]
    fn every_status_has_its_reason() {
        use CallReason as R;
        let table = [
            (400, "BadRequest", R::Invalid),
            (401, "Unauthorized", R::ForbiddenByCluster),
            (403, "Forbidden", R::ForbiddenByCluster),
            (404, "NotFound", R::NotFound),
            (404, "", R::NotFound),
            (405, "MethodNotAllowed", R::Invalid),
            (408, "", R::Timeout),
            (409, "AlreadyExists", R::AlreadyExists),
            (409, "Conflict", R::Conflict),
            (409, "", R::Conflict),
            (410, "Expired", R::Other),
            (413, "RequestEntityTooLarge", R::TooLarge),
            (415, "UnsupportedMediaType", R::Invalid),
            (422, "Invalid", R::Invalid),
            (429, "TooManyRequests", R::Unavailable),
            (500, "InternalError", R::Unavailable),
            (502, "", R::Unavailable),
            (503, "ServiceUnavailable", R::Unavailable),
            (504, "Timeout", R::Timeout),
            (301, "", R::Other),
            (418, "", R::Other),
        ];
        for (code, reason, wanted) in table {
            assert_eq!(reason_of(code, reason), wanted, "{code} {reason}");
        }
    }

    #[test]
    fn the_status_of_the_server_is_passed_on() {
        let body = br#"{"kind":"Status","reason":"AlreadyExists","message":"secrets \"a\" already exists","code":409}"#;
        let error = answered("create v1 Secret b/a", 409, body);
        assert_eq!(error.reason, CallReason::AlreadyExists);
        assert_eq!(error.message, "create v1 Secret b/a: secrets \"a\" already exists");
        assert_eq!((error.code, error.status.unwrap().as_bytes()), (Some(409), &body[..]));
    }

    #[test]
    fn an_answer_that_is_no_status_is_not_passed_on() {
        for body in [&b"<html>bad gateway</html>"[..], b"", b"{\"kind\":\"Secret\"}", b"\xff"] {
            let error = answered("get v1 Secret b/a", 502, body);
            assert_eq!(error.message, "get v1 Secret b/a: the API server answered 502");
            assert_eq!((error.reason, error.status), (CallReason::Unavailable, None));
        }
    }

    #[test]
    fn the_pause_that_a_status_asks_for_is_read() {
        let asked = |body: &str| Status::read(body.as_bytes()).unwrap().retry_after();
        assert_eq!(asked(r#"{"kind":"Status","details":{"retryAfterSeconds":3}}"#), Some(3));
        assert_eq!(asked(r#"{"kind":"Status","details":{"retryAfterSeconds":0}}"#), None);
        assert_eq!(asked(r#"{"kind":"Status","details":null}"#), None);
    }
}
