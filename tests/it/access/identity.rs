//! Calls of hooks that act as a ServiceAccount and are confined to a namespace, held against what befell others: each
//! test is named by the published flaw that it tries here.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{sync::Arc, time::Duration};

use boathook_core::model::{
    AccessQuestion, Caller, Create, Delete, EmitEvent, EventType, Identity, IfExists, ListQuery, ObjectRef, Operation,
    PatchBody, Propagation, Update,
};
use serde_json::json;

use super::{
    fixture::{caller, patch, permission},
    script::{Script, Step},
};

const FOUND: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"}}"#;

/// May do everything in namespace `n`, as the ServiceAccount `n/hook`.
fn tenant() -> Caller {
    let identity = Identity { namespace: "n".to_owned(), service_account: "hook".to_owned() };
    let all = permission(&["*"], &["*"], &["*"], &["n"]);
    Caller { identity: Some(Arc::new(identity)), ..caller(vec![all]) }
}

fn object(kind: &str, namespace: Option<&str>, name: &str) -> ObjectRef {
    ObjectRef {
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: namespace.map(str::to_owned),
        name: name.into(),
    }
}

fn body(of: &ObjectRef) -> String {
    let ObjectRef { api_version, kind, namespace, name } = of;
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}).to_string()
}

/// Every way to write an object.
fn writes(target: &ObjectRef) -> Vec<Operation> {
    let create = |if_exists| Operation::Create(Create { object: body(target), if_exists, subresource: None });
    let delete = |wait| {
        Operation::Delete(Delete {
            target: target.clone(),
            propagation: Propagation::Background,
            ignore_missing: true,
            uid: None,
            resource_version: None,
            wait,
        })
    };
    let apply = PatchBody::Apply { object: body(target), force: true, field_manager: None };
    let patches = [
        apply,
        PatchBody::Merge("{}".into()),
        PatchBody::Json("[]".into()),
        PatchBody::Strategic("{}".into()),
        PatchBody::Jq(".data.x = \"1\"".into()),
    ];
    let mut all = vec![create(IfExists::Fail), create(IfExists::Keep), create(IfExists::Replace)];
    all.extend(patches.map(|body| patch(target.clone(), body)));
    all.push(Operation::Update(Update { object: body(target), subresource: None }));
    all.extend([delete(None), delete(Some(Duration::from_millis(1)))]);
    all
}

fn list(namespace: Option<&str>) -> ListQuery {
    ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: namespace.map(str::to_owned),
        label_selector: None,
        field_selector: None,
        limit: None,
        continue_token: None,
    }
}

fn event(regarding: ObjectRef) -> EmitEvent {
    EmitEvent { regarding, event_type: EventType::Normal, reason: "Said".into(), note: "x".into() }
}

