//! Which modules are on, why, and in which order they run: a function of votes, scripts' answers and dependencies.
//!
//! Two sorts of edges order modules. A dependency *needs* its target: it waits until the target is ready. The number of a
//! module's directory only *orders*: a module waits until those before it have been tried, and runs whether they failed or
//! not. A module with dependencies has no edges from or to its number: such edges could close a circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use semver::Version;

use crate::{
    layout::{Catalogue, Class, Dependency, Module},
    names::ModuleName,
    values::Decision,
};

/// A module in the graph.
#[derive(Debug, Clone)]
pub struct Node {
    pub name: ModuleName,
    pub order: u32,
    pub class: Class,
    pub version: Option<Version>,
    pub dependencies: Vec<Dependency>,
}

/// Modules that cannot be ordered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    #[error("these modules depend on each other in a circle: {}; remove one of the dependencies", path(.0))]
    Circle(Vec<ModuleName>),
    #[error("there are two modules {0}: rename one of them")]
    Twice(ModuleName),
    #[error("the critical module {0} depends on the functional module {1}: make both critical, or both functional")]
    Class(ModuleName, ModuleName),
}

fn path(names: &[ModuleName]) -> String {
    names.iter().map(ModuleName::as_str).collect::<Vec<_>>().join(" -> ")
}

/// What a module's own script says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The module has no script.
    None,
    Yes,
    No(Option<String>),
    /// It has not run yet.
    Waiting,
    Failed(String),
}

/// Whether a module is on, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    On(Decision),
    Off(Off),
    /// Not known yet, because this script has not answered, or because of this module.
    Unknown(Unknown),
}

/// Why a module is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Off {
    /// The last vote, or none.
    Voted(Decision),
    Script(Option<String>),
    /// A module that it needs is not there.
    Missing(ModuleName),
    /// A module that it needs is off.
    Needs(ModuleName),
    /// A module that it needs has a version that will not do.
    Version(ModuleName, Option<Version>),
}

/// Why it is not known whether a module is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    Script,
    ScriptFailed(String),
    /// It needs a module of which it is not known.
    Needs(ModuleName),
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Voted(Decision { by: Some(writer), .. }) => write!(f, "{writer} turns it off"),
            Self::Voted(_) => f.write_str("nobody turns it on"),
            Self::Script(None) => f.write_str("its script says no"),
            Self::Script(Some(why)) => write!(f, "its script says no: {why}"),
            Self::Missing(name) => write!(f, "it needs the module {name}, which is not there"),
            Self::Needs(name) => write!(f, "it needs the module {name}, which is off"),
            Self::Version(name, None) => write!(f, "it needs another version of the module {name}, which has none"),
            Self::Version(name, Some(version)) => {
                write!(f, "it needs another version of the module {name}, which is {version}")
            }
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script => f.write_str("its script has not answered yet"),
            Self::ScriptFailed(why) => write!(f, "its script failed: {why}"),
            Self::Needs(name) => write!(f, "it needs the module {name}, of which it is not known yet"),
        }
    }
}

/// Modules and what orders them.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: BTreeMap<ModuleName, Node>,
    /// In an order in which each module comes after those that it needs, and else by number and name.
    sorted: Vec<ModuleName>,
    /// Modules that are there and cannot be read, and why.
    broken: BTreeMap<ModuleName, String>,
}

impl Graph {
    /// # Errors
    /// Names the modules that cannot be ordered.
    pub fn new(list: impl IntoIterator<Item = Node>) -> Result<Self, GraphError> {
        let mut nodes = BTreeMap::new();
        for node in list {
            let name = node.name.clone();
            if nodes.insert(name.clone(), node).is_some() {
                return Err(GraphError::Twice(name));
            }
        }
        for node in nodes.values().filter(|node| node.class == Class::Critical) {
            let functional =
                |name: &ModuleName| nodes.get(name).is_some_and(|other: &Node| other.class == Class::Functional);
            if let Some(other) = node.dependencies.iter().find(|dependency| functional(&dependency.name)) {
                return Err(GraphError::Class(node.name.clone(), other.name.clone()));
            }
        }
        let sorted = sort(&nodes)?;
        Ok(Self { nodes, sorted, broken: BTreeMap::new() })
    }

    /// The modules of directories.
    ///
    /// # Errors
    /// Names the modules that cannot be ordered.
    pub fn of(catalogue: &Catalogue) -> Result<Self, GraphError> {
        let graph = Self::of_modules(&catalogue.modules)?;
        let broken = catalogue.broken.iter().filter_map(|(name, error)| Some((name.clone()?, error.to_string())));
        Ok(graph.with_broken(broken))
    }

