//! Plays one case on one server and writes down what comes back.
//! It never looks at the other server's answers.

use std::process::Stdio;
use std::time::Duration;

use futures::StreamExt;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout, timeout_at};

use crate::case::{Case, Configure, Step, Until};
use crate::hooks::Hooks;
use crate::normal::Normal;
use crate::request::{Saved, fill, request, target, text};
use crate::servers::Server;

/// A controller or an event that takes longer than this does not come.
const PATIENCE: Duration = Duration::from_secs(40);
const PAUSE: Duration = Duration::from_millis(50);
const HEADERS: [&str; 3] = ["content-type", "warning", "retry-after"];

#[derive(Default)]
pub struct Transcript {
    /// What came back, step by step, with placeholders.
    pub steps: Vec<Value>,
    /// Why the case did not come to its end.
    pub broken: Option<String>,
}

pub async fn play(case: &Case, server: &Server, hooks: &Hooks) -> Transcript {
    let normal = Normal::with(&[(&server.hooks, "<hooks>")]);
    // There, every read is a call of a webhook, which the case counts.
    let waits = case.area != "conversion";
    let mut player = Player { server, hooks, saved: Saved::new(), normal, waits, out: Transcript::default() };
    player.saved.insert("hooks".to_owned(), server.hooks.clone());
    player.saved.insert("ca".to_owned(), hooks.bundle());
    player.saved.insert("ns".to_owned(), case.namespace.clone());
    if let Err(broken) = player.all(case).await {
        player.out.steps.push(json!({ "step": "broken", "because": broken }));
        player.out.broken = Some(broken);
    }
    player.out
}

struct Answer {
    status: u16,
    headers: Value,
    body: Value,
}

struct Player<'a> {
    server: &'a Server,
    hooks: &'a Hooks,
    saved: Saved,
    normal: Normal,
    /// Whether it waits for the server's cache after each write.
    waits: bool,
    out: Transcript,
}

