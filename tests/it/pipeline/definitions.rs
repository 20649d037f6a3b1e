//! CustomResourceDefinitions that bundles carry.

use boathook_core::{
    definition::permission,
    model::{DefinitionSource, HookPhase, InstallError, Installation, Permission, error_chain},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    bundles::{Shelf, state},
    fixture::Pipeline,
    identity::{account, with_rbac},
};
use crate::support::{cluster::TestCluster, guests::guest, until};

const HELLO: &str = include_str!("../../../hooks-wasm/hello-app/crd.yaml");
const NAME: &str = "helloapps.example.com";

fn hello() -> Value {
    yaml_serde::from_str(HELLO).unwrap()
}

/// A version of the bundle `prod/team` with `hello-app` and this definition of its kind.
struct Bundles {
    shelf: Shelf,
    folder: TempDir,
}

impl Bundles {
    fn new() -> Self {
        Self { shelf: Shelf::new(), folder: tempfile::tempdir().unwrap() }
    }

    fn version(&self, digest: &str, definition: &Value) -> Installation {
        let path = self.folder.path().join(digest);
        std::fs::write(&path, definition.to_string()).unwrap();
        Installation {
            digest: digest.to_owned(),
            definitions: vec![DefinitionSource { name: NAME.to_owned(), path }],
            ..self.shelf.bundle(&[("hello-app", &guest("hello-app"))])
        }
    }
}

fn app() -> Value {
    let metadata = json!({"name": "web", "namespace": "default"});
    let spec = json!({"image": "registry.example.com/web:1", "size": 2});
    json!({"apiVersion": "example.com/v1alpha1", "kind": "HelloApp", "metadata": metadata, "spec": spec})
}

fn live() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": NAME}})
}

fn properties(definition: &mut Value) -> &mut serde_json::Map<String, Value> {
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"].as_object_mut().unwrap()
}

// mutant: crates/operator/src/app/definitions.rs: `let (changes, covered) = (definition.unsafe_changes(&live), definition.is_covered_by(&live));` => `let (changes, covered) = (Vec::<String>::new(), definition.is_covered_by(&live));`
#[tokio::test]
async fn a_bundle_brings_the_kind_that_it_reconciles_and_changes_it_safely() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (bundles, installer) = (Bundles::new(), pipeline.operator.app.installer());
    installer.install(bundles.version("one", &hello())).await.unwrap();
    pipeline.operator.ready().await;
    until("the kind is served", async || pipeline.cluster.admin.create(&app()).await.ok()).await;
    let deployment =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}});
    until("its Deployment is there", async || pipeline.get(deployment.clone()).await).await;

    // A field more is safe, and one with another type is not.
    let mut more = hello();
    properties(&mut more).insert("note".to_owned(), json!({"type": "string"}));
    installer.install(bundles.version("two", &more)).await.unwrap();
    assert!(properties(&mut pipeline.get(live()).await.unwrap()).contains_key("note"));
    let mut other = hello();
    properties(&mut other).insert("size".to_owned(), json!({"type": "string"}));
    let error = installer.install(bundles.version("three", &other)).await.unwrap_err();
    let InstallError::Definition { problem, .. } = &error else { panic!("{error}") };
    assert!(problem.contains("version v1alpha1.spec.size: type changes"), "{problem}");
    assert_eq!(state(&installer, "hello-app").phase, HookPhase::Ready, "the version before continues");
    assert_eq!(properties(&mut pipeline.get(live()).await.unwrap())["size"]["type"], "integer");

    // The version before is covered by what is there, and so is one that needs less.
    installer.install(bundles.version("one", &hello())).await.unwrap();
    let mut less = hello();
    properties(&mut less).remove("size");
    installer.install(bundles.version("four", &less)).await.unwrap();
    let mut found = pipeline.get(live()).await.unwrap();
    let fields = properties(&mut found);
    assert!(fields.contains_key("note") && fields.contains_key("size"));

    // What it defined stays, with its objects.
    assert!(installer.remove(&super::bundles::team()).await);
    assert!(pipeline.get(live()).await.is_some() && pipeline.get(app()).await.is_some());
}

