//! Directories of runs: what a guest can do in them, what leads out of them, and how much of them it gets.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use boathook_core::model::{
    CallError, Caller, Cause, DirectoryAccess, DirectoryRule, EmitEvent, FailureKind, HookName, Item, Limit, Limits,
    ListQuery, ObjectEvent, ObjectKey, ObjectRef, Operation, Page, Permission, Resource, SnapshotSet, WatchEventKind,
};
use boathook_sandbox::{Directories, Host, Offer, RunReport, RunRequest, Written};
use futures::future::BoxFuture;
use rustix::fs::{FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::guests::go_guest;

use super::support::{Lines, caller, guest, load, plenty, sandbox, trigger};

/// A host that offers directories, and nothing else.
struct Disk(Directories);

impl Host for Disk {
    fn get<'a>(&'a self, _: &'a Caller, _: ObjectRef, _: Option<String>) -> BoxFuture<'a, Result<String, CallError>> {
        unreachable!()
    }
    fn list<'a>(&'a self, _: &'a Caller, _: ListQuery) -> BoxFuture<'a, Result<Page, CallError>> {
        unreachable!()
    }
    fn write<'a>(&'a self, _: &'a Caller, _: Operation) -> BoxFuture<'a, Written> {
        unreachable!()
    }
    fn batch<'a>(&'a self, _: &'a Caller, _: Vec<Operation>) -> BoxFuture<'a, Vec<Written>> {
        unreachable!()
    }
    fn emit_event<'a>(&'a self, _: &'a Caller, _: EmitEvent) -> BoxFuture<'a, Result<(), CallError>> {
        unreachable!()
    }
    fn snapshot_set(&self, _: &HookName) -> SnapshotSet {
        SnapshotSet::default()
    }
    fn directories(&self) -> Directories {
        self.0.clone()
    }
}

/// Two directories of an operator, next to something that is not offered.
struct Place {
    dir: TempDir,
    directories: Directories,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["keys", "logs"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        fs::write(dir.path().join("secret"), "s3cret").unwrap();
        let offer = |name: &str, access| Offer { name: name.to_owned(), path: dir.path().join(name), access };
        let offers = [offer("keys", DirectoryAccess::Write), offer("logs", DirectoryAccess::Read)];
        let directories = Directories::open(&offers).unwrap();
        Self { dir, directories }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the guest `files` with these steps.
    async fn run(&self, steps: &[Value], limits: Limits, change: impl FnOnce(&mut Caller)) -> Ran {
        self.run_of(&guest("files"), steps, limits, change).await
    }

    async fn run_of(&self, component: &[u8], steps: &[Value], limits: Limits, change: impl FnOnce(&mut Caller)) -> Ran {
        let (lines, _collecting) = Lines::collect();
        let sandbox = sandbox();
        let hook = load(&sandbox, "files", component).await;
        let data = json!({"steps": json!(steps).to_string()});
        let object = json!({"metadata": {"name": "m"}, "data": data}).to_string();
        let item = Item {
            key: ObjectKey { namespace: Some("default".into()), name: "m".into() },
            uid: "u".into(),
            resource_version: "1".into(),
            object: Some(object.as_str().into()),
            filter_result: None,
        };
        let event = ObjectEvent {
            kind: WatchEventKind::Added,
            resource: Arc::new(Resource::of("v1", "ConfigMap", "configmaps", true)),
            item: Arc::new(item),
            previous_filter_result: None,
            previous_object: None,
            managers: None,
        };
        let permission = |name: &str, access| Permission::of_directory(DirectoryRule { name: name.to_owned(), access });
        let permissions = [permission("keys", DirectoryAccess::Write), permission("logs", DirectoryAccess::Read)];
        let mut caller = Caller { permissions: permissions.into(), ..caller("files") };
        change(&mut caller);
        let triggers = vec![trigger("files", "configmaps", Cause::Event(event))];
        let request = RunRequest { caller, attempt: 1, triggers, limits };
        let report = sandbox.run(&hook, request, Arc::new(Disk(self.directories.clone()))).await;
        let all = lines.of_hooks();
        let all = all.iter().map(|line| line["message"].as_str().unwrap().to_owned());
        let (own, said): (Vec<_>, Vec<_>) = all.partition(|line| line.starts_with("{\"do\""));
        Ran { report, done: own.iter().map(|line| serde_json::from_str(line).unwrap()).collect(), said }
    }

    async fn does(&self, steps: &[Value]) -> Ran {
        let ran = self.run(steps, patient(), |_| {}).await;
        assert_eq!(ran.report.outcome, Ok(()), "{:?}", ran.said.last());
        ran
    }
}

/// For runs on a machine with much else to do.
fn patient() -> Limits {
    Limits { time: Duration::from_secs(300), host_calls: 1_000_000, ..plenty() }
}

struct Ran {
    report: RunReport,
    /// What each step reports.
    done: Vec<Value>,
    /// The other lines.
    said: Vec<String>,
}

impl Ran {
    /// The results of the steps, or the kinds of their errors.
    fn results(&self) -> Vec<Value> {
        self.done.iter().map(|line| line.get("ok").unwrap_or(&line["error"]).clone()).collect()
    }

    fn says(&self, part: &str) -> bool {
        self.said.iter().any(|line| line.contains(part))
    }
}

fn step(name: &str, path: &str) -> Value {
    json!({"do": name, "path": path})
}

fn with(name: &str, path: &str, key: &str, value: impl Into<Value>) -> Value {
    json!({"do": name, "path": path, key: value.into()})
}

#[tokio::test]
async fn a_run_reads_and_writes_what_it_was_given() {
    let place = Place::new();
    fs::write(place.path("logs/a"), "one").unwrap();
    let ran = place
        .does(&[
            step("read", "/logs/a"),
            with("write", "/keys/a", "text", "first"),
            with("append", "/keys/a", "text", " line"),
            step("read", "/keys/a"),
            with("rename", "/keys/a", "to", "/keys/b"),
            step("mkdir", "/keys/sub"),
            with("write", "/keys/sub/c", "text", "c"),
            step("list", "/keys"),
            step("size", "/keys/b"),
            with("resize", "/keys/b", "count", 5),
            with("update", "/keys/b", "text", "F"),
            step("remove", "/keys/sub/c"),
            step("rmdir", "/keys/sub"),
        ])
        .await;
    let results = ran.results();
    assert_eq!(results[..4], [json!("one"), Value::Null, Value::Null, json!("first line")]);
    assert_eq!(results[4..9], [Value::Null, Value::Null, Value::Null, json!(["b", "sub"]), json!(10)]);
    assert_eq!(results[9..], [Value::Null, json!("first"), Value::Null, Value::Null]);
    assert_eq!(fs::read_to_string(place.path("keys/b")).unwrap(), "First");
    assert!(!place.path("keys/sub").exists());
    assert_eq!(ran.said, [""; 0]);
}

#[tokio::test]
async fn hooks_in_go_use_package_os() {
    let Some(component) = go_guest("files") else { return };
    let place = Place::new();
    fs::write(place.path("logs/a"), "one").unwrap();
    fs::write(place.path("keys/old"), "old").unwrap();
    symlink(place.path("secret"), place.path("logs/link")).unwrap();
    let steps = [
        step("read", "/logs/a"),
        with("write", "/keys/a", "text", "first"),
        with("append", "/keys/a", "text", " line"),
        with("rename", "/keys/a", "to", "/keys/b"),
        step("mkdir", "/keys/sub"),
        step("list", "/keys"),
        step("size", "/keys/b"),
        step("remove", "/keys/old"),
        step("read", "/keys/old"),
        with("write", "/logs/a", "text", "two"),
        step("read", "/logs/link"),
        step("read", "/logs/../secret"),
        step("read", "/secret"),
    ];
    let ran = place.run_of(&component, &steps, patient(), |_| {}).await;
    assert_eq!(ran.report.outcome, Ok(()), "{:?}", ran.said.last());
    let results = ran.results();
    assert_eq!(results[..5], [json!("one"), Value::Null, Value::Null, Value::Null, Value::Null]);
    assert_eq!(results[5..9], [json!(["b", "old", "sub"]), json!(10), Value::Null, json!("NotFound")]);
    assert_eq!(fs::read_to_string(place.path("keys/b")).unwrap(), "first line");
    assert_eq!(fs::read_to_string(place.path("logs/a")).unwrap(), "one");
    assert!(ran.done[9..].iter().all(|line| line.get("error").is_some()), "{:?}", &ran.done[9..]);
}

// mutant: crates/sandbox/src/files/mod.rs: `DirectoryAccess::Read => Some(READS),` => `DirectoryAccess::Read => None,`
// mutant: crates/sandbox/src/files/mod.rs: `DirectoryAccess::Write if caller.dry_run => Some(PLAN),` => `DirectoryAccess::Write if false => Some(PLAN),`
#[tokio::test]
async fn what_is_read_only_stays_as_it_is() {
    let place = Place::new();
    for name in ["logs", "keys"] {
        fs::write(place.path(name).join("a"), "one").unwrap();
    }
    let writes = |dir: &str| {
        [
            with("write", &format!("/{dir}/a"), "text", "two"),
            with("append", &format!("/{dir}/a"), "text", "two"),
            step("create", &format!("/{dir}/b")),
            with("resize", &format!("/{dir}/a"), "count", 0),
            with("rename", &format!("/{dir}/a"), "to", format!("/{dir}/b")),
            step("mkdir", &format!("/{dir}/c")),
            step("remove", &format!("/{dir}/a")),
        ]
    };
    let ran = place.does(&writes("logs")).await;
    assert!(ran.done.iter().all(|line| line["error"] == "ReadOnlyFilesystem"), "{:?}", ran.done);
    assert!(ran.says("directory logs: the hook requests it with access: read"), "{:?}", ran.said);
    // A plan writes nothing, and reads.
    let ran = place.run(&writes("keys"), plenty(), |caller| caller.dry_run = true).await;
    assert!(ran.done.iter().all(|line| line["error"] == "ReadOnlyFilesystem"), "{:?}", ran.done);
    assert!(ran.says("a plan writes nothing"), "{:?}", ran.said);
    for name in ["logs", "keys"] {
        assert_eq!(fs::read_to_string(place.path(name).join("a")).unwrap(), "one");
        assert_eq!(fs::read_dir(place.path(name)).unwrap().count(), 1);
    }
    let ran = place.run(&[step("read", "/keys/a")], plenty(), |caller| caller.dry_run = true).await;
    assert_eq!(ran.results(), ["one"]);
}

#[tokio::test]
async fn without_a_permission_there_is_no_directory() {
    let place = Place::new();
    fs::write(place.path("keys/a"), "one").unwrap();
    let ran = place.run(&[step("read", "/keys/a")], plenty(), |caller| caller.permissions = Arc::new([])).await;
    assert_eq!(ran.report.outcome, Ok(()));
    assert!(ran.done[0]["error"].is_string(), "{:?}", ran.done);
    // What is offered for reading is not written, whatever the permission says.
    let write = DirectoryRule { name: "logs".to_owned(), access: DirectoryAccess::Write };
    let permissions = [Permission::of_directory(write)];
    let steps = [with("write", "/logs/a", "text", "x")];
    let ran = place.run(&steps, plenty(), |caller| caller.permissions = permissions.into()).await;
    assert!(ran.done[0]["error"].is_string() && !place.path("logs/a").exists(), "{:?}", ran.done);
}

// mutant: crates/sandbox/src/directories/beneath.rs: `ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV` => `ResolveFlags::NO_MAGICLINKS`
// mutant: crates/sandbox/src/directories/beneath.rs: `resolve.set(ResolveFlags::NO_SYMLINKS, links == Links::Refused);` => ``
#[tokio::test]
async fn nothing_leads_out_of_a_directory() {
    let place = Place::new();
    let secret = place.path("secret");
    symlink(&secret, place.path("keys/absolute")).unwrap();
    symlink("../secret", place.path("keys/relative")).unwrap();
    symlink("..", place.path("keys/up")).unwrap();
    symlink("/proc/self", place.path("keys/proc")).unwrap();
    fs::create_dir(place.path("keys/sub")).unwrap();
    symlink("inside", place.path("keys/sub/link")).unwrap();
    fs::write(place.path("keys/sub/inside"), "fine").unwrap();
    for (target, link) in [("../secret", "logs/relative"), ("inside", "logs/link"), ("..", "logs/up")] {
        symlink(target, place.path(link)).unwrap();
    }
    fs::write(place.path("logs/inside"), "fine").unwrap();
    let outside = ["absolute", "relative", "up/secret", "proc/status", "../secret", "sub/../../secret", "//../secret"];
    for path in outside {
        let path = format!("/keys/{path}");
        let steps = [
            step("read", &path),
            with("write", &path, "text", "taken"),
            with("append", &path, "text", "taken"),
            with("resize", &path, "count", 0),
        ];
        let ran = place.does(&steps).await;
        assert!(ran.done.iter().all(|line| line["error"].is_string()), "{path}: {:?}", ran.done);
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "s3cret");
    let ran = place
        .does(&[
            step("list", "/keys/up"),
            step("mkdir", "/keys/up/new"),
            with("rename", "/keys/sub/inside", "to", "/keys/up/moved"),
            with("rename", "/keys/up/secret", "to", "/keys/stolen"),
            step("remove", "/keys/up/secret"),
            step("read", "/keys/sub/link"),
            step("read", "/logs/relative"),
            step("read", "/logs/up/secret"),
            step("read", "/logs/link"),
        ])
        .await;
    assert!(ran.done[..8].iter().all(|line| line["error"].is_string()), "{:?}", ran.done);
    // A link within a directory is followed where nothing is written.
    assert_eq!(ran.results()[8], "fine");
    assert!(secret.exists() && !place.path("new").exists() && !place.path("moved").exists());
}

// mutant: crates/sandbox/src/directories/beneath.rs: `} else if seen.nlink() > 1 {` => `} else if false {`
// mutant: crates/sandbox/src/directories/beneath.rs: `} else if kind.is_fifo() || !kind.is_file() {` => `} else if false {`
#[tokio::test]
async fn only_regular_files_with_one_name_are_opened() {
    let place = Place::new();
    let keys = fs::File::open(place.path("keys")).unwrap();
    mknodat(&keys, "fifo", FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(place.path("keys/socket")).unwrap();
    fs::hard_link(place.path("secret"), place.path("keys/hard")).unwrap();
    for path in ["fifo", "socket", "hard"] {
        let path = format!("/keys/{path}");
        let ran = place.does(&[step("read", &path), with("append", &path, "text", "x")]).await;
        assert!(ran.done.iter().all(|line| line["error"].is_string()), "{path}: {:?}", ran.done);
        assert!(ran.says("and is not opened"), "{path}: {:?}", ran.said);
    }
    assert_eq!(fs::read_to_string(place.path("secret")).unwrap(), "s3cret");
}

// mutant: crates/sandbox/src/files/mod.rs: `Err(self.run.refuse(ErrorCode::NotPermitted, &message).into())` => `Ok(())`
#[tokio::test]
async fn a_run_makes_no_links() {
    let place = Place::new();
    let ran = place
        .does(&[
            with("write", "/keys/a", "text", "x"),
            with("link", "/keys/a", "to", "/keys/b"),
            with("symlink", "a", "to", "/keys/c"),
            with("symlink", "../secret", "to", "/keys/d"),
        ])
        .await;
    assert!(ran.done[1..].iter().all(|line| line["error"].is_string()), "{:?}", ran.done);
    assert!(ran.says("hooks create no links"), "{:?}", ran.said);
    assert_eq!(fs::read_dir(place.path("keys")).unwrap().count(), 1);
}

// mutant: crates/sandbox/src/directories/beneath.rs: `ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV` => `ResolveFlags::NO_MAGICLINKS`
#[tokio::test]
async fn renames_by_others_lead_nowhere_else() {
    let place = Place::new();
    fs::create_dir(place.path("logs/sub")).unwrap();
    fs::write(place.path("logs/sub/secret"), "harmless").unwrap();
    let (sub, aside, out) = (place.path("logs/sub"), place.path("logs/aside"), place.path("logs/out"));
    symlink("..", &out).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    // Between `sub` the directory and `sub` the link to what is above, as fast as possible.
    let swapping = std::thread::spawn(move || {
        while !stopped.load(Ordering::Relaxed) {
            for (from, to) in [(&sub, &aside), (&out, &sub), (&sub, &out), (&aside, &sub)] {
                fs::rename(from, to).unwrap();
            }
        }
    });
    let steps: Vec<_> = (0..100).map(|_| step("read", "/logs/sub/secret")).collect();
    let ran = place.does(&steps).await;
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    for line in &ran.done {
        assert!(line["error"].is_string() || line["ok"] == "harmless", "{line}");
    }
}

// mutant: crates/sandbox/src/files/streams.rs: `self.run.take(u64::from(!bytes.is_empty()), bytes.len())?;` => ``
// mutant: crates/sandbox/src/files/streams.rs: `self.run.take(1, bytes)?;` => ``
#[tokio::test]
async fn what_passes_costs_calls_and_bytes() {
    let place = Place::new();
    fs::write(place.path("logs/large"), "x".repeat(300_000)).unwrap();
    let few = Limits { host_bytes: 200_000, ..plenty() };
    let ran = place.run(&[step("measure", "/logs/large")], few, |_| {}).await;
    assert!(ran.says("limits.hostBytes of 200000 bytes reached"), "{:?} {:?}", ran.said, ran.done);
    let ran = place.run(&[with("fill", "/keys/large", "count", 10)], few, |_| {}).await;
    assert!(ran.says("limits.hostBytes of 200000 bytes reached"), "{:?} {:?}", ran.said, ran.done);
    assert!(place.path("keys/large").metadata().unwrap().len() <= 200_000);
    let steps: Vec<_> = (0..200).map(|_| step("size", "/logs/large")).collect();
    let ran = place.run(&steps, Limits { host_calls: 100, ..plenty() }, |_| {}).await;
    assert_eq!(ran.report.outcome.unwrap_err().kind, FailureKind::Limit(Limit::HostCalls));
    let all = place.does(&[step("measure", "/logs/large")]).await.report;
    assert!(all.host_bytes >= 300_000, "{}", all.host_bytes);
}

// mutant: crates/sandbox/src/files/mod.rs: `if to > from && to > limits::FILE {` => `if false {`
// mutant: crates/sandbox/src/directories/mod.rs: `let bound = if all_bytes > limits::GROWTH {` => `let bound = if false {`
#[tokio::test]
async fn files_and_directories_grow_within_bounds() {
    const MIB: u64 = 1024 * 1024;
    let place = Place::new();
    let large = |path: &str, size: u64| [step("create", path), with("resize", path, "count", size)];
    let mut steps = Vec::from(large("/keys/0", 64 * MIB + 1));
    steps.push(with("resize", "/keys/0", "count", 64 * MIB));
    (1..4).for_each(|n| steps.extend(large(&format!("/keys/{n}"), 64 * MIB)));
    steps.extend(large("/keys/4", 1));
    // What is removed makes room.
    steps.push(step("remove", "/keys/1"));
    steps.push(with("resize", "/keys/4", "count", MIB));
    steps.push(with("write", "/keys/2", "text", "short"));
    steps.extend(large("/keys/5", 64 * MIB));
    let ran = place.does(&steps).await;
    let results = ran.results();
    assert_eq!(results[1], "FileTooLarge");
    assert!(ran.says("a file may not grow beyond 64Mi"), "{:?}", ran.said);
    assert_eq!(
        results[2..9],
        [Value::Null, Value::Null, Value::Null, Value::Null, Value::Null, Value::Null, Value::Null]
    );
    assert_eq!(results[10], "QuotaExceeded");
    assert!(ran.says("hooks may not add more than 256Mi to it"), "{:?}", ran.said);
    assert_eq!(results[11..], [Value::Null, Value::Null, Value::Null, Value::Null, Value::Null]);
    // All hooks and all runs share the bound.
    let ran = place.does(&large("/keys/6", 64 * MIB)).await;
    assert_eq!(ran.results()[1], "QuotaExceeded");
}

// mutant: crates/sandbox/src/files/mod.rs: `if self.handles.len() >= limits::OPEN_FILES {` => `if false {`
// mutant: crates/sandbox/src/directories/beneath.rs: `if entries > limits::LISTED + 2 {` => `if false {`
#[tokio::test]
async fn files_are_few_at_a_time() {
    let place = Place::new();
    for n in 0..10_000 {
        fs::write(place.path("logs").join(n.to_string()), "").unwrap();
    }
    let steps = [with("open", "/logs/1", "count", 100), with("open", "/logs/1", "count", 10)];
    let ran = place.does(&steps).await;
    let open = &ran.done[0]["ok"];
    assert!(open["open"].as_u64().is_some_and(|open| (50..64).contains(&open)) && open["error"].is_string(), "{open}");
    assert!(ran.says("a run has at most 64 files and directories open at a time"), "{:?}", ran.said);
    assert_eq!(ran.done[1]["ok"]["open"], 10, "what was closed makes room");
    // The line with all names would be cut.
    let ran = place.does(&[step("count", "/logs")]).await;
    assert_eq!(ran.results(), [10_000]);
    fs::write(place.path("logs/more"), "").unwrap();
    let ran = place.does(&[step("count", "/logs")]).await;
    assert!(ran.done[0]["error"].is_string(), "a directory of any size is not read into memory");
    assert!(ran.says("a directory with more than 10000 entries is not listed"), "{:?}", ran.said);
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn a_file_that_is_replaced_keeps_its_owner_and_its_mode() {
    let place = Place::new();
    let file = place.path("keys/a");
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o4640)).unwrap();
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(place.path("keys"), Some(1234), Some(1235)).unwrap();
        std::os::unix::fs::chown(&file, Some(2345), Some(2346)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4640)).unwrap();
    }
    let steps = [
        with("write", "/keys/new", "text", "new"),
        with("write", "/keys/b", "text", "b"),
        with("rename", "/keys/new", "to", "/keys/a"),
    ];
    assert_eq!(place.does(&steps).await.results(), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    // Bits that give rights are not kept.
    assert_eq!((mode(&file), mode(&place.path("keys/b"))), (0o640, 0o600));
    if root {
        let owner = |path: &Path| path.metadata().map(|seen| (seen.uid(), seen.gid())).unwrap();
        assert_eq!((owner(&file), owner(&place.path("keys/b"))), ((2345, 2346), (1234, 1235)));
    }
    // A file that another program made is not given away.
    fs::write(place.path("keys/theirs"), "x").unwrap();
    fs::set_permissions(place.path("keys/theirs"), fs::Permissions::from_mode(0o600)).unwrap();
    place.does(&[with("rename", "/keys/theirs", "to", "/keys/a")]).await;
    assert_eq!(mode(&file), 0o600);
}

#[tokio::test]
async fn a_run_that_waits_for_files_ends_in_time() {
    let place = Place::new();
    fs::write(place.path("logs/a"), "x").unwrap();
    let steps: Vec<_> = (0..100_000).map(|_| step("read", "/logs/a")).collect();
    let limits = Limits { time: Duration::from_millis(300), host_calls: 1_000_000, log_bytes: 1 << 30, ..plenty() };
    let failure = place.run(&steps, limits, |_| {}).await.report.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::Time));
}
