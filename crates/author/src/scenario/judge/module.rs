//! Compares a module with what is expected of it.

use serde_json::Value;

use super::{Remedy, Spot, Wrong, object_differs};
use crate::{module::unified, scenario::document::Expect};

/// What was read of a module.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::scenario) struct OfModule {
    /// Its values, if some are expected.
    pub values: Option<Value>,
    /// The values of all modules, if some are expected.
    pub global: Option<Value>,
    /// Its configuration, if something of it is expected.
    pub settings: Option<Value>,
    /// What its chart renders to, or why it does not render, if manifests are expected.
    pub manifests: Option<Result<String, String>>,
    /// The manifests that are expected, if the file is there.
    pub snapshot: Option<String>,
    /// Why it is not as it should be.
    pub trouble: Option<String>,
}

/// The differences of a module.
pub(super) fn differs(expect: &Expect, seen: &OfModule) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    for (name, wanted, found, spot) in [
        ("values", &expect.values, &seen.values, Spot::Values),
        ("global", &expect.global, &seen.global, Spot::Global),
        ("settings", &expect.settings, &seen.settings, Spot::Settings),
    ] {
        if let Some(wanted) = wanted {
            wrong.extend(object_differs(name, wanted, &found.clone().unwrap_or_default(), spot));
        }
    }
    if let (Some(file), Some(found)) = (&expect.manifests, &seen.manifests) {
        wrong.extend(manifests(file, seen.snapshot.as_deref(), found));
    }
    if let Some(wanted) = &expect.failed
        && !seen.trouble.as_ref().is_some_and(|trouble| trouble.contains(wanted))
    {
        let found = seen.trouble.as_deref().unwrap_or("the module does not fail, and its settings are accepted");
        wrong.push(format!("failed:\n  - expected {wanted:?}\n  + found    {found}").into());
    }
    wrong
}

fn manifests(file: &str, snapshot: Option<&str>, found: &Result<String, String>) -> Option<Wrong> {
    let found = match found {
        Ok(found) => found,
        Err(why) => return Some(format!("manifests: the module does not render: {why}").into()),
    };
    let text = match snapshot {
        None => format!("manifests: there is no file {file}: write it with `boathook test --update`"),
        Some(snapshot) if snapshot == found => return None,
        Some(snapshot) => {
            let difference = unified(snapshot, found);
            format!("manifests: {file} (-) is not what the module renders to (+):\n{}", difference.trim_end())
        }
    };
    Some(Wrong { text, remedy: Some(Remedy::Manifests(found.clone())) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::scenario::document::{Action, Scenario};

    fn wrong(expect: &str, seen: &OfModule) -> Vec<Wrong> {
        let scenario = Scenario::parse(&format!("name: x\nsteps: [{{expect: {expect}}}]\n")).unwrap();
        let Some(Action::Expect(expect)) = scenario.steps.first().map(|step| &step.action) else { return Vec::new() };
        differs(expect, seen)
    }

    fn texts(expect: &str, seen: &OfModule) -> Vec<String> {
        wrong(expect, seen).into_iter().map(|wrong| wrong.text).collect()
    }

    #[test]
    fn manifests_are_equal_to_the_file() {
        let seen = |manifests: Result<&str, &str>, snapshot: Option<&str>| OfModule {
            manifests: Some(manifests.map(str::to_owned).map_err(str::to_owned)),
            snapshot: snapshot.map(str::to_owned),
            ..OfModule::default()
        };
        let expect = "{manifests: snapshots/web.yaml}";
        assert!(wrong(expect, &seen(Ok("a\n"), Some("a\n"))).is_empty());
        let missing = wrong(expect, &seen(Ok("a\n"), None));
        assert_eq!(
            missing.first().unwrap().text,
            "manifests: there is no file snapshots/web.yaml: write it with `boathook test --update`"
        );
        assert!(matches!(&missing.first().unwrap().remedy, Some(Remedy::Manifests(text)) if text == "a\n"));
        assert_eq!(
            texts(expect, &seen(Ok("a\nc\n"), Some("a\nb\n"))),
            ["manifests: snapshots/web.yaml (-) is not what the module renders to (+):\n@@ -1,2 +1,2 @@\n a\n-b\n+c"]
        );
        let broken = wrong(expect, &seen(Err("web/templates/a.yaml:1: bad"), Some("a\n")));
        assert_eq!(broken.first().unwrap().text, "manifests: the module does not render: web/templates/a.yaml:1: bad");
        assert!(broken.first().unwrap().remedy.is_none());
    }

    #[test]
    fn values_have_at_least_what_is_expected() {
        let seen = OfModule { values: Some(json!({"port": 80, "more": 1})), ..OfModule::default() };
        assert!(wrong("{values: {port: 80, other: null}}", &seen).is_empty());
        assert_eq!(texts("{values: {port: 81}}", &seen), ["values:\n  .port\n    - expected 81\n    + found    80"]);
        let seen = OfModule { global: Some(json!({"zone": "a"})), settings: Some(json!({"port": 80})), ..seen };
        assert!(wrong("{global: {zone: a}, settings: {port: 80}}", &seen).is_empty());
        assert_eq!(
            texts("{global: {zone: b}, settings: {port: 81}}", &seen),
            [
                "global:\n  .zone\n    - expected \"b\"\n    + found    \"a\"",
                "settings:\n  .port\n    - expected 81\n    + found    80"
            ]
        );
    }

    #[test]
    fn a_failure_is_expected_by_a_part_of_it() {
        let seen = OfModule { trouble: Some("hook main.web: no route".to_owned()), ..OfModule::default() };
        assert!(wrong("{failed: no route}", &seen).is_empty());
        assert_eq!(
            texts("{failed: no way}", &seen),
            ["failed:\n  - expected \"no way\"\n  + found    hook main.web: no route"]
        );
        assert_eq!(texts("{failed: x}", &OfModule::default()).len(), 1);
    }
}
