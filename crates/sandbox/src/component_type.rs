//! What can be said about a component without compiling it: whether it is one, whether it is complete, and whether it
//! is a hook. Pure.

use boathook_core::model::HookName;

use super::error::LoadError;

/// The world that hooks are built for.
const WORLD: &str = "boathook:hook@0.1.0";

/// Our package. Below are the interfaces that a hook may import from it.
const PACKAGE: &str = "boathook:hook";
const INTERFACES: [&str; 9] =
    ["types", "admission", "reconciliation", "log", "kube", "snapshots", "metrics", "settings", "values"];

/// The package from which an interpreter may import, in addition to a hook's imports. Below is the interface that it
/// must also export.
pub(super) const INTERPRETER: &str = "boathook:interpreter";
const SCRIPT: &str = "boathook:interpreter/script@0.1.0";

/// The interfaces that only interpreters may import.
const GIVEN: [&str; 6] = ["source", "http", "kinds", "writes", "rights", "values"];

/// Our versions are compatible within this prefix, as semver specifies for 0.x.
const COMPATIBLE: &str = "0.1.";

/// The packages of WASI 0.2 that are linked.
const WASI: [&str; 6] = ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];

/// The package of HTTP, and its interfaces for requests that a guest makes.
const HTTP: &str = "wasi:http";
const OUTGOING: [&str; 2] = ["types", "outgoing-handler"];

const MAGIC: &[u8] = b"\0asm";
const COMPONENT: [u8; 4] = [0x0d, 0, 1, 0];
const CORE_MODULE: [u8; 4] = [1, 0, 0, 0];

/// What a component is loaded as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum World {
    Hook,
    /// An interpreter of scripts: a hook that is given its program.
    Interpreter,
}

/// Rejects bytes that are not a complete component of acceptable size.
pub(super) fn check(hook: &HookName, bytes: &[u8], max: u64) -> Result<(), LoadError> {
    let hook = || hook.clone();
    let size = bytes.len() as u64;
    if bytes.is_empty() {
        return Err(LoadError::Empty { hook: hook() });
    }
    check_size(&hook(), size, max)?;
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let start = bytes.iter().take(16).copied().collect::<Vec<_>>().escape_ascii().to_string();
        return Err(LoadError::NotWasm { hook: hook(), start });
    };
    let Some((version, sections)) = rest.split_first_chunk() else {
        return Err(LoadError::Truncated { hook: hook(), size, missing: 4 - rest.len() as u64 });
    };
    match *version {
        COMPONENT => {}
        CORE_MODULE => return Err(LoadError::CoreModule { hook: hook() }),
        other => return Err(LoadError::UnknownFormat { hook: hook(), version: super::cache::hex(&other) }),
    }
    match missing(sections) {
        0 => Ok(()),
        missing => Err(LoadError::Truncated { hook: hook(), size, missing }),
    }
}

/// Rejects a component of more than `max` bytes.
pub(super) fn check_size(hook: &HookName, size: u64, max: u64) -> Result<(), LoadError> {
    if size > max { Err(LoadError::TooManyBytes { hook: hook.clone(), size, max }) } else { Ok(()) }
}

/// How many bytes of the last section are missing.
fn missing(mut sections: &[u8]) -> u64 {
    while let Some((_id, rest)) = sections.split_first() {
        let Some((length, body)) = leb128(rest) else { return 1 };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        match body.get(length..) {
            Some(rest) => sections = rest,
            None => return (length - body.len()) as u64,
        }
    }
    0
}

/// Reads an unsigned number of at most 32 bits, and returns what follows it.
fn leb128(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, bytes.get(index + 1..)?));
        }
    }
    None
}

