//! A script and its interpreter become one hook.

use boathook_core::model::{AdmissionKind, FailureKind, HookName};
use boathook_operator::app::load;

use super::{loaded, packed, refused, running, sandbox};
use crate::sandbox::support::{Lines, plenty, run};

const STARTING: &str = "import boathook\nboathook.configure({'onStartup': 1})\n@boathook.on_startup\ndef f(): pass\n";

#[tokio::test]
async fn it_is_a_hook_like_any_other() {
    let bytes = packed(&[("src/hook.py", STARTING)]);
    let sandbox = sandbox().await;
    let hook = loaded(&sandbox, &bytes).await;
    let document = sandbox.config(&hook).await.unwrap();
    assert_eq!(document, r#"{"configVersion": "v1", "onStartup": 1}"#);
    assert_eq!(hook.exports(), ["config", "run"]);
    assert!(!hook.imports().iter().any(|import| import.contains("interpreter")), "{:?}", hook.imports());
    assert!(!hook.reviews(AdmissionKind::Validating) && !hook.converts());
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let answering = "import boathook\nboathook.configure('configVersion: v1')\n\
                     @boathook.on_validating('a.b.c')\ndef v(r): pass\n@boathook.on_conversion('x')\ndef c(c): return []\n";
    let hook = loaded(&sandbox, &packed(&[("hook.py", answering)])).await;
    assert!(hook.reviews(AdmissionKind::Validating) && !hook.reviews(AdmissionKind::Mutating) && hook.converts());
}

#[tokio::test]
async fn a_script_that_does_not_parse_is_reported_with_its_place() {
    let error = refused(&[("hook.py", "a = 1\nb = = 2\n")]).await;
    assert!(error.contains("hook.py:2:5: SyntaxError: invalid syntax"), "{error}");
    let error = refused(&[("src/hook.py", "import part"), ("src/part.py", "\n\n  a = 1")]).await;
    assert!(error.contains("src/part.py:3:2: IndentationError: "), "{error}");
    // Nobody calls what imports it before the first event.
    let later = "import boathook\ndef later():\n    from part.deep import a\n";
    let error = refused(&[("hook.py", later), ("part/deep.py", "if:\n")]).await;
    assert!(error.contains("part/deep.py:1:3: SyntaxError: "), "{error}");
}

#[tokio::test]
async fn what_is_wrong_before_the_first_run_is_reported_at_load() {
    const CONFIGURED: &str = "import boathook\nboathook.configure({'onStartup': 1})\n";
    for (text, told) in [
        ("", "the hook has no configuration: call boathook.configure"),
        (CONFIGURED, "the hook has no function: write one with @on_run or @on_event"),
        (
            "import boathook\nboathook.configure({'onStartup': 1})\n@boathook.on_event('a')\ndef f(e): pass\n",
            "no such binding; no function is @on_startup",
        ),
        ("import boathook\n@boathook.on_event\ndef f(e): pass\n", "@on_event needs the name of a binding"),
        ("import boathook\n@boathook.on_run\nasync def f(e): pass\n", "f is async: functions of a hook are plain"),
        ("x = 1\ny = x / 0\n", "ZeroDivisionError: division by zero (<module> hook.py:2)"),
        ("x = 1\nimport numpy\n", "hook.py:2:1: no module 'numpy': a package in pure Python comes by `pip install"),
        ("def f():\n    import numpy.linalg\n", "hook.py:2:5: no module 'numpy.linalg'"),
        ("from . import other\n", "ImportError"),
        ("import json.missing\n", "no module 'json.missing'"),
    ] {
        let error = refused(&[("hook.py", text)]).await;
        assert!(error.contains(told), "{text}: {error}");
    }
    let error = refused(&[("hook.py", "import calendar"), ("calendar.py", "")]).await;
    assert!(!error.contains("calendar"), "Python's own is taken: {error}");
    let error = refused(&[("json.py", "")]).await;
    assert!(error.contains("json.py: Python's own library has a module of this name"), "{error}");
}

/// Hooks that the book shows can be loaded as they stand there.
#[tokio::test]
async fn hooks_in_the_book_are_hooks() {
    let sandbox = sandbox().await;
    for page in ["docs/permissions.md", "docs/webhooks.md", "docs/operators.md", "docs/migration.md"] {
        let text = std::fs::read_to_string(page).unwrap();
        let blocks = crate::script::book::blocks(&text, "python");
        assert!(!blocks.is_empty(), "{page} shows no hook in Python");
        for block in blocks {
            let hook = load(&HookName::new("h").unwrap(), &packed(&[("hook.py", &block)]), &sandbox).await;
            assert!(hook.is_ok(), "{page}: {:?}\n{block}", hook.err());
        }
    }
}

/// The SDK does not read YAML: the host, which does, holds the functions against it.
#[tokio::test]
async fn functions_are_held_against_a_document_in_yaml_too() {
    let script = |binding: &str| {
        let document = "configVersion: v1\\nkubernetes:\\n- name: deployments\\n  kind: ConfigMap\\n\
                        \x20 executeHookOnSynchronization: false\\n";
        let function = format!("@boathook.on_event('{binding}')\ndef f(e): pass\n");
        packed(&[("hook.py", &format!("import boathook\nboathook.configure('{document}')\n{function}"))])
    };
    let (sandbox, name) = (sandbox().await, HookName::new("h").unwrap());
    assert!(load(&name, &script("deployments"), &sandbox).await.is_ok());
    let Err(error) = load(&name, &script("deployment"), &sandbox).await else { panic!("it is taken") };
    let error = error.to_string();
    assert!(error.contains("@on_event(\"deployment\"): the configuration has no such binding"), "{error}");
    assert!(error.contains("no function is @on_event(\"deployments\")"), "{error}");
}

/// A hook may do without what it tries to import.
#[tokio::test]
async fn packages_of_its_own_and_of_others_are_imported() {
    let entry = "from __future__ import annotations\nfrom typing import TYPE_CHECKING\n\
                 try:\n    import numpy\nexcept ImportError:\n    numpy = None\n\
                 if TYPE_CHECKING:\n    import gone\n\
                 import base64, csv, email.message, hashlib, html.parser, http.cookies, logging.handlers\n\
                 import urllib.request, xml.etree.ElementTree, zoneinfo\n";
    let rest = "import lib.deep\nfrom lib import deep, other\nfrom pack.part import up\nimport their\n\
                assert lib.deep.a == deep.a == 1 and other.b == 2 and up == 3 and their.c == 4 and numpy is None\n\
                import datetime, uuid, ipaddress, decimal\n\
                assert datetime.datetime.strptime('2026-01-02', '%Y-%m-%d').day == 2 and len(str(uuid.uuid4())) == 36\n";
    let files = [
        ("src/hook.py", format!("{entry}{rest}{STARTING}")),
        ("src/lib/deep.py", "a = 1".to_owned()),
        ("src/lib/other.py", "from .deep import a\nb = a + 1".to_owned()),
        ("src/pack/__init__.py", "value = 3".to_owned()),
        ("src/pack/part.py", "from . import value as up".to_owned()),
        ("vendor/their/__init__.py", "from .inner import c\ndef never(): import gone".to_owned()),
        ("vendor/their/inner.py", "c = 4".to_owned()),
        ("vendor/their/broken.py", "print 'an older Python'".to_owned()),
    ];
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let sandbox = sandbox().await;
    let hook = loaded(&sandbox, &packed(&files)).await;
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
}

#[tokio::test]
async fn what_is_raised_says_what_happens_next() {
    let sandbox = sandbox().await;
    for (body, kind, told) in [
        ("raise Exception('x')", FailureKind::Retry, "Exception: x (run hook.py:9)"),
        ("def f(): return {}['a']\nf()", FailureKind::Retry, "KeyError: 'a' (f hook.py:9, run hook.py:10)"),
        (
            "try: {}['a']\nexcept KeyError as e: raise ValueError('x') from e",
            FailureKind::Retry,
            "ValueError: x: KeyError: 'a' (run hook.py:10)",
        ),
        ("json.loads('{')", FailureKind::Retry, "JSONDecodeError: Expecting property name"),
        ("raise Retry('later')", FailureKind::Retry, "later"),
        ("raise Retry('x', after=1.5)", FailureKind::RetryAfter(std::time::Duration::from_millis(1500)), "x"),
        ("raise Permanent('x')", FailureKind::Permanent, "x"),
        ("raise kube.KubeError('invalid', 'x')", FailureKind::Permanent, "KubeError: x"),
    ] {
        let hook = loaded(&sandbox, &running(body)).await;
        let failure = run(&sandbox, &hook, plenty()).await.outcome.unwrap_err();
        assert_eq!(failure.kind, kind, "{body}: {failure}");
        assert!(failure.message.starts_with(told), "{body}: {failure}");
    }
}

#[tokio::test]
async fn logging_print_and_log_speak_in_the_log() {
    let sandbox = sandbox().await;
    let body = "log.info('a', b=1)\nlogging.getLogger('mine').warning('c %s', 2, extra={'d': 3})\n\
                logging.debug('silent')\nprint('e')\nprint('f', end='')";
    let hook = loaded(&sandbox, &running(body)).await;
    let (lines, _guard) = Lines::collect();
    assert_eq!(run(&sandbox, &hook, plenty()).await.outcome, Ok(()));
    let lines = lines.of_hooks();
    let said: Vec<_> =
        lines.iter().map(|line| (line["level"].as_str().unwrap(), line["message"].as_str().unwrap())).collect();
    assert_eq!(said, [("INFO", "a"), ("WARN", "c 2"), ("INFO", "e"), ("INFO", "f")], "{lines:?}");
    let shown = format!("{lines:?}");
    assert!(shown.contains("mine") && shown.contains('3'), "{shown}");
}
