//! Plays one scenario, from its empty cluster to its last step.

mod answers;
mod operator;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use boathook_cluster::Cluster;
use boathook_core::model::{HookName, error_chain, format_duration};
use boathook_sandbox::SandboxConfig;

use super::{
    admin::{Admin, AdminError},
    document::{Action, Fault, Object, Scenario, Step, ask::Question, expect::Expect},
    edit::{self, Edit},
    faults::{Armed, Faults},
    judge::{self, Answer, Seen, Spot, Wrong, judge},
    log::Log,
};
use operator::Operator;

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
}

/// A scenario that passed.
#[derive(Debug, Default)]
pub struct Played {
    /// The edits after which the file expects what was found, with [`Settings::accept`].
    pub edits: Vec<Edit>,
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
    settings: &'p Settings,
    edits: Vec<Edit>,
    /// The last request and its result.
    asked: Option<(Question, Answer)>,
}

/// Plays on this thread, which must have its own runtime.
pub(super) async fn play(
    hook: &HookName,
    hooks: &Path,
    scenario: &Scenario,
    settings: &Settings,
    log: &Log,
) -> Result<Played, Failure> {
    let early = |text: String| Failure::early(text, log);
    let cluster = Cluster::start(Default::default()).await.map_err(|error| early(error_chain(&error)))?;
    let client = client(&cluster).map_err(early)?;
    let admin = Admin::new(client.clone());
    for (n, object) in scenario.given.iter().enumerate() {
        let created = admin.create(&object.value).await;
        created.map_err(|error| early(format!("given[{n}] {object}: {error}")))?;
    }
    let faults = Faults::default();
    for (n, fault) in scenario.faults.iter().enumerate() {
        arm(&faults, &admin, fault).await.map_err(|error| early(format!("faults[{n}] {}: {error}", fault.object)))?;
    }
    let ticks = scenario.ticks_by_itself();
    let operator =
        Operator::start(hook, hooks, faults.client(client), settings, ticks, log.clone()).await.map_err(early)?;
    let mut play = Play { admin, operator, faults, settings, edits: Vec::new(), asked: None };
    for (n, step) in scenario.steps.iter().enumerate() {
        let failed = |text| Failure { step: Some((n, step.place.line)), text, log: log.tail() };
        play = play.take(step).await.map_err(failed)?;
    }
    play.operator.shutdown().await;
    cluster.shutdown().await;
    Ok(Played { edits: play.edits })
}

fn client(cluster: &Cluster) -> Result<kube::Client, String> {
    let url = cluster.url().parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    let mut config = kube::Config::new(url);
    config.default_retry = false;
    config.read_timeout = None;
    kube::Client::try_from(config).map_err(|error| error_chain(&error))
}

async fn arm(faults: &Faults, admin: &Admin, fault: &Fault) -> Result<(), AdminError> {
    let path = admin.path(&fault.object.value).await?;
    faults.arm(Armed { verb: fault.verb, path, answer: fault.answer, left: fault.times });
    Ok(())
}

impl Play<'_> {
    async fn take(mut self, step: &Step) -> Result<Self, String> {
        let told = |verb: &str, object: &Object, done: Result<(), AdminError>| {
            done.map_err(|error| format!("{verb} {object}: {error}"))
        };
        match &step.action {
            Action::Create(object) => told("create", object, self.admin.create(&object.value).await)?,
            Action::Apply(object) => told("apply", object, self.admin.apply(&object.value).await)?,
            Action::Patch(object) => told("patch", object, self.admin.patch(&object.value).await)?,
            Action::Delete(object) => told("delete", object, self.admin.delete(&object.value).await)?,
            Action::Tick(schedule) if self.operator.tick(schedule) == 0 => {
                return Err(format!("tick {schedule:?}: the hook has no schedule of this name"));
            }
            Action::Tick(_) => {}
            Action::Pass(time) => self.operator.pass(*time).map_err(|error| format!("pass: {error}"))?,
            Action::Fault(fault) => told("fault", &fault.object, arm(&self.faults, &self.admin, fault).await)?,
            Action::Wait(time) => tokio::time::sleep(*time).await,
            Action::Restart => {
                let operator = self.operator.restarted().await.map_err(|error| format!("restart operator: {error}"))?;
                return Ok(Self { operator, asked: None, ..self });
            }
            Action::Ask(question) => {
                let answer = self.ask(question).await?;
                self.asked = Some((question.clone(), answer));
            }
            Action::Expect(expect) => self.wait_for(expect).await?,
        }
        Ok(self)
    }

    async fn ask(&self, question: &Question) -> Result<Answer, String> {
        let key = match question {
            Question::Admission(_) => "admission",
            Question::Conversion(_) => "conversion",
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
            if asked.elapsed() > AGAIN {
                self.ask_again(expect).await?;
                asked = Instant::now();
            }
            let late = began.elapsed() > expect.within;
            let seen = self.look(expect).await?;
            let wrong = judge(expect, &seen, &self.operator.log, self.operator.hook());
            // Objects are read one after the other. If a second read finds the same, they were in this state at the
            // same time, between the two reads.
            if wrong.is_empty() && self.look(expect).await? == seen {
                return Ok(());
            }
            if late {
                return self.accept(expect, &wrong).then_some(()).ok_or_else(|| told(expect, &wrong));
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    async fn look(&self, expect: &Expect) -> Result<Seen, String> {
        let metrics = if expect.metrics.is_empty() { String::new() } else { self.operator.metrics().await? };
        let (present, absent) = (self.read(&expect.present).await?, self.read(&expect.absent).await?);
        let answer = self.asked.as_ref().map(|(_, answer)| answer.clone());
        Ok(Seen { present, absent, metrics, answer })
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
        let edits = |wrong: &Wrong| {
            let (spot, differences) = wrong.differs.as_ref()?;
            let node = match spot {
                Spot::Present(index) => &expect.present.get(*index)?.node,
                Spot::Reviewed => expect.admission.as_ref()?.object.as_ref()?,
                Spot::Converted(index) => expect.conversion.as_ref()?.objects.get(*index)?,
            };
            edit::edits(node, differences)
        };
        if !self.settings.accept || wrong.is_empty() {
            return false;
        }
        let Some(edits) = wrong.iter().map(edits).collect::<Option<Vec<_>>>() else { return false };
        self.edits.extend(edits.into_iter().flatten());
        true
    }
}

fn told(expect: &Expect, wrong: &[Wrong]) -> String {
    let mut text = format!("expect does not hold after {}:", format_duration(expect.within));
    if wrong.is_empty() {
        text.push_str("\nit held, but not all of it at one time");
    }
    for wrong in wrong {
        text.push('\n');
        text.push_str(&wrong.text);
    }
    text
}
