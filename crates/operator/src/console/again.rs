//! Recorded runs again, for a console that an author has on their own machine: `boathook dev`. Nothing of it reaches a
//! cluster.

use std::{fmt, sync::Arc};

use axum::{
    Json, Router,
    extract::{Query, State, rejection::QueryRejection},
    response::{IntoResponse as _, Response},
    routing::get,
};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::admin::Refused;

/// Repeats recorded runs, and makes scenarios of them.
pub trait Repeats: Send + Sync {
    /// Whether there is a record of the run.
    fn is_recorded<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<bool, Refused>>;

    /// Runs it again with its recorded component.
    fn replay<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<ReplayView, Refused>>;

    /// A scenario of it.
    fn scenario<'a>(&'a self, run: &'a str) -> BoxFuture<'a, Result<ScenarioView, Refused>>;
}

/// What repeats runs for a console.
#[derive(Clone)]
pub struct Again(pub Arc<dyn Repeats>);

impl fmt::Debug for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Again")
    }
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayView {
    pub run: String,
    /// `same`, `differs` or `incomplete`.
    pub result: String,
    /// Why the run cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What differs, as `boathook replay` prints it.
    pub differences: Vec<String>,
    /// The lines that the hook logged this time.
    pub log: Vec<String>,
}

/// A scenario of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScenarioView {
    pub run: String,
    /// A name for the file.
    pub file: String,
    /// The scenario as YAML.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgainView {
    run: String,
    recorded: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfRun {
    run: String,
}

type Asked = Result<Query<OfRun>, QueryRejection>;
type Answer = Result<Response, Refused>;

/// The paths of a console that repeats runs. Other consoles do not have them.
pub(super) fn routes(Again(repeats): Again) -> Router {
    Router::new()
        .route("/again", get(again))
        .route("/replay", get(replay))
        .route("/scenario", get(scenario))
        .with_state(repeats)
}

fn run(asked: Asked) -> Result<String, Refused> {
    asked.map(|Query(OfRun { run })| run).map_err(|error| Refused::Bad(error.body_text()))
}

async fn again(State(repeats): State<Arc<dyn Repeats>>, asked: Asked) -> Answer {
    let run = run(asked)?;
    let recorded = repeats.is_recorded(&run).await?;
    Ok(Json(AgainView { run, recorded }).into_response())
}

async fn replay(State(repeats): State<Arc<dyn Repeats>>, asked: Asked) -> Answer {
    Ok(Json(repeats.replay(&run(asked)?).await?).into_response())
}

async fn scenario(State(repeats): State<Arc<dyn Repeats>>, asked: Asked) -> Answer {
    Ok(Json(repeats.scenario(&run(asked)?).await?).into_response())
}
