//! Reads `kubernetesCustomResourceConversion[]`. Whether the definition has these versions can be checked only when it
//! exists.

use std::{collections::HashSet, sync::Arc};

use super::{
    reader::{Fields, quoted},
    schedule, selector,
};
use crate::model::{BindingName, ConversionBinding, ConversionRule};

pub(super) fn read(fields: &Fields<'_, '_>) -> ConversionBinding {
    let crd = fields.required_string("crdName").unwrap_or_default();
    fields.check(crd.is_empty() || (selector::is_subdomain(crd) && crd.contains('.')), "crdName", || {
        format!("is {}; write the definition's name, PLURAL.GROUP, like \"crontabs.stable.example.com\"", quoted(crd))
    });
    let group = crd.split_once('.').map_or("", |(_, group)| group);
    fields.need("conversions", Some(()));
    let mut known = HashSet::new();
    let mut conversions = Vec::new();
    for item in fields.items("conversions") {
        let Some(rule) = rule(&item, group) else { continue };
        if item.check(known.insert(rule.clone()), "fromVersion", || format!("and toVersion are {rule} once more")) {
            conversions.push(rule);
        }
    }
    let binding = ConversionBinding {
        name: BindingName::new(fields.required_string("name").unwrap_or_default()),
        crd: crd.into(),
        conversions,
        group: schedule::group(fields),
        include_snapshots_from: schedule::include_snapshots_from(fields),
    };
    fields.finish();
    binding
}

fn rule(fields: &Fields<'_, '_>, group: &str) -> Option<ConversionRule> {
    let (from, to) = (version(fields, "fromVersion", group), version(fields, "toVersion", group));
    fields.finish();
    let rule = ConversionRule { from: from?, to: to? };
    fields.check(rule.from != rule.to, "toVersion", || "is the same as fromVersion".to_owned()).then_some(rule)
}

/// `v1`, or `stable.example.com/v1` with the definition's own group.
fn version(fields: &Fields<'_, '_>, key: &'static str, group: &str) -> Option<Arc<str>> {
    let text = fields.required_string(key)?;
    let (prefix, version) = text.split_once('/').map_or((None, text), |(group, version)| (Some(group), version));
    let own = prefix.is_none_or(|prefix| prefix == group);
    fields.check(own, key, || format!("is {}; versions of {group:?} are meant, the group of crdName", quoted(text)));
    let valid = selector::is_subdomain(version) && !version.contains('.') && version.len() <= 63;
    fields.check(valid, key, || format!("is {}; write a version like \"v1beta1\"", quoted(text)));
    (own && valid).then(|| version.into())
}
