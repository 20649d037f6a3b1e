//! The operator's installation, from which the names of objects follow.

use boathook_core::model::HookName;

use super::access::{Tenant, Who};

/// The operator's namespace, and the ServiceAccounts that it uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub namespace: String,
    pub service_account: String,
    /// Each hook has its own ServiceAccount, which the operator impersonates.
    pub per_hook: bool,
    /// The Secret of its webhooks' certificates, in its namespace. None if they are in files.
    pub webhook_secret: Option<String>,
    /// The operator runs HookBundles.
    pub hook_bundles: bool,
    /// The Lease of the operator's replicas, in its namespace. None for a single replica.
    pub lease: Option<String>,
    /// The namespaces of HookBundles, and the ServiceAccounts that their hooks act as. The given hooks belong to them.
    /// Empty if hooks come from a directory or a list of bundles.
    pub tenants: Vec<Tenant>,
}

impl Layout {
    /// The ServiceAccount of a hook. If the hook's name is not valid for a ServiceAccount, it contains a part of the
    /// name's hash, so that no two hooks share one.
    pub fn account_of(&self, hook: &HookName) -> String {
        format!("{}-{}", self.service_account, hook.subdomain())
    }

    /// The ServiceAccount of the operator, or of a hook.
    pub fn account(&self, who: &Who) -> String {
        match who {
            Who::Host => self.service_account.clone(),
            Who::Hook(hook) => self.account_of(hook),
            Who::Tenant(tenant) => tenant.service_account.clone(),
        }
    }

    /// The namespace of that ServiceAccount.
    pub fn namespace<'a>(&'a self, who: &'a Who) -> &'a str {
        match who {
            Who::Tenant(tenant) => &tenant.namespace,
            Who::Host | Who::Hook(_) => &self.namespace,
        }
    }

    /// The user name in RBAC.
    pub fn user(&self, who: &Who) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace(who), self.account(who))
    }
}
