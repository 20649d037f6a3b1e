//! The revisions of a parent for commands: which ones are kept, how they differ, and rollbacks. The operator need not run.

use boathook_applyset::{MemberId, Parent};
use boathook_core::model::{ObjectRef, OwnedKind, error_chain};
use boathook_kube::discovery::Discovery;
use kube::{
    Api, Client,
    api::{DynamicObject, ListParams, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use super::{
    modules::{
        Changed, CommandError,
        preview::{Objects, changes},
    },
    reconcile::revisions::{self, Asked, Shelf, Stored},
};

/// Who writes for commands.
const MANAGER: &str = "boathook-operators";
/// The kinds of objects in which revisions are.
const KINDS: [(&str, &str, &str); 2] =
    [("apps/v1", "ControllerRevision", "controllerrevisions"), ("v1", "Secret", "secrets")];

/// A revision that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub revision: u64,
    /// When it was stored, as the API server writes times.
    pub time: String,
    /// The generation of the parent that the hook saw.
    pub generation: i64,
    /// `None`: somebody has changed it.
    pub digest: Option<String>,
    /// All parts of it are there.
    pub whole: bool,
    /// Its children are those that the operator applies.
    pub current: bool,
}

/// A parent, and the objects in which its revisions are.
pub struct OfParent {
    api: Api<DynamicObject>,
    parent: Parent,
    value: Value,
    objects: Vec<Value>,
}

fn wrong<T>(why: impl Into<String>) -> Result<T, CommandError> {
    Err(CommandError::Wrong(why.into()))
}

impl OfParent {
    /// Finds a parent: `TYPE/NAME`, with the type as kubectl names it.
    ///
    /// # Errors
    /// There is no such object, or the cluster cannot be read.
    pub async fn find(client: Client, parent: &str, namespace: &str) -> Result<Self, CommandError> {
        let Some((kind, name)) = parent.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty())
        else {
            return wrong(format!("{parent:?} is no object: write TYPE/NAME, such as helloapp/web"));
        };
        let found = Discovery::new(client.clone()).named(kind).await;
        let resource = found.map_err(|error| CommandError::Wrong(error_chain(&error)))?;
        if !resource.namespaced {
            return wrong(format!(
                "objects of kind {} have no namespace, so no revisions of them are kept",
                resource.kind
            ));
        }
        let gvk = GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind);
        let kind = ApiResource::from_gvk_with_plural(&gvk, &resource.plural);
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
        let failed = |what: String| move |error| CommandError::Request { what, error: Box::new(error) };
        let what = format!("cannot read {} {namespace}/{name}", resource.kind);
        let Some(found) = api.get_opt(name).await.map_err(failed(what))? else {
            return wrong(format!(
                "there is no {} {namespace}/{name}; --namespace names another namespace",
                resource.kind
            ));
        };
        let mut value = serde_json::to_value(&found).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("apiVersion".to_owned(), resource.api_version().into());
            fields.insert("kind".to_owned(), resource.kind.clone().into());
        }
        let parent = Parent::read(&value).map_err(|error| CommandError::Wrong(error.to_string()))?;
        let mut objects = Vec::new();
        for (api_version, kind, plural) in KINDS {
            let owned = OwnedKind { api_version: api_version.into(), kind: kind.into() };
            let Some(shelf) = Shelf::of(&parent, owned) else { continue };
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let of = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
            let all: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &of);
            let listed = all.list(&ListParams::default().labels(&shelf.selector())).await;
            let listed = listed.map_err(failed(format!("cannot list {plural} in the namespace {namespace}")))?;
            objects.extend(listed.items.iter().map(|item| serde_json::to_value(item).unwrap_or_default()));
        }
        Ok(Self { api, parent, value, objects })
    }

    /// The revisions, the newest last.
    ///
    /// # Errors
    /// The annotation of the parent is wrong.
    pub fn history(&self) -> Result<Vec<Kept>, CommandError> {
        let asked = Asked::read(&self.value).map_err(CommandError::Wrong)?;
        let stored = revisions::stored(&self.objects);
        let newest = stored.last_key_value().map(|(number, _)| *number);
        let current = asked.map(|asked| asked.revision).or(newest);
        let kept = |(revision, stored): (u64, Stored)| Kept {
            revision,
            whole: stored.is_whole(),
            digest: stored.digest.map(|digest| digest.to_string()),
            time: stored.time,
            generation: stored.generation,
            current: Some(revision) == current,
        };
        Ok(stored.into_iter().map(kept).collect())
    }

    fn known(&self) -> Result<Vec<Kept>, CommandError> {
        let all = self.history()?;
        if all.is_empty() {
            return wrong(format!(
                "no revision of {} is kept: its hook keeps them if its `reconcile` binding has `revisions`",
                self.parent.object
            ));
        }
        Ok(all)
    }

    /// The objects that differ between two revisions. Without `to`, it is the current one; without `from`, the one before `to`.
    ///
    /// # Errors
    /// There is no such revision.
    pub fn diff(&self, from: Option<u64>, to: Option<u64>) -> Result<(u64, u64, Vec<Changed>), CommandError> {
        let all = self.known()?;
        let current = all.iter().find(|kept| kept.current).or(all.last()).map(|kept| kept.revision).unwrap_or_default();
        let to = to.unwrap_or(current);
        let before = all.iter().rev().find(|kept| kept.revision < to).map(|kept| kept.revision);
        let Some(from) = from.or(before) else {
            return wrong(format!("there is no revision before {to}: name one with --from"));
        };
        Ok((from, to, changes(self.content(from)?, self.content(to)?)))
    }

    fn content(&self, number: u64) -> Result<Objects, CommandError> {
        let revision = revisions::content(&self.objects, number).map_err(CommandError::Wrong)?;
        let of = |member: Value| {
            let mut object = ObjectRef::of(&member);
            object.namespace = object.namespace.or_else(|| self.parent.object.namespace.clone());
            (MemberId::of(&object), (object, member))
        };
        Ok(revision.members.into_iter().map(of).collect())
    }

    /// Asks the operator for the children of a revision. Without one, it is the one before the current one. Returns its number.
    ///
    /// # Errors
    /// There is no such revision.
    pub async fn roll_back(&self, to: Option<u64>) -> Result<u64, CommandError> {
        let all = self.known()?;
        let current = all.iter().find(|kept| kept.current).map_or(u64::MAX, |kept| kept.revision);
        let earlier = || all.iter().rev().find(|kept| kept.whole && kept.revision < current).map(|kept| kept.revision);
        let Some(revision) = to.or_else(earlier) else {
            return wrong(format!("there is no earlier revision of {}: name one with --to", self.parent.object));
        };
        self.content(revision)?;
        let asked = Asked { revision, generation: self.parent.generation };
        self.annotate(json!(asked.text())).await?;
        Ok(revision)
    }

    /// Asks the operator for what the hook returns.
    ///
    /// # Errors
    /// Nothing was rolled back.
    pub async fn end_rollback(&self) -> Result<(), CommandError> {
        // Also one that cannot be read.
        if let Ok(None) = Asked::read(&self.value) {
            return wrong(format!("{} is not rolled back: it has what its hook returns", self.parent.object));
        }
        self.annotate(Value::Null).await
    }

    async fn annotate(&self, value: Value) -> Result<(), CommandError> {
        // The version makes sure that what is written is about the generation that was read.
        let version = self.value.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": {revisions::ROLLBACK: value}}});
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let written = self.api.patch(&self.parent.object.name, &params, &Patch::Merge(&patch)).await;
        let what = format!("cannot change {}", self.parent.object);
        written.map(drop).map_err(|error| CommandError::Request { what, error: Box::new(error) })
    }
}
