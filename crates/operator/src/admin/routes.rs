//! The paths of the admin socket. [`Operator`] knows the answers.
//!
//! | path | answer |
//! | --- | --- |
//! | `GET /` | that the operator is alive |
//! | `GET /hooks`, `/queues`, `/runs`, `/live-runs`, `/top`, `/modules`, `/graph`, `/sets`, `/dead-letters`, `/log-level` | the view |
//! | `GET /modules/NAME/values`, `config`, `patches` | what makes the values of a module, or of `global` |
//! | `GET /hooks/NAME` | one hook |
//! | `GET /why?object=`, `/why?run=`, `/why-not?hook=&object=` | what led to an object or a run, and why a hook did not run for it |
//! | `GET /writes?contains=&run=&limit=` | the last writes |
//! | `GET /logs?run=`, `/effects?run=` | the log lines of a run, and what it did to objects |
//! | `GET /hooks/NAME/snapshots` | a page of each binding's objects |
//! | `POST /hooks/NAME/pause`, `resume`, `quarantine`, `release`, `reload` | nothing, when done |
//! | `POST /dead-letters/retry`, `/dead-letters/drop` | how many |
//! | `POST /log-level` | the new level |
//! | `GET /queue/list`, `/queue/main`, `/hook/list`, `/hook/NAME/snapshots`, `/config/list`, `POST /config/set` | as in shell-operator |
//! | `GET /module/list`, `/module/NAME/values`, `config`, `patches`, `snapshots`, the same below `/global`, `/graph?format=text` | as in addon-operator |
//!
//! Paths of views can end in `.json` (the default), `.yaml` or `.text`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Form, Json, Router,
    extract::{
        Path, Query, State,
        rejection::{FormRejection, JsonRejection},
    },
    http::{Method, StatusCode, Uri, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    modules::Part,
    operator::{Letters, Operator, Refused, Shared, SnapshotQuery},
    render::{Style, Text},
    views::{Count, Parameter, QueueView, QueuesView, SetLogLevel},
};

/// What all modules see.
const GLOBAL: &str = "global";

/// What changes nothing and shows no objects.
pub(crate) fn views(operator: Shared) -> Router {
    Router::new()
        .route("/{file}", get(top))
        .route("/hooks/{name}", get(hook))
        .fallback(unknown)
        .method_not_allowed_fallback(not_so)
        .with_state(operator)
}

pub(super) fn routes(operator: Shared) -> Router {
    Router::new()
        .route("/", get(async || "boathook: alive\n"))
        .route("/{file}", get(top))
        .route("/hooks/{name}", get(hook))
        .route("/log-level", get(log_level).post(set_log_level))
        .route("/dead-letters/{action}", post(letters))
        .route("/hooks/{name}/{action}", get(snapshots).post(command))
        .route("/modules/{name}/{file}", get(section))
        .route("/module/{file}", get(module_list))
        .route("/module/{name}/{file}", get(addon_section))
        .route("/global/{file}", get(addon_global))
        .route("/hook/{file}", get(hook_list))
        .route("/hook/{name}/{file}", get(shell_snapshots))
        .route("/queue/{file}", get(queue))
        .route("/config/set", post(config_set))
        .route("/config/{file}", get(config_list))
        .fallback(unknown)
        .method_not_allowed_fallback(not_so)
        .with_state(operator)
}

type Answer = Result<Response, Refused>;

fn running(operator: &Shared) -> Result<Arc<dyn Operator>, Refused> {
    operator.get().ok_or(Refused::Starting)?.upgrade().ok_or(Refused::Ending)
}

fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Refused> {
    Query::try_from_uri(uri).map(|Query(query)| query).map_err(|error| Refused::Bad(error.body_text()))
}

fn nowhere(uri: &Uri) -> Refused {
    Refused::UnknownPath(uri.path().to_owned())
}

async fn unknown(uri: Uri) -> Refused {
    nowhere(&uri)
}

