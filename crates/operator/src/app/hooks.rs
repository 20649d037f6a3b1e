//! Loads one hook: compiles it, gets its document from it, and checks that. The registry lists the hooks that run, and
//! those that do not, with the reason.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use boathook_core::{
    fair::Tenant,
    hooks::{DocumentError, FileError, HookFile, SHELL, ShellError, parse},
    model::{
        AdmissionKind::{Mutating, Validating},
        BindingName, BindingRef, BundleId, Caller, Failure, HookName, HookSpec, HttpCredential, Identity, InvalidName,
        RunId, ScriptFunction, Source, Stage, UnknownVariable,
    },
    queue::HookQueueConfig,
};
use boathook_modules::life::Subject;
use boathook_sandbox::{Directories, Filters, LoadError, LoadedHook, Sandbox};
use tokio_util::sync::CancellationToken;

use super::claims::{Claim, ClaimedTwice};

/// A hook that can run.
pub struct Hook {
    pub spec: HookSpec,
    pub component: LoadedHook,
    /// Ends the hook's runs because another version takes over.
    pub interrupt: CancellationToken,
    /// What the hook has from its bundle, if it belongs to one.
    pub bundled: Option<Bundled>,
    /// The module that it belongs to, or all of them.
    pub(super) module: Option<Subject>,
    /// The objects that it reconciles. Absent until it may run.
    pub(super) claim: Option<Claim>,
    /// It only answers the API server, as the same hook does that runs where the leader is.
    pub(super) stands_in: bool,
}

/// What a hook has from its bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundled {
    pub bundle: BundleId,
    /// The ServiceAccount that makes its calls.
    pub identity: Option<Arc<Identity>>,
    /// What the operator adds to its HTTP requests.
    pub credentials: Arc<[HttpCredential]>,
    /// A JSON object.
    pub settings: Arc<str>,
}

/// What a module is called among the sources of hooks. No module has the name `global`.
pub(super) fn source_name(module: &Subject) -> String {
    match module {
        Subject::Global => "global".to_owned(),
        Subject::Module(name) => name.as_str().to_owned(),
    }
}

impl Hook {
    /// Creates a hook outside of any bundle.
    pub(super) fn new(spec: HookSpec, component: LoadedHook) -> Self {
        let interrupt = CancellationToken::new();
        Self { spec, component, interrupt, bundled: None, module: None, claim: None, stands_in: false }
    }

    /// The hook of a module for a replica that does not lead. It answers with its snapshots, and nothing of it runs, also
    /// after this replica has become the leader: then its module starts it.
    pub(super) fn standing_in(self) -> Self {
        let mut spec = self.spec;
        spec.on_startup = None;
        spec.stages.clear();
        spec.schedules.clear();
        spec.reconcilers.clear();
        spec.kubernetes.retain(|binding| binding.role.is_none());
        for binding in &mut spec.kubernetes {
            binding.events.clear();
            binding.on_synchronization = false;
        }
        Self { spec, claim: None, stands_in: true, ..self }
    }

    /// Returns the same version again, so that it can replace another one.
    pub(super) fn again(&self) -> Self {
        let (bundled, module, claim) = (self.bundled.clone(), self.module.clone(), self.claim.clone());
        Self { bundled, module, claim, ..Self::new(self.spec.clone(), self.component.clone()) }
    }

    /// How its triggers queue. The hooks of a namespace together have one share of the run slots.
    pub fn queue_config(&self) -> HookQueueConfig {
        HookQueueConfig { tenant: Some(self.tenant()), ..(&self.spec).into() }
    }

    /// The tenant with which the hook shares the process's limited resources.
    pub fn tenant(&self) -> Tenant {
        let namespace = self.bundled.as_ref().and_then(|bundled| bundled.bundle.namespace.as_deref());
        namespace.map_or_else(|| Tenant::hook(self.spec.name.as_str()), Tenant::namespace)
    }

    /// The directory or the bundle that the hook comes from.
    pub fn source(&self) -> Source {
        match (&self.module, &self.bundled) {
            (Some(module), _) => Source::Module(source_name(module)),
            (None, Some(bundled)) => Source::Bundle(bundled.bundle.clone()),
            (None, None) => Source::Directory,
        }
    }

    /// Whether the hook belongs to a HookBundle, and not to the admin.
    pub fn is_tenants(&self) -> bool {
        self.bundled.as_ref().is_some_and(|bundled| bundled.bundle.namespace.is_some())
    }

