//! Admission by webhooks: who is asked about a request, in which order, and what comes of it.
//!
//! Never stores anything, and never asks a webhook about the configurations of webhooks.

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

/// What is done to an object.
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

/// What a request asks for, as webhooks are told.
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
    /// CreateOptions and the like.
    pub options: Value,
}

impl Attributes<'_> {
    pub(crate) fn sub_name(&self) -> &'static str {
        self.sub.map_or("", Sub::name)
    }

    /// Group, version and kind of the body of the request.
    fn kind<'r>(&self, resource: &'r Resource) -> (&'r str, &'r str, &'r str) {
        match self.sub {
            Some(Sub::Scale) => ("autoscaling", "v1", "Scale"),
            Some(Sub::Eviction) => ("policy", "v1", "Eviction"),
            Some(Sub::Binding) => ("", "v1", "Binding"),
            Some(Sub::Token) => ("authentication.k8s.io", "v1", "TokenRequest"),
            _ => (&resource.group, &resource.version, &resource.kind),
        }
    }

    /// Whether the body is an object of the resource, and so has its versions.
    fn is_versioned(&self) -> bool {
        !matches!(self.sub, Some(Sub::Scale | Sub::Eviction | Sub::Binding | Sub::Token))
    }
}

/// The webhooks that are to be asked about a request, and what they warned about so far.
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

    /// Whether any webhook may want to change the object.
    pub(crate) fn mutates(&self) -> bool {
        !self.mutating.is_empty()
    }

    /// Whether any webhook may have something against the object.
    pub(crate) fn validates(&self) -> bool {
        !self.validating.is_empty()
    }

    /// What webhooks warned about, each once.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// A name that was generated after the mutating webhooks.
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

    /// The object as all mutating webhooks leave it. Objects are in the version of the request.
    pub(crate) async fn mutate(
        &mut self,
        object: Option<Value>,
        old: Option<&Value>,
    ) -> Result<Option<Value>, Failure> {
        let result = mutating::run(self, object, old).await;
        result.map_err(|failure| self.complete(failure))
    }

    /// Asks all validating webhooks at once. Objects are in the version of the request.
    pub(crate) async fn validate(&mut self, object: Option<&Value>, old: Option<&Value>) -> Result<(), Failure> {
        let result = validating::run(self, object, old).await;
        result.map_err(|failure| self.complete(failure))
    }

    /// A refusal warns as well.
    fn complete(&self, failure: Failure) -> Failure {
        failure.after_warnings(&self.warnings)
    }
}
