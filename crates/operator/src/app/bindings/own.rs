//! Answers the filter stage, which must not wake a hook for its own writes, from the access stage,
//! which has made them. Decides nothing.

use std::sync::Arc;

use boathook_core::{
    filter::OwnChanges,
    model::{HookName, Object},
};
use boathook_kube::access::OwnWrites;
use futures::{FutureExt as _, future::BoxFuture};

/// The access stage's writes, as the filter stage asks for them.
pub(super) struct Own(pub Arc<OwnWrites>);

impl OwnChanges for Own {
    fn is_own<'a>(&'a self, hook: &'a HookName, object: &'a Object, deleted: bool) -> BoxFuture<'a, bool> {
        self.0.is_own(hook, object, deleted).boxed()
    }
}
