//! The objects that grant the rights: ServiceAccounts, Roles, ClusterRoles and their bindings.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use boathook_core::model::{DirectoryAccess, HookSpec, HttpRule, Permission};
use serde_json::{Value, json};

use super::{
    access::{Access, Place, Reason, Who},
    needs::{Layout, Needs},
    rules::{Rule, rules},
};

const RBAC: &str = "rbac.authorization.k8s.io";

/// One object, with its rules separate, so that they can be printed with their reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    pub(super) head: Value,
    pub(super) rules: Vec<Rule>,
    pub(super) comment: String,
}

/// All objects, in the order in which they must be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    pub(super) objects: Vec<Object>,
    /// What a reader should know about the objects.
    pub notes: BTreeSet<String>,
    pub(super) title: String,
}

/// The objects for these needs.
pub fn manifest(hooks: &[HookSpec], needs: &Needs, layout: &Layout) -> Manifest {
    let mut objects = Vec::new();
    let nothing = BTreeMap::new();
    let hosts = needs.of.get(&Who::Host).unwrap_or(&nothing);
    account(&Who::Host, hosts, layout, &mut objects);
    for (who, accesses) in needs.of.iter().filter(|(who, _)| **who != Who::Host) {
        account(who, accesses, layout, &mut objects);
    }
    let names: Vec<_> = hooks.iter().map(|spec| spec.name.as_str()).collect();
    let with = match (layout.hook_bundles, names.is_empty()) {
        (true, true) => "HookBundles".to_owned(),
        (true, false) => format!("HookBundles of the hooks {}", names.join(", ")),
        (false, _) => format!("the hooks {}", names.join(", ")),
    };
    let title = format!("the least rights of Boathook in namespace {} with {with}", layout.namespace);
    Manifest { objects, notes: needs.notes.clone(), title }
}

fn account(who: &Who, accesses: &BTreeMap<Access, BTreeSet<Reason>>, layout: &Layout, objects: &mut Vec<Object>) {
    let account = layout.account(who);
    let comment = match who {
        Who::Host => "the operator".to_owned(),
        Who::Hook(hook) => format!("hook {hook}, whose calls are made as this ServiceAccount"),
        Who::Tenant(tenant) => format!("the hooks of HookBundles in namespace {}", tenant.namespace),
    };
    let namespace = layout.namespace(who);
    let first = objects.len();
    // Every namespace already has "default". The operator's own ServiceAccount belongs to the manifests that install
    // it: if it was also printed here, server-side apply would remove every field that is not repeated.
    if account != "default" && *who != Who::Host {
        let itself = head("v1", "ServiceAccount", &account, Some(namespace));
        objects.push(Object { head: itself, rules: Vec::new(), comment: String::new() });
    }
    // Unique in the cluster, because operators in other namespaces have their own roles.
    let name = match who {
        Who::Tenant(_) => format!("{}:{namespace}:{account}", layout.namespace),
        _ => format!("{namespace}:{account}"),
    };
    for (place, rules) in rules(accesses) {
        let (role, binding) = match &place {
            Place::Cluster => ("ClusterRole", "ClusterRoleBinding"),
            Place::Namespace(_) => ("Role", "RoleBinding"),
        };
        let api_version = format!("{RBAC}/v1");
        let head_of = |kind| head(&api_version, kind, &name, place.namespace());
        objects.push(Object { head: head_of(role), rules, comment: String::new() });
        let mut bound = head_of(binding);
        if let Some(fields) = bound.as_object_mut() {
            fields.insert("roleRef".to_owned(), json!({"apiGroup": RBAC, "kind": role, "name": name}));
            let subject = json!({"kind": "ServiceAccount", "name": account, "namespace": namespace});
            fields.insert("subjects".to_owned(), json!([subject]));
        }
        objects.push(Object { head: bound, rules: Vec::new(), comment: String::new() });
    }
    if let Some(first) = objects.get_mut(first) {
        first.comment = comment;
    }
}

fn head(api_version: &str, kind: &str, name: &str, namespace: Option<&str>) -> Value {
    let mut metadata = json!({ "name": name });
    if let (Some(fields), Some(namespace)) = (metadata.as_object_mut(), namespace) {
        fields.insert("namespace".to_owned(), namespace.into());
    }
    if let Some(fields) = metadata.as_object_mut() {
        fields.insert("labels".to_owned(), json!({"app.kubernetes.io/name": "boathook"}));
    }
    json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
}

/// YAML documents for `kubectl apply`.
pub fn yaml(manifest: &Manifest) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(out, "# {}.", sentence(&manifest.title));
    let _ =
        writeln!(out, "# Made by `boathook rbac`; make it again when hooks change. Namespaces must be there before.");
    for note in &manifest.notes {
        let _ = writeln!(out, "# Note: {}.", one_line(note));
    }
    for object in &manifest.objects {
        out.push_str("---\n");
        document(object, &mut out);
    }
    out
}

/// A `List` of all objects.
pub fn json(manifest: &Manifest) -> Value {
    let items: Vec<_> = manifest.objects.iter().map(whole).collect();
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}

