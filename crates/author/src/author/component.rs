//! Makes a component of a core module for WASI preview 1: it embeds the world of hooks, with the interfaces that the
//! module exports, and adapts preview 1. Pure.

use std::{collections::BTreeSet, path::Path};

use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{ExternalKind, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageId, Resolve, SourceMap, WorldId};

/// The WIT package of hooks.
const PACKAGE: &str = "boathook:hook";
/// The files of the package.
const WIT: [(&str, &str); 12] = [
    ("admission.wit", include_str!("../../../../wit/admission.wit")),
    ("conversion.wit", include_str!("../../../../wit/conversion.wit")),
    ("defining.wit", include_str!("../../../../wit/defining.wit")),
    ("kube.wit", include_str!("../../../../wit/kube.wit")),
    ("log.wit", include_str!("../../../../wit/log.wit")),
    ("metrics.wit", include_str!("../../../../wit/metrics.wit")),
    ("reconciling.wit", include_str!("../../../../wit/reconciling.wit")),
    ("settings.wit", include_str!("../../../../wit/settings.wit")),
    ("snapshots.wit", include_str!("../../../../wit/snapshots.wit")),
    ("types.wit", include_str!("../../../../wit/types.wit")),
    ("values.wit", include_str!("../../../../wit/values.wit")),
    ("world.wit", include_str!("../../../../wit/world.wit")),
];
/// The interfaces of WASI that modules import by themselves. They import the others through preview 1.
const WASI: &str = include_str!("../../../../sdk/go/internal/wit/wasi.wit");
/// The interface for HTTP requests, which brings the others of [`WASI`] with it.
const HTTP: &str = "wasi:http/outgoing-handler@0.2.0";
/// The version of all files of the WIT package of hooks.
pub const VERSION: &str = "0.1.0";
/// An interface that not every hook imports.
const VALUES: &str = "values";
/// A world for one component, which is not published.
const WORLD: &str = "component";

/// Why a module cannot become a component.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// The compiler produced something else.
    #[error("it is not a WebAssembly module")]
    Module(#[source] wasmparser::BinaryReaderError),
    /// The module does not contain the SDK.
    #[error("it exports no `{0}`: import the SDK, and give it the hook in a function `init`")]
    NoHook(&'static str),
    /// It was built for another version of the package.
    #[error("it is for {PACKAGE}@{found}, and this boathook builds {VERSION}: use the SDK of version {VERSION}")]
    Version { found: String },
    /// The package cannot be encoded, which is a defect.
    #[error("{PACKAGE}@{VERSION} cannot be encoded: {0}")]
    Package(String),
    /// Its exports or imports are not those of a hook.
    #[error("it does not fit the world of hooks: {0}")]
    World(String),
}

/// The component of a module that exports a hook.
pub fn component_of(module: &[u8]) -> Result<Vec<u8>, ComponentError> {
    let names = Names::of(module)?;
    for needed in ["config", "run"] {
        if !names.exports.contains(needed) {
            return Err(ComponentError::NoHook(needed));
        }
    }
    let answers = names.answers()?;
    let (resolve, world) = world(&answers, names.imported.contains(HTTP), names.imports(VALUES))?;
    let mut module = module.to_owned();
    let encoded = embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).and_then(|()| {
        let mut encoder = ComponentEncoder::default();
        let adapter = WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
        encoder.module(&module)?.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter)?.validate(true).encode()
    });
    encoded.map_err(|error| ComponentError::World(format!("{error:#}")))
}

/// The functions that a module exports, and the modules that it imports from.
struct Names {
    exports: BTreeSet<String>,
    imported: BTreeSet<String>,
}

