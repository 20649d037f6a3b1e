//! Checks recorded calls against the permissions of the component of `--with`.

use std::sync::Arc;

use boathook_author::rbac::{Calls, Kinds, denied};
use boathook_core::model::{CallError, CallReason, HookSpec};
use boathook_operator::record::{Answer, Call, Request, replay::Refuses};

use crate::cmd::rbac::note;

/// Refuses what an operator would refuse, with the same texts.
pub(super) fn refuses(spec: &HookSpec, kinds: Kinds) -> Arc<Refuses> {
    let (hook, permissions) = (spec.name.clone(), spec.permissions.clone());
    Arc::new(move |request| {
        let refusal = |message| CallError { reason: CallReason::ForbiddenByGrant, message, code: None, status: None };
        let mut calls = Calls::default();
        // The rights that an apply needs depend on the objects that the API server finds. The operator checks for
        // `patch`.
        let answer = matches!(request, Request::Write { .. }).then(|| Answer::Written(Err(refusal(String::new()))));
        note(&Call { request: request.clone(), answer }, &mut calls);
        let denied = denied(&permissions, &calls, &kinds)?;
        Some(refusal(format!("hook {:?} may not {denied}: add it to permissions.kubernetes", hook.as_str())))
    })
}
