//! What the local cluster embeds of what a real kube-apiserver publishes: discovery, table columns and OpenAPI. Checks
//! that the files are up to date, or writes them.
//! It never compares what the local cluster makes of them; the cases do.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::Request;
use kube::Client;
use serde_json::{Value, json};

use crate::case::package;

const WRITE: &str = "BOATHOOK_CONFORMANCE_PUBLISHED";

/// Writes the files if the variable says so; without, says whether they are up to date.
pub async fn check_or_write(real: &Client) -> Result<(), String> {
    let folder: PathBuf = package().ancestors().nth(2).expect("the package lies in tests").join("cluster/published");
    let lists = resource_lists(real).await;
    let columns = columns(real, &lists).await;
    let documents = documents(real).await;
    let texts = [("discovery.json", lines(&lists)), ("columns.json", lines(&columns))];
    let write = std::env::var_os(WRITE).is_some();
    let stale =
        |file: &str| format!("cluster/published/{file} is not what the real server says: run it with {WRITE}=1");
    for (file, text) in texts {
        let path = folder.join(file);
        if write {
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            return Err(stale(file));
        }
    }
    let path = folder.join("openapi.bin");
    if write {
        return std::fs::write(&path, pack(&documents)).map_err(|error| format!("{}: {error}", path.display()));
    }
    let found = std::fs::read(&path).ok().and_then(|bytes| unpack(&bytes));
    if found.as_ref() == Some(&documents) { Ok(()) } else { Err(stale("openapi.bin")) }
}

async fn get(real: &Client, path: &str, accept: &str) -> String {
    let request = Request::get(path).header("accept", accept).body(Vec::new()).expect("a path");
    real.request_text(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
}

async fn json(real: &Client, path: &str, accept: &str) -> Value {
    serde_json::from_str(&get(real, path, accept).await).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The resource list of each group and version, in the order of discovery, without those that definitions add.
async fn resource_lists(real: &Client) -> Vec<Value> {
    let mut paths = vec!["/api/v1".to_owned()];
    let groups = json(real, "/apis", "application/json").await;
    for group in groups["groups"].as_array().expect("a list of groups") {
        let versions = group["versions"].as_array().expect("a list of versions").iter();
        let own = versions.filter(|_| !text(group, "name").ends_with("example.com"));
        paths.extend(own.map(|version| format!("/apis/{}", text(version, "groupVersion"))));
    }
    let mut lists = Vec::new();
    for path in paths {
        let list = json(real, &path, "application/json").await;
        lists.push(json!({ "groupVersion": list["groupVersion"], "resources": list["resources"] }));
    }
    lists
}

/// The column definitions of each resource that can be listed.
async fn columns(real: &Client, lists: &[Value]) -> Vec<Value> {
    let mut columns = Vec::new();
    for list in lists {
        let version = text(list, "groupVersion");
        let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        for resource in list["resources"].as_array().expect("a list of resources") {
            if resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "list")) {
                let path = format!("{root}/{}?limit=1", text(resource, "name"));
                let table = json(real, &path, "application/json;as=Table;v=v1;g=meta.k8s.io").await;
                columns.push(json!({
                    "groupVersion": version, "resource": resource["name"], "columns": table["columnDefinitions"],
                }));
            }
        }
    }
    columns
}

/// The OpenAPI v3 document of each group and version, by its path in the index.
async fn documents(real: &Client) -> BTreeMap<String, String> {
    let index = json(real, "/openapi/v3", "application/json").await;
    let mut documents = BTreeMap::new();
    for (path, entry) in index["paths"].as_object().expect("an index of paths") {
        let versioned = path == "api/v1" || path.starts_with("apis/") && path.matches('/').count() == 2;
        if versioned && !path.contains("example.com/") {
            documents.insert(path.clone(), get(real, text(entry, "serverRelativeURL"), "application/json").await);
        }
    }
    documents
}

/// A list with a line for each entry of an entry, so that changes can be read.
fn lines(list: &[Value]) -> String {
    let entries: Vec<String> = list.iter().map(|value| value.to_string().replace(r#"},{"#, "},\n{")).collect();
    format!("[\n{}\n]\n", entries.join(",\n"))
}

/// A line of JSON with the name and the length of each document, then the documents, each in gzip.
fn pack(documents: &BTreeMap<String, String>) -> Vec<u8> {
    let (mut index, mut body) = (Vec::new(), Vec::new());
    for (name, document) in documents {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(document.as_bytes()).expect("write to memory");
        let packed = encoder.finish().expect("write to memory");
        index.push(json!([name, packed.len()]));
        body.extend(packed);
    }
    let mut out = Value::from(index).to_string().into_bytes();
    out.push(b'\n');
    out.extend(body);
    out
}

fn unpack(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let index: Vec<(String, usize)> = serde_json::from_slice(&bytes[..end]).ok()?;
    let mut rest = &bytes[end + 1..];
    let mut documents = BTreeMap::new();
    for (name, length) in index {
        let (packed, tail) = rest.split_at_checked(length)?;
        let mut text = String::new();
        GzDecoder::new(packed).read_to_string(&mut text).ok()?;
        documents.insert(name, text);
        rest = tail;
    }
    Some(documents)
}
