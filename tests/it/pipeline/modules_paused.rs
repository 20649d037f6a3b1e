//! A module whose maintenance is `Paused`: nothing of it goes on until the pause is over.

use boathook_core::model::HookName;
use boathook_operator::admin::{Client, ClientError, Socket};
use http::StatusCode;
use serde_json::{Value, json};

use super::{
    fixture::{Operator, config_map},
    modules_charts::{Bench, at, object, report},
    written::{Deed, hook},
};
use crate::support::until;

const DOCUMENT: &str = "{configVersion: v1, beforeHelm: 1, kubernetes: [{name: maps, apiVersion: v1, kind: ConfigMap, \
    namespace: {nameSelector: {matchNames: [default]}}, labelSelector: {matchLabels: {w: x}}, \
    executeHookOnSynchronization: false}]}";

const OTHER: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {port: {{ .Values.other.port | quote }}}\n";

/// A module `web` with a hook, and a module `other` that comes after it.
struct Paused {
    bench: Bench,
    other: u32,
}

impl Paused {
    async fn new() -> Self {
        let bench = Bench::web().await;
        bench.put("values.yaml", "webEnabled: true\nweb: {port: 80, more: 0}\notherEnabled: true\nother: {port: 1}\n");
        bench.put("020-other/templates/a.yaml", OTHER);
        let hooks = bench.modules.path().join("010-web/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(hooks.join("main.wasm"), hook(DOCUMENT, &Deed::Says("ran"))).unwrap();
        Self { bench, other: 1 }
    }

    /// Writes the configuration, and waits until the other module has seen it: `web` has seen it then, too.
    async fn configure(&mut self, mut data: Value) {
        self.other += 1;
        data["other"] = format!("port: {}", self.other).into();
        self.bench.configure(data).await;
        let wanted = self.other.to_string();
        let has = async || (self.bench.get("ConfigMap", "other").await?["data"]["port"] == wanted).then_some(());
        until(&format!("the other port is {wanted}"), has).await;
    }

    async fn port_is(&self, port: &str) {
        assert_eq!(self.bench.is_there("ConfigMap", "web").await["data"]["port"], port);
    }
}

async fn is_paused(operator: &Operator) {
    let paused = |operator: &Operator| report(operator, "web").filter(|web| web.paused).map(drop);
    operator.until("web is paused", paused).await;
}

// mutant: crates/operator/src/app/modules/mod.rs: `self.steps.hooks.pause(paused.map(|(name, _)| name.clone()).collect());` => ``
#[tokio::test]
async fn nothing_of_a_paused_module_goes_on_until_the_pause_is_over() {
    let mut paused = Paused::new().await;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("private/admin.sock");
    let operator = Operator::start(paused.bench.cluster.admin.client.clone(), &[], |options| {
        paused.bench.adjust(options);
        options.admin_socket = Some(Socket::At(socket.clone()));
    })
    .await;
    at(&operator, "other", "ready").await;
    assert_eq!(operator.log.said("main.web"), ["ran"]);
    paused.bench.configure(json!({"webMaintenance": "Paused"})).await;
    is_paused(&operator).await;

    // An event waits.
    let map = config_map("event", ("w", "x"), json!({}));
    paused.bench.cluster.admin.create(&map).await.unwrap();
    let waits = |operator: &Operator| {
        let hooks = operator.app.queue().stats().hooks;
        hooks.into_iter().find(|hook| hook.hook.as_str() == "main.web" && hook.outstanding == 1)
    };
    assert!(operator.until("the event waits", waits).await.paused);
    match Client::new(vec![socket]).command("main.web", "resume").await {
        Err(ClientError::Refused { status: StatusCode::CONFLICT, text }) => {
            assert!(text.contains("the module web of the hook main.web is paused"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    // Other values change nothing, and what somebody changes stays.
    paused.configure(json!({"webMaintenance": "Paused", "web": "port: 81"})).await;
    paused.port_is("80").await;
    let mut edited = object("ConfigMap", "web");
    edited["data"] = json!({"port": "1"});
    paused.bench.cluster.admin.apply(&edited).await.unwrap();
    paused.configure(json!({"webMaintenance": "Paused", "web": "port: 82"})).await;
    paused.port_is("1").await;
    assert_eq!(operator.log.said("main.web"), ["ran"]);
    let page = operator.page("/metrics").await;
    assert!(page.contains(r#"boathook_mm_module_maintenance{module="web",state="Paused"} 1"#), "{page}");

    paused.bench.configure(json!({"webMaintenance": "", "web": "port: 82"})).await;
    paused.bench.port("82").await;
    at(&operator, "web", "ready").await;
    let both = |operator: &Operator| (operator.log.said("main.web").len() > 2).then_some(());
    operator.until("the hook runs for the event and before the chart", both).await;
}

#[tokio::test]
async fn a_paused_module_is_neither_started_nor_deleted_after_a_restart() {
    let mut paused = Paused::new().await;
    let operator = paused.bench.start().await;
    at(&operator, "other", "ready").await;
    paused.configure(json!({"webMaintenance": "Paused", "webEnabled": "false"})).await;
    let off = |operator: &Operator| report(operator, "web").filter(|web| web.on == Some(false));
    let web = operator.until("web is off", off).await;
    assert_eq!(
        (web.at, web.waits.as_deref()),
        ("BeforeDeleteHelm", Some("the end of its maintenance, which is Paused"))
    );
    paused.port_is("80").await;
    operator.shutdown().await;

    let operator = paused.bench.start().await;
    operator.until("each module was tried", |operator| operator.app.readiness().ready().then_some(())).await;
    paused.configure(json!({"webMaintenance": "Paused", "webEnabled": "true"})).await;
    paused.port_is("80").await;
    let on = |operator: &Operator| report(operator, "web").filter(|web| web.on == Some(true));
    assert_eq!(operator.until("web is on", on).await.at, "Start");
    assert!(operator.app.hook(&HookName::new("main.web").unwrap()).is_none(), "its hooks are not loaded");
    paused.configure(json!({"webMaintenance": ""})).await;
    at(&operator, "web", "ready").await;
    assert_eq!(operator.log.said("main.web"), ["ran"]);
}
