//! Reads `permissions`, which a hook only requests. The admin grants them.

use std::collections::HashSet;

use super::reader::{Fields, quoted};
use crate::model::Permission;

const VERBS: [&str; 7] = ["get", "list", "create", "update", "patch", "delete", "*"];

pub(super) fn read(document: &Fields<'_, '_>) -> Vec<Permission> {
    let Some(fields) = document.fields("permissions") else { return Vec::new() };
    fields.not_yet("http", "outbound HTTP is");
    fields.not_yet("files", "access to files is");
    let rules = fields.items("kubernetes").map(|item| permission(&item)).collect();
    fields.finish();
    rules
}

fn permission(fields: &Fields<'_, '_>) -> Permission {
    let needed = |key| fields.need(key, fields.some_strings(key)).unwrap_or_default();
    let permission = Permission {
        api_groups: needed("apiGroups"),
        resources: needed("resources"),
        verbs: needed("verbs"),
        resource_names: fields.some_strings("resourceNames").unwrap_or_default(),
        namespaces: fields.some_strings("namespaces").unwrap_or_default(),
    };
    let check = |key: &str, texts: &[String], good: &dyn Fn(&str) -> bool, hint: &str| {
        for (i, text) in texts.iter().enumerate().filter(|(_, text)| !good(text)) {
            fields.wrong(&format!("{key}[{i}]"), format!("is {}; {hint}", quoted(text)));
        }
    };
    let Permission { api_groups, resources, verbs, resource_names, namespaces } = &permission;
    let lists = [("apiGroups", api_groups), ("resources", resources), ("verbs", verbs)];
    for (key, texts) in lists.into_iter().chain([("resourceNames", resource_names), ("namespaces", namespaces)]) {
        let mut seen = HashSet::new();
        for (i, text) in texts.iter().enumerate().filter(|(_, text)| !seen.insert(text.as_str())) {
            fields.wrong(&format!("{key}[{i}]"), format!("is {} once more; write each word once", quoted(text)));
        }
    }
    check("verbs", &permission.verbs, &|verb| VERBS.contains(&verb), &format!("allowed: {}", VERBS.join(", ")));
    check("apiGroups", &permission.api_groups, &|group| !group.contains('/'), "write the group without a version");
    check(
        "resources",
        &permission.resources,
        &|resource| !resource.is_empty() && !resource.contains(|c: char| c.is_ascii_uppercase()),
        "write the plural in lower case, such as \"pods\" or \"pods/eviction\"",
    );
    fields.finish();
    permission
}
