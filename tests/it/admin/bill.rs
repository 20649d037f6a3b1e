//! What hooks use, compared with the hooks' own account.

use boathook_operator::admin::bill::{BillView, HookUse};
use serde_json::{Value, json};

use super::Asked;
use crate::{
    pipeline::fixture::{config_map, guests},
    support::{
        guests::guest,
        process::{boathook, run},
    },
};

fn of<'a>(view: &'a BillView, hook: &str) -> &'a HookUse {
    view.hooks.iter().find(|known| known.name == hook).unwrap_or_else(|| panic!("no {hook}: {view:?}"))
}

#[tokio::test]
async fn what_hooks_use_is_what_they_did() {
    let mut hooks = guests(["noop"]);
    hooks.extend(["relay-1", "relay-2"].map(|name| (name, guest("relay"))));
    let asked = Asked::start(&hooks).await;
    let data = json!({"holder": "relay-1", "order": "relay-1 relay-2", "left": "6"});
    asked.pipeline.create(config_map("ball", ("test", "relay"), data)).await;
    let writes = |hook: &str| {
        let lines = asked.pipeline.operator.log.lines();
        let of_hook = lines.iter().filter(|line| line["hook"] == hook && line["target"] == "hook");
        of_hook.filter(|line| line["message"].as_str().is_some_and(|text| text.contains(r#""relay":"ball""#))).count()
    };
    let done = |view: &BillView| {
        ["relay-1", "relay-2"].iter().all(|name| {
            let used = of(view, name).used;
            writes(name) == 3 && used.requests == 3 && used.received_bytes > 0 && used.runs >= 3
        })
    };
    let view = asked.until("all writes are counted", async |client| client.bill().await, done).await;
    for name in ["relay-1", "relay-2"] {
        let HookUse { used, bundle, namespace, .. } = of(&view, name);
        assert_eq!((bundle, namespace), (&None, &None));
        assert_eq!((used.failed, used.kept_objects), (0, 1), "{used:?}");
        assert!(used.sent_bytes > 0 && used.kept_bytes > 0 && used.host_calls >= 3, "{used:?}");
        assert!(used.cpu_ms > 0.0 && used.duration_ms > 0.0 && used.memory_peak_bytes > 0, "{used:?}");
    }
    assert_eq!(of(&view, "noop").used.requests, 0, "it makes no call");
    assert!(view.bundles.is_empty() && view.namespaces.is_empty());
    let page = asked.pipeline.operator.page("/metrics").await;
    assert!(page.contains("boathook_hook_requests_total{hook=\"relay-1\"} 3\n"), "the metrics say the same");

    let socket = asked.socket();
    let mut command = boathook(["top", "--socket"]);
    command.arg(&socket);
    let said = run(command).await;
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("HOOK") && said.stdout.contains("relay-2"), "{}", said.stdout);
    let mut command = boathook(["top", "-o", "json", "--socket"]);
    command.arg(&socket);
    let said = run(command).await;
    let said: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {}", said.stdout));
    assert_eq!(said["hooks"].as_array().map(Vec::len), Some(3), "{said:#}");
}
