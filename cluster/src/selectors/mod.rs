//! Label and field selectors: text to predicate, and the predicate on a stored object's index. Labels and selectable
//! fields are extracted once, when an object is stored, so its JSON is not read again.

mod field;
mod label;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;

use crate::store::Stored;

/// The selection of a list, a watch or a deletecollection.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn matches(&self, object: &Stored) -> bool {
        self.labels.matches(|key| object.label(key)) && self.fields.matches(|path| object.field(path))
    }
}
