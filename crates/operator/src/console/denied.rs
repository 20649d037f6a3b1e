//! Why a request for data is refused, in words for the visitor.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::TEXT;

/// A user sees the console who may `get` this non-resource URL.
pub(super) const PATH: &str = "/boathook/console";

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Denied {
    #[error("the console needs a token: send it as `Authorization: Bearer TOKEN`")]
    NoToken,
    #[error("the API server does not accept this token: get a new one, for example with `kubectl create token`")]
    BadToken,
    #[error("this is not the secret of this console: open the address that `boathook dev` printed")]
    BadSecret,
    #[error("{user} may not see the console: allow this user to get the non-resource URL {PATH}")]
    Forbidden { user: String },
    #[error("the operator cannot ask the API server about this token: its log says why")]
    NoAnswer,
    #[error("too many tokens are being checked: try again")]
    Busy,
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::NoToken | Self::BadToken | Self::BadSecret => StatusCode::UNAUTHORIZED,
            Self::Forbidden { .. } => StatusCode::FORBIDDEN,
            Self::NoAnswer | Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        };
        let mut response = (status, [(header::CONTENT_TYPE, TEXT)], format!("{self}\n")).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
