//! Tables of grants, and properties that hold for any permissions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_core::model::{HookName, Permission, confine, missing};
use proptest::prelude::*;

use super::{Reach, ResourceAttributes, allows, refusal};

fn list(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn permission(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Permission {
    Permission {
        api_groups: list(groups),
        resources: list(resources),
        verbs: list(verbs),
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    }
}

fn within(namespaces: &[&str], permission: Permission) -> Permission {
    Permission { namespaces: list(namespaces), ..permission }
}

fn named(names: &[&str], permission: Permission) -> Permission {
    Permission { resource_names: list(names), ..permission }
}

/// `what` is group, resource and subresource. `-` means none.
fn subject<'a>(what: (&'a str, &'a str, &'a str), reach: Reach<'a>, name: &'a str) -> ResourceAttributes<'a> {
    let (group, resource, subresource) = what;
    let given = |text: &'a str| Some(text).filter(|text| *text != "-");
    ResourceAttributes { group, resource, subresource: given(subresource), reach, name: given(name) }
}

const SECRETS: (&str, &str, &str) = ("", "secrets", "-");
const PODS: (&str, &str, &str) = ("", "pods", "-");
const EVICTION: (&str, &str, &str) = ("", "pods", "eviction");
const DEPLOYMENTS: (&str, &str, &str) = ("apps", "deployments", "-");
const SCALE: (&str, &str, &str) = ("apps", "deployments", "scale");
const NODES: (&str, &str, &str) = ("", "nodes", "-");
const A: Reach<'_> = Reach::Namespace("a");
const B: Reach<'_> = Reach::Namespace("b");
const ALL: Reach<'_> = Reach::AllNamespaces;
const CLUSTER: Reach<'_> = Reach::Cluster;

#[test]
fn allowed() {
    let all = permission(&["*"], &["*"], &["*"]);
    let table = [
        (permission(&[""], &["secrets"], &["get"]), "get", subject(SECRETS, A, "x")),
        (permission(&[""], &["secrets"], &["get"]), "get", subject(SECRETS, B, "x")),
        (permission(&[""], &["secrets"], &["list"]), "list", subject(SECRETS, ALL, "-")),
        (permission(&[""], &["nodes"], &["get"]), "get", subject(NODES, CLUSTER, "n")),
        (permission(&["", "apps"], &["pods", "deployments"], &["get", "patch"]), "patch", subject(DEPLOYMENTS, A, "x")),
        (all.clone(), "delete", subject(SCALE, A, "x")),
        (all.clone(), "anything", subject(NODES, CLUSTER, "-")),
        (permission(&[""], &["pods/eviction"], &["create"]), "create", subject(EVICTION, A, "x")),
        (permission(&[""], &["pods/*"], &["create"]), "create", subject(EVICTION, A, "x")),
        (permission(&[""], &["*/eviction"], &["create"]), "create", subject(EVICTION, A, "x")),
        (permission(&["apps"], &["*/scale"], &["patch"]), "patch", subject(SCALE, A, "x")),
        (permission(&["*"], &["*/*"], &["patch"]), "patch", subject(SCALE, A, "x")),
        (within(&["a"], permission(&[""], &["secrets"], &["get"])), "get", subject(SECRETS, A, "x")),
        (within(&["a", "b"], all.clone()), "get", subject(SECRETS, B, "x")),
        (within(&["a"], permission(&[""], &["secrets"], &["list"])), "list", subject(SECRETS, A, "-")),
        (named(&["x", "y"], permission(&[""], &["secrets"], &["get"])), "get", subject(SECRETS, A, "y")),
        (named(&["x"], permission(&[""], &["secrets"], &["create"])), "create", subject(SECRETS, A, "x")),
        (named(&["x"], permission(&[""], &["secrets"], &["list"])), "list", subject(SECRETS, ALL, "x")),
    ];
    for (permission, verb, subject) in table {
        assert!(allows(std::slice::from_ref(&permission), verb, &subject), "{permission:?} {verb} {subject:?}");
    }
}

