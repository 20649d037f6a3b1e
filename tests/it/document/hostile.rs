//! Documents that would cost more than they should: an error, not a hang, and a short one.

use super::{kubernetes, problems, read, refused};

#[test]
fn hostile_documents_end_in_an_error() {
    let deep = format!("configVersion: {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(read(&deep).is_err());
    let huge = format!("configVersion: v1\nonStartup: 1\n# {}", "x".repeat(2 << 20));
    refused(&huge, "the document", "at most");
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\nconfigVersion: v1";
    assert!(read(bomb).is_err());
}

#[test]
fn crontabs_that_never_strike_or_never_end() {
    let crontab = |text: &str| format!("configVersion: v1\nschedule: [{{crontab: \"{text}\"}}]");
    refused(&crontab("*/0 * * * *"), "schedule[0].crontab", "at least 1");
    refused(&crontab("0 0 30 2 *"), "schedule[0].crontab", "no day matches");
    refused(&crontab("0 0 31 4,6,9,11 *"), "schedule[0].crontab", "no day matches");
    refused(&crontab("@every 0s"), "schedule[0].crontab", "over 0");
    let long = problems(&crontab(&"1,".repeat(100_000)));
    assert!(long.iter().all(|problem| problem.len() < 300), "{long:?}");
}

/// Whatever is in the document, what is said about it can be logged.
#[test]
fn messages_are_short() {
    let long = "x".repeat(300_000);
    let keys: String = (0..50_000).map(|n| format!("key{n}: 1\n")).collect();
    let names: String = (0..50_000).map(|n| format!("n{n}/,")).collect();
    for text in [
        format!("configVersion: v1\n{long}: 1"),
        format!("configVersion: {long}"),
        format!("configVersion: v1\nonStartup: {long}"),
        format!("configVersion: v1\n{keys}"),
        kubernetes(&format!("|content: {long}")),
        kubernetes(&format!("|apiVersion: {long}/{long}/{long}")),
        kubernetes(&format!("|includeSnapshotsFrom: [{long}]")),
        kubernetes(&format!("|executeHookOnEvent: [{long}]")),
        kubernetes(&format!("|resynchronizationPeriod: {long}")),
        kubernetes(&format!("|labelSelector: {{matchLabels: {{a: {long}}}}}")),
        kubernetes(&format!("|labelSelector: {{matchLabels: {{{long}: a}}}}")),
        kubernetes(&format!("|nameSelector: {{matchNames: [{names}]}}")),
        kubernetes(&format!("|jqFilter: bad {long}")),
        format!("configVersion: v1\nlimits: {{memory: {long}}}"),
        format!("onKubernetesEvent: [{{kind: Pod, event: [{long}]}}]"),
        format!("schedule: [{{crontab: {long}}}]"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.len() < 50_000, "{} bytes: {}…", error.len(), error.chars().take(300).collect::<String>());
    }
    let error = read(&format!("configVersion: v1\n{keys}")).unwrap_err();
    assert_eq!((error.problems.len(), error.more), (100, 49_900));
    assert!(error.to_string().ends_with("and 49900 more"), "{error}");
}

/// One megabyte could ask for more bindings, watches and snapshots than any cluster bears.
#[test]
fn many_small_parts_are_bounded() {
    let bindings = "{kind: P, group: g},".repeat(40_000);
    refused(&format!("configVersion: v1\nkubernetes: [{bindings}]"), "kubernetes", "at most 1000");
    let ticks = "{crontab: \"@daily\"},".repeat(40_000);
    refused(&format!("schedule: [{ticks}]"), "schedule", "at most 1000");
    let names: String = (0..200).map(|n| format!("n{n},")).collect();
    let both =
        format!("|nameSelector: {{matchNames: [{names}]}}\n|namespace: {{nameSelector: {{matchNames: [{names}]}}}}");
    refused(&kubernetes(&both), "kubernetes[0].nameSelector", "40000 watches");
}
