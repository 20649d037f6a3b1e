//! The attack from beginning to end, and what is expected of the operator during it. The judge compares the victim's
//! figures with those of the same run before the attack began, on the same machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::program::{Start, crossings, now, start, wanted, wanted_all};
use super::site::{ATTACKER, CANARIES, Site, everything_in, has, operators_token};
use super::{author, registry, stranger, victim};
use crate::harness::{Process, eventually_within, last};
use crate::node::{Node, restarts};

/// What the victim notices is measured this long before the attack begins: where nobody judges it, and where somebody does.
/// Of 20 s, the 95th percentile is the fifth of a hundred figures, and differs by half from run to run.
const CALM: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(120)];
/// Latencies under attack are within this many times those before. What the API server alone is late by, which serves the
/// attackers on the same processors, is not the operator's: the 95th percentile may grow with its own.
const TIMES: f64 = 2.0;
/// Set where nothing else uses the machine, so that latencies are worth judging. They are shown everywhere.
const QUIET: &str = "BOATHOOK_ATTACK_QUIET";
/// The operator obeys a change of a HookBundle within this time.
const OBEYS: Duration = Duration::from_secs(15);
/// Between two looks at the operator during the attack.
const LOOK: Duration = Duration::from_secs(5);
/// An attack goes on for so much longer until everything of it has taken place: turns of a tenant that stalls itself come late.
const PATIENCE: Duration = Duration::from_secs(180);
/// The operator's words for a review whose hook did not answer by its deadline: that is a latency, too.
const LATE: &str = "no answer within";
/// What hooks of the victim wait for, and the same without a hook.
const WORK: [&str; 2] = ["event", "review"];
const BARE: [&str; 2] = ["bare event", "bare review"];
const TOLD: [&str; 2] = ["suspend", "resume"];
const WELL: [&str; 2] = ["/healthz", "/readyz"];

pub async fn all_at_once(node: Arc<Node>) {
    let site = Site::installed(&node).await;
    let before = node.pod().await;
    let memory = Memory::of(&node, &before);
    let works = node.dir.join("works");
    std::fs::create_dir_all(&works).expect("make a directory");
    author::ships(&works);
    let works = works.display().to_string();
    let with = [(stranger::TARGET, site.address.as_str()), (registry::WORKS, works.as_str())];
    let (theirs, ours) = (site.kubeconfig(ATTACKER).await, site.kubeconfig(victim::TEAM).await);
    let victim = Start { name: "victim", kubeconfig: Some(&ours), network: None, with: &with, attacks: false };
    let victim = start(&node, victim).await;
    let noted = async || !notes(&victim, &(0..u64::MAX)).is_empty();
    eventually_within(LOOK * 6, "the victim works", async || if noted().await { Ok(()) } else { Err("nothing yet") })
        .await;
    let calm = now();
    last(CALM[usize::from(is_quiet())]).await;

    let network = site.strangers_network().await;
    let attacker = |name, kubeconfig, network| Start { name, kubeconfig, network, with: &with, attacks: true };
    let attacked = now();
    let mut attackers = Vec::new();
    for party in [
        attacker("registry", None, None),
        attacker("tenant", Some(theirs.as_path()), None),
        attacker("author", Some(theirs.as_path()), None),
        attacker("stranger", None, Some(network.as_str())),
    ] {
        if wanted(party.name) {
            attackers.push((party.name, start(&node, party).await));
        }
    }
    let end = Instant::now() + super::duration();
    let missing = loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let missing = not_yet(&node, &attackers).await;
            if missing.is_empty() || end.elapsed() > PATIENCE {
                break missing;
            }
        }
        last(if left.is_zero() { LOOK } else { LOOK.min(left) }).await;
        still_runs(&node, &before).await;
        for (name, program) in &attackers {
            assert_eq!(program.status(), None, "{name} attacks to the end: {}", program.log());
            assert_eq!(crossings(&program.log()), [""; 0], "said by {name}");
        }
    };
    let ended = now();
    // While the attack goes on.
    let began = Instant::now();
    let delete = format!("kubectl -n {} delete hookbundle hooks --timeout=60s", victim::TEAM);
    node.try_sh(&delete)
        .await
        .unwrap_or_else(|error| panic!("the victim's HookBundle is deleted under attack: {error}"));
    let deleted = began.elapsed();

    let mut verdict = Verdict::default();
    let periods = [calm..attacked, attacked..ended].map(|period| by_kind(notes(&victim, &period)));
    verdict.latencies(&periods);
    verdict.expect(deleted <= OBEYS, &format!("deletion of a HookBundle took {deleted:.1?}"));
    verdict.memory(&memory);
    drop(victim);
    verdict.problems.extend(missing);
    nothing_crossed(&node, &attackers, &mut verdict).await;
    drop(attackers);
    still_runs(&node, &before).await;
    verdict.show_and_expect_none();
}

