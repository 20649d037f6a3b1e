//! Validates the conversion of a definition.

use serde_json::Value;

use crate::json;
use crate::status::Cause;

/// Versions of ConversionReview that the server can send.
const REVIEWS: &[&str] = &["v1", "v1beta1"];

pub(super) fn check(definition: &Value, causes: &mut Vec<Cause>) {
    let Some(conversion) = json::at(definition, &["spec", "conversion"]) else {
        return;
    };
    let client = json::at(conversion, &["webhook", "clientConfig"]).filter(|client| client.is_object());
    let reviews = json::list(conversion, &["webhook", "conversionReviewVersions"]);
    match json::text(conversion, &["strategy"]) {
        "Webhook" => {
            match client {
                Some(client) => client_config(client, causes),
                None => {
                    let why = "required when strategy is set to Webhook";
                    causes.push(Cause::required("spec.conversion.webhookClientConfig", why));
                }
            }
            review_versions(reviews, causes);
        }
        "None" => {
            let why = "should not be set when strategy is not set to Webhook";
            if client.is_some() {
                causes.push(Cause::forbidden("spec.conversion.webhookClientConfig", why));
            }
            if !reviews.is_empty() {
                causes.push(Cause::forbidden("spec.conversion.conversionReviewVersions", why));
            }
        }
        "" => causes.push(Cause::required("spec.conversion.strategy", "")),
        other => causes.push(Cause::unsupported("spec.conversion.strategy", &other.into(), &["None", "Webhook"])),
    }
}

fn client_config(client: &Value, causes: &mut Vec<Cause>) {
    let field = "spec.conversion.webhookClientConfig";
    let service = client.get("service").filter(|service| service.is_object());
    match (client.get("url").and_then(Value::as_str), service) {
        (Some(url), None) => {
            let scheme = url.split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
            if scheme != "https" {
                let why = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
                causes.push(Cause::invalid(format!("{field}.url"), &scheme.into(), why));
            }
        }
        (None, Some(service)) => {
            for key in ["name", "namespace"] {
                if json::text(service, &[key]).is_empty() {
                    causes.push(Cause::required(format!("{field}.service.{key}"), "service name is required"));
                }
            }
        }
        _ => causes.push(Cause::required(field, "exactly one of url or service is required")),
    }
}

fn review_versions(reviews: &[Value], causes: &mut Vec<Cause>) {
    let field = "spec.conversion.conversionReviewVersions";
    if reviews.is_empty() {
        causes.push(Cause::required(field, ""));
    } else if !reviews.iter().filter_map(Value::as_str).any(|version| REVIEWS.contains(&version)) {
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        causes.push(Cause::invalid(field, &Value::from(reviews), why));
    }
}
