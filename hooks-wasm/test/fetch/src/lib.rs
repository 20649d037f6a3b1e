//! Sends the HTTP request that a ConfigMap describes, and logs the response: for tests of HTTP.
//!
//! It never writes to the cluster. A ConfigMap with the label `fetch=true` has `url`, and perhaps `method`, `body`,
//! `authorization`, `host`, `timeout` in milliseconds, and `times`. A line is an object: `fetch` (the ConfigMap's name), and `status`, `headers`
//! and `body`, or `kind` and `error`.
//!
//! The port in its permissions is for the test to fill in.

use boathook_sdk::http::{Request, Response};
use boathook_sdk::prelude::*;
use boathook_sdk::serde_json::{Map, Value, json};
use std::time::Duration;

fn config() -> Config {
    let configmaps = Kubernetes::new("configmaps")
        .api_version("v1")
        .kind("ConfigMap")
        .label("fetch", "true")
        .on_events([Change::Added, Change::Modified]);
    let permission =
        HttpPermission::new(["localhost:54321", "http://127.0.0.1:54321"]).methods(["GET", "POST"]).paths(["/v1/*"]);
    Config::new().kubernetes(configmaps).http(permission).retry(Retry::new().attempts(1))
}

fn run(ctx: Context) -> Result<()> {
    for event in ctx.events("configmaps") {
        let map: Value = event.object()?;
        let text = |key: &str| map["data"][key].as_str();
        let mut request = Request::new(text("method").unwrap_or("GET"), text("url").unwrap_or_default());
        for name in ["authorization", "host"] {
            if let Some(value) = text(name) {
                request = request.header(name, value);
            }
        }
        if let Some(body) = text("body") {
            request = request.body(body);
        }
        if let Some(timeout) = text("timeout") {
            request = request.timeout(Duration::from_millis(timeout.parse()?));
        }
        let times = text("times").map_or(Ok(1), str::parse::<usize>)?;
        for _ in 0..times {
            let mut line = match request.send() {
                Ok(response) => received(&response),
                Err(error) => json!({"kind": format!("{:?}", error.kind()), "error": error.to_string()}),
            };
            line["fetch"] = event.target.name.as_str().into();
            log::info!("{line}");
        }
    }
    Ok(())
}

fn received(response: &Response) -> Value {
    let headers: Map<_, _> = response
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned().into()))
        .collect();
    json!({"status": response.status, "headers": headers, "body": response.text()})
}

boathook_sdk::hook!(config, run);
