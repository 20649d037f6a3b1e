//! Components that export `defining`: what they define, and what becomes of those that misbehave.

use std::{fs, path::Path, time::Duration};

use boathook_core::model::{Failure, FailureKind, Limit, Limits};
use boathook_sandbox::{Sandbox, SandboxConfig};

use super::support::{self, hostile, load, sandbox};

/// What the template of the hostile fixtures lacks.
const EXPORT: &str = r#"
  (func $definitions (result (result (list string) (error string)))
    (canon lift (core func $h "definitions") (memory $mem)))
  (instance $defining (export "definitions" (func $definitions)))
  (export "boathook:hook/defining@0.1.0" (instance $defining)))"#;

/// Texts that the data has at 3000: `one`, `another`.
const TEXTS: &str = r#"(data (i32.const 3000) "oneanother")"#;
/// The list of both, at 3100.
const BOTH: &str = r#"(data (i32.const 3100) "\b8\0b\00\00\03\00\00\00\bb\0b\00\00\07\00\00\00")"#;

/// A component whose `definitions` is this.
fn defining(data: &str, function: &str) -> Vec<u8> {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile/template.wat");
    let template = fs::read_to_string(&template).unwrap_or_else(|error| panic!("{}: {error}", template.display()));
    let body = format!(
        r#"{TEXTS} {BOTH} {data}
        (func (export "config") (type $config) (global.get $document))
        (func (export "run") (type $run) (global.get $success))
        (func (export "definitions") (result i32) {function})"#
    );
    let text = template.replace(";; <body>", &body);
    let (text, _) = text.rsplit_once(')').unwrap();
    wat::parse_str(format!("{text}{EXPORT}")).unwrap()
}

async fn defined(component: &[u8]) -> Result<Vec<String>, Failure> {
    let limits = Limits { time: Duration::from_millis(300), ..SandboxConfig::default().config_limits };
    let sandbox = Sandbox::new(SandboxConfig { config_limits: limits, ..support::small() }).unwrap();
    let hook = load(&sandbox, "defining", component).await;
    sandbox.definitions(&hook).await
}

#[tokio::test]
async fn a_hook_tells_what_its_types_define() {
    // The result is a list at 3100 of two texts.
    let both = defining(r#"(data (i32.const 3200) "\00\00\00\00\1c\0c\00\00\02\00\00\00")"#, "(i32.const 3200)");
    assert_eq!(defined(&both).await, Ok(vec!["one".to_owned(), "another".to_owned()]));
    let error = defining(r#"(data (i32.const 3200) "\01\00\00\00\bb\0b\00\00\07\00\00\00")"#, "(i32.const 3200)");
    let expected = Failure { kind: FailureKind::Permanent, message: "another".into(), backtrace: None };
    assert_eq!(defined(&error).await, Err(expected));
    let none = load(&sandbox(), "good", &hostile("good")).await;
    assert_eq!(sandbox().definitions(&none).await.unwrap_err().kind, FailureKind::Host, "it is of another sandbox");
    assert_eq!(defined(&hostile("good")).await, Ok(Vec::new()));
}

/// `definitions` has the bounds of `config`.
// mutant: crates/sandbox/src/lib.rs: `let given = self.given(hook.tenant(), Bounds::of_config(self.config_limits), room);` => `let given = self.given(hook.tenant(), Bounds::of_run(self.maxima, &self.maxima), room);`
#[tokio::test]
async fn a_hook_that_misbehaves_while_it_defines_wastes_only_its_own_budget() {
    let trap = defined(&defining("", "(unreachable)")).await.unwrap_err();
    assert_eq!(trap.kind, FailureKind::Trap, "{trap}");
    let spin = defined(&defining("", "(loop $again (br $again)) (unreachable)")).await.unwrap_err();
    assert_eq!(spin.kind, FailureKind::Limit(Limit::Time), "{spin}");
    // A thousand times the same 40 kB.
    let texts = r#"(data (i32.const 3200) "\00\00\00\00\00\10\00\00\e8\03\00\00")"#;
    let fill = "(local $at i32) (local.set $at (i32.const 4096))
        (loop $next
          (i32.store (local.get $at) (i32.const 20000)) (i32.store offset=4 (local.get $at) (i32.const 40000))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (br_if $next (i32.lt_u (local.get $at) (i32.const 12096))))
        (i32.const 3200)";
    let large = defined(&defining(texts, fill)).await.unwrap_err();
    assert_eq!(large.kind, FailureKind::Limit(Limit::HostBytes), "{large}");
}
