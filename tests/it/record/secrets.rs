//! No value of a Secret is in a record, and the run is the same again all the same.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_core::model::{Create, IfExists, ObjectRef, Operation, WriteOptions};
use boathook_operator::record::{
    Answer, Call, LogLine, Request,
    secrets::{Key, redact},
};
use serde_json::json;

use super::bad::example;
use super::{Recorded, names, records, replayed};
use crate::{pipeline::tell::tell, support::guests::guest};

/// Binds Secrets and, in `tell`, logs everything that it receives about them.
const DOCUMENT: &str = "
configVersion: v1
kubernetes:
- {name: whole, apiVersion: v1, kind: Secret, previousObject: true, includeSnapshotsFrom: [filtered]}
- {name: filtered, apiVersion: v1, kind: secrets, jqFilter: '{type: .type, all: .data, one: .data.password, plain: (.data.password | @base64d)}'}
";

const PASSWORDS: [&str; 3] = ["correct horse battery staple", "pa\"ss\nwith lines, and a second one", "hunter2hunter2"];

fn secret(name: &str, password: &str) -> serde_json::Value {
    let inner = json!({"auths": {"r.example": {"password": password}}}).to_string();
    let data = json!({"password": STANDARD.encode(password), ".dockerconfigjson": STANDARD.encode(inner)});
    let applied =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"password": password}});
    let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()});
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson", "data": data,
        "metadata": {"namespace": "default", "name": name, "annotations": annotations},
    })
}

/// Each form in which a password could be in a file.
fn forms(password: &str) -> Vec<String> {
    let escaped = serde_json::Value::from(password).to_string();
    let once = escaped.trim_matches('"').to_owned();
    let lines = password.lines().filter(|line| line.len() >= 16).map(str::to_owned);
    let inner = json!({"auths": {"r.example": {"password": password}}}).to_string();
    [password.to_owned(), once, STANDARD.encode(password), STANDARD.encode(inner)].into_iter().chain(lines).collect()
}

fn found(path: &Path) -> Vec<String> {
    let texts: Vec<_> = records(path).iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let forms = PASSWORDS.iter().flat_map(|password| forms(password));
    forms
        .filter(|form| {
            texts.iter().any(|text| text.contains(serde_json::Value::from(form.as_str()).to_string().trim_matches('"')))
        })
        .collect()
}

async fn record(keep_secrets: bool) -> (tempfile::TempDir, std::path::PathBuf) {
    let hooks = [("tell", tell(DOCUMENT)), ("registry-secret", guest("registry-secret"))];
    let recorded = Recorded::start(&hooks, |config| config.secrets = keep_secrets).await;
    let pipeline = &recorded.pipeline;
    pipeline.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})).await;
    pipeline.create(secret("registry-credentials", PASSWORDS[0])).await;
    pipeline.create(secret("second", PASSWORDS[1])).await;
    pipeline.apply(secret("registry-credentials", PASSWORDS[2])).await;
    let copy = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "other", "name": "registry-credentials"}});
    let copied = async || {
        let data = pipeline.get(copy.clone()).await?["data"]["password"].as_str()?.to_owned();
        (data == STANDARD.encode(PASSWORDS[2])).then_some(())
    };
    crate::support::until("the copy follows", copied).await;
    recorded.operator().told("run succeeded", "tell", 4).await;
    recorded.stop().await
}

// mutant: crates/operator/src/record/secrets.rs: `inputs(&mut record, &mut pass, bindings);` => `let _ = bindings;`
// mutant: crates/operator/src/record/secrets.rs: `Some(scrubber) => scrubbed(record, &scrubber),` => `Some(_) => Ok(record),`
#[tokio::test]
async fn no_value_of_a_secret_is_recorded_and_replays_are_the_same() {
    let (_records, path) = record(false).await;
    assert_eq!(found(&path), Vec::<String>::new());
    let all = records(&path);
    assert!(all.iter().all(|record| record.header.redacted));
    // The type and the names are there.
    assert!(all.iter().any(|record| serde_json::to_string(record).unwrap().contains("kubernetes.io/dockerconfigjson")));
    let (code, told) = replayed(&[path.to_str().unwrap()]).await;
    assert_eq!((code, &told["same"]), (Some(0), &json!(names(&path).len())), "{told:#}");
}

#[tokio::test]
async fn values_are_kept_when_that_is_asked_for() {
    let (_records, path) = record(true).await;
    assert!(found(&path).len() >= 6, "{:?}", found(&path));
    assert!(!path.join("redaction.key").exists());
    let (code, told) = replayed(&[path.to_str().unwrap()]).await;
    assert_eq!((code, &told["same"]), (Some(0), &json!(names(&path).len())), "{told:#}");
}

/// A token of a ServiceAccount is as good as the Secret that it once was: the hook asks for one, logs it, and uses it.
// mutant: crates/operator/src/record/secrets.rs: `("TokenRequest", ["status", "token"])` => `("NoSuchKind", ["status", "token"])`
// mutant: crates/operator/src/record/secrets.rs: `("TokenReview", ["spec", "token"])` => `("NoSuchKind", ["spec", "token"])`
#[test]
fn no_token_of_a_service_account_is_recorded() {
    let (issued, reviewed) = ("eyJhbGciOi.eyJpc3MiOi.c2lnbmF0dXJl", "eyJhbGciOi.b3RoZXIgb25l.c2lnbmF0dXJl");
    let account = ObjectRef {
        api_version: "v1".into(),
        kind: "ServiceAccount".into(),
        namespace: Some("a".into()),
        name: "hook".into(),
    };
    let create = |object: &str, subresource| {
        let create = Create { object: object.to_owned(), if_exists: IfExists::Fail, subresource };
        Request::Write { operation: Operation::Create(create), options: WriteOptions::default() }
    };
    let written = |object: String| Some(Answer::Written(Ok(Some(object))));
    let request = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["x"]}}"#;
    let answer = json!({"kind": "TokenRequest", "spec": {"audiences": ["x"]}, "status": {"token": issued}});
    let review = format!(r#"{{"kind":"Token\u0052eview","spec":{{"token":"{reviewed}"}}}}"#);
    let copy =
        json!({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"kubeconfig": format!("token: {issued}")}});
    let mut record = example();
    record.calls = vec![
        Call { request: create(request, Some(("token".into(), account))), answer: written(answer.to_string()) },
        Call { request: create(&review, None), answer: written(review.clone()) },
        Call { request: create(&copy.to_string(), None), answer: written(copy.to_string()) },
    ];
    record.log = vec![LogLine { level: "INFO".into(), message: format!("got {issued}"), fields: String::new() }];
    assert!([issued, reviewed].iter().all(|token| serde_json::to_string(&record).unwrap().contains(token)));
    let redacted = redact(record, &Key::new([7; 32]), &[]).unwrap();
    let text = serde_json::to_string(&redacted).unwrap();
    for token in [issued, reviewed] {
        assert!(!text.contains(token), "{token} in {text}");
    }
    // The audience is there, and texts that differed can still be distinguished.
    assert!(text.contains("audiences") && text.contains("got "), "{text}");
}
