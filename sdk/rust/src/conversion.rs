//! Objects of a custom resource in another version.
//!
//! A hook with `kubernetesCustomResourceConversion` bindings has a function `convert`. It is pure: it reads nothing
//! but what it is given.
//!
//! ```
//! use boathook_sdk::prelude::*;
//! use boathook_sdk::serde_json::json;
//!
//! fn config() -> Config {
//!     let steps = Conversion::new("versions", "backups.example.com").step("v1beta1", "v1").step("v1", "v1beta1");
//!     Config::new().conversion(steps)
//! }
//!
//! /// v1beta1 has `spec.days`, v1 has `spec.hours`.
//! fn convert(request: conversion::Request) -> Result<conversion::Converted> {
//!     let to = request.to.clone();
//!     request.each(|backup| {
//!         let number = |value: Option<u64>| value.ok_or(Error::permanent("spec holds no number"));
//!         backup["spec"] = match to.as_str() {
//!             "v1" => json!({"hours": number(backup["spec"]["days"].as_u64())? * 24}),
//!             _ => json!({"days": number(backup["spec"]["hours"].as_u64())? / 24}),
//!         };
//!         Ok(())
//!     })
//! }
//!
//! boathook_sdk::hook!(config, convert = convert);
//! ```
//!
//! What a version cannot hold is best kept in an annotation, as otherwise who reads an object in that version and
//! writes it back loses it. Of `metadata` only labels and annotations may change.

use crate::data::{DataError, Json};
use crate::error::{Result, ResultExt as _};
use crate::kube::Object;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One question: objects of one version, wanted in another.
#[derive(Clone, Debug)]
pub struct Request {
    /// The binding that asks.
    pub binding: String,
    /// The version of the objects, like `v1beta1`: one step of the binding's.
    pub from: String,
    /// The version that is wanted.
    pub to: String,
    /// The objects.
    pub objects: Vec<Json>,
}

/// The answer: as many objects as there were, in their order.
#[derive(Clone, Debug)]
#[must_use = "it is only an answer when the function returns it"]
pub struct Converted(Vec<String>);

impl Request {
    pub(crate) fn new(binding: String, from: String, to: String, objects: Vec<String>) -> Self {
        Self { binding, from, to, objects: objects.into_iter().map(Json::new).collect() }
    }

    /// Converts each object in place. Its `apiVersion` is the wanted one already.
    pub fn each(&self, mut convert: impl FnMut(&mut Object) -> Result<()>) -> Result<Converted> {
        let mut texts = Vec::with_capacity(self.objects.len());
        for json in &self.objects {
            let mut object: Object = json.parse().context("an object")?;
            let version = match object.api_version().rsplit_once('/') {
                Some((group, _)) => format!("{group}/{}", self.to),
                None => self.to.clone(),
            };
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".to_owned(), Value::String(version));
            }
            convert(&mut object).with_context(|| object.object_ref())?;
            texts.push(text(&object)?);
        }
        Ok(Converted(texts))
    }

    /// Makes an object of another type of each. It must say its new `apiVersion` itself.
    pub fn map<T: DeserializeOwned, U: Serialize>(&self, convert: impl FnMut(T) -> Result<U>) -> Result<Converted> {
        let objects = self.objects.iter().map(|json| json.parse().map_err(Into::into));
        let texts = objects.map(into_mapped(convert)).collect::<Result<_>>()?;
        Ok(Converted(texts))
    }
}

fn into_mapped<T, U: Serialize>(mut convert: impl FnMut(T) -> Result<U>) -> impl FnMut(Result<T>) -> Result<String> {
    move |object| Ok(text(&convert(object?)?)?)
}

fn text<T: Serialize>(object: &T) -> Result<String, DataError> {
    serde_json::to_string(object).map_err(|error| DataError::unwritable("the converted object", error))
}

impl Converted {
    /// An answer of objects as JSON texts.
    pub fn of(objects: Vec<String>) -> Self {
        Self(objects)
    }

    pub(crate) fn into_texts(self) -> Vec<String> {
        self.0
    }
}
