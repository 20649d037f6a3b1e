//! `boathook test --sweep`: the three mistakes of the guest `careless` are found, the example hooks make none, and each
//! fault can stand in a scenario.

use std::{fs, path::Path};

use serde_json::Value;

use super::{Author, test};
use crate::support::guests::{guest, hooks_dir};

fn map(name: &str, kind: &str, data: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{namespace: default, name: {name}, labels: {{careless: {kind}}}}}, data: {{{data}}}}}"
    )
}

const NAMED: &str = "apiVersion: v1, kind: ConfigMap, metadata: {namespace: default, name:";

/// What a sweep of one scenario of `careless` says.
async fn swept(scenario: &str) -> (Author, Value) {
    let author = Author::of("careless", &[("a", scenario)]).await;
    assert_eq!(author.test(&[]).await.code, Some(0), "it passes undisturbed");
    let ended = author.test(&["--sweep", "-o", "json"]).await;
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let told: Value = serde_json::from_str(&ended.stdout).unwrap();
    (author, told["scenarios"][0].clone())
}

/// A failure by its fault, whose scenario fails too, also without a sweep.
async fn finds(scenario: &str, fault: &str, difference: &str) {
    let (author, told) = swept(scenario).await;
    let failures = told["failures"].as_array().unwrap();
    let found = failures.iter().find(|failure| failure["fault"] == fault);
    let found = found.unwrap_or_else(|| panic!("not found: {fault}\n{told:#}"));
    assert!(found["text"].as_str().unwrap().contains(difference), "{found:#}");
    fs::write(author.file("a"), found["scenario"].as_str().unwrap()).unwrap();
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    assert!(ended.stdout.contains(": expect does not hold after 500ms"), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_intermediate_state_that_is_taken_for_the_last_one_is_found() {
    let scenario = format!(
        "name: both parts\nsteps:\n  - create: {}\n  - expect: {{present: [{{{NAMED} p-second}}}}]}}\n",
        map("p", "pair", "")
    );
    let missing = "v1 ConfigMap default/p-second\n  - undisturbed it is there\n  + found       nothing";
    finds(&scenario, "the operator crashes after create of ConfigMap default/p-first", missing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_that_is_not_observed_is_found() {
    let phase = |phase: &str| map("p", "phase", &format!("phase: {phase}"));
    let scenario = format!(
        "name: it drains\nsteps:\n  - create: {}\n  - patch: {}\n  - patch: {}\n  - expect: {{present: [{{{NAMED} p}}, data: {{drained: 'yes', phase: down}}}}]}}\n",
        phase("up"),
        phase("draining"),
        phase("down")
    );
    let missing = "v1 ConfigMap default/p: .data.drained\n  - undisturbed \"yes\"\n  + found       nothing";
    finds(&scenario, "the event that ConfigMap default/p was modified is missed", missing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_on_a_stale_snapshot_is_found() {
    let scenario = format!(
        "name: a child stays\nsteps:\n  - create: {}\n  - wait: 50ms\n  - create: {}\n  - expect: {{logged: ['child c of o: true'], present: [{{{NAMED} c}}}}]}}\n",
        map("o", "owner", ""),
        map("c", "child", "owner: o")
    );
    let missing = "v1 ConfigMap default/c\n  - undisturbed it is there\n  + found       nothing";
    finds(&scenario, "the event that ConfigMap default/o was added is missed", missing).await;
}

/// A scenario of an example hook ends well after every fault.
async fn overcomes(hook: &str, scenario: &str) {
    let hooks = hooks_dir(&[(hook, guest(hook))]).await;
    let folder = Path::new("hooks-wasm").join(hook);
    let arguments = [&folder, Path::new("--hooks"), hooks.path(), Path::new("-o"), Path::new("json")];
    let ended = test(arguments.into_iter().chain(["--sweep", "--filter", scenario].map(Path::new))).await;
    let told: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    assert!(ended.code == Some(0) && told["faults"].as_u64().unwrap() > 10, "{told:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn example_hooks_overcome_faults() {
    overcomes("registry-secret", "new-namespace.yaml").await;
    overcomes("node-taint", "effect-changes.yaml").await;
    overcomes("hello-app", "becomes.yaml").await;
    overcomes("service-per-pod", "attached.yaml").await;
}

/// Between a file that is written and the status, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_of_authorized_keys_overcome_faults() {
    overcomes("authorized-key", "lines.yaml").await;
}

/// Between a request to the outside API and the status or the finalizer, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buckets_and_queues_overcome_faults() {
    overcomes("aws-service", "bucket.yaml").await;
    overcomes("aws-service", "deleted.yaml").await;
    overcomes("aws-service", "queue.yaml").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_chooses_some_faults() {
    let pair = map("p", "pair", "");
    let scenario = format!("name: x\nsteps:\n  - create: {pair}\n  - expect: {{present: [{{{NAMED} p-second}}}}]}}\n");
    let author = Author::of("careless", &[("a", &scenario)]).await;
    let mut found = Vec::new();
    for seed in ["1", "1", "2"] {
        let ended = author.test(&["--sweep=3", "--seed", seed, "-o", "json"]).await;
        let told: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&told["faults"], &told["scenarios"][0]["faults"]), (&3.into(), &9.into()), "{told:#}");
        let faults = told["scenarios"][0]["failures"].as_array().unwrap().iter().map(|it| it["fault"].to_string());
        found.push(faults.collect::<Vec<_>>());
    }
    assert_eq!(found[0], found[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_swept_is_left_out_with_the_reason() {
    let wrong = format!("name: x\nsteps: [{{expect: {{within: 50ms, present: [{{{NAMED} none}}}}]}}}}]\n");
    let author = Author::of("careless", &[("a", &wrong)]).await;
    let ended = author.test(&["--sweep"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
    assert!(ended.stdout.contains("it fails without a fault"), "{}", ended.stdout);
    let author = Author::of("schedule", &[("a", "name: x\nsteps: []\n")]).await;
    let ended = author.test(&["--sweep"]).await;
    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    let told = "left out: its hook has a schedule that follows the clock: add a tick or a pass step";
    assert!(ended.stdout.contains(told), "{}", ended.stdout);
    let ended = author.test(&["--sweep", "--update"]).await;
    assert!(ended.code == Some(2) && ended.stderr.contains("cannot be used with"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scenario_says_itself_what_must_be_true_after_a_fault() {
    let scenario = format!(
        "name: the first part is enough\nsweep: {{present: [{{{NAMED} p-first}}}}]}}\nsteps:\n  - create: {}\n  - expect: {{present: [{{{NAMED} p-second}}}}]}}\n",
        map("p", "pair", "")
    );
    let author = Author::of("careless", &[("a", &scenario)]).await;
    let ended = author.test(&["--sweep", "-o", "json"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_can_stand_in_a_scenario() {
    let pair = map("p", "pair", "");
    let second = format!("{{{NAMED} p-second}}}}");
    let first = format!("{{{NAMED} p-first}}}}");
    let fault = |answer: &str| format!("faults: [{{verb: create, object: {first}, answer: {answer}}}]");
    let crash = format!(
        "name: it crashes\n{}\nsteps:\n  - create: {pair}\n  - settle: operator\n  - expect: {{present: [{first}], absent: [{second}]}}\n",
        fault("crash")
    );
    let refused = format!(
        "name: it is refused once\n{}\nsteps:\n  - create: {pair}\n  - expect: {{failures: [{{kind: retry, times: 1}}], absent: [{first}]}}\n  - settle: operator\n  - expect: {{present: [{first}, {second}]}}\n",
        fault("refused")
    );
    let again = format!(
        "name: the trigger arrives twice\nsteps:\n  - create: {pair}\n  - expect: {{present: [{second}]}}\n  - again: last run\n  - settle: operator\n  - expect: {{onlyWrites: [{{verb: create, object: ConfigMap default/p-first}}, {{verb: create, object: ConfigMap default/p-second}}, {{verb: create, object: ConfigMap default/p-first, outcome: already-exists}}]}}\n"
    );
    let late = format!(
        "name: it is late\nsteps:\n  - fault: {{event: added, object: {{{NAMED} p}}}}, delivery: late}}\n  - create: {pair}\n  - settle: operator\n  - expect: {{absent: [{first}]}}\n  - settle: all\n  - expect: {{within: 100ms, present: [{first}, {second}]}}\n"
    );
    let author =
        Author::of("careless", &[("crash", &crash), ("refused", &refused), ("again", &again), ("late", &late)]).await;
    let ended = author.test(&[]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
}
