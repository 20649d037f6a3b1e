//! The Kubernetes API, within the hook's grants.
//!
//! Every call is checked against the grants before any request leaves; the hook never sees a
//! token. A call that they forbid says which permission would allow it.
//!
//! Types are the hook's choice: anything that serde can read and that has a [`Kind`], which the
//! types of `k8s-openapi` have with the feature of that name; or [`Object`] for any kind.
//!
//! ```no_run
//! use boathook_sdk::prelude::*;
//! # #[cfg(feature = "k8s-openapi")]
//! # fn run() -> Result<()> {
//! use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
//!
//! let secret: Secret = kube::get("default", "token")?;
//! for pod in kube::list::<Pod>().namespace("web").labels("app=shop") {
//!     log::info!("{:?}", pod?.metadata.name);
//! }
//! kube::apply(&ConfigMap { metadata: secret.metadata, ..Default::default() })?;
//! # Ok(())
//! # }
//! ```

mod error;
mod head;
mod list;
mod object;
mod operation;

pub use error::{Error, Reason};
pub use list::{List, ListIter, list, list_objects};
pub use object::{Kind, Object, ObjectRef};
pub use operation::{IfExists, Operation, Propagation, batch};

use crate::bindings::boathook::hook::kube as wire;
use crate::data::{Json, decode};
use crate::host;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads an object. The namespace is `None` for cluster-scoped kinds.
pub fn get<'a, T>(namespace: impl Into<Option<&'a str>>, name: &str) -> Result<T, Error>
where
    T: Kind + DeserializeOwned,
{
    get_object(&ObjectRef::of::<T>(namespace, name))
}

/// Reads an object that may be missing.
pub fn find<'a, T>(namespace: impl Into<Option<&'a str>>, name: &str) -> Result<Option<T>, Error>
where
    T: Kind + DeserializeOwned,
{
    found(get(namespace, name))
}

/// Reads an object of any kind as a `T`, such as [`Object`].
pub fn get_object<T: DeserializeOwned>(target: &ObjectRef) -> Result<T, Error> {
    let text = host::get(&target.to_wire(), None)?;
    decode(&text, || target.to_string()).map_err(Error::from_data)
}

/// Reads an object of any kind that may be missing.
pub fn find_object<T: DeserializeOwned>(target: &ObjectRef) -> Result<Option<T>, Error> {
    found(get_object(target))
}

/// Reads a subresource, such as `scale`.
pub fn get_subresource<T: DeserializeOwned>(target: &ObjectRef, subresource: &str) -> Result<T, Error> {
    let text = host::get(&target.to_wire(), Some(subresource))?;
    decode(&text, || format!("{subresource} of {target}")).map_err(Error::from_data)
}

/// Creates an object, which must not exist; [`Operation::if_exists`] knows other ways.
pub fn create<T: Kind + Serialize>(object: &T) -> Result<Json, Error> {
    answered(Operation::create(object).run()?)
}

/// Replaces an object. With `metadata.resourceVersion`, it does so only if that version is still current.
pub fn update<T: Kind + Serialize>(object: &T) -> Result<Json, Error> {
    answered(Operation::update(object).run()?)
}

/// Makes an object have these fields by server-side apply, taking them over from others if need
/// be; creates it when it is missing. [`Operation::apply`] can also leave them to others.
pub fn apply<T: Kind + Serialize>(object: &T) -> Result<Json, Error> {
    answered(Operation::apply(object).force().run()?)
}

/// Deletes an object, if it is there.
pub fn delete<'a, T: Kind>(namespace: impl Into<Option<&'a str>>, name: &str) -> Result<(), Error> {
    Operation::delete(ObjectRef::of::<T>(namespace, name)).ignore_missing().run().map(drop)
}

/// How an Event is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// Information.
    Normal,
    /// Something to look at.
    Warning,
}

/// Creates a Kubernetes Event about an object; people see it with `kubectl describe`.
///
/// `reason` is one word in CamelCase, `note` a sentence.
pub fn emit_event(regarding: &ObjectRef, event_type: EventType, reason: &str, note: &str) -> Result<(), Error> {
    let event_type = match event_type {
        EventType::Normal => wire::EventType::Normal,
        EventType::Warning => wire::EventType::Warning,
    };
    Ok(host::emit_event(&regarding.to_wire(), event_type, reason, note)?)
}

fn found<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(object) => Ok(Some(object)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn answered(answer: Option<Json>) -> Result<Json, Error> {
    answer.ok_or_else(|| Error::new(Reason::Other, "the host answered without an object"))
}
