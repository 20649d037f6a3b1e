//! Writes views as HTTP responses in text, JSON or YAML, with the status that fits.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;

use super::{
    operator::Refused,
    render::{Style, Text},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    Text,
    #[default]
    Json,
    Yaml,
}

/// `queues.yaml` is the view `queues` as YAML. Without an extension it is JSON.
pub(super) fn split(file: &str) -> Result<(&str, Format), Refused> {
    match file.rsplit_once('.') {
        None => Ok((file, Format::Json)),
        Some((name, "json")) => Ok((name, Format::Json)),
        Some((name, "yaml")) => Ok((name, Format::Yaml)),
        Some((name, "text")) => Ok((name, Format::Text)),
        Some((_, other)) => Err(Refused::Bad(format!("{other:?} is no format: use text, json or yaml"))),
    }
}

pub(super) fn view<T: Serialize + Text>(view: &T, format: Format) -> Response {
    match format {
        Format::Text => plain(StatusCode::OK, view.text(Style::Plain)),
        Format::Json | Format::Yaml => data(view, format),
    }
}

/// Writes values that have no text form. They are written as JSON instead.
pub(super) fn data<T: Serialize>(value: &T, format: Format) -> Response {
    let written = match format {
        Format::Yaml => yaml_serde::to_string(value).map_err(|error| error.to_string()),
        Format::Text | Format::Json => {
            serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
        }
    };
    let kind = if format == Format::Yaml { "application/yaml" } else { "application/json" };
    match written {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("the answer can't be written: {error}\n")),
    }
}

pub(super) fn plain(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::UnknownHook { .. } | Self::UnknownBinding { .. } | Self::UnknownLetter(_) | Self::UnknownPath(_) => {
                StatusCode::NOT_FOUND
            }
            Self::Starting | Self::Ending => StatusCode::SERVICE_UNAVAILABLE,
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Unsupported(_) => StatusCode::NOT_IMPLEMENTED,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        plain(status, format!("{self}\n"))
    }
}
