//! Plays one scenario, from its empty cluster to its last step.

mod answers;
mod module;
mod operator;
mod settle;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use boathook_cluster::Cluster;
use boathook_core::{
    hooks::{SHELL, read_directory},
    model::{HookName, InterpreterRef, error_chain, format_duration},
};
use boathook_sandbox::{Sandbox, SandboxConfig, interpreters_in};
use tempfile::TempDir;

use super::{
    admin::{Admin, AdminError},
    directories::Place,
    document::{Action, Configured, Expect, Fault, Object, Question, Scenario, Step},
    end::End,
    faults::{Armed, ArmedCall, ArmedEvent, Faults, Noted},
    http::Servers,
    judge::{self, Answer, OfModule, Remedy, Seen, Spot, Wrong, judge},
    log::Log,
    matcher::{self, Edit},
    subject::Subject,
    targets::Target,
};
use crate::module::{Alone, manifests};
use module::{Stage, module_of};
use operator::{Operator, Outside, Source};

/// Time between two checks of an expectation that does not hold yet.
const GLANCE: Duration = Duration::from_millis(5);
/// Time before the request is sent again if the response is not the expected one. A snapshot may be behind.
const AGAIN: Duration = Duration::from_millis(100);

#[derive(Clone)]
pub struct Settings {
    /// The sandbox of each operator.
    pub sandbox: SandboxConfig,
    /// Accepts objects that differ from the expected ones, and returns edits for the file.
    pub accept: bool,
    /// Records all runs in directories below this one.
    pub record: Option<PathBuf>,
    /// Returns what passed and what is there at the end, for a sweep.
    pub observe: bool,
}

/// A scenario that passed.
#[derive(Debug, Default)]
pub struct Played {
    /// The edits after which the file expects what was found, with [`Settings::accept`].
    pub edits: Vec<Edit>,
    /// The files of manifests after which their expectations hold, with [`Settings::accept`].
    pub files: BTreeMap<PathBuf, String>,
    /// With [`Settings::observe`].
    pub(super) observed: Option<Box<Observed>>,
}

impl Played {
    /// Whether something was accepted.
    pub fn is_new(&self) -> bool {
        !self.edits.is_empty() || !self.files.is_empty()
    }
}

/// What passed between the operator and its surroundings, and what is there at the end.
#[derive(Debug)]
pub(super) struct Observed {
    pub noted: Vec<Noted>,
    /// The objects that the paths of `noted` are of.
    pub targets: BTreeMap<String, Target>,
    /// Method and URL of each HTTP request, with the step during which it was sent.
    pub http: Vec<(Option<usize>, String, String)>,
    pub end: End,
    /// A hook has schedules that follow the clock.
    pub by_the_clock: bool,
    /// A hook has `reconcile` bindings.
    pub reconciles: bool,
}

/// A scenario that failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The step, as in `steps[1]`, and its line in the file. None before the first step.
    pub step: Option<(usize, usize)>,
    /// What is wrong, in several lines.
    pub text: String,
    /// The end of the operator's log.
    pub log: Vec<String>,
}

impl Failure {
    pub(super) fn early(text: impl Into<String>, log: &Log) -> Self {
        Self { step: None, text: text.into(), log: log.tail() }
    }
}

/// The cluster's admin, the operator, and the state of a scenario.
struct Play<'p> {
    admin: Admin,
    operator: Operator,
    faults: Faults,
    servers: Servers,
    place: Place,
    /// The module, if the scenario is about one.
    stage: Option<Stage>,
    settings: &'p Settings,
    edits: Vec<Edit>,
    files: BTreeMap<PathBuf, String>,
    /// The last request and its result.
    asked: Option<(Question, Answer)>,
    /// How many HTTP requests were sent before each step.
    sent: Vec<usize>,
}

