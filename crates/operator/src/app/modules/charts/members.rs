//! What watches show of the members of all modules' sets, and of the modules' Secrets. Each kind has one watch, which all
//! modules share.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use boathook_applyset::SetId;
use boathook_core::model::{Change, Object, ObjectKey, PART_OF, Resource};
use boathook_kube::watch::{Selection, Streams, WatchErrorKind};
use boathook_modules::ModuleName;
use futures::{
    StreamExt as _,
    stream::{BoxStream, SelectAll},
};
use serde_json::Value;
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

use super::{
    super::super::{
        applying::set_of,
        reconcile::marks::{Marks, Names},
    },
    record,
    release::Release,
};

/// Between two checks whether the operator may watch a kind that is not listed yet.
const GLANCE: Duration = Duration::from_secs(1);

/// The members of all modules.
pub(super) struct Members {
    state: Mutex<State>,
    streams: Streams,
    follow: mpsc::UnboundedSender<Arc<Resource>>,
    /// Counts lists.
    listed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    kinds: HashMap<Arc<Resource>, Kind>,
    /// Those that know their members, by the identity of their sets.
    releases: HashMap<Box<str>, Arc<Release>>,
    /// All of them.
    known: HashMap<ModuleName, Arc<Release>>,
    /// The sets that some module has, or may get.
    sets: HashSet<Box<str>>,
}

#[derive(Default)]
struct Kind {
    listed: bool,
    /// What the list that is under way has shown.
    listing: Option<HashSet<ObjectKey>>,
    /// All members of modules, also of sets that no release has yet: a module that starts later learns what exists. Objects
    /// of other sets are not kept, because there may be many.
    objects: HashMap<ObjectKey, Member>,
}

struct Member {
    set: Box<str>,
    object: Arc<Object>,
}

/// What is followed: a kind, or the modules' Secrets.
type Followed = (Option<Arc<Resource>>, Change);

