//! From documents to roles.

use boathook_author::rbac::{self, Layout, NeedsError, Place};

use super::{hook, kinds, rbac};
use crate::support::guests::guest_file;

fn layout(per_hook: bool) -> Layout {
    Layout {
        namespace: "ops".into(),
        service_account: "boathook".into(),
        per_hook,
        webhook_secret: Some("certs".into()),
        hook_bundles: false,
        lease: None,
        console: false,
        tenants: Vec::new(),
    }
}

/// `WHO PLACE: GROUPS RESOURCES NAMES VERBS`, without Events about failures, which every hook has.
fn lines(document: &str, per_hook: bool) -> Vec<String> {
    let hooks = [hook("h", document)];
    let needs = rbac::needs(&hooks, &kinds(), &layout(per_hook)).unwrap();
    let mut lines = Vec::new();
    for (who, accesses) in &needs.of {
        for (place, rules) in rbac::rules(accesses) {
            let place = place.namespace().unwrap_or("-").to_owned();
            for rule in &rules {
                let words = [&rule.groups, &rule.resources, &rule.names, &rule.verbs].map(|words| words.join(","));
                lines.push(format!("{} {place}: {}", layout(true).account(who), words.join(" | ")));
            }
        }
    }
    lines.retain(|line| !line.ends_with("ops: events.k8s.io | events |  | create,patch"));
    lines
}

fn host(document: &str) -> Vec<String> {
    lines(document, false)
}

fn binding(rest: &str) -> Vec<String> {
    host(&format!("kubernetes: [{{name: b, {rest}}}]"))
}

fn permission(rest: &str) -> Vec<String> {
    host(&format!("onStartup: 1\npermissions: {{kubernetes: [{{{rest}}}]}}"))
}

#[test]
fn a_binding_is_followed_where_it_looks() {
    assert_eq!(binding("kind: Pod"), ["boathook -:  | pods |  | list,watch"]);
    assert_eq!(
        binding("kind: Pod, namespace: {nameSelector: {matchNames: [a, b]}}"),
        ["boathook a:  | pods |  | list,watch", "boathook b:  | pods |  | list,watch"]
    );
    assert_eq!(
        binding("kind: Secret, nameSelector: {matchNames: [x, y]}"),
        ["boathook -:  | secrets | x,y | list,watch"]
    );
    // A cluster-scoped kind has no namespaces to look in.
    assert_eq!(
        binding("kind: Node, namespace: {nameSelector: {matchNames: [a]}}"),
        ["boathook -:  | nodes |  | list,watch"]
    );
}

#[test]
fn namespaces_by_label_are_followed_too() {
    assert_eq!(
        binding("kind: Secret, namespace: {labelSelector: {matchLabels: {t: a}}}"),
        ["boathook -:  | namespaces,secrets |  | list,watch"]
    );
    assert_eq!(
        binding("kind: Secret, namespace: {nameSelector: {matchNames: [a]}, labelSelector: {matchLabels: {t: a}}}"),
        ["boathook -:  | namespaces |  | list,watch", "boathook a:  | secrets |  | list,watch"]
    );
}

#[test]
fn a_kind_that_may_come_is_heard_of() {
    assert_eq!(
        binding("apiVersion: sea.dev/v1, kind: Ferry"),
        [
            "boathook -: apiextensions.k8s.io | customresourcedefinitions |  | list,watch",
            "boathook -: sea.dev | ferries |  | list,watch"
        ]
    );
    // One of Kubernetes' own is there, though this catalogue has it not.
    assert_eq!(
        binding("apiVersion: storage.k8s.io/v1, kind: StorageClass"),
        ["boathook -: storage.k8s.io | storageclasses |  | list,watch"]
    );
}

#[test]
fn permissions_are_in_rbacs_words() {
    let pods = |rest: &str| permission(&format!("apiGroups: [''], resources: {rest}"));
    assert_eq!(pods("[pods], verbs: [get]"), ["boathook -:  | pods |  | get"]);
    assert_eq!(pods("[pods], verbs: ['*']"), ["boathook -:  | pods |  | create,delete,get,list,patch,update"]);
    assert_eq!(pods("[pods/*], verbs: [patch]"), ["boathook -:  | pods/eviction,pods/status |  | patch"]);
    assert_eq!(pods("['*/*'], verbs: [patch]"), ["boathook -:  | * |  | patch"]);
    assert_eq!(pods("['*/status'], verbs: [patch]"), ["boathook -:  | */status |  | patch"]);
    assert_eq!(pods("[pods], verbs: [get], namespaces: [a]"), ["boathook a:  | pods |  | get"]);
    assert_eq!(pods("[nodes], verbs: [get], namespaces: [a]"), [] as [&str; 0]);
}