impl Names {
    fn of(module: &[u8]) -> Result<Self, ComponentError> {
        let mut names = Self { exports: BTreeSet::new(), imported: BTreeSet::new() };
        for payload in Parser::new(0).parse_all(module) {
            match payload.map_err(ComponentError::Module)? {
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export.map_err(ComponentError::Module)?;
                        if export.kind == ExternalKind::Func {
                            names.exports.insert(export.name.to_owned());
                        }
                    }
                }
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        names.imported.insert(import.map_err(ComponentError::Module)?.module.to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok(names)
    }

    /// Whether it imports an interface of our package.
    fn imports(&self, interface: &str) -> bool {
        self.imported.contains(&format!("{PACKAGE}/{interface}@{VERSION}"))
    }

    /// The exported interfaces, such as `validating`.
    fn answers(&self) -> Result<BTreeSet<&str>, ComponentError> {
        let exported = self.exports.iter().filter_map(|name| name.split_once('#')).map(|(interface, _)| interface);
        let mut answers = BTreeSet::new();
        for interface in exported {
            answers.extend(own(interface)?);
        }
        for interface in &self.imported {
            own(interface)?;
        }
        Ok(answers)
    }
}

/// The name of an interface, if it is one of our package.
fn own(interface: &str) -> Result<Option<&str>, ComponentError> {
    let Some(rest) = interface.strip_prefix(PACKAGE).and_then(|rest| rest.strip_prefix('/')) else { return Ok(None) };
    match rest.split_once('@') {
        Some((name, VERSION)) => Ok(Some(name)),
        found => Err(ComponentError::Version { found: found.map(|(_, it)| it).unwrap_or_default().to_owned() }),
    }
}

/// The WIT package of hooks in its binary form: a component that exports the package's types, as tools for packages
/// exchange it.
pub fn wit_package() -> Result<Vec<u8>, ComponentError> {
    let (resolve, package) = parse(None)?;
    wit_component::encode(&resolve, package).map_err(|error| ComponentError::Package(format!("{error:#}")))
}

fn world(answers: &BTreeSet<&str>, http: bool, values: bool) -> Result<(Resolve, WorldId), ComponentError> {
    let exports: String = answers.iter().map(|name| format!("export {name}; ")).collect();
    let (wasi, mut imports) = if http { (WASI, format!("import {HTTP}; ")) } else { ("", String::new()) };
    if values {
        imports = format!("{imports}import {VALUES}; ");
    }
    let own = format!("package {PACKAGE}@{VERSION};\n{wasi}\nworld {WORLD} {{ include hook; {imports}{exports}}}");
    let (resolve, package) = parse(Some(&own))?;
    let world = resolve.select_world(&[package], Some(WORLD));
    Ok((resolve, world.map_err(|error| ComponentError::World(format!("{error:#}")))?))
}

/// Parses the package, with another file in it.
fn parse(own: Option<&str>) -> Result<(Resolve, PackageId), ComponentError> {
    let mut sources = SourceMap::default();
    for (name, text) in WIT.into_iter().chain(own.map(|own| ("component.wit", own))) {
        sources.push(Path::new(name), text);
    }
    let group = sources.parse().map_err(|(sources, error)| ComponentError::World(error.render(&sources)))?;
    let mut resolve = Resolve::default();
    let package = resolve.push_group(group).map_err(|error| ComponentError::World(format!("{error:#}")))?;
    Ok((resolve, package))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn error(module: &str) -> String {
        component_of(&wat::parse_str(module).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_hook_is_reported_with_what_it_lacks() {
        assert!(matches!(component_of(b"text"), Err(ComponentError::Module(_))));
        assert!(error("(module)").contains("exports no `config`: import the SDK"));
        let config = r#"(func (export "config") (result i32) i32.const 0)"#;
        assert!(error(&format!("(module {config})")).contains("exports no `run`"));
        let foreign =
            format!(r#"(module (import "boathook:hook/log@9.0.0" "write" (func)) {config} (func (export "run")))"#);
        assert!(error(&foreign).contains("boathook:hook@9.0.0"), "{}", error(&foreign));
        let unknown =
            format!(r#"(module {config} (func (export "run")) (func (export "boathook:hook/other@0.1.0#x")))"#);
        assert!(error(&unknown).contains("`other`") || error(&unknown).contains("other"), "{}", error(&unknown));
    }

    /// Nothing of WASI is imported that the module does not import.
    #[test]
    fn a_module_that_sends_http_requests_imports_what_it_calls_of_wasi() {
        let module = |import: &str| {
            let text = format!(
                r#"(module {import} (memory (export "memory") 1)
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
                (func (export "config") (result i32) unreachable)
                (func (export "run") (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#
            );
            String::from_utf8_lossy(&component_of(&wat::parse_str(text).unwrap()).unwrap()).into_owned()
        };
        let handle = r#"(import "wasi:http/outgoing-handler@0.2.0" "handle" (func (param i32 i32 i32 i32)))"#;
        let (plain, sends) = (module(""), module(handle));
        for interface in ["wasi:http/types@0.2.0", "wasi:http/outgoing-handler@0.2.0"] {
            assert!(!plain.contains(interface) && sends.contains(interface), "{interface}");
        }
        assert!(!sends.contains("blocking-read"));
        let other = r#"(module (import "wasi:http/outgoing-handler@0.3.0" "handle" (func)) (func (export "config") (result i32)
            unreachable) (func (export "run")))"#;
        assert!(error(other).contains("wasi:http/outgoing-handler@0.3.0"), "{}", error(other));
    }

    /// Every file states the version.
    #[test]
    fn the_files_are_of_one_version() {
        for (name, text) in WIT {
            assert!(text.starts_with(&format!("package {PACKAGE}@{VERSION};")), "{name}");
        }
    }
}
