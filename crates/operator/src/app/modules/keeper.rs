//! Looks at the source of one module, again and again, and checks what it finds before anybody hears of it: everything that
//! can fail comes before the version that runs is touched.

use std::{sync::Arc, time::Instant};

use boathook_core::{
    model::{BundleId, Identity, LimitCaps, error_chain},
    tasks::Task,
};
use boathook_modules::{ModuleName, life::Subject};
use tokio::{sync::mpsc, time::sleep_until};
use tracing::info;

use super::{
    super::{Services, module_values::ModuleValues, scope::Terms, service_account::own_user},
    hooks::ModuleHooks,
    shelf::Sourced,
};
use crate::{
    hookbundle::{Due, HookBundleSpec, Looked, Problem, due, permissions},
    module::{Fetched, Fetcher, ModuleSpec},
};

/// A version that may run.
pub(super) struct Arrival {
    pub source: Sourced,
    /// What hooks had written to the module's values before.
    pub kept: Option<String>,
    /// It was not fetched now, because the registry cannot be reached.
    pub recalled: bool,
}

/// What was heard of the cluster's Modules.
pub(super) enum Heard {
    /// It is there, in this state.
    Object(ModuleName),
    Gone(ModuleName),
    /// All of them are known.
    Listed,
    /// What the look at the source of a module gave. `None`: the version that it had.
    Looked(ModuleName, Result<Option<Box<Arrival>>, Problem>),
}

/// A keeper of one module. It ends when this is dropped.
pub(super) struct Keeper {
    /// The parts of the spec that it works with.
    of: HookBundleSpec,
    _task: Task<()>,
}

/// What keepers work with.
#[derive(Clone)]
pub(super) struct Tools {
    pub services: Arc<Services>,
    pub values: Arc<ModuleValues>,
    pub hooks: Arc<ModuleHooks>,
    pub fetcher: Arc<Fetcher>,
    pub tell: mpsc::UnboundedSender<Heard>,
}

impl Keeper {
    /// `bare`: no version of the module runs.
    pub fn start(tools: Tools, name: ModuleName, generation: i64, spec: HookBundleSpec, bare: bool) -> Self {
        let of = spec.clone();
        let task = tools.services.tasks.clone();
        let work = Work { tools, name: name.clone(), generation, spec, known: None, bare };
        Self { of, _task: task.spawn(format!("source of the module {name}"), work.run()) }
    }

    /// Whether it works with this spec.
    pub fn is_for(&self, spec: &ModuleSpec) -> bool {
        spec.as_bundle().as_ref() == Some(&self.of)
    }
}

struct Work {
    tools: Tools,
    name: ModuleName,
    generation: i64,
    spec: HookBundleSpec,
    /// The digest of the version that was found last.
    known: Option<String>,
    bare: bool,
}

impl Work {
    async fn run(mut self) {
        let mut looked: Option<Looked> = None;
        loop {
            match due(&self.spec, self.generation, looked.as_ref(), Instant::now()) {
                Due::Never => return std::future::pending().await,
                Due::At(at) => {
                    sleep_until(at.into()).await;
                    continue;
                }
                Due::Now => {}
            }
            let answer = self.look().await;
            let failures = match &answer {
                Ok(_) => 0,
                Err(_) => looked.map_or(0, |looked| looked.failures).saturating_add(1),
            };
            if let Err(problem) = &answer
                && !problem.refused
                && self.bare
            {
                self.bare = !self.recall().await;
            }
            self.tell(answer);
            looked = Some(Looked { generation: self.generation, at: Instant::now(), failures, chance: rand::random() });
        }
    }

    fn tell(&self, answer: Result<Option<Box<Arrival>>, Problem>) {
        // Nobody listens while the operator ends.
        let _ = self.tools.tell.send(Heard::Looked(self.name.clone(), answer));
    }

    async fn look(&mut self) -> Result<Option<Box<Arrival>>, Problem> {
        self.check_account().await?;
        let fetched = self.tools.fetcher.fetch(&self.name, &self.spec, self.known.as_deref()).await?;
        let Some(fetched) = fetched else { return Ok(None) };
        let digest = fetched.digest.clone();
        let arrival = self.prepare(fetched, false).await?;
        (self.known, self.bare) = (Some(digest), false);
        Ok(Some(arrival))
    }

    /// The operator may read all Secrets of its namespace and act as each ServiceAccount there, and a module may not.
    async fn check_account(&self) -> Result<(), Problem> {
        let Tools { values, .. } = &self.tools;
        let identity = identity(values.namespace(), &self.spec);
        let own = own_user(values.client()).await.map_err(|error| {
            let text = format!("the API server does not report as whom the operator acts: {}", error_chain(&error));
            Problem::passing("RightsUnknown", text)
        })?;
        if own == identity.user() {
            let text = format!("{identity} is the operator's own: name another one in spec.serviceAccountName");
            return Err(Problem::refused("ServiceAccountForbidden", text));
        }
        Ok(())
    }

    /// A start without the registry. Returns false if another try may give more.
    async fn recall(&mut self) -> bool {
        if self.check_account().await.is_err() {
            return false;
        }
        let Some(fetched) = self.tools.fetcher.recall(&self.name, &self.spec).await else { return true };
        let digest = fetched.digest.clone();
        match self.prepare(fetched, true).await {
            Ok(arrival) => {
                info!(module = %self.name, digest, "the registry cannot be reached: the version in the store is used");
                self.known = Some(digest);
                self.tell(Ok(Some(arrival)));
                true
            }
            Err(problem) => problem.refused,
        }
    }

    /// Checks everything about a version that can be checked without the others.
    async fn prepare(&self, fetched: Fetched, recalled: bool) -> Result<Box<Arrival>, Problem> {
        let Tools { values, hooks, .. } = &self.tools;
        let terms = terms(&self.name, values.namespace(), &self.spec);
        let source = Sourced { terms: Arc::new(terms), fetched };
        hooks.check(&source).await?;
        let kept = values.kept_of(&self.name).await.map_err(|error| {
            let text = format!("the Secret with what hooks wrote to the module's values cannot be read: {error}");
            Problem::passing("ValuesUnknown", text)
        })?;
        Ok(Box::new(Arrival { source, kept, recalled }))
    }
}

/// Whose rights a module from a registry has. `namespace`: the operator's.
pub(super) fn terms(name: &ModuleName, namespace: &str, spec: &HookBundleSpec) -> Terms {
    Terms {
        bundle: BundleId { namespace: None, name: name.to_string() },
        identity: Some(Arc::new(identity(namespace, spec))),
        grants: Some(permissions(&spec.grants)),
        credentials: Arc::new([]),
        settings: "{}".into(),
        limits: LimitCaps::default(),
        confined_to: None,
        module: Some(Subject::Module(name.clone())),
    }
}

fn identity(namespace: &str, spec: &HookBundleSpec) -> Identity {
    Identity { namespace: namespace.to_owned(), service_account: spec.service_account_name.clone() }
}
