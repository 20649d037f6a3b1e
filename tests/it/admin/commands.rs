//! The commands that an operator receives.

use boathook_operator::admin::{
    Client, ClientError, Letters,
    views::{DeadLettersView, HookState, HooksView, QueuesView, RunsView},
};
use http::StatusCode;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

use super::Asked;
use crate::{
    pipeline::fixture::{config_map, guests},
    record::altered,
    support::guests::guest,
};

fn state(view: &HooksView, name: &str) -> HookState {
    view.hooks.iter().find(|hook| hook.name == name).unwrap().state
}

async fn refused(client: &Client, hook: &str, action: &str) -> (StatusCode, String) {
    match client.command(hook, action).await {
        Err(ClientError::Refused { status, text }) => (status, text),
        other => panic!("{action} {hook}: {other:?}"),
    }
}

#[tokio::test]
async fn a_hook_is_put_into_quarantine_and_released() {
    let asked = Asked::start(&guests(["echo", "noop"])).await;
    let client = &asked.client;
    client.command("echo", "quarantine").await.unwrap();
    let view = client.hooks().await.unwrap();
    assert_eq!((state(&view, "echo"), state(&view, "noop")), (HookState::Quarantined, HookState::Ready));
    assert!(view.hooks[0].reasons[0].contains("admin"), "{view:?}");

    let (status, text) = refused(client, "echo", "quarantine").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text.contains("boathook release echo"), "{text}");
    let (status, text) = refused(client, "noop", "release").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text.contains("noop is not quarantined"), "{text}");

    let runs = client.runs(Some("echo"), false).await.unwrap().runs.len();
    client.command("echo", "release").await.unwrap();
    let ready = |view: &HooksView| state(view, "echo") == HookState::Ready;
    asked.until("echo is ready again", async |client| client.hooks().await, ready).await;
    let more = asked.client.runs(Some("echo"), false).await.unwrap().runs.len();
    assert!(more > runs, "it was synchronised anew: {more} runs after {runs}");
}

#[tokio::test]
async fn a_paused_hook_runs_nothing_until_it_is_resumed() {
    let asked = Asked::start(&guests(["fail", "noop"])).await;
    let client = &asked.client;
    client.command("fail", "pause").await.unwrap();
    assert_eq!(state(&client.hooks().await.unwrap(), "fail"), HookState::Paused);
    let runs = client.runs(Some("fail"), false).await.unwrap().runs.len();
    asked.pipeline.create(config_map("waits", ("test", "fail"), json!({"mode": "none"}))).await;
    let queued = |view: &QueuesView| view.queue("hook/fail").is_some_and(|queue| queue.tasks_count == 1);
    let view = asked.until("it is queued", async |client| client.queues(false).await, queued).await;
    let queue = view.queue("hook/fail").unwrap();
    assert_eq!(queue.status, "paused");
    assert_eq!(
        queue.tasks[0].description,
        "HookRun:hook/fail:kubernetes:fail:configmaps:Added ConfigMap default/waits"
    );
    assert_eq!(client.runs(Some("fail"), false).await.unwrap().runs.len(), runs);

    client.command("fail", "resume").await.unwrap();
    let ran = |view: &RunsView| view.runs.len() == runs + 1;
    asked.until("it runs", async |client| client.runs(Some("fail"), false).await, ran).await;
    assert_eq!(state(&client.hooks().await.unwrap(), "fail"), HookState::Ready);
}

