//! The permissions that a hook should have, with the lines that need them: from what its script uses, and from what runs
//! of it used.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use boathook_core::model::{Permission, ScriptRequest};

use super::{
    evidence::Calls,
    kinds::Kinds,
    objects::{one_line, permission_lines},
    rules::gather,
    usage::Use,
};

/// More names or namespaces than this in records stand for all.
const FEW: usize = 5;
/// What an interpreter calls a kind that is not known before a run. A permission for all of something is never proposed.
const ANY: char = '*';

/// A namespace and a name.
type At = (Option<String>, Option<String>);

/// One access, and why it is needed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    pub access: NeededAccess,
    pub why: Why,
}

/// An access that a hook needs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededAccess {
    pub group: String,
    /// Plural, with `/sub` for a subresource.
    pub resource: String,
    pub verb: String,
    /// None is all.
    pub namespace: Option<String>,
    /// None is all.
    pub name: Option<String>,
}

/// The reason of a permission.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Why {
    /// `copy.sh`. None for a record.
    pub file: Option<String>,
    pub line: Option<u32>,
    /// The command.
    pub text: String,
    /// What is not known before a run.
    pub review: Vec<String>,
}

impl Why {
    /// `copy.sh:12: kubectl get secret registry`.
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {}", self.text),
            (Some(file), None) => format!("{file}: {}", self.text),
            (None, _) => self.text.clone(),
        }
    }
}

/// A permission to write into the file of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    pub permission: Permission,
    pub why: BTreeSet<Why>,
}

impl Proposed {
    /// Whether the kind is not known, so that a person has to complete the permission.
    pub fn is_incomplete(&self) -> bool {
        let Permission { api_groups, resources, verbs, .. } = &self.permission;
        [api_groups, resources, verbs].into_iter().flatten().any(|text| text.contains(ANY))
    }

    /// What a person has to review.
    pub fn review(&self) -> BTreeSet<&str> {
        self.why.iter().flat_map(|why| why.review.iter().map(String::as_str)).collect()
    }
}

impl From<&ScriptRequest> for Need {
    fn from(request: &ScriptRequest) -> Self {
        let file = request.at.file.strip_prefix("/hooks/").unwrap_or(&request.at.file);
        let access = NeededAccess {
            group: request.group.clone(),
            resource: request.resource.clone(),
            verb: request.verb.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
        };
        let why = Why {
            file: Some(file.to_owned()),
            line: request.at.line,
            text: request.command.clone(),
            review: request.unknown.clone(),
        };
        Self { access, why }
    }
}

/// What runs of a hook needed, whether they were allowed it or not.
pub fn observed(calls: &Calls, kinds: &Kinds) -> Vec<Need> {
    let mut found: BTreeMap<(String, String, String), BTreeSet<At>> = BTreeMap::new();
    for (call, times) in &calls.used {
        let one = Use::of(call, *times, kinds);
        let key = (one.group().to_owned(), one.resource.clone(), call.verb.clone());
        found.entry(key).or_default().insert((call.namespace.clone(), call.name.clone()));
    }
    let mut needs = Vec::new();
    for ((group, resource, verb), places) in found {
        let many = |part: fn(&At) -> &Option<String>| places.iter().map(part).collect::<BTreeSet<_>>().len() > FEW;
        let (any_namespace, any_name) = (many(|place| &place.0), many(|place| &place.1));
        for (namespace, name) in &places {
            let access = NeededAccess {
                group: group.clone(),
                resource: resource.clone(),
                verb: verb.clone(),
                namespace: namespace.clone().filter(|_| !any_namespace),
                name: name.clone().filter(|_| !any_name),
            };
            let why = Why { file: None, line: None, text: "a recorded run".to_owned(), review: Vec::new() };
            needs.push(Need { access, why });
        }
    }
    needs
}

