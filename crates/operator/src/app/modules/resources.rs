//! The cluster's Modules, as a watch shows them, and what is known about each.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use boathook_core::{
    fair::Tenant,
    model::{Change, Resource},
    tasks::Task,
};
use boathook_kube::watch::{Selection, Subscribe, Subscription, WatchErrorKind};
use boathook_modules::ModuleName;
use futures::StreamExt as _;
use kube::ResourceExt as _;
use tokio::sync::mpsc;
use tracing::warn;

use super::{
    super::Services,
    keeper::{Arrival, Heard, Keeper},
    statuses::Statuses,
};
use crate::{
    hookbundle::Problem,
    module::{FINALIZER, Fetcher, Module, ModuleStatus},
};

/// One Module, and what is known about it.
pub(super) struct Known {
    pub object: Module,
    /// Why its settings are not taken.
    pub settings: Option<String>,
    /// Why the version that it names is not the one that runs, or was not found at the last look.
    pub source: Option<Problem>,
    /// What runs is what it names.
    pub current: bool,
    /// A version that waits for a change of the settings.
    pub waiting: Option<Box<Arrival>>,
    /// Looks at its source.
    pub keeper: Option<Keeper>,
    /// Its source cannot be had, and it is being deleted: nothing more of it is awaited.
    pub given_up: bool,
    /// It is being deleted, and nothing of its module is left.
    pub left: bool,
    /// The generation of the spec and the digest of the version that ran before this process.
    pub ran: Option<(i64, String)>,
    /// The last status that was made.
    pub status: ModuleStatus,
}

impl Known {
    fn new(object: Module) -> Self {
        let status = object.status.clone().unwrap_or_default();
        Self {
            object,
            settings: None,
            source: None,
            current: false,
            waiting: None,
            keeper: None,
            given_up: false,
            left: false,
            ran: status.observed_generation.zip(status.digest.clone()),
            status,
        }
    }

    pub fn is_sourced(&self) -> bool {
        self.object.spec.source.is_some()
    }

    pub fn is_deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    pub fn has_finalizer(&self) -> bool {
        self.object.finalizers().iter().any(|finalizer| finalizer == FINALIZER)
    }
}

/// All Modules of the cluster.
pub(super) struct Resources {
    changes: Subscription,
    known: BTreeMap<ModuleName, Known>,
    listing: Option<BTreeSet<ModuleName>>,
    listed: bool,
    heard: VecDeque<Heard>,
    looks: mpsc::UnboundedReceiver<Heard>,
    /// For keepers.
    pub tell: mpsc::UnboundedSender<Heard>,
    /// Absent without a place for what is pulled.
    pub fetcher: Option<Arc<Fetcher>>,
    pub statuses: Arc<Statuses>,
    _writing: Task<()>,
}

impl Resources {
    pub fn watch(services: &Arc<Services>, client: kube::Client, fetcher: Option<Arc<Fetcher>>) -> Self {
        let resource = Resource {
            group: "boathook.dev".to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "Module".to_owned(),
            plural: "modules".to_owned(),
            namespaced: false,
        };
        let selection = Selection::of(Arc::new(resource));
        let tenant = Tenant::hook("modules");
        let changes = services.streams.subscribe(Subscribe { selection, resynchronization: None, tenant });
        let (tell, looks) = mpsc::unbounded_channel();
        let statuses = Arc::new(Statuses::new(client, services.leadership.clone()));
        let writing = services.tasks.spawn("status of Modules", statuses.clone().write());
        Self {
            changes,
            known: BTreeMap::new(),
            listing: None,
            listed: false,
            heard: VecDeque::new(),
            looks,
            tell,
            fetcher,
            statuses,
            _writing: writing,
        }
    }

    /// Whether all Modules are known.
    pub fn is_listed(&self) -> bool {
        self.listed
    }

    /// Whether the operator may not list them.
    pub fn is_forbidden(&self) -> bool {
        self.changes.trouble() == Some(WatchErrorKind::Forbidden)
    }

    pub fn get_mut(&mut self, name: &ModuleName) -> Option<&mut Known> {
        self.known.get_mut(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&ModuleName, &Known)> {
        self.known.iter()
    }

    pub fn all(&mut self) -> impl Iterator<Item = (&ModuleName, &mut Known)> {
        self.known.iter_mut()
    }

    /// The next news. Cancel-safe.
    pub async fn next(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return heard;
            }
            tokio::select! {
                change = self.changes.next() => match change {
                    Some(change) => self.take(change),
                    None => return std::future::pending().await,
                },
                Some(heard) = self.looks.recv() => return heard,
            }
        }
    }

    fn take(&mut self, change: Change) {
        match change {
            Change::ListStarted => self.listing = Some(BTreeSet::new()),
            Change::Upsert(object) => {
                let Some((name, module)) = read(&object.json) else { return };
                if let Some(listing) = &mut self.listing {
                    listing.insert(name.clone());
                }
                match self.known.get_mut(&name) {
                    Some(known) => known.object = module,
                    None => drop(self.known.insert(name.clone(), Known::new(module))),
                }
                self.heard.push_back(Heard::Object(name));
            }
            Change::Delete(object) => {
                if let Ok(name) = object.key.name.parse() {
                    self.gone(name);
                }
            }
            Change::ListDone => {
                let listed = self.listing.take().unwrap_or_default();
                let gone: Vec<_> = self.known.keys().filter(|name| !listed.contains(*name)).cloned().collect();
                gone.into_iter().for_each(|name| self.gone(name));
                self.listed = true;
                self.heard.push_back(Heard::Listed);
            }
            // Somebody has removed the definition, and with it all Modules. That is no wish to delete modules, whose
            // objects have no finalizer any more: what runs goes on.
            Change::Unserved => {
                self.listing = None;
                self.listed = true;
                self.heard.push_back(Heard::Listed);
            }
        }
    }

    fn gone(&mut self, name: ModuleName) {
        if self.known.remove(&name).is_some() {
            self.statuses.forget(&name);
            self.heard.push_back(Heard::Gone(name));
        }
    }
}

/// Reads an object. The definition lets no other names in.
fn read(json: &str) -> Option<(ModuleName, Module)> {
    let module: Module = match serde_json::from_str(json) {
        Ok(module) => module,
        Err(error) => {
            warn!(%error, "a Module is not as its definition says, and is ignored: apply the definition of this version");
            return None;
        }
    };
    let name = module.name_any();
    match name.parse() {
        Ok(parsed) => Some((parsed, module)),
        Err(error) => {
            warn!(module = name, %error, "a Module cannot be used");
            None
        }
    }
}
