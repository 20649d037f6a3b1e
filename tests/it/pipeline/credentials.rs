//! Credentials of HookBundles on a cluster where RBAC decides: who may use which Secret, and where a value appears.

use boathook_core::model::{
    CredentialForm, CredentialProblemKind, CredentialValues, HttpCredential, HttpRule, Installation, Permission,
};
use serde_json::{Value, json};

use super::{
    bundles::{Shelf, team},
    fixture::Pipeline,
    http::{Server, fetch},
    identity::{account, allow, with_rbac_and},
};

const TOKEN: &str = "a-token-of-the-team";
const HOOK: &str = "fetch.team.prod";

fn secret(namespace: &str, value: &str) -> Value {
    let metadata = json!({"name": "api", "namespace": namespace});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": value}})
}

/// The ServiceAccount `prod/hook` may get the Secret `api` of this namespace.
async fn may_read(pipeline: &Pipeline, namespace: &str) {
    let meta = json!({"name": "credentials", "namespace": namespace});
    let (group, api) = ("rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1");
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["api"], "verbs": ["get"]}]);
    pipeline.apply(json!({"apiVersion": api, "kind": "Role", "metadata": meta, "rules": rules})).await;
    let subjects = json!([{"kind": "ServiceAccount", "name": "hook", "namespace": "prod"}]);
    let role = json!({"apiGroup": group, "kind": "Role", "name": "credentials"});
    let binding =
        json!({"apiVersion": api, "kind": "RoleBinding", "metadata": meta, "roleRef": role, "subjects": subjects});
    pipeline.apply(binding).await;
}

/// A HookBundle of the namespace `prod` that sends the token of a Secret to the server.
fn bundle(shelf: &Shelf, server: &Server, secret: &str) -> Installation {
    let credential = HttpCredential {
        host: server.host(),
        values: CredentialValues::Secret(secret.to_owned()),
        form: CredentialForm::Bearer { key: "token".to_owned() },
        place: "spec.httpCredentials of HookBundle prod/team".to_owned(),
    };
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let http = HttpRule {
        hosts: vec![server.host(), format!("http://127.0.0.1:{}", server.address.port())],
        methods: list(&["GET", "POST"]),
        paths: list(&["/v1/*"]),
    };
    let watch = Permission {
        api_groups: list(&[""]),
        resources: list(&["configmaps"]),
        verbs: list(&["watch"]),
        resource_names: Vec::new(),
        namespaces: Vec::new(),
        http: None,
        directory: None,
    };
    Installation {
        identity: account("prod"),
        confined_to: Some("default".to_owned()),
        grants: Some(vec![watch, Permission::of_http(http)]),
        credentials: vec![credential],
        ..shelf.bundle(&[("fetch", &server.hook())])
    }
}

async fn start(server: &Server) -> Pipeline {
    let pipeline = with_rbac_and(|options| options.http = server.client()).await;
    allow(&pipeline, "prod", &["list", "watch", "get"]).await;
    pipeline.create(secret("prod", TOKEN)).await;
    pipeline
}

/// What the hook says about one request.
async fn said(pipeline: &Pipeline, server: &Server, name: &str) -> Value {
    pipeline.create(fetch(name, json!({"url": server.url("/v1/echo"), "method": "POST", "body": "x"}))).await;
    let about = |operator: &super::fixture::Operator| {
        let lines = operator.log.said(HOOK);
        let mut lines = lines.iter().filter(|line| line.starts_with('{'));
        lines.by_ref().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(|line| line["fetch"] == name)
    };
    pipeline.operator.until(&format!("the request {name}"), about).await
}

/// A user who may write HookBundles, and may not read the Secret, cannot have the operator send it to a server of theirs.
// mutant: crates/kube/src/access/read.rs: `let answer = self.sender.send(Some(caller),` => `let answer = self.sender.send(None,`
// mutant: crates/kube/src/access/read.rs: `secrets.path(Some(&identity.namespace),` => `secrets.path(Some("default"),`
#[tokio::test]
async fn cve_2026_22039_a_credential_is_read_with_the_rights_of_the_service_account() {
    let server = Server::start().await;
    let (pipeline, shelf) = (start(&server).await, Shelf::new());
    let installer = pipeline.operator.app.installer();
    installer.install(bundle(&shelf, &server, "api")).await.unwrap();
    pipeline.operator.ready().await;
    let line = said(&pipeline, &server, "forbidden").await;
    assert_eq!(line["kind"], "Credential", "{line}");
    let log = pipeline.operator.log.said(HOOK).join("\n");
    assert!(log.contains("ServiceAccount prod/hook may not get Secret prod/api: give it a role"), "{log}");
    let problems = installer.check_credentials(&team()).await;
    assert_eq!(problems[0].kind, CredentialProblemKind::Forbidden, "{problems:?}");
    assert_eq!(server.seen(), []);

    may_read(&pipeline, "prod").await;
    let line = said(&pipeline, &server, "allowed").await;
    assert_eq!(line["status"], 200, "{line}");
    assert_eq!(installer.check_credentials(&team()).await, []);
    let seen = server.seen();
    assert_eq!(seen[0].authorization, Some(format!("Bearer {TOKEN}")));
    // A changed Secret counts at once.
    pipeline.apply(secret("prod", "another-token")).await;
    said(&pipeline, &server, "changed").await;
    assert_eq!(server.seen()[1].authorization.as_deref(), Some("Bearer another-token"));
    pipeline.delete(secret("prod", "")).await;
    let line = said(&pipeline, &server, "deleted").await;
    assert_eq!((&line["kind"], server.seen().len()), (&json!("Credential"), 2), "{line}");
    let log = pipeline.operator.log.said(HOOK).join("\n");
    assert!(log.contains("there is no Secret prod/api") && log.contains("HookBundle prod/team"), "{log}");
    for line in pipeline.operator.log.lines() {
        assert!(!line.to_string().contains(TOKEN), "{line}");
    }
}

/// The ServiceAccount may read the Secrets of both namespaces.
#[tokio::test]
async fn cve_2026_22039_a_name_of_a_secret_leads_to_no_other_namespace() {
    let server = Server::start().await;
    let (pipeline, shelf) = (start(&server).await, Shelf::new());
    let installer = pipeline.operator.app.installer();
    pipeline.create(secret("default", "of-another-namespace")).await;
    may_read(&pipeline, "default").await;
    may_read(&pipeline, "prod").await;
    for name in ["../../default/secrets/api", "default/api", "..%2F..%2Fdefault%2Fsecrets%2Fapi", "..", ""] {
        installer.install(bundle(&shelf, &server, name)).await.unwrap();
        assert_eq!(installer.check_credentials(&team()).await.len(), 1, "{name}");
    }
    pipeline.operator.ready().await;
    assert_eq!(said(&pipeline, &server, "elsewhere").await["kind"], "Credential");
    assert_eq!(server.seen(), []);
    installer.install(bundle(&shelf, &server, "api")).await.unwrap();
    assert_eq!(installer.check_credentials(&team()).await, []);
}