#[test]
fn refused() {
    let all = permission(&["*"], &["*"], &["*"]);
    let get = permission(&[""], &["secrets"], &["get"]);
    let empty = permission(&[], &[], &[]);
    let table = [
        // Each part has to match.
        (get.clone(), "list", subject(SECRETS, A, "x")),
        (get.clone(), "GET", subject(SECRETS, A, "x")),
        (get.clone(), "get", subject(PODS, A, "x")),
        (get.clone(), "get", subject(("other.io", "secrets", "-"), A, "x")),
        (permission(&["apps"], &["*"], &["*"]), "get", subject(SECRETS, A, "x")),
        (permission(&["*"], &["secret"], &["*"]), "get", subject(SECRETS, A, "x")),
        (permission(&["*"], &["Secret"], &["*"]), "get", subject(SECRETS, A, "x")),
        (permission(&["*"], &["secrets*"], &["*"]), "get", subject(SECRETS, A, "x")),
        (permission(&["*"], &["*"], &["g*"]), "get", subject(SECRETS, A, "x")),
        // An empty list matches nothing.
        (empty.clone(), "get", subject(SECRETS, A, "x")),
        (Permission { api_groups: vec![], ..all.clone() }, "get", subject(SECRETS, A, "x")),
        (Permission { resources: vec![], ..all.clone() }, "get", subject(SECRETS, A, "x")),
        (Permission { verbs: vec![], ..all.clone() }, "get", subject(SECRETS, A, "x")),
        // A subresource is a separate resource.
        (permission(&[""], &["pods"], &["*"]), "create", subject(EVICTION, A, "x")),
        (permission(&[""], &["pods/eviction"], &["*"]), "get", subject(PODS, A, "x")),
        (permission(&[""], &["pods/log"], &["*"]), "create", subject(EVICTION, A, "x")),
        (permission(&[""], &["pods/*"], &["*"]), "get", subject(PODS, A, "x")),
        (permission(&[""], &["*/*"], &["*"]), "get", subject(PODS, A, "x")),
        (permission(&["apps"], &["*/scale"], &["*"]), "get", subject(DEPLOYMENTS, A, "x")),
        (permission(&["apps"], &["*/status"], &["*"]), "get", subject(SCALE, A, "x")),
        (permission(&["apps"], &["statefulsets/*"], &["*"]), "get", subject(SCALE, A, "x")),
        // Namespaces.
        (within(&["a"], all.clone()), "get", subject(SECRETS, B, "x")),
        (within(&["a"], all.clone()), "list", subject(SECRETS, ALL, "-")),
        (within(&["a"], all.clone()), "get", subject(NODES, CLUSTER, "x")),
        (within(&["a"], all.clone()), "get", subject(("", "namespaces", "-"), CLUSTER, "a")),
        (within(&["*"], all.clone()), "get", subject(SECRETS, A, "x")),
        (within(&[""], all.clone()), "get", subject(NODES, CLUSTER, "x")),
        // Names.
        (named(&["x"], all.clone()), "get", subject(SECRETS, A, "y")),
        (named(&["x"], all.clone()), "list", subject(SECRETS, A, "-")),
        (named(&["x"], all.clone()), "create", subject(SECRETS, A, "-")),
        (named(&["*"], all.clone()), "get", subject(SECRETS, A, "y")),
        (named(&["x"], within(&["a"], all.clone())), "get", subject(SECRETS, B, "x")),
    ];
    for (permission, verb, subject) in table {
        assert!(!allows(std::slice::from_ref(&permission), verb, &subject), "{permission:?} {verb} {subject:?}");
    }
    assert!(!allows(&[], "get", &subject(SECRETS, A, "x")));
}