impl Members {
    /// Returns the members, and what [`Members::run`] needs.
    pub fn new(streams: Streams) -> (Arc<Self>, mpsc::UnboundedReceiver<Arc<Resource>>) {
        let (follow, wanted) = mpsc::unbounded_channel();
        let (state, listed) = (Mutex::default(), watch::Sender::new(0));
        (Arc::new(Self { state, streams, follow, listed }), wanted)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows kinds until it is dropped.
    pub async fn run(self: Arc<Self>, namespace: String, mut wanted: mpsc::UnboundedReceiver<Arc<Resource>>) {
        let secrets = Selection {
            namespace: Some(namespace),
            label_selector: Some(record::LABEL.to_owned()),
            ..Selection::of(Resource::of("v1", "Secret", "secrets", true).into())
        };
        let mut all: SelectAll<BoxStream<'static, Followed>> = SelectAll::new();
        all.push(self.streams.subscribe(secrets).map(|change| (None, change)).boxed());
        loop {
            tokio::select! {
                Some(resource) = wanted.recv() => {
                    let of = resource.clone();
                    let changes = self.streams.subscribe(selection(&resource));
                    all.push(changes.map(move |change| (Some(of.clone()), change)).boxed());
                }
                Some((of, change)) = all.next() => match of {
                    Some(resource) => self.heard(&resource, change),
                    None => self.heard_of_secret(&change),
                },
            }
        }
    }

    /// Follows these kinds, and returns when their members are known.
    ///
    /// # Errors
    /// The operator may not watch one of them.
    pub async fn follow(&self, resources: &[Arc<Resource>]) -> Result<(), String> {
        let mut news = self.listed.subscribe();
        {
            let mut state = self.state();
            for resource in resources {
                if !state.kinds.contains_key(resource) {
                    state.kinds.insert(resource.clone(), Kind::default());
                    // It is received as long as the operator runs.
                    let _ = self.follow.send(resource.clone());
                }
            }
        }
        loop {
            let missing: Vec<_> = {
                let state = self.state();
                let is_known = |resource: &&Arc<Resource>| state.kinds.get(*resource).is_some_and(|kind| kind.listed);
                resources.iter().filter(|resource| !is_known(resource)).cloned().collect()
            };
            let refused = |resource: &&Arc<Resource>| {
                self.streams.trouble(&selection(resource)) == Some(WatchErrorKind::Forbidden)
            };
            if let Some(resource) = missing.iter().find(refused) {
                return Err(format!("the operator may not list and watch {resource}: give it a role for this"));
            }
            if missing.is_empty() {
                return Ok(());
            }
            // The sender is never dropped before this ends.
            let _ = timeout(GLANCE, news.changed()).await;
        }
    }

    /// There may be members of these sets.
    pub fn announce(&self, sets: impl Iterator<Item = SetId>) {
        self.state().sets.extend(sets.map(|set| set.as_str().into()));
    }

    /// Adds a release, which learns all of its members that are known.
    pub fn add(&self, release: &Arc<Release>, set: &str) {
        let mut state = self.state();
        state.releases.insert(set.into(), release.clone());
        let all = state.kinds.values().flat_map(|kind| kind.objects.values());
        all.filter(|member| *member.set == *set).for_each(|member| release.saw(&member.object));
    }

    /// Tells a release what becomes of its Secret.
    pub fn know(&self, release: &Arc<Release>) {
        self.state().known.insert(release.module.clone(), release.clone());
    }

    pub fn remove(&self, module: &ModuleName, set: &str) {
        let mut state = self.state();
        state.known.remove(module);
        state.releases.remove(set);
    }

    fn heard(&self, resource: &Arc<Resource>, change: Change) {
        let mut state = self.state();
        let State { kinds, releases, sets, .. } = &mut *state;
        let Some(kind) = kinds.get_mut(resource) else { return };
        let gone = |member: &Member| {
            let (object, uid) = (member.object.reference(), &member.object.uid);
            match releases.get(&member.set) {
                Some(release) => release.lost(&object, uid),
                // A release may wait for an object of another set to go.
                None => releases.values().for_each(|release| release.lost(&object, uid)),
            }
        };
        match change {
            Change::ListStarted => kind.listing = Some(HashSet::new()),
            Change::Upsert(object) => {
                if let Some(listing) = &mut kind.listing {
                    listing.insert(object.key.clone());
                }
                let key = object.key.clone();
                let (now, before) = match set_of(&object.json).filter(|set| sets.contains(set)) {
                    Some(set) => {
                        let member = Member { set: set.clone(), object: object.clone() };
                        (Some(set), kind.objects.insert(key, member))
                    }
                    None => (None, kind.objects.remove(&key)),
                };
                let left = before.map(|before| before.set).filter(|before| Some(before) != now.as_ref());
                for release in [left, now].into_iter().flatten().filter_map(|set| releases.get(&set)) {
                    release.saw(&object);
                }
            }
            Change::Delete(object) => {
                match kind.objects.remove(&object.key) {
                    Some(member) => gone(&member),
                    // A release may wait for an object of another set to go.
                    None => {
                        let reference = object.reference();
                        releases.values().for_each(|release| release.lost(&reference, &object.uid));
                    }
                }
            }
            Change::ListDone => {
                if let Some(listing) = kind.listing.take() {
                    kind.objects.retain(|key, member| {
                        let stays = listing.contains(key);
                        if !stays {
                            gone(member);
                        }
                        stays
                    });
                }
                kind.listed = true;
                self.listed.send_modify(|count| *count = count.wrapping_add(1));
            }
            Change::Unserved => {
                kind.listing = None;
                kind.objects.drain().for_each(|(_, member)| gone(&member));
                kind.listed = true;
                self.listed.send_modify(|count| *count = count.wrapping_add(1));
            }
        }
    }

    fn heard_of_secret(&self, change: &Change) {
        let (Change::Upsert(object) | Change::Delete(object)) = change else { return };
        let Ok(secret) = serde_json::from_str::<Value>(&object.json) else { return };
        let Some(release) = record::module(&secret).and_then(|module| self.of(&module)) else { return };
        if matches!(change, Change::Delete(_)) {
            release.secret_is_gone(&object.uid);
        } else {
            let (_, approved) = Marks::read(&secret, &Names::of(None));
            release.approved(approved.as_deref());
            if let Ok(read) = record::read(&secret) {
                release.asks(read.asked, &read.record);
            }
        }
    }

    fn of(&self, module: &ModuleName) -> Option<Arc<Release>> {
        self.state().known.get(module).cloned()
    }
}

/// All members of a kind, of whatever set.
fn selection(resource: &Arc<Resource>) -> Selection {
    Selection { label_selector: Some(PART_OF.to_owned()), ..Selection::of(resource.clone()) }
}

#[cfg(test)]
mod tests {
    use boathook_applyset::SetId;
    use boathook_core::model::ObjectRef;
    use boathook_kube::watch::{Observer, StreamConfig};
    use serde_json::json;

    use super::*;

    struct Silent;

    impl Observer for Silent {}

    fn secret(module: &str) -> ObjectRef {
        record::reference("ops", &module.parse().unwrap())
    }

    fn change(name: &str, set: &str) -> Change {
        let text = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ops", "uid": name,
            "resourceVersion": "1", "labels": {PART_OF: set}}});
        Change::Upsert(Arc::new(Object::from_json(&text.to_string(), &"v1".into(), &"ConfigMap".into()).unwrap()))
    }

    // mutant: crates/operator/src/app/modules/charts/members.rs: `.filter(|set| sets.contains(set))` => ``
    #[tokio::test]
    async fn only_members_of_modules_are_kept() {
        // Nothing answers there.
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let client = kube::Client::try_from(config).unwrap();
        let (members, _wanted) = Members::new(Streams::new(client, StreamConfig::default(), Arc::new(Silent)));
        let resource = Arc::new(Resource::of("v1", "ConfigMap", "configmaps", true));
        members.state().kinds.insert(resource.clone(), Kind::default());
        let own = SetId::of(&secret("web"));
        members.announce([own.clone()].into_iter());
        let kept = || {
            let mut names: Vec<_> =
                members.state().kinds[&resource].objects.values().map(|member| member.object.uid.to_string()).collect();
            names.sort();
            names
        };
        members.heard(&resource, change("a", own.as_str()));
        members.heard(&resource, change("b", SetId::of(&secret("other")).as_str()));
        members.heard(&resource, change("c", "applyset-of-somebody-else-v1"));
        assert_eq!(kept(), ["a"]);
        // It goes to another set.
        members.heard(&resource, change("a", "applyset-of-somebody-else-v1"));
        assert_eq!(kept(), [""; 0]);
    }
}
