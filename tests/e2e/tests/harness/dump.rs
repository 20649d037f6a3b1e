//! What a failed test leaves to look at: the ends of all logs, and the cluster's objects.
//! It never fails itself: what cannot be had is said so.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::test::Test;

/// Lines of each log.
const TAIL: usize = 60;

pub async fn dump(test: &Test) {
    let mut text = format!("\n==== {} failed; all of it is in {}\n", test.slug(), test.dir().display());
    for log in logs(test) {
        tail(&mut text, &log);
    }
    for cluster in test.clusters() {
        for question in QUESTIONS {
            let answer = cluster.try_kubectl(question).await.unwrap_or_else(|complaint| complaint);
            let _ = writeln!(text, "---- kubectl {}", question.join(" "));
            let relevant = |line: &&str| line.contains(&test.slug()) || line.starts_with("NAME");
            for line in answer.lines().filter(relevant) {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    eprintln!("{text}");
}

/// Nodes are asked for by template, for no table of kubectl's shows taints.
const QUESTIONS: [&[&str]; 3] = [
    &["get", "namespaces", "--show-labels"],
    &["get", "secrets,networkpolicies", "--all-namespaces", "--show-labels"],
    &[
        "get",
        "nodes",
        "--output=jsonpath={range .items[*]}{.metadata.name} {.metadata.labels} {.spec.taints}{\"\\n\"}{end}",
    ],
];

/// The logs of the test and of the clusters that it used.
fn logs(test: &Test) -> Vec<PathBuf> {
    let mut dirs = vec![test.dir().to_owned()];
    dirs.extend(test.clusters().iter().filter_map(|cluster| Some(cluster.kubeconfig.parent()?.to_owned())));
    let files = dirs.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    let mut logs: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    logs.sort();
    logs
}

fn tail(text: &mut String, log: &Path) {
    let bytes = std::fs::read(log).unwrap_or_default();
    let all = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = all.lines().filter(|line| !is_chatter(line)).collect();
    let _ = writeln!(text, "---- the end of {}", log.display());
    for line in lines.iter().skip(lines.len().saturating_sub(TAIL)) {
        let _ = writeln!(text, "{line}");
    }
}

/// Kubernetes' own log writes a letter for the level and the date: `I1121 07:50:08.656147 …`.
fn is_chatter(line: &str) -> bool {
    let mut start = line.chars();
    start.next() == Some('I') && start.next().is_some_and(|second| second.is_ascii_digit())
}