#[test]
fn two_permissions_are_not_combined_into_a_third() {
    let permissions = [
        within(&["a"], permission(&[""], &["secrets"], &["get"])),
        within(&["b"], permission(&[""], &["pods"], &["delete"])),
    ];
    assert!(allows(&permissions, "get", &subject(SECRETS, A, "x")));
    assert!(!allows(&permissions, "delete", &subject(SECRETS, A, "x")));
    assert!(!allows(&permissions, "get", &subject(SECRETS, B, "x")));
    assert!(!allows(&permissions, "get", &subject(PODS, B, "x")));
}

#[test]
fn a_refusal_names_everything_and_the_permission_that_helps() {
    let hook = HookName::new("x").unwrap();
    assert_eq!(
        refusal(&hook, &["delete"], &subject(SECRETS, B, "a")),
        r#"hook "x" may not delete secrets "a" in namespace "b": add {apiGroups: [""], resources: [secrets], verbs: [delete], namespaces: [b]} to permissions.kubernetes"#
    );
    assert_eq!(
        refusal(&hook, &["get", "update"], &subject(SCALE, A, "d")),
        r#"hook "x" may not get, update deployments/scale "d" in namespace "a": add {apiGroups: [apps], resources: [deployments/scale], verbs: [get, update], namespaces: [a]} to permissions.kubernetes"#
    );
    assert_eq!(
        refusal(&hook, &["list"], &subject(PODS, ALL, "-")),
        r#"hook "x" may not list pods in all namespaces: add {apiGroups: [""], resources: [pods], verbs: [list]} to permissions.kubernetes"#
    );
    assert_eq!(
        refusal(&hook, &["get"], &subject(NODES, CLUSTER, "n")),
        r#"hook "x" may not get nodes "n": add {apiGroups: [""], resources: [nodes], verbs: [get]} to permissions.kubernetes"#
    );
}

/// A permission as it is written in a hook's document.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    namespaces: Vec<String>,
}

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(list(&[
        "", "*", "a", "b", "x", "pods", "secrets", "pods/log", "pods/*", "*/log", "get", "list",
    ]))
}

type Lists = (Vec<String>, Vec<String>, Vec<String>, Vec<String>, Vec<String>);

fn of_lists((api_groups, resources, verbs, resource_names, namespaces): Lists) -> Permission {
    Permission { api_groups, resources, verbs, resource_names, namespaces, http: None, directory: None }
}

fn permissions() -> impl Strategy<Value = Vec<Permission>> {
    let words = || prop::collection::vec(words(), 0..4);
    let one = (words(), words(), words(), words(), words()).prop_map(of_lists);
    prop::collection::vec(one, 0..4)
}

#[derive(Debug, Clone)]
struct Asked {
    verb: String,
    group: String,
    resource: String,
    subresource: Option<String>,
    name: Option<String>,
    reach: u8,
}

impl Asked {
    fn subject(&self) -> ResourceAttributes<'_> {
        let reach = [CLUSTER, ALL, A, B][usize::from(self.reach)];
        ResourceAttributes {
            group: &self.group,
            resource: &self.resource,
            subresource: self.subresource.as_deref(),
            reach,
            name: self.name.as_deref(),
        }
    }
}

fn asked() -> impl Strategy<Value = Asked> {
    let one_of = |words: &[&str]| prop::sample::select(list(words));
    (
        one_of(&["get", "list", "delete"]),
        one_of(&["", "a"]),
        one_of(&["pods", "secrets"]),
        prop::option::of(one_of(&["log"])),
        prop::option::of(one_of(&["a", "x"])),
        0..4_u8,
    )
        .prop_map(|(verb, group, resource, subresource, name, reach)| Asked {
            verb,
            group,
            resource,
            subresource,
            name,
            reach,
        })
}