/// Merges needs into few permissions that allow nothing else.
pub fn propose(needs: &[Need]) -> Vec<Proposed> {
    let mut all: BTreeMap<NeededAccess, BTreeSet<Why>> = BTreeMap::new();
    for need in needs {
        all.entry(need.access.clone()).or_default().insert(need.why.clone());
    }
    let single = without_included(&all).into_iter().map(|(access, why)| (access, ((), why))).collect();
    let verbs = gather(single, |it: NeededAccess, ()| ((it.name, it.namespace, it.group, it.resource), it.verb));
    let names = gather(verbs, |(name, namespace, group, resource), verbs| {
        let named = name.is_some();
        ((namespace, group, resource, verbs, named), name)
    });
    let namespaces = gather(names, |(namespace, group, resource, verbs, _), names| {
        let within = namespace.is_some();
        ((flat(names), group, resource, verbs, within), namespace)
    });
    let resources = gather(namespaces, |(names, group, resource, verbs, _), namespaces| {
        ((names, flat(namespaces), group, verbs), resource)
    });
    let groups = gather(resources, |(names, namespaces, group, verbs), resources| {
        ((names, namespaces, verbs, resources), group)
    });
    let list = |texts: BTreeSet<String>| texts.into_iter().collect();
    let mut proposed: Vec<_> = groups
        .into_iter()
        .map(|((names, namespaces, verbs, resources), (groups, why))| Proposed {
            permission: Permission {
                api_groups: list(groups),
                resources: list(resources),
                verbs: list(verbs),
                resource_names: list(names),
                namespaces: list(namespaces),
                http: None,
                directory: None,
            },
            why,
        })
        .collect();
    proposed.sort_by(|a, b| first_line(a).cmp(&first_line(b)));
    proposed
}

fn flat(texts: BTreeSet<Option<String>>) -> BTreeSet<String> {
    texts.into_iter().flatten().collect()
}

fn first_line(proposed: &Proposed) -> Option<(Option<&String>, Option<u32>)> {
    proposed.why.iter().map(|why| (why.file.as_ref(), why.line)).min()
}

/// The accesses that no other one includes. One that includes others also gets their reasons.
fn without_included(all: &BTreeMap<NeededAccess, BTreeSet<Why>>) -> BTreeMap<NeededAccess, BTreeSet<Why>> {
    let mut kept: BTreeMap<NeededAccess, BTreeSet<Why>> = BTreeMap::new();
    for (access, why) in all {
        let wider = [
            NeededAccess { namespace: None, name: None, ..access.clone() },
            NeededAccess { namespace: None, ..access.clone() },
            NeededAccess { name: None, ..access.clone() },
        ];
        let widest = wider.into_iter().find(|wider| all.contains_key(wider));
        kept.entry(widest.unwrap_or_else(|| access.clone())).or_default().extend(why.iter().cloned());
    }
    kept
}

/// What the first line of the file says, so that a later import knows it.
pub(crate) const IMPORTED: &str = "may do in the cluster. `boathook import` read it from the script: review it.";