async fn still_runs(node: &Node, before: &Value) {
    let pod = node.pod().await;
    assert_eq!(pod["metadata"]["uid"], before["metadata"]["uid"], "it is the same Pod");
    assert_eq!(restarts(&pod), restarts(before), "its container never ends: {:#}", pod["status"]);
}

/// One thing that the victim noticed.
struct Note {
    what: String,
    millis: f64,
    problem: Option<String>,
}

fn notes(victim: &Process, period: &std::ops::Range<u64>) -> Vec<Note> {
    let log = victim.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of = |line: Value| {
        let at = line["at"].as_u64().filter(|at| period.contains(at))?;
        let problem = (line["ok"] == false).then(|| format!("{at}: {}", line["why"]));
        Some(Note { what: line["what"].as_str()?.to_owned(), millis: line["ms"].as_f64()?, problem })
    };
    lines.filter_map(of).collect()
}

fn by_kind(notes: Vec<Note>) -> BTreeMap<String, Vec<Note>> {
    let mut kinds: BTreeMap<String, Vec<Note>> = BTreeMap::new();
    for note in notes {
        kinds.entry(note.what.clone()).or_default().push(note);
    }
    kinds
}

/// The time within which this share of the notes came.
fn quantile(notes: &[Note], share: f64) -> f64 {
    let mut all: Vec<_> = notes.iter().map(|note| note.millis).collect();
    all.sort_by(f64::total_cmp);
    let at = (all.len() as f64 * share) as usize;
    all.get(at.min(all.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn is_quiet() -> bool {
    std::env::var_os(QUIET).is_some()
}

/// All that was measured, and what of it is not as it has to be.
#[derive(Default)]
struct Verdict {
    figures: String,
    problems: Vec<String>,
}

impl Verdict {
    fn expect(&mut self, good: bool, what: &str) {
        let _ = writeln!(self.figures, "{what}");
        if !good {
            self.problems.push(what.to_owned());
        }
    }

    fn latencies(&mut self, [calm, attacked]: &[BTreeMap<String, Vec<Note>>; 2]) {
        let none = Vec::new();
        let quiet = is_quiet();
        let grown = |kind: &str| {
            let [calm, attacked] = [calm, attacked].map(|notes| quantile(notes.get(kind).unwrap_or(&none), 0.95));
            if calm > 0.0 { attacked / calm } else { 1.0 }
        };
        for kind in WORK.iter().chain(&BARE).chain(&TOLD).chain(&WELL) {
            let (calm, attacked) = (calm.get(*kind).unwrap_or(&none), attacked.get(*kind).unwrap_or(&none));
            let figures = |notes: &[Note]| [0.5, 0.95, 1.0].map(|share| quantile(notes, share));
            let (then, now) = (figures(calm), figures(attacked));
            let what = format!(
                "{kind}: p50/p95/max {:.0}/{:.0}/{:.0} ms of {}, before the attack {:.0}/{:.0}/{:.0} ms of {}",
                now[0],
                now[1],
                now[2],
                attacked.len(),
                then[0],
                then[1],
                then[2],
                calm.len()
            );
            let good = match kind {
                _ if attacked.is_empty() || calm.is_empty() => false,
                kind if WORK.contains(kind) && quiet => {
                    now[0] <= TIMES * then[0] && now[1] <= TIMES * then[1] * grown(&format!("bare {kind}")).max(1.0)
                }
                kind if TOLD.contains(kind) => now[2] <= OBEYS.as_secs_f64() * 1000.0,
                _ => true,
            };
            self.expect(good, &what);
            let failed = attacked.iter().chain(calm).filter_map(|note| note.problem.as_deref());
            let (late, failed): (Vec<_>, Vec<_>) = failed.partition(|why| !quiet && why.contains(LATE));
            if !late.is_empty() {
                self.expect(true, &format!("{kind}: {} without an answer in time", late.len()));
            }
            if let Some(first) = failed.first() {
                self.problems.push(format!("{kind}: {} failed, first {first}", failed.len()));
            }
        }
    }

    fn memory(&mut self, memory: &Memory) {
        let (peak, limit) = (memory.peak.load(Ordering::Relaxed) >> 20, memory.limit() >> 20);
        self.expect(peak < limit, &format!("memory of the container: {peak} MiB at most, of {limit} MiB"));
        let killed = memory.killed();
        self.expect(killed == 0, &format!("processes that the kernel killed for memory: {killed}"));
    }

    fn show_and_expect_none(self) {
        eprintln!("{}", self.figures);
        assert!(
            self.problems.is_empty(),
            "under attack:\n{}\n\nall figures:\n{}",
            self.problems.join("\n"),
            self.figures
        );
    }
}

/// What the operator has not met of what the author ships, and the tricks of the registry that it has not asked for.
async fn not_yet(node: &Node, attackers: &[(&str, Process)]) -> Vec<String> {
    let met =
        node.sh("zcat -f /var/log/pods/boathook_*/boathook/*.log* | grep -aoE 'author-[a-z0-9-]+' | sort -u").await;
    let met: BTreeSet<_> = met.lines().collect();
    let mut missing = Vec::new();
    for (name, program) in attackers.iter().filter(|_| wanted_all()) {
        let log = program.log();
        match *name {
            "author" => missing.extend(
                (author::works().iter().filter(|work| work.name != author::GOOD))
                    .filter(|work| !met.contains(format!("author-{}", work.name).as_str()))
                    .map(|work| format!("the operator never met the author's {}", work.name)),
            ),
            "registry" => missing.extend(
                (registry::WAYS.iter().filter(|way| !log.contains(&json!({"asked": way}).to_string())))
                    .map(|way| format!("the operator never asked the registry for {way}")),
            ),
            _ => {}
        }
    }
    missing
}

/// No value of another place is where the attackers could read it, and the operator's log has none of them either.
async fn nothing_crossed(node: &Node, attackers: &[(&str, Process)], verdict: &mut Verdict) {
    let token = operators_token(node).await;
    let log = "zcat -f /var/log/pods/boathook_*/boathook/*.log*";
    // Hooks may panic; theirs are lines of hooks, and the errors of their runs.
    let own = r#""target":"hook"|"error":"the hook panicked"#;
    let loud = format!("{log} | grep -aE 'panicked at|stack overflow' | grep -avE '{own}' | head -n 5 || true");
    let mut places: Vec<_> = attackers.iter().map(|(name, program)| (*name, program.log())).collect();
    places.push(("the namespace of the attackers", everything_in(node, ATTACKER).await));
    let secret = |value: &str| format!("{log} | grep -acF -- '{value}' || true");
    for (of, value) in CANARIES.iter().copied().chain([("the operator's token", token.as_str())]) {
        assert!(value.len() > 8, "there is something to look for: {of}");
        for (place, text) in &places {
            verdict.expect(!has(text, value), &format!("{place} has nothing of {of}"));
        }
        let lines = node.sh(&secret(value)).await;
        verdict.expect(
            lines.trim() == "0",
            &format!("lines of the operator's log with a secret of {of}: {}", lines.trim()),
        );
    }
    let panics = node.sh(&loud).await;
    verdict.expect(panics.is_empty(), &format!("panics in the operator's log: {panics:?}"));
}

/// The memory of the operator's container, looked at again and again.
struct Memory {
    group: PathBuf,
    /// Bytes that could not be given back.
    peak: Arc<AtomicU64>,
    sampler: tokio::task::JoinHandle<()>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.sampler.abort();
    }
}

impl Memory {
    fn of(node: &Node, pod: &Value) -> Self {
        let id = pod["status"]["containerStatuses"][0]["containerID"].as_str().expect("a container has an id");
        let id = id.rsplit('/').next().unwrap_or(id);
        let root = Path::new("/sys/fs/cgroup");
        let root = if root.join("cgroup.controllers").exists() { root.to_owned() } else { root.join("memory") };
        let below = root.join(node.cgroup().trim_start_matches('/'));
        let group = find(&below, id).unwrap_or_else(|| panic!("{} has a group of {id}", below.display()));
        let (peak, sampled) = (Arc::new(AtomicU64::new(0)), group.clone());
        let highest = peak.clone();
        let sampler = tokio::spawn(async move {
            loop {
                highest.fetch_max(used(&sampled), Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Self { group, peak, sampler }
    }

    fn limit(&self) -> u64 {
        let text = ["memory.max", "memory.limit_in_bytes"]
            .iter()
            .find_map(|name| std::fs::read_to_string(self.group.join(name)).ok());
        text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn killed(&self) -> u64 {
        let names = ["memory.events", "memory.oom_control"];
        names
            .iter()
            .find_map(|name| field(&self.group.join(name), "oom_kill"))
            .expect("the kernel counts what it killed")
    }
}

/// Without the cache of files, which the kernel takes back before it kills.
fn used(group: &Path) -> u64 {
    let file = group.join("memory.stat");
    // Names of version 2 and 1. The former has `shmem` in another field.
    let v2 = field(&file, "anon").map(|anon| anon + field(&file, "shmem").unwrap_or(0));
    v2.or_else(|| field(&file, "total_rss")).unwrap_or(0)
}

fn field(file: &Path, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

fn find(below: &Path, name: &str) -> Option<PathBuf> {
    std::fs::read_dir(below).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).find_map(|path| {
        let own = path.file_name().is_some_and(|own| own.to_string_lossy().contains(name));
        if own { Some(path) } else { find(&path, name) }
    })
}
