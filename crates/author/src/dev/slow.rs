//! Reports runs that take long. Nothing of a run is shown before it ends, so a hook that waits for something would look
//! like a hook that was not triggered.

use std::{
    collections::{HashMap, hash_map::Entry},
    convert::Infallible,
    time::Duration,
};

use boathook_operator::app::App;
use tokio::time::Instant;

use super::show::{Note, Show};

/// A hook's run is reported after this time without output.
const LONG: Duration = Duration::from_secs(2);
/// Time between two checks.
const LOOK: Duration = Duration::from_millis(250);
/// Maximum number of triggers to check in each queue. Running ones come first.
const MOST: usize = 64;

/// Checks the active runs until it is dropped.
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

/// Hooks with an active run and no output, by name.
#[derive(Default)]
struct Silences(HashMap<String, Silence>);

struct Silence {
    since: Instant,
    /// The number of the hook's ended runs at that time.
    runs: u64,
    told: bool,
}

impl Silences {
    /// `running` contains the hooks with an active run, and the number of their ended runs. Returns the hooks to
    /// report, each once per silence.
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
        // A run of it has ended in the meantime.
        assert_eq!(look(3_000, &[("a", 0), ("b", 8)]), "");
        // Nothing of it ran in the meantime.
        assert_eq!(look(4_000, &[("b", 8)]), "");
        assert_eq!(look(5_000, &[("a", 0), ("b", 8)]), "b");
    }
}
