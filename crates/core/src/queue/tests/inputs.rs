//! What a document declares as inputs of its `reconcile` binding: no parent is reconciled before all of them were delivered, nor
//! while one of them is withdrawn. The queue alone decides this, from the bindings that the document becomes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{
    hooks::parse,
    model::{HookSpec, ObjectKey},
};

const DOCUMENT: &str = "
configVersion: v1
kubernetes:
- {name: nodes, apiVersion: v1, kind: Node}
reconcile:
- name: apps
  apiVersion: x.io/v1
  kind: App
  owns: [{apiVersion: v1, kind: ConfigMap}, {apiVersion: apps/v1, kind: Deployment}]
  related: [{name: pull, apiVersion: v1, kind: Secret, nameFrom: .spec.secret}]
  includeSnapshotsFrom: [nodes]
";

#[derive(Debug, Clone)]
enum Op {
    /// All objects of an input are known, for the first time or again.
    Delivered(usize),
    /// Some objects of an input are not known any more.
    Withdrawn(usize),
    /// A parent changes, or one of its children, or what it refers to.
    Changed(u8),
    Take,
    /// The oldest run ends.
    Ends,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..4_usize).prop_map(Op::Delivered),
        1 => (0..4_usize).prop_map(Op::Withdrawn),
        3 => (0..3_u8).prop_map(Op::Changed),
        4 => Just(Op::Take),
        2 => Just(Op::Ends),
    ]
}

struct World {
    bench: Bench,
    spec: HookSpec,
    inputs: Vec<BindingName>,
    /// Inputs that were never delivered, and those that were withdrawn.
    unlisted: BTreeSet<BindingName>,
    withdrawn: BTreeSet<BindingName>,
    /// Parents whose change no run has seen.
    changed: BTreeSet<ObjectKey>,
    running: Vec<JobId>,
    version: u64,
}

impl World {
    fn new() -> Self {
        let spec = parse(&hook("h"), DOCUMENT, &|_| Ok(())).unwrap();
        let mut bench = Bench::new(&[]);
        bench.state.add_hook(hook("h"), wide(8));
        for binding in &spec.kubernetes {
            bench.state.expect_list(&hook("h"), binding.name.clone());
        }
        // The parents are there. What they need is not.
        bench.state.listed(&hook("h"), &BindingName::new("apps"));
        let inputs = spec.reconcilers[0].inputs().to_vec();
        assert_eq!(inputs.len(), 4, "{inputs:?}");
        let unlisted = inputs.iter().cloned().collect();
        let (withdrawn, changed) = (BTreeSet::new(), BTreeSet::new());
        Self { bench, spec, inputs, unlisted, withdrawn, changed, running: Vec::new(), version: 0 }
    }

    fn play(&mut self, op: &Op) {
        let of = hook("h");
        match op {
            Op::Delivered(at) => {
                let input = &self.inputs[*at];
                if !self.unlisted.remove(input) {
                    self.withdrawn.remove(input);
                    self.bench.state.complete(&of, input);
                } else {
                    self.bench.state.listed(&of, input);
                }
            }
            Op::Withdrawn(at) => {
                let input = &self.inputs[*at];
                if !self.unlisted.contains(input) {
                    self.withdrawn.insert(input.clone());
                    self.bench.state.incomplete(&of, input);
                }
            }
            Op::Changed(parent) => {
                self.version += 1;
                let cause = modified(&format!("p{parent}"), self.version);
                let informer = self.spec.kubernetes.iter().find(|binding| binding.name.as_str() == "apps").unwrap();
                let snapshots = informer.include_snapshots_from.clone();
                let trigger = Trigger { snapshots, ..trigger("h", own("h"), "apps", cause) };
                self.changed.insert(key(*parent));
                self.bench.state.push(trigger);
            }
            Op::Take => {
                while let Some(job) = self.bench.take() {
                    let missing: Vec<_> = self.unlisted.union(&self.withdrawn).collect();
                    assert!(missing.is_empty(), "{:?} without {missing:?}", labels(&job));
                    for trigger in &job.triggers {
                        let Cause::Event(event) = &trigger.cause else { panic!("{trigger:?}") };
                        self.changed.remove(&event.item.key);
                    }
                    self.running.push(job.id);
                }
            }
            Op::Ends if !self.running.is_empty() => {
                let id = self.running.remove(0);
                self.bench.done(id);
            }
            Op::Ends => {}
        }
    }
}

fn key(parent: u8) -> ObjectKey {
    ObjectKey { namespace: Some("ns".into()), name: format!("p{parent}").as_str().into() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    // mutant: crates/core/src/model/reconcile.rs: `let parents = KubernetesBinding { include_snapshots_from: self.inputs(), ..parents };` => ``
    // mutant: crates/core/src/model/reconcile.rs: `self.include_snapshots_from.iter().cloned().chain(members).chain(related).collect()` => `self.include_snapshots_from.iter().cloned().chain(members).chain(related).skip(1).collect()`
    #[test]
    fn no_parent_is_reconciled_before_all_inputs_of_the_document_are_delivered(ops in prop::collection::vec(op(), 0..60)) {
        let mut world = World::new();
        ops.iter().for_each(|op| world.play(op));
        // Everything is delivered at last, and each parent that changed has its run.
        (0..4).chain(0..4).for_each(|at| world.play(&Op::Delivered(at)));
        for _ in 0..200 {
            world.play(&Op::Take);
            world.play(&Op::Ends);
        }
        prop_assert!(world.changed.is_empty(), "{:?}", world.changed);
    }
}
