//! A component written as text that exports `validating`, with any document: for registrations that no guest of `make
//! guests` asks for.
//!
//! Never answers: each review traps.

use std::{fs, path::Path};

/// What the template of the hostile fixtures lacks.
const EXPORT: &str = r#"
  (import "boathook:hook/admission@0.1.0" (instance $admission
    (type $denial' (record (field "message" string) (field "code" (option u16)) (field "reason" (option string))))
    (export "denial" (type $denial (eq $denial')))
    (type $verdict' (record
      (field "denied" (option $denial)) (field "warnings" (list string))
      (field "audit-annotations" (list (tuple string string)))))
    (export "verdict" (type $verdict (eq $verdict')))))
  (alias export $admission "verdict" (type $verdict))
  (func $validate (param "info" $run-info) (param "binding" string) (param "request" string)
    (result (result $verdict (error $failure)))
    (canon lift (core func $h "validate") (memory $mem) (realloc $realloc)))
  (instance $validating (export "validate" (func $validate)))
  (export "boathook:hook/validating@0.1.0" (instance $validating)))"#;

/// A component with this configuration document, which lies above the heap that `config` needs.
pub fn validating(document: &str) -> Vec<u8> {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile/template.wat");
    let template = fs::read_to_string(&template).unwrap_or_else(|error| panic!("{}: {error}", template.display()));
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:02x}")).collect::<String>();
    let length = u32::try_from(document.len()).unwrap().to_le_bytes();
    let body = format!(
        r#"(data (i32.const 32768) "{}")
        (data (i32.const 3000) "\00\80\00\00{}")
        (func (export "config") (type $config) (i32.const 3000))
        (func (export "run") (type $run) (global.get $success))
        (func (export "validate") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (unreachable))"#,
        escaped(document.as_bytes()),
        escaped(&length)
    );
    let text = template.replace(";; <body>", &body);
    let (text, _) = text.rsplit_once(')').unwrap();
    wat::parse_str(format!("{text}{EXPORT}")).unwrap()
}
