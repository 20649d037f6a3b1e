//! Starts the HookBundle controller from the flags. Policies decide about trust.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context as _, bail};
use boathook_bundle::{Allowed, Policy, Reach, Store};
use boathook_core::{
    model::Installer,
    tasks::{Task, Tasks},
};
use boathook_kube::election::Leadership;
use boathook_operator::hookbundle::{HookBundle, Lists, Options, SourceOptions, run, served};
use tracing::warn;

use super::{http_client::api_server, place::policy};
use crate::cli::{
    bundle::Served,
    hookbundle::{HookBundles, Mode},
};

/// Maximum size of the stored layers, in bytes.
const STORE_SIZE: u64 = 2 << 30;

/// Flags that apply to all bundles.
pub(super) struct Common {
    /// The admin's policy for every bundle.
    policy: Option<Policy>,
    /// CA certificates, as PEM.
    ca: Vec<u8>,
    store: Option<PathBuf>,
}

impl Common {
    pub fn read(args: &Served, usual_store: Option<PathBuf>) -> anyhow::Result<Self> {
        let trust = &args.trust;
        let asked = trust.policy.is_some() || !trust.key.is_empty() || !trust.digest.is_empty();
        let read = |file: &PathBuf| std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
        Ok(Self {
            policy: if asked { Some(policy(trust, "")?) } else { None },
            ca: args.registry.ca.as_ref().map(read).transpose()?.unwrap_or_default(),
            store: args.bundle_store.clone().or(usual_store),
        })
    }
}

/// The sources that Modules and HookBundles may name. None without a directory for what is pulled.
pub(super) fn sources(args: &HookBundles, common: &Common) -> anyhow::Result<Option<SourceOptions>> {
    let Some(store) = &common.store else { return Ok(None) };
    Ok(Some(SourceOptions {
        store: Store::open(store)?.bounded(STORE_SIZE),
        reach: reach(args, common.policy.as_ref()),
        policy: common.policy.clone(),
        ca: common.ca.clone(),
    }))
}

/// Whether [`start`] runs HookBundles.
pub(super) fn are_kept(args: &HookBundles, common: &Common) -> bool {
    match args.hook_bundles {
        Mode::Off => false,
        Mode::Auto => common.store.is_some(),
        Mode::On => true,
    }
}

/// Runs HookBundles until the task is dropped. None if HookBundles are turned off.
pub(super) async fn start(
    args: HookBundles,
    common: Common,
    client: kube::Client,
    installer: Arc<dyn Installer>,
    leadership: Leadership,
    tasks: &Tasks,
) -> anyhow::Result<Option<Task<()>>> {
    match args.hook_bundles {
        Mode::Off => return Ok(None),
        Mode::Auto => {}
        Mode::On if served::<HookBundle>(&client).await.context("cannot ask the cluster which kinds it serves")? => {}
        Mode::On => {
            bail!(
                "the cluster serves no HookBundles: boathook crd | kubectl apply --server-side -f -; or --hook-bundles auto"
            )
        }
    }
    let sources = match (sources(&args, &common)?, args.hook_bundles) {
        (Some(sources), _) => sources,
        (None, Mode::On) => bail!("no cache directory for bundles is set: name one with --bundle-store"),
        (None, _) => {
            warn!("no HookBundle runs: there is no cache directory for bundles; name one with --bundle-store");
            return Ok(None);
        }
    };
    let options = Options {
        sources,
        unconfined: args.unconfined_namespace,
        instance: std::env::var("HOSTNAME").unwrap_or_else(|_| "boathook".to_owned()),
        leadership,
        lists: Lists::default(),
    };
    Ok(Some(tasks.spawn("HookBundles", run(client, installer, options, tasks.clone()))))
}

/// Where HookBundles may make the operator connect to. The users that may create HookBundles are not the admins of the
/// operator's network.
fn reach(args: &HookBundles, policy: Option<&Policy>) -> Reach {
    let named = policy.into_iter().flat_map(Policy::registries).map(str::to_owned);
    Reach::Public(Arc::new(Allowed {
        private: args.private_registry.iter().cloned().chain(named).collect(),
        insecure: args.insecure_registry.iter().cloned().collect(),
        networks: args.private_network.iter().copied().chain(api_server().map(Into::into)).collect(),
    }))
}