proptest! {
    #[test]
    fn adding_a_permission_never_removes_access(before in permissions(), more in permissions(), asked in asked()) {
        if allows(&before, &asked.verb, &asked.subject()) {
            let first = [before.clone(), more.clone()].concat();
            let last = [more, before].concat();
            prop_assert!(allows(&first, &asked.verb, &asked.subject()));
            prop_assert!(allows(&last, &asked.verb, &asked.subject()));
        }
    }

    #[test]
    fn a_permission_for_one_namespace_reaches_no_other(permissions in permissions(), asked in asked()) {
        let only_a: Vec<_> = permissions.into_iter().map(|permission| within(&["a"], permission)).collect();
        if asked.subject().reach != A {
            prop_assert!(!allows(&only_a, &asked.verb, &asked.subject()));
        }
    }

    #[test]
    fn restricting_a_permission_never_adds_access(permissions in permissions(), asked in asked()) {
        let open: Vec<_> = permissions.iter().map(|permission| within(&[], named(&[], permission.clone()))).collect();
        if allows(&permissions, &asked.verb, &asked.subject()) {
            prop_assert!(allows(&open, &asked.verb, &asked.subject()));
        }
    }

    #[test]
    fn the_permission_that_a_refusal_suggests_allows_the_request(asked in asked(), namespace in "[a-z0-9.:*,\\[\\]{} -]{1,12}") {
        let mut subject = asked.subject();
        if let Reach::Namespace(_) = subject.reach {
            subject.reach = Reach::Namespace(&namespace);
        }
        let text = refusal(&HookName::new("x").unwrap(), &[&asked.verb], &subject);
        prop_assert!(!text.contains('\n'));
        let yaml = text.split_once(": add ").unwrap().1.strip_suffix(" to permissions.kubernetes").unwrap();
        let written: Written = yaml_serde::from_str(yaml).unwrap();
        let suggested = Permission {
            api_groups: written.api_groups,
            resources: written.resources,
            verbs: written.verbs,
            resource_names: Vec::new(),
            namespaces: written.namespaces,
            http: None, directory: None,
        };
        prop_assert!(allows(&[suggested], &asked.verb, &subject), "{text}");
    }
}

