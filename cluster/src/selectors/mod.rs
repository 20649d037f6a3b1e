//! Label and field selectors: text to predicate, and the predicate over a stored object's index.
//!
//! Never reads an object's JSON: labels and selectable fields are extracted once, when it is stored.

mod field;
mod label;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;

use crate::store::Stored;

/// What a list, a watch or a deletecollection asked for.
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
