//! The versions of kinds that are stored in another version: conversion in both directions. Custom objects are
//! converted elsewhere.

use serde_json::Value;

use super::shape::Shape;
use super::{Conversion, Resource, autoscaler, events};

/// One version of a kind.
#[derive(Clone, Copy)]
pub(crate) struct Form<'a> {
    conversion: Conversion,
    pub shape: Shape<'a>,
}

impl Form<'_> {
    /// A stored object in this version.
    pub(crate) fn show(&self, object: &Value) -> Value {
        let mut shown = object.clone();
        match self.conversion {
            Conversion::Events => events::from_core(&mut shown),
            Conversion::Autoscaler => autoscaler::to_v1(&mut shown),
            Conversion::Same | Conversion::ApiVersion => {}
        }
        shown
    }

    /// Converts an object of this version to the storage version.
    pub(crate) fn store(&self, object: &mut Value) {
        match self.conversion {
            Conversion::Events => events::to_core(object),
            Conversion::Autoscaler => autoscaler::to_v2(object),
            Conversion::Same | Conversion::ApiVersion => {}
        }
    }
}

impl Resource {
    /// The version of this kind that `api_version` names.
    pub(crate) fn form(&self, api_version: &str) -> Form<'_> {
        let conversion = match (&*self.storage, api_version) {
            ("events", "events.k8s.io/v1") => Conversion::Events,
            ("horizontalpodautoscalers.autoscaling", "autoscaling/v1") => Conversion::Autoscaler,
            _ => return Form { conversion: Conversion::Same, shape: Shape::of(self) },
        };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let ty = self.schema.of_kind(group, version, &self.kind).and_then(|index| self.schema.get(index));
        let shape = ty.map_or(Shape::Unknown, |ty| Shape::Root { schema: &self.schema, ty });
        Form { conversion, shape }
    }
}