impl Player<'_> {
    async fn all(&mut self, case: &Case) -> Result<(), String> {
        let namespace = json!({ "metadata": { "name": case.namespace } });
        let step = Step { post: Some("/api/v1/namespaces".into()), body: Some(namespace), ..Step::default() };
        let made = self.send(&step).await?;
        if made.status != 201 {
            return Err(format!("its namespace was not made: {}", made.body));
        }
        let mut played = Ok(());
        for step in &case.steps {
            played = Box::pin(self.step(step)).await;
            if played.is_err() {
                break;
            }
        }
        // A definition whose converter fails would hold up the controllers of the real server.
        self.hooks.forget(&self.path(""));
        for path in left(case) {
            self.send(&Step { delete: Some(path), ..Step::default() }).await?;
        }
        played
    }

    async fn step(&mut self, step: &Step) -> Result<(), String> {
        if step.kubectl.is_some() {
            return self.kubectl(step).await;
        }
        if step.watch.is_some() {
            return self.watch(step).await;
        }
        if let Some(name) = &step.hook {
            let program = text(step.body.as_ref().unwrap_or(&Value::Null), &self.saved);
            let program = serde_json::from_str(&program).map_err(|error| format!("webhook {name}: {error}"))?;
            self.hooks.program(&self.path(name), program);
            return Ok(());
        }
        if let Some(name) = &step.calls {
            let calls = Value::Array(self.hooks.take(&self.path(name)));
            let calls = self.normal.value(&calls);
            self.out.steps.push(json!({ "step": format!("calls of {name}"), "status": 0, "body": calls }));
            return Ok(());
        }
        if let Some(configure) = &step.configure {
            return self.configure(configure).await;
        }
        let answer = self.settled(step).await?;
        if self.waits {
            self.caught_up(step, &answer).await?;
        }
        for (name, pointer) in &step.save {
            let value =
                answer.body.pointer(pointer).ok_or_else(|| format!("nothing at {pointer} in {}", answer.body))?;
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.saved.insert(name.clone(), value);
        }
        let body = match step.select.as_slice() {
            [] => answer.body,
            paths => paths
                .iter()
                .map(|path| (path.clone(), at(&answer.body, &fill(path, &self.saved)).cloned().unwrap_or_default()))
                .collect(),
        };
        let (headers, body) = (self.normal.value(&answer.headers), self.normal.value(&body));
        let entry = json!({ "step": title(step), "status": answer.status, "headers": headers, "body": body });
        self.out.steps.push(entry);
        Ok(())
    }

    /// The path of a webhook of this case, as this server calls it.
    fn path(&self, name: &str) -> String {
        let side = self.server.hooks.rsplit('/').next().unwrap_or_default();
        format!("/{side}/{}/{name}", self.saved["ns"])
    }

    /// Creates a configuration with one more webhook, which says when the server heeds it.
    async fn configure(&mut self, configure: &Configure) -> Result<(), String> {
        let ready = format!("ready{}", configure.name);
        let common = |path: &str| {
            json!({
                "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": { "url": format!("{{hooks}}/{{ns}}/{path}"), "caBundle": "{ca}" },
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "{ns}" } },
                "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"] }],
            })
        };
        // The probe comes first, so that it is asked whatever the others do.
        let mut probe = common(&ready);
        probe["name"] = "ready.example.com".into();
        probe["objectSelector"] = json!({ "matchLabels": { "probe": ready } });
        let mut hooks = vec![probe];
        for written in &configure.hooks {
            let mut hook = common(written["path"].as_str().unwrap_or("hook"));
            for (key, value) in written.as_object().into_iter().flatten().filter(|(key, _)| *key != "path") {
                hook[key] = value.clone();
            }
            hooks.push(hook);
        }
        let body = json!({ "metadata": { "name": format!("{{ns}}{}", configure.name) }, "webhooks": hooks });
        let step = Step { post: Some(collection(&configure.kind)), body: Some(body), ..Step::default() };
        let made = self.send(&step).await?;
        if made.status != 201 {
            return Err(format!("the configuration was not made: {}", made.body));
        }
        let probe = json!({ "metadata": { "name": "probe", "labels": { "probe": ready } } });
        let path = "/api/v1/namespaces/{ns}/configmaps?dryRun=All".to_owned();
        let step = Step { post: Some(path), body: Some(probe), ..Step::default() };
        let deadline = Instant::now() + PATIENCE;
        while self.hooks.take(&self.path(&ready)).is_empty() {
            if Instant::now() > deadline {
                return Err(format!("the server does not heed {:?}", configure.name));
            }
            self.send(&step).await?;
            tokio::time::sleep(PAUSE).await;
        }
        for hook in &configure.hooks {
            self.hooks.take(&self.path(hook["path"].as_str().unwrap_or("hook")));
        }
        Ok(())
    }

    async fn settled(&self, step: &Step) -> Result<Answer, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.send(step).await?;
            match &step.until {
                Some(until) if !reached(until, &answer) => {
                    if Instant::now() > deadline {
                        return Err(format!(
                            "{} did not become {until:?}: {} {}",
                            title(step),
                            answer.status,
                            answer.body
                        ));
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                _ => return Ok(answer),
            }
        }
    }

    /// Waits until the server's cache has what the step wrote, for chance would decide what it shows before that. A write
    /// to an object, too, begins with the cached one and begins again if that was old: webhooks are asked twice then.
    async fn caught_up(&self, step: &Step, answer: &Answer) -> Result<(), String> {
        let text = |pointer| answer.body.pointer(pointer).and_then(Value::as_str);
        let (Some(version), Some(name)) = (text("/metadata/resourceVersion"), text("/metadata/name")) else {
            return Ok(());
        };
        let object = match (&step.post, step.put.as_ref().or(step.patch.as_ref())) {
            (Some(path), _) => format!("{}/{name}", resource(path)),
            (None, Some(path)) => resource(path).to_owned(),
            (None, None) => return Ok(()),
        };
        let seen = Step { get: Some(format!("{object}?resourceVersion={version}")), ..Step::default() };
        self.send(&seen).await.map(drop)
    }

    async fn send(&self, step: &Step) -> Result<Answer, String> {
        let (status, headers, body) = self.open(step).await?;
        let bytes = timeout(PATIENCE, body.collect()).await.map_err(|_| format!("{}: no end", title(step)))?;
        let bytes = bytes.map_err(|error| format!("{}: {error}", title(step)))?.to_bytes();
        // The layout of YAML is its writer's choice.
        let parsed = match step.accept.as_deref() {
            Some("yaml") => yaml_serde::from_slice(&bytes).ok(),
            _ => serde_json::from_slice(&bytes).ok(),
        };
        let body = parsed.unwrap_or_else(|| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        Ok(Answer { status, headers, body })
    }

    async fn open(&self, step: &Step) -> Result<(u16, Value, Body), String> {
        let client = if step.token.is_some() { &self.server.stranger } else { &self.server.client };
        let sent = timeout(PATIENCE, client.send(request(step, &self.saved))).await;
        let response = sent.map_err(|_| format!("{}: no answer", title(step)))?;
        let response = response.map_err(|error| format!("{}: {error}", title(step)))?;
        let all = response.headers();
        let header = |name: &&str| {
            let values: Vec<&str> = all.get_all(*name).iter().filter_map(|value| value.to_str().ok()).collect();
            (!values.is_empty()).then(|| ((*name).to_owned(), json!(values)))
        };
        let headers = Value::Object(HEADERS.iter().filter_map(header).collect());
        Ok((response.status().as_u16(), headers, response.into_body()))
    }

    async fn watch(&mut self, step: &Step) -> Result<(), String> {
        let (status, headers, body) = self.open(step).await?;
        for inner in &step.during {
            Box::pin(self.step(inner)).await?;
        }
        let mut stream = body.into_data_stream();
        let (mut buffer, mut lines): (_, Vec<String>) = (Vec::new(), Vec::new());
        let deadline = Instant::now() + PATIENCE;
        while lines.iter().filter(|line| !by_the_clock(line)).count() < step.events {
            match timeout_at(deadline, stream.next()).await {
                Ok(Some(Ok(bytes))) => buffer.extend_from_slice(&bytes),
                Ok(Some(Err(_)) | None) => break,
                Err(_) => return Err(format!("{}: only {} events: {lines:?}", title(step), lines.len())),
            }
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                lines.pop_if(|last| by_the_clock(last));
                lines.push(String::from_utf8_lossy(&line).into_owned());
            }
        }
        // What came in one piece with the last event is chance.
        let whole = lines.len() >= step.events;
        lines.truncate(step.events);
        if !buffer.is_empty() && !whole {
            lines.push(String::from_utf8_lossy(&buffer).into_owned());
        }
        let parsed = lines.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.as_str().into()));
        let events: Vec<Value> = parsed.map(|event: Value| self.normal.value(&event)).collect();
        self.out.steps.push(json!({ "step": title(step), "status": status, "headers": headers, "body": events }));
        Ok(())
    }

    async fn kubectl(&mut self, step: &Step) -> Result<(), String> {
        let line = fill(step.kubectl.as_deref().unwrap_or_default(), &self.saved);
        let program = std::env::var_os("BOATHOOK_KUBECTL").unwrap_or_else(|| "kubectl".into());
        let mut child = tokio::process::Command::new(program)
            .arg("--kubeconfig")
            .arg(&self.server.kubeconfig)
            .arg("--cache-dir")
            .arg(self.server.home.join("cache"))
            .args(line.split_whitespace())
            .env("HOME", &self.server.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("kubectl: {error}"))?;
        let mut stdin = child.stdin.take().ok_or("kubectl has no stdin")?;
        let input = step.body.as_ref().map(|body| text(body, &self.saved)).unwrap_or_default();
        // One that ends early does not read it all.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = timeout(PATIENCE * 2, child.wait_with_output()).await;
        let output = output.map_err(|_| format!("kubectl {line}: no end"))?.map_err(|error| error.to_string())?;
        let mut shown = |bytes: &[u8]| self.normal.text(&String::from_utf8_lossy(bytes));
        let (stdout, stderr) = (shown(&output.stdout), shown(&output.stderr));
        let step = json!({ "step": title(step), "status": output.status.code(), "stdout": stdout, "stderr": stderr });
        self.out.steps.push(step);
        Ok(())
    }
}

