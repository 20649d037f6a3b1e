//! Runs the programs of `jq` patches where filters run. Keeps compiled ones, since a program that
//! needs a worker process keeps that too.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{FutureExt as _, future::BoxFuture};

use super::roster::Roster;
use crate::{
    access::JqRunner,
    fair::Tenant,
    filter::{self, CompileError, Evaluator, Outputs, Program},
    model::HookName,
};

/// Programs that are kept. A hook may write a new one for every object; then they are all forgotten
/// from time to time.
const KEPT: usize = 256;

/// Compiles and runs.
pub(super) struct PatchPrograms {
    evaluator: Arc<Evaluator>,
    roster: Arc<Roster>,
    kept: Mutex<HashMap<(HookName, Box<str>), Program>>,
}

impl PatchPrograms {
    pub fn new(evaluator: Arc<Evaluator>, roster: Arc<Roster>) -> Self {
        Self { evaluator, roster, kept: Mutex::default() }
    }

    /// Each hook has programs of its own: none waits for another's.
    fn program(&self, hook: &HookName, text: &str) -> Result<Program, CompileError> {
        let key = (hook.clone(), text.into());
        if let Some(program) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(program.clone());
        }
        let tenant = self.roster.hook(hook).map_or_else(|| Tenant::hook(hook.as_str()), |hook| hook.tenant());
        let program = filter::compile_for(&tenant, text)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, program.clone());
        Ok(program)
    }
}

impl JqRunner for PatchPrograms {
    fn run(&self, hook: &HookName, program: &str, object: String) -> BoxFuture<'_, Result<String, String>> {
        let program = self.program(hook, program).map_err(|error| error.to_string());
        async move { one(self.evaluator.evaluate(&program?, &object).await.map_err(|error| error.to_string())?) }
            .boxed()
    }
}

/// A patch program makes one object of one object.
fn one(outputs: Outputs) -> Result<String, String> {
    let mut values = outputs.values();
    match (values.next(), values.len()) {
        (Some(object), 0) => Ok(object.to_owned()),
        (None, _) => Err("the program gave no result; a patch needs one".to_owned()),
        (Some(_), more) => Err(format!("the program gave {} results; a patch needs one", more + 1)),
    }
}
