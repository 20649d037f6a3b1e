//! Reviews of identity: of the client itself, or of the bearer of a token.

use serde_json::{Map, Value, json};

use super::{add, set_status};
use crate::auth::tokens::ISSUER;
use crate::json::{list, text};
use crate::server::Call;
use crate::status::Failure;

/// SelfSubjectReview.
pub(super) fn who_am_i(call: &Call<'_>, review: &Value) -> Value {
    json!({
        "kind": text(review, &["kind"]), "apiVersion": text(review, &["apiVersion"]),
        "metadata": { "creationTimestamp": crate::time::seconds(crate::time::now()) },
        "status": { "userInfo": call.user.info() },
    })
}

/// TokenReview.
pub(super) fn review(call: &Call<'_>, review: &mut Value) -> Result<(), Failure> {
    let token = text(review, &["spec", "token"]);
    if token.is_empty() {
        return Err(Failure::bad_request("token is required for TokenReview in authentication"));
    }
    let asked = list(review, &["spec", "audiences"]).iter().filter_map(Value::as_str).map(str::to_owned);
    let mut audiences: Vec<String> = asked.collect();
    if audiences.is_empty() {
        audiences.push(ISSUER.to_owned());
    }
    let mut status = Map::new();
    match call.shared.auth.of_token(&call.shared.store, token, &audiences) {
        Ok((user, audiences)) => {
            add(&mut status, "authenticated", true);
            status.insert("user".into(), user.info());
            add(&mut status, "audiences", audiences);
        }
        Err(refused) => {
            status.insert("user".into(), json!({}));
            add(&mut status, "error", refused.to_string());
        }
    }
    set_status(review, status);
    Ok(())
}
