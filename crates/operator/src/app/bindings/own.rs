//! Reports to the filter stage which changes are a hook's own writes, so that it does not wake the hook for them. The
//! access stage made the writes and knows them.

use std::sync::Arc;

use boathook_core::{
    filter::OwnChanges,
    model::{HookName, Object},
};
use boathook_kube::access::OwnWrites;
use futures::{FutureExt as _, future::BoxFuture};

/// The access stage's writes, in the form that the filter stage needs.
pub(super) struct Own(pub Arc<OwnWrites>);

impl OwnChanges for Own {
    fn is_own<'a>(&'a self, hook: &'a HookName, object: &'a Object, deleted: bool) -> BoxFuture<'a, bool> {
        self.0.is_own(hook, object, deleted).boxed()
    }
}
