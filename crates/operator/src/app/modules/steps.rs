//! What each step in the life of a module does.

use std::{sync::Arc, time::Duration};

use boathook_core::model::Stage;
use boathook_modules::{
    Module,
    life::{End, Event, Step, Subject, TaskId},
};
use tokio::sync::mpsc;

use super::{
    super::{Services, module_values::ModuleValues},
    hooks::ModuleHooks,
    releases::{ReleaseError, Releases},
    scripts::{self, Said},
    settings_check::SettingsChecks,
    shelf::Shelf,
};

/// After this time, modules that only go after another one do not wait for its step any more.
const SLOW: Duration = Duration::from_secs(60);

pub(super) struct Steps {
    pub services: Arc<Services>,
    pub values: Arc<ModuleValues>,
    pub checks: SettingsChecks,
    pub hooks: Arc<ModuleHooks>,
    pub shelf: Arc<Shelf>,
    pub releases: Arc<dyn Releases>,
    /// Receives what happens before a step has ended.
    pub events: mpsc::UnboundedSender<Event>,
}

impl Steps {
    /// Runs a step to its end. Dropping the future gives it up.
    pub async fn run(&self, task: TaskId, of: &Subject, step: Step) -> End {
        let mut work = std::pin::pin!(self.work(task, of, step));
        tokio::select! {
            end = &mut work => end,
            () = tokio::time::sleep(SLOW) => {
                self.tell(Event::Trouble(task, format!("it has not ended after {} seconds", SLOW.as_secs())));
                work.await
            }
        }
    }

    async fn work(&self, task: TaskId, of: &Subject, step: Step) -> End {
        let shelved = match of {
            Subject::Module(name) => self.shelf.get(name),
            Subject::Global => None,
        };
        let module = shelved.as_deref();
        // Nothing of a module runs with settings that its own script refuses, and nothing of it is deleted then.
        if let (Step::Start | Step::BeforeHelm, Subject::Module(name)) = (&step, of)
            && let Some(settings) = self.values.settings(name)
            && let Err(why) = self.checks.accepted(name, &settings).await
        {
            return End::Failed(why);
        }
        let done = match step {
            Step::Script { on } => return self.ask(module.map(|shelved| &shelved.module), &on).await,
            Step::Chart => return self.chart(module.map(|shelved| &shelved.module)).await,
            Step::Delete => return self.delete(of).await,
            Step::Start => self.hooks.start(of, module, |why| self.tell(Event::Trouble(task, why))).await,
            Step::BeforeAll => self.hooks.run(of, module, Stage::BeforeAll).await,
            Step::AfterAll => self.hooks.run(of, module, Stage::AfterAll).await,
            Step::BeforeHelm => self.hooks.run(of, module, Stage::BeforeHelm).await,
            Step::AfterHelm => self.hooks.run(of, module, Stage::AfterHelm).await,
            Step::BeforeDeleteHelm => self.hooks.run(of, module, Stage::BeforeDeleteHelm).await,
            Step::AfterDeleteHelm => self.hooks.run(of, module, Stage::AfterDeleteHelm).await,
            Step::Stop => {
                self.hooks.stop(of).await;
                match of {
                    Subject::Module(name) => self.values.forget(name).await,
                    Subject::Global => Ok(()),
                }
            }
        };
        done.map_or_else(End::Failed, |()| End::Done)
    }

    /// Loads what answers the API server while another replica leads.
    pub async fn stand_in(&self, of: &Subject) {
        let shelved = match of {
            Subject::Module(name) => self.shelf.get(name),
            Subject::Global => None,
        };
        self.hooks.stand_in(of, shelved.as_deref()).await;
    }

    fn tell(&self, event: Event) {
        // Nobody listens while the operator ends.
        let _ = self.events.send(event);
    }

    async fn ask(&self, module: Option<&Module>, on: &[boathook_modules::ModuleName]) -> End {
        let Some(module) = module else { return End::Answer(true, None) };
        match scripts::ask(&self.services, &self.values, module, on).await {
            Ok(Said { on, why }) => End::Answer(on, why),
            Err(why) => End::Failed(format!("script enabled: {why}")),
        }
    }

    async fn chart(&self, module: Option<&Module>) -> End {
        let Some(module) = module else { return End::Done };
        match self.values.given(&module.name) {
            Ok(given) => end(self.releases.apply(module, &given).await),
            Err(why) => End::Failed(why),
        }
    }

    async fn delete(&self, of: &Subject) -> End {
        match of {
            Subject::Module(name) => end(self.releases.delete(name).await),
            Subject::Global => End::Done,
        }
    }
}

fn end(result: Result<(), ReleaseError>) -> End {
    match result {
        Ok(()) => End::Done,
        Err(ReleaseError::Refused(why)) => End::Refused(why),
        Err(ReleaseError::Failed(why)) => End::Failed(why),
    }
}