    /// Whether readiness waits for it only while the operator starts, because others must not suffer when it is broken.
    pub fn counts_at_the_start_only(&self) -> bool {
        self.is_tenants() || self.module.is_some()
    }

    /// Whether its answers depend on nothing but what it is given.
    pub fn is_pure(&self) -> bool {
        const READS: [&str; 4] =
            ["boathook:hook/kube", "boathook:hook/snapshots", "boathook:hook/values", "wasi:http/"];
        !self.imports(&READS) && !self.spec.has_directories()
    }

    /// Whether its code may ask for the values of its module.
    pub fn reads_values(&self) -> bool {
        self.imports(&["boathook:hook/values", "boathook:interpreter/values"])
    }

    fn imports(&self, any: &[&str]) -> bool {
        self.component.imports().iter().any(|import| any.iter().any(|it| import.starts_with(it)))
    }

    /// The caller of a run's host calls.
    pub fn caller(&self, run: RunId, dry_run: bool) -> Caller {
        let caller = Caller::new(self.spec.name.clone(), run, self.spec.permissions.clone(), dry_run);
        match &self.bundled {
            Some(Bundled { identity, credentials, settings, .. }) => {
                let (identity, credentials) = (identity.clone(), credentials.clone());
                Caller { identity, credentials, settings: settings.clone(), ..caller }
            }
            None => caller,
        }
    }
}

