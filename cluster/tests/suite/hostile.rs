//! Requests that nobody should send: every one is answered, none does harm.

use http::Method;
use serde_json::{Value, json};

use super::support::{CONFIG_MAPS, message, start};

#[tokio::test]
async fn malformed_bodies_are_bad_requests() {
    let f = start().await;
    let deep = "[".repeat(100_000).into_bytes();
    let nested = format!("{}1{}", "{\"a\":".repeat(500), "}".repeat(500)).into_bytes();
    let bomb = b"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("application/json", b"{".to_vec()),
        ("application/json", b"[]".to_vec()),
        ("application/json", b"\"x\"".to_vec()),
        ("application/json", Vec::new()),
        ("application/json", vec![0xff, 0xfe, 0x00]),
        ("application/json", deep),
        ("application/json", nested),
        ("application/yaml", b"a: [".to_vec()),
        ("application/yaml", bomb.to_vec()),
        ("application/json", br#"{"metadata":5}"#.to_vec()),
        ("application/json", br#"{"metadata":{"name":5}}"#.to_vec()),
        ("application/json", br#"{"metadata":{"name":"x","labels":{"a":1}}}"#.to_vec()),
        ("application/json", br#"{"metadata":{"name":"x"},"data":{"a":1}}"#.to_vec()),
        ("application/json", br#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}"#.to_vec()),
        ("application/json", br#"{"kind":"ConfigMap","apiVersion":"apps/v1","metadata":{"name":"x"}}"#.to_vec()),
        ("application/json", br#"{"metadata":{"name":"x","namespace":"other"}}"#.to_vec()),
        ("application/vnd.kubernetes.protobuf", b"k8s\0\xff\xff\xff".to_vec()),
    ];
    for (content, body) in bodies {
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        let (code, status) = f.send(Method::POST, CONFIG_MAPS, content, body).await;
        assert_eq!((code, &status["reason"]), (400, &json!("BadRequest")), "{shown}: {status}");
    }
    assert_eq!(f.get(CONFIG_MAPS).await.1["items"], json!([]));
}

#[tokio::test]
async fn wrong_names_are_invalid_with_causes() {
    let f = start().await;
    let refused = f.post(CONFIG_MAPS, json!({ "metadata": { "name": "Bad_Name", "labels": { "a b": "c" } } })).await;
    assert_eq!((refused.0, &refused.1["reason"]), (422, &json!("Invalid")));
    let fields: Vec<&Value> = refused.1["details"]["causes"].as_array().unwrap().iter().map(|c| &c["field"]).collect();
    assert_eq!(fields, ["metadata.name", "metadata.labels"]);
    assert!(message(&refused).starts_with(
        "ConfigMap \"Bad_Name\" is invalid: [metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123"
    ));
    let nameless = f.post(CONFIG_MAPS, json!({ "metadata": {} })).await;
    assert_eq!(
        (nameless.0, message(&nameless)),
        (422, "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required")
    );
}

#[tokio::test]
async fn wrong_paths_methods_and_sizes() {
    let f = start().await;
    let nowhere = f.get("/api/v1/foos").await;
    assert_eq!((nowhere.0, message(&nowhere)), (404, "the server could not find the requested resource"));
    for path in [
        "/apis/no.such/v1",
        "/apis/no.such/v1/things",
        "/foo",
        "/api/v1/pods/x/y/z/w",
        "/api/v1/namespaces/default/pods/p/nothing",
    ] {
        assert_eq!(f.get(path).await.0, 404, "{path}");
    }
    assert_eq!(f.post(&format!("{CONFIG_MAPS}/x"), json!({})).await.0, 405);
    assert_eq!(f.put(CONFIG_MAPS, json!({})).await.0, 405);
    assert_eq!(f.post("/api/v1/configmaps", json!({})).await.0, 405);
    assert_eq!(f.delete("/api/v1/namespaces").await.0, 405);
    let big = vec![b' '; (3 << 20) + 1];
    let (code, status) = f.send(Method::POST, CONFIG_MAPS, "application/json", big).await;
    assert_eq!((code, &status["reason"]), (413, &json!("RequestEntityTooLarge")));
    assert_eq!(f.send(Method::POST, CONFIG_MAPS, "text/csv", b"a,b".to_vec()).await.0, 415);
    f.config_map("x", json!({})).await;
    let path = format!("{CONFIG_MAPS}/x");
    assert_eq!(f.send(Method::PATCH, &path, "application/json", b"{}".to_vec()).await.0, 415);
}

#[tokio::test]
async fn hostile_patches() {
    let f = start().await;
    f.config_map("x", json!({})).await;
    let path = format!("{CONFIG_MAPS}/x");
    let doubling: Vec<Value> = (0..60).map(|_| json!({ "op": "copy", "from": "", "path": "/data" })).collect();
    let list = json!([{ "op": "add", "path": "/data/l", "value": "x" }]);
    for (kind, patch) in [
        ("json", json!(doubling)),
        ("json", json!([{ "op": "remove", "path": "/nowhere" }])),
        ("json", json!([{ "op": "nonsense" }])),
        ("json", json!([{ "op": "replace", "path": "", "value": 5 }])),
        ("json", json!({})),
        ("merge", json!([])),
        ("merge", json!({ "metadata": null })),
        ("merge", json!({ "metadata": { "name": "y" } })),
        ("merge", json!({ "metadata": { "uid": "y" } })),
        ("merge", json!({ "metadata": { "resourceVersion": "1" } })),
        ("strategic-merge", json!({ "metadata": { "ownerReferences": [{ "name": "x" }] } })),
        ("apply", json!({ "apiVersion": "v1", "kind": "ConfigMap" })),
        ("apply", json!([])),
    ] {
        let (code, status) = f.patch(&path, kind, patch.clone()).await;
        assert!((400..500).contains(&code), "{kind} {patch}: {code} {status}");
    }
    // The real server answers this one with 500, too.
    assert_eq!(f.patch(&path, "strategic-merge", json!({ "$patch": "nonsense" })).await.0, 500);
    assert_eq!(f.patch(&path, "json", list).await.0, 200);
    let (_, left) = f.get(&path).await;
    assert_eq!(left["data"], json!({ "a": "1", "l": "x" }));
}

/// A browser sends what a page asks for to loopback, too, with no question before it: GETs, and POSTs of a form or of a
/// Blob without a type. What the answer allows to read comes too late.
// mutant: cluster/src/server/pages.rs: `if !host.as_deref().is_some_and(ours) {` => `if false {`
// mutant: cluster/src/server/pages.rs: `if let Some(origin) = headers.get(ORIGIN) {` => `if let Some(origin) = headers.get("x-none") {`
// mutant: cluster/src/server/pages.rs: `const FETCH_SITE: &str = "sec-fetch-site";` => `const FETCH_SITE: &str = "x-none";`
#[tokio::test]
async fn web_pages_are_not_answered() {
    let f = start().await;
    f.config_map("kept", json!({})).await;
    let own = format!("Host: {}", f.cluster.address());
    let post = format!("POST {CONFIG_MAPS} HTTP/1.1");
    let object = r#"{"metadata":{"name":"from-a-page"}}"#;
    let pages: &[&[&str]] = &[
        // DNS that names the page's own host loopback: same origin for the browser.
        &["Host: evil.example"],
        &["Host: evil.example", "Sec-Fetch-Site: same-origin"],
        &["Host: localhost.evil.example:80"],
        &[&own, "Origin: https://evil.example"],
        &[&own, "Origin: null"],
        &[&own, "Sec-Fetch-Site: cross-site"],
    ];
    for headers in pages {
        for request in [format!("GET {CONFIG_MAPS} HTTP/1.1"), format!("DELETE {CONFIG_MAPS}/kept HTTP/1.1")] {
            let answer = f.raw(&[&[&*request], *headers].concat(), "").await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{request} {headers:?}: {answer}");
            assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
            assert!(!answer.contains("kept"), "{answer}");
        }
        for content in [&[][..], &["Content-Type: text/plain"], &["Content-Type: application/json"]] {
            let lines = [&[&*post], *headers, content].concat();
            let answer = f.raw(&lines, object).await;
            assert!(answer.starts_with("HTTP/1.1 403 "), "{lines:?}: {answer}");
        }
    }
    // What it asks before a request that is not simple.
    let preflight = format!("OPTIONS {CONFIG_MAPS} HTTP/1.1");
    assert!(f.raw(&[&preflight, &own, "Origin: https://evil.example"], "").await.starts_with("HTTP/1.1 403 "));
    let left = f.get(CONFIG_MAPS).await.1;
    assert_eq!(left["items"].as_array().unwrap().len(), 1, "{left}");
    // As `kubectl create --raw` sends it, which is no browser.
    assert!(f.raw(&[&post, &own, "Content-Type: application/json"], object).await.starts_with("HTTP/1.1 201 "));
    let object = object.replace("from-a-page", "raw");
    assert!(f.raw(&[&post, &own], &object).await.starts_with("HTTP/1.1 201 "));
}
