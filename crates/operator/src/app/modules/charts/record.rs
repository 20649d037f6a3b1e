//! The Secret of a module: the parent of its set, with what must survive a restart. Pure.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use boathook_applyset::{Hold, Parent};
use boathook_core::model::ObjectRef;
use boathook_modules::ModuleName;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    super::super::reconcile::marks::{Marks, Names},
    hooks::Hook,
};

/// The label of such Secrets, with the module's name.
pub(super) const LABEL: &str = "boathook.dev/module";
/// The field manager of the Secret's content. That of the set's marks is the module's.
pub(super) const MANAGER: &str = "boathook.dev/modules";
/// The type of such Secrets.
const TYPE: &str = "boathook.dev/module";
/// The key of the record in the Secret's data.
const KEY: &str = "release";

/// How far a revision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
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
pub(super) struct Record {
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
}

impl Record {
    /// The module is being deleted.
    pub fn is_ending(&self) -> bool {
        matches!(self.state, State::Deleting | State::Removing)
    }

    /// The revision that follows. It has no digest yet.
    pub fn after(before: Option<&Self>, now: Timestamp) -> Self {
        let never = |before: &Self| before.is_ending() || before.install && before.state != State::Deployed;
        Self {
            revision: before.map_or(0, |before| before.revision) + 1,
            digest: String::new(),
            state: State::Pending,
            install: before.is_none_or(never),
            time: u64::try_from(now.as_second()).unwrap_or_default(),
            seed: before.map_or_else(rand::random, |before| before.seed),
            hooks: Vec::new(),
        }
    }
}

/// A module's Secret that is not what this version writes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the Secret {0} of the module {1}: restore it, or delete it so that the module is installed again")]
pub(super) struct InvalidRecord(pub String, pub &'static str);

/// A module's Secret.
pub(super) fn reference(namespace: &str, module: &ModuleName) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: format!("boathook-module-{}", module.as_str()),
    }
}

/// The module of a Secret.
pub(super) fn module(secret: &Value) -> Option<ModuleName> {
    secret.pointer("/metadata/labels")?.get(LABEL)?.as_str()?.parse().ok()
}

/// What a Secret says.
pub(super) struct Read {
    pub parent: Parent,
    pub record: Record,
    pub hold: Option<Hold>,
    /// The digest of a prune that somebody approved.
    pub approved: Option<String>,
}

pub(super) fn read(secret: &Value) -> Result<Read, InvalidRecord> {
    let invalid = |why| InvalidRecord(ObjectRef::of(secret).name, why);
    let data = secret.pointer("/data").and_then(|data| data.get(KEY)?.as_str()).unwrap_or_default();
    let text = STANDARD.decode(data).map_err(|_| invalid("is not base64"))?;
    let record = serde_json::from_slice(&text).map_err(|_| invalid("has no record of a release"))?;
    let parent = parent(secret).ok_or_else(|| invalid("has no uid"))?;
    let (marks, approved) = Marks::read(secret, &Names::of(None));
    Ok(Read { parent, record, hold: marks.hold, approved })
}

/// The parent of the module's set. Its members have no owner reference to it: if somebody deletes the Secret, the module
/// stays.
pub(super) fn parent(secret: &Value) -> Option<Parent> {
    Some(Parent::read(secret).ok()?.by_label())
}

/// The body of the server-side apply that writes the Secret. `uid`: that of the Secret that is there.
pub(super) fn body(
    namespace: &str,
    module: &ModuleName,
    uid: Option<&str>,
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
        if let Some(hold) = hold {
            metadata.insert("annotations".to_owned(), json!({ Names::of(None).hold: hold }));
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
            hooks: Vec::new(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let module: ModuleName = "web".parse().unwrap();
        let mut secret: Value = serde_json::from_str(&body("addons", &module, Some("u"), &record(), None)).unwrap();
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
        let first = Record::after(None, now);
        assert_eq!((first.revision, first.install, first.state, first.time), (1, true, State::Pending, 9));
        let again = Record::after(Some(&first), now);
        assert_eq!((again.revision, again.install, again.seed), (2, true, first.seed));
        let deployed = Record { state: State::Deployed, ..again };
        let upgrade = Record::after(Some(&deployed), now);
        assert_eq!((upgrade.revision, upgrade.install), (3, false));
        assert!(!Record::after(Some(&upgrade), now).install, "a failed upgrade is followed by an upgrade");
        assert!(Record::after(Some(&Record { state: State::Removing, ..upgrade }), now).install);
        assert_ne!(Record::after(None, now).seed, first.seed);
    }

    #[test]
    fn a_secret_of_somebody_else_is_refused() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "uid": "u"}, "data": {"release": "e30="}});
        let error = read(&secret).err().unwrap().to_string();
        assert!(error.starts_with("the Secret s of the module has no record of a release"), "{error}");
    }
}
