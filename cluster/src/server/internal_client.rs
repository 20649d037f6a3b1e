//! Writes of the cluster's own controllers. They pass webhooks, conversion and validation like every request, but not
//! RBAC, because controllers may do everything.

use std::sync::Arc;

use serde_json::Value;

use super::call::{Call, Params};
use super::delete::admitted;
use super::respond::Accept;
use super::write;
use crate::auth::User;
use crate::context::{Context, Validation};
use crate::json;
use crate::kinds::{Resource, Sub};
use crate::lifecycle::create::Origin;
use crate::lifecycle::delete::{DeleteOptions, Preconditions, Propagation, delete};
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::Stored;

/// How often a change is retried when others write the same object.
const ATTEMPTS: usize = 100;

/// A client for one of the cluster's own parts.
pub(crate) struct InternalClient {
    user: User,
    manager: &'static str,
    params: Params,
}

impl InternalClient {
    /// A client with this user and this field manager.
    pub(crate) fn new(user: User, manager: &'static str) -> Self {
        Self { user, manager, params: Params::default() }
    }

    fn context(&self) -> Context {
        let (now, manager) = (crate::time::now(), self.manager.to_owned());
        Context { now, manager, dry_run: false, validation: Validation::Ignore }
    }

    fn call<'a>(
        &'a self,
        shared: &'a Arc<Shared>,
        resource: &'a Arc<Resource>,
        (namespace, name): (&'a str, &'a str),
        sub: Option<Sub>,
    ) -> Call<'a> {
        Call { shared, resource, namespace, name, sub, params: &self.params, accept: &Accept::JSON, user: &self.user }
    }

    pub(crate) async fn create(
        &self,
        shared: &Arc<Shared>,
        resource: &Arc<Resource>,
        namespace: &str,
        object: Value,
    ) -> Result<Arc<Stored>, Failure> {
        let call = self.call(shared, resource, (namespace, ""), None);
        write::insert(&call, object, Origin::Put, &self.context()).await.map(|(stored, _)| stored)
    }

    /// Changes an object if it still has this uid, and returns the new state. None if it is gone.
    pub(crate) async fn change(
        &self,
        shared: &Arc<Shared>,
        resource: &Arc<Resource>,
        object: &Value,
        sub: Option<Sub>,
        change: impl Fn(&mut Value) + Send,
    ) -> Result<Option<Value>, Failure> {
        let text = |key: &str| json::text(object, &["metadata", key]);
        let call = self.call(shared, resource, (text("namespace"), text("name")), sub);
        for _ in 0..ATTEMPTS {
            let Some(current) = call.find().await?.filter(|found| *found.raw.uid == *text("uid")) else {
                return Ok(None);
            };
            let old = current.seen.value();
            let mut new = old.clone();
            change(&mut new);
            if new == old {
                return Ok(Some(old));
            }
            let written = write::write(&call, &current, Origin::Put, &self.context(), |_| Ok(new)).await?;
            if let Some((stored, _)) = written {
                return Ok(Some(stored.value()));
            }
        }
        Err(Failure::modified(resource.gr(), text("name")))
    }

    /// Removes an object, if it still has this uid.
    pub(crate) async fn remove(
        &self,
        shared: &Arc<Shared>,
        resource: &Arc<Resource>,
        object: &Value,
    ) -> Result<(), Failure> {
        let text = |key: &str| json::text(object, &["metadata", key]);
        let call = self.call(shared, resource, (text("namespace"), text("name")), None);
        let Some(current) = call.find().await?.filter(|found| *found.raw.uid == *text("uid")) else { return Ok(()) };
        admitted(&call, &Value::Null, &current.seen, &self.context()).await?;
        let preconditions = Preconditions { uid: Some(text("uid").to_owned()), resource_version: None };
        let options = DeleteOptions { preconditions, propagation: Some(Propagation::Background), grace: None };
        match delete(shared, resource, &call.key(), &options, &self.context()) {
            // Another client removed it in the meantime.
            Err(failure) if matches!(failure.code(), 404 | 409) => Ok(()),
            ended => ended.map(drop),
        }
    }
}
