//! Docker's credential helpers: programs `docker-credential-NAME` that know the logins of registries. Only commands that
//! a person types start one. The operator never does, and its image does not include this file.

use std::{ffi::OsString, process::Stdio, time::Duration};

use anyhow::{Context as _, bail};
use boathook_bundle::{Credentials, Helper, Reference};
use serde::Deserialize;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    time::timeout,
};

/// The time limit for an answer. A helper may ask a person, or a cloud's API.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of an answer.
const MAX_ANSWER: u64 = 64 * 1024;
/// What a helper writes if it knows no login.
const NOT_FOUND: &str = "credentials not found";
/// The user for whom a helper returns an identity token in place of a password.
const TOKEN_USER: &str = "<token>";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

/// Adds the login for a reference, if the config leaves it to a helper.
pub(super) async fn add_login(mut credentials: Credentials, at: &Reference) -> anyhow::Result<Credentials> {
    if let Some(helper) = credentials.helper(at)
        && let Some(Answer { username, secret }) = ask(&helper, at, PATIENCE).await?
    {
        credentials.set_login(at, username, secret);
    } else {
        credentials.forget_helpers();
    }
    Ok(credentials)
}

/// The helper's login, or `None` if it knows none.
async fn ask(helper: &Helper, at: &Reference, patience: Duration) -> anyhow::Result<Option<Answer>> {
    let Helper { name, server, certain } = helper;
    let host = at.registry();
    let remedy = format!("`docker login {host}`, or name a config with `auths` with --docker-config");
    // A name is a part of a program's name, and never a path.
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) {
        bail!("the docker config's credential helper {name:?} is not a name: {remedy}");
    }
    let program = OsString::from(format!("docker-credential-{name}"));
    let shown = program.display();
    // Its stderr is the person's, whom it may ask for something.
    let started =
        Command::new(&program).arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn();
    let mut child = match started {
        Ok(child) => child,
        // A store for all registries need not know this one.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !certain => return Ok(None),
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot start {shown} for the login of {host}: install it, or {remedy}"));
        }
    };
    let exchange = async {
        if let Some(mut input) = child.stdin.take() {
            // A helper that does not read its input says why in its answer.
            let _ = input.write_all(server.as_bytes()).await;
        }
        let mut answer = Vec::new();
        if let Some(output) = child.stdout.take() {
            output.take(MAX_ANSWER + 1).read_to_end(&mut answer).await?;
        }
        if answer.len() as u64 > MAX_ANSWER {
            return Ok(None);
        }
        Ok::<_, std::io::Error>(Some((child.wait().await?, answer)))
    };
    let answered = timeout(patience, exchange).await;
    let answered = answered
        .map_err(|_| anyhow::anyhow!("{shown} did not answer within {} s: {remedy}", patience.as_secs_f64()))?;
    let Some((status, answer)) = answered.with_context(|| format!("cannot read the answer of {shown}"))? else {
        bail!("{shown} answers with more than {MAX_ANSWER} bytes, which is not a login: {remedy}");
    };
    if !status.success() {
        // Helpers write their error to stdout.
        let text: String =
            String::from_utf8_lossy(&answer).trim().chars().filter(|c| !c.is_control()).take(200).collect();
        if text.contains(NOT_FOUND) {
            return Ok(None);
        }
        bail!("{shown} cannot give the login of {host} ({text}): {remedy}");
    }
    // The error of the parser quotes the answer, which holds the password.
    let Ok(answer) = serde_json::from_slice::<Answer>(&answer) else {
        bail!("{shown} gives an answer that is not a login: {remedy}");
    };
    if answer.username == TOKEN_USER {
        bail!(
            "{shown} has an identity token for {host}, which Boathook does not exchange: log in with a password or an access token"
        );
    }
    Ok(Some(answer).filter(|answer| !answer.username.is_empty()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Instant;

    use super::*;

    fn helper(name: &str) -> Helper {
        Helper { name: name.to_owned(), server: "r.io".to_owned(), certain: true }
    }

    async fn error(name: &str) -> String {
        let asked = ask(&helper(name), &"r.io/a:v1".parse().unwrap(), Duration::from_millis(200)).await;
        asked.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn a_name_is_no_path() {
        for name in ["../evil", "/bin/sh", "a b", ""] {
            assert!(error(name).await.contains("is not a name"), "{name}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_missing_is_named() {
        let text = error("boathook-has-none").await;
        assert!(text.contains("docker-credential-boathook-has-none") && text.contains("--docker-config"), "{text}");
        let store = Helper { certain: false, ..helper("boathook-has-none") };
        let started = Instant::now();
        assert!(ask(&store, &"r.io/a:v1".parse().unwrap(), PATIENCE).await.unwrap().is_none());
        assert!(started.elapsed() < PATIENCE);
    }
}
