//! The Secret of a module: the parent of its set, with what must survive a restart. Pure.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_applyset::{Hold, Parent};
use boathook_core::model::ObjectRef;
use boathook_modules::ModuleName;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    super::super::reconcile::marks::{Marks, Names},
    hooks::{Event, Hook},
    revisions::{Asked, Cause, Content, Entry, Inputs, KEEP, Outcome, ROLLBACK},
};

/// The label of such Secrets, with the module's name.
pub(in super::super) const LABEL: &str = "boathook.dev/module";
/// The field manager of the Secret's content. That of the set's marks is the module's.
pub(in super::super) const MANAGER: &str = "boathook.dev/modules";
/// The type of such Secrets.
pub(in super::super) const TYPE: &str = "boathook.dev/module";
/// The key of the record in the Secret's data.
const KEY: &str = "release";

/// How far a revision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in super::super) enum State {
    /// Its hooks before the objects did not all succeed.
    Pending,
    /// Its objects are not all as they should be, or its hooks after them did not all succeed.
    Applying,
    Deployed,
    /// The module is being deleted, and its hooks before that did not all succeed.
    Deleting,
    /// Its objects are being deleted.
    Removing,
}

/// What the cluster has of a module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Record {
    /// Counted from 1.
    pub revision: u64,
    /// Of what the chart rendered to.
    pub digest: String,
    pub state: State,
    /// No revision was deployed before this one.
    pub install: bool,
    /// When the revision began, in seconds since 1970: the time that its templates see.
    pub time: u64,
    /// What random numbers of the chart are made of. It stays, so that a generated password stays.
    pub seed: [u8; 32],
    /// The hooks for the module's deletion. The chart may be gone by then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Hook>,
    /// The version of the chart, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<String>,
    /// What it was made of.
    #[serde(default)]
    pub inputs: Inputs,
    /// What of that differs from the revision before.
    #[serde(default)]
    pub changed: Vec<Cause>,
    /// The revision whose manifests these are. They stay until the inputs change, or the admin ends that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<u64>,
    /// The revisions before, as far as they are kept, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<Entry>,
}

impl Record {
    /// The module is being deleted.
    pub fn is_ending(&self) -> bool {
        matches!(self.state, State::Deleting | State::Removing)
    }

    /// The revision that follows. It has no digest yet.
    pub fn after(before: Option<&Self>, inputs: &Inputs, now: Timestamp) -> Self {
        let never = |before: &Self| before.is_ending() || before.install && before.state != State::Deployed;
        // A module that was deleted begins again, also with its history.
        let (mut history, changed) = match before.filter(|before| !before.is_ending()) {
            Some(before) => (before.revisions(), inputs.changed(&before.inputs)),
            None => (Vec::new(), vec![Cause::Installation]),
        };
        if let Some(last) = history.pop() {
            history.push(last.followed());
        }
        let surplus = history.len().saturating_sub(KEEP - 1);
        history.drain(..surplus);
        Self {
            revision: before.map_or(0, |before| before.revision) + 1,
            digest: String::new(),
            state: State::Pending,
            install: before.is_none_or(never),
            time: u64::try_from(now.as_second()).unwrap_or_default(),
            seed: before.map_or_else(rand::random, |before| before.seed),
            hooks: Vec::new(),
            chart: None,
            inputs: inputs.clone(),
            changed,
            rollback_to: None,
            history,
        }
    }

    /// What Helm has deployed, as the revision that the module's next one follows.
    pub fn adopted(revision: u64, time: Timestamp, chart: &str, content: &Content) -> Self {
        let mut adopted = Self {
            revision: revision.max(1),
            install: false,
            chart: Some(chart.to_owned()).filter(|chart| !chart.is_empty()),
            changed: vec![Cause::Installation],
            ..Self::after(None, &Inputs::default(), time)
        };
        adopted.begin(&content.hooks, &content.digest());
        adopted.state = State::Deployed;
        adopted
    }

    /// Takes what was rendered for it.
    pub fn begin(&mut self, hooks: &[Hook], digest: &str) {
        digest.clone_into(&mut self.digest);
        if !hooks.iter().any(|hook| hook.is_for(self.before())) {
            self.state = State::Applying;
        }
        let deletes = |hook: &&Hook| hook.is_for(Event::PreDelete) || hook.is_for(Event::PostDelete);
        self.hooks = hooks.iter().filter(deletes).cloned().collect();
    }

