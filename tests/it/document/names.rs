//! Bindings that share a name, snapshots of others, groups.

use boathook_core::model::BindingName;

use super::{good, kubernetes, read, refused};

fn unique(names: &[BindingName]) -> Vec<&str> {
    names.iter().map(BindingName::unique).collect()
}

#[test]
fn bindings_may_share_a_name() {
    let spec = good(
        "configVersion: v1\nkubernetes: [{kind: A}, {kind: B}, {kind: C, name: \"kubernetes#2\"}]\n\
         schedule: [{crontab: \"@daily\"}, {crontab: \"@hourly\"}, {crontab: \"@weekly\", name: kubernetes}]",
    );
    let names: Vec<_> = spec.kubernetes.iter().map(|b| (b.name.as_str(), b.name.unique())).collect();
    assert_eq!(names, [("kubernetes", "kubernetes"), ("kubernetes", "kubernetes#3"), ("kubernetes#2", "kubernetes#2")]);
    let names: Vec<_> = spec.schedules.iter().map(|b| (b.name.as_str(), b.name.unique())).collect();
    assert_eq!(names, [("schedule", "schedule"), ("schedule", "schedule#2"), ("kubernetes", "kubernetes")]);
}

#[test]
fn a_shared_name_names_no_snapshot() {
    let text = "configVersion: v1\nkubernetes: [{kind: A}, {kind: B}]\n\
                schedule: [{crontab: \"@daily\", includeSnapshotsFrom: [kubernetes]}]";
    let place = "schedule[0].includeSnapshotsFrom[0]";
    refused(text, place, "there are 2 kubernetes bindings called \"kubernetes\"");
    refused(&text.replace("[kubernetes]", "[\"kubernetes#2\"]"), place, "none called \"kubernetes#2\"");
    refused(&kubernetes("|includeSnapshotsFrom: []"), "kubernetes[0].includeSnapshotsFrom", "empty list");
}

#[test]
fn a_binding_may_name_itself() {
    let spec = good(&kubernetes("|name: a\n|includeSnapshotsFrom: [a, a]"));
    assert_eq!(unique(&spec.kubernetes[0].include_snapshots_from), ["a"]);
}

#[test]
fn a_group_shares_the_snapshots_of_its_objects() {
    let spec = good(
        r#"
configVersion: v1
kubernetes:
- {name: a, kind: A, group: g}
- {name: b, kind: B, group: g, includeSnapshotsFrom: [alone, b]}
- {name: alone, kind: C, includeSnapshotsFrom: [a]}
- {name: other, kind: D, group: h}
schedule:
- {name: tick, crontab: "@daily", group: g, includeSnapshotsFrom: [other]}
- {name: tock, crontab: "@daily", group: g}
- {name: nobody, crontab: "@daily", group: only-schedules}
"#,
    );
    let lists: Vec<_> = spec.kubernetes.iter().map(|b| unique(&b.include_snapshots_from)).collect();
    assert_eq!(lists, [vec!["a", "b"], vec!["alone", "b", "a"], vec!["a"], vec!["other"]]);
    let lists: Vec<_> = spec.schedules.iter().map(|b| unique(&b.include_snapshots_from)).collect();
    assert_eq!(lists, [vec!["other", "a", "b"], vec!["a", "b"], vec![]]);
    assert_eq!(spec.schedules[0].group.as_deref(), Some("g"));
}

/// A group needs no names, so its bindings may do without.
#[test]
fn a_group_of_unnamed_bindings() {
    let spec = good("configVersion: v1\nkubernetes: [{kind: A, group: g}, {kind: B, group: g}]");
    for binding in &spec.kubernetes {
        assert_eq!(unique(&binding.include_snapshots_from), ["kubernetes", "kubernetes#2"]);
    }
    let printed = boathook_core::hooks::print(&spec);
    assert_eq!(read(&printed.to_string()).unwrap(), spec, "{printed:#}");
    refused(&kubernetes("|group: \"\""), "kubernetes[0].group", "is empty");
}