/// Plays on this thread, which must have its own runtime.
///
/// `hooks` is a directory with the only hook. A module has its own.
pub(super) async fn play(
    playable: &Playable<'_>,
    hooks: &Path,
    settings: &Settings,
    log: &Log,
) -> Result<Played, Failure> {
    let early = |text: String| Failure::early(text, log);
    let Playable { scenario, subject, folder } = *playable;
    let of_module;
    let (subject, mut stage) = match (subject, &scenario.belongs, scenario.key_of_modules()) {
        (Subject::Module { directory, .. }, None, _) => {
            (subject, Some(Stage::new(directory, scenario, folder, settings).map_err(early)?))
        }
        (Subject::Module { name, .. }, Some(_), _) => {
            return Err(early(format!(
                "module is for scenarios of a hook, and this one is of the module {name}: remove the key"
            )));
        }
        (Subject::Hook { .. }, Some(belongs), _) => {
            let stage = Stage::of_hook(belongs, hooks, scenario, folder, settings).map_err(early)?;
            of_module = Subject::Module { name: belongs.module.clone(), directory: stage.directory() };
            (&of_module, Some(stage))
        }
        (Subject::Hook { .. }, None, None) => (subject, None),
        (Subject::Hook { name, .. }, None, Some(key)) => {
            return Err(early(format!(
                "{key} is for scenarios of a module, and this one is of the hook {name}: put it into MODULE/scenarios, or \
                 name the module of the hook with the key module"
            )));
        }
    };
    let cluster = Cluster::start(Default::default()).await.map_err(|error| early(error_chain(&error)))?;
    let client = client(&cluster).map_err(early)?;
    let admin = Admin::new(client.clone());
    for (n, object) in scenario.given.iter().enumerate() {
        let created = admin.create(&object.value).await;
        created.map_err(|error| early(format!("given[{n}] {object}: {error}")))?;
    }
    let faults = Faults::default();
    for (n, fault) in scenario.faults.iter().enumerate() {
        arm(&faults, &admin, fault).await.map_err(|error| early(format!("faults[{n}] {}: {error}", fault.object())))?;
    }
    let servers = Servers::new(&scenario.http);
    let place = Place::new(&scenario.files).map_err(early)?;
    let outside = Outside {
        client: client.clone(),
        faults: faults.clone(),
        servers: servers.clone(),
        directories: place.offered(&scenario.files).map_err(early)?,
        variables: scenario.variables.clone(),
    };
    let ticks = scenario.ticks_by_itself();
    let source = match &mut stage {
        None => Source::Hooks(hooks),
        Some(stage) => {
            let map = stage.configure(&scenario.settings.clone().unwrap_or_default());
            admin.apply(&map).await.map_err(|error| early(format!("settings: {error}")))?;
            Source::Modules(Box::new(stage.options()))
        }
    };
    let operator = Operator::start(subject, source, outside, settings, ticks, log.clone()).await;
    let shown = |text: String| stage.as_ref().map_or(text.clone(), |stage| stage.shown(&text));
    let operator = operator.map_err(|text| early(shown(text)))?;
    if let Some(stage) = &stage {
        stage.check(&operator).map_err(early)?;
    }
    let (edits, files, sent) = (Vec::new(), BTreeMap::new(), Vec::new());
    let mut play = Play { admin, operator, faults, servers, place, stage, settings, edits, files, asked: None, sent };
    for (n, step) in scenario.steps.iter().enumerate() {
        let failed = |text| Failure { step: Some((n, step.place.line)), text, log: log.tail() };
        play.faults.begin(n);
        play.sent.push(play.servers.sent().len());
        play.revive().await.map_err(failed)?;
        play = play.take(step).await.map_err(failed)?;
    }
    if let Some(stage) = &play.stage {
        stage.ended(&play.operator).await.map_err(early)?;
    }
    let observed =
        if settings.observe { Some(Box::new(play.observe(&cluster, ticks).await.map_err(early)?)) } else { None };
    let Play { operator, edits, files, .. } = play;
    operator.shutdown().await;
    cluster.shutdown().await;
    Ok(Played { edits, files, observed })
}

fn client(cluster: &Cluster) -> Result<kube::Client, String> {
    let url = cluster.url().parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    let mut config = kube::Config::new(url);
    config.default_retry = false;
    config.read_timeout = None;
    kube::Client::try_from(config).map_err(|error| error_chain(&error))
}

