//! Tells of runs that take long: before a run ends nothing is shown of it, and a hook that waits for something looks
//! like one that was not woken. Never ends a run.

use std::{
    collections::{HashMap, hash_map::Entry},
    convert::Infallible,
    time::Duration,
};

use boathook_operator::app::App;
use tokio::time::Instant;

use super::show::{Note, Show};

/// A hook is silent for so long before its run is told of.
const LONG: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Triggers of each queue that are looked at; those at work come first.
const MOST: usize = 64;

/// Looks at what runs, until it is dropped.
pub(super) async fn tell(app: &App, show: &Show) -> Infallible {
    let mut silences = Silences::default();
    let mut looks = tokio::time::interval(LOOK);
    loop {
        let now = looks.tick().await;
        let dumps = app.queue().dump(MOST);
        let running = dumps.iter().flat_map(|queue| &queue.triggers).filter(|trigger| trigger.running);
        let running: HashMap<_, _> = running.map(|trigger| (trigger.hook.as_str(), trigger.binding.as_str())).collect();
        for hook in silences.look(now, running.keys().map(|hook| (*hook, show.runs(hook)))) {
            let binding = running.get(hook.as_str()).copied().unwrap_or_default();
            show.note(&Note::Slow { hook: &hook, binding, taken: LONG });
        }
    }
}

/// Hooks that run and show nothing, by name.
#[derive(Default)]
struct Silences(HashMap<String, Silence>);

struct Silence {
    since: Instant,
    /// The hook's runs that had ended by then.
    runs: u64,
    told: bool,
}

impl Silences {
    /// `running`: hooks with a run under way, and how many have ended. Returns those to be told of, each once in a silence.
    fn look<'a>(&mut self, now: Instant, running: impl Iterator<Item = (&'a str, u64)>) -> Vec<String> {
        let (mut still, mut long) = (HashMap::new(), Vec::new());
        for (hook, runs) in running {
            let mut silence = match self.0.entry(hook.to_owned()) {
                Entry::Occupied(known) if known.get().runs == runs => known.remove(),
                _ => Silence { since: now, runs, told: false },
            };
            if !silence.told && now.duration_since(silence.since) >= LONG {
                silence.told = true;
                long.push(hook.to_owned());
            }
            still.insert(hook.to_owned(), silence);
        }
        self.0 = still;
        long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_of_once_when_it_takes_long() {
        let (mut silences, start) = (Silences::default(), Instant::now());
        let mut look = |ms: u64, running: &[(&str, u64)]| {
            silences.look(start + Duration::from_millis(ms), running.iter().copied()).concat()
        };
        assert_eq!(look(0, &[("a", 0)]), "");
        assert_eq!(look(1_000, &[("a", 0), ("b", 7)]), "");
        assert_eq!(look(2_000, &[("a", 0), ("b", 7)]), "a");
        assert_eq!(look(2_500, &[("a", 0), ("b", 7)]), "");
        // A run of it ended meanwhile.
        assert_eq!(look(3_000, &[("a", 0), ("b", 8)]), "");
        // Nothing of it ran meanwhile.
        assert_eq!(look(4_000, &[("b", 8)]), "");
        assert_eq!(look(5_000, &[("a", 0), ("b", 8)]), "b");
    }
}
