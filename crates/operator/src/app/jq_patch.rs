//! Runs the programs of `jq` patches where filters run. It keeps programs, because a program that keeps reaching its
//! bounds has to wait.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use boathook_core::{
    fair::Tenant,
    filter::{CompileError, Outputs},
    model::HookName,
};
use boathook_kube::access::JqRunner;
use boathook_sandbox::{Filters, Program};
use futures::{FutureExt as _, future::BoxFuture};

use super::hooks::HookRegistry;

/// The maximum number of programs that are kept. If there are more, all are dropped, because a hook may write a new one
/// for every object.
const KEPT: usize = 256;

pub(super) struct PatchPrograms {
    filters: Filters,
    hook_registry: Arc<HookRegistry>,
    kept: Mutex<Kept>,
}

type Kept = HashMap<(HookName, Box<str>), Program>;

impl PatchPrograms {
    pub fn new(filters: Filters, hook_registry: Arc<HookRegistry>) -> Self {
        Self { filters, hook_registry, kept: Mutex::default() }
    }

    /// Each hook has programs of its own, so that no hook waits for another's.
    async fn program(&self, hook: &HookName, text: &str) -> Result<Program, CompileError> {
        let key = (hook.clone(), text.into());
        let known = self.kept().get(&key).cloned();
        if let Some(program) = known {
            return Ok(program);
        }
        let tenant = self.hook_registry.hook(hook).map_or_else(|| Tenant::hook(hook.as_str()), |hook| hook.tenant());
        let program = self.filters.compile(&tenant, text).await?;
        let mut kept = self.kept();
        if kept.len() >= KEPT {
            kept.clear();
        }
        // Another run of the hook may have been first. Its back-off is shared.
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
            one(&program.run(&object.into()).await.map_err(|error| error.to_string())?)
        }
        .boxed()
    }
}

/// A patch program makes one object from one object.
fn one(outputs: &Outputs) -> Result<String, String> {
    let mut values = outputs.values();
    match (values.next(), values.count()) {
        (Some(object), 0) => Ok(object.to_owned()),
        (None, _) => Err("the program gave no result; a patch needs one".to_owned()),
        (Some(_), more) => Err(format!("the program gave {} results; a patch needs one", more + 1)),
    }
}

#[cfg(test)]
mod tests {
    use boathook_sandbox::{Sandbox, SandboxConfig};
    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn a_large_program_is_compiled_while_others_go_on() {
        let sandbox = Sandbox::new(SandboxConfig { pooling: false, ..SandboxConfig::default() }).unwrap();
        let programs = PatchPrograms::new(sandbox.filters().clone(), Arc::default());
        let hook = HookName::new("h").unwrap();
        assert_eq!(programs.run(&hook, ".a", "{\"a\":1}".to_owned()).await.unwrap(), "1");
        let large = [r#".a.b.c.d.e.f.g.h = "x""#; 400].join(" | ");
        let mut run = programs.run(&hook, &large, "{}".to_owned());
        // The first poll gave the thread back.
        assert!(poll!(&mut run).is_pending());
        assert!(run.await.unwrap().contains("\"h\":\"x\""));
    }
}
