//! Reads the bindings of webhooks. What the API server would refuse when an admission webhook is registered is refused
//! here, with its place. CEL is read only as text, because the code that loads the hook compiles it.

use std::{collections::HashSet, sync::Arc, time::Duration};

use serde_json::Value;

use super::{
    fields::{Fields, quoted},
    print::label_selector,
    schedule, selector,
};
use crate::model::{
    AdmissionBinding, AdmissionKind, AdmissionRule, BindingName, ConversionBinding, ConversionRule, FailurePolicy,
    MatchCondition, MatchPolicy, ReinvocationPolicy, SideEffects,
};

const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];
const SCOPES: [(&str, &str); 3] = [("Cluster", "Cluster"), ("Namespaced", "Namespaced"), ("*", "*")];
/// The API server's limit.
const MAX_CONDITIONS: usize = 64;

/// `kubernetesValidating[]` and `kubernetesMutating[]`.
pub(super) fn admission(fields: &Fields<'_, '_>, kind: AdmissionKind) -> AdmissionBinding {
    let policies = [("Ignore", FailurePolicy::Ignore), ("Fail", FailurePolicy::Fail)];
    let effects = [("None", SideEffects::None), ("NoneOnDryRun", SideEffects::NoneOnDryRun)];
    let matching = [("Exact", MatchPolicy::Exact), ("Equivalent", MatchPolicy::Equivalent)];
    let again = [("Never", ReinvocationPolicy::Never), ("IfNeeded", ReinvocationPolicy::IfNeeded)];
    fields.need("rules", Some(()));
    let seconds = fields.integer_in("timeoutSeconds", 1, 30).and_then(|seconds| u64::try_from(seconds).ok());
    let (namespace_selector, include_system) =
        fields.fields("namespace").map(|namespace| namespaces(&namespace)).unwrap_or_default();
    let binding = AdmissionBinding {
        kind,
        name: name(fields),
        rules: fields.items("rules").map(|rule| self::rule(&rule)).collect(),
        failure_policy: fields.word("failurePolicy", &policies).unwrap_or_default(),
        side_effects: fields.word("sideEffects", &effects).unwrap_or_default(),
        timeout: Duration::from_secs(seconds.unwrap_or(10)),
        match_conditions: conditions(fields),
        match_policy: fields.word("matchPolicy", &matching).unwrap_or_default(),
        reinvocation_policy: match kind {
            AdmissionKind::Validating => ReinvocationPolicy::Never,
            AdmissionKind::Mutating => fields.word("reinvocationPolicy", &again).unwrap_or_default(),
        },
        object_selector: fields.fields("labelSelector").and_then(|selector| labels(&selector)),
        namespace_selector,
        include_system,
        audit_annotations: annotations(fields),
        group: schedule::group(fields),
        include_snapshots_from: schedule::include_snapshots_from(fields),
    };
    fields.finish();
    binding
}

/// The name of a webhook: a domain name of at least three parts.
fn name(fields: &Fields<'_, '_>) -> BindingName {
    let name = fields.required_string("name").unwrap_or_default();
    let valid = name.is_empty() || (selector::is_subdomain(name) && name.split('.').count() >= 3);
    fields.check(valid, "name", || {
        format!(
            "is {}; a webhook's name is a domain name of three parts or more, like \"image-policy.example.com\"",
            quoted(name)
        )
    });
    BindingName::new(name)
}

fn labels(fields: &Fields<'_, '_>) -> Option<Value> {
    selector::labels(fields).as_deref().map(label_selector)
}

/// `namespace`: the selector, and whether it includes system namespaces.
fn namespaces(fields: &Fields<'_, '_>) -> (Option<Value>, bool) {
    let selector = fields.fields("labelSelector").and_then(|selector| labels(&selector));
    let include_system = fields.boolean("includeSystem").unwrap_or(false);
    fields.finish();
    (selector, include_system)
}

fn rule(fields: &Fields<'_, '_>) -> AdmissionRule {
    let needed = |key| fields.need(key, fields.some_strings(key)).unwrap_or_default();
    let rule = AdmissionRule {
        api_groups: needed("apiGroups"),
        api_versions: needed("apiVersions"),
        resources: needed("resources"),
        operations: needed("operations"),
        scope: fields.word("scope", &SCOPES).unwrap_or("*").to_owned(),
    };
    for (i, operation) in rule.operations.iter().enumerate() {
        fields.check(OPERATIONS.contains(&operation.as_str()), &format!("operations[{i}]"), || {
            format!("is {}; allowed: {}", quoted(operation), OPERATIONS.join(", "))
        });
    }
    for (key, texts) in
        [("apiGroups", &rule.api_groups), ("apiVersions", &rule.api_versions), ("operations", &rule.operations)]
    {
        let alone = texts.len() == 1 || texts.iter().all(|text| text != "*");
        fields.check(alone, key, || "has \"*\", which stands for all, and others; write one of them".to_owned());
    }
    filled(fields, "apiVersions", &rule.api_versions);
    filled(fields, "resources", &rule.resources);
    resources(fields, &rule.resources);
    fields.finish();
    rule
}

