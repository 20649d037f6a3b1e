//! HTTP in scenarios: answered by the scenario, never sent.

use super::Author;

const ANSWERED: &str = "name: requests are answered, and judged
http:
  - {url: 'https://localhost:54321/v1/x?y=z', headers: {x-a: b}, json: {name: one}}
  - {method: POST, url: 'https://localhost:54321/v1/x', fails: timeout}
steps:
  - create: &get {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: get, labels: {fetch: 'true'}}, data: {url: 'https://localhost:54321/v1/x?y=z'}}
  - expect:
      logged: ['{\\\"name\\\":\\\"one\\\"}', '\"x-a\":\"b\"']
      http: [{url: 'https://localhost:54321/v1/x?y=z', times: 1}]
      onlyWrites: []
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: post, labels: {fetch: 'true'}}, data: {method: POST, url: 'https://localhost:54321/v1/x', body: '{\"a\": 1, \"b\": 2}'}}
  - expect:
      logged: ['\"kind\":\"Timeout\"']
      http: [{method: POST, url: 'https://localhost:54321/v1/x', json: {a: 1}}, {url: 'https://localhost:54321/v1/other', times: 0}]
  - http: {method: POST, url: 'https://localhost:54321/v1/x', fails: credential}
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: refused, labels: {fetch: 'true'}}, data: {method: POST, url: 'https://localhost:54321/v1/x'}}
  - expect: {logged: ['\"kind\":\"Credential\"']}
  - http: {method: POST, url: 'https://localhost:54321/v1/x', status: 201, body: stored}
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: again, labels: {fetch: 'true'}}, data: {method: POST, url: 'https://localhost:54321/v1/x', body: again}}
  - expect: {logged: ['\"status\":201'], http: [{method: POST, url: 'https://localhost:54321/v1/x', body: again}]}
";

const WRONG: &str = "name: requests that are not so
steps:
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: get, labels: {fetch: 'true'}}, data: {url: 'https://localhost:54321/v1/x'}}
  - expect: {logged: ['\"kind\":\"Connection\"', 'the scenario has no answer']}
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: denied, labels: {fetch: 'true'}}, data: {url: 'https://localhost:54321/v2/x'}}
  - expect: {logged: ['\"kind\":\"Denied\"']}
  - expect:
      within: 100ms
      http: [{url: 'https://localhost:54321/v2/x'}, {url: 'https://localhost:54321/v1/x', body: b}]
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_answers_requests_and_judges_what_was_sent() {
    let author = Author::of("fetch", &[("answered", ANSWERED), ("wrong", WRONG)]).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    for part in [
        "2 scenarios: 1 passed, 1 failed",
        "steps[4]: expect does not hold",
        "http: at least 1 of GET https://localhost:54321/v2/x expected, 0 sent\n      and GET https://localhost:54321/v1/x",
        "http: at least 1 of GET https://localhost:54321/v1/x expected, 0 sent\n      one with the body \"\"",
    ] {
        assert!(ended.stdout.contains(part), "no {part:?} in:\n{}", ended.stdout);
    }
}
