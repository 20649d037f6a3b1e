//! The roles that are shipped in `deploy/` against those that `boathook rbac` prints for the same operator: neither may
//! have what the other has not, but for what is listed here with its reason.
//!
//! That the chart has the same roles is its own tests' matter.

use std::{collections::BTreeSet, fs, path::Path};

use boathook_author::rbac::{self, Access, Layout, Place, Tenant, Who};
use serde_json::Value;

use super::{hook, kinds, rbac};
use crate::support::guests::guest_file;

const OWN: &str = "boathook";
const TEAM: &str = "team";

/// What no list of hooks tells.
const ONLY_SHIPPED: [(&str, &str); 2] = [
    ("delete secrets named boathook-webhook-certificates in namespace boathook", "`boathook uninstall` in the Pod"),
    (
        "list secrets named boathook-webhook-certificates in namespace boathook",
        "where a watch cannot begin with a list",
    ),
];

fn layout(tenants: &[&str]) -> Layout {
    let tenant = |namespace: &&str| Tenant { namespace: (*namespace).to_owned(), service_account: "hooks".to_owned() };
    Layout {
        namespace: OWN.to_owned(),
        service_account: OWN.to_owned(),
        per_hook: false,
        webhook_secret: Some("boathook-webhook-certificates".to_owned()),
        hook_bundles: true,
        lease: None,
        console: false,
        tenants: tenants.iter().map(tenant).collect(),
    }
}

/// An operator with a tenant, and with a hook that is asked; with the Lease of this name, one of several replicas.
fn generated(lease: Option<String>) -> BTreeSet<Access> {
    let rules = "rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]";
    let asked = format!(
        "kubernetesValidating: [{{name: v.example.com, {rules}}}]\n\
         kubernetesCustomResourceConversion: [{{name: c, crdName: as.example.com, \
         conversions: [{{fromVersion: v1, toVersion: v2}}]}}]"
    );
    let of = |hooks: &[_], tenants: &[&str]| {
        rbac::needs(hooks, &kinds(), &Layout { lease: lease.clone(), ..layout(tenants) }).unwrap()
    };
    let needs = [of(&[hook("h", &asked)], &[]), of(&[], &[TEAM])];
    let mut all = BTreeSet::new();
    for mut needs in needs {
        all.extend(needs.of.remove(&Who::Host).unwrap_or_default().into_keys());
        assert!(needs.of.is_empty(), "{:?}", needs.of);
    }
    all
}

fn documents(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kustomize").join(file);
    super::roles::yaml_documents(&fs::read_to_string(path).unwrap())
}

/// The roles of the kustomize base, where an admin binds them.
fn shipped() -> BTreeSet<Access> {
    let mut all = BTreeSet::new();
    for file in ["rbac.yaml", "rbac-webhooks.yaml", "rbac-tenant.yaml"] {
        for role in documents(&format!("base/{file}")) {
            let place = match (role["kind"].as_str().unwrap(), role["metadata"]["name"].as_str().unwrap()) {
                ("ClusterRole", "boathook-tenant") => Place::Namespace(TEAM.to_owned()),
                ("ClusterRole", _) => Place::Cluster,
                ("Role", _) => Place::Namespace(OWN.to_owned()),
                _ => continue,
            };
            for rule in role["rules"].as_array().unwrap() {
                all.extend(accesses(&place, rule));
            }
        }
    }
    all
}

/// What the component for several replicas adds to them.
fn shipped_for_replicas() -> BTreeSet<Access> {
    let component = documents("components/replicas/kustomization.yaml").remove(0);
    let patches = component["patches"].as_array().unwrap().iter();
    let of_role = patches.filter(|patch| patch["target"]["kind"] == "Role");
    let place = Place::Namespace(OWN.to_owned());
    let mut all = BTreeSet::new();
    for patch in of_role {
        for operation in super::roles::yaml_documents(patch["patch"].as_str().unwrap()).remove(0).as_array().unwrap() {
            assert_eq!((&operation["op"], &operation["path"]), (&"add".into(), &"/rules/-".into()));
            all.extend(accesses(&place, &operation["value"]));
        }
    }
    all
}

