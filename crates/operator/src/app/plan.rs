//! What differs in a plan: effects are reported, and a failed run is not retried.

use std::sync::Arc;

use boathook_core::{
    effect::Sink,
    model::{Failure, FailureKind, Outcome},
};
use boathook_kube::access::Observer;

/// Passes on the effects of writes.
pub(super) struct Effects(pub Option<Arc<dyn Sink>>);

impl Observer for Effects {
    fn effects(&self) -> Option<&dyn Sink> {
        self.0.as_deref()
    }
}

/// A planned run that failed would fail again for the same reason, because nothing that it wrote is stored. It becomes
/// a dead letter at once.
pub(super) fn once_only(outcome: Outcome) -> Outcome {
    outcome.map_err(|failure| match failure.kind {
        FailureKind::Permanent | FailureKind::Interrupted => failure,
        _ => {
            let message = format!("{} (a plan tries no run again)", failure.message);
            Failure { kind: FailureKind::Permanent, message, ..failure }
        }
    })
}
