//! The values of credentials in Secrets, and whether those of a bundle can be used.

use boathook_core::model::{
    CallError, CallReason, Caller, CredentialProblem, CredentialProblemKind as Kind, HookName, Installation, RunId,
};
use boathook_egress::Secrets;
use boathook_kube::access::Access;
use futures::{FutureExt as _, future::BoxFuture};
use secrecy::SecretSlice;

use super::Services;

/// The name of the caller that checks, as a hook of the bundle.
const NAME: &str = "credentials";

/// Reads Secrets with the rights of the ServiceAccount of the hook.
pub(super) struct SecretsOfAccounts(pub Access);

impl Secrets for SecretsOfAccounts {
    fn read<'a>(
        &'a self,
        caller: &'a Caller,
        name: &'a str,
        keys: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Option<SecretSlice<u8>>>, CredentialProblem>> {
        async move { self.0.secret_values(caller, name, keys).await.map_err(|error| problem(caller, name, error)) }
            .boxed()
    }
}

fn problem(caller: &Caller, name: &str, CallError { reason, message, .. }: CallError) -> CredentialProblem {
    let identity = caller.identity.as_deref();
    let namespace = identity.map_or("", |identity| identity.namespace.as_str());
    let account = identity.map_or_else(String::new, ToString::to_string);
    let (kind, message) = match reason {
        CallReason::NotFound => (Kind::Missing, format!("there is no Secret {namespace}/{name}: create it")),
        CallReason::ForbiddenByCluster => (
            Kind::Forbidden,
            format!("{account} may not get Secret {namespace}/{name}: give it a role with this right ({message})"),
        ),
        CallReason::Invalid | CallReason::TooLarge | CallReason::Other => (Kind::Invalid, message),
        _ => (Kind::Unknown, message),
    };
    CredentialProblem { kind, message }
}

/// Reads the values of each credential, and sends them nowhere.
pub(super) async fn check(services: &Services, bundle: &Installation) -> Vec<CredentialProblem> {
    let Ok(name) = HookName::new(NAME) else { return Vec::new() };
    let permissions = bundle.grants.clone().unwrap_or_default().into();
    let caller = Caller {
        identity: bundle.identity.clone().map(Into::into),
        ..Caller::new(name.in_bundle(&bundle.id), RunId::new(NAME, 0), permissions, true)
    };
    let mut problems = Vec::new();
    // One at a time, because a Secret can be large.
    for credential in &bundle.credentials {
        problems.extend(services.operator.http.check_credential(&caller, credential).await.err());
    }
    problems
}
