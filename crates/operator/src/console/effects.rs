//! What the last writes did to their objects, for the console. Only an operator that computes effects for somebody else
//! keeps them, because each costs one more read.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use boathook_core::effect::{Effect, Sink, json};

use crate::admin::details::EffectsView;

/// The bytes of all effects, as JSON.
const BYTES: usize = 8 << 20;
/// The effects of one run, and the bytes of one effect.
const OF_RUN: (usize, usize) = (64, 256 << 10);
/// The runs, some of which have only effects that are too large.
const RUNS: usize = 4_096;

/// Keeps effects and passes them on.
pub struct KeptEffects {
    to: Arc<dyn Sink>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    runs: HashMap<Box<str>, OfRun>,
    /// The runs in the order of their first effects.
    order: VecDeque<Box<str>>,
    bytes: usize,
}

#[derive(Default)]
struct OfRun {
    /// As texts, because a tree takes several times as much memory.
    effects: Vec<Box<str>>,
    bytes: usize,
    dropped: u64,
}

impl KeptEffects {
    pub fn new(to: Arc<dyn Sink>) -> Self {
        Self { to, kept: Mutex::default() }
    }

    /// The effects of a run.
    pub fn of(&self, run: &str) -> EffectsView {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (texts, dropped) =
            kept.runs.get(run).map(|of_run| (of_run.effects.clone(), of_run.dropped)).unwrap_or_default();
        drop(kept);
        let effects = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        EffectsView { run: run.to_owned(), effects, dropped }
    }
}

impl Sink for KeptEffects {
    fn effect(&self, effect: Effect) {
        // Values of Secrets are hidden.
        let shown = json(&effect, false).to_string();
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(effect.run.as_str(), shown, BYTES);
        self.to.effect(effect);
    }
}

impl Kept {
    fn push(&mut self, run: &str, effect: String, bytes: usize) {
        let size = effect.len();
        if !self.runs.contains_key(run) {
            self.order.push_back(run.into());
        }
        let of_run = self.runs.entry(run.into()).or_default();
        if of_run.effects.len() == OF_RUN.0 || size > OF_RUN.1 {
            of_run.dropped += 1;
        } else {
            of_run.effects.push(effect.into());
            of_run.bytes += size;
            self.bytes += size;
        }
        while (self.bytes > bytes || self.order.len() > RUNS) && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|run| self.runs.remove(&run));
            self.bytes = self.bytes.saturating_sub(oldest.map_or(0, |of_run| of_run.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_bounded_for_each_run_and_in_all() {
        let mut kept = Kept::default();
        let effect = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        (0..OF_RUN.0 + 2).for_each(|_| kept.push("a", effect(10), 10_000));
        kept.push("a", effect(OF_RUN.1 + 1), 10_000);
        assert_eq!((kept.runs["a"].effects.len(), kept.runs["a"].dropped), (OF_RUN.0, 3));
        (0..20).for_each(|n| kept.push(&n.to_string(), effect(900), 10_000));
        assert!(!kept.runs.contains_key("a") && kept.bytes <= 10_000);
        assert_eq!((kept.order.len(), kept.bytes), (kept.runs.len(), 900 * kept.runs.len()));
    }
}