    /// These modules.
    ///
    /// # Errors
    /// Names the modules that cannot be ordered.
    pub fn of_modules<'m>(modules: impl IntoIterator<Item = &'m Module>) -> Result<Self, GraphError> {
        Self::new(modules.into_iter().map(|module| Node {
            name: module.name.clone(),
            order: module.order,
            class: module.definition.class,
            version: module.definition.version.clone(),
            dependencies: module.definition.dependencies.clone(),
        }))
    }

    /// Adds modules that are there and cannot be read, with the reasons. Nothing is known of what needs them.
    #[must_use]
    pub fn with_broken(mut self, broken: impl IntoIterator<Item = (ModuleName, String)>) -> Self {
        self.broken = broken.into_iter().filter(|(name, _)| !self.nodes.contains_key(name)).collect();
        self
    }

    /// Modules that are there and cannot be read, with the reasons.
    pub fn broken(&self) -> &BTreeMap<ModuleName, String> {
        &self.broken
    }

    /// All modules, each after those that it needs.
    pub fn order(&self) -> &[ModuleName] {
        &self.sorted
    }

    pub fn contains(&self, name: &ModuleName) -> bool {
        self.nodes.contains_key(name)
    }

    /// All modules that a module names as its dependencies.
    pub fn dependencies(&self, name: &ModuleName) -> &[Dependency] {
        self.nodes.get(name).map_or(&[], |node| &node.dependencies)
    }

    /// The modules that are there and that a module needs.
    pub fn needs<'g>(&'g self, name: &ModuleName) -> impl Iterator<Item = &'g ModuleName> {
        needs(&self.nodes, name)
    }

    /// The place of a module in the order of numbers: it lets modules with smaller numbers go first without needing them.
    /// Functional modules come last. `None` for a module with dependencies, which order it instead.
    pub fn number(&self, name: &ModuleName) -> Option<u32> {
        let node = self.nodes.get(name).filter(|node| node.dependencies.is_empty())?;
        Some(if node.class == Class::Functional { u32::MAX } else { node.order })
    }

    /// Evaluates which modules are on, in order. `script` is the answer of a module's script, given the modules that are
    /// on before it.
    pub fn states(
        &self,
        vote: impl Fn(&ModuleName) -> Decision,
        script: impl Fn(&ModuleName, &[ModuleName]) -> Answer,
    ) -> BTreeMap<ModuleName, State> {
        let mut states: BTreeMap<ModuleName, State> = BTreeMap::new();
        let mut on = Vec::new();
        for name in &self.sorted {
            let decision = vote(name);
            let state = match self.nodes.get(name).and_then(|node| self.unmet(node, &states)) {
                _ if !decision.on => State::Off(Off::Voted(decision)),
                Some(state) => state,
                None => match script(name, &on) {
                    Answer::None | Answer::Yes => State::On(decision),
                    Answer::No(why) => State::Off(Off::Script(why)),
                    Answer::Waiting => State::Unknown(Unknown::Script),
                    Answer::Failed(why) => State::Unknown(Unknown::ScriptFailed(why)),
                },
            };
            if matches!(state, State::On(_)) {
                on.push(name.clone());
            }
            states.insert(name.clone(), state);
        }
        states
    }

    /// What keeps a module from being on whatever is voted: the first of its dependencies that does not hold.
    fn unmet(&self, node: &Node, states: &BTreeMap<ModuleName, State>) -> Option<State> {
        let mut unknown = None;
        for Dependency { name, optional, versions } in &node.dependencies {
            if self.broken.contains_key(name) {
                unknown = unknown.or_else(|| Some(State::Unknown(Unknown::Needs(name.clone()))));
                continue;
            }
            let off = match (self.nodes.get(name), states.get(name)) {
                (None, _) | (_, None) => (!optional).then(|| Off::Missing(name.clone())),
                (Some(_), Some(State::Off(_))) => (!optional).then(|| Off::Needs(name.clone())),
                (Some(_), Some(State::Unknown(_))) => {
                    // An optional one may still turn out to be on.
                    unknown = unknown.or_else(|| Some(State::Unknown(Unknown::Needs(name.clone()))));
                    None
                }
                (Some(other), Some(State::On(_))) => match (versions, &other.version) {
                    (Some(range), Some(version)) if range.matches(version) => None,
                    (Some(_), version) => Some(Off::Version(name.clone(), version.clone())),
                    (None, _) => None,
                },
            };
            if let Some(off) = off {
                return Some(State::Off(off));
            }
        }
        unknown
    }
}

fn needs<'g>(nodes: &'g BTreeMap<ModuleName, Node>, name: &ModuleName) -> impl Iterator<Item = &'g ModuleName> {
    let dependencies = nodes.get(name).into_iter().flat_map(|node| &node.dependencies);
    dependencies.map(|dependency| &dependency.name).filter(|name| nodes.contains_key(*name))
}

