//! Bundles from the command line: pulls, installs and periodically re-checks them. If a registry cannot be reached,
//! running versions stay active, and a start uses the version in the store. The policy decides about trust.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use boathook_bundle as bundle;
use boathook_bundle::{Digest, Place, Policy, Progress, Ready, Store};
use boathook_core::{
    model::{BundleId, BundleNews, Installation, Installer, error_chain},
    tasks::{Task, Tasks},
};
use boathook_kube::election::Leadership;
use tokio::{task::spawn_blocking, time::sleep};
use tracing::{info, warn};

use crate::{
    cli::bundle::{Registry, Served},
    cmd::place::{self, policy},
};

/// Pause between two tries for a bundle that does not run yet.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Maximum size of the stored layers, in bytes.
const STORE_BYTES: u64 = 2 << 30;

/// All bundles of the command line.
pub(super) struct Named {
    bundles: Vec<Wanted>,
    shared: Arc<Shared>,
}

struct Shared {
    registry: Registry,
    policy: Policy,
    store: Store,
    interval: Duration,
}

struct Wanted {
    id: BundleId,
    reference: String,
    /// Settings file, read again at each check.
    settings: Option<PathBuf>,
}

impl Named {
    /// Reads the flags. None if they name no bundle.
    pub fn read(args: Served, usual_store: Option<PathBuf>) -> anyhow::Result<Option<Self>> {
        if args.bundles.is_empty() {
            return Ok(None);
        }
        let mut settings = BTreeMap::new();
        for text in &args.settings {
            let (name, path) =
                text.split_once('=').with_context(|| format!("--bundle-settings {text}: write BUNDLE=FILE"))?;
            settings.insert(name.to_owned(), PathBuf::from(path));
        }
        let mut bundles: Vec<Wanted> = Vec::new();
        for text in &args.bundles {
            let (name, reference) = split(text)?;
            if bundles.iter().any(|known| known.id.name == name) {
                bail!("two bundles are called {name}: name one of them with --bundle OTHER={reference}");
            }
            let settings = settings.remove(&name);
            bundles.push(Wanted { id: BundleId { namespace: None, name }, reference, settings });
        }
        if let Some(name) = settings.keys().next() {
            bail!("--bundle-settings {name}=…: no --bundle is called {name}");
        }
        let policy = if args.unverified { Policy::unchecked() } else { policy(&args.trust, "or --unverified")? };
        let store =
            args.bundle_store.or(usual_store).context("no cache directory is set: name one with --bundle-store")?;
        let (store, interval) = (Store::open(&store)?, args.bundle_interval);
        Ok(Some(Self { bundles, shared: Arc::new(Shared { registry: args.registry, policy, store, interval }) }))
    }

    pub fn ids(&self) -> Vec<BundleId> {
        self.bundles.iter().map(|wanted| wanted.id.clone()).collect()
    }

    /// Keeps all bundles up to date until the tasks are dropped.
    pub fn start(self, installer: &Arc<dyn Installer>, leadership: &Leadership, tasks: &Tasks) -> Vec<Task<()>> {
        let keep = |wanted: Wanted| {
            let name = format!("bundle {}", wanted.id);
            tasks.spawn(name, run(wanted, self.shared.clone(), installer.clone(), leadership.clone()))
        };
        self.bundles.into_iter().map(keep).collect()
    }
}

/// `NAME=REFERENCE`, or a reference whose repository gives the name.
fn split(text: &str) -> anyhow::Result<(String, String)> {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if let Some((name, reference)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
        return Ok((name.to_ascii_lowercase(), reference.to_owned()));
    }
    let path = text.split_once('@').map_or(text, |(path, _)| path).trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    let last = last.split_once(':').map_or(last, |(last, _)| last);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = last.chars().map(plain).collect();
    let name = name.trim_matches('-').to_owned();
    if name.is_empty() {
        bail!("--bundle {text}: it has no name: write NAME={text}");
    }
    Ok((name, text.to_owned()))
}

async fn run(wanted: Wanted, shared: Arc<Shared>, installer: Arc<dyn Installer>, leadership: Leadership) {
    let (mut running, mut wait) = (None, FIRST_WAIT);
    loop {
        let leads = leadership.leads();
        let (now, news) = wanted.settle(&shared, &*installer, running.as_ref()).await;
        if let Some(now) = now {
            running = Some(now);
        }
        // The leader may have run a newer version. A replica that takes over checks again before anything of that
        // version is removed.
        let news = if leads || news != BundleNews::Settled { news } else { BundleNews::Running };
        installer.note(&wanted.id, news);
        let pause = if running.is_some() { shared.interval } else { wait.min(shared.interval) };
        wait = (wait * 2).min(shared.interval);
        tokio::select! {
            () = sleep(pause) => {}
            () = leadership.gained(), if !leads => {}
        }
    }
}

/// What a bundle is installed as.
#[derive(PartialEq, Eq)]
struct Running {
    digest: Digest,
    settings: Option<String>,
    /// The registry itself was checked, and not only the store.
    fresh: bool,
}

