//! What an operator is told to do.

use boathook::admin::{
    Client, ClientError,
    views::{HookState, HooksView},
};
use http::StatusCode;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
};

use super::Asked;
use crate::pipeline::fixture::guests;

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
