//! Which steps lead from one version of a custom resource to another, over the conversions of all hooks.
//!
//! The shortest path is taken. Among paths of the same length, it is the one whose versions come first as text, version
//! by version. If several bindings can do a step, the first hook by name does it, with the first such binding of its
//! document. Pure.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use boathook_core::model::{BindingName, ConversionRule, HookName, HookSpec};

/// One step of a path, and the binding that does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub hook: HookName,
    pub binding: BindingName,
    pub rule: ConversionRule,
}

/// No conversions lead from one version to the other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no conversions lead from version {from} of {crd} to {to}: hooks convert {rules}")]
pub(super) struct NoWay {
    crd: Arc<str>,
    from: Arc<str>,
    to: Arc<str>,
    rules: String,
}

/// The conversions of one CustomResourceDefinition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chains {
    crd: Arc<str>,
    /// The steps by source version and target version.
    steps: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Step>>,
}

impl Chains {
    /// Returns `None` if no hook has a binding for the definition. The order of the hooks is their priority.
    pub fn new<'a>(crd: &str, hooks: impl IntoIterator<Item = &'a HookSpec>) -> Option<Self> {
        let mut steps: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Step>> = BTreeMap::new();
        for spec in hooks {
            for binding in spec.conversions.iter().filter(|binding| *binding.crd == *crd) {
                for rule in &binding.conversions {
                    let step = || Step { hook: spec.name.clone(), binding: binding.name.clone(), rule: rule.clone() };
                    steps.entry(rule.from.clone()).or_default().entry(rule.to.clone()).or_insert_with(step);
                }
            }
        }
        (!steps.is_empty()).then(|| Self { crd: crd.into(), steps })
    }

    /// Finds the path between two versions. It is empty if both are the same.
    pub fn way(&self, from: &str, to: &str) -> Result<Vec<Step>, NoWay> {
        // The search visits neighbours in order, so it reaches each version first by the path that comes first.
        let mut met: BTreeSet<&str> = BTreeSet::from([from]);
        let mut over: BTreeMap<&str, &Step> = BTreeMap::new();
        let mut next = VecDeque::from([from]);
        while let Some(version) = next.pop_front() {
            if version == to {
                return Ok(back(&over, from, to));
            }
            for (after, step) in self.steps.get(version).into_iter().flatten() {
                if met.insert(after) {
                    over.insert(after, step);
                    next.push_back(after);
                }
            }
        }
        Err(NoWay { crd: self.crd.clone(), from: from.into(), to: to.into(), rules: self.rules() })
    }

    fn rules(&self) -> String {
        let rules: Vec<_> = self.steps.values().flat_map(BTreeMap::values).map(|step| step.rule.to_string()).collect();
        rules.join(", ")
    }
}