/// Flux Operator CVE-2026-23990: an empty user made no header, and no header is the operator's own rights.
// mutant: crates/kube/src/access/send.rs: `request.header("Impersonate-User", identity.user())` => `request.header("X-User", identity.user())`
// mutant: crates/kube/src/access/read.rs: `self.sender.send(Some(caller), &what, &wire, &mut RequestStats::default()).await?;` => `self.sender.send(None, &what, &wire, &mut RequestStats::default()).await?;`
#[tokio::test]
async fn cve_2026_23990_no_call_of_a_tenants_hook_leaves_without_its_header() {
    // Found, conflicting, there already, not there, and lost on the way: so each call asks again in its own ways.
    for answer in [
        Step::Answer(200, "", FOUND),
        Step::Answer(409, "", r#"{"kind":"Status","reason":"AlreadyExists","code":409}"#),
        Step::Answer(409, "", r#"{"kind":"Status","reason":"Conflict","code":409}"#),
        Step::Answer(404, "", r#"{"kind":"Status","reason":"NotFound","code":404}"#),
        Step::Answer(500, "", "{}"),
        Step::Cut,
    ] {
        let steps = || vec![answer, answer, Step::Answer(200, "", FOUND)];
        let (caller, target) = (tenant(), Script::object());
        for operation in &writes(&target) {
            let script = Script::start(steps()).await;
            let _ = script.access.write(&caller, operation).await;
            told_as_the_tenant(&script);
        }
        let script = Script::start(steps()).await;
        let _ = script.access.batch(&caller, &writes(&target)).await;
        told_as_the_tenant(&script);
        let _ = script.access.get(&caller, &target, None).await;
        told_as_the_tenant(&script);
        let _ = script.access.list(&caller, &list(Some("n"))).await;
        told_as_the_tenant(&script);
        let _ = script.access.emit_event(&caller, &event(target)).await;
        told_as_the_tenant(&script);
    }
}

fn told_as_the_tenant(script: &Script) {
    let requests = script.requests_as();
    assert!(!requests.is_empty());
    for (request, user) in requests {
        assert_eq!(user.as_deref(), Some("system:serviceaccount:n:hook"), "{request}");
    }
}

/// A hook that asks what it may do learns nothing of others, and nothing that its grants leave out.
// mutant: crates/kube/src/access/rights.rs: `if !grants::allows(&caller.permissions, verb, &subject) {` => `if grants::allows(&[], verb, &subject) {`
// mutant: crates/kube/src/access/rights.rs: `self.reviewed(Some(caller), &what, OWN_PATH, &body).await` => `self.reviewed(None, &what, OWN_PATH, &body).await`
#[tokio::test]
async fn a_hook_asks_what_it_may_do_as_itself_and_within_its_grants() {
    const YES: &str = r#"{"kind":"SelfSubjectAccessReview","status":{"allowed":true}}"#;
    let script = Script::start(vec![Step::Answer(201, "", YES)]).await;
    let ask = |resource: &str, namespace: Option<&str>| AccessQuestion {
        verb: "get".into(),
        group: String::new(),
        resource: resource.into(),
        namespace: namespace.map(str::to_owned),
        name: Some("a".into()),
    };
    assert!(script.access.allowed(&tenant(), &ask("pods/log", Some("n"))).await.unwrap());
    let requests = script.requests_as();
    let [(request, user)] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!(user.as_deref(), Some("system:serviceaccount:n:hook"), "{request}");
    assert!(request.starts_with("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"), "{request}");
    for part in [r#""resource":"pods""#, r#""subresource":"log""#, r#""namespace":"n""#, r#""name":"a""#] {
        assert!(request.contains(part), "{part}: {request}");
    }
    for namespace in [None, Some(""), Some("kube-system"), Some("n/../kube-system")] {
        assert!(!script.access.allowed(&tenant(), &ask("pods", namespace)).await.unwrap(), "{namespace:?}");
    }
    for resource in ["", "a\nb"] {
        script.access.allowed(&tenant(), &ask(resource, Some("n"))).await.unwrap_err();
    }
    assert_eq!(script.requests(), Vec::<String>::new(), "what the grants leave out is not asked");
    let no = Script::start(vec![Step::Answer(201, "", r#"{"status":{"allowed":false}}"#)]).await;
    assert!(!no.access.allowed(&tenant(), &ask("pods", Some("n"))).await.unwrap(), "the cluster decides, too");
}

/// Kyverno CVE-2026-22039: a policy of one namespace reached another by the controller's rights, with a path of its own
/// making.
// mutant: crates/kube/src/access/grants/mod.rs: `Reach::Namespace(namespace) => rules.iter().any(|rule| rule == namespace),` => `Reach::Namespace(_) => true,`
#[tokio::test]
async fn cve_2026_22039_no_name_leads_to_another_namespace() {
    let script = Script::start(vec![Step::Answer(200, "", FOUND)]).await;
    let caller = tenant();
    let elsewhere = [
        object("ConfigMap", Some("kube-system"), "a"),
        object("ConfigMap", Some("n/../kube-system"), "a"),
        object("ConfigMap", Some("kube-system/configmaps/a?"), "a"),
        object("ConfigMap", Some("n%2F..%2Fkube-system"), "a"),
        object("ConfigMap", Some("N"), "a"),
        object("ConfigMap", Some("n\u{0}"), "a"),
        object("ConfigMap", Some("n\r\nImpersonate-User: admin"), "a"),
        object("ConfigMap", Some(""), "a"),
        object("ConfigMap", None, "a"),
        object("ConfigMap", Some("n"), "../../kube-system/configmaps/a"),
        object("ConfigMap", Some("n"), ".."),
        object("ConfigMap", Some("n"), "%2e%2e"),
        object("ConfigMap", Some("n"), "a?fieldManager=x"),
        object("ConfigMap", Some("n"), ""),
        ObjectRef { api_version: "v1/namespaces/kube-system".into(), ..object("ConfigMap", Some("n"), "a") },
        ObjectRef { api_version: "../apis/x/v1".into(), ..object("ConfigMap", Some("n"), "a") },
    ];
    for target in &elsewhere {
        for operation in &writes(target) {
            let _ = script.access.write(&caller, operation).await;
        }
        let _ = script.access.batch(&caller, &writes(target)).await;
        let _ = script.access.get(&caller, target, None).await;
        let _ = script.access.emit_event(&caller, &event(target.clone())).await;
    }
    for subresource in ["../../kube-system/configmaps/a", "..", "status/../../b"] {
        let _ = script.access.get(&caller, &Script::object(), Some(subresource)).await;
    }
    for namespace in [None, Some("kube-system"), Some("n/../kube-system"), Some("")] {
        let _ = script.access.list(&caller, &list(namespace)).await;
    }
    // The body names another object than the target.
    for other in ["kube-system", ""] {
        let object = body(&object("ConfigMap", Some(other), "a"));
        let apply = PatchBody::Apply { object, force: true, field_manager: None };
        let _ = script.access.write(&caller, &patch(Script::object(), apply)).await;
    }
    let moves = PatchBody::Jq(".metadata.namespace = \"kube-system\"".into());
    let _ = script.access.write(&caller, &patch(Script::object(), moves)).await;
    for (request, user) in script.requests_as() {
        let (_, uri) = request.split_once(' ').unwrap();
        let inside = ["/api/v1/namespaces/n/configmaps", "/apis/events.k8s.io/v1/namespaces/n/events"];
        assert!(inside.iter().any(|place| uri.starts_with(place)) && !uri.contains("/.."), "{request}");
        assert!(!request.contains("\"namespace\":\"kube-system"), "{request}");
        assert_eq!(user.as_deref(), Some("system:serviceaccount:n:hook"), "{request}");
    }
}

/// Capsule CVE-2026-22872: the tenant's namespace was forced upon each object, which means nothing to a cluster-scoped one.
// mutant: crates/kube/src/access/grants/mod.rs: `Reach::Cluster | Reach::AllNamespaces => false,` => `Reach::Cluster | Reach::AllNamespaces => true,`
#[tokio::test]
async fn cve_2026_22872_a_forced_namespace_lets_nothing_cluster_scoped_through() {
    let script = Script::start(vec![Step::Answer(200, "", FOUND)]).await;
    let caller = tenant();
    for namespace in [None, Some(""), Some("n")] {
        let target = object("Namespace", namespace, "n");
        for operation in &writes(&target) {
            let _ = script.access.write(&caller, operation).await.unwrap_err();
        }
        script.access.get(&caller, &target, None).await.unwrap_err();
        let query = ListQuery { kind: "Namespace".into(), ..list(namespace) };
        script.access.list(&caller, &query).await.unwrap_err();
    }
    assert_eq!(script.requests(), Vec::<String>::new());
}
