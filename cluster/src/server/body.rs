//! Request bodies: size limit, content types, JSON and YAML.
//!
//! Never interprets what it decoded.

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use crate::kinds::schema::Schema;
use crate::proto;
use crate::status::Failure;

const ACCEPTED: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// The media type of a request, without parameters; JSON when none is given.
pub(crate) fn media_type(request: &Request<Incoming>) -> String {
    let header = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    match header.split(';').next().map(str::trim) {
        None | Some("") => "application/json".to_owned(),
        Some(media) => media.to_ascii_lowercase(),
    }
}

/// Reads the whole body, up to `limit` bytes.
pub(crate) async fn read(request: Request<Incoming>, limit: usize) -> Result<Bytes, Failure> {
    match Limited::new(request.into_body(), limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Failure::too_large(limit)),
        Err(error) => Err(Failure::bad_request(format!(
            "the request body could not be read: {error}"
        ))),
    }
}

/// Decodes a whole object in JSON or YAML; `kind` is what the path expects.
pub(crate) fn object(
    bytes: &Bytes,
    media: &str,
    kind: &str,
    schema: &Schema,
) -> Result<Value, Failure> {
    let decoded = match media {
        "application/json" => {
            serde_json::from_slice(bytes).map_err(|e| format!("json parse error: {e}"))
        }
        "application/yaml" | "text/yaml" | "application/x-yaml" => yaml(bytes),
        "application/vnd.kubernetes.protobuf" => {
            proto::decode(schema, bytes).map_err(|e| e.to_string())
        }
        _ => return Err(Failure::unsupported_media(ACCEPTED)),
    };
    let unusable = |why: String| {
        let start: String = String::from_utf8_lossy(bytes.get(..30).unwrap_or(bytes)).into_owned();
        Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {why} ({})",
            start.escape_debug()
        ))
    };
    match decoded {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(unusable(
            "json parse error: the document is not an object".to_owned(),
        )),
        Err(why) => Err(unusable(why)),
    }
}

/// Decodes YAML into JSON's data model.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Value, String> {
    // JSON is YAML, and the JSON parser is many times faster.
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(value);
    }
    yaml_serde::from_slice(bytes).map_err(|e| format!("yaml parse error: {e}"))
}