#[test]
fn a_new_object_has_no_name_where_rbac_looks() {
    let named = |rest: &str| permission(&format!("apiGroups: [''], resourceNames: [x], {rest}"));
    assert_eq!(
        named("resources: [secrets], verbs: [create, get]"),
        ["boathook -:  | secrets |  | create", "boathook -:  | secrets | x | get"]
    );
    // An eviction is created below a Pod that has one.
    assert_eq!(named("resources: [pods/eviction], verbs: [create]"), ["boathook -:  | pods/eviction | x | create"]);
}

#[test]
fn events_go_to_the_group_where_they_are_sent() {
    assert_eq!(
        permission("apiGroups: [''], resources: [events], verbs: [create]"),
        ["boathook -: ,events.k8s.io | events |  | create", "boathook ops: events.k8s.io | events |  | patch"]
    );
}

#[test]
fn webhooks_are_registered_and_have_certificates() {
    let rules = "rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]";
    let registered = "boathook -: admissionregistration.k8s.io | \
                      mutatingwebhookconfigurations,validatingwebhookconfigurations | ";
    let definitions = "boathook -: apiextensions.k8s.io | customresourcedefinitions | ";
    let common = [
        format!("{registered} | create,delete,list,watch"),
        format!("{registered}boathook-h | get,update"),
        format!("{definitions} | list,watch"),
    ];
    let secrets = ["boathook ops:  | secrets |  | create", "boathook ops:  | secrets | certs | get,update,watch"];
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    let expected = |more: &[String]| {
        sorted(common.iter().chain(more).cloned().chain(secrets.map(str::to_owned)).collect::<Vec<_>>())
    };
    let admission = format!("kubernetesValidating: [{{name: v.example.com, {rules}}}]");
    assert_eq!(sorted(host(&admission)), expected(&[]));
    let conversion = "kubernetesCustomResourceConversion: \
                      [{name: c, crdName: as.example.com, conversions: [{fromVersion: v1, toVersion: v2}]}]";
    assert_eq!(sorted(host(conversion)), expected(&[format!("{definitions}as.example.com | get,patch")]));
    let mut files = layout(false);
    files.webhook_secret = None;
    let needs = rbac::needs(&[hook("h", &admission)], &kinds(), &files).unwrap();
    assert!(needs.of.values().flatten().all(|(access, _)| access.resource != "secrets"));
}

#[test]
fn a_hook_with_an_account_of_its_own_is_acted_as() {
    let document =
        "kubernetes: [{kind: Pod}]\npermissions: {kubernetes: [{apiGroups: [''], resources: [pods], verbs: [delete]}]}";
    assert_eq!(
        lines(document, true),
        [
            "boathook -:  | pods |  | list,watch",
            "boathook ops:  | serviceaccounts | boathook-h | impersonate",
            "boathook-h -:  | pods |  | delete"
        ]
    );
    assert_eq!(lines("onStartup: 1", true), [] as [&str; 0]);
}

#[test]
fn failures_are_reported_where_the_document_says() {
    let places = |document: &str| -> Vec<Place> {
        let needs = rbac::needs(&[hook("h", document)], &kinds(), &layout(false)).unwrap();
        let events = needs.of.values().flatten().filter(|(access, _)| access.verb == "patch");
        events.map(|(access, _)| access.place.clone()).collect()
    };
    let namespace = |name: &str| [Place::Namespace(name.to_owned())];
    assert_eq!(places("onStartup: 1"), namespace("ops"));
    let regarding = |rest: &str| format!("onStartup: 1\nfailureEvents: {{regarding: {{{rest}, name: x}}}}");
    assert_eq!(places(&regarding("apiVersion: v1, kind: Pod, namespace: web")), namespace("web"));
    assert_eq!(places(&regarding("apiVersion: v1, kind: Node")), namespace("default"));
}

