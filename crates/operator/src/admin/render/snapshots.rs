//! Snapshots as text: one table for each binding. Only JSON and YAML show whole objects.

use std::fmt::Write as _;

use super::{
    Text,
    table::{Style, Table, clean, short},
};
use crate::admin::views::{BindingSnapshot, SnapshotsView};

impl Text for SnapshotsView {
    fn text(&self, style: Style) -> String {
        if self.bindings.is_empty() {
            return format!("hook {} has no kubernetes bindings\n", clean(&self.hook));
        }
        let blocks = self.bindings.iter().map(|(name, binding)| block(name, binding, style));
        blocks.collect::<Vec<_>>().join("\n")
    }
}

fn block(name: &str, binding: &BindingSnapshot, style: Style) -> String {
    let mut out = format!("Binding {}: {} objects", clean(name), binding.count);
    // Writing to a String cannot fail.
    if let Some(operations) = &binding.operations {
        let since = operations.since_start;
        let _ = write!(out, ", {} added, {} modified, {} deleted", since.added, since.modified, since.deleted);
    }
    out.push('\n');
    let mut table = Table::new(["NAMESPACE", "NAME", "VERSION", "UID", "FILTER RESULT"]);
    for item in &binding.snapshot {
        let result = item.filter_result.as_ref().map(ToString::to_string).unwrap_or_default();
        table.row([
            item.namespace.as_deref().unwrap_or("-").into(),
            item.name.as_str().into(),
            item.resource_version.as_str().into(),
            item.uid.as_str().into(),
            short(&result, 80).into(),
        ]);
    }
    if !table.is_empty() {
        out.push_str(&table.text(style, "  "));
    }
    if let Some(token) = &binding.continue_token {
        let _ = writeln!(out, "  there are more: --binding {} --continue {}", clean(name), clean(token));
    }
    out
}
