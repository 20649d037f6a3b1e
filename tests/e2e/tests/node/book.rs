//! Pages of the book: their commands and values, by section. A section whose commands nobody types fails a test.

use std::sync::Arc;

use super::Node;
use crate::harness::workspace;

/// One section of a page, without those below it.
#[derive(Debug)]
pub struct Section {
    pub title: String,
    /// The commands of its `sh` blocks, in their order, and of what the text calls commands.
    pub commands: Vec<String>,
    /// Its `yaml` blocks.
    pub yaml: Vec<String>,
}

/// The sections of a page of `docs/`.
pub fn sections(page: &str) -> Vec<Section> {
    let text = std::fs::read_to_string(workspace().join("docs").join(page)).expect("read a page of the book");
    let mut sections: Vec<Section> = Vec::new();
    let mut block: Option<(String, Vec<&str>)> = None;
    for line in text.lines() {
        if let Some((language, lines)) = &mut block {
            if line.starts_with("```") {
                let section = sections.last_mut().expect("a page begins with a title");
                match language.as_str() {
                    "sh" => section.commands.extend(commands(lines)),
                    "yaml" => section.yaml.push(lines.join("\n")),
                    _ => {}
                }
                block = None;
            } else {
                lines.push(line);
            }
        } else if let Some(language) = line.strip_prefix("```") {
            block = Some((language.to_owned(), Vec::new()));
        } else if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_owned();
            sections.push(Section { title, commands: Vec::new(), yaml: Vec::new() });
        }
    }
    sections
}

pub fn section(page: &str, title: &str) -> Section {
    let found = sections(page).into_iter().find(|section| section.title == title);
    found.unwrap_or_else(|| panic!("{page} has no section {title:?}"))
}

/// A command may go on after a backslash.
fn commands(lines: &[&str]) -> Vec<String> {
    let text = lines.join("\n").replace("\\\n", " ");
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// The sections with commands or values, and the tests that use them.
const TYPED: [(&str, &str, &str); 15] = [
    ("admin/install.md", "Installing", "install::as_printed, helm::installed_upgraded_and_uninstalled"),
    ("admin/install.md", "HookBundles", "install::as_printed"),
    ("admin/install.md", "A directory of hooks", "rights::as_printed"),
    ("admin/install.md", "A list of bundles", "helm::documented_values"),
    ("admin/install.md", "With kustomize", "components::documented_kustomization"),
    ("admin/install.md", "With Helm", "helm::documented_values"),
    (
        "admin/install.md",
        "More than one replica",
        "helm::documented_values, replicas::another_leads_when_the_leader_goes",
    ),
    ("admin/install.md", "Running outside the cluster", "outside::as_printed"),
    ("admin/install.md", "Uninstalling", "install::as_printed"),
    ("admin/rights.md", "Rights", "rights::as_printed"),
    ("admin/rights.md", "Namespaces of HookBundles", "rights::as_printed"),
    ("admin/rights.md", "What hooks watch", "rights::as_printed"),
    ("admin/upgrade.md", "The operator", "upgrade::from_the_version_before"),
    ("admin/install.md", "Uninstalling a Helm release", "helm::installed_upgraded_and_uninstalled"),
    ("admin/install.md", "Changing to several replicas", "replicas::another_leads_when_the_leader_goes"),
];

/// A new section with commands needs a test that types them.
pub async fn every_section_with_commands_has_a_test(_node: Arc<Node>) {
    for page in ["admin/install.md", "admin/rights.md", "admin/upgrade.md"] {
        for section in sections(page) {
            let typed = TYPED.iter().any(|(of, title, _)| (*of, *title) == (page, section.title.as_str()));
            let any = !section.commands.is_empty() || !section.yaml.is_empty();
            assert!(typed || !any, "no test types the commands of {page}, section {:?}", section.title);
        }
    }
    for (page, title, test) in TYPED {
        assert!(sections(page).iter().any(|section| section.title == title), "{page} has no {title:?}, for {test}");
    }
}
