//! What hooks, bundles and namespaces use, for `boathook top`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::render::{Cell, Style, Table, Text, Tone, bytes, millis};

/// What was used since the operator started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Used {
    /// Runs, and answers to the API server.
    pub runs: u64,
    pub failed: u64,
    /// The guest's code, and what the operator does for it in the same thread.
    pub cpu_ms: f64,
    /// Of runs, host calls included.
    pub duration_ms: f64,
    /// The most that one run had.
    pub memory_peak_bytes: u64,
    /// Calls of imported functions.
    pub host_calls: u64,
    /// Requests to the API server for calls of runs.
    pub requests: u64,
    /// In the bodies of these requests.
    pub sent_bytes: u64,
    /// In the bodies of their responses.
    pub received_bytes: u64,
    /// Objects that the snapshots have now.
    pub kept_objects: u64,
    /// What the snapshots hold now. What several bindings share counts for each of them.
    pub kept_bytes: u64,
}

impl Used {
    /// Adds what another one used. The most memory of a run is that of either.
    pub fn add(&mut self, other: &Self) {
        let Self {
            runs,
            failed,
            cpu_ms,
            duration_ms,
            memory_peak_bytes,
            host_calls,
            requests,
            sent_bytes,
            received_bytes,
            kept_objects,
            kept_bytes,
        } = *other;
        self.runs += runs;
        self.failed += failed;
        self.cpu_ms += cpu_ms;
        self.duration_ms += duration_ms;
        self.memory_peak_bytes = self.memory_peak_bytes.max(memory_peak_bytes);
        self.host_calls += host_calls;
        self.requests += requests;
        self.sent_bytes += sent_bytes;
        self.received_bytes += received_bytes;
        self.kept_objects += kept_objects;
        self.kept_bytes += kept_bytes;
    }
}

/// The use of a hook.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookUse {
    pub name: String,
    /// The bundle that it belongs to, `namespace/name` or `name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// The namespace of its HookBundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(flatten)]
    pub used: Used,
}

/// The use of all hooks of a bundle or a namespace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupUse {
    pub name: String,
    pub hooks: usize,
    #[serde(flatten)]
    pub used: Used,
}

/// What `boathook top` shows: the hooks that are loaded, those with the most CPU time first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillView {
    /// Since when the operator counts.
    pub since: String,
    pub hooks: Vec<HookUse>,
    pub bundles: Vec<GroupUse>,
    /// The namespaces of HookBundles.
    pub namespaces: Vec<GroupUse>,
}

impl BillView {
    pub fn of(since: String, mut hooks: Vec<HookUse>) -> Self {
        hooks.sort_by(|a, b| b.used.cpu_ms.total_cmp(&a.used.cpu_ms).then_with(|| a.name.cmp(&b.name)));
        let bundles = groups(&hooks, |hook| hook.bundle.as_deref());
        let namespaces = groups(&hooks, |hook| hook.namespace.as_deref());
        Self { since, hooks, bundles, namespaces }
    }
}

fn groups(hooks: &[HookUse], of: impl Fn(&HookUse) -> Option<&str>) -> Vec<GroupUse> {
    let mut groups: BTreeMap<&str, GroupUse> = BTreeMap::new();
    for hook in hooks {
        if let Some(name) = of(hook) {
            let group = groups.entry(name).or_insert_with(|| GroupUse { name: name.to_owned(), ..GroupUse::default() });
            group.hooks += 1;
            group.used.add(&hook.used);
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by(|a, b| b.used.cpu_ms.total_cmp(&a.used.cpu_ms).then_with(|| a.name.cmp(&b.name)));
    groups
}

impl Text for BillView {
    fn text(&self, style: Style) -> String {
        let mut out = format!("since {}\n", super::render::clean(&self.since));
        if self.hooks.is_empty() {
            out.push_str("no hook is loaded\n");
            return out;
        }
        out.push_str(&table("HOOK", self.hooks.iter().map(|hook| (&hook.name, &hook.used)), style));
        for (title, groups) in [("BUNDLE", &self.bundles), ("NAMESPACE", &self.namespaces)] {
            if !groups.is_empty() {
                out.push('\n');
                out.push_str(&table(title, groups.iter().map(|group| (&group.name, &group.used)), style));
            }
        }
        out
    }
}

fn table<'a>(title: &'static str, rows: impl Iterator<Item = (&'a String, &'a Used)>, style: Style) -> String {
    let head =
        [title, "CPU", "TIME", "RUNS", "FAILED", "MEMORY", "CALLS", "REQUESTS", "SENT", "RECEIVED", "OBJECTS", "KEPT"];
    let mut table = Table::new(head);
    for (name, used) in rows {
        let tone = if used.failed > 0 { Tone::Warning } else { Tone::Plain };
        table.row([
            name.into(),
            millis(used.cpu_ms).into(),
            millis(used.duration_ms).into(),
            used.runs.to_string().into(),
            Cell::new(used.failed.to_string(), tone),
            bytes(used.memory_peak_bytes).into(),
            used.host_calls.to_string().into(),
            used.requests.to_string().into(),
            bytes(used.sent_bytes).into(),
            bytes(used.received_bytes).into(),
            used.kept_objects.to_string().into(),
            bytes(used.kept_bytes).into(),
        ]);
    }
    table.text(style, "")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn hook(name: &str, bundle: Option<(&str, &str)>, cpu_ms: f64, memory: u64) -> HookUse {
        HookUse {
            name: name.to_owned(),
            bundle: bundle.map(|(namespace, name)| format!("{namespace}/{name}")),
            namespace: bundle.map(|(namespace, _)| namespace.to_owned()),
            used: Used { runs: 1, cpu_ms, memory_peak_bytes: memory, ..Used::default() },
        }
    }

    #[test]
    fn groups_add_their_hooks_and_the_most_cpu_time_is_first() {
        let hooks = vec![
            hook("own", None, 5.0, 1),
            hook("a", Some(("prod", "one")), 1.0, 7),
            hook("b", Some(("prod", "one")), 2.0, 3),
            hook("c", Some(("prod", "two")), 9.0, 5),
            hook("d", Some(("test", "one")), 4.0, 5),
        ];
        let view = BillView::of("now".to_owned(), hooks);
        let names: Vec<_> = view.hooks.iter().map(|hook| hook.name.as_str()).collect();
        assert_eq!(names, ["c", "own", "d", "b", "a"]);
        let groups = |groups: &[GroupUse]| {
            let line =
                |group: &GroupUse| (group.name.clone(), group.hooks, group.used.cpu_ms, group.used.memory_peak_bytes);
            groups.iter().map(line).collect::<Vec<_>>()
        };
        let expected = [("prod/two", 1, 9.0, 5), ("test/one", 1, 4.0, 5), ("prod/one", 2, 3.0, 7)];
        assert_eq!(groups(&view.bundles), expected.map(|(name, hooks, cpu, most)| (name.to_owned(), hooks, cpu, most)));
        let expected = [("prod", 3, 12.0, 7), ("test", 1, 4.0, 5)];
        let expected = expected.map(|(name, hooks, cpu, most)| (name.to_owned(), hooks, cpu, most));
        assert_eq!(groups(&view.namespaces), expected);
    }

    #[test]
    fn the_text_has_groups_only_if_there_are_bundles() {
        let text = BillView::of("now".to_owned(), vec![hook("own", None, 5.0, 1)]).text(Style::Plain);
        assert!(text.contains("HOOK") && !text.contains("BUNDLE"), "{text}");
        assert_eq!(BillView::of("now".to_owned(), Vec::new()).text(Style::Plain), "since now\nno hook is loaded\n");
    }
}
