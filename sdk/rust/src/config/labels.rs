//! A label selector, as in Kubernetes: `matchLabels` and `matchExpressions`; and a selector of annotations like it.
//!
//! It never evaluates anything; the API server and the host do.

use super::document::Fields;

/// Chooses objects by their labels. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels(pub(super) Fields);

impl Labels {
    /// No condition yet: everything matches.
    pub fn new() -> Self {
        Self::default()
    }

    /// The label has this value.
    pub fn eq(mut self, key: &str, value: &str) -> Self {
        self.0.within("matchLabels", |labels| labels.text(key, value));
        self
    }

    /// The label has one of these values.
    pub fn is_in<S: Into<String>>(self, key: &str, values: impl IntoIterator<Item = S>) -> Self {
        self.expression(key, "In", Some(values))
    }

    /// The label is missing or has none of these values.
    pub fn not_in<S: Into<String>>(self, key: &str, values: impl IntoIterator<Item = S>) -> Self {
        self.expression(key, "NotIn", Some(values))
    }

    /// The label is there, with any value.
    pub fn exists(self, key: &str) -> Self {
        self.expression(key, "Exists", None::<[&str; 0]>)
    }

    /// The label is missing.
    pub fn missing(self, key: &str) -> Self {
        self.expression(key, "DoesNotExist", None::<[&str; 0]>)
    }

    fn expression<S: Into<String>>(
        mut self,
        key: &str,
        operator: &str,
        values: Option<impl IntoIterator<Item = S>>,
    ) -> Self {
        expression(&mut self.0, key, operator, values);
        self
    }
}

/// Chooses objects by their annotations. All conditions must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations(pub(super) Fields);

impl Annotations {
    /// No condition yet: everything matches.
    pub fn new() -> Self {
        Self::default()
    }

    /// The annotation has this value.
    pub fn eq(mut self, key: &str, value: &str) -> Self {
        self.0.within("matchAnnotations", |annotations| annotations.text(key, value));
        self
    }

    /// The annotation has one of these values.
    pub fn is_in<S: Into<String>>(mut self, key: &str, values: impl IntoIterator<Item = S>) -> Self {
        expression(&mut self.0, key, "In", Some(values));
        self
    }

    /// The annotation is missing or has none of these values.
    pub fn not_in<S: Into<String>>(mut self, key: &str, values: impl IntoIterator<Item = S>) -> Self {
        expression(&mut self.0, key, "NotIn", Some(values));
        self
    }

    /// The annotation is there, with any value.
    pub fn exists(mut self, key: &str) -> Self {
        expression(&mut self.0, key, "Exists", None::<[&str; 0]>);
        self
    }

    /// The annotation is missing.
    pub fn missing(mut self, key: &str) -> Self {
        expression(&mut self.0, key, "DoesNotExist", None::<[&str; 0]>);
        self
    }
}

fn expression<S: Into<String>>(
    fields: &mut Fields,
    key: &str,
    operator: &str,
    values: Option<impl IntoIterator<Item = S>>,
) {
    let mut item = Fields::default();
    item.text("key", key);
    item.text("operator", operator);
    if let Some(values) = values {
        item.texts("values", values);
    }
    fields.push("matchExpressions", item);
}
