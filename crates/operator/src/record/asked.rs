//! What a hook is asked and what it gives, whichever of its exports is called.
//!
//! Never knows how that is written down.

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

/// What a call gave, if it came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// A run gives nothing but what it did.
    Nothing,
    /// A decision.
    Review(Reviewed),
    /// Objects in another version.
    Objects(Vec<String>),
}

impl Asked {
    /// On whose behalf.
    pub fn caller(&self) -> &Caller {
        match self {
            Self::Run(request) => &request.caller,
            Self::Review(request) => &request.caller,
            Self::Conversion(request) => &request.caller,
        }
    }

    /// What it may take.
    pub fn limits(&self) -> Limits {
        match self {
            Self::Run(request) => request.limits,
            Self::Review(request) => request.limits,
            Self::Conversion(request) => request.limits,
        }
    }

    /// 1 for the first try; answers are tried once.
    pub fn attempt(&self) -> u32 {
        match self {
            Self::Run(request) => request.attempt,
            Self::Review(_) | Self::Conversion(_) => 1,
        }
    }

    /// The binding that it is about, or the first of several.
    pub fn binding(&self) -> Option<&BindingName> {
        match self {
            Self::Run(request) => request.triggers.first().map(|trigger| &trigger.binding),
            Self::Review(request) => Some(&request.review.binding),
            Self::Conversion(request) => Some(&request.conversion.binding),
        }
    }

    /// Calls the hook.
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