    /// When its hooks run before its objects.
    pub fn before(&self) -> Event {
        match (self.rollback_to, self.install) {
            (Some(_), _) => Event::PreRollback,
            (None, true) => Event::PreInstall,
            (None, false) => Event::PreUpgrade,
        }
    }

    /// When its hooks run after its objects.
    pub fn afterwards(&self) -> Event {
        match self.before() {
            Event::PreRollback => Event::PostRollback,
            Event::PreInstall => Event::PostInstall,
            _ => Event::PostUpgrade,
        }
    }

    /// The revision that applies the content of another one again.
    pub fn rollback(&self, to: u64, content: &Content, inputs: &Inputs, now: Timestamp) -> Self {
        let chart = self.revisions().into_iter().find(|entry| entry.revision == to).and_then(|entry| entry.chart);
        let mut next = Self {
            rollback_to: Some(to),
            changed: vec![Cause::Rollback],
            chart,
            ..Self::after(Some(self), inputs, now)
        };
        next.begin(&content.hooks, &content.digest());
        next
    }

    /// The revisions that are kept, the newest last.
    pub fn revisions(&self) -> Vec<Entry> {
        let own = Entry {
            revision: self.revision,
            time: self.time,
            chart: self.chart.clone(),
            digest: self.digest.clone(),
            changed: self.changed.clone(),
            rollback_to: self.rollback_to,
            outcome: match self.state {
                State::Pending | State::Applying => Outcome::Pending,
                State::Deployed => Outcome::Deployed,
                State::Deleting | State::Removing => Outcome::Uninstalling,
            },
        };
        self.history.iter().cloned().chain([own]).collect()
    }
}

/// A module's Secret that is not what this version writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the Secret {0} of the module {1}: restore it, or delete it so that the module is installed again")]
pub(in super::super) struct InvalidRecord(pub String, pub &'static str);

/// A module's Secret.
pub(in super::super) fn reference(namespace: &str, module: &ModuleName) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: format!("boathook-module-{}", module.as_str()),
    }
}

/// The module of a Secret.
pub(in super::super) fn module(secret: &Value) -> Option<ModuleName> {
    secret.pointer("/metadata/labels")?.get(LABEL)?.as_str()?.parse().ok()
}

/// What a Secret says.
pub(in super::super) struct Read {
    pub parent: Parent,
    pub record: Record,
    pub hold: Option<Hold>,
    /// The digest of a prune that somebody approved.
    pub approved: Option<String>,
    pub asked: Option<Asked>,
}

pub(in super::super) fn read(secret: &Value) -> Result<Read, InvalidRecord> {
    let invalid = |why| InvalidRecord(ObjectRef::of(secret).name, why);
    let data = secret.pointer("/data").and_then(|data| data.get(KEY)?.as_str()).unwrap_or_default();
    let text = STANDARD.decode(data).map_err(|_| invalid("is not base64"))?;
    let record = serde_json::from_slice(&text).map_err(|_| invalid("has no record of a release"))?;
    let parent = parent(secret).ok_or_else(|| invalid("has no uid"))?;
    let (marks, approved) = Marks::read(secret, &Names::of(None));
    Ok(Read { parent, record, hold: marks.hold, approved, asked: Asked::read(secret) })
}

/// The parent of the module's set. Its members have no owner reference to it: if somebody deletes the Secret, the module
/// stays.
pub(in super::super) fn parent(secret: &Value) -> Option<Parent> {
    Some(Parent::read(secret).ok()?.by_label())
}