async fn arm(faults: &Faults, admin: &Admin, fault: &Fault) -> Result<(), AdminError> {
    let mut path = admin.path(&fault.object().value).await?;
    faults.arm(match fault {
        Fault::Call(fault) => {
            if let Some(subresource) = &fault.subresource {
                path.push('/');
                path.push_str(subresource);
            }
            let (verb, answer, skip) = (fault.verb, fault.answer, fault.skip);
            Armed::Call(ArmedCall { verb, path, answer, skip, left: fault.times })
        }
        Fault::Event(fault) => Armed::Event(ArmedEvent::new(fault.event, path, fault.delivery, fault.skip)),
    });
    Ok(())
}

impl Play<'_> {
    async fn take(mut self, step: &Step) -> Result<Self, String> {
        let named = |verb: &str, object: &Object, done: Result<(), AdminError>| {
            done.map_err(|error| format!("{verb} {object}: {error}"))
        };
        match &step.action {
            Action::Create(object) => named("create", object, self.admin.create(&object.value).await)?,
            Action::Apply(object) => named("apply", object, self.admin.apply(&object.value).await)?,
            Action::Patch(object) => named("patch", object, self.admin.patch(&object.value).await)?,
            Action::Delete(object) => named("delete", object, self.admin.delete(&object.value).await)?,
            Action::Tick(schedule) if self.operator.tick(schedule) == 0 => {
                return Err(format!("tick {schedule:?}: the hook has no schedule of this name"));
            }
            Action::Tick(_) => {}
            Action::Pass(time) => self.operator.pass(*time).map_err(|error| format!("pass: {error}"))?,
            Action::Fault(fault) => named("fault", fault.object(), arm(&self.faults, &self.admin, fault).await)?,
            Action::Http(answer) => self.servers.give(answer.clone()),
            Action::Wait(time) => tokio::time::sleep(*time).await,
            Action::Restart => {
                let operator = self.operator.restarted().await.map_err(|error| format!("restart operator: {error}"))?;
                return Ok(Self { operator, asked: None, ..self });
            }
            Action::Settle { release } => self.settle(*release).await.map_err(|error| format!("settle: {error}"))?,
            Action::Again => self.operator.run_again(),
            Action::Settings(configured) => {
                self.configure(configured).await.map_err(|error| format!("settings: {error}"))?;
            }
            Action::Ask(question) => {
                let answer = self.ask(question).await?;
                self.asked = Some((question.clone(), answer));
            }
            Action::Expect(expect) => self.wait_for(expect).await?,
        }
        Ok(self)
    }

    /// Configures the module. The operator takes it when its watch shows it.
    async fn configure(&mut self, configured: &Configured) -> Result<(), String> {
        // Without a module, the scenario did not begin.
        let Some(stage) = &mut self.stage else { return Ok(()) };
        let map = stage.configure(configured);
        self.admin.apply(&map).await.map_err(|error| error.to_string())?;
        stage.check(&self.operator)
    }

    async fn ask(&self, question: &Question) -> Result<Answer, String> {
        let key = match question {
            Question::Admission(_) => "admission",
            Question::Conversion(_) => "conversion",
            Question::Reconcile(_) => "reconcile",
        };
        let answer = answers::ask(question, &self.operator, &self.admin).await;
        answer.map_err(|error| format!("{key}: {error}"))
    }

    /// Sends the last request again if the response is not the expected one.
    async fn ask_again(&mut self, expect: &Expect) -> Result<(), String> {
        let wrong = |(_, answer): &&(Question, Answer)| !judge::answer(expect, Some(answer)).is_empty();
        if let Some((question, _)) = self.asked.as_ref().filter(wrong) {
            let question = question.clone();
            let answer = self.ask(&question).await?;
            self.asked = Some((question, answer));
        }
        Ok(())
    }

    async fn wait_for(&mut self, expect: &Expect) -> Result<(), String> {
        let began = Instant::now();
        let mut asked = began;
        loop {
            self.revive().await?;
            if asked.elapsed() > AGAIN {
                self.ask_again(expect).await?;
                asked = Instant::now();
            }
            if let Some(stage) = &self.stage {
                stage.check(&self.operator)?;
            }
            let late = began.elapsed() > expect.within;
            let seen = self.look(expect).await?;
            let wrong = judge(expect, &seen, &self.operator.log, self.operator.subject());
            // Objects are read one after the other. If a second read finds the same, they were in this state at the
            // same time, between the two reads.
            if wrong.is_empty() && self.look(expect).await? == seen {
                return Ok(());
            }
            if late {
                if self.accept(expect, &wrong) {
                    return Ok(());
                }
                let state = self.stage.as_ref().and_then(|stage| stage.state(&self.operator));
                return Err([mismatches(expect, &wrong)].into_iter().chain(state).collect::<Vec<_>>().join("\n"));
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    async fn look(&self, expect: &Expect) -> Result<Seen, String> {
        let metrics = if expect.metrics.is_empty() { String::new() } else { self.operator.metrics().await? };
        let (present, absent) = (self.read(&expect.present).await?, self.read(&expect.absent).await?);
        let answer = self.asked.as_ref().map(|(_, answer)| answer.clone());
        let http = if expect.http.is_empty() { Vec::new() } else { self.servers.sent() };
        let files = expect.files.iter().map(|file| self.place.read(&file.path)).collect();
        let module = match &self.stage {
            Some(stage) => {
                let map = match expect.settings {
                    Some(_) => self.admin.get(&Stage::map()).await.map_err(|error| format!("settings: {error}"))?,
                    None => None,
                };
                stage.look(expect, &self.operator, map.as_ref()).await
            }
            None => OfModule::default(),
        };
        Ok(Seen { present, absent, metrics, http, files, answer, module })
    }

    async fn read(&self, objects: &[Object]) -> Result<Vec<Option<serde_json::Value>>, String> {
        let mut found = Vec::with_capacity(objects.len());
        for object in objects {
            found.push(self.admin.get(&object.value).await.map_err(|error| format!("expect {object}: {error}"))?);
        }
        Ok(found)
    }

    /// Accepts what was found. False if that is not configured, or not possible.
    fn accept(&mut self, expect: &Expect, wrong: &[Wrong]) -> bool {
        let edits = |spot: &Spot, differences: &[matcher::Difference]| {
            let node = match spot {
                Spot::Present(index) => &expect.present.get(*index)?.node,
                Spot::Reviewed => expect.admission.as_ref()?.object.as_ref()?,
                Spot::Converted(index) => expect.conversion.as_ref()?.objects.get(*index)?,
                Spot::Child(index) => expect.reconcile.as_ref()?.children.as_ref()?.get(*index)?,
                Spot::Status => expect.reconcile.as_ref()?.status.as_ref()?,
                Spot::Values => expect.values.as_ref()?,
                Spot::Global => expect.global.as_ref()?,
                Spot::Settings => expect.settings.as_ref()?,
            };
            matcher::edits(node, differences)
        };
        if !self.settings.accept || wrong.is_empty() {
            return false;
        }
        let (mut accepted, mut files) = (Vec::new(), Vec::new());
        for wrong in wrong {
            match &wrong.remedy {
                None => return false,
                Some(Remedy::Object(spot, differences)) => match edits(spot, differences) {
                    Some(edits) => accepted.extend(edits),
                    None => return false,
                },
                Some(Remedy::Manifests(text)) => files.extend(self.snapshot(expect).map(|path| (path, text.clone()))),
            }
        }
        self.edits.extend(accepted);
        self.files.extend(files);
        true
    }

    /// The file of manifests that is expected.
    fn snapshot(&self, expect: &Expect) -> Option<PathBuf> {
        Some(self.stage.as_ref()?.file(expect.manifests.as_ref()?))
    }
}

fn mismatches(expect: &Expect, wrong: &[Wrong]) -> String {
    let mut text = format!("expect does not hold after {}:", format_duration(expect.within));
    if wrong.is_empty() {
        text.push_str("\neach part held, but not all at the same time");
    }
    for wrong in wrong {
        text.push('\n');
        text.push_str(&wrong.text);
    }
    text
}

/// A scenario to play.
#[derive(Debug, Clone, Copy)]
pub struct Playable<'s> {
    pub scenario: &'s Scenario,
    pub subject: &'s Subject,
    /// The folder of the scenario, for the files that it names.
    pub folder: &'s Path,
}

impl<'s> Playable<'s> {
    /// The name and the component of its hook, if it is about one.
    fn hook(&self) -> Option<(&'s HookName, &'s Path)> {
        match self.subject {
            Subject::Hook { name, component } => Some((name, component.as_path())),
            Subject::Module { .. } => None,
        }
    }
}

/// Plays all scenarios, at most `jobs` at the same time. Reports each one when it ends: its index, its result and its
/// duration. Returns an error if a hook's file cannot be read or a thread cannot be started.
pub fn play_all(
    playables: &[Playable<'_>],
    settings: &Settings,
    jobs: usize,
    mut ended: impl FnMut(usize, Result<Played, Failure>, Duration),
) -> io::Result<()> {
    let folders = folders(playables)?;
    compile(playables, settings)?;
    let next = AtomicUsize::new(0);
    let (results, received) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, playables.len().max(1)) {
            let (results, next, folders) = (results.clone(), &next, &folders);
            scope.spawn(move || {
                while let Some((index, playable)) = take(next, playables) {
                    let began = Instant::now();
                    let folder = playable.hook().and_then(|(_, component)| folders.get(component));
                    let hooks = folder.map_or(Path::new(""), |folder| folder.path());
                    let played = alone(playable, hooks, settings);
                    if results.send((index, played, began.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(results);
        received.iter().for_each(|(index, played, took)| ended(index, played, took));
    });
    Ok(())
}

fn take<'s>(next: &AtomicUsize, playables: &'s [Playable<'s>]) -> Option<(usize, &'s Playable<'s>)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, playables.get(index)?))
}

fn alone(playable: &Playable<'_>, hooks: &Path, settings: &Settings) -> Result<Played, Failure> {
    let silent = Log::default();
    let early = |error: &dyn std::error::Error| Failure::early(error_chain(error), &silent);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| early(&error))?;
    let (log, guard) = Log::collect().map_err(|error| early(&error))?;
    let played = runtime.block_on(play(playable, hooks, settings, &log));
    // The runtime's shutdown is still logged.
    drop(runtime);
    drop(guard);
    played
}

/// A directory for each component that contains only this component.
fn folders(playables: &[Playable<'_>]) -> io::Result<BTreeMap<PathBuf, TempDir>> {
    let mut folders = BTreeMap::new();
    for (hook, component) in playables.iter().filter_map(Playable::hook) {
        if !folders.contains_key(component) {
            let folder = tempfile::tempdir()?;
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", component.display()));
            std::fs::copy(component, folder.path().join(format!("{hook}.wasm"))).map_err(named)?;
            folders.insert(component.to_owned(), folder);
        }
    }
    Ok(folders)
}

/// Fills the cache for all operators. Each scenario reports a component that does not compile.
fn compile(playables: &[Playable<'_>], settings: &Settings) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Ok(sandbox) = Sandbox::new(settings.sandbox.clone()) else { return Ok(()) };
    let sandbox = Arc::new(sandbox);
    let mut seen = BTreeSet::new();
    for playable in playables {
        match playable.subject {
            Subject::Hook { name, component } if seen.insert(component) => {
                let bytes = std::fs::read(component)?;
                let _ = runtime.block_on(sandbox.load(name, &bytes));
            }
            Subject::Module { directory, .. } if seen.insert(directory) => {
                runtime.block_on(compile_module(directory, &sandbox, settings));
            }
            _ => {}
        }
    }
    // All hooks of modules have the same chart.
    if let Some(belongs) = playables.iter().find_map(|playable| playable.scenario.belongs.as_ref()) {
        let none = tempfile::tempdir()?;
        let made = module_of(belongs, none.path())?;
        runtime.block_on(compile_module(&made.path().join(belongs.module.as_str()), &sandbox, settings));
    }
    Ok(())
}

/// The hooks of a module, and the chart engine.
async fn compile_module(directory: &Path, sandbox: &Arc<Sandbox>, settings: &Settings) {
    let interpreter = InterpreterRef::newest(&interpreters_in(&settings.sandbox.interpreters), SHELL);
    for file in read_directory(&directory.join("hooks")).unwrap_or_default() {
        if let (Ok(name), Ok(bytes)) = (&file.name, file.component(interpreter.clone())) {
            let _ = sandbox.load(name, &bytes).await;
        }
    }
    let Ok(alone) = Alone::new(directory) else { return };
    if let Ok((module, _)) = alone.read(None) {
        let _ = manifests(sandbox, &module, serde_json::json!({})).await;
    }
}