/// The text of `NAME.boathook.yaml`. A permission of a kind that is not known is a comment, because a wildcard would allow
/// everything.
pub fn permissions_file(script: &str, proposed: &[Proposed]) -> String {
    let mut out = format!("# What {} {IMPORTED}\n", one_line(script));
    if proposed.iter().all(Proposed::is_incomplete) {
        out.push_str("permissions: {}\n");
    } else {
        out.push_str("permissions:\n  kubernetes:\n");
    }
    for one in proposed {
        let places: BTreeSet<_> = one.why.iter().map(|why| one_line(&why.place())).collect();
        // Writing to a String cannot fail.
        for place in places {
            let _ = writeln!(out, "    # {place}");
        }
        for review in one.review() {
            let _ = writeln!(out, "    # REVIEW: {}", one_line(review));
        }
        let start = if one.is_incomplete() {
            out.push_str(
                "    # REVIEW: write the kind, and remove the # of these lines. Until then, the call fails.\n",
            );
            "    # "
        } else {
            "    "
        };
        permission_lines(start, &one.permission, &mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    /// `VERB GROUP RESOURCE NAMESPACE NAME`. `-` stands for the core group, all namespaces or all names.
    fn needs(lines: &[&str]) -> Vec<Need> {
        let read = |(index, line): (usize, &&str)| {
            let words: Vec<_> = line.split(' ').collect();
            let some = |word: &str| (word != "-").then(|| word.to_owned());
            let access = NeededAccess {
                verb: words[0].to_owned(),
                group: some(words[1]).unwrap_or_default(),
                resource: words[2].to_owned(),
                namespace: some(words[3]),
                name: some(words[4]),
            };
            let why = Why {
                file: Some("a.sh".into()),
                line: u32::try_from(index + 1).ok(),
                text: "kubectl".into(),
                review: Vec::new(),
            };
            Need { access, why }
        };
        lines.iter().enumerate().map(read).collect()
    }

    /// `GROUPS RESOURCES VERBS NAMESPACES NAMES`.
    fn merged(lines: &[&str]) -> Vec<String> {
        let text = |one: &Proposed| {
            let Permission { api_groups, resources, verbs, resource_names, namespaces, http: _, directory: _ } =
                &one.permission;
            [api_groups, resources, verbs, namespaces, resource_names].map(|texts| texts.join(",")).join(" ")
        };
        propose(&needs(lines)).iter().map(text).collect()
    }

    #[test]
    fn what_differs_in_one_respect_is_one_permission() {
        assert_eq!(merged(&["get - secrets a s", "create - secrets a s"]), [" secrets create,get a s"]);
        assert_eq!(merged(&["get - secrets a s", "get - secrets a t"]), [" secrets get a s,t"]);
        assert_eq!(merged(&["get - secrets a s", "get - secrets b s"]), [" secrets get a,b s"]);
        assert_eq!(merged(&["list - pods - -", "list - nodes - -"]), [" nodes,pods list  "]);
    }

    #[test]
    fn nothing_is_allowed_that_is_not_needed() {
        assert_eq!(
            merged(&["get - secrets a s", "get - secrets b t"]),
            [" secrets get a s", " secrets get b t"],
            "neither t in a nor s in b"
        );
        assert_eq!(merged(&["get - secrets a s", "delete - secrets a t"]), [" secrets get a s", " secrets delete a t"]);
        assert_eq!(merged(&["get - secrets - s", "get - secrets a -"]), [" secrets get  s", " secrets get a "]);
    }

    #[test]
    fn the_wider_one_has_the_reasons_of_what_it_includes() {
        let proposed = propose(&needs(&["get - secrets a s", "get - secrets - -", "get - secrets - s"]));
        assert_eq!(proposed.len(), 1);
        let lines: Vec<_> = proposed[0].why.iter().filter_map(|why| why.line).collect();
        assert_eq!(lines, [1, 2, 3]);
    }

    #[test]
    fn the_file_says_which_line_needs_it_and_what_to_review() {
        let mut needs = needs(&["get - secrets a s", "delete * * - -"]);
        needs[1].why.review = vec!["the kind is $kind\npermissions: everything".into()];
        let text = permissions_file("a.sh", &propose(&needs));
        let read: serde_json::Value = yaml_serde::from_str(&text).unwrap();
        let permission = serde_json::json!({
            "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["s"], "namespaces": ["a"],
        });
        assert_eq!(read, serde_json::json!({"permissions": {"kubernetes": [permission]}}), "{text}");
        assert!(text.contains("    # a.sh:1: kubectl\n    - apiGroups"), "{text}");
        assert!(text.contains("    # REVIEW: the kind is $kind permissions: everything\n"), "{text}");
        assert!(text.contains("    # - apiGroups: [\"*\"]\n"), "{text}");
        let read: serde_json::Value = yaml_serde::from_str(&permissions_file("a.sh", &propose(&needs[1..]))).unwrap();
        assert_eq!(read, serde_json::json!({"permissions": {}}));
    }

    // mutant: crates/author/src/rbac/objects.rs: `if is_plain(c) { out.push(c)` => `if true { out.push(c)`
    #[test]
    fn a_name_in_a_script_adds_no_permission() {
        for end in ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{7f}', '\u{202e}', '\u{feff}', '\u{ffff}'] {
            let name = format!("x{end}    - {{apiGroups: ['*'], resources: ['*'], verbs: ['*']}} #");
            let mut hostile = needs(&["get - secrets a s", "delete * * - -", "get *.x pods a -", "get - */log - -"]);
            for need in &mut hostile {
                need.access.name = Some(name.clone());
                need.why.text = name.clone();
                need.why.review = vec![name.clone()];
            }
            let text = permissions_file(&name, &propose(&hostile));
            let read: serde_json::Value = yaml_serde::from_str(&text).unwrap();
            let permission = serde_json::json!({
                "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": [name], "namespaces": ["a"],
            });
            assert_eq!(read, serde_json::json!({"permissions": {"kubernetes": [permission]}}), "{text}");
            assert!(
                text.chars().all(|c| c == '\n' || !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}')),
                "{text:?}"
            );
        }
    }
}