/// The body of the server-side apply that writes the Secret. `uid`: that of the Secret that is there. `answers`: the record is
/// what an admin asked for, so nothing is asked for any more.
pub(in super::super) fn body(
    namespace: &str,
    module: &ModuleName,
    (uid, answers): (Option<&str>, bool),
    record: &Record,
    hold: Option<&Hold>,
) -> String {
    let ObjectRef { name, .. } = reference(namespace, module);
    let text = serde_json::to_string(record).unwrap_or_default();
    let mut secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: module.as_str()}},
        "type": TYPE,
        "data": {KEY: STANDARD.encode(text)},
    });
    if let Some(metadata) = secret.get_mut("metadata").and_then(Value::as_object_mut) {
        if let Some(uid) = uid {
            metadata.insert("uid".to_owned(), uid.into());
        }
        let hold = hold.and_then(|hold| serde_json::to_string(hold).ok());
        let hold = hold.map(|hold| (Names::of(None).hold, hold.into()));
        // The annotation is emptied with the same write, so it is neither done twice nor forgotten.
        let asked = answers.then(|| (ROLLBACK.to_owned(), "".into()));
        let annotations: Map<String, Value> = hold.into_iter().chain(asked).collect();
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), annotations.into());
        }
    }
    secret.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            revision: 3,
            digest: "d".to_owned(),
            state: State::Applying,
            install: false,
            time: 1,
            seed: [7; 32],
            ..Record::after(None, &Inputs::default(), Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let module: ModuleName = "web".parse().unwrap();
        let mut secret: Value =
            serde_json::from_str(&body("addons", &module, (Some("u"), false), &record(), None)).unwrap();
        assert_eq!(secret["metadata"]["name"], "boathook-module-web");
        secret["metadata"]["annotations"] = json!({"boathook.dev/approve-prune": "x"});
        let read = read(&secret).unwrap();
        assert_eq!((read.record, read.approved.as_deref()), (record(), Some("x")));
        assert_eq!(super::module(&secret), Some(module));
        assert!(!read.parent.can_own(Some("addons")));
    }

    #[test]
    fn a_release_is_installed_until_a_revision_was_deployed() {
        let now = Timestamp::from_second(9).unwrap();
        let inputs = &Inputs::default();
        let first = Record::after(None, inputs, now);
        assert_eq!((first.revision, first.install, first.state, first.time), (1, true, State::Pending, 9));
        let again = Record::after(Some(&first), inputs, now);
        assert_eq!((again.revision, again.install, again.seed), (2, true, first.seed));
        let deployed = Record { state: State::Deployed, ..again };
        let upgrade = Record::after(Some(&deployed), inputs, now);
        assert_eq!((upgrade.revision, upgrade.install), (3, false));
        assert!(!Record::after(Some(&upgrade), inputs, now).install, "a failed upgrade is followed by an upgrade");
        assert!(Record::after(Some(&Record { state: State::Removing, ..upgrade }), inputs, now).install);
        assert_ne!(Record::after(None, inputs, now).seed, first.seed);
    }

    // mutant: crates/operator/src/app/modules/charts/record.rs: `history.len().saturating_sub(KEEP - 1)` => `0`
    #[test]
    fn the_history_says_how_revisions_ended_and_is_bounded() {
        let (inputs, now) = (Inputs::default(), Timestamp::UNIX_EPOCH);
        let mut record = Record::after(None, &inputs, now);
        for _ in 0..2 * KEEP {
            let state = if record.revision.is_multiple_of(2) { State::Deployed } else { State::Applying };
            record = Record::after(Some(&Record { state, ..record }), &inputs, now);
        }
        let all: Vec<_> = record.revisions().iter().map(|entry| (entry.revision, entry.outcome)).collect();
        let newest = record.revision;
        assert_eq!((all.len(), all[KEEP - 1]), (KEEP, (newest, Outcome::Pending)));
        assert_eq!(all[KEEP - 2..][..1], [(newest - 1, Outcome::Superseded)]);
        assert_eq!(all[KEEP - 3..][..1], [(newest - 2, Outcome::Failed)]);
        let again = Record::after(Some(&Record { state: State::Removing, ..record }), &inputs, now);
        assert_eq!((again.history.len(), again.changed), (0, vec![Cause::Installation]));
    }

    #[test]
    fn what_was_asked_for_is_answered_with_the_same_write() {
        let module: ModuleName = "web".parse().unwrap();
        let of = |answers| body("addons", &module, (Some("u"), answers), &record(), None);
        let secret: Value = serde_json::from_str(&of(true)).unwrap();
        assert_eq!(secret["metadata"]["annotations"][ROLLBACK], "");
        assert!(!of(false).contains("annotations"));
    }

    #[test]
    fn a_secret_of_somebody_else_is_refused() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "uid": "u"}, "data": {"release": "e30="}});
        let error = read(&secret).err().unwrap().to_string();
        assert!(error.starts_with("the Secret s of the module has no record of a release"), "{error}");
    }
}
