//! One scenario from its empty cluster to its last step.
//!
//! Never decides what matches.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    document::{Expect, Object, Scenario, Step},
    matcher::differences,
    operator::Operator,
};
use crate::support::cluster::{Admin, AdminError, TestCluster};

/// The error says which step failed and why, for people.
pub async fn play(hook: &str, hooks: &Path, scenario: &Scenario) -> Result<(), String> {
    let cluster = TestCluster::start().await;
    for (n, object) in scenario.given.iter().enumerate() {
        let created = cluster.admin.create(&object.0).await;
        created.map_err(|error| format!("  given[{}], {object}: {error}\n", n + 1))?;
    }
    let mut operator = Operator::start(hook, hooks, &cluster).await?;
    for (n, step) in scenario.steps.iter().enumerate() {
        let done = take(step, &cluster.admin, &mut operator).await;
        done.map_err(|error| format!("  steps[{}]{error}\n{}", n + 1, operator.tail()))?;
    }
    Ok(())
}

async fn take(step: &Step, admin: &Admin, operator: &mut Operator) -> Result<(), String> {
    match step {
        Step::Apply(object) => {
            let applied = admin.apply(&object.0).await;
            applied.map(drop).map_err(|error| format!(", apply {object}: {error}"))
        }
        Step::Delete(object) => admin.delete(&object.0).await.map_err(|error| format!(", delete {object}: {error}")),
        Step::Expect(expect) => wait_for(expect, admin, operator).await,
        Step::Restart => operator.restart().await.map_err(|error| format!(", restart operator: {error}")),
    }
}

async fn wait_for(expect: &Expect, admin: &Admin, operator: &Operator) -> Result<(), String> {
    let started = Instant::now();
    loop {
        let late = started.elapsed() > expect.within;
        let seen = look(expect, admin).await.map_err(|error| format!(": {error}"))?;
        let wrong = judge(expect, &seen, operator);
        if wrong.is_empty() && still(expect, admin, &seen).await {
            return Ok(());
        }
        if late {
            let wrong = if wrong.is_empty() { vec!["it held, but not all of it at one time".into()] } else { wrong };
            return Err(format!(" does not hold after {}s:\n    {}", expect.within.as_secs(), wrong.join("\n    ")));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The expected objects, then those that are expected to be absent.
async fn look(expect: &Expect, admin: &Admin) -> Result<Vec<Option<Value>>, AdminError> {
    let mut seen = Vec::new();
    for object in expect.present.iter().chain(&expect.absent) {
        seen.push(admin.get(&object.0).await?);
    }
    Ok(seen)
}

/// Objects are read one after the other. What is the same when all were read once more was so at one
/// time, in between.
async fn still(expect: &Expect, admin: &Admin, seen: &[Option<Value>]) -> bool {
    look(expect, admin).await.is_ok_and(|again| again == seen)
}

/// Everything that is not as expected.
fn judge(expect: &Expect, seen: &[Option<Value>], operator: &Operator) -> Vec<String> {
    let (present, absent) = seen.split_at(expect.present.len());
    let mut wrong = Vec::new();
    for (object, found) in expect.present.iter().zip(present) {
        wrong.extend(missing(object, found.as_ref()));
    }
    for (object, found) in expect.absent.iter().zip(absent) {
        wrong.extend(found.as_ref().map(|found| format!("absent {object}: is there: {found}")));
    }
    let lines = expect.logged.iter().filter_map(|line| line.differs(operator.logged(&line.text)));
    wrong.extend(lines.map(|difference| format!("logged: {difference}")));
    wrong
}

fn missing(object: &Object, found: Option<&Value>) -> Vec<String> {
    match found {
        None => vec![format!("present {object}: is not there")],
        Some(found) => {
            let all = differences(&object.0, found);
            all.into_iter().map(|difference| format!("present {object}: {difference}")).collect()
        }
    }
}
