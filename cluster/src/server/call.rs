//! One request to a resource, with everything that its handlers need, except the body.

use std::sync::Arc;

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderValue, Response};

use super::negotiate::Accept;
use super::params::Params;
use super::respond::Body;
use crate::auth::user::User;
use crate::context::Context;
use crate::conversion;
use crate::kinds::{Resource, Sub};
use crate::shared::Shared;
use crate::status::Failure;
use crate::store::{Stored, key};

pub(crate) struct Call<'a> {
    pub shared: &'a Arc<Shared>,
    pub resource: &'a Arc<Resource>,
    /// Empty for cluster-scoped resources and for all namespaces.
    pub namespace: &'a str,
    /// Empty for collections.
    pub name: &'a str,
    pub sub: Option<Sub>,
    pub params: &'a Params,
    pub accept: &'a Accept,
    pub user: &'a User,
}

pub(crate) struct Found {
    /// As it is stored.
    pub raw: Arc<Stored>,
    /// In the version of the request, if the resource has a converter.
    pub seen: Arc<Stored>,
}

impl Call<'_> {
    pub(crate) fn key(&self) -> String {
        key(self.namespace, self.name)
    }

    /// The object of the path, if it exists.
    pub(crate) async fn find(&self) -> Result<Option<Found>, Failure> {
        let Some(raw) = self.shared.store.get(&self.resource.storage, &self.key()) else {
            return Ok(None);
        };
        let seen = conversion::shown(self.shared, self.resource, raw.clone()).await?;
        Ok(Some(Found { raw, seen }))
    }

    /// The object of the path, which must exist.
    pub(crate) async fn found(&self) -> Result<Found, Failure> {
        let found = self.find().await?;
        found.ok_or_else(|| Failure::not_found(self.resource.gr(), self.name))
    }

    pub(crate) fn sub_name(&self) -> &'static str {
        self.sub.map_or("", Sub::name)
    }

    /// The context of a write. The manager is the fieldManager parameter, or the client's name from its User-Agent.
    pub(crate) fn context(&self, headers: &HeaderMap) -> Context {
        let manager = if self.params.field_manager.is_empty() {
            let agent = headers.get(USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or("unknown");
            agent.split('/').next().unwrap_or(agent).chars().take(128).collect()
        } else {
            self.params.field_manager.clone()
        };
        Context {
            now: crate::time::now(),
            manager,
            dry_run: self.params.dry_run,
            validation: self.params.field_validation,
        }
    }
}

/// Adds `Warning` headers, which kubectl prints.
pub(crate) fn warn(mut response: Response<Body>, warnings: &[impl AsRef<str>]) -> Response<Body> {
    for warning in warnings.iter().map(AsRef::as_ref) {
        let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
        if let Ok(value) = HeaderValue::from_str(&text) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
    response
}
