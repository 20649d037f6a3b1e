//! A script and its interpreter become one hook.

use boathook_core::model::{AdmissionKind, FailureKind};
use boathook_sandbox::{Sandbox, SandboxConfig};

use super::{config, interpreters, loaded, packed, refused, running, sandbox};
use crate::sandbox::support::{Lines, name, plenty, run, small};

const NAMED: &str = "export default { config: 'configVersion: v1\\nonStartup: 1', run() {} }";

#[tokio::test]
async fn it_is_a_hook_like_any_other() {
    let bytes = packed(&[("hook.js", NAMED)]);
    let sandbox = sandbox();
    let hook = loaded(&sandbox, &bytes).await;
    assert_eq!(sandbox.config(&hook).await.unwrap(), "configVersion: v1\nonStartup: 1");
    assert_eq!(hook.size(), bytes.len() as u64);
    assert_eq!(hook.exports(), ["config", "run"]);
    assert!(!hook.imports().iter().any(|import| import.contains("interpreter")), "{:?}", hook.imports());
    assert!(!hook.reviews(AdmissionKind::Validating) && !hook.converts());
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let answering = "export default { config: {}, validate() {}, convert() {} }";
    let hook = loaded(&sandbox, &packed(&[("hook.js", answering)])).await;
    assert!(hook.reviews(AdmissionKind::Validating) && !hook.reviews(AdmissionKind::Mutating) && hook.converts());
}

#[tokio::test]
async fn a_script_without_its_interpreter_is_refused_with_what_is_there() {
    let bytes = packed(&[("hook.js", NAMED)]);
    let error = Sandbox::new(small()).unwrap().load(&name("h"), &bytes).await.unwrap_err().to_string();
    assert!(error.contains("no directory of interpreters is known"), "{error}");
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("js-9.9.9.wasm"), "another").unwrap();
    let elsewhere = |directory| SandboxConfig { interpreters: vec![directory], ..config() };
    let sandbox = Sandbox::new(elsewhere(other.path().to_owned())).unwrap();
    let error = sandbox.load(&name("h"), &bytes).await.unwrap_err().to_string();
    assert!(error.contains("was made for the interpreter js 0.1.0 (sha256:"), "{error}");
    assert!(error.contains("has js 9.9.9 (sha256:"), "{error}");
    // Beside a newer one, the one that it was made for is taken.
    for file in std::fs::read_dir(interpreters()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), other.path().join(file.file_name())).unwrap();
    }
    assert!(sandbox.load(&name("h"), &bytes).await.is_ok());
}

#[tokio::test]
async fn a_script_that_does_not_parse_is_reported_with_its_place() {
    let error = refused(&[("hook.js", "let a = 1;\nlet b = = 2;\n")]).await;
    assert!(error.contains("SyntaxError") && error.contains("hook.js:2:"), "{error}");
    let error = refused(&[("hook.js", "import './part.js';"), ("part.js", "\n\n  }")]).await;
    assert!(error.contains("SyntaxError") && error.contains("part.js:3:"), "{error}");
}

#[tokio::test]
async fn what_is_wrong_before_the_first_run_is_reported_at_load() {
    for (text, told) in [
        ("export default 1", "hook.js has no default export"),
        ("export default { config: {} }", "has none of the functions"),
        ("export default { run() {} }", "config gives neither"),
        ("export default { config() { throw new TypeError('no') }, run() {} }", "TypeError: no (config hook.js:1:"),
        ("import 'left-pad'; export default 1", "hook.js cannot import \"left-pad\": a script has no packages"),
        ("import '../secret.js'; export default 1", "it leads out of the hook's files"),
        ("import './gone.js'; export default 1", "the hook has no file \"gone.js\""),
        ("await new Promise(() => {}); export default 1", "waits for a promise that nothing can resolve"),
    ] {
        let error = refused(&[("hook.js", text)]).await;
        assert!(error.contains(told), "{text}: {error}");
    }
}

#[tokio::test]
async fn what_is_thrown_says_what_happens_next() {
    for (thrown, kind, told) in [
        ("new Error('x')", FailureKind::Retry, "x (run hook.js:3:"),
        ("new RangeError('x', {cause: new Error('y')})", FailureKind::Retry, "RangeError: x: y (run hook.js:3:"),
        ("Object.assign(new Error('x'), {'boathook:next': 'permanent'})", FailureKind::Permanent, "x"),
        (
            "Object.assign(new Error('x'), {'boathook:next': 1500})",
            FailureKind::RetryAfter(std::time::Duration::from_millis(1500)),
            "x",
        ),
        ("'text'", FailureKind::Retry, "the script threw text"),
        ("{a: 1}", FailureKind::Retry, "an error without a message"),
        ("null", FailureKind::Retry, "the script threw null"),
    ] {
        let sandbox = sandbox();
        let hook = loaded(&sandbox, &running(&format!("run() {{ throw {thrown} }}"))).await;
        let failure = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err();
        assert_eq!(failure.kind, kind, "{thrown}: {failure}");
        assert!(failure.message.starts_with(told), "{thrown}: {failure}");
    }
}

#[tokio::test]
async fn promises_are_waited_for_as_far_as_they_can_come() {
    for (body, told) in [
        ("async run() { await null; throw new Error('late') }", "late (run hook.js:3:"),
        (
            "run() { (async () => { await null; throw new Error('lost') })() }",
            "a promise that was not awaited failed: lost",
        ),
        ("async run() { await new Promise(() => {}) }", "waits for a promise that nothing can resolve"),
    ] {
        let sandbox = sandbox();
        let hook = loaded(&sandbox, &running(body)).await;
        let failure = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err();
        assert!(failure.message.contains(told), "{body}: {failure}");
    }
    let sandbox = sandbox();
    let fine = "async run() { await null; await Promise.reject(1).catch(() => {}) }";
    let hook = loaded(&sandbox, &running(fine)).await;
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
}

#[tokio::test]
async fn the_console_speaks_in_the_log() {
    let sandbox = sandbox();
    let body = "run() { console.warn('a', {b: [1]}, undefined, new TypeError('c')); host.log('info', 'd', {e: 1}) }";
    let hook = loaded(&sandbox, &running(body)).await;
    let (lines, _guard) = Lines::collect();
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let lines = lines.of_hooks();
    assert_eq!(lines[0]["level"], "WARN");
    let text = lines[0].to_string();
    assert!(text.contains("a {\\\"b\\\":[1]} undefined TypeError: c"), "{text}");
    assert!(lines[1].to_string().contains("\"d\""), "{}", lines[1]);
}

/// The interpreter was started when it was built.
#[tokio::test]
async fn time_and_chance_begin_with_the_run() {
    let sandbox = sandbox();
    let body = "run() {
        const since = performance.now();
        if (!(since >= 0 && since < 60_000)) throw new Error(`${since} ms after the start of a run`);
        let sum = 0;
        for (let i = 0; i < 10_000; i++) {
            const number = Math.random();
            if (!(number >= 0 && number < 1)) throw new Error(`a random ${number}`);
            sum += number;
        }
        throw new Error(`mean ${sum / 10_000}`);
    }";
    let hook = loaded(&sandbox, &running(body)).await;
    let mut means = Vec::new();
    for _ in 0..2 {
        let failure = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err();
        let mean: f64 = failure.message.split(' ').nth(1).and_then(|mean| mean.parse().ok()).unwrap_or(f64::NAN);
        assert!((0.47..0.53).contains(&mean), "{failure}");
        means.push(mean.to_bits());
    }
    assert_ne!(means[0], means[1]);
}