async fn not_so(method: Method, uri: Uri) -> Response {
    plain(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}\n", uri.path()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfHook {
    hook: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AboutRuns {
    hook: Option<String>,
    #[serde(default)]
    failed: bool,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AboutObjectOrRun {
    object: Option<String>,
    run: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfRun {
    run: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Brief {
    #[serde(default)]
    brief: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HookAndObject {
    hook: String,
    object: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Drawn {
    format: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AboutSection {
    #[serde(default)]
    show_secrets: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AboutAddonSection {
    #[serde(default)]
    global: bool,
    #[serde(default)]
    show_secrets: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ShowEmpty {
    #[serde(default)]
    show_empty: bool,
}

async fn top(State(operator): State<Shared>, Path(file): Path<String>, uri: Uri) -> Answer {
    let (name, format) = split(&file)?;
    let operator = running(&operator)?;
    match name {
        "hooks" => {
            let Brief { brief } = query(&uri)?;
            let hooks = operator.hooks();
            Ok(view(&if brief { hooks.in_brief() } else { hooks }, format))
        }
        "top" => query::<Nothing>(&uri).map(|Nothing {}| view(&operator.bill(), format)),
        "queues" => queues(operator.as_ref(), &uri, format),
        "runs" => {
            let asked: AboutRuns = query(&uri)?;
            Ok(view(&operator.runs(asked.hook.as_deref(), asked.failed, asked.limit)?, format))
        }
        "dead-letters" => {
            let asked: OfHook = query(&uri)?;
            Ok(view(&operator.dead_letters(asked.hook.as_deref())?, format))
        }
        "modules" => query::<Nothing>(&uri).and_then(|Nothing {}| Ok(view(&operator.modules()?, format))),
        "graph" => {
            // `/graph?format=text` is addon-operator's path of the graph in the DOT language.
            let Drawn { format: drawn } = query(&uri)?;
            let graph = operator.graph()?;
            match drawn.as_deref() {
                None => Ok(view(&graph, format)),
                Some("dot" | "text") => Ok(plain(StatusCode::OK, graph.dot())),
                Some(other) => {
                    Err(Refused::Bad(format!("{other:?} is not a format of the graph: use dot, or leave it out")))
                }
            }
        }
        "log-level" => Ok(view(&operator.log_level()?, format)),
        "why" => {
            let view_of = match query(&uri)? {
                AboutObjectOrRun { object: Some(object), run: None } => operator.why(&object).await?,
                AboutObjectOrRun { object: None, run: Some(run) } => operator.why_run(&run),
                _ => return Err(Refused::Bad("say what to explain: an object, or a run; one of these".to_owned())),
            };
            Ok(view(&view_of, format))
        }
        "why-not" => {
            let asked: HookAndObject = query(&uri)?;
            Ok(view(&operator.why_not(&asked.hook, &asked.object).await?, format))
        }
        "writes" => Ok(data(&operator.writes(&query(&uri)?)?, format)),
        "live-runs" => query::<Nothing>(&uri).map(|Nothing {}| data(&operator.live_runs(), format)),
        "logs" => query(&uri).and_then(|OfRun { run }| Ok(data(&operator.logs(&run)?, format))),
        "effects" => query(&uri).and_then(|OfRun { run }| Ok(data(&operator.effects(&run)?, format))),
        "sets" => query::<Nothing>(&uri).map(|Nothing {}| data(&operator.sets(), format)),
        _ => Err(nowhere(&uri)),
    }
}

async fn hook(State(operator): State<Shared>, Path(file): Path<String>) -> Answer {
    let operator = running(&operator)?;
    let hooks = operator.hooks().hooks;
    // A hook's name can have dots, so there are no formats here.
    match hooks.iter().find(|hook| hook.name == file) {
        Some(hook) => Ok(data(hook, Format::Json)),
        None => {
            let known = hooks.into_iter().map(|hook| hook.name).collect();
            Err(Refused::UnknownHook { name: file, known })
        }
    }
}

fn queues(operator: &dyn Operator, uri: &Uri, format: Format) -> Answer {
    let ShowEmpty { show_empty } = query(uri)?;
    let queues = operator.queues();
    let shown = if show_empty { queues } else { QueuesView { empty: Vec::new(), ..queues } };
    Ok(view(&shown, format))
}

async fn log_level(State(operator): State<Shared>) -> Answer {
    Ok(view(&running(&operator)?.log_level()?, Format::Json))
}

async fn set_log_level(State(operator): State<Shared>, body: Result<Json<SetLogLevel>, JsonRejection>) -> Answer {
    let Json(SetLogLevel { level, lasts }) = body.map_err(|error| Refused::Bad(error.body_text()))?;
    let lasts = lasts.as_deref().map(duration).transpose()?;
    Ok(view(&running(&operator)?.set_log_level(&level, lasts)?, Format::Json))
}

fn duration(text: &str) -> Result<Duration, Refused> {
    let parsed = humantime::parse_duration(text);
    parsed.map_err(|error| Refused::Bad(format!("{text:?} is not a duration like 10m: {error}")))
}

async fn letters(
    State(operator): State<Shared>,
    Path(action): Path<String>,
    uri: Uri,
    body: Result<Json<Letters>, JsonRejection>,
) -> Answer {
    let Json(letters) = body.map_err(|error| Refused::Bad(error.body_text()))?;
    letters.check()?;
    let operator = running(&operator)?;
    match action.as_str() {
        "retry" => Ok(data(&operator.retry_dead(&letters)?, Format::Json)),
        "drop" => Ok(data(&Count { count: operator.drop_dead(&letters)? }, Format::Json)),
        _ => Err(nowhere(&uri)),
    }
}

async fn snapshots(State(operator): State<Shared>, Path((hook, file)): Path<(String, String)>, uri: Uri) -> Answer {
    let ("snapshots", format) = split(&file)? else { return Err(nowhere(&uri)) };
    let asked: SnapshotQuery = query(&uri)?;
    Ok(view(&running(&operator)?.snapshots(&hook, &asked)?, format))
}

async fn command(State(operator): State<Shared>, Path((hook, action)): Path<(String, String)>, uri: Uri) -> Answer {
    let operator = running(&operator)?;
    let done = match action.as_str() {
        "pause" => operator.pause(&hook),
        "resume" => operator.resume(&hook),
        "quarantine" => operator.quarantine(&hook).await,
        "release" => operator.release(&hook).await,
        "reload" => operator.reload(&hook).await,
        _ => return Err(nowhere(&uri)),
    };
    done?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn hook_list(State(operator): State<Shared>, Path(file): Path<String>, uri: Uri) -> Answer {
    let ("list", format) = split(&file)? else { return Err(nowhere(&uri)) };
    let names: Vec<_> = running(&operator)?.hooks().hooks.into_iter().map(|hook| hook.name).collect();
    Ok(match format {
        Format::Text => plain(StatusCode::OK, names.iter().map(|name| format!("{name}\n")).collect()),
        _ => data(&names, format),
    })
}

async fn shell_snapshots(
    State(operator): State<Shared>,
    Path((hook, file)): Path<(String, String)>,
    uri: Uri,
) -> Answer {
    let ("snapshots", format) = split(&file)? else { return Err(nowhere(&uri)) };
    let found = running(&operator)?.snapshots(&hook, &query(&uri)?)?;
    Ok(if format == Format::Text { view(&found, format) } else { data(&found.bindings, format) })
}

async fn section(State(operator): State<Shared>, Path((module, file)): Path<(String, String)>, uri: Uri) -> Answer {
    let (name, format) = split(&file)?;
    let part = Part::parse(name).ok_or_else(|| nowhere(&uri))?;
    let AboutSection { show_secrets } = query(&uri)?;
    Ok(data(&running(&operator)?.section(&module, part, show_secrets)?, format))
}

/// The modules that are on.
async fn module_list(State(operator): State<Shared>, Path(file): Path<String>, uri: Uri) -> Answer {
    let ("list", format) = split(&file)? else { return Err(nowhere(&uri)) };
    let modules = running(&operator)?.modules()?.modules;
    let on = modules.into_iter().filter(|module| module.on == Some(true) && module.name != GLOBAL);
    let mut names: Vec<_> = on.map(|module| module.name).collect();
    names.sort();
    Ok(match format {
        Format::Text => plain(StatusCode::OK, names.iter().map(|name| format!("{name}\n")).collect()),
        _ => data(&json!({ "enabledModules": names }), format),
    })
}

async fn addon_section(
    State(operator): State<Shared>,
    Path((module, file)): Path<(String, String)>,
    uri: Uri,
) -> Answer {
    addon(&*running(&operator)?, &module, &file, &uri)
}

async fn addon_global(State(operator): State<Shared>, Path(file): Path<String>, uri: Uri) -> Answer {
    let operator = running(&operator)?;
    match split(&file)? {
        ("list", format) => Ok(data(&json!({ "globalHooks": operator.hooks_of(GLOBAL)? }), format)),
        _ => addon(&*operator, GLOBAL, &file, &uri),
    }
}

/// A path of addon-operator about a module, or about what is global.
fn addon(operator: &dyn Operator, module: &str, file: &str, uri: &Uri) -> Answer {
    let (name, format) = split(file)?;
    if name == "snapshots" {
        let asked: SnapshotQuery = query(uri)?;
        let each = operator.hooks_of(module)?.into_iter().map(|hook| {
            let found = operator.snapshots(&hook, &asked)?;
            Ok((hook, found.bindings))
        });
        return Ok(data(&each.collect::<Result<BTreeMap<_, _>, Refused>>()?, format));
    }
    let part = Part::parse(name).ok_or_else(|| nowhere(uri))?;
    let AboutAddonSection { global, show_secrets } = query(uri)?;
    let found = operator.section(module, part, show_secrets)?;
    // Without `global`, addon-operator shows the section alone.
    let own = match &found {
        Value::Object(sections) if part != Part::Patches && !global => {
            sections.iter().find(|(key, _)| (*key == GLOBAL) == (module == GLOBAL)).map(|(_, own)| own)
        }
        _ => None,
    };
    Ok(data(own.unwrap_or(&found), format))
}

async fn queue(State(operator): State<Shared>, Path(file): Path<String>, uri: Uri) -> Answer {
    let (name, format) = split(&file)?;
    let operator = running(&operator)?;
    match name {
        "list" => queues(operator.as_ref(), &uri, format),
        "main" => Ok(view(&operator.queues().queue("main").cloned().unwrap_or_else(no_tasks), format)),
        _ => Err(nowhere(&uri)),
    }
}

/// The queue `main` always exists, even before its first task.
fn no_tasks() -> QueueView {
    QueueView { name: "main".to_owned(), ..Default::default() }
}

async fn config_list(State(operator): State<Shared>, Path(file): Path<String>, uri: Uri) -> Answer {
    let ("list", format) = split(&file)? else { return Err(nowhere(&uri)) };
    let level = running(&operator)?.log_level()?;
    Ok(match format {
        Format::Text => view(&level, format),
        _ => data(&[Parameter::from(level)], format),
    })
}

#[derive(Deserialize)]
struct SetParameter {
    name: String,
    value: String,
    duration: Option<String>,
}

async fn config_set(State(operator): State<Shared>, form: Result<Form<SetParameter>, FormRejection>) -> Answer {
    let Form(SetParameter { name, value, duration: lasts }) = form.map_err(|error| Refused::Bad(error.body_text()))?;
    if name != "log.level" {
        return Err(Refused::Bad(format!("there is no parameter {name:?}: there is log.level")));
    }
    let lasts = lasts.as_deref().filter(|text| !text.is_empty()).map(duration).transpose()?;
    let level = running(&operator)?.set_log_level(&value, lasts)?;
    Ok(data(&Parameter::from(level), Format::Json))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Format {
    Text,
    #[default]
    Json,
    Yaml,
}

/// `queues.yaml` is the view `queues` as YAML. Without an extension it is JSON.
pub(super) fn split(file: &str) -> Result<(&str, Format), Refused> {
    match file.rsplit_once('.') {
        None => Ok((file, Format::Json)),
        Some((name, "json")) => Ok((name, Format::Json)),
        Some((name, "yaml")) => Ok((name, Format::Yaml)),
        Some((name, "text")) => Ok((name, Format::Text)),
        Some((_, other)) => Err(Refused::Bad(format!("{other:?} is not a format: use text, json or yaml"))),
    }
}

pub(super) fn view<T: Serialize + Text>(view: &T, format: Format) -> Response {
    match format {
        Format::Text => plain(StatusCode::OK, view.text(Style::Plain)),
        Format::Json | Format::Yaml => data(view, format),
    }
}

/// Writes values that have no text form. They are written as JSON instead.
pub(super) fn data<T: Serialize>(value: &T, format: Format) -> Response {
    let written = match format {
        Format::Yaml => yaml_serde::to_string(value).map_err(|error| error.to_string()),
        Format::Text | Format::Json => {
            serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(|error| error.to_string())
        }
    };
    let kind = if format == Format::Yaml { "application/yaml" } else { "application/json" };
    match written {
        Ok(text) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("the answer cannot be written: {error}\n")),
    }
}

pub(super) fn plain(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match &self {
            Self::UnknownHook { .. }
            | Self::UnknownModule { .. }
            | Self::UnknownBinding { .. }
            | Self::UnknownLetter(_)
            | Self::UnknownPath(_) => StatusCode::NOT_FOUND,
            Self::Starting | Self::Ending => StatusCode::SERVICE_UNAVAILABLE,
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Unsupported(_) => StatusCode::NOT_IMPLEMENTED,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        plain(status, format!("{self}\n"))
    }
}
