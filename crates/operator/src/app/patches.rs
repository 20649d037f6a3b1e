//! Runs the programs of `jq` patches where filters run. It keeps compiled programs, because a program that needs a
//! worker process keeps that, too.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use boathook_core::{
    fair::Tenant,
    filter::{CompileError, Evaluator, Outputs, Program},
    model::HookName,
};
use boathook_kube::access::JqRunner;
use futures::{FutureExt as _, future::BoxFuture};

use super::hooks::HookRegistry;

/// The maximum number of programs that are kept. If there are more, all are dropped, because a hook may write a new one
/// for every object.
const KEPT: usize = 256;

pub(super) struct PatchPrograms {
    evaluator: Arc<Evaluator>,
    hook_registry: Arc<HookRegistry>,
    kept: Mutex<Kept>,
}

type Kept = HashMap<(HookName, Box<str>), Program>;

impl PatchPrograms {
    pub fn new(evaluator: Arc<Evaluator>, hook_registry: Arc<HookRegistry>) -> Self {
        Self { evaluator, hook_registry, kept: Mutex::default() }
    }

    /// Each hook has programs of its own, so that no hook waits for another's.
    async fn program(&self, hook: &HookName, text: &str) -> Result<Program, CompileError> {
        let key = (hook.clone(), text.into());
        let known = self.kept().get(&key).cloned();
        if let Some(program) = known {
            return Ok(program);
        }
        let tenant = self.hook_registry.hook(hook).map_or_else(|| Tenant::hook(hook.as_str()), |hook| hook.tenant());
        let program = self.evaluator.compile(&tenant, text).await?;
        let mut kept = self.kept();
        if kept.len() >= KEPT {
            kept.clear();
        }
        // Another run of the hook may have been first. Its worker is shared.
        Ok(kept.entry(key).or_insert(program).clone())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JqRunner for PatchPrograms {
    fn run(&self, hook: &HookName, program: &str, object: String) -> BoxFuture<'_, Result<String, String>> {
        let (hook, program) = (hook.clone(), program.to_owned());
        async move {
            let program = self.program(&hook, &program).await.map_err(|error| error.to_string())?;
            one(self.evaluator.evaluate(&program, &object).await.map_err(|error| error.to_string())?)
        }
        .boxed()
    }
}

/// A patch program makes one object from one object.
fn one(outputs: Outputs) -> Result<String, String> {
    let mut values = outputs.values();
    match (values.next(), values.len()) {
        (Some(object), 0) => Ok(object.to_owned()),
        (None, _) => Err("the program gave no result; a patch needs one".to_owned()),
        (Some(_), more) => Err(format!("the program gave {} results; a patch needs one", more + 1)),
    }
}

#[cfg(test)]
mod tests {
    use boathook_core::filter::WorkerConfig;
    use futures::poll;

    use super::*;

    // mutant: crates/operator/src/app/patches.rs: `let program = self.evaluator.compile(&tenant, text).await?;` => `let program = { let _ = tenant; boathook_core::filter::compile(text)? };`
    #[tokio::test]
    async fn a_large_program_is_compiled_while_others_go_on() {
        let evaluator = Arc::new(Evaluator::new(WorkerConfig::new("/nonexistent")));
        let programs = PatchPrograms::new(evaluator, Arc::default());
        let large = [r#".a.b.c.d.e.f.g.h = "x""#; 400].join(" | ");
        let mut run = programs.run(&HookName::new("h").unwrap(), &large, "{}".to_owned());
        // The first poll gave the thread back, and started no worker.
        assert!(poll!(&mut run).is_pending());
        let error = run.await.unwrap_err();
        assert!(error.contains("process cannot be used"), "{error}");
    }
}
