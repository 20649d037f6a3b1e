//! One request of the API server, made by hand: a review or a conversion. It is answered as the webhook server would
//! answer it. Nothing is registered, and no webhook is called.

use std::{sync::Arc, time::Duration};

use boathook_core::model::{AdmissionBinding, AdmissionKind, ConversionBinding, HookName, HookSpec, Reviewed};
use serde_json::Value;

use super::{super::App, OnceError};
use crate::webhook::{AdmissionRequest, ConversionRequest, Converted, Versioned};

/// How long an API server waits for a conversion.
const CONVERSION: Duration = Duration::from_secs(30);
/// The uid of a request that has none.
const UID: &str = "by-hand";

/// A request to a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// The review of an `AdmissionRequest`.
    Review {
        /// The kind of binding that answers.
        kind: AdmissionKind,
        binding: String,
        /// The request. It has at least an `operation`.
        request: Value,
    },
    /// The conversion of objects to another version.
    Conversion {
        binding: String,
        /// `v1` or `stable.example.com/v1`.
        to: String,
        /// The objects, in any versions.
        objects: Vec<Value>,
    },
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    Reviewed(Reviewed),
    /// The objects, in order.
    Converted(Vec<String>),
    /// The hook says that the conversion is not possible.
    Refused(String),
    /// There is no answer, because the hook failed or took too long. For a review, the binding's `failurePolicy` would
    /// decide.
    Failed(String),
}

impl Question {
    /// Checks that the hook has such a binding. The error names those that it has.
    pub fn check(&self, spec: &HookSpec) -> Result<(), OnceError> {
        match self {
            Self::Review { kind, binding, .. } => review(spec, *kind, binding).map(drop),
            Self::Conversion { binding, .. } => conversion(spec, binding).map(drop),
        }
    }
}

impl App {
    /// Gets the hook's answer. It waits until the hook knows the objects of its snapshots.
    pub async fn answer_once(&self, hook: &HookName, question: &Question) -> Result<Answered, OnceError> {
        let loaded = self.hook_registry.hook(hook).ok_or_else(|| OnceError::NotLoaded(hook.clone()))?;
        let (spec, answerer) = (&loaded.spec, self.answerer());
        match question {
            Question::Review { kind, binding, request } => {
                let bound = review(spec, *kind, binding)?;
                let asked = answerer.review(*kind, hook.as_str(), binding, admission(request), bound.timeout).await;
                Ok(asked.map_or_else(|error| Answered::Failed(error.to_string()), Answered::Reviewed))
            }
            Question::Conversion { binding, to, objects } => {
                let crd = conversion(spec, binding)?.crd.to_string();
                let request = wanted(crd, to, objects);
                Ok(match answerer.convert(request, CONVERSION).await {
                    Ok(Converted::Objects(objects)) => Answered::Converted(objects),
                    Ok(Converted::Failed(text)) => Answered::Refused(text),
                    Err(error) => Answered::Failed(error.to_string()),
                })
            }
        }
    }
}

fn review<'s>(spec: &'s HookSpec, kind: AdmissionKind, name: &str) -> Result<&'s AdmissionBinding, OnceError> {
    let of_kind = || spec.admission.iter().filter(move |binding| binding.kind == kind);
    let what = match kind {
        AdmissionKind::Validating => "a validating review",
        AdmissionKind::Mutating => "a mutating review",
    };
    let names = of_kind().map(|binding| binding.name.to_string()).collect();
    of_kind().find(|binding| binding.name.as_str() == name).ok_or_else(|| none(spec, name, what, names))
}

fn conversion<'s>(spec: &'s HookSpec, name: &str) -> Result<&'s ConversionBinding, OnceError> {
    let names = spec.conversions.iter().map(|binding| binding.name.to_string()).collect();
    let found = spec.conversions.iter().find(|binding| binding.name.as_str() == name);
    found.ok_or_else(|| none(spec, name, "a conversion", names))
}

fn none(spec: &HookSpec, name: &str, what: &'static str, names: Vec<String>) -> OnceError {
    let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    OnceError::NoBinding { hook: spec.name.clone(), name: name.to_owned(), what, has }
}

fn admission(request: &Value) -> AdmissionRequest {
    let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (mut uid, mut request) = (text("uid"), request.clone());
    if uid.is_empty() {
        uid = UID.to_owned();
        if let Some(fields) = request.as_object_mut() {
            fields.insert("uid".to_owned(), UID.into());
        }
    }
    AdmissionRequest {
        uid,
        dry_run: request.get("dryRun").and_then(Value::as_bool).unwrap_or_default(),
        operation: request.get("operation").and_then(Value::as_str).unwrap_or_default().to_owned(),
        has_object: request.get("object").is_some_and(Value::is_object),
        by_hand: true,
        json: Arc::from(request.to_string()),
    }
}

fn wanted(crd: String, to: &str, objects: &[Value]) -> ConversionRequest {
    let version = |object: &Value| object.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    let group = crd.split_once('.').map_or("", |(_, group)| group);
    let desired = if to.contains('/') { to.to_owned() } else { format!("{group}/{to}") };
    let objects = objects.iter().map(|object| Versioned { api_version: version(object), json: object.to_string() });
    ConversionRequest { objects: objects.collect(), desired, uid: UID.to_owned(), crd }
}