#[test]
fn what_can_not_be_reported_is_an_error_and_what_is_guessed_a_note() {
    let needs = |document: &str| rbac::needs(&[hook("h", document)], &kinds(), &layout(false));
    let error = needs("kubernetes: [{name: b, kind: Ferry}]").unwrap_err();
    assert!(matches!(&error, NeedsError::UnknownKind { kind, .. } if kind == "Ferry"));
    for part in ["hook h", "binding b", "\"Ferry\"", "apiVersion", "--crds", "--kubeconfig"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    let notes = |document: &str| needs(document).unwrap().notes.into_iter().collect::<Vec<_>>().join("\n");
    assert!(notes("kubernetes: [{apiVersion: sea.dev/v1, kind: Ferry}]").contains("ferries.sea.dev is a guess"));
    let resources = |name: &str| {
        notes(&format!(
            "onStartup: 1\npermissions: {{kubernetes: [{{apiGroups: [''], resources: ['{name}'], verbs: [get]}}]}}"
        ))
    };
    assert!(resources("secret").contains("secret is not known in the core group"));
    assert_eq!(resources("secrets"), "");
    assert!(resources("boats/*").contains("gives nothing"));
}

#[test]
fn lists_that_multiply_without_end_are_refused() {
    let many = |n: usize| (0..n).map(|i| format!("n{i}")).collect::<Vec<_>>().join(",");
    let document = format!(
        "onStartup: 1\npermissions: {{kubernetes: [{{apiGroups: [''], resources: [pods], verbs: [get], resourceNames: [{}], namespaces: [{}]}}]}}",
        many(200),
        many(200)
    );
    let error = rbac::needs(&[hook("h", &document)], &kinds(), &layout(false)).unwrap_err();
    assert!(matches!(error, NeedsError::TooMany { .. }), "{error}");
}

/// Names of hooks, bindings and objects cannot make another document.
#[test]
fn yaml_is_what_json_is() {
    let hooks = [
        hook("a_b", "kubernetes: [{name: \"x\\nrules: y\", kind: Pod, nameSelector: {matchNames: ['a\"b']}}]"),
        hook(
            "web",
            "onStartup: 1\npermissions: {kubernetes: [{apiGroups: [apps], resources: [deployments], verbs: [get], namespaces: [n]}]}",
        ),
    ];
    for per_hook in [false, true] {
        let needs = rbac::needs(&hooks, &kinds(), &layout(per_hook)).unwrap();
        let manifest = rbac::manifest(&hooks, &needs, &layout(per_hook));
        let yaml = rbac::yaml(&manifest);
        let documents: Vec<serde_json::Value> = yaml_documents(&yaml);
        assert_eq!(serde_json::json!(documents), rbac::json(&manifest)["items"], "{yaml}");
    }
}

pub fn yaml_documents(text: &str) -> Vec<serde_json::Value> {
    use serde::Deserialize as _;
    let all = yaml_serde::Deserializer::from_str(text).map(|one| serde_json::Value::deserialize(one).unwrap());
    all.filter(|value| !value.is_null()).collect()
}

/// The value of a variable differs on each node, and all nodes have one account.
#[test]
fn a_name_with_a_variable_is_not_in_the_role() {
    for selector in [
        "nameSelector: {matchNames: [a, $(NODE_NAME)]}",
        "fieldSelector: {matchExpressions: [{field: metadata.name, operator: '=', value: $(NODE_NAME)}]}",
    ] {
        let node = format!("kubernetes: [{{name: n, apiVersion: v1, kind: Node, {selector}}}]");
        assert_eq!(host(&node), ["boathook -:  | nodes |  | list,watch"], "{selector}");
    }
    let pods = "kubernetes: [{name: p, apiVersion: v1, kind: Pod, namespace: {nameSelector: {matchNames: [$(TEAM)]}}}]";
    assert_eq!(host(pods), ["boathook -:  | pods |  | list,watch"]);
    let needs = rbac::needs(&[hook("h", pods)], &kinds(), &layout(false)).unwrap();
    assert!(needs.notes.iter().any(|note| note.contains("binding p: its objects depend on a variable")), "{needs:?}");
}

#[tokio::test]
async fn roles_of_components_come_with_their_reasons() {
    let printed = rbac([guest_file("registry-secret"), guest_file("node-taint")]).await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for part in [
        "# hook registry-secret: binding source\n",
        "# hook node-taint: permissions.kubernetes[0]\n",
        "    resourceNames: [\"registry-credentials\"]\n",
        "  name: boathook:boathook\n",
        "RBAC cannot limit create of secrets to resourceNames",
    ] {
        assert!(printed.stdout.contains(part), "{part}\n{}", printed.stdout);
    }
    // The operator's own account is the manifests': applied by the server, it would lose what is not printed here.
    assert!(!printed.stdout.contains("kind: ServiceAccount\nmetadata:"), "{}", printed.stdout);
    let again = rbac([guest_file("node-taint"), guest_file("registry-secret")]).await;
    assert_eq!(printed.stdout, again.stdout);
}

#[tokio::test]
async fn every_file_that_is_no_hook_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("broken.wasm"), "no component").unwrap();
    std::fs::write(directory.path().join("-bad.wasm"), "").unwrap();
    let ended = rbac([directory.path().as_os_str(), guest_file("noop").as_os_str(), "gone.wasm".as_ref()]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    for part in ["broken.wasm: ", "-bad.wasm: ", "gone.wasm: ", "boathook inspect", "3 files are not hooks"] {
        assert!(ended.stderr.contains(part), "{part}\n{}", ended.stderr);
    }
    let empty = tempfile::tempdir().unwrap();
    let ended = rbac([empty.path()]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("holds no hook"), "{}", ended.stderr);
    let twice = tempfile::tempdir().unwrap();
    std::fs::copy(guest_file("noop"), twice.path().join("noop.wasm")).unwrap();
    let ended = rbac([twice.path().as_os_str(), guest_file("noop").as_os_str()]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("same name"), "{}", ended.stderr);
}
