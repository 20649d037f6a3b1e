//! One module's release in this process: its set, its record, and whether it needs another `apply`.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use boathook_applyset::{Hold, Parent, Plan, Policy, Set, set::Adopt};
use boathook_core::model::{Object, ObjectRef};
use boathook_modules::ModuleName;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::super::applying::HasSet,
    record::{Read, Record},
    revisions::Asked,
};

/// The field manager of what a module's chart renders to.
pub(in super::super) fn manager(module: &ModuleName) -> String {
    format!("boathook.dev/modules/{}", module.as_str())
}

/// One release.
pub(super) struct Release {
    pub module: ModuleName,
    set: Mutex<Set>,
    known: Mutex<Known>,
    /// Notified when there may be something to do.
    pub news: Notify,
    /// What an admin asks for, and is not done yet.
    asked: watch::Sender<Option<Asked>>,
    drifted: mpsc::UnboundedSender<ModuleName>,
}

struct Known {
    record: Record,
    hold: Option<Hold>,
    approved: Option<String>,
    /// The version in which each kind of the desired members is written.
    versions: HashMap<String, String>,
    /// The namespaces of the desired members.
    namespaces: HashSet<String>,
    /// The last `apply` has ended, so what is to be done is reported.
    settled: bool,
    timer: Option<AbortOnDropHandle<()>>,
    /// The Secret is gone.
    lost: bool,
    /// What is waited for.
    waits: Option<String>,
}

/// Ends what [`Release::waiting`] shows.
pub(super) struct Waiting<'r>(&'r Release);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.known().waits = None;
    }
}

