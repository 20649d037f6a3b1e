//! Resolves a `clientConfig`: a URL, or a service that is looked up. It opens no connection.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use serde_json::Value;

use crate::json;
use crate::shared::Shared;
use crate::store::{Query, Stored};

/// A webhook that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// The URL in the format of error texts, without parameters.
    pub url: String,
    /// The host name in the certificate.
    pub host: String,
    /// The `address:port` to connect to, or why there is none.
    pub dial: Result<String, String>,
    pub path: String,
    /// The trusted certificates, in PEM.
    pub bundle: Vec<u8>,
}

impl Endpoint {
    /// Reads a `clientConfig`.
    ///
    /// # Errors
    /// Why it cannot be resolved.
    pub(crate) fn of(shared: &Shared, config: &Value) -> Result<Self, String> {
        let bundle = STANDARD.decode(json::text(config, &["caBundle"])).unwrap_or_default();
        match config.get("service").filter(|service| service.is_object()) {
            Some(service) => Ok(Self::service(shared, service, bundle)),
            None => Self::url(json::text(config, &["url"]), bundle),
        }
    }

    fn url(url: &str, bundle: Vec<u8>) -> Result<Self, String> {
        let bad = || format!("the URL {url:?} cannot be called");
        let parsed: Uri = url.parse().map_err(|_| bad())?;
        let host = parsed.host().ok_or_else(bad)?.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = parsed.port_u16().unwrap_or(443);
        let path = parsed.path().to_owned();
        let dial = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let bare = path == "/" && !url.ends_with('/');
        Ok(Self { url: url.to_owned(), host, dial: Ok(dial), path: if bare { String::new() } else { path }, bundle })
    }

    fn service(shared: &Shared, service: &Value, bundle: Vec<u8>) -> Self {
        let (namespace, name) = (json::text(service, &["namespace"]), json::text(service, &["name"]));
        let port = json::int(service, &["port"]).unwrap_or(443);
        let path = json::text(service, &["path"]);
        let path = if path.is_empty() || path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let mapped = shared.options.services.iter().find(|(ns, n, _)| ns == namespace && n == name);
        let dial = match mapped {
            Some((_, _, address)) => Ok(address.to_string()),
            None => backend(shared, namespace, name, port),
        };
        let host = format!("{name}.{namespace}.svc");
        Self { url: format!("https://{host}:{port}{path}"), host, dial, path, bundle }
    }
}

/// The address and port of an endpoint of a stored service.
fn backend(shared: &Shared, namespace: &str, name: &str, port: i64) -> Result<String, String> {
    let found = shared.store.get("services", &crate::store::key(namespace, name));
    let service = found.ok_or_else(|| format!("service \"{name}\" not found"))?.value();
    let ports = json::list(&service, &["spec", "ports"]);
    let known = ports.iter().find(|p| json::int(p, &["port"]) == Some(port));
    let known = known.ok_or_else(|| format!("no service port {port} found for service \"{name}\""))?;
    let port_name = json::text(known, &["name"]);
    sliced(shared, namespace, name, port_name)
        .or_else(|| listed(shared, namespace, name, port_name))
        .ok_or_else(|| format!("no endpoints available for service \"{name}\""))
}

fn numbered<'v>(ports: &'v [Value], name: &str) -> Option<&'v Value> {
    ports.iter().find(|p| json::text(p, &["name"]) == name)?.get("port")
}

fn dial(address: &str, port: &Value) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn sliced(shared: &Shared, namespace: &str, name: &str, port: &str) -> Option<String> {
    let prefix = format!("{namespace}/");
    let of_service = |slice: &Stored| slice.label("kubernetes.io/service-name") == Some(name);
    let query = Query { prefix: &prefix, after: None, at: None, limit: 0, matches: &of_service };
    let slices = shared.store.list("endpointslices.discovery.k8s.io", &query).ok()?.items;
    slices.iter().find_map(|slice| {
        let slice = slice.value();
        let port = numbered(json::list(&slice, &["ports"]), port)?;
        let ready = |e: &&Value| json::at(e, &["conditions", "ready"]) != Some(&Value::Bool(false));
        let endpoint = json::list(&slice, &["endpoints"]).iter().find(ready)?;
        Some(dial(json::list(endpoint, &["addresses"]).first()?.as_str()?, port))
    })
}

fn listed(shared: &Shared, namespace: &str, name: &str, port: &str) -> Option<String> {
    let endpoints = shared.store.get("endpoints", &crate::store::key(namespace, name))?.value();
    json::list(&endpoints, &["subsets"]).iter().find_map(|subset| {
        let port = numbered(json::list(subset, &["ports"]), port)?;
        let address = json::list(subset, &["addresses"]).first()?;
        Some(dial(json::text(address, &["ip"]), port))
    })
}
