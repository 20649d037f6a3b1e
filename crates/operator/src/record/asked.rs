//! The request to a hook and its answer, for each of the hook's exports.

use boathook_core::model::{BindingName, Caller, Limits, Reviewed};
use boathook_sandbox::{ConversionRequest, Host, LoadedHook, ReviewRequest, RunReport, RunRequest, Sandbox};

/// One call of a hook.
#[derive(Debug, Clone)]
pub enum Asked {
    /// `run`
    Run(RunRequest),
    /// `validate` or `mutate`
    Review(ReviewRequest),
    /// `convert`
    Conversion(ConversionRequest),
}

/// The result of a call that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A run has no result except what it did.
    Nothing,
    Review(Reviewed),
    /// Objects in another version.
    Objects(Vec<String>),
}

impl Asked {
    /// The caller of the hook's host calls.
    pub fn caller(&self) -> &Caller {
        match self {
            Self::Run(request) => &request.caller,
            Self::Review(request) => &request.caller,
            Self::Conversion(request) => &request.caller,
        }
    }

    /// The limits of the call.
    pub fn limits(&self) -> Limits {
        match self {
            Self::Run(request) => request.limits,
            Self::Review(request) => request.limits,
            Self::Conversion(request) => request.limits,
        }
    }

    /// The attempt, counted from 1. Answers have only one attempt.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Run(request) => request.attempt,
            Self::Review(_) | Self::Conversion(_) => 1,
        }
    }

    /// The binding of the call, or the first of several.
    pub fn binding(&self) -> Option<&BindingName> {
        match self {
            Self::Run(request) => request.triggers.first().map(|trigger| &trigger.binding),
            Self::Review(request) => Some(&request.review.binding),
            Self::Conversion(request) => Some(&request.conversion.binding),
        }
    }

    pub(super) async fn call(
        self,
        sandbox: &Sandbox,
        hook: &LoadedHook,
        host: std::sync::Arc<dyn Host>,
    ) -> RunReport<Given> {
        match self {
            Self::Run(request) => sandbox.run(hook, request, host).await.map(Given::from),
            Self::Review(request) => sandbox.review(hook, request, host).await.map(Given::from),
            Self::Conversion(request) => sandbox.convert(hook, request, host).await.map(Given::from),
        }
    }
}

impl From<RunRequest> for Asked {
    fn from(request: RunRequest) -> Self {
        Self::Run(request)
    }
}

impl From<ReviewRequest> for Asked {
    fn from(request: ReviewRequest) -> Self {
        Self::Review(request)
    }
}

impl From<ConversionRequest> for Asked {
    fn from(request: ConversionRequest) -> Self {
        Self::Conversion(request)
    }
}

impl From<()> for Given {
    fn from((): ()) -> Self {
        Self::Nothing
    }
}

impl From<Reviewed> for Given {
    fn from(reviewed: Reviewed) -> Self {
        Self::Review(reviewed)
    }
}

impl From<Vec<String>> for Given {
    fn from(objects: Vec<String>) -> Self {
        Self::Objects(objects)
    }
}
