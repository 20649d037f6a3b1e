//! Lists: selectors, pages at one moment, table and metadata forms.

use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::ListParams;
use kube::client::Body;
use serde_json::{Value, json};

use super::support::{CONFIG_MAPS, Fixture, message, start};

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    items.iter().map(|i| i["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

async fn three() -> Fixture {
    let f = start().await;
    f.config_map("a", json!({ "app": "web" })).await;
    f.config_map("b", json!({ "app": "db" })).await;
    f.config_map("c", json!({})).await;
    f
}

#[tokio::test]
async fn selectors_choose() {
    let f = three().await;
    for (query, wanted) in [
        ("labelSelector=app%3Dweb", vec!["a"]),
        ("labelSelector=app+in+(web,db)", vec!["a", "b"]),
        ("labelSelector=!app", vec!["c"]),
        ("fieldSelector=metadata.name%3Db", vec!["b"]),
        ("fieldSelector=metadata.name!%3Db,metadata.namespace%3Ddefault", vec!["a", "c"]),
    ] {
        assert_eq!(names(&f.get(&format!("{CONFIG_MAPS}?{query}")).await.1), wanted, "{query}");
    }
    let refused = f.get(&format!("{CONFIG_MAPS}?fieldSelector=data.a%3D1")).await;
    assert_eq!(
        (refused.0, message(&refused)),
        (400, "\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    );
    assert_eq!(f.get(&format!("{CONFIG_MAPS}?labelSelector=a+b")).await.0, 400);
}

#[tokio::test]
async fn pages_show_one_moment() {
    let f = three().await;
    let (_, first) = f.get(&format!("{CONFIG_MAPS}?limit=1")).await;
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["a".to_owned()], &json!(2)));
    f.delete(&format!("{CONFIG_MAPS}/c")).await;
    f.config_map("aa", json!({})).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let (_, rest) = f.get(&format!("{CONFIG_MAPS}?limit=10&continue={token}")).await;
    assert_eq!(names(&rest), ["b", "c"]);
    assert_eq!(rest["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let at = first["metadata"]["resourceVersion"].as_str().unwrap();
    let (_, then) = f.get(&format!("{CONFIG_MAPS}?resourceVersion={at}&resourceVersionMatch=Exact")).await;
    assert_eq!(names(&then), ["a", "b", "c"]);
    f.cluster.compact();
    f.config_map("z", json!({})).await;
    let expired = f.get(&format!("{CONFIG_MAPS}?continue={token}")).await;
    assert_eq!((expired.0, &expired.1["reason"]), (410, &json!("Expired")));
    let resume = expired.1["metadata"]["continue"].as_str().unwrap();
    assert_eq!(names(&f.get(&format!("{CONFIG_MAPS}?continue={resume}")).await.1), ["aa", "b", "z"]);
}

#[tokio::test]
async fn revisions_are_checked() {
    let f = three().await;
    let future = f.raw_get(&format!("{CONFIG_MAPS}?resourceVersion=999999")).await;
    assert!(future.starts_with("HTTP/1.1 504") && future.contains("Too large resource version: 999999"), "{future}");
    assert_eq!(f.get(&format!("{CONFIG_MAPS}?resourceVersion=x")).await.0, 400);
    assert_eq!(f.get(&format!("{CONFIG_MAPS}?resourceVersionMatch=Exact")).await.0, 422);
    assert_eq!(f.get(&format!("{CONFIG_MAPS}?continue=nonsense")).await.0, 400);
    assert_eq!(f.get(&format!("{CONFIG_MAPS}?limit=x")).await.0, 400);
}

#[tokio::test]
async fn a_typed_client_lists_all_namespaces() {
    let f = three().await;
    let api: Api<ConfigMap> = Api::all(f.client.clone());
    let list = api.list(&ListParams::default().labels("app=web")).await.unwrap();
    assert_eq!(list.items.len(), 1);
    let metadata = api.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(metadata.items.len(), 3);
}

#[tokio::test]
async fn tables_and_yaml_on_request() {
    let f = three().await;
    let ask = |accept: &'static str| {
        let request = Request::get(format!("{CONFIG_MAPS}?labelSelector=app%3Dweb"));
        f.client.request_text(request.header("accept", accept).body(Vec::new()).unwrap())
    };
    let table: Value =
        serde_json::from_str(&ask("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").await.unwrap())
            .unwrap();
    assert_eq!(table["kind"], "Table");
    assert_eq!(table["rows"][0]["cells"][0], "a");
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert!(ask("application/yaml").await.unwrap().contains("kind: ConfigMapList"));
    let request = Request::get(CONFIG_MAPS).header("accept", "image/png").body(Body::empty()).unwrap();
    assert_eq!(f.client.send(request).await.unwrap().status(), 406);
}

#[tokio::test]
async fn metadata_comes_in_the_type_that_fits_the_request() {
    let f = three().await;
    let ask = async |path: &str, kind: &str, plain: &str| {
        let accept = format!("application/json;as={kind};g=meta.k8s.io;v=v1{plain}");
        let request = Request::get(path).header("accept", accept).body(Body::empty()).unwrap();
        let response = f.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await.unwrap();
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        (code, serde_json::from_slice::<Value>(first).unwrap_or_default())
    };
    let one = format!("{CONFIG_MAPS}/a");
    let watch = format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=1");
    let (code, list) = ask(CONFIG_MAPS, "PartialObjectMetadataList", "").await;
    assert_eq!((code, &list["kind"]), (200, &json!("PartialObjectMetadataList")));
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    let (code, object) = ask(&one, "PartialObjectMetadata", "").await;
    assert_eq!((code, &object["kind"]), (200, &json!("PartialObjectMetadata")));
    let (code, event) = ask(&watch, "PartialObjectMetadata", "").await;
    assert_eq!((code, &event["object"]["kind"]), (200, &json!("PartialObjectMetadata")));
    // As on the real server, another type in the header does not help.
    for plain in ["", ",application/json"] {
        assert_eq!(ask(CONFIG_MAPS, "PartialObjectMetadata", plain).await.0, 406);
        assert_eq!(ask(&one, "PartialObjectMetadataList", plain).await.0, 406);
    }
}

#[tokio::test]
async fn a_long_list_arrives_whole() {
    let f = start().await;
    let filler = "x".repeat(5000);
    for n in 0..100 {
        f.post(CONFIG_MAPS, json!({ "metadata": { "name": format!("c{n}") }, "data": { "f": filler } })).await;
    }
    assert_eq!(names(&f.get(CONFIG_MAPS).await.1).len(), 100);
    let (code, deleted) = f.delete(CONFIG_MAPS).await;
    assert_eq!((code, names(&deleted).len()), (200, 100));
    assert_eq!(names(&f.get(CONFIG_MAPS).await.1).len(), 0);
}
