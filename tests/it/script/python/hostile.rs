//! A script can waste nothing but its own budget, and reach nothing but its own files.

use std::{sync::Arc, time::Duration};

use boathook_core::model::{FailureKind, Limit, Limits};

use super::{loaded, packed, running, sandbox};
use crate::sandbox::support::{Memory, load, plenty, request, run};

const MIB: u64 = 1024 * 1024;

/// What came of a run with these limits.
async fn reached(body: &str, limits: Limits) -> (FailureKind, String) {
    let sandbox = sandbox().await;
    let hook = loaded(&sandbox, &running(body)).await;
    let failure = run(&sandbox, &hook, limits).await.outcome.unwrap_err();
    (failure.kind, failure.message)
}

#[tokio::test]
async fn an_endless_loop_ends_at_the_deadline() {
    let limits = Limits { time: Duration::from_millis(300), ..plenty() };
    for body in ["while True: pass", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"]
    {
        let sandbox = sandbox().await;
        let hook = loaded(&sandbox, &running(body)).await;
        let failure = run(&sandbox, &hook, limits).await.outcome.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Limit(Limit::Time), "{failure}");
        // Frames would be the interpreter's own.
        assert_eq!(failure.backtrace, None);
        assert!(failure.message.contains("where in the script is not known"), "{failure}");
    }
}

#[tokio::test]
async fn a_memory_bomb_ends_at_the_limit() {
    let limits = Limits { memory: 48 * MIB, ..plenty() };
    let (kind, message) = reached("a = []\nwhile True: a.append([len(a)] * 1000)", limits).await;
    assert_eq!(kind, FailureKind::Limit(Limit::Memory), "{message}");
    assert!(message.contains("limits.memory of 48Mi"), "{message}");
}

#[tokio::test]
async fn a_gigabyte_of_text_is_not_made() {
    for body in ["'x' * 2**30", "a = 'x'\nwhile len(a) < 2**30: a += a"] {
        let (kind, message) = reached(body, plenty()).await;
        assert!(kind == FailureKind::Limit(Limit::Memory) || message.contains("MemoryError"), "{message}");
    }
}

#[tokio::test]
async fn deep_recursion_is_named() {
    for body in ["def f(): return f() + 1\nf()", "json.loads('[' * 100_000)", "a = []\na.append(a)\njson.dumps(a)"] {
        let (kind, message) = reached(body, plenty()).await;
        let caught = kind == FailureKind::Retry && (message.contains("RecursionError") || message.contains("Circular"));
        assert!(caught || kind == FailureKind::Limit(Limit::Stack), "{body}: {kind:?} {message}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_run() {
    let sandbox = sandbox().await;
    let body = "if hasattr(builtins, 'mine') or hasattr(json, 'mine'): raise Exception('kept')\n\
                builtins.mine = json.mine = kube.mine = 1";
    let hook = loaded(&sandbox, &running(body)).await;
    let other = load(&sandbox, "other", &running("if hasattr(builtins, 'mine'): raise Exception('kept')")).await;
    for hook in [&hook, &hook, &other] {
        assert_eq!(run(&sandbox, hook, plenty()).await.outcome, Ok(()));
    }
}

/// The interpreter's picture holds a generator that was seeded when it was made.
#[tokio::test]
async fn random_numbers_differ_from_run_to_run() {
    let sandbox = sandbox().await;
    let hook = loaded(&sandbox, &running("raise Retry(str(random.random()))")).await;
    let one = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err().message;
    let other = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err().message;
    assert!(one.contains("0.") && one != other, "{one}, {other}");
}

#[tokio::test]
async fn another_hooks_files_are_out_of_reach() {
    let sandbox = sandbox().await;
    let entry = "import boathook, mine\nboathook.configure({'onStartup': 1})\n@boathook.on_startup\ndef f(): assert mine.a == 1\n";
    let mine = packed(&[("hook.py", entry), ("mine.py", "a = 1")]);
    let hook = load(&sandbox, "mine", &mine).await;
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let body = "import importlib\nfor read in (lambda: importlib.import_module('mine'), lambda: open('mine.py').read(), \
                lambda: open('/mine.py'), lambda: __import__('os').listdir('/')):\n    try: found = read()\n    \
                except (ImportError, OSError): continue\n    if found: raise Exception(f'read {found}')";
    let theirs = load(&sandbox, "theirs", &running(body)).await;
    assert_eq!(run(&sandbox, &theirs, plenty()).await.outcome, Ok(()));
}

#[tokio::test]
async fn a_flood_of_calls_ends_at_the_budget() {
    let limits = Limits { host_calls: 100, ..plenty() };
    let body = "while True:\n    try: kube.get(ObjectRef('v1', 'Pod', 'a'))\n    except BaseException: pass";
    let sandbox = sandbox().await;
    let hook = loaded(&sandbox, &running(body)).await;
    let report = sandbox.run(&hook, request(&hook, limits), Arc::new(Memory::default())).await;
    assert_eq!(report.host_calls, 100);
    let failure = report.outcome.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Limit(Limit::HostCalls), "{failure}");
}

#[tokio::test]
async fn wrong_arguments_are_errors_and_no_traps() {
    let sandbox = sandbox().await;
    for (call, told) in [
        ("kube.get(1)", "TypeError: a target is an ObjectRef, and no int"),
        ("kube.get(ObjectRef('v1', 'Pod', None))", "TypeError: name is a text, and no NoneType"),
        ("kube.get(ObjectRef('v1', 'Pod', '\\ud800'))", "JSONDecodeError: "),
        ("kube.write('eat')", "TypeError: an operation is Create, Update, Patch or Delete"),
        ("kube.write(Create(None))", "TypeError: an object or a patch is missing"),
        ("kube.write(Create({}, if_exists='no'))", "it is one of fail, keep, replace"),
        ("kube.write(Patch(ObjectRef('v1', 'Pod', 'a'), 'jq', {}))", "TypeError: a jq patch is a text"),
        ("kube.create({'a': {1, 2}})", "TypeError: Object of type set is not JSON serializable"),
        ("kube.list(kube.Query(api_version='v1', kind='Pod', limit=-1)).__next__()", "limit -1 is no number"),
        ("snapshots.open('none')", "LookupError: snapshot 'none'"),
        ("metrics.set('a b', 1)", "ValueError: "),
        ("metrics.add('a', 'x')", "ValueError: could not convert"),
        ("raise SystemExit(3)", "the hook called sys.exit(3)"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("class E(Exception):\n    def __str__(self): raise self\nraise E()", "E: an error whose text can't be made"),
    ] {
        let hook = loaded(&sandbox, &running(call)).await;
        let failure = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Retry, "{call}: {failure}");
        assert!(failure.message.contains(told), "{call}: {failure}");
    }
}
