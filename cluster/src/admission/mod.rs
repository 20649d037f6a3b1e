//! Admission by webhooks: which ones are called for a request, in which order, and the result. Webhooks are never
//! called for the configurations of webhooks.

mod conditions;
mod hooks;
mod matching;
mod mutating;
mod review;
mod validating;
mod versions;

use std::sync::Arc;

use serde_json::Value;

use crate::auth::user::User;
use crate::kinds::{Registry, Resource, Sub};
use crate::shared::Shared;
use crate::status::Failure;
use hooks::Hook;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The attributes of a request, as webhooks receive them.
pub(crate) struct Attributes<'a> {
    pub shared: &'a Shared,
    pub resource: &'a Arc<Resource>,
    pub sub: Option<Sub>,
    pub operation: Operation,
    pub namespace: String,
    /// Empty until a name is generated.
    pub name: String,
    pub user: &'a User,
    pub dry_run: bool,
    /// `CreateOptions` and similar.
    pub options: Value,
}

impl Attributes<'_> {
    pub(crate) fn sub_name(&self) -> &'static str {
        self.sub.map_or("", Sub::name)
    }

    /// Group, version and kind of the request's body.
    fn kind<'r>(&self, resource: &'r Resource) -> (&'r str, &'r str, &'r str) {
        match self.sub {
            Some(Sub::Scale) => ("autoscaling", "v1", "Scale"),
            Some(Sub::Eviction) => ("policy", "v1", "Eviction"),
            Some(Sub::Binding) => ("", "v1", "Binding"),
            Some(Sub::Token) => ("authentication.k8s.io", "v1", "TokenRequest"),
            _ => (&resource.group, &resource.version, &resource.kind),
        }
    }

    /// Whether the body is an object of the resource, and therefore has its versions.
    fn is_versioned(&self) -> bool {
        !matches!(self.sub, Some(Sub::Scale | Sub::Eviction | Sub::Binding | Sub::Token))
    }
}

/// The webhooks to call for a request, and their warnings so far.
pub(crate) struct Admission<'a> {
    pub attributes: Attributes<'a>,
    registry: Arc<Registry>,
    mutating: Vec<Hook>,
    validating: Vec<Hook>,
    warnings: Vec<String>,
}

impl<'a> Admission<'a> {
    pub(crate) fn new(attributes: Attributes<'a>) -> Self {
        let exempt = attributes.resource.group == "admissionregistration.k8s.io";
        let hooks = |storage| if exempt { Vec::new() } else { hooks::all(attributes.shared, storage) };
        let (mutating, validating) = (hooks(hooks::MUTATING), hooks(hooks::VALIDATING));
        Self { registry: attributes.shared.registry(), mutating, validating, attributes, warnings: Vec::new() }
    }

    /// Whether there is a webhook that may change the object.
    pub(crate) fn mutates(&self) -> bool {
        !self.mutating.is_empty()
    }

    /// Whether there is a webhook that may reject the object.
    pub(crate) fn validates(&self) -> bool {
        !self.validating.is_empty()
    }

    /// The warnings of the webhooks, without duplicates.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Sets a name that was generated after the mutating webhooks.
    pub(crate) fn name_if_none(&mut self, name: &str) {
        if self.attributes.name.is_empty() {
            name.clone_into(&mut self.attributes.name);
        }
    }

    fn warn(&mut self, warnings: Vec<String>) {
        for warning in warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// The object after all mutating webhooks. Objects are in the version of the request.
    pub(crate) async fn mutate(
        &mut self,
        object: Option<Value>,
        old: Option<&Value>,
    ) -> Result<Option<Value>, Failure> {
        let result = mutating::run(self, object, old).await;
        result.map_err(|failure| self.complete(failure))
    }

    /// Calls all validating webhooks at once. Objects are in the version of the request.
    pub(crate) async fn validate(&mut self, object: Option<&Value>, old: Option<&Value>) -> Result<(), Failure> {
        let result = validating::run(self, object, old).await;
        result.map_err(|failure| self.complete(failure))
    }

    /// A rejection also contains the warnings.
    fn complete(&self, failure: Failure) -> Failure {
        failure.after_warnings(&self.warnings)
    }
}
