//! The `kubernetesCustomResourceConversion` binding: asked when the API server needs objects of a custom
//! resource in another version.

use super::document::Fields;

/// A binding to the versions of one CustomResourceDefinition.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion(pub(super) Fields);

impl Conversion {
    /// A binding with this name, for the definition `PLURAL.GROUP`.
    pub fn new(name: &str, definition: &str) -> Self {
        let mut map = Fields::default();
        map.text("name", name);
        map.text("crdName", definition);
        Self(map)
    }

    /// A step that the hook can do, between versions like `v1beta1`. May be given many times; the host
    /// makes chains of the steps.
    pub fn step(mut self, from: &str, to: &str) -> Self {
        let mut step = Fields::default();
        step.text("fromVersion", from);
        step.text("toVersion", to);
        self.0.push("conversions", step);
        self
    }

    /// The runs may open the snapshots of all `kubernetes` bindings of this group.
    pub fn group(mut self, group: &str) -> Self {
        self.0.text("group", group);
        self
    }

    /// The `kubernetes` bindings whose snapshots its runs may open.
    pub fn include_snapshots_from<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("includeSnapshotsFrom", names);
        self
    }
}
