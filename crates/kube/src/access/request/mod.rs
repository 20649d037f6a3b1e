//! Turns a hook's call into a checked request: names, kind, place and grants.
//!
//! What is checked here is what is sent. Only the identity of a body is parsed.

mod head;

use std::{fmt, sync::Arc};

pub(super) use head::Head;

use boathook_core::model::{CallError, CallReason, Caller, ObjectRef, Resource};

use super::{
    Access, errors,
    grants::{self, Reach, ResourceAttributes},
    text::{self, clipped, quoted},
};
use crate::discovery::DiscoveryError;

/// An object, or a collection if there is no name, as the hook named it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub namespace: Option<&'a str>,
    pub name: Option<&'a str>,
    pub subresource: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub fn object(target: &'a ObjectRef, subresource: Option<&'a str>) -> Self {
        Self {
            api_version: &target.api_version,
            kind: &target.kind,
            // Some languages pass an absent namespace as an empty text.
            namespace: target.namespace.as_deref().filter(|namespace| !namespace.is_empty()),
            name: Some(&target.name),
            subresource,
        }
    }

    /// Rejects names that are not possible in Kubernetes.
    pub fn check(&self) -> Result<(), CallError> {
        text::check("apiVersion", self.api_version)?;
        text::check("kind", self.kind)?;
        for (what, value) in [("namespace", self.namespace), ("name", self.name), ("subresource", self.subresource)] {
            value.map_or(Ok(()), |value| text::check_segment(what, value))?;
        }
        Ok(())
    }
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", clipped(self.api_version), clipped(self.kind))?;
        match (self.namespace, self.name) {
            (Some(namespace), Some(name)) => write!(f, " {}/{}", clipped(namespace), clipped(name))?,
            (None, Some(name)) => write!(f, " {}", clipped(name))?,
            (Some(namespace), None) => write!(f, " in namespace {}", clipped(namespace))?,
            (None, None) => {}
        }
        self.subresource.map_or(Ok(()), |subresource| write!(f, " ({})", clipped(subresource)))
    }
}

/// A place in the API: an object, its subresource, or a collection.
#[derive(Debug, Clone)]
pub(super) struct ResourcePath<'a> {
    pub resource: Arc<Resource>,
    pub named: Named<'a>,
}

impl<'a> ResourcePath<'a> {
    /// The path with `query`, which is already encoded and may be empty.
    pub fn uri(&self, query: &str) -> String {
        self.with_query(self.named.name, query)
    }

    /// The path of the collection that contains the object.
    pub fn collection_uri(&self, query: &str) -> String {
        self.with_query(None, query)
    }

    fn with_query(&self, name: Option<&str>, query: &str) -> String {
        let mut uri = self.resource.path(self.named.namespace, name, self.named.subresource);
        if !query.is_empty() {
            uri.push('?');
            uri.push_str(query);
        }
        uri
    }

    fn subject(&self) -> ResourceAttributes<'_> {
        ResourceAttributes {
            group: &self.resource.group,
            resource: &self.resource.plural,
            subresource: self.named.subresource,
            reach: match (self.resource.namespaced, self.named.namespace) {
                (false, _) => Reach::Cluster,
                (true, None) => Reach::AllNamespaces,
                (true, Some(namespace)) => Reach::Namespace(namespace),
            },
            name: self.named.name,
        }
    }

    /// Refuses the request unless every verb is granted.
    pub fn require(&self, caller: &Caller, verbs: &[&str]) -> Result<(), CallError> {
        require(caller, verbs, &self.subject())
    }

    /// The same for a list, which a field selector can narrow to one name.
    pub fn require_list(&self, caller: &Caller, field_selector: Option<&str>) -> Result<(), CallError> {
        let name = field_selector.and_then(text::selected_name);
        require(caller, &["list"], &ResourceAttributes { name, ..self.subject() })
    }
}

/// Refuses the request unless every verb is granted. The message names the verbs that are not.
pub(super) fn require(caller: &Caller, verbs: &[&str], subject: &ResourceAttributes<'_>) -> Result<(), CallError> {
    let missing: Vec<&str> =
        verbs.iter().copied().filter(|verb| !grants::allows(&caller.permissions, verb, subject)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(errors::refused(CallReason::ForbiddenByGrant, grants::refusal(&caller.hook, &missing, subject)))
}

impl Access {
    /// The place of one object. It has a namespace exactly if its kind is namespaced.
    pub(super) async fn place<'a>(&self, named: Named<'a>) -> Result<ResourcePath<'a>, CallError> {
        let place = self.collection(named).await?;
        if place.resource.namespaced && named.namespace.is_none() {
            return Err(errors::invalid(format!("{named}: {} is namespaced; set metadata.namespace", named.kind)));
        }
        Ok(place)
    }

    /// The place of a collection. Without a namespace, it covers all namespaces.
    pub(super) async fn collection<'a>(&self, named: Named<'a>) -> Result<ResourcePath<'a>, CallError> {
        named.check()?;
        let place = ResourcePath { resource: self.resource(&named).await?, named };
        match named.namespace {
            Some(namespace) if !place.resource.namespaced => Err(errors::invalid(format!(
                "{named}: {} is cluster-scoped; leave the namespace {} out",
                named.kind,
                quoted(namespace)
            ))),
            _ => Ok(place),
        }
    }

    async fn resource(&self, named: &Named<'_>) -> Result<Arc<Resource>, CallError> {
        self.within_time(named, self.discovery.resolve(named.api_version, named.kind)).await
    }

    /// Waits for discovery as long as for a request. `named` appears in errors.
    pub(super) async fn within_time<T>(
        &self,
        named: &impl fmt::Display,
        found: impl Future<Output = Result<T, DiscoveryError>>,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(self.config.request_timeout, found).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error @ DiscoveryError::Unknown { .. })) => Err(errors::invalid(format!("{named}: {error}"))),
            Ok(Err(error)) => Err(errors::refused(
                CallReason::Unavailable,
                format!("{named}: {}", boathook_core::model::error_chain(&error)),
            )),
            Err(_) => Err(errors::refused(
                CallReason::Unavailable,
                format!(
                    "{named}: the API server did not say what kinds it serves within {:?}",
                    self.config.request_timeout
                ),
            )),
        }
    }
}