/// Rejects a component that is not a hook of a version that we support.
pub(super) fn check_world(
    hook: &HookName,
    world: World,
    imports: &[String],
    exports: &[String],
) -> Result<(), LoadError> {
    for import in imports {
        check_import(hook, world, import)?;
    }
    let needed = ["config", "run"].into_iter().chain((world == World::Interpreter).then_some(SCRIPT));
    let missing: Vec<_> = needed.filter(|name| !exports.iter().any(|export| export == name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(LoadError::MissingExport {
        hook: hook.clone(),
        missing: missing.join(" and "),
        world: WORLD,
        found: if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") },
    })
}

/// Whether this import is the interface that opens snapshots.
pub(super) fn is_snapshots(import: &str) -> bool {
    import.split('@').next().and_then(|name| name.split_once('/')) == Some((PACKAGE, "snapshots"))
}

fn check_import(hook: &HookName, world: World, import: &str) -> Result<(), LoadError> {
    let (name, version) = import.split_once('@').unwrap_or((import, ""));
    let (package, interface) = name.split_once('/').unwrap_or((name, ""));
    let (known, prefix) = if package == PACKAGE {
        (INTERFACES.contains(&interface), COMPATIBLE)
    } else if package == INTERPRETER {
        (world == World::Interpreter && GIVEN.contains(&interface), COMPATIBLE)
    } else if package == HTTP {
        (OUTGOING.contains(&interface), "0.2.")
    } else {
        (WASI.contains(&package), "0.2.")
    };
    if !known {
        return Err(LoadError::UnknownImport { hook: hook.clone(), import: import.to_owned() });
    }
    if !version.starts_with(prefix) {
        let supported = format!("{package}@{prefix}x");
        return Err(LoadError::OtherVersion { hook: hook.clone(), import: import.to_owned(), supported });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn name() -> HookName {
        HookName::new("h").unwrap()
    }

    fn checked(bytes: &[u8]) -> Result<(), LoadError> {
        check(&name(), bytes, 100)
    }

    #[test]
    fn recognises_what_is_no_component() {
        let component = wat::parse_str("(component)").unwrap();
        assert!(checked(&component).is_ok());
        assert!(matches!(checked(b""), Err(LoadError::Empty { .. })));
        assert!(matches!(checked(&[0; 101]), Err(LoadError::TooManyBytes { size: 101, max: 100, .. })));
        assert!(
            matches!(checked(b"#!/bin/bash\n"), Err(LoadError::NotWasm { start, .. }) if start == "#!/bin/bash\\n")
        );
        assert!(matches!(checked(&wat::parse_str("(module)").unwrap()), Err(LoadError::CoreModule { .. })));
        assert!(
            matches!(checked(b"\0asm\x0e\0\x01\0"), Err(LoadError::UnknownFormat { version, .. }) if version == "0e000100")
        );
    }

    #[test]
    fn every_cut_is_noticed() {
        let component = wat::parse_str(r#"(component (core module (func (export "f"))))"#).unwrap();
        for cut in 1..component.len() {
            let result = checked(&component[..cut]);
            // A cut between two sections leaves a complete but shorter component, which the validator decides about.
            let boundary = cut == 8;
            match result {
                Ok(()) => assert!(boundary || missing(&component[8..cut]) == 0, "{cut}"),
                Err(LoadError::Truncated { .. } | LoadError::NotWasm { .. }) => assert!(!boundary, "{cut}"),
                Err(other) => unreachable!("{other}"),
            }
        }
        let whole = component.len() as u64;
        let cut = &component[..component.len() - 3];
        assert!(matches!(checked(cut), Err(LoadError::Truncated { size, missing: 3, .. }) if size == whole - 3));
    }

    #[test]
    fn a_section_length_without_end_is_cut_off() {
        assert!(matches!(checked(b"\0asm\x0d\0\x01\0\x01\xff\xff\xff\xff\xff\xff"), Err(LoadError::Truncated { .. })));
    }

    fn world(imports: &[&str], exports: &[&str]) -> Result<(), LoadError> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        check_world(&name(), World::Hook, &owned(imports), &owned(exports))
    }

    #[test]
    fn imports_and_versions() {
        let hook = ["config", "run"];
        assert!(world(&["boathook:hook/kube@0.1.0", "boathook:hook/log@0.1.7", "wasi:io/poll@0.2.9"], &hook).is_ok());
        assert!(matches!(
            world(&["boathook:hook/kube@0.2.0"], &hook),
            Err(LoadError::OtherVersion { import, supported, .. })
                if import == "boathook:hook/kube@0.2.0" && supported == "boathook:hook@0.1.x"
        ));
        assert!(matches!(world(&["boathook:interpreter/source@0.1.0"], &hook), Err(LoadError::UnknownImport { .. })));
        assert!(world(&["wasi:http/outgoing-handler@0.2.0", "wasi:http/types@0.2.9"], &hook).is_ok());
        for import in ["wasi:http/incoming-handler@0.2.0", "boathook:hook/files@0.1.0", "env", "other:pkg/a@1.0.0"] {
            assert!(
                matches!(world(&[import], &hook), Err(LoadError::UnknownImport { import: named, .. }) if named == import)
            );
        }
        assert!(matches!(world(&["wasi:io/poll@0.3.0"], &hook), Err(LoadError::OtherVersion { .. })));
    }

    #[test]
    fn exports_that_a_hook_needs() {
        assert!(matches!(
            world(&[], &["wasi:cli/run@0.2.3"]),
            Err(LoadError::MissingExport { missing, found, .. })
                if missing == "config and run" && found == "wasi:cli/run@0.2.3"
        ));
        assert!(matches!(
            world(&[], &["config"]),
            Err(LoadError::MissingExport { missing, .. }) if missing == "run"
        ));
    }
}
