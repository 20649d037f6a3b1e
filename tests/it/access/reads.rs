//! `get` and `list`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use boathook_core::model::{CallReason, ListQuery, ObjectRef};
use serde_json::json;

use super::fixture::{Fixture, anyone, parsed};

fn config_maps(namespace: Option<&str>) -> ListQuery {
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

#[tokio::test]
async fn an_object_is_read_without_managed_fields() {
    let fixture = Fixture::start("get").await;
    let created = fixture.create("a", json!({"k": "v"})).await;
    assert!(created["metadata"]["managedFields"].is_array());
    let object = fixture.access.get(&anyone(), &fixture.object("ConfigMap", "a"), None).await.unwrap();
    let mut expected = created;
    expected["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(parsed(&object), expected);
    assert!(fixture.records.take().is_empty(), "reads are not audited");
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let fixture = Fixture::start("missing").await;
    let error = fixture.access.get(&anyone(), &fixture.object("ConfigMap", "a"), None).await.unwrap_err();
    assert_eq!((error.reason, error.code), (CallReason::NotFound, Some(404)));
    assert!(error.message.starts_with(&format!("get v1 ConfigMap {}/a: ", fixture.namespace)), "{}", error.message);
    assert_eq!(parsed(&error.status.unwrap())["reason"], "NotFound");
}

#[tokio::test]
async fn wrong_kinds_and_places_are_named() {
    let fixture = Fixture::start("places").await;
    let refused = async |target: ObjectRef| {
        let error = fixture.access.get(&anyone(), &target, None).await.unwrap_err();
        assert_eq!((error.reason, error.code), (CallReason::Invalid, None), "{}", error.message);
        error.message
    };
    let secret = fixture.object("Secret", "a");
    let unknown = refused(ObjectRef { kind: "Secretz".into(), ..secret.clone() }).await;
    assert!(unknown.contains("kubectl api-resources"), "{unknown}");
    let nowhere = refused(ObjectRef { namespace: None, ..secret.clone() }).await;
    assert!(nowhere.contains("set metadata.namespace"), "{nowhere}");
    let node = refused(ObjectRef { kind: "Node".into(), ..secret.clone() }).await;
    assert!(node.contains("cluster-scoped"), "{node}");
    // Without its name, this would be a request to the whole collection.
    refused(ObjectRef { name: String::new(), ..secret.clone() }).await;
    refused(ObjectRef { name: "a/status".into(), ..secret.clone() }).await;
    refused(ObjectRef { api_version: "../v1".into(), ..secret }).await;
}

#[tokio::test]
async fn a_list_comes_in_pages_of_whole_objects() {
    let fixture = Fixture::start("list").await;
    for name in ["a", "b", "c"] {
        fixture.create(name, json!({"k": name})).await;
    }
    let mut query = ListQuery {
        limit: Some(2),
        // A real server's namespaces hold kube-root-ca.crt as well.
        field_selector: Some("metadata.name!=kube-root-ca.crt".into()),
        ..config_maps(Some(&fixture.namespace))
    };
    let first = fixture.access.list(&anyone(), &query).await.unwrap();
    assert_eq!(first.items.len(), 2);
    query.continue_token = Some(first.continue_token.expect("a token for the next page"));
    let second = fixture.access.list(&anyone(), &query).await.unwrap();
    assert_eq!((second.items.len(), second.continue_token), (1, None));
    assert_eq!(first.resource_version, second.resource_version);
    let items: Vec<_> = first.items.iter().chain(&second.items).map(|item| parsed(item)).collect();
    for (item, name) in items.iter().zip(["a", "b", "c"]) {
        assert_eq!((&item["apiVersion"], &item["kind"]), (&json!("v1"), &json!("ConfigMap")));
        assert_eq!((&item["metadata"]["name"], &item["data"]["k"]), (&json!(name), &json!(name)));
        assert!(item["metadata"].get("managedFields").is_none());
    }
}

#[tokio::test]
async fn selectors_reach_the_server() {
    let fixture = Fixture::start("selectors").await;
    fixture.create("a", json!({})).await;
    fixture.create("b", json!({})).await;
    let path = format!("/api/v1/namespaces/{}/configmaps/b", fixture.namespace);
    fixture.raw("PATCH", &path, Some(json!({"metadata": {"labels": {"tier": "x"}}}))).await.unwrap();
    let names = async |query: ListQuery| -> Vec<String> {
        let page = fixture.access.list(&anyone(), &query).await.unwrap();
        page.items.iter().map(|item| parsed(item)["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = config_maps(Some(&fixture.namespace));
    assert_eq!(names(ListQuery { label_selector: Some("tier in (x, y)".into()), ..all.clone() }).await, ["b"]);
    assert_eq!(names(ListQuery { field_selector: Some("metadata.name=a".into()), ..all.clone() }).await, ["a"]);
    let bad = ListQuery { label_selector: Some("tier in (".into()), ..all.clone() };
    assert_eq!(fixture.access.list(&anyone(), &bad).await.unwrap_err().reason, CallReason::Invalid);
    let none = ListQuery { limit: Some(0), ..all };
    assert_eq!(fixture.access.list(&anyone(), &none).await.unwrap_err().reason, CallReason::Invalid);
}

#[tokio::test]
async fn a_kind_is_found_by_the_names_that_people_give_it() {
    let fixture = Fixture::start("kinds").await;
    for (name, version) in [("cm", None), ("ConfigMap", Some("")), ("configmaps", Some("v1")), ("configmaps.v1.", None)]
    {
        assert_eq!(fixture.access.resolve(name, version).await.unwrap().kind, "ConfigMap", "{name}");
    }
    // Discovery would remember each of these versions.
    let long = "a".repeat(254);
    for (name, version) in [("cm", Some(&*long)), ("cm", Some("a\nb")), (&*long, None), ("", None)] {
        let error = fixture.access.resolve(name, version).await.unwrap_err();
        assert_eq!(error.reason, CallReason::Invalid, "{}", error.message);
        assert!(
            error.message.contains("is not valid: use") || error.message.ends_with("is empty"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn the_kinds_that_are_served_are_listed() {
    let fixture = Fixture::start("listing").await;
    let listing = fixture.access.kinds().await.unwrap();
    let found = |kind: &str| listing.kinds.iter().find(|one| one.resource.kind == kind).unwrap();
    let map = found("ConfigMap");
    assert_eq!((map.resource.plural.as_str(), map.resource.namespaced), ("configmaps", true));
    assert!(map.short_names.contains(&"cm".to_owned()) && map.verbs.contains(&"list".to_owned()), "{map:?}");
    assert!(found("Pod").categories.contains(&"all".to_owned()) && !found("Namespace").resource.namespaced);
    assert_eq!(listing.silent, Vec::<String>::new());
}
