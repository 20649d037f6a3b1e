//! Files in scenarios: in directories of their own, judged by their texts.

use super::Author;

const WRITTEN: &str = "name: a file is written next to one that was there
files: {/logs/a: one, /keys/: ''}
steps:
  - create: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name: a, labels: {files: 'true'}}, data: {steps: '[{\"do\": \"read\", \"path\": \"/logs/a\"}, {\"do\": \"write\", \"path\": \"/keys/b\", \"text\": \"two\"}]'}}
  - expect: {logged: ['\"ok\":\"one\"'], files: {/logs/a: one, /keys/b: two}}
  - restart: operator
  - expect: {files: {/keys/b: two}}
";

const WRONG: &str = "name: files that are not so
files: {/logs/a: one, /keys/a: one}
steps:
  - expect: {within: 100ms, files: {/logs/a: two, /keys/b: two}}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_has_files_and_judges_them() {
    let author = Author::of("files", &[("written", WRITTEN), ("wrong", WRONG)]).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    for part in [
        "2 scenarios: 1 passed, 1 failed",
        "files: /logs/a: \"two\" expected, and it has \"one\"",
        "files: /keys/b: is not there",
    ] {
        assert!(ended.stdout.contains(part), "no {part:?} in:\n{}", ended.stdout);
    }
}
