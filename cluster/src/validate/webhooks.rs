//! Rules of webhook configurations.

use boathook_cel::match_condition;
use serde_json::Value;

use crate::field::Field;
use crate::names::{Naming, qualified_name};

/// Checks a configuration of either kind.
pub(super) fn configuration(configuration: &Field<'_>) {
    let mut names = Vec::new();
    for hook in configuration.each("webhooks") {
        self::hook(&hook);
        review_versions(&hook.at("admissionReviewVersions"));
        let name = hook.at("name");
        if !name.is_empty() {
            name.unique(&mut names);
        }
    }
}

fn hook(hook: &Field<'_>) {
    name(&hook.at("name"));
    hook.each("rules").for_each(|rule| self::rule(&rule));
    hook.at("failurePolicy").one_of(&["Fail", "Ignore"]);
    hook.at("matchPolicy").one_of(&["Equivalent", "Exact"]);
    let effects = hook.at("sideEffects");
    if !effects.is_set() {
        effects.required("must specify one of None, NoneOnDryRun");
    } else if !matches!(effects.text(), "None" | "NoneOnDryRun") {
        effects.unsupported(&["None", "NoneOnDryRun"]);
    }
    hook.at("timeoutSeconds").within(1..=30, "the timeout value must be between 1 and 30 seconds");
    hook.at("reinvocationPolicy").one_of(&["IfNeeded", "Never"]);
    client(&hook.at("clientConfig"));
    conditions(hook);
}

/// The name of a webhook must be a host name.
fn name(name: &Field<'_>) {
    if !name.need("") {
        return;
    }
    let problems = Naming::Subdomain.problems(name.text());
    if !problems.is_empty() {
        name.invalid(problems.join(","));
    } else if name.text().split('.').count() < 3 {
        name.invalid("should be a domain with at least three segments separated by dots");
    }
}

fn rule(rule: &Field<'_>) {
    let whole = |key: &str, what: &str| {
        let items = rule.at(key);
        if items.need("") && items.list().len() > 1 && items.list().contains(&"*".into()) {
            items.invalid(format!("if '*' is present, must not specify other {what}"));
        }
    };
    whole("operations", "operations");
    let known = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let unknown = rule.each("operations").filter(|operation| !known.contains(&operation.text()));
    unknown.for_each(|operation| operation.unsupported(&known));
    whole("apiGroups", "API groups");
    whole("apiVersions", "API versions");
    rule.at("resources").need("");
    rule.at("scope").one_of(&["*", "Cluster", "Namespaced"]);
}

fn client(client: &Field<'_>) {
    let (url, service) = (client.at("url"), client.at("service"));
    match (url.is_set(), service.is_object()) {
        (true, false) => self::url(&url),
        (false, true) => ["name", "namespace"].iter().for_each(|key| {
            service.at(key).need("");
        }),
        _ => client.required("exactly one of url or service is required"),
    }
}

fn url(url: &Field<'_>) {
    let form = "; desired format: https://host[/path]";
    let (scheme, rest) = url.text().split_once("://").unwrap_or(("", url.text()));
    if scheme != "https" {
        url.invalid_as(scheme, format!("'https' is the only allowed URL scheme{form}"));
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if scheme.is_empty() || authority.is_empty() {
        url.invalid_as("", format!("host must be specified{form}"));
    }
    if let Some((user, _)) = authority.split_once('@') {
        url.invalid_as(user, "user information is not permitted in the URL");
    }
    let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
    if let Some(fragment) = fragment {
        url.invalid_as(fragment, "fragments are not permitted in the URL");
    }
    if let Some((_, query)) = rest.split_once('?').filter(|(_, query)| !query.is_empty()) {
        url.invalid_as(query, "query parameters are not permitted in the URL");
    }
}

fn review_versions(all: &Field<'_>) {
    let versions = all.list();
    if !all.need("must specify one of v1, v1beta1") {
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        if versions.iter().take(index).any(|earlier| earlier == version) {
            all.entry(&index.to_string()).invalid_as(version.clone(), "duplicate version");
        }
    }
    if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        all.invalid_as(Value::from(versions), "must include at least one of v1, v1beta1");
    }
}

fn conditions(hook: &Field<'_>) {
    let mut names = Vec::new();
    for condition in hook.each("matchConditions") {
        let (expression, name) = (condition.at("expression"), condition.at("name"));
        let text = expression.text().trim();
        if text.is_empty() {
            expression.required("");
        } else if let Err(why) = match_condition(text) {
            expression.invalid_as(text, why);
        }
        if name.need("") {
            name.check(qualified_name);
            name.unique(&mut names);
        }
    }
}
