//! Hooks written as text, for documents and deeds that no guest of `make guests` has.
//!
//! Never needs more of a component than the template of the hostile fixtures.

use std::{fs, path::Path};

/// What a run does.
pub enum Deed<'a> {
    /// Logs one line.
    Says(&'a str),
    /// Logs `begin`, waits until the ConfigMap `default/NAME` can be read, and logs `end`.
    WaitsFor(&'a str),
    /// Logs its settings.
    TellsSettings,
    /// Never ends.
    Spins,
}

/// A component with this configuration document.
pub fn hook(document: &str, deed: &Deed<'_>) -> Vec<u8> {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hostile/template.wat");
    let template = fs::read_to_string(&template).unwrap_or_else(|error| panic!("{}: {error}", template.display()));
    let body = format!("{}{}", config(document), run(deed));
    wat::parse_str(template.replace(";; <body>", &body)).unwrap()
}

/// The document lies above the heap that `config` needs; address and length lie below it.
fn config(document: &str) -> String {
    let length: String =
        u32::try_from(document.len()).unwrap().to_le_bytes().map(|byte| format!("\\{byte:02x}")).concat();
    format!(
        r#"(data (i32.const 32768) "{}")
        (data (i32.const 3000) "\00\80\00\00{length}")
        (func (export "config") (type $config) (i32.const 3000))"#,
        escaped(document)
    )
}

fn run(deed: &Deed<'_>) -> String {
    match deed {
        Deed::Says(text) => {
            format!(
                r#"{} (func (export "run") (type $run) {} (global.get $success))"#,
                data(3100, text),
                log(3100, text)
            )
        }
        Deed::WaitsFor(name) => waits(name),
        Deed::TellsSettings => r#"(func (export "run") (type $run)
          (call $settings (i32.const 0))
          (call $log (i32.const 1) (i32.load (i32.const 0)) (i32.load (i32.const 4)) (i32.const 0) (i32.const 0))
          (global.get $success))"#
            .to_owned(),
        Deed::Spins => r#"(func (export "run") (type $run) (loop $forever (br $forever)) (unreachable))"#.to_owned(),
    }
}

/// Asks for the object again and again, and counts to a million in between.
fn waits(name: &str) -> String {
    let texts = [(3100, "begin"), (3200, "end"), (3300, "v1"), (3400, "ConfigMap"), (3500, "default"), (3600, name)];
    let texts: String = texts.map(|(at, text)| data(at, text)).concat();
    let (begin, end, length) = (log(3100, "begin"), log(3200, "end"), name.len());
    format!(
        r#"{texts} (func (export "run") (type $run) (local $n i32)
          {begin}
          (loop $ask
            (call $forget)
            (call $get (i32.const 3300) (i32.const 2) (i32.const 3400) (i32.const 9)
              (i32.const 1) (i32.const 3500) (i32.const 7) (i32.const 3600) (i32.const {length})
              (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))
            (local.set $n (i32.const 1000000))
            (loop $count (br_if $count (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (br_if $ask (i32.load8_u (i32.const 0))))
          {end} (global.get $success))"#
    )
}

fn data(at: usize, text: &str) -> String {
    format!(r#"(data (i32.const {at}) "{}")"#, escaped(text))
}

fn log(at: usize, text: &str) -> String {
    format!("(call $log (i32.const 1) (i32.const {at}) (i32.const {}) (i32.const 0) (i32.const 0))", text.len())
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:02x}")).collect()
}