/// The block for a hook's document.
pub fn permissions_yaml(permissions: &[Permission]) -> String {
    if permissions.is_empty() {
        return "permissions: {}\n".to_owned();
    }
    let mut out = "permissions:\n".to_owned();
    let (kubernetes, others): (Vec<_>, Vec<_>) =
        permissions.iter().partition(|permission| permission.is_of_kubernetes());
    let (http, directories): (Vec<_>, Vec<_>) = others.into_iter().partition(|permission| permission.http.is_some());
    for (key, permissions) in [("kubernetes", kubernetes), ("http", http), ("directories", directories)] {
        if !permissions.is_empty() {
            let _ = writeln!(out, "  {key}:");
        }
        permissions.into_iter().for_each(|permission| permission_lines("    ", permission, &mut out));
    }
    out
}

/// A permission as an item of a list, each line behind `start`.
pub(super) fn permission_lines(start: &str, permission: &Permission, out: &mut String) {
    if let Some(rule) = &permission.directory {
        let access = if rule.access == DirectoryAccess::Write { "write" } else { "read" };
        let _ = writeln!(out, "{start}- {{name: {}, access: {access}}}", rule.name);
        return;
    }
    let none = Vec::new();
    let http = |part: fn(&HttpRule) -> &Vec<String>| permission.http.as_ref().map_or(&none, part);
    let all = [
        ("apiGroups", &permission.api_groups),
        ("resources", &permission.resources),
        ("verbs", &permission.verbs),
        ("resourceNames", &permission.resource_names),
        ("namespaces", &permission.namespaces),
        ("hosts", http(|rule| &rule.hosts)),
        ("methods", http(|rule| &rule.methods)),
        ("paths", http(|rule| &rule.paths)),
    ];
    let mut mark = '-';
    for (key, texts) in all.into_iter().filter(|(_, texts)| !texts.is_empty()) {
        let _ = writeln!(out, "{start}{mark} {key}: {}", flow(texts));
        mark = ' ';
    }
}

fn document(object: &Object, out: &mut String) {
    if !object.comment.is_empty() {
        let _ = writeln!(out, "# {}", one_line(&object.comment));
    }
    out.push_str(&yaml_serde::to_string(&object.head).unwrap_or_default());
    if !object.rules.is_empty() {
        out.push_str("rules:\n");
    }
    for rule in &object.rules {
        for reason in &rule.reasons {
            let _ = writeln!(out, "  # {}", one_line(&reason.to_string()));
        }
        let mut mark = '-';
        for (key, texts) in fields(rule) {
            let _ = writeln!(out, "  {mark} {key}: {}", flow(texts));
            mark = ' ';
        }
    }
}

fn whole(object: &Object) -> Value {
    let mut whole = object.head.clone();
    if let (Some(fields_of), false) = (whole.as_object_mut(), object.rules.is_empty()) {
        fields_of.insert("rules".to_owned(), object.rules.iter().map(value).collect());
    }
    whole
}

/// The rule in RBAC's format.
fn value(rule: &Rule) -> Value {
    fields(rule).map(|(key, texts)| (key.to_owned(), json!(texts))).collect::<serde_json::Map<_, _>>().into()
}

fn fields(rule: &Rule) -> impl Iterator<Item = (&'static str, &[String])> {
    let all: [(&'static str, &[String]); 4] = [
        ("apiGroups", &rule.groups),
        ("resources", &rule.resources),
        ("resourceNames", &rule.names),
        ("verbs", &rule.verbs),
    ];
    all.into_iter().filter(|(_, texts)| !texts.is_empty())
}

/// JSON is also YAML. A list in one line is easier to read.
pub(super) fn flow(texts: &[String]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// JSON leaves characters as they are that end a line of YAML, or that a terminal does not show where they are.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in Value::from(text).to_string().chars() {
        if is_plain(c) {
            out.push(c)
        } else {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")))
        }
    }
    out
}

/// The text in one line. Names of bindings may contain any character, but a comment ends with its line, and a report has
/// lines of its own.
pub fn one_line(text: &str) -> String {
    text.replace(|c| !is_plain(c), " ")
}

/// Neither the end of a line anywhere, nor something that YAML refuses, nor what changes how other characters are shown.
fn is_plain(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn sentence(text: &str) -> String {
    let text = one_line(text);
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::HookName;

    use super::{one_line, *};

    #[test]
    fn every_hook_has_an_account_of_its_own_name() {
        let layout = Layout {
            namespace: "ops".into(),
            service_account: "boathook".into(),
            per_hook: true,
            webhook_secret: None,
            hook_bundles: false,
            lease: None,
            console: false,
            tenants: Vec::new(),
        };
        let account = |hook: &str| layout.account_of(&HookName::new(hook).unwrap());
        assert_eq!(account("copy-secrets"), "boathook-copy-secrets");
        assert_eq!(account("a.b"), "boathook-a.b");
        let names = ["copy_secrets", "Copy-secrets", "copy-Secrets", "a..b", "a-.b", "a-", "a.", "A_"];
        let accounts: BTreeSet<_> = names.iter().map(|name| account(name)).collect();
        assert_eq!(accounts.len(), names.len());
        for account in accounts {
            let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
            assert!(
                account.chars().all(valid) && !account.contains("..") && !account.ends_with(['-', '.']),
                "{account}"
            );
            assert!(account.starts_with("boathook-"), "{account}");
        }
    }

    #[test]
    fn no_name_can_end_a_comment() {
        assert_eq!(one_line("a\nrules: x\r\u{85}\u{2028}b"), "a rules: x   b");
    }
}