fn back(over: &BTreeMap<&str, &Step>, from: &str, to: &str) -> Vec<Step> {
    let mut way = Vec::new();
    let mut at = to;
    while at != from
        && let Some(step) = over.get(at)
    {
        way.push((*step).clone());
        at = &step.rule.from;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use boathook_core::model::ConversionBinding;
    use proptest::prelude::*;

    use super::*;

    const CRD: &str = "crontabs.example.com";

    fn spec(hook: &str, bindings: &[(&str, &[(&str, &str)])]) -> HookSpec {
        let binding = |(crd, rules): &(&str, &[(&str, &str)])| ConversionBinding {
            name: BindingName::new("convert"),
            crd: (*crd).into(),
            conversions: rules.iter().map(|(from, to)| rule(from, to)).collect(),
            group: None,
            include_snapshots_from: Arc::new([]),
        };
        let document = "configVersion: v1\nonStartup: 1\n";
        let mut spec = boathook_core::hooks::parse(&HookName::new(hook).unwrap(), document, &|_| Ok(())).unwrap();
        spec.conversions = bindings.iter().map(binding).collect();
        spec
    }

    fn rule(from: &str, to: &str) -> ConversionRule {
        ConversionRule { from: from.into(), to: to.into() }
    }

    fn chains(rules: &[(&str, &str)]) -> Chains {
        Chains::new(CRD, [&spec("a", &[(CRD, rules)])]).unwrap()
    }

    fn shown(way: &[Step]) -> String {
        way.iter().map(|step| step.rule.to_string()).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn the_shortest_way_is_taken() {
        let chains = chains(&[("v1", "v2"), ("v2", "v3"), ("v3", "v4"), ("v2", "v4"), ("v4", "v1")]);
        let way = |from, to| shown(&chains.way(from, to).unwrap());
        assert_eq!(way("v1", "v4"), "v1 to v2; v2 to v4");
        assert_eq!(way("v1", "v3"), "v1 to v2; v2 to v3");
        assert_eq!(way("v3", "v2"), "v3 to v4; v4 to v1; v1 to v2");
        assert_eq!(way("v2", "v2"), "");
    }

    #[test]
    fn among_ways_of_the_same_length_the_first_as_text_is_taken() {
        let rules = [("v1", "z"), ("z", "v2"), ("v1", "a"), ("a", "v2"), ("v1", "m"), ("m", "v2")];
        assert_eq!(shown(&chains(&rules).way("v1", "v2").unwrap()), "v1 to a; a to v2");
        let reversed: Vec<_> = rules.into_iter().rev().collect();
        assert_eq!(chains(&rules), chains(&reversed));
    }

    #[test]
    fn hooks_share_a_definition_and_the_first_does_a_step_that_both_can() {
        let (a, b) = (spec("a", &[(CRD, &[("v1", "v2")])]), spec("b", &[(CRD, &[("v1", "v2"), ("v2", "v3")])]));
        let way = Chains::new(CRD, [&a, &b]).unwrap().way("v1", "v3").unwrap();
        let hooks: Vec<_> = way.iter().map(|step| step.hook.as_str()).collect();
        assert_eq!(hooks, ["a", "b"]);
    }

    #[test]
    fn what_can_not_be_converted_is_named_with_what_can() {
        let error = chains(&[("v1", "v2"), ("v2", "v3")]).way("v3", "v1").unwrap_err().to_string();
        assert_eq!(
            error,
            "no conversions lead from version v3 of crontabs.example.com to v1: hooks convert v1 to v2, v2 to v3"
        );
        assert!(Chains::new("others.example.com", [&spec("a", &[(CRD, &[("v1", "v2")])])]).is_none());
    }

    /// The lengths of all shortest paths, by the Floyd-Warshall algorithm.
    fn lengths(count: usize, edges: &[(usize, usize)]) -> Vec<Vec<Option<usize>>> {
        let mut length = vec![vec![None; count]; count];
        (0..count).for_each(|at| length[at][at] = Some(0));
        edges.iter().filter(|(a, b)| a != b).for_each(|(a, b)| length[*a][*b] = Some(1));
        for over in 0..count {
            for a in 0..count {
                for b in 0..count {
                    if let (Some(first), Some(second)) = (length[a][over], length[over][b]) {
                        let sum = first + second;
                        length[a][b] = Some(length[a][b].map_or(sum, |known: usize| known.min(sum)));
                    }
                }
            }
        }
        length
    }

    proptest! {
        #[test]
        fn ways_are_as_short_as_can_be_and_hang_together(edges in prop::collection::vec((0..6usize, 0..6usize), 1..16)) {
            let names: Vec<String> = (0..6).map(|at| format!("v{at}")).collect();
            let rules: Vec<(&str, &str)> =
                edges.iter().map(|(a, b)| (names[*a].as_str(), names[*b].as_str())).collect();
            let (chains, length) = (chains(&rules), lengths(6, &edges));
            for a in 0..6 {
                for b in 0..6 {
                    let way = chains.way(&names[a], &names[b]).ok();
                    prop_assert_eq!(way.as_ref().map(Vec::len), length[a][b]);
                    let mut at = names[a].clone();
                    for step in way.iter().flatten() {
                        prop_assert_eq!(&*step.rule.from, at.as_str());
                        prop_assert!(edges.iter().any(|(x, y)| names[*x] == *step.rule.from && names[*y] == *step.rule.to));
                        at = step.rule.to.to_string();
                    }
                    prop_assert!(way.is_none() || at == names[b]);
                }
            }
        }
    }
}