impl HasSet for Release {
    fn with<T>(&self, act: impl FnOnce(&mut Set) -> T) -> T {
        act(&mut self.set.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Release {
    pub fn new(module: &ModuleName, read: Read, drifted: mpsc::UnboundedSender<ModuleName>) -> Arc<Self> {
        // addon-operator takes over what exists, and so can a module that was installed by Helm before. What another set has
        // stays that set's.
        let policy = Policy { adopt: Adopt::IfUnowned, ..Policy::new(&manager(module)) };
        let Read { parent, record, hold, approved, asked } = read;
        let mut set = Set::new(parent, policy);
        set.recall(hold.clone());
        set.approve(approved.as_deref());
        let known = Known {
            record,
            hold,
            approved,
            versions: HashMap::new(),
            namespaces: HashSet::new(),
            settled: false,
            timer: None,
            lost: false,
            waits: None,
        };
        let (set, known) = (Mutex::new(set), Mutex::new(known));
        let (news, asked) = (Notify::new(), watch::Sender::new(asked));
        Arc::new(Self { module: module.clone(), set, known, news, asked, drifted })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn record(&self) -> Record {
        self.known().record.clone()
    }

    pub fn hold(&self) -> Option<Hold> {
        self.known().hold.clone()
    }

    /// The Secret was written. `answers`: that was what an admin asked for.
    pub fn wrote(&self, mut parent: Parent, record: Record, hold: Option<Hold>, answers: bool) {
        self.with(|set| {
            // The members go when the module is deleted, which is not when somebody deletes the Secret.
            parent.deleting = set.parent().deleting;
            set.update_parent(parent);
            set.recall(hold.clone());
        });
        let mut known = self.known();
        (known.record, known.hold) = (record, hold);
        if answers {
            // Under the lock, so that what a watch shows of the Secret before this write counts no more.
            self.asked.send_replace(None);
        }
    }

    /// What an admin asks for.
    pub fn asked(&self) -> Option<Asked> {
        self.asked.borrow().clone()
    }

    /// Returns when an admin asks for something.
    pub async fn asked_for(&self) {
        // The sender lives as long as this.
        let _ = self.asked.subscribe().wait_for(Option::is_some).await;
    }

    /// A watch showed what an admin asks for, in a Secret with this record.
    pub fn asks(&self, asked: Option<Asked>, record: &Record) {
        let known = self.known();
        let newer = (known.record.revision, known.record.rollback_to);
        if record.revision < newer.0 || record.revision == newer.0 && record.rollback_to != newer.1 {
            // The Secret was written since then.
            return;
        }
        let is_new = self.asked.send_if_modified(|known| {
            let differs = *known != asked;
            *known = asked;
            differs && known.is_some()
        });
        drop(known);
        if is_new {
            self.known().settled = false;
            // Nobody listens any more when the operator ends.
            let _ = self.drifted.send(self.module.clone());
        }
    }

    /// The versions and the namespaces of what is to be desired. Call it before the members are learned.
    pub fn wants(&self, versions: HashMap<String, String>, namespaces: HashSet<String>) {
        let mut known = self.known();
        (known.versions, known.namespaces) = (versions, namespaces);
    }

    /// Whether an object may be a member. Somebody who may write in another namespace could give the label to objects there, and so
    /// hold up the module.
    fn is_in_reach(&self, object: &Object) -> bool {
        let namespace = object.reference().namespace;
        let is_wanted = |namespace: &String| self.known().namespaces.contains(namespace);
        namespace.as_ref().is_some_and(is_wanted) || self.with(|set| set.reaches(namespace.as_deref()))
    }

    /// Whether the objects of a kind are shown in the version in which they are written, or are not written any more.
    fn is_of_version(&self, object: &Object) -> bool {
        let group_kind = boathook_applyset::MemberId::of(&object.reference()).group_kind();
        self.known().versions.get(&group_kind).is_none_or(|version| **version == *object.api_version)
    }

    /// An `apply` or a deletion begins.
    pub fn begins(&self) {
        let mut known = self.known();
        known.settled = false;
        let timer = known.timer.take();
        drop(known);
        drop(timer);
    }

    /// Shows what is waited for, until the result is dropped.
    pub fn waiting(&self, why: String) -> Waiting<'_> {
        self.known().waits = Some(why);
        Waiting(self)
    }

    /// What is waited for.
    pub fn waits(&self) -> Option<String> {
        self.known().waits.clone()
    }

    /// It has ended. From here on, what is to be done is reported.
    pub fn settles(self: &Arc<Self>) {
        self.known().settled = true;
        if self.is_lost() {
            // Somebody deleted the Secret in the meantime.
            return self.report();
        }
        self.look();
    }

    /// A watch showed a member.
    pub fn saw(self: &Arc<Self>, object: &Object) {
        if self.is_of_version(object)
            && self.is_in_reach(object)
            && self.with(|set| set.observe(object, Instant::now()))
        {
            self.look();
        }
    }

    /// A member is gone.
    pub fn lost(self: &Arc<Self>, object: &ObjectRef, uid: &str) {
        if self.with(|set| set.gone(object, Some(uid), Instant::now())) {
            self.look();
        }
    }

    /// Somebody approved a prune, or took that back. What waited for the approval failed, and is to be done again.
    pub fn approved(&self, digest: Option<&str>) {
        let is_new = {
            let mut known = self.known();
            let is_new = known.approved.as_deref() != digest;
            known.approved = digest.map(str::to_owned);
            is_new && known.hold.as_ref().is_some_and(|hold| Some(hold.digest.as_str()) == digest)
        };
        self.with(|set| set.approve(digest));
        if is_new {
            self.known().settled = true;
            self.report();
        }
    }

    fn look(self: &Arc<Self>) {
        self.news.notify_one();
        if !self.known().settled {
            return;
        }
        let (now, plan) = (Instant::now(), self.with(|set| set.plan(Instant::now())));
        match due(&plan, now) {
            Some(at) if at <= now => self.report(),
            Some(at) => {
                // A weak reference, because the release has the timer.
                let release = Arc::downgrade(self);
                let timer = AbortOnDropHandle::new(tokio::spawn(async move {
                    tokio::time::sleep_until(at.into()).await;
                    if let Some(release) = release.upgrade() {
                        release.report();
                    }
                }));
                let before = self.known().timer.replace(timer);
                drop(before);
            }
            None => {}
        }
    }

    /// Another `apply` is needed. That is said once, until one has begun.
    fn report(&self) {
        if std::mem::replace(&mut self.known().settled, false) {
            // Nobody listens any more when the operator ends.
            let _ = self.drifted.send(self.module.clone());
        }
    }

    /// Somebody deleted a Secret of this name.
    pub fn secret_is_gone(&self, uid: &str) {
        if self.with(|set| *set.parent().uid == *uid) {
            self.known().lost = true;
            self.report();
        }
    }

    /// Whether the Secret is gone.
    pub fn is_lost(&self) -> bool {
        self.known().lost
    }
}

/// When something is to be sent.
fn due(plan: &Plan, now: Instant) -> Option<Instant> {
    let sends = plan.steps.iter().filter(|step| step.action.sends());
    sends.map(|step| step.at.unwrap_or(now)).min()
}

#[cfg(test)]
mod tests {
    use boathook_applyset::SetId;
    use serde_json::{Value, json};

    use super::{
        super::{record, revisions::Inputs},
        *,
    };

    fn release() -> (Arc<Release>, mpsc::UnboundedReceiver<ModuleName>) {
        let module: ModuleName = "web".parse().unwrap();
        let record = Record::after(None, &Inputs::default(), jiff::Timestamp::UNIX_EPOCH);
        let body = record::body("ops", &module, (Some("u"), false), &record, None);
        let mut secret: Value = serde_json::from_str(&body).unwrap();
        secret["metadata"]["resourceVersion"] = json!("1");
        secret["metadata"]["annotations"] = json!({"applyset.kubernetes.io/additional-namespaces": "shop"});
        let (drifted, reports) = mpsc::unbounded_channel();
        (Release::new(&module, record::read(&secret).unwrap(), drifted), reports)
    }

    // mutant: crates/operator/src/app/modules/charts/release.rs: `&& self.is_in_reach(object)` => ``
    #[test]
    fn the_label_makes_no_member_in_a_namespace_that_the_module_does_not_have() {
        let (release, _reports) = release();
        release.wants(HashMap::new(), HashSet::from(["new".to_owned()]));
        let set = SetId::of(&record::reference("ops", &release.module));
        assert_eq!(release.with(|known| known.id().clone()), set);
        for (namespace, counts) in
            [(Some("ops"), true), (Some("shop"), true), (Some("new"), true), (None, true), (Some("tenant"), false)]
        {
            let text = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace,
                "uid": "o", "resourceVersion": "5", "labels": {"applyset.kubernetes.io/part-of": set.as_str()}}});
            let object = Object::from_json(&text.to_string(), &"v1".into(), &"ConfigMap".into()).unwrap();
            release.saw(&object);
            let is_member = release.with(|known| known.readiness(&object.reference()).is_some());
            assert_eq!(is_member, counts, "{namespace:?}");
        }
    }

