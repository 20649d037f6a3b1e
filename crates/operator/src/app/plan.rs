//! What a plan changes: who is told of effects, and that a failed run is not tried again. Writes nothing.

use std::sync::Arc;

use boathook_core::{
    effect::Sink,
    model::{Failure, FailureKind, Outcome},
};
use boathook_kube::access::Observer;

/// Hands effects of writes on.
pub(super) struct Effects(pub Option<Arc<dyn Sink>>);

impl Observer for Effects {
    fn effects(&self) -> Option<&dyn Sink> {
        self.0.as_deref()
    }
}

/// A planned run that failed would fail again for the same reason, since nothing that it wrote is there: it goes to
/// the dead letters at once.
pub(super) fn once_only(outcome: Outcome) -> Outcome {
    outcome.map_err(|failure| match failure.kind {
        FailureKind::Permanent | FailureKind::Interrupted => failure,
        _ => {
            let message = format!("{} (a plan tries no run again)", failure.message);
            Failure { kind: FailureKind::Permanent, message, ..failure }
        }
    })
}
