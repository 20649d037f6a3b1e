//! What the hook sees of the cluster: three snapshots of one moment.
//!
//! It never writes.

use crate::plan::{Action, Copied, Source, decide};
use crate::secret::{Existing, reference};
use crate::{NAME, SOURCE};
use boathook_sdk::prelude::*;
use boathook_sdk::snapshots::{Item, Snapshot};

/// The snapshots of the three bindings.
pub struct Cluster {
    /// All namespaces.
    pub namespaces: Snapshot,
    /// All Secrets with our name and label.
    pub copies: Snapshot,
    /// The source, if there is one.
    pub source: Option<Source>,
}

/// What to do in a namespace.
pub struct Step {
    /// What to do.
    pub action: Action,
    /// The copy that is there.
    pub copy: Option<(Item, Copied)>,
}

impl Cluster {
    /// Opens the snapshots.
    pub fn open() -> Result<Self> {
        let source = snapshots::open("source")?.get(SOURCE, NAME);
        Ok(Self {
            namespaces: snapshots::open("namespaces")?,
            copies: snapshots::open("copies")?,
            source: source.map(|item| item.filter_result()).transpose()?,
        })
    }

    /// Whether the source is really gone: before all copies go with it, the API server is asked.
    pub fn source_is_gone(&self) -> Result<bool> {
        if self.copies.is_empty() {
            return Ok(true);
        }
        let source = kube::find_object::<Existing>(&reference(SOURCE))?;
        Ok(source.is_none())
    }

    /// What the copy in this namespace needs.
    pub fn step(&self, namespace: &Item) -> Result<Step> {
        let mut copy = None;
        if let Some(item) = self.copies.get(namespace.name.as_str(), NAME) {
            let copied: Copied = item.filter_result()?;
            copy = Some((item, copied));
        }
        let action = match &self.source {
            Some(source) if namespace.name != SOURCE => {
                decide(source, &namespace.filter_result()?, copy.as_ref().map(|(_, copied)| copied))
            }
            _ => Action::Nothing,
        };
        Ok(Step { action, copy })
    }
}
