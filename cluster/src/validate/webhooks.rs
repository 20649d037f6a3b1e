//! Rules of webhook configurations.

use std::collections::HashSet;

use serde_json::Value;

use super::pods::one_of;
use crate::json::{at, int, list, text};
use crate::names::{Naming, qualified_name};
use crate::status::Cause;
use boathook_cel::match_condition;

/// The problems of a configuration of either kind.
pub(super) fn configuration(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut names = HashSet::new();
    for (index, hook) in list(object, &["webhooks"]).iter().enumerate() {
        let path = format!("webhooks[{index}]");
        self::hook(hook, &path, &mut causes);
        review_versions(hook, &format!("{path}.admissionReviewVersions"), &mut causes);
        let name = text(hook, &["name"]);
        if !name.is_empty() && !names.insert(name) {
            causes.push(Cause::duplicate(format!("{path}.name"), name));
        }
    }
    causes
}

fn hook(hook: &Value, path: &str, causes: &mut Vec<Cause>) {
    name(text(hook, &["name"]), &format!("{path}.name"), causes);
    for (index, rule) in list(hook, &["rules"]).iter().enumerate() {
        self::rule(rule, &format!("{path}.rules[{index}]"), causes);
    }
    one_of(hook, "failurePolicy", path, &["Fail", "Ignore"], causes);
    one_of(hook, "matchPolicy", path, &["Equivalent", "Exact"], causes);
    let field = format!("{path}.sideEffects");
    match hook.get("sideEffects").and_then(Value::as_str) {
        None => causes.push(Cause::required(field, "must specify one of None, NoneOnDryRun")),
        Some("None" | "NoneOnDryRun") => {}
        Some(other) => causes.push(Cause::unsupported(field, &other.into(), &["None", "NoneOnDryRun"])),
    }
    if let Some(seconds) = int(hook, &["timeoutSeconds"]).filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(format!("{path}.timeoutSeconds"), &seconds.into(), why));
    }
    one_of(hook, "reinvocationPolicy", path, &["IfNeeded", "Never"], causes);
    client(hook, &format!("{path}.clientConfig"), causes);
    conditions(hook, &format!("{path}.matchConditions"), causes);
}

/// The name of a webhook must be a host name.
fn name(name: &str, field: &str, causes: &mut Vec<Cause>) {
    if name.is_empty() {
        return causes.push(Cause::required(field, ""));
    }
    let problems = Naming::Subdomain.problems(name);
    if !problems.is_empty() {
        causes.push(Cause::invalid(field, &name.into(), problems.join(",")));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        causes.push(Cause::invalid(field, &name.into(), why));
    }
}

fn rule(rule: &Value, path: &str, causes: &mut Vec<Cause>) {
    let whole = |key: &str, what: &str, causes: &mut Vec<Cause>| {
        let (field, items) = (format!("{path}.{key}"), list(rule, &[key]));
        if items.is_empty() {
            causes.push(Cause::required(field, ""));
        } else if items.len() > 1 && items.contains(&"*".into()) {
            let why = format!("if '*' is present, must not specify other {what}");
            causes.push(Cause::invalid(field, &Value::from(items), why));
        }
    };
    whole("operations", "operations", causes);
    let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for (index, operation) in list(rule, &["operations"]).iter().enumerate() {
        if !operation.as_str().is_some_and(|operation| known.contains(&operation)) {
            causes.push(Cause::unsupported(format!("{path}.operations[{index}]"), operation, &known));
        }
    }
    whole("apiGroups", "API groups", causes);
    whole("apiVersions", "API versions", causes);
    if list(rule, &["resources"]).is_empty() {
        causes.push(Cause::required(format!("{path}.resources"), ""));
    }
    one_of(rule, "scope", path, &["*", "Cluster", "Namespaced"], causes);
}

fn client(hook: &Value, field: &str, causes: &mut Vec<Cause>) {
    let url = at(hook, &["clientConfig", "url"]).and_then(Value::as_str);
    let service = at(hook, &["clientConfig", "service"]).filter(|service| service.is_object());
    match (url, service) {
        (Some(url), None) => self::url(url, &format!("{field}.url"), causes),
        (None, Some(service)) => {
            for key in ["name", "namespace"] {
                if text(service, &[key]).is_empty() {
                    causes.push(Cause::required(format!("{field}.service.{key}"), ""));
                }
            }
        }
        _ => causes.push(Cause::required(field, "exactly one of url or service is required")),
    }
}

fn url(url: &str, field: &str, causes: &mut Vec<Cause>) {
    let form = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{form}");
        causes.push(Cause::invalid(field, &scheme.into(), why));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if scheme.is_empty() || authority.is_empty() {
        causes.push(Cause::invalid(field, &"".into(), format!("host must be specified{form}")));
    }
    if let Some((user, _)) = authority.split_once('@') {
        causes.push(Cause::invalid(field, &user.into(), "user information is not permitted in the URL"));
    }
    if let Some((_, fragment)) = rest.split_once('#') {
        causes.push(Cause::invalid(field, &fragment.into(), "fragments are not permitted in the URL"));
    }
    let query = rest.split('#').next().and_then(|rest| rest.split_once('?')).map(|(_, query)| query);
    if let Some(query) = query.filter(|query| !query.is_empty()) {
        causes.push(Cause::invalid(field, &query.into(), "query parameters are not permitted in the URL"));
    }
}

fn review_versions(hook: &Value, field: &str, causes: &mut Vec<Cause>) {
    let versions = list(hook, &["admissionReviewVersions"]);
    if versions.is_empty() {
        return causes.push(Cause::required(field, "must specify one of v1, v1beta1"));
    }
    for (index, version) in versions.iter().enumerate() {
        if versions.iter().take(index).any(|earlier| earlier == version) {
            causes.push(Cause::invalid(format!("{field}[{index}]"), version, "duplicate version"));
        }
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        causes.push(Cause::invalid(field, &Value::from(versions), why));
    }
}

fn conditions(hook: &Value, field: &str, causes: &mut Vec<Cause>) {
    let mut names = HashSet::new();
    for (index, condition) in list(hook, &["matchConditions"]).iter().enumerate() {
        let field = format!("{field}[{index}]");
        let expression = text(condition, &["expression"]).trim();
        if expression.is_empty() {
            causes.push(Cause::required(format!("{field}.expression"), ""));
        } else if let Err(why) = match_condition(expression) {
            causes.push(Cause::invalid(format!("{field}.expression"), &expression.into(), why));
        }
        let name = text(condition, &["name"]);
        if name.is_empty() {
            causes.push(Cause::required(format!("{field}.name"), ""));
            continue;
        }
        for why in qualified_name(name) {
            causes.push(Cause::invalid(format!("{field}.name"), &name.into(), why));
        }
        if !names.insert(name) {
            causes.push(Cause::duplicate(format!("{field}.name"), name));
        }
    }
}