/// What is missing, as the lines that a status shows.
fn lacks(asked: &[Permission], granted: &[Permission]) -> Vec<String> {
    missing(asked, granted).iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_granted_is_not_missing() {
    let pods = permission(&[""], &["pods", "pods/eviction"], &["get", "create"]);
    for granted in [
        vec![pods.clone()],
        vec![permission(&["*"], &["*"], &["*"])],
        vec![permission(&[""], &["pods"], &["*"]), permission(&[""], &["*/eviction"], &["get", "create", "patch"])],
        vec![permission(&[""], &["pods", "pods/*"], &["create", "get"])],
    ] {
        assert_eq!(lacks(std::slice::from_ref(&pods), &granted), Vec::<String>::new(), "{granted:?}");
    }
    let in_b = named(&["x"], within(&["b"], pods.clone()));
    assert!(lacks(std::slice::from_ref(&in_b), &[within(&["a", "b"], pods.clone())]).is_empty());
    assert!(lacks(&[in_b], &[named(&["x", "y"], pods)]).is_empty());
    assert!(lacks(&[permission(&[], &["pods"], &["get"])], &[]).is_empty(), "it asks for nothing");
}

#[test]
fn just_what_is_missing_is_reported() {
    let asked = permission(&["", "apps"], &["pods", "deployments"], &["get", "patch"]);
    let one = std::slice::from_ref(&asked);
    let table: [(Vec<Permission>, &[&str]); 5] = [
        (vec![], &["get, patch pods, deployments of core, apps"]),
        (
            vec![permission(&["*"], &["*"], &["get"])],
            &["patch pods", "patch deployments", "patch pods of apps", "patch deployments of apps"],
        ),
        (vec![permission(&["*"], &["pods"], &["*"])], &["get, patch deployments", "get, patch deployments of apps"]),
        (vec![within(&["a"], asked.clone())], &["get, patch pods, deployments of core, apps"]),
        (vec![named(&["a"], asked.clone())], &["get, patch pods, deployments of core, apps"]),
    ];
    for (granted, expected) in table {
        assert_eq!(lacks(one, &granted), expected, "{granted:?}");
    }
    let named = named(&["x", "y"], within(&["a", "b"], permission(&[""], &["secrets"], &["get"])));
    assert_eq!(
        lacks(&[named], &[within(&["a"], permission(&[""], &["secrets"], &["*"]))]),
        ["get secrets named x in b", "get secrets named y in b"]
    );
    // No list covers a wildcard, however long it is.
    for (asked, granted) in
        [("*", "pods"), ("pods/*", "pods/log"), ("pods", "pods/*"), ("*/log", "pods/*"), ("*/*", "pods/*")]
    {
        let of = |resource: &str| permission(&[""], &[resource], &["get"]);
        assert_eq!(lacks(&[of(asked)], &[of(granted)]).len(), 1, "{asked} {granted}");
    }
}

#[test]
fn a_confined_bundle_keeps_what_is_in_its_namespace() {
    let all = permission(&[""], &["secrets"], &["get"]);
    let confined = confine(&[all.clone(), within(&["a", "b"], all.clone()), within(&["b"], all.clone())], "a");
    assert_eq!(confined, [within(&["a"], all.clone()), within(&["a"], all)]);
}

fn word() -> impl Strategy<Value = String> {
    proptest::sample::select(vec!["*", "a", "b", "c"]).prop_map(str::to_owned)
}

fn resource() -> impl Strategy<Value = String> {
    let names = vec!["*", "*/*", "*/s", "a", "b", "a/s", "a/t", "a/*", "b/s"];
    proptest::sample::select(names).prop_map(str::to_owned)
}

fn any_permission() -> impl Strategy<Value = Permission> {
    use proptest::collection::vec;
    let plain = || proptest::sample::select(vec!["a", "b"]).prop_map(str::to_owned);
    (vec(word(), 0..3), vec(resource(), 0..3), vec(word(), 0..3), vec(plain(), 0..3), vec(plain(), 0..3))
        .prop_map(of_lists)
}

/// Every request that the values of these tests can make, and a few that they cannot make.
fn requests() -> Vec<(&'static str, ResourceAttributes<'static>)> {
    let mut found = Vec::new();
    for verb in ["a", "b", "z"] {
        for group in ["a", "b", "z"] {
            for (resource, sub) in [("a", "-"), ("a", "s"), ("a", "t"), ("b", "-"), ("b", "s"), ("z", "-"), ("z", "s")]
            {
                for reach in [A, B, Reach::Namespace("z"), ALL, CLUSTER] {
                    for name in ["a", "b", "z", "-"] {
                        found.push((verb, subject((group, resource, sub), reach, name)));
                    }
                }
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What a hook requests is granted or missing, and nothing is missing that was not requested.
    #[test]
    fn a_hook_may_do_what_it_asks_for_and_is_granted(
        asked in proptest::collection::vec(any_permission(), 0..3),
        granted in proptest::collection::vec(any_permission(), 0..3),
    ) {
        let missing = missing(&asked, &granted);
        for (verb, subject) in requests() {
            let (a, g) = (allows(&asked, verb, &subject), allows(&granted, verb, &subject));
            prop_assert!(!a || g || allows(&missing, verb, &subject), "{} {:?} is not missed", verb, subject);
            prop_assert!(a || !allows(&missing, verb, &subject), "{} {:?} was not asked for", verb, subject);
        }
    }

    /// Confined permissions allow nothing outside of their namespace. Inside, they allow what was allowed before.
    #[test]
    fn nothing_confined_reaches_out(asked in proptest::collection::vec(any_permission(), 0..3)) {
        let confined = confine(&asked, "a");
        for (verb, subject) in requests() {
            let inside = subject.reach == A;
            prop_assert_eq!(allows(&confined, verb, &subject), inside && allows(&asked, verb, &subject));
        }
    }
}