    #[test]
    fn a_secret_that_is_deleted_during_an_apply_is_reported_after_it() {
        let (release, mut reports) = release();
        release.begins();
        release.secret_is_gone("u");
        assert!(reports.try_recv().is_err(), "the apply goes on");
        release.settles();
        assert_eq!(reports.try_recv().unwrap().as_str(), "web");
    }

    // mutant: crates/operator/src/app/modules/charts/release.rs: `if record.revision < newer.0 ||` => `if false && record.revision < newer.0 ||`
    #[tokio::test]
    async fn what_an_admin_asks_for_is_reported_once_and_not_again_by_an_old_event() {
        let (release, mut reports) = release();
        let record = release.record();
        release.begins();
        release.asks(Some(Asked::Rollback(3)), &record);
        release.asks(Some(Asked::Rollback(3)), &record);
        release.asked_for().await;
        assert_eq!((release.asked(), reports.try_recv().is_ok(), reports.len()), (Some(Asked::Rollback(3)), true, 0));
        // It is done. A watch may be behind.
        let next = Record {
            rollback_to: Some(3),
            ..Record::after(Some(&record), &Inputs::default(), jiff::Timestamp::UNIX_EPOCH)
        };
        let parent = release.with(|set| set.parent().clone());
        release.wrote(parent, next.clone(), None, true);
        release.asks(Some(Asked::Rollback(3)), &record);
        assert_eq!((release.asked(), reports.len()), (None, 0));
        release.asks(Some(Asked::Rollback(3)), &next);
        assert_eq!((release.asked(), reports.len()), (Some(Asked::Rollback(3)), 1));
        release.asks(None, &next);
        assert_eq!((release.asked(), reports.len()), (None, 1), "somebody took it back");
    }
}
