//! A version on its way from its source, in a task of its own. Decides nothing about what comes of it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use boathook_core::model::Installer;
use tokio_util::task::AbortOnDropHandle;

use super::{
    HookBundleSpec, Source, Verification,
    problem::Problem,
    source::Sources,
    subject::{Subject, World},
    version::Version,
};

/// The first look whether it has ended. The next ones come after as long again as it has taken so far.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// Most end within this time. A status that only says that one is under way is not written before.
const YOUNG: Duration = Duration::from_secs(1);

/// A version on its way from its source. It ends when it is dropped.
pub(super) struct Fetch {
    /// The digest that was asked for; none: what the source points to.
    pin: Option<String>,
    /// With another of these, the answer would be another.
    source: Source,
    verification: Option<Verification>,
    begun: Instant,
    task: AbortOnDropHandle<Result<Version, Problem>>,
}

impl Fetch {
    /// Begins to fetch what the source points to, or a version by its digest.
    pub fn begin(of: &Subject<'_>, pin: Option<&str>, world: &World<'_>) -> Self {
        let (sources, installer) = (world.sources.clone(), world.installer.clone());
        let (namespace, spec, digest) = (of.namespace.to_owned(), of.spec.clone(), pin.map(str::to_owned));
        let work = async move { fetch(&namespace, &spec, digest.as_deref(), &sources, &*installer).await };
        Self {
            pin: pin.map(str::to_owned),
            source: of.spec.source.clone(),
            verification: of.spec.verification.clone(),
            begun: Instant::now(),
            task: AbortOnDropHandle::new(tokio::spawn(work)),
        }
    }

    /// Whether its answer is one for this spec.
    pub fn is_for(&self, spec: &HookBundleSpec) -> bool {
        !spec.suspend && self.source == spec.source && self.verification == spec.verification
    }

    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    pub fn is_young(&self) -> bool {
        self.begun.elapsed() < YOUNG
    }

    /// Until somebody looks again whether it has ended.
    pub fn pause(&self) -> Duration {
        self.begun.elapsed().max(FIRST_LOOK)
    }

    /// The digest that was asked for, and what came.
    pub async fn answer(self) -> (Option<String>, Result<Version, Problem>) {
        let defect = |_| Err(Problem::passing("Defect", "a defect of the operator ended the fetch: see its log"));
        (self.pin, self.task.await.unwrap_or_else(defect))
    }
}

/// A version with all that is known of what its hooks ask for.
async fn fetch(
    namespace: &str,
    spec: &HookBundleSpec,
    pin: Option<&str>,
    sources: &Sources,
    installer: &dyn Installer,
) -> Result<Version, Problem> {
    let mut version = sources.fetch(namespace, spec, pin).await?;
    if version.hooks.iter().any(|hook| hook.said.is_none()) {
        let asked = installer.asked(&version.hooks).await;
        let said = asked.into_iter().filter_map(|asked| Some((asked.hook.to_string(), asked.permissions.ok()?)));
        version.asked = said.collect::<BTreeMap<_, _>>();
    }
    Ok(version)
}