fn filled(fields: &Fields<'_, '_>, key: &'static str, texts: &[String]) {
    for (i, _) in texts.iter().enumerate().filter(|(_, text)| text.is_empty()) {
        fields.wrong(&format!("{key}[{i}]"), "is empty");
    }
}

/// Wildcards must not name a resource a second time.
fn resources(fields: &Fields<'_, '_>, resources: &[String]) {
    let has = |wanted: &str| resources.iter().any(|resource| resource == wanted);
    for (i, resource) in resources.iter().enumerate() {
        let (name, subresource) = match resource.split_once('/') {
            Some((name, subresource)) => (name, Some(subresource)),
            None => (resource.as_str(), None),
        };
        let wider = match subresource {
            _ if resource == "*/*" => None,
            _ if has("*/*") => Some("*/*".to_owned()),
            None => (resource != "*" && has("*")).then(|| "*".to_owned()),
            Some(subresource) => {
                let all_of_it = format!("{name}/*");
                let of_all = format!("*/{subresource}");
                let by = |wider: String| (*resource != wider && has(&wider)).then_some(wider);
                by(all_of_it).or_else(|| by(of_all))
            }
        };
        if let Some(wider) = wider {
            fields.wrong(&format!("resources[{i}]"), format!("is {}, which {wider:?} has already", quoted(resource)));
        }
    }
}

fn conditions(fields: &Fields<'_, '_>) -> Vec<MatchCondition> {
    let read = |item: Fields<'_, '_>| {
        let text = |key| item.required_string(key).unwrap_or_default().to_owned();
        let condition = MatchCondition { name: text("name"), expression: text("expression") };
        item.finish();
        condition
    };
    let conditions: Vec<_> = fields.items("matchConditions").map(read).collect();
    fields.check(conditions.len() <= MAX_CONDITIONS, "matchConditions", || {
        format!("has {} items; at most {MAX_CONDITIONS} are allowed", conditions.len())
    });
    for (i, condition) in conditions.iter().enumerate() {
        let first = conditions.iter().position(|other| other.name == condition.name);
        fields.check(first == Some(i), &format!("matchConditions[{i}].name"), || {
            format!("is {} once more; each needs a name of its own", quoted(&condition.name))
        });
    }
    conditions
}

fn annotations(fields: &Fields<'_, '_>) -> Vec<(String, String)> {
    let pairs = fields.string_map("auditAnnotations").unwrap_or_default();
    for (key, _) in &pairs {
        let path = format!("auditAnnotations.{key}");
        fields.check(selector::is_label_key(key) && !key.contains('/'), &path, || {
            format!(
                "has the key {}; the API server puts the webhook's name before it, so write a plain word",
                quoted(key)
            )
        });
    }
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// `kubernetesCustomResourceConversion[]`. Whether the definition has these versions can be checked only when it exists.
pub(super) fn conversion(fields: &Fields<'_, '_>) -> ConversionBinding {
    let crd = fields.required_string("crdName").unwrap_or_default();
    fields.check(crd.is_empty() || (selector::is_subdomain(crd) && crd.contains('.')), "crdName", || {
        format!("is {}; write the definition's name, PLURAL.GROUP, like \"crontabs.stable.example.com\"", quoted(crd))
    });
    let group = crd.split_once('.').map_or("", |(_, group)| group);
    fields.need("conversions", Some(()));
    let mut known = HashSet::new();
    let mut conversions = Vec::new();
    for item in fields.items("conversions") {
        let Some(rule) = step(&item, group) else { continue };
        if item.check(known.insert(rule.clone()), "fromVersion", || format!("and toVersion are {rule} once more")) {
            conversions.push(rule);
        }
    }
    let binding = ConversionBinding {
        name: BindingName::new(fields.required_string("name").unwrap_or_default()),
        crd: crd.into(),
        conversions,
        group: schedule::group(fields),
        include_snapshots_from: schedule::include_snapshots_from(fields),
    };
    fields.finish();
    binding
}

fn step(fields: &Fields<'_, '_>, group: &str) -> Option<ConversionRule> {
    let (from, to) = (version(fields, "fromVersion", group), version(fields, "toVersion", group));
    fields.finish();
    let rule = ConversionRule { from: from?, to: to? };
    fields.check(rule.from != rule.to, "toVersion", || "is the same as fromVersion".to_owned()).then_some(rule)
}

/// `v1`, or `stable.example.com/v1` with the definition's own group.
fn version(fields: &Fields<'_, '_>, key: &'static str, group: &str) -> Option<Arc<str>> {
    let text = fields.required_string(key)?;
    let (prefix, version) = text.split_once('/').map_or((None, text), |(group, version)| (Some(group), version));
    let own = prefix.is_none_or(|prefix| prefix == group);
    fields.check(own, key, || format!("is {}; versions of {group:?} are meant, the group of crdName", quoted(text)));
    let valid = selector::is_subdomain(version) && !version.contains('.') && version.len() <= 63;
    fields.check(valid, key, || format!("is {}; write a version like \"v1beta1\"", quoted(text)));
    (own && valid).then(|| version.into())
}
