//! Traces of runs, as a collector of OpenTelemetry receives them.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, body::Bytes, http::StatusCode, routing::post};
use boathook_operator::telemetry::Traces;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value, trace::v1::Span,
};
use prost::Message;
use serde_json::json;
use tracing_subscriber::{Registry, layer::SubscriberExt};

use super::fixture::{Pipeline, config_map};
use crate::support::{cluster::TestCluster, guests::guest, until};

/// Takes spans, and keeps them.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

impl Collector {
    async fn start(&self) -> SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kept = self.0.clone();
        let take = async move |body: Bytes| {
            kept.lock().unwrap().push(ExportTraceServiceRequest::decode(body).unwrap());
            StatusCode::OK
        };
        let routes = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        address
    }

    fn spans(&self, name: &str) -> Vec<Span> {
        let requests = self.0.lock().unwrap();
        let resources = requests.iter().flat_map(|request| &request.resource_spans);
        let spans = resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans);
        spans.filter(|span| span.name == name).cloned().collect()
    }
}

fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let each = span.attributes.iter().map(|pair| (pair.key.as_str(), pair.value.as_ref().unwrap().value.as_ref()));
    each.map(|(key, value)| (key, text(value.unwrap()))).collect()
}

#[tokio::test]
async fn a_run_its_calls_and_filters_are_spans() {
    let pipeline = Pipeline::start(["fail", "forbidden"]).await;
    let collector = Collector::default();
    let (traces, layer) = Traces::start(&format!("http://{}", collector.start().await)).unwrap();
    // Instead of the log: what comes now is sent.
    let sending = tracing::subscriber::set_default(Registry::default().with(layer));
    pipeline.create(config_map("one", ("e2e", "forbidden"), json!({}))).await;
    pipeline.create(config_map("two", ("test", "fail"), json!({"mode": "none"}))).await;
    let ended = |hook: &str| {
        let series = format!(r#"hook_run_seconds_count{{binding="configmaps",hook="{hook}",queue="hook/{hook}"}} "#);
        let page = pipeline.operator.page("/metrics");
        async move { page.await.lines().any(|line| line.contains(&series) && !line.ends_with(" 1")).then_some(()) }
    };
    // The second run of each; the first was the synchronization.
    until("both have run", async || ended("forbidden").await.and(ended("fail").await)).await;
    traces.shutdown().await;
    drop(sending);

    let runs = collector.spans("run");
    let of = |hook: &str| runs.iter().find(|span| attributes(span)["hook"] == hook).unwrap();
    let run = of("forbidden");
    let told = attributes(run);
    assert_eq!((told["outcome"].as_str(), told["attempt"].as_str()), ("permanent", "1"));
    assert_eq!((told["event"].as_str(), told["object"].as_str()), ("Added", "v1 ConfigMap default/one"));
    assert_eq!((told["binding"].as_str(), told["queue"].as_str()), ("configmaps", "hook/forbidden"));
    let status = run.status.as_ref().unwrap();
    assert_eq!(status.code, 2, "an error");
    assert!(status.message.contains("delete"), "{status:?}");
    assert_eq!(attributes(of("fail"))["outcome"], "success");

    let calls = collector.spans("host call");
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((&call.trace_id, &call.parent_span_id), (&run.trace_id, &run.span_id));
    let told = attributes(call);
    assert_eq!((told["verb"].as_str(), told["object"].as_str()), ("delete", "v1 Secret default/one"));
    assert_eq!(told["outcome"], "forbidden-by-grant");

    let filters = collector.spans("filter");
    let [filter] = filters.as_slice() else { panic!("{filters:?}") };
    let told = attributes(filter);
    assert_eq!((told["hook"].as_str(), told["object"].as_str()), ("fail", "v1 ConfigMap default/two"));

    let requests = collector.0.lock().unwrap();
    let resource = requests[0].resource_spans[0].resource.as_ref().unwrap();
    let service = resource.attributes.iter().find(|pair| pair.key == "service.name").unwrap();
    assert_eq!(service.value.as_ref().unwrap().value, Some(Value::StringValue("boathook".to_owned())));
}

#[tokio::test]
async fn a_run_is_linked_to_the_runs_that_caused_it() {
    let names = ["relay-1", "relay-2"];
    let relays = names.map(|name| (name, guest("relay")));
    let pipeline = Pipeline::on(TestCluster::start().await, &relays, |_| ()).await;
    pipeline.operator.ready().await;
    let collector = Collector::default();
    let (traces, layer) = Traces::start(&format!("http://{}", collector.start().await)).unwrap();
    // Instead of the log: what comes now is sent.
    let sending = tracing::subscriber::set_default(Registry::default().with(layer));
    let data = json!({"holder": "relay-1", "order": "relay-1 relay-2", "left": "2"});
    pipeline.create(config_map("one", ("test", "relay"), data)).await;
    // Each hook sees the three states of the object, and the one that makes the second write has ended before the last.
    until("all runs have ended", async || {
        let page = pipeline.operator.page("/metrics").await;
        let ended = |hook: &str| {
            let series =
                format!(r#"boathook_hook_run_success_total{{binding="maps",hook="{hook}",queue="hook/{hook}"}} 3"#);
            page.lines().any(|line| line == series)
        };
        names.iter().all(|hook| ended(hook)).then_some(())
    })
    .await;
    traces.shutdown().await;
    drop(sending);

    let runs = collector.spans("run");
    let of = |hook: &str| runs.iter().filter(|span| attributes(span)["hook"] == hook).collect::<Vec<_>>();
    let (first, second) = (of("relay-1"), of("relay-2"));
    let writers: Vec<_> = [first[0], second[1]].map(|span| (span.trace_id.clone(), span.span_id.clone())).into();
    let links = |span: &Span| -> Vec<_> {
        span.links.iter().map(|link| (link.trace_id.clone(), link.span_id.clone())).collect()
    };
    for spans in [first, second] {
        assert_eq!(spans.len(), 3);
        assert_eq!(links(spans[0]), [], "somebody else created the object");
        assert_eq!(links(spans[1]), [writers[0].clone()]);
        assert_eq!(links(spans[2]), [writers[1].clone()]);
    }
}

#[tokio::test]
async fn a_collector_that_is_away_costs_nothing_but_spans() {
    // Nobody listens there any more.
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let pipeline = Pipeline::start(["fail"]).await;
    let (traces, layer) = Traces::start(&format!("http://{gone}")).unwrap();
    let sending = tracing::subscriber::set_default(Registry::default().with(layer));
    pipeline.create(config_map("two", ("test", "fail"), json!({"mode": "none"}))).await;
    until("it has run", async || {
        let page = pipeline.operator.page("/metrics").await;
        page.contains(r#"hook_run_success_total{binding="configmaps",hook="fail",queue="hook/fail"} 2"#).then_some(())
    })
    .await;
    drop(sending);
    traces.shutdown().await;
    pipeline
        .operator
        .until("that is said", |operator| {
            let said = operator.log.told("traces cannot be sent: they are dropped until the collector takes them");
            (said.len() == 1).then_some(())
        })
        .await;
}
