//! Which objects a stream follows, and which streams a binding needs. Pure.

use std::{borrow::Cow, fmt, sync::Arc};

use boathook_core::model::{Content, KubernetesBinding, Resource};

/// The objects that one stream follows. Equal selections share a stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selection {
    pub resource: Arc<Resource>,
    /// Absent for all namespaces, or for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// In the syntax of the API.
    pub label_selector: Option<String>,
    /// In the syntax of the API.
    pub field_selector: Option<String>,
    /// The objects contain only `apiVersion`, `kind` and `metadata`. The server and the network then handle no more
    /// than that.
    pub metadata_only: bool,
}

impl Selection {
    /// All objects of a kind, whole.
    pub fn of(resource: Arc<Resource>) -> Self {
        Self { resource, namespace: None, label_selector: None, field_selector: None, metadata_only: false }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        if let Some(labels) = &self.label_selector {
            write!(f, " with labels {labels}")?;
        }
        if let Some(fields) = &self.field_selector {
            write!(f, " with fields {fields}")?;
        }
        if self.metadata_only {
            f.write_str(", metadata only")?;
        }
        Ok(())
    }
}

/// The selections that a binding needs: one for each of its namespaces and names, without duplicates. An object is in
/// at most one of them.
///
/// Objects of a cluster-scoped kind are in no namespace, so the binding's namespaces are ignored for them.
///
/// A binding that receives only metadata, and has no filter that could need more, follows only metadata. A change that
/// it cannot see then does not reach it.
pub fn selections_for(binding: &KubernetesBinding, resource: &Arc<Resource>) -> Vec<Selection> {
    let namespaces = if resource.namespaced { choices(&binding.namespaces) } else { vec![None] };
    let names = choices(&binding.names);
    let metadata_only = binding.content == Content::Metadata && binding.jq_filter.is_none();
    let mut selections = Vec::with_capacity(namespaces.len().saturating_mul(names.len()));
    for namespace in &namespaces {
        for name in &names {
            selections.push(Selection {
                resource: resource.clone(),
                namespace: namespace.map(str::to_owned),
                label_selector: some_text(binding.label_selector.as_deref()),
                field_selector: field_selector(*name, binding.field_selector.as_deref()),
                metadata_only,
            });
        }
    }
    selections
}

/// Each text once, in the author's order. If there are no texts, one `None`, which stands for all.
fn choices(texts: &[String]) -> Vec<Option<&str>> {
    let mut chosen: Vec<Option<&str>> = Vec::with_capacity(texts.len());
    let mut known = std::collections::HashSet::with_capacity(texts.len());
    for text in texts {
        if known.insert(text.as_str()) {
            chosen.push(Some(text));
        }
    }
    if chosen.is_empty() { vec![None] } else { chosen }
}

fn field_selector(name: Option<&str>, fields: Option<&str>) -> Option<String> {
    let fields = some_text(fields);
    let Some(name) = name else { return fields };
    let by_name = format!("metadata.name={}", escaped(name));
    Some(match fields {
        Some(fields) => format!("{by_name},{fields}"),
        None => by_name,
    })
}

fn some_text(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Escapes a value in a field selector, so that it cannot add a condition.
fn escaped(value: &str) -> Cow<'_, str> {
    if !value.contains(['\\', ',', '=']) {
        return Cow::Borrowed(value);
    }
    value
        .chars()
        .fold(String::with_capacity(value.len() + 4), |mut out, c| {
            if matches!(c, '\\' | ',' | '=') {
                out.push('\\');
            }
            out.push(c);
            out
        })
        .into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use boathook_core::model::{BindingName, HookName, QueueName, RetryPolicy};

    use super::*;

    fn resource(namespaced: bool) -> Arc<Resource> {
        Arc::new(Resource::of("v1", "Pod", "pods", namespaced))
    }

    fn binding(namespaces: &[&str], names: &[&str], fields: Option<&str>) -> KubernetesBinding {
        KubernetesBinding {
            name: BindingName::new("b"),
            role: None,
            api_version: None,
            kind: "Pod".into(),
            names: names.iter().map(|&n| n.to_owned()).collect(),
            namespaces: namespaces.iter().map(|&n| n.to_owned()).collect(),
            namespace_labels: None,
            label_selector: Some("app=web".into()),
            field_selector: fields.map(str::to_owned),
            events: Vec::new(),
            on_synchronization: true,
            wait_for_synchronization: true,
            resynchronization_period: None,
            ignore_own_writes: false,
            debounce: std::time::Duration::ZERO,
            previous_object: false,
            content: Content::Full,
            jq_filter: None,
            group: None,
            include_snapshots_from: Arc::new([]),
            queue: QueueName::Own(HookName::new("h").unwrap()),
            allow_failure: false,
            retry: RetryPolicy::default(),
            may_watch: Default::default(),
        }
    }

    fn chosen(binding: &KubernetesBinding, namespaced: bool) -> Vec<(Option<String>, Option<String>)> {
        selections_for(binding, &resource(namespaced))
            .into_iter()
            .inspect(|s| assert_eq!(s.label_selector.as_deref(), Some("app=web")))
            .map(|s| (s.namespace, s.field_selector))
            .collect()
    }

    fn pair(namespace: Option<&str>, fields: Option<&str>) -> (Option<String>, Option<String>) {
        (namespace.map(str::to_owned), fields.map(str::to_owned))
    }

    #[test]
    fn one_for_each_namespace_and_name() {
        assert_eq!(chosen(&binding(&[], &[], None), true), [pair(None, None)]);
        assert_eq!(
            chosen(&binding(&["a", "b", "a"], &["x", "y", "x"], None), true),
            [
                pair(Some("a"), Some("metadata.name=x")),
                pair(Some("a"), Some("metadata.name=y")),
                pair(Some("b"), Some("metadata.name=x")),
                pair(Some("b"), Some("metadata.name=y")),
            ]
        );
    }

    #[test]
    fn metadata_alone_is_followed_where_nothing_else_is_used() {
        let of = |content, filter: Option<&str>| {
            let binding = KubernetesBinding { content, jq_filter: filter.map(Arc::from), ..binding(&[], &[], None) };
            selections_for(&binding, &resource(true)).iter().all(|selection| selection.metadata_only)
        };
        assert!(of(Content::Metadata, None));
        assert!(!of(Content::Metadata, Some(".spec")));
        assert!(!of(Content::Full, None));
        // Without a filter, a change of any field wakes the hook, even if the hook does not receive the object.
        assert!(!of(Content::None, None));
    }

    #[test]
    fn a_name_joins_the_field_selector_and_can_add_no_condition() {
        assert_eq!(
            chosen(&binding(&[], &["x"], Some("spec.nodeName=n1")), true),
            [pair(None, Some("metadata.name=x,spec.nodeName=n1"))]
        );
        assert_eq!(
            chosen(&binding(&[], &["x,status.phase=Failed"], None), true),
            [pair(None, Some(r"metadata.name=x\,status.phase\=Failed"))]
        );
        assert_eq!(chosen(&binding(&[], &[], Some(" ")), true), [pair(None, None)]);
    }

    #[test]
    fn cluster_scoped_kinds_have_no_namespaces() {
        assert_eq!(chosen(&binding(&["a", "b"], &["x"], None), false), [pair(None, Some("metadata.name=x"))]);
    }
}
