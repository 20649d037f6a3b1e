//! The fetch of one version from its source, in a separate task.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use boathook_core::model::Installer;
use tokio_util::task::AbortOnDropHandle;

use super::{
    HookBundleSpec, Source, Verification,
    bundle_ref::{BundleRef, Context},
    problem::Problem,
    source::Sources,
    version::Version,
};

/// When to check for the first time whether the fetch has ended. Each further check waits for as long as the fetch has
/// taken so far.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// Most fetches end within this time. A status that would only say that one is under way is not written before that.
const YOUNG: Duration = Duration::from_secs(1);

/// A version that is being fetched from its source. Dropping this ends the fetch.
pub(super) struct Fetch {
    /// The requested digest. `None` for the version that the source points to.
    pin: Option<String>,
    /// The answer depends on the source and on the verification.
    source: Source,
    verification: Option<Verification>,
    begun: Instant,
    task: AbortOnDropHandle<Result<Version, Problem>>,
}

impl Fetch {
    /// Starts to fetch the version that the source points to, or a version by its digest.
    pub fn begin(of: &BundleRef<'_>, pin: Option<&str>, context: &Context<'_>) -> Self {
        let (sources, installer) = (context.sources.clone(), context.installer.clone());
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

    /// Whether the answer is valid for this spec.
    pub fn is_for(&self, spec: &HookBundleSpec) -> bool {
        !spec.suspend && self.source == spec.source && self.verification == spec.verification
    }

    pub fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    pub fn is_young(&self) -> bool {
        self.begun.elapsed() < YOUNG
    }

    /// How long to wait before the next check whether the fetch has ended.
    pub fn pause(&self) -> Duration {
        self.begun.elapsed().max(FIRST_LOOK)
    }

    /// Returns the requested digest, and the answer.
    pub async fn answer(self) -> (Option<String>, Result<Version, Problem>) {
        let defect = |_| Err(Problem::passing("Defect", "a defect of the operator ended the fetch: see its log"));
        (self.pin, self.task.await.unwrap_or_else(defect))
    }
}

/// Fetches a version, and everything that is known about what its hooks request.
async fn fetch(
    namespace: &str,
    spec: &HookBundleSpec,
    pin: Option<&str>,
    sources: &Sources,
    installer: &dyn Installer,
) -> Result<Version, Problem> {
    let mut version = sources.fetch(namespace, spec, pin).await?;
    if version.hooks.iter().any(|hook| hook.declared.is_none()) {
        let requested = installer.requested(&version.hooks).await;
        let declared = requested
            .into_iter()
            .filter_map(|requested| Some((requested.hook.to_string(), requested.permissions.ok()?)));
        version.requested = declared.collect::<BTreeMap<_, _>>();
    }
    Ok(version)
}