#[tokio::test]
async fn a_file_that_defines_something_else_is_refused() {
    let pipeline = Pipeline::on(TestCluster::start().await, &[], |_| ()).await;
    let (bundles, installer) = (Bundles::new(), pipeline.operator.app.installer());
    let mut other = hello();
    other["metadata"]["name"] = "others.example.com".into();
    other["spec"]["names"]["plural"] = "others".into();
    for (definition, part) in [
        (other, "its file defines others.example.com"),
        (json!("x"), "only these can be in crds/"),
        (json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}}), "only these can be in crds/"),
    ] {
        let error = installer.install(bundles.version("bad", &definition)).await.unwrap_err();
        assert!(error_chain(&error).contains(part), "{}", error_chain(&error));
    }
    // What somebody else manages stays as it is.
    let mut theirs = hello();
    theirs["spec"]["names"]["shortNames"] = json!(["theirs"]);
    pipeline.apply(theirs).await;
    let mut ours = hello();
    ours["spec"]["names"]["shortNames"] = json!(["ours"]);
    properties(&mut ours).insert("note".to_owned(), json!({"type": "string"}));
    let error = error_chain(&installer.install(bundles.version("conflict", &ours)).await.unwrap_err());
    assert!(error.contains("conflict"), "{error}");
    assert_eq!(pipeline.get(live()).await.unwrap()["spec"]["names"]["shortNames"], json!(["theirs"]));
}

/// A definition is for the whole cluster.
// mutant: crates/operator/src/app/bundles/definitions.rs: `if let Some(namespace) = &terms.confined_to {` => `if let Some(namespace) = terms.confined_to.as_ref().filter(|_| false) {`
//     with: crates/operator/src/app/bundles/definitions.rs: `Ok(Caller { identity: terms.identity.clone(), ..caller })` => `Ok(caller)`
//     with: crates/operator/src/app/bundles/definitions.rs: `scope::granted(&asks, terms)` => `scope::granted(&[], terms)`
// mutant: crates/operator/src/app/bundles/definitions.rs: `scope::granted(&asks, terms)` => `scope::granted(&[], terms)`
// mutant: crates/operator/src/app/bundles/definitions.rs: `Ok(Caller { identity: terms.identity.clone(), ..caller })` => `Ok(caller)`
#[tokio::test]
async fn a_tenant_defines_nothing_that_it_was_not_allowed() {
    let pipeline = with_rbac().await;
    let (bundles, installer) = (Bundles::new(), pipeline.operator.app.installer());
    let confined = |digest: &str| Installation {
        identity: account("prod"),
        confined_to: Some("prod".to_owned()),
        ..bundles.version(digest, &hello())
    };
    let _ = installer.install(confined("confined")).await;
    assert_eq!(pipeline.get(live()).await, None);

    let bundle = |grants: Vec<Permission>| Installation {
        identity: account("prod"),
        grants: Some(grants),
        ..bundles.version("granted", &hello())
    };
    let all = |group: &str| Permission {
        api_groups: vec![group.to_owned()],
        resources: vec!["*".to_owned()],
        verbs: vec!["*".to_owned()],
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    };
    let hooks = ["example.com", "apps", ""].map(&all).to_vec();
    let error = installer.install(bundle(hooks.clone())).await.unwrap_err();
    let InstallError::Ungranted(missing) = &error else { panic!("{error}") };
    assert_eq!(missing[0].1, [permission([NAME])]);

    // The grant lets it ask, and the API server decides.
    let grants: Vec<_> = hooks.into_iter().chain([permission([NAME])]).collect();
    let error = error_chain(&installer.install(bundle(grants.clone())).await.unwrap_err());
    assert!(error.contains("system:serviceaccount:prod:hook") && error.contains(NAME), "{error}");
    assert_eq!(pipeline.get(live()).await, None);
    let group = "rbac.authorization.k8s.io";
    let api = format!("{group}/v1");
    let rules = json!([{"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
        "verbs": ["get", "create", "patch"], "resourceNames": [NAME]}]);
    pipeline
        .apply(json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "crds"}, "rules": rules}))
        .await;
    pipeline
        .apply(json!({"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": {"name": "crds"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "crds"},
            "subjects": [{"kind": "ServiceAccount", "name": "hook", "namespace": "prod"}]}))
        .await;
    installer.install(bundle(grants)).await.unwrap();
    assert!(pipeline.get(live()).await.is_some());
}
