//! The API server's questions and a hook's answers in the form of the record, and the conversion back.

use std::time::Duration;

use boathook_core::model::{
    AdmissionKind, BindingName, Caller, Conversion, ConversionRule, Denial, Limits, Mutation, Review, Reviewed, Verdict,
};
use boathook_sandbox::{ConversionRequest, ReviewRequest};
use serde::{Deserialize, Serialize};

use super::{
    asked::{Asked, Given},
    trigger::RecordedBinding,
};

/// A question of the API server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedQuestion {
    /// The binding that answers.
    pub binding: RecordedBinding,
    /// The snapshots that the hook may open.
    pub snapshots: Vec<RecordedBinding>,
    /// The question itself.
    pub asks: Asks,
}

/// One kind of question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Asks {
    /// Whether a request is allowed.
    Validating {
        /// An `AdmissionRequest` as JSON.
        request: String,
    },
    /// Whether a request is allowed, and how its object changes.
    Mutating {
        /// An `AdmissionRequest` as JSON.
        request: String,
    },
    /// How objects look in another version.
    Conversion {
        /// The version of the objects.
        from: String,
        /// The other version.
        to: String,
        /// The objects as JSON.
        objects: Vec<String>,
    },
}

/// A hook's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RecordedAnswer {
    /// A decision.
    Review {
        /// Absent if the request is allowed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        denied: Option<RecordedDenial>,
        /// Warnings for the user who made the request.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
        /// Annotations for the audit log.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        audit_annotations: Vec<(String, String)>,
        /// A JSON Patch of the object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        patch: Option<String>,
        /// The whole new object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        object: Option<String>,
    },
    /// Converted objects.
    Objects {
        /// The objects as JSON.
        objects: Vec<String>,
    },
}

/// Why a request was denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedDenial {
    /// The message for the user who made the request.
    pub message: String,
    /// The HTTP status.
    pub code: Option<u16>,
    /// The reason in the words of Kubernetes.
    pub reason: Option<String>,
}

impl RecordedQuestion {
    /// The question of a call, if it has one.
    pub(super) fn of(asked: &Asked) -> Option<Self> {
        let (binding, snapshots, asks) = match asked {
            Asked::Run(_) => return None,
            Asked::Review(ReviewRequest { review, snapshots, .. }) => {
                let request = review.request.to_string();
                let asks = match review.kind {
                    AdmissionKind::Validating => Asks::Validating { request },
                    AdmissionKind::Mutating => Asks::Mutating { request },
                };
                (&review.binding, snapshots, asks)
            }
            Asked::Conversion(ConversionRequest { conversion, snapshots, .. }) => {
                let Conversion { rule, objects, .. } = conversion;
                let (from, to) = (rule.from.to_string(), rule.to.to_string());
                (&conversion.binding, snapshots, Asks::Conversion { from, to, objects: objects.clone() })
            }
        };
        let snapshots = snapshots.iter().map(RecordedBinding::from).collect();
        Some(Self { binding: binding.into(), snapshots, asks })
    }

    /// Makes the question again for a replay.
    pub(super) fn restore(&self, caller: Caller, limits: Limits) -> Asked {
        // Nobody waits for the answer.
        let patience = Duration::MAX;
        let binding = BindingName::from(&self.binding);
        let snapshots = self.snapshots.iter().map(BindingName::from).collect();
        let review = |kind, binding, request: &String| {
            let review = Review { kind, binding, request: request.as_str().into(), dry_run: caller.dry_run };
            ReviewRequest { caller: caller.clone(), review, snapshots, limits, patience }
        };
        match &self.asks {
            Asks::Validating { request } => Asked::Review(review(AdmissionKind::Validating, binding, request)),
            Asks::Mutating { request } => Asked::Review(review(AdmissionKind::Mutating, binding, request)),
            Asks::Conversion { from, to, objects } => {
                let rule = ConversionRule { from: from.as_str().into(), to: to.as_str().into() };
                let conversion = Conversion { binding, rule, objects: objects.clone() };
                let snapshots = self.snapshots.iter().map(BindingName::from).collect();
                Asked::Conversion(ConversionRequest { caller, conversion, snapshots, limits, patience })
            }
        }
    }

    /// The texts of the objects. Those in an `AdmissionRequest` are one text.
    pub(super) fn texts(&mut self) -> &mut [String] {
        match &mut self.asks {
            Asks::Validating { request } | Asks::Mutating { request } => std::slice::from_mut(request),
            Asks::Conversion { objects, .. } => objects,
        }
    }

    /// The approximate size of the objects in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.asks {
            Asks::Validating { request } | Asks::Mutating { request } => request.len(),
            Asks::Conversion { objects, .. } => objects.iter().map(String::len).sum(),
        }
    }
}

impl RecordedAnswer {
    /// The answer in a result, if there is one.
    pub(super) fn of(given: &Given) -> Option<Self> {
        match given {
            Given::Nothing => None,
            Given::Objects(objects) => Some(Self::Objects { objects: objects.clone() }),
            Given::Review(Reviewed { verdict, mutation }) => {
                let Verdict { denied, warnings, audit_annotations } = verdict.clone();
                let denied = denied.map(|Denial { message, code, reason }| RecordedDenial { message, code, reason });
                let (patch, object) = match mutation.clone() {
                    Mutation::Unchanged => (None, None),
                    Mutation::JsonPatch(patch) => (Some(patch), None),
                    Mutation::Object(object) => (None, Some(object)),
                };
                Some(Self::Review { denied, warnings, audit_annotations, patch, object })
            }
        }
    }

    /// The approximate size of the objects in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Review { patch, object, .. } => [patch, object].into_iter().flatten().map(String::len).sum(),
            Self::Objects { objects } => objects.iter().map(String::len).sum(),
        }
    }
}