#[tokio::test]
async fn dead_letters_are_listed_retried_and_dropped() {
    let asked = Asked::start(&guests(["fail", "noop"])).await;
    let client = &asked.client;
    let list = async |client: &Client| client.dead_letters(Some("fail")).await;
    assert_eq!(list(client).await.unwrap().dead_letters, []);
    for name in ["one", "two"] {
        asked.pipeline.create(config_map(name, ("test", "fail"), json!({"mode": "permanent"}))).await;
    }
    let objects = |view: &DeadLettersView| {
        let triggers = view.dead_letters.iter().flat_map(|letter| &letter.triggers);
        let mut objects: Vec<_> = triggers.map(|trigger| trigger.object.clone().unwrap()).collect();
        objects.sort();
        objects
    };
    let both = ["default/one", "default/two"];
    let view = asked.until("both are given up", list, |view| objects(view) == both).await;
    let letter = &view.dead_letters[0];
    assert_eq!((letter.hook.as_str(), letter.binding.as_str(), letter.attempts), ("fail", "configmaps", 1));
    assert_eq!((letter.kind.as_str(), letter.triggers[0].cause.as_str()), ("permanent", "Added"));
    assert!(letter.message.contains("asked to"), "{letter:?}");
    assert!(letter.since.starts_with("20"), "{letter:?}");
    assert_eq!(client.dead_letters(Some("noop")).await.unwrap().dead_letters, []);

    let unknown = Letters { ids: vec![letter.id, 987], ..Letters::default() };
    let Err(ClientError::Refused { status, text }) = client.retry_dead(&unknown).await else { panic!("retried") };
    assert_eq!((status, text.contains("ID 987:")), (StatusCode::NOT_FOUND, true), "{text}");

    // They fail again, and are letters again.
    let newest = view.dead_letters.last().unwrap().id;
    let retried = client.retry_dead(&Letters { hook: Some("fail".into()), ..Letters::default() }).await.unwrap();
    assert_eq!((retried.letters, retried.triggers, retried.superseded), (view.dead_letters.len(), 2, 0));
    let again = |view: &DeadLettersView| objects(view) == both && view.dead_letters.iter().all(|it| it.id > newest);
    let view = asked.until("both are given up again", list, again).await;

    // A change in the meantime supersedes the letter's older state.
    asked.pipeline.apply(config_map("one", ("test", "fail"), json!({"mode": "none"}))).await;
    let superseded =
        |view: &DeadLettersView| view.dead_letters.iter().map(|letter| letter.superseded).sum::<usize>() == 1;
    asked.until("the newer state is told", list, superseded).await;

    let first = Letters { ids: vec![view.dead_letters[0].id], ..Letters::default() };
    assert_eq!(client.drop_dead(&first).await.unwrap().count, 1);
    let rest = view.dead_letters.len() - 1;
    assert_eq!(client.drop_dead(&Letters { all: true, ..Letters::default() }).await.unwrap().count, rest);
    assert_eq!(list(client).await.unwrap().dead_letters, []);
}

/// Quarantine and release would forget them.
#[tokio::test]
async fn a_hook_is_read_again_and_keeps_its_dead_letters() {
    let asked = Asked::start(&guests(["fail", "noop"])).await;
    let client = &asked.client;
    let list = async |client: &Client| client.dead_letters(Some("fail")).await;
    asked.pipeline.create(config_map("one", ("test", "fail"), json!({"mode": "permanent"}))).await;
    let says = |view: &DeadLettersView, text: &str| match view.dead_letters.as_slice() {
        [letter] => letter.message.contains(text),
        _ => false,
    };
    asked.until("it is given up", list, |view| says(view, "asked to fail for good")).await;

    let file = asked.pipeline.operator.hooks().join("fail.wasm");
    std::fs::write(&file, "no component").unwrap();
    let (status, text) = refused(client, "fail", "reload").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(text.contains("the new version of hook fail cannot be used"), "{text}");
    assert_eq!(state(&client.hooks().await.unwrap(), "fail"), HookState::Ready);

    std::fs::write(&file, altered(&guest("fail"), "asked to fail for good", "asked to fail FOR GOOD")).unwrap();
    client.command("fail", "reload").await.unwrap();
    assert!(says(&list(client).await.unwrap(), "asked to fail for good"), "it is there, as it was");
    let all = Letters { hook: Some("fail".into()), ..Letters::default() };
    assert_eq!(client.retry_dead(&all).await.unwrap().triggers, 1);
    asked.until("the new version gives it up", list, |view| says(view, "asked to fail FOR GOOD")).await;

    // A file that is new is a new hook; one that is not there is none.
    std::fs::write(asked.pipeline.operator.hooks().join("other.wasm"), guest("noop")).unwrap();
    client.command("other", "reload").await.unwrap();
    let ready = |view: &HooksView| state(view, "other") == HookState::Ready;
    asked.until("the new one is ready", async |client| client.hooks().await, ready).await;
    assert_eq!(refused(client, "nowhere", "reload").await.0, StatusCode::NOT_FOUND);
    std::fs::remove_file(asked.pipeline.operator.hooks().join("noop.wasm")).unwrap();
    let (status, text) = refused(client, "noop", "reload").await;
    assert!(status == StatusCode::CONFLICT && text.contains("noop.wasm"), "{status} {text}");
}

/// The next answer on a connection that stays open; nothing when it was closed.
async fn ask(stream: &mut UnixStream) -> std::io::Result<String> {
    stream.write_all(b"GET /hook/list.text HTTP/1.1\r\nhost: x\r\n\r\n").await?;
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

#[tokio::test]
async fn an_operator_that_is_gone_answers_nobody() {
    let asked = Asked::start(&guests(["noop"])).await;
    let mut lingering = UnixStream::connect(asked.socket()).await.unwrap();
    let answer = ask(&mut lingering).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("noop\n"), "{answer}");
    // Dropped, not shut down: nobody tells its connections.
    drop(asked.pipeline.operator);
    let answer = ask(&mut lingering).await.unwrap_or_default();
    assert!(answer.is_empty() || answer.contains("shutting down"), "{answer}");
}
