//! Where the operator lives, and who acts: what makes names of what is needed.

use boathook_core::model::HookName;

use super::access::{Tenant, Who};

/// Where the operator lives, and as whom it acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The operator's namespace.
    pub namespace: String,
    /// Its ServiceAccount.
    pub service_account: String,
    /// Each hook has a ServiceAccount of its own, which the operator impersonates.
    pub per_hook: bool,
    /// The Secret of its webhooks' certificates, in its namespace. None: they are in files.
    pub webhook_secret: Option<String>,
    /// The operator keeps HookBundles.
    pub hook_bundles: bool,
    /// The Lease of the operator's replicas, in its namespace. None: there is one replica.
    pub lease: Option<String>,
    /// Where HookBundles are, and as whom their hooks act; the hooks that are given are theirs. None: hooks are of a
    /// directory or a list of bundles.
    pub tenants: Vec<Tenant>,
}

impl Layout {
    /// The ServiceAccount of a hook. A name that is none for a ServiceAccount gets a part of its hash, so that no
    /// two hooks have the same.
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

    /// Where that is.
    pub fn namespace<'a>(&'a self, who: &'a Who) -> &'a str {
        match who {
            Who::Tenant(tenant) => &tenant.namespace,
            Who::Host | Who::Hook(_) => &self.namespace,
        }
    }

    /// The user that RBAC sees.
    pub fn user(&self, who: &Who) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace(who), self.account(who))
    }
}