/// A path without its query.
fn resource(path: &str) -> &str {
    path.split_once('?').map_or(path, |(resource, _)| resource)
}

fn collection(kind: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", kind.to_lowercase())
}

/// The paths of what the case leaves behind that concerns others.
fn left(case: &Case) -> Vec<String> {
    let made = case.steps.iter().filter_map(|step| step.configure.as_ref());
    let made = made.map(|made| format!("{}/{{ns}}{}", collection(&made.kind), made.name));
    let converts = case.area == "conversion";
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{ns}.example.com".to_owned();
    made.chain(converts.then_some(definition)).collect()
}

/// Whether an event is a bookmark that the server sends now and then: where among others is chance, only that
/// a watch ends with one is not.
fn by_the_clock(line: &str) -> bool {
    line.starts_with(r#"{"type":"BOOKMARK""#) && !line.contains("k8s.io/initial-events-end")
}

fn title(step: &Step) -> String {
    match (&step.kubectl, target(step)) {
        (Some(line), _) => format!("kubectl {line}"),
        (None, Some((method, path))) => format!("{method} {path}"),
        (None, None) => panic!("a step with no request: {step:?}"),
    }
}

fn reached(until: &Until, answer: &Answer) -> bool {
    until.status.is_none_or(|status| status == answer.status)
        && until.at.iter().all(|(path, value)| at(&answer.body, path).unwrap_or(&Value::Null) == value)
}

/// The value at a path whose segments are keys, indexes and `[KEY=VALUE]`. Keys write `~1` for a slash.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').skip(1).try_fold(value, |value, segment| {
        match segment.strip_prefix('[').and_then(|s| s.strip_suffix(']')).and_then(|s| s.split_once('=')) {
            Some((key, wanted)) => {
                let pointer = format!("/{}", key.replace('.', "/"));
                value.as_array()?.iter().find(|item| item.pointer(&pointer).is_some_and(|found| found == wanted))
            }
            None => match value {
                Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
                other => other.get(segment.replace("~1", "/").replace("~0", "~")),
            },
        }
    })
}