impl Wanted {
    /// Returns the version that is active from now on, or None if the active one stays. Also returns what this means
    /// for the registrations of the bundle's hooks.
    async fn settle(
        &self,
        shared: &Arc<Shared>,
        installer: &dyn Installer,
        running: Option<&Running>,
    ) -> (Option<Running>, BundleNews) {
        let stays = |why: String| match running {
            Some(_) => (None, BundleNews::Running),
            None => (None, BundleNews::Missing(why)),
        };
        let settings = match self.settings() {
            Ok(settings) => settings,
            Err(error) => {
                let reason = error_chain(error.as_ref());
                warn!(bundle = %self.id, error = reason, "settings not read: they stay as they are");
                let Some(running) = running else { return stays(reason) };
                running.settings.clone()
            }
        };
        let known = running.filter(|known| known.fresh && known.settings == settings).map(|known| &known.digest);
        let (ready, fresh) = match self.bring(shared, known).await {
            Ok(Some(ready)) => (ready, true),
            Ok(None) => return (None, BundleNews::Settled),
            Err(error) => {
                let reason = error_chain(error.as_ref());
                if running.is_some_and(|known| known.settings == settings) {
                    warn!(bundle = %self.id, reference = self.reference, reason, "bundle refused: the running version continues");
                    return stays(reason);
                }
                warn!(bundle = %self.id, reference = self.reference, reason, "cannot pull the bundle: using the version in the store");
                let Some(ready) = self.recall(shared).await else { return stays(reason) };
                (ready, false)
            }
        };
        let digest = ready.digest.clone();
        let installation = Installation {
            settings: settings.clone(),
            settings_schema: ready.settings_schema,
            definitions: ready.definitions,
            ..Installation::new(self.id.clone(), digest.to_string(), ready.hooks)
        };
        match installer.install(installation).await {
            Ok(_) => {
                let news = if fresh { BundleNews::Settled } else { BundleNews::Running };
                (Some(Running { digest, settings, fresh }), news)
            }
            // The installer has logged it.
            Err(error) => stays(error_chain(&error)),
        }
    }

    /// None if the registry still has the known version.
    async fn bring(&self, shared: &Arc<Shared>, known: Option<&Digest>) -> anyhow::Result<Option<Ready>> {
        let place = self.place(shared)?;
        if let Some(known) = known
            && bundle::look(&place).await?.digest == *known
        {
            return Ok(None);
        }
        let pulled = bundle::pull(&place, &shared.store, &shared.policy, &Progress::default()).await?;
        if pulled.verified.is_unchecked() {
            warn!(bundle = %self.id, "nothing was checked about who made the bundle");
        }
        if pulled.module.is_some() {
            bail!("{} is a module, and not a bundle of hooks alone: name it in a Module", self.reference);
        }
        let (digest, fetched, reused) = (&pulled.seen.digest, pulled.fetched, pulled.reused);
        info!(bundle = %self.id, reference = self.reference, %digest, fetched, reused, "bundle pulled");
        let (reference, shared) = (self.reference.clone(), shared.clone());
        // It reads and writes files.
        let work = move || {
            let kept = shared.store.remember(&reference, &pulled, &shared.policy);
            (kept.and_then(|()| shared.store.collect(STORE_BYTES, std::time::SystemTime::now())), pulled.ready())
        };
        let (kept, ready) = spawn_blocking(work).await.context("the operator is ending")?;
        if let Err(error) = kept {
            warn!(bundle = %self.id, error = error_chain(&error), "cannot store the bundle: without it, the operator cannot start while the registry is unavailable. Check the space and the permissions of --bundle-store");
        }
        Ok(Some(ready.context("what was pulled cannot be read")?))
    }

    /// Built again each time, because credentials and certificates may have changed, and a layout is read when it is
    /// opened.
    fn place(&self, shared: &Shared) -> anyhow::Result<Place> {
        place::named_to_operator(&self.reference, &shared.registry)
    }

    async fn recall(&self, shared: &Arc<Shared>) -> Option<Ready> {
        let (reference, known) = (self.reference.clone(), shared.clone());
        // It reads and hashes the whole bundle.
        let recalled = spawn_blocking(move || known.store.recall(&reference, &known.policy)).await.ok()?;
        match recalled {
            Ok(Some(ready)) => Some(ready),
            Ok(None) => {
                warn!(bundle = %self.id, "the store has no version of the bundle that this policy let in: trying again");
                None
            }
            Err(error) => {
                warn!(bundle = %self.id, error = error_chain(&error), "cannot read the store: retrying");
                None
            }
        }
    }

    /// YAML or JSON, converted to JSON.
    fn settings(&self) -> anyhow::Result<Option<String>> {
        let Some(path) = &self.settings else { return Ok(None) };
        let read = || format!("cannot read {}", path.display());
        let text = std::fs::read_to_string(path).with_context(read)?;
        let value: serde_json::Value = yaml_serde::from_str(&text).with_context(read)?;
        Ok(Some(value.to_string()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_bundle_is_named_by_its_repository_unless_it_is_named() {
        for (text, name, reference) in [
            ("registry.example.com/team/hooks:v1", "hooks", "registry.example.com/team/hooks:v1"),
            ("localhost:5000/Some_hooks@sha256:00", "some-hooks", "localhost:5000/Some_hooks@sha256:00"),
            ("localhost:5000/a.b:v1@sha256:00", "a-b", "localhost:5000/a.b:v1@sha256:00"),
            ("team=registry.example.com/x", "team", "registry.example.com/x"),
            ("./team.bundle", "team-bundle", "./team.bundle"),
        ] {
            assert_eq!(split(text).unwrap(), (name.to_owned(), reference.to_owned()));
        }
        assert!(split("///").is_err());
    }
}
