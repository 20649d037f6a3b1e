//! Everything that a set of hooks needs, as single accesses with their reasons.

mod bundles;
mod hook;
mod host;
mod webhooks;

pub use hook::verbs;
pub use host::selected_name;

use std::collections::{BTreeMap, BTreeSet};

use boathook_core::model::{HookName, HookSpec};

use super::{
    access::{Access, Part, Reason, Who},
    error::NeedsError,
    kinds::Kinds,
    layout::Layout,
};

/// Maximum number of accesses of one hook; more make no sense in a role.
const MAX: usize = 20_000;

/// The needs, and notes for the reader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// By subject, then by access.
    pub of: BTreeMap<Who, BTreeMap<Access, BTreeSet<Reason>>>,
    /// Sentences about what was guessed, and about documents that RBAC cannot express exactly.
    pub notes: BTreeSet<String>,
}

impl Needs {
    /// Number of accesses.
    pub fn len(&self) -> usize {
        self.of.values().map(BTreeMap::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects the needs of one hook, up to a maximum.
struct Collector<'a> {
    needs: &'a mut Needs,
    hook: &'a HookName,
    left: usize,
}

impl Collector<'_> {
    pub fn add(&mut self, who: &Who, part: &Part, access: Access) -> Result<(), NeedsError> {
        self.left =
            self.left.checked_sub(1).ok_or_else(|| NeedsError::TooMany { hook: self.hook.clone(), max: MAX })?;
        let reason = Reason { hook: Some(self.hook.clone()), part: part.clone() };
        self.needs.of.entry(who.clone()).or_default().entry(access).or_default().insert(reason);
        Ok(())
    }

    pub fn note(&mut self, text: String) {
        self.needs.notes.insert(format!("hook {}: {text}", self.hook));
    }

    pub fn hook(&self) -> &HookName {
        self.hook
    }
}

/// The needs of the hooks, and of the operator for them: with the operator's ServiceAccount, with one ServiceAccount
/// per hook, or in each tenant's namespace.
pub fn needs(hooks: &[HookSpec], kinds: &Kinds, layout: &Layout) -> Result<Needs, NeedsError> {
    let mut needs = Needs::default();
    for spec in hooks {
        let mut collector = Collector { needs: &mut needs, hook: &spec.name, left: MAX };
        if !layout.tenants.is_empty() {
            bundles::hook(spec, kinds, layout, &mut collector)?;
            continue;
        }
        host::collect(spec, kinds, layout, &mut collector)?;
        let who = if layout.per_hook { Who::Hook(spec.name.clone()) } else { Who::Host };
        hook::collect(spec, kinds, &who, &mut collector)?;
    }
    let own = if layout.hook_bundles { bundles::host(layout) } else { Vec::new() };
    for (access, part) in own.into_iter().chain(bundles::election(layout)) {
        let hosts = needs.of.entry(Who::Host).or_default();
        hosts.entry(access).or_default().insert(Reason { hook: None, part });
    }
    Ok(needs)
}