fn accesses(place: &Place, rule: &Value) -> Vec<Access> {
    let words = |key: &str| -> Vec<String> {
        rule[key].as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let names = words("resourceNames").into_iter().map(Some).collect::<Vec<_>>();
    let names = if names.is_empty() { vec![None] } else { names };
    let mut all = Vec::new();
    for group in words("apiGroups") {
        for resource in words("resources") {
            for verb in words("verbs") {
                all.extend(names.iter().map(|name| Access {
                    place: place.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                    verb: verb.clone(),
                }));
            }
        }
    }
    all
}

/// Names are of hooks: a role that is made before there are any has none.
fn serves(wide: &Access, narrow: &Access) -> bool {
    let same = |name: Option<String>| *wide == Access { name, ..narrow.clone() };
    same(narrow.name.clone()) || same(None)
}

/// The manifests allow what is printed for such an operator, and no more than what is listed above.
fn same(shipped: &BTreeSet<Access>, generated: &BTreeSet<Access>) {
    let missing: Vec<_> = generated.iter().filter(|need| !shipped.iter().any(|one| serves(one, need))).collect();
    assert!(missing.is_empty(), "the manifests do not allow: {missing:#?}");
    let extra = shipped.iter().filter(|one| !generated.iter().any(|need| serves(one, need)));
    let extra: Vec<_> = extra.map(ToString::to_string).collect();
    assert_eq!(extra, ONLY_SHIPPED.map(|(access, _)| access), "allowed, and not printed");
}

// mutant: deploy/kustomize/base/rbac.yaml: `verbs: [list, watch, patch]` => `verbs: [list, watch, patch, delete]`
// mutant: deploy/kustomize/base/rbac.yaml: `resourceNames: [boathook-webhook-certificates]` => ``
#[test]
fn what_is_shipped_is_what_is_printed() {
    let shipped = shipped();
    assert!(shipped.len() > 20, "{shipped:?}");
    same(&shipped, &generated(None));
}

// mutant: deploy/kustomize/components/replicas/kustomization.yaml: `resourceNames: [boathook]` => ``
#[test]
fn what_is_shipped_for_replicas_is_what_is_printed() {
    let more = shipped_for_replicas();
    assert!(!more.is_empty());
    same(&shipped().into_iter().chain(more).collect(), &generated(Some(OWN.to_owned())));
}

/// `WHO PLACE VERB …` for one hook in a tenant's namespace.
fn of_tenant(document: &str) -> Result<Vec<String>, rbac::NeedsError> {
    let layout = layout(&[TEAM]);
    let needs = rbac::needs(&[hook("h", document)], &kinds(), &layout)?;
    let bare = rbac::needs(&[], &kinds(), &layout)?;
    let lines = needs.of.iter().flat_map(|(who, accesses)| {
        let known = bare.of.get(who);
        let new = accesses.keys().filter(move |access| known.is_none_or(|known| !known.contains_key(access)));
        let layout = &layout;
        new.map(move |access| format!("{}/{}: {access}", layout.namespace(who), layout.account(who)))
    });
    Ok(lines.collect())
}

#[test]
fn a_tenants_hook_is_confined_to_its_namespace() {
    let permissions = "permissions: {kubernetes: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}";
    let lines = of_tenant(&format!("kubernetes: [{{name: b, kind: Pod}}]\n{permissions}")).unwrap();
    assert_eq!(
        lines,
        [
            "boathook/boathook: list pods in namespace team",
            "boathook/boathook: watch pods in namespace team",
            "team/hooks: list pods in namespace team",
            "team/hooks: watch pods in namespace team",
            "team/hooks: get secrets in namespace team",
            "team/hooks: create events of events.k8s.io in namespace team",
            "team/hooks: patch events of events.k8s.io in namespace team",
        ]
    );
    for (document, part) in [
        ("kubernetes: [{name: b, kind: Pod, namespace: {nameSelector: {matchNames: [other]}}}]", "namespaces other"),
        ("kubernetes: [{name: b, kind: Node}]", "nodes, which are not namespaced"),
        (
            "kubernetesCustomResourceConversion: [{name: c, crdName: as.example.com, \
             conversions: [{fromVersion: v1, toVersion: v2}]}]",
            "converts as.example.com",
        ),
        (
            "onStartup: 1\npermissions: {kubernetes: [{apiGroups: [''], resources: [pods], verbs: [get], namespaces: [other]}]}",
            "objects of namespace other",
        ),
    ] {
        let error = of_tenant(document).unwrap_err().to_string();
        assert!(error.starts_with("hook h: ") && error.contains(part), "{error}");
    }
}

#[test]
fn a_tenants_hook_is_asked_about_what_its_account_could_read_and_update() {
    let rules = "rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods/*], operations: [CREATE]}]";
    let of = |key: &str, more: &str| {
        let lines = of_tenant(&format!("{key}: [{{name: v.example.com, {rules}{more}}}]"))?;
        let own = lines.into_iter().filter(|line| line.starts_with("team/") && !line.contains("events"));
        Ok::<_, rbac::NeedsError>(own.collect::<Vec<_>>())
    };
    let verbs = |verbs: &[&str]| {
        let each =
            |what: &'static str| verbs.iter().map(move |verb| format!("team/hooks: {verb} {what} in namespace team"));
        each("pods").chain(each("pods/*")).collect::<Vec<_>>()
    };
    assert_eq!(of("kubernetesValidating", "").unwrap(), verbs(&["get"]));
    assert_eq!(of("kubernetesMutating", "").unwrap(), verbs(&["get", "update"]));
    let error = of("kubernetesMutating", ", namespace: {includeSystem: true}").unwrap_err();
    assert!(error.to_string().contains("the system's namespaces"), "{error}");
}

#[tokio::test]
async fn roles_for_hook_bundles_need_no_hook() {
    let printed = rbac(["--tenant", "team-a", "--tenant", "team-b:hooks"]).await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    for part in [
        "with HookBundles.\n",
        "  # HookBundles: they, their status and their finalizer\n",
        "    verbs: [\"get\", \"impersonate\"]\n",
        "  namespace: team-b\n",
    ] {
        assert!(printed.stdout.contains(part), "{part}\n{}", printed.stdout);
    }
    let nothing = rbac([] as [&str; 0]).await;
    assert_eq!(nothing.code, Some(2), "{}", nothing.stdout);
    let replicas = rbac(["--hook-bundles", "--leader-elect", "--lease-name", "others"]).await;
    let lease =
        "    resources: [\"leases\"]\n    resourceNames: [\"others\"]\n    verbs: [\"get\", \"patch\", \"watch\"]\n";
    assert!(replicas.stdout.contains(lease), "{}", replicas.stdout);
    let hook = guest_file("test/meddle");
    let with = rbac([hook.to_str().unwrap(), "--tenant", "team-a:hooks"]).await;
    assert_eq!(with.code, Some(0), "{}", with.stderr);
    assert!(with.stdout.contains("  name: boathook:team-a:hooks\n"), "{}", with.stdout);
    let both = rbac([hook.to_str().unwrap(), "--tenant", "team-a", "--per-hook"]).await;
    assert_eq!(both.code, Some(2), "{}", both.stdout);
}

#[test]
fn the_component_of_the_console_has_the_roles_that_are_printed() {
    let layout = Layout { hook_bundles: false, console: true, ..layout(&[]) };
    let needs = rbac::needs(&[], &kinds(), &layout).unwrap();
    let printed: BTreeSet<Access> = needs.of[&Who::Host].keys().cloned().collect();
    let documents = documents("components/console/rbac.yaml");
    let named =
        |name: &str| documents.iter().find(|one| one["kind"] == "ClusterRole" && one["metadata"]["name"] == name);
    let rules = named("boathook-console").unwrap()["rules"].as_array().unwrap();
    let shipped = rules.iter().flat_map(|rule| accesses(&Place::Cluster, rule)).collect();
    assert_eq!(printed, shipped);
    let viewer = &named("boathook-console-viewer").unwrap()["rules"];
    assert_eq!(*viewer, serde_json::json!([{"nonResourceURLs": ["/boathook/console"], "verbs": ["get"]}]));
}