/// Why a hook does not run.
#[derive(Debug, thiserror::Error)]
pub enum HookLoadError {
    #[error("the file name is not a valid hook name")]
    Name(#[from] InvalidName),
    #[error("the file cannot be read")]
    Unreadable(#[source] std::io::Error),
    #[error(transparent)]
    Shell(#[from] ShellError),
    #[error("the component cannot be used")]
    Component(#[from] LoadError),
    #[error("its config function failed: {0}")]
    Config(Failure),
    #[error(
        "{key} needs the export {export}, which the component does not have: build it for a world with this export"
    )]
    Export {
        /// The key of the document.
        key: &'static str,
        /// The missing export.
        export: &'static str,
    },
    /// In a script, a binding has no function, or a function has no binding.
    #[error("its functions and its bindings do not match: {}", .0.join("; "))]
    Functions(Vec<String>),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Claimed(#[from] ClaimedTwice),
    #[error(transparent)]
    Variable(#[from] UnknownVariable),
    /// It does what only one replica may do.
    #[error(
        "its document has {key}, and a node agent runs each hook on every node: load the hook into an operator that is not a \
         node agent"
    )]
    NodeAgent {
        /// The key of the document.
        key: &'static str,
    },
    /// It has a stage in the life of modules that is not its own.
    #[error("its document has {key}, which is for {whose}: {remedy}")]
    Stage {
        /// The key of the document.
        key: &'static str,
        whose: &'static str,
        remedy: &'static str,
    },
    /// It requests a directory that it cannot have.
    #[error("permissions.directories: {0}")]
    Directory(String),
    /// The operator is ending, or its parser of documents has a defect.
    #[error("its configuration was not read to the end: the operator is ending, or has a defect (see its log)")]
    Unread(#[source] tokio::task::JoinError),
}

pub(super) async fn load_file(file: HookFile, sandbox: &Sandbox) -> Result<Hook, HookLoadError> {
    let (name, bytes) = component(file, sandbox).await?;
    load(&name, &bytes, sandbox).await
}

/// Reads the component in a file, or packs the script in it for the newest interpreter.
pub async fn component(file: HookFile, sandbox: &Sandbox) -> Result<(HookName, Vec<u8>), HookLoadError> {
    let name = file.name.clone()?;
    let interpreter = if file.is_script() { sandbox.newest_interpreter(SHELL).await } else { None };
    let packing = move || file.component(interpreter);
    let packed = tokio::task::spawn_blocking(packing).await.map_err(HookLoadError::Unread)?;
    let bytes = packed.map_err(|error| match error {
        FileError::Unreadable(error) => HookLoadError::Unreadable(error),
        FileError::Shell(error) => HookLoadError::Shell(error),
    })?;
    Ok((name, bytes))
}

/// Loads one of the admin's hooks from its component.
pub async fn load(name: &HookName, bytes: &[u8], sandbox: &Sandbox) -> Result<Hook, HookLoadError> {
    load_for(&Tenant::hook(name.as_str()), name, bytes, sandbox).await
}

/// Loads one hook from its component, when it is its tenant's turn.
pub(super) async fn load_for(
    tenant: &Tenant,
    name: &HookName,
    bytes: &[u8],
    sandbox: &Sandbox,
) -> Result<Hook, HookLoadError> {
    let component = sandbox.load_for(tenant, name, bytes).await?;
    let document = sandbox.config(&component).await.map_err(HookLoadError::Config)?;
    let spec = read(name, document, tenant, sandbox.filters()).await?;
    let misfits = match component.functions() {
        Some(functions) => misfits(&spec, functions),
        None if component.script().is_some() => unmatched(&spec, &component),
        None => Vec::new(),
    };
    if !misfits.is_empty() {
        return Err(HookLoadError::Functions(misfits));
    }
    check_exports(&spec, &component)?;
    Ok(Hook::new(spec, component))
}

/// Parses the document on a blocking thread, because it takes time to compile its filters and conditions.
async fn read(
    name: &HookName,
    document: String,
    tenant: &Tenant,
    filters: &Filters,
) -> Result<HookSpec, HookLoadError> {
    let (name, tenant, filters) = (name.clone(), tenant.clone(), filters.clone());
    let work = move || {
        let check =
            |program: &str| filters.compile_blocking(&tenant, program).map(drop).map_err(|error| error.to_string());
        let mut spec = parse(&name, &document, &check)?;
        let conditions = bad_conditions(&spec);
        spec.warnings.extend(conditions);
        Ok(spec)
    };
    tokio::task::spawn_blocking(work).await.map_err(HookLoadError::Unread)?
}

/// Lists functions without a binding, and bindings without a function.
fn misfits(spec: &HookSpec, functions: &[ScriptFunction]) -> Vec<String> {
    use ScriptFunction as F;
    let name = |binding: &BindingName| binding.as_str().to_owned();
    let (mut wanted, mut possible) = (Vec::new(), vec![F::Run]);
    for binding in spec.bindings() {
        match binding {
            BindingRef::Startup(_) => wanted.push(F::Startup),
            // A stage has no function of its own: `run` is for it.
            BindingRef::Stage(_) => {}
            BindingRef::Schedule(binding) => wanted.push(match &binding.group {
                Some(group) => F::Group(group.to_string()),
                None => F::Schedule(name(&binding.name)),
            }),
            // It watches for a `reconcile` binding, and is not in the document.
            BindingRef::Kubernetes(binding) if binding.role.is_some() => {}
            BindingRef::Kubernetes(binding) => {
                let (event, synchronization) = (F::Event(name(&binding.name)), F::Synchronization(name(&binding.name)));
                possible.extend([event.clone(), synchronization.clone()]);
                match &binding.group {
                    Some(group) => wanted.push(F::Group(group.to_string())),
                    None => {
                        wanted.extend((!binding.events.is_empty()).then_some(event));
                        wanted.extend(binding.on_synchronization.then_some(synchronization));
                    }
                }
            }
            BindingRef::Reconcile(binding) => {
                wanted.push(F::Reconcile(name(&binding.name)));
                possible.push(F::Finalize(name(&binding.name)));
            }
            BindingRef::Admission(binding) => wanted.push(match binding.kind {
                Validating => F::Validating(name(&binding.name)),
                Mutating => F::Mutating(name(&binding.name)),
            }),
            BindingRef::Conversion(binding) => wanted.push(F::Conversion(name(&binding.name))),
        }
    }
    let unbound = functions.iter().filter(|function| !possible.contains(function) && !wanted.contains(function));
    let mut misfits: Vec<_> =
        unbound.map(|function| format!("{function}: the configuration has no such binding")).collect();
    let whole = functions.contains(&F::Run);
    let mut reported = Vec::new();
    for function in wanted {
        let answers = matches!(function, F::Validating(_) | F::Mutating(_) | F::Conversion(_) | F::Reconcile(_));
        if functions.contains(&function) || (whole && !answers) || reported.contains(&function) {
            continue;
        }
        let remedy = match &function {
            F::Event(_) => "the binding's events need; without them, set executeHookOnEvent to []",
            F::Synchronization(_) => "the binding's start needs; else set executeHookOnSynchronization to false",
            _ => "the configuration needs",
        };
        misfits.push(format!("no function is {function}, which {remedy}"));
        reported.push(function);
    }
    misfits
}

/// The same for a script that has one function for all bindings of a list. Only `reconcile` is compared: earlier operators
/// accepted functions without bindings, and such scripts continue to run.
fn unmatched(spec: &HookSpec, component: &LoadedHook) -> Vec<String> {
    let problem = match (spec.reconcilers.is_empty(), component.reconciles(), component.has_finalize()) {
        (false, false, _) => "no function is reconcile, which the configuration's reconcile bindings need",
        (true, true, _) => {
            "the function reconcile: the configuration has no reconcile binding; add one, or remove the function"
        }
        (true, _, true) => {
            "the function finalize: the configuration has no reconcile binding; add one, or remove the function"
        }
        _ => return Vec::new(),
    };
    vec![problem.to_owned()]
}

/// Lists the conditions of webhooks that do not compile. The API server refuses to register them. The hook is loaded
/// despite that, because only the API server knows what its version understands.
pub fn bad_conditions(spec: &HookSpec) -> Vec<String> {
    let each = spec.admission.iter().flat_map(|binding| binding.match_conditions.iter().map(move |one| (binding, one)));
    let wrong = each.filter_map(|(binding, condition)| {
        let why = boathook_cel::match_condition(condition.expression.trim()).err()?;
        Some(format!("{}: matchConditions {:?}: {why}", binding.name, condition.name))
    });
    wrong.collect()
}

fn check_exports(spec: &HookSpec, component: &LoadedHook) -> Result<(), HookLoadError> {
    let binds = |kind| spec.admission.iter().any(|binding| binding.kind == kind);
    let needed = [
        ("kubernetesValidating", "boathook:hook/validating", binds(Validating), component.reviews(Validating)),
        ("kubernetesMutating", "boathook:hook/mutating", binds(Mutating), component.reviews(Mutating)),
        (
            "kubernetesCustomResourceConversion",
            "boathook:hook/conversion",
            !spec.conversions.is_empty(),
            component.converts(),
        ),
        ("reconcile", "boathook:hook/reconciling", !spec.reconcilers.is_empty(), component.reconciles()),
    ];
    let missing = needed.into_iter().find(|(_, _, bound, exported)| *bound && !exported);
    missing.map_or(Ok(()), |(key, export, ..)| Err(HookLoadError::Export { key, export }))
}

/// Checks that every node can run the hook at the same time. Two that reconcile the same objects would write against each other,
/// and the API server asks only one.
pub(super) fn check_for_every_node(spec: &HookSpec) -> Result<(), HookLoadError> {
    let keys = [
        ("reconcile", !spec.reconcilers.is_empty()),
        ("kubernetesValidating", spec.admission.iter().any(|binding| binding.kind == Validating)),
        ("kubernetesMutating", spec.admission.iter().any(|binding| binding.kind == Mutating)),
        ("kubernetesCustomResourceConversion", !spec.conversions.is_empty()),
    ];
    let found = keys.into_iter().find(|(_, there)| *there);
    found.map_or(Ok(()), |(key, _)| Err(HookLoadError::NodeAgent { key }))
}

/// Checks that the hook has only stages of what it belongs to.
pub(super) fn check_stages(spec: &HookSpec, of: Option<&Subject>) -> Result<(), HookLoadError> {
    let fits = |stage: Stage| match of {
        None => false,
        Some(Subject::Global) => stage.is_global(),
        Some(Subject::Module(_)) => !stage.is_global(),
    };
    let Some(stage) = spec.stages.iter().map(|binding| binding.stage).find(|stage| !fits(*stage)) else {
        return Ok(());
    };
    let (whose, remedy) = if stage.is_global() {
        ("global hooks of modules", "put the hook into the directory that --global-hooks names")
    } else {
        ("hooks of a module", "put the hook into the `hooks` folder of a module in a directory that --modules names")
    };
    Err(HookLoadError::Stage { key: stage.key(), whose, remedy })
}

/// Checks that the hook can have the directories that it requests.
pub(super) fn check_directories(hook: &Hook, offered: &Directories) -> Result<(), HookLoadError> {
    if hook.spec.has_directories() && hook.component.script().is_some() {
        let why = "a script has no files of the operator's machine: write the hook in a language that is compiled, such as Rust";
        return Err(HookLoadError::Directory(why.to_owned()));
    }
    let refusal = hook.spec.directories().find_map(|rule| offered.refusal(rule));
    refusal.map_or(Ok(()), |why| Err(HookLoadError::Directory(why)))
}

/// All hooks of the operator. Each name is in one of the two maps.
#[derive(Default)]
pub struct HookRegistry(RwLock<Lists>);

#[derive(Default)]
struct Lists {
    live: BTreeMap<HookName, Arc<Hook>>,
    /// By the file's name without `.wasm`, which may be an invalid hook name.
    quarantined: BTreeMap<String, Out>,
    /// Increases with each change.
    generation: u64,
}

/// Why a hook does not run.
#[derive(Debug, Clone)]
struct Out {
    reason: String,
    /// Whether its registrations at the API server stay.
    registered: bool,
}

/// What happens to the registrations of a hook that does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registrations {
    /// The hook cannot be loaded. What it forbids stays forbidden.
    Keep,
    /// The hook must not answer any more.
    Remove,
}

impl HookRegistry {
    fn read(&self) -> RwLockReadGuard<'_, Lists> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Lists> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether exactly this version of a hook may run.
    pub fn is_live(&self, hook: &Arc<Hook>) -> bool {
        self.read().live.get(&hook.spec.name).is_some_and(|live| Arc::ptr_eq(live, hook))
    }

    /// Finds a hook that may run.
    pub fn hook(&self, name: &HookName) -> Option<Arc<Hook>> {
        self.read().live.get(name).cloned()
    }

    /// Finds a hook that may run, by its name or by the form of the name in webhooks' paths.
    pub fn hook_at(&self, name: &str) -> Option<Arc<Hook>> {
        let plain = HookName::new(name).ok().and_then(|name| self.hook(&name));
        plain.or_else(|| self.read().live.values().find(|hook| hook.spec.name.subdomain() == name).cloned())
    }

    /// Increases when hooks are added, removed or replaced.
    pub fn generation(&self) -> u64 {
        self.read().generation
    }

    /// All hooks that may run, sorted by name.
    pub fn live(&self) -> Vec<Arc<Hook>> {
        self.read().live.values().cloned().collect()
    }

    /// All other hooks, sorted by name, with the reason.
    pub fn quarantined(&self) -> Vec<(String, String)> {
        self.read().quarantined.iter().map(|(name, out)| (name.clone(), out.reason.clone())).collect()
    }

    /// Returns all hooks that may run, and the names of the others whose registrations stay, at one moment.
    pub fn registered(&self) -> (Vec<Arc<Hook>>, BTreeSet<String>) {
        let lists = self.read();
        let broken = lists.quarantined.iter().filter(|(_, out)| out.registered);
        (lists.live.values().cloned().collect(), broken.map(|(name, _)| name.clone()).collect())
    }

    pub fn is_quarantined(&self, name: &str) -> bool {
        self.read().quarantined.contains_key(name)
    }

    /// Like [`HookRegistry::is_quarantined`], by the hook's name or by the form of the name in webhooks' paths.
    pub fn is_quarantined_at(&self, name: &str) -> bool {
        let by_path = |known: &String| HookName::new(known).is_ok_and(|known| known.subdomain() == name);
        self.is_quarantined(name) || self.read().quarantined.keys().any(by_path)
    }

    /// The hook may run from now on.
    pub fn admit(&self, hook: Arc<Hook>) {
        let mut lists = self.write();
        lists.generation += 1;
        lists.quarantined.remove(hook.spec.name.as_str());
        lists.live.insert(hook.spec.name.clone(), hook);
    }

    /// Removes the registrations of a hook that cannot be loaded. Returns false if there are none.
    pub fn withdraw(&self, name: &str) -> bool {
        let mut lists = self.write();
        let Some(out) = lists.quarantined.get_mut(name).filter(|out| out.registered) else { return false };
        out.registered = false;
        lists.generation += 1;
        true
    }

    pub fn remove(&self, name: &str) {
        let mut lists = self.write();
        lists.generation += 1;
        lists.live.retain(|live, _| live.as_str() != name);
        lists.quarantined.remove(name);
    }

    /// The hook may not run from now on. Registrations that were removed before stay removed, whatever the new reason.
    pub fn quarantine(&self, name: &str, reason: String, registrations: Registrations) {
        let mut lists = self.write();
        lists.generation += 1;
        lists.live.retain(|live, _| live.as_str() != name);
        let removed = lists.quarantined.get(name).is_some_and(|out| !out.registered);
        let registered = registrations == Registrations::Keep && !removed;
        lists.quarantined.insert(name.to_owned(), Out { reason, registered });
    }
}

#[cfg(test)]
mod tests {
    use ScriptFunction as F;
    use boathook_sandbox::SandboxConfig;

    use super::*;

    fn misfits(document: &str, functions: &[ScriptFunction]) -> Vec<String> {
        let document = format!("configVersion: v1\n{document}");
        super::misfits(&parse(&HookName::new("h").unwrap(), &document, &|_| Ok(())).unwrap(), functions)
    }

    // mutant: crates/operator/src/app/hooks.rs: `tokio::task::spawn_blocking(work).await.map_err(HookLoadError::Unread)?` => `work()`
    #[tokio::test]
    async fn large_filters_are_compiled_while_others_go_on() {
        let large = ["\\(.a)"; 5000].concat();
        let document = format!("{{configVersion: v1, kubernetes: [{{kind: Pod, jqFilter: '\"{large}\"'}}]}}");
        let name = HookName::new("h").unwrap();
        let sandbox = Sandbox::new(SandboxConfig { pooling: false, ..SandboxConfig::default() }).unwrap();
        let tenant = Tenant::hook("h");
        let mut read = std::pin::pin!(read(&name, document, &tenant, sandbox.filters()));
        // The first poll gave the thread back.
        assert!(futures::poll!(&mut read).is_pending());
        assert!(read.await.unwrap().kubernetes[0].jq_filter.is_some());
    }

    // mutant: crates/operator/src/app/hooks.rs: `registrations == Registrations::Keep && !removed` => `registrations == Registrations::Keep`
    #[test]
    fn registrations_that_were_removed_stay_removed_while_the_hook_does_not_run() {
        let registry = HookRegistry::default();
        let keeps = |registry: &HookRegistry| registry.registered().1.contains("h");
        registry.quarantine("h", "cannot be loaded".to_owned(), Registrations::Keep);
        assert!(keeps(&registry));
        registry.quarantine("h", "lost a right".to_owned(), Registrations::Remove);
        assert!(!keeps(&registry));
        registry.quarantine("h", "cannot be loaded".to_owned(), Registrations::Keep);
        assert!(!keeps(&registry), "nothing of it is registered any more");
        registry.remove("h");
        registry.quarantine("h", "cannot be loaded".to_owned(), Registrations::Keep);
        assert!(keeps(&registry), "another hook of this name");
    }

    #[test]
    fn a_function_and_its_binding_need_each_other() {
        let one = "kubernetes: [{name: deployments, apiVersion: apps/v1, kind: Deployment, executeHookOnSynchronization: false}]";
        assert_eq!(
            misfits(one, &[F::Event("deployment".into())]),
            [
                "@on_event(\"deployment\"): the configuration has no such binding",
                "no function is @on_event(\"deployments\"), which the binding's events need; without them, set \
                 executeHookOnEvent to []",
            ]
        );
        assert_eq!(misfits(one, &[F::Event("deployments".into())]), [""; 0]);
        assert_eq!(misfits(one, &[F::Run]), [""; 0]);
        assert_eq!(misfits(one, &[F::Event("deployments".into()), F::Synchronization("deployments".into())]), [""; 0]);
        assert_eq!(misfits(one, &[F::Event("deployments".into()), F::Startup]).len(), 1);
    }

    #[test]
    fn names_by_default_and_groups_count_too() {
        let all = "onStartup: 1
schedule: [{crontab: '* * * * *'}, {name: nightly, crontab: '0 1 * * *', group: g}]
kubernetes: [{kind: Pod, group: g}, {kind: Node}]
kubernetesValidating: [{name: a.b.c, rules: [{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}]
reconcile: [{name: web, apiVersion: example.com/v1, kind: Site, owns: [{apiVersion: v1, kind: ConfigMap}]}]";
        let functions = [
            F::Startup,
            F::Schedule("schedule".into()),
            F::Group("g".into()),
            F::Event("kubernetes".into()),
            F::Synchronization("kubernetes".into()),
            F::Validating("a.b.c".into()),
            F::Reconcile("web".into()),
        ];
        assert_eq!(misfits(all, &functions), [""; 0]);
        let with = |function: F| functions.iter().cloned().chain([function]).collect::<Vec<_>>();
        assert_eq!(misfits(all, &with(F::Finalize("web".into()))), [""; 0]);
        assert_eq!(misfits(all, &with(F::Finalize("other".into()))).len(), 1);
        for left_out in 0..functions.len() {
            let rest = functions.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, it)| it.clone());
            let rest: Vec<_> = rest.collect();
            let found = misfits(all, &rest);
            assert!(found.len() == 1 && found.concat().contains(&functions[left_out].to_string()), "{found:?}");
        }
        // A function for a whole run does not answer reviews, and says nothing about parents.
        assert_eq!(misfits(all, &[F::Run]).len(), 2);
    }
}
