//! The Secret that `registry-secret` copies, and the copies, as tests see them.
//! It never touches a copy.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use crate::harness::eventually;
use crate::objects::{label, merge, meta, namespaces, secrets};

/// The name of the source and of every copy.
pub const NAME: &str = "registry-credentials";
/// The namespace of the source.
pub const SOURCE: &str = "default";
/// On a namespace, with `true`: no copy here.
pub const SKIP: &str = "registry-secret.boathook.dev/skip";
/// On a copy, with `true`.
pub const COPY: &str = "registry-secret.boathook.dev/copy";

/// Makes the source if it is not there.
pub async fn ensure_source(client: &Client) {
    match secrets(client, SOURCE).create(&PostParams::default(), &new_source()).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("create the source: {error}"),
    }
}

pub async fn set_password(client: &Client, password: &str) {
    merge(&secrets(client, SOURCE), NAME, json!({"data": credentials(password)})).await;
}

/// Waits until the namespace has a copy that is as the source is now.
pub async fn copied(client: &Client, namespace: &str) -> Secret {
    eventually(&format!("the copy in {namespace} is as the source is"), async || {
        let text = |error: kube::Error| error.to_string();
        let source = secrets(client, SOURCE).get(NAME).await.map_err(text)?;
        let copy = secrets(client, namespace).get_opt(NAME).await;
        let copy = copy.map_err(text)?.ok_or("there is no copy")?;
        if label(&copy, COPY) != Some("true") {
            return Err(format!("it is not labelled as a copy: {:?}", copy.labels()));
        }
        if (&copy.data, &copy.type_) != (&source.data, &source.type_) {
            return Err(format!("the copy has {}, the source {}", shown(&copy), shown(&source)));
        }
        Ok(copy)
    })
    .await
}

/// Waits until the namespace has no copy.
pub async fn gone(client: &Client, namespace: &str) {
    eventually(&format!("the copy in {namespace} is gone"), async || {
        match secrets(client, namespace).get_opt(NAME).await {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err("it is there".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    })
    .await;
}

/// Namespaces that are to have a copy and have none that is as the source is.
pub async fn without_copy(client: &Client) -> Vec<String> {
    let wanted = namespaces(client).list(&ListParams::default()).await.expect("list namespaces");
    let copies = Api::<Secret>::all(client.clone())
        .list(&ListParams::default().labels(&format!("{COPY}=true")))
        .await
        .expect("list copies");
    let source = source(client).await;
    let current: BTreeSet<_> = copies
        .iter()
        .filter(|copy| copy.name_any() == NAME && copy.data == source.data)
        .filter_map(ResourceExt::namespace)
        .collect();
    let skipped = |namespace: &_| label(namespace, SKIP) == Some("true");
    let wanted = wanted.iter().filter(|namespace| !skipped(*namespace)).map(ResourceExt::name_any);
    wanted.filter(|name| name != SOURCE && !current.contains(name)).collect()
}

pub async fn source(client: &Client) -> Secret {
    secrets(client, SOURCE).get(NAME).await.expect("the source is there")
}

pub fn new_source() -> Secret {
    Secret {
        metadata: meta(NAME, &[]),
        type_: Some("kubernetes.io/dockerconfigjson".to_owned()),
        data: Some(credentials("first")),
        ..Secret::default()
    }
}

pub fn credentials(password: &str) -> BTreeMap<String, ByteString> {
    let config = json!({"auths": {"registry.example.com": {"username": "puller", "password": password}}});
    BTreeMap::from([(".dockerconfigjson".to_owned(), ByteString(config.to_string().into_bytes()))])
}

pub fn data(secret: &Secret) -> BTreeMap<String, ByteString> {
    secret.data.clone().unwrap_or_default()
}

/// Type and data, readable.
fn shown(secret: &Secret) -> String {
    let data = data(secret);
    let data: Vec<_> =
        data.iter().map(|(key, value)| format!("{key}: {}", String::from_utf8_lossy(&value.0))).collect();
    format!("{} {data:?}", secret.type_.as_deref().unwrap_or_default())
}
