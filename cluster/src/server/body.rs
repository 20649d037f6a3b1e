//! Decodes request bodies: size limit, content types, JSON and YAML.

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;

use super::call::Call;
use super::repeated;
use crate::context::Validation;
use crate::json;
use crate::kinds::schema::Schema;
use crate::proto;
use crate::status::Failure;
use crate::validate;

const ACCEPTED: &[&str] = &["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The media type of a request, without parameters. JSON if there is none.
pub(crate) fn media_type(request: &Request<Incoming>) -> String {
    let header = request.headers().get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
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
        Err(error) => Err(Failure::bad_request(format!("the request body could not be read: {error}"))),
    }
}

/// Decodes a whole object from JSON, YAML or protobuf. `kind` is the kind that the path expects.
pub(crate) fn object(bytes: &Bytes, media: &str, kind: &str, schema: &Schema) -> Result<Value, Failure> {
    let decoded = match media {
        "application/json" => {
            serde_json::from_slice(bytes).map_err(|e| format!("json parse error: {}", json::error(&e, bytes)))
        }
        "application/yaml" | "text/yaml" | "application/x-yaml" => yaml(bytes),
        "application/vnd.kubernetes.protobuf" => proto::decode(schema, bytes).map_err(|e| e.to_string()),
        _ => return Err(Failure::unsupported_media(ACCEPTED)),
    };
    let unusable = |why: String| {
        Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; {why} ({})",
            summary(bytes)
        ))
    };
    match decoded {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(other) => {
            let got = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            Err(unusable(format!(
                "json parse error: json: cannot unmarshal {got} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            )))
        }
        Err(why) => Err(unusable(why)),
    }
}

/// Decodes an object to write. Duplicate keys are refused or reported as warnings, as the request demands.
pub(crate) fn written(bytes: &Bytes, media: &str, call: &Call<'_>) -> Result<(Value, Vec<String>), Failure> {
    let resource = call.resource;
    let object = object(bytes, media, &resource.kind, &resource.schema)?;
    if call.params.field_validation == Validation::Ignore {
        return Ok((object, Vec::new()));
    }
    let repeated = repeated::keys(bytes, media);
    if repeated.is_empty() || call.params.field_validation == Validation::Warn {
        return Ok((object, repeated));
    }
    let which = match media {
        "application/json" => repeated.join(", "),
        _ => format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  ")),
    };
    let mut typed = object;
    resource.to_storage(&mut typed);
    let unknown = validate::typed::check(resource, &mut typed).unwrap_or_default();
    let which = [unknown, vec![which]].concat().join(", ");
    let (kind, version) = (&resource.kind, &resource.version);
    let whole = format!("{kind} in version \"{version}\" cannot be handled as a {kind}");
    Err(Failure::bad_request(format!("{whole}: strict decoding error: {which}")))
}

/// The start of a body: as text if it looks like JSON, otherwise in hex.
fn summary(bytes: &[u8]) -> String {
    let shown = bytes.get(..30);
    let head = shown.unwrap_or(bytes);
    let more = if shown.is_some() { " ..." } else { "" };
    match head.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(head)),
        Some(_) => format!("{}{more}", head.iter().map(|b| format!("{b:02x}")).collect::<String>()),
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