/// Sorts by what modules need, then by number and name.
fn sort(nodes: &BTreeMap<ModuleName, Node>) -> Result<Vec<ModuleName>, GraphError> {
    let mut left: BTreeMap<&ModuleName, BTreeSet<&ModuleName>> =
        nodes.keys().map(|name| (name, needs(nodes, name).collect())).collect();
    let mut dependants: BTreeMap<&ModuleName, Vec<&ModuleName>> = BTreeMap::new();
    for (name, needed) in &left {
        needed.iter().for_each(|other| dependants.entry(*other).or_default().push(*name));
    }
    let place = |name: &ModuleName| nodes.get(name).map_or(0, |node| node.order);
    let mut ready: BTreeSet<(u32, &ModuleName)> =
        left.iter().filter(|(_, needed)| needed.is_empty()).map(|(name, _)| (place(name), *name)).collect();
    let mut sorted = Vec::with_capacity(nodes.len());
    while let Some((_, name)) = ready.pop_first() {
        left.remove(name);
        sorted.push(name.clone());
        for dependant in dependants.remove(name).into_iter().flatten() {
            if let Some(needed) = left.get_mut(dependant) {
                needed.remove(name);
                if needed.is_empty() {
                    ready.insert((place(dependant), dependant));
                }
            }
        }
    }
    // Each module that is left needs another one that is left: following them leads into a circle.
    let Some(mut at) = left.keys().next().copied() else { return Ok(sorted) };
    let mut walked: Vec<&ModuleName> = Vec::new();
    loop {
        if let Some(start) = walked.iter().position(|name| *name == at) {
            let circle = walked.iter().skip(start).chain([&at]).map(|name| (*name).clone());
            return Err(GraphError::Circle(circle.collect()));
        }
        walked.push(at);
        match left.get(at).and_then(|needed| needed.first()) {
            Some(next) => at = next,
            None => return Ok(sorted),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use semver::VersionReq;

    use super::*;
    use crate::layers::Writer;

    fn name(text: &str) -> ModuleName {
        text.parse().unwrap()
    }

    /// `name@version order: needed optional? needed>=1`
    fn node(text: &str) -> Node {
        let (head, dependencies) = text.split_once(':').unwrap_or((text, ""));
        let mut words = head.split_whitespace();
        let (own, version) = words.next().map(|word| word.split_once('@').unwrap_or((word, ""))).unwrap();
        let dependencies = dependencies.split_whitespace().map(|word| {
            let (other, range) = word.split_once('=').map_or((word, None), |(other, range)| (other, Some(range)));
            Dependency {
                name: name(other.trim_end_matches('?')),
                optional: other.ends_with('?'),
                versions: range.map(|range| VersionReq::parse(range).unwrap()),
            }
        });
        Node {
            name: name(own),
            order: words.next().map_or(1, |order| order.parse().unwrap()),
            class: words.next().map_or(Class::Critical, |_| Class::Functional),
            version: Version::parse(version).ok(),
            dependencies: dependencies.collect(),
        }
    }

    fn graph(nodes: &[&str]) -> Result<Graph, GraphError> {
        Graph::new(nodes.iter().map(|text| node(text)))
    }

    fn order(graph: &Graph) -> Vec<&str> {
        graph.order().iter().map(ModuleName::as_str).collect()
    }

    fn voted(on: bool) -> Decision {
        Decision { on, by: Some(Writer::Config("cm".into())) }
    }

    #[test]
    fn modules_come_after_those_that_they_need_and_else_by_number_and_name() {
        let sorted = graph(&["web 10: db cache?", "db 30", "api 20", "cache 5: gone?", "auth 10"]).unwrap();
        assert_eq!(order(&sorted), ["cache", "auth", "api", "db", "web"]);
        assert_eq!(sorted.number(&name("db")), Some(30));
        assert_eq!(sorted.number(&name("web")), None, "a module with dependencies is not ordered by its number");
        let mixed = graph(&["a 1", "b 2 functional"]).unwrap();
        assert_eq!((mixed.number(&name("a")), mixed.number(&name("b"))), (Some(1), Some(u32::MAX)));
    }

    #[test]
    fn circles_are_named() {
        let error = graph(&["a: b", "b: c", "c: d", "d: b", "e"]).unwrap_err().to_string();
        assert!(error.contains("b -> c -> d -> b; remove one"), "{error}");
        assert!(graph(&["a: a"]).unwrap_err().to_string().contains("a -> a;"));
        assert!(graph(&["a: b?", "b: a"]).is_err(), "an optional dependency orders, too");
        assert_eq!(graph(&["a", "a"]).unwrap_err(), GraphError::Twice(name("a")));
        assert_eq!(graph(&["a: b", "b 1 functional"]).unwrap_err(), GraphError::Class(name("a"), name("b")));
        assert!(graph(&["a 1 functional: b", "b"]).is_ok());
    }

    #[test]
    fn each_state_has_its_reason() {
        let nodes = [
            "on 1",
            "voted 2",
            "script 3",
            "late 4",
            "bad 5",
            "missing 6: nothing",
            "needs 7: voted",
            "old@1.2.0 8",
            "range 9: old=^2",
            "unversioned 9: on=^1",
            "fits 9: old=^1",
            "waits 9: late",
            "optional 9: voted? nothing? old=^1",
            "range-optional 9: old?=^2",
        ];
        let graph = graph(&nodes).unwrap();
        let states = graph.states(
            |name| voted(name.as_str() != "voted"),
            |name, before| match name.as_str() {
                "script" => {
                    assert_eq!(before, [self::name("on")], "those that are on before it");
                    Answer::No(Some("no nodes".into()))
                }
                "late" => Answer::Waiting,
                "bad" => Answer::Failed("exit 3".into()),
                "on" => Answer::Yes,
                _ => Answer::None,
            },
        );
        let old = Version::new(1, 2, 0);
        for (module, state) in [
            ("on", State::On(voted(true))),
            ("voted", State::Off(Off::Voted(voted(false)))),
            ("script", State::Off(Off::Script(Some("no nodes".into())))),
            ("late", State::Unknown(Unknown::Script)),
            ("bad", State::Unknown(Unknown::ScriptFailed("exit 3".into()))),
            ("missing", State::Off(Off::Missing(name("nothing")))),
            ("needs", State::Off(Off::Needs(name("voted")))),
            ("range", State::Off(Off::Version(name("old"), Some(old.clone())))),
            ("unversioned", State::Off(Off::Version(name("on"), None))),
            ("fits", State::On(voted(true))),
            ("waits", State::Unknown(Unknown::Needs(name("late")))),
            ("optional", State::On(voted(true))),
            ("range-optional", State::Off(Off::Version(name("old"), Some(old)))),
        ] {
            assert_eq!(states[&name(module)], state, "{module}");
        }
        // A module that cannot be read is not one that is gone: nothing that needs it may be deleted for it.
        let graph = graph.with_broken([(name("nothing"), "no".to_owned())]);
        let states = graph.states(|_| voted(true), |_, _| Answer::None);
        assert_eq!(states[&name("missing")], State::Unknown(Unknown::Needs(name("nothing"))));
        assert_eq!(states[&name("optional")], State::Unknown(Unknown::Needs(name("nothing"))));
    }

    proptest! {
        /// In any graph without circles: nothing is on without what it needs, each module comes after it, and a script
        /// that fails changes nothing but what needs its module.
        #[test]
        fn modules_that_do_not_need_each_other_do_not_matter_to_each_other(
            edges in prop::collection::vec((0..8usize, 0..8usize, any::<bool>()), 0..16),
            off in prop::collection::btree_set(0..8usize, 0..3),
            broken in 0..8usize,
        ) {
            let label = |index: usize| name(&format!("m{}", char::from(b'a' + index as u8)));
            let nodes = (0..8).map(|index| Node {
                name: label(index),
                order: (8 - index) as u32,
                class: Class::Critical,
                version: None,
                dependencies: edges
                    .iter()
                    .filter(|(from, to, _)| *from == index && to < from)
                    .map(|(_, to, optional)| Dependency { name: label(*to), optional: *optional, versions: None })
                    .collect(),
            });
            let graph = Graph::new(nodes).unwrap();
            let place = |name: &ModuleName| graph.order().iter().position(|other| other == name).unwrap();
            let states = |broken: Option<usize>| graph.states(
                |module| voted(!off.iter().any(|index| label(*index) == *module)),
                |module, _| match broken.map(label) {
                    Some(broken) if broken == *module => Answer::Failed("x".into()),
                    _ => Answer::None,
                },
            );
            let (whole, with_broken) = (states(None), states(Some(broken)));
            let mut touched = BTreeSet::from([label(broken)]);
            for module in graph.order() {
                for needed in graph.needs(module) {
                    prop_assert!(place(needed) < place(module));
                    if touched.contains(needed) {
                        touched.insert(module.clone());
                    }
                }
                if !touched.contains(module) {
                    prop_assert_eq!(&whole[module], &with_broken[module]);
                }
                let node = &graph.nodes[module];
                if matches!(whole[module], State::On(_)) {
                    for dependency in node.dependencies.iter().filter(|dependency| !dependency.optional) {
                        prop_assert!(matches!(whole[&dependency.name], State::On(_)));
                    }
                }
            }
        }
    }
}
