//! Lists the files of the SDKs, which `boathook new` puts beside a hook (`crates/author/src/author/sdk.rs`): registries do not have them
//! yet, and a project is to build without a clone and without a network.
//!
//! Never reads anything outside of the repository.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// Of each SDK, what a project needs of it.
const PARTS: [(&str, &[&str]); 4] = [
    ("rust", &["Cargo.toml", "README.md", "src", "wit"]),
    ("go", &["."]),
    ("js", &["package.json", "README.md", "LICENSE", "tsconfig.hook.json", "src"]),
    ("python", &["pyproject.toml", "README.md", "LICENSE", "src"]),
];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut code = String::new();
    for (language, parts) in PARTS {
        let sdk = root.join("sdk").join(language);
        let mut files = Vec::new();
        for part in parts {
            println!("cargo:rerun-if-changed={}", sdk.join(part).display());
            collect(&sdk.join(part), &mut files)?;
        }
        files.sort();
        let constant = language.to_uppercase();
        code.push_str(&format!("pub(super) const {constant}: &[(&str, &str)] = &[\n"));
        for file in files {
            let name = file.strip_prefix(&sdk).map_err(io::Error::other)?.to_string_lossy().replace('\\', "/");
            let text = match &*name {
                "Cargo.toml" => {
                    let own = out.join("sdk-Cargo.toml");
                    fs::write(&own, alone(&file, &root)?)?;
                    own
                }
                _ => file,
            };
            code.push_str(&format!("    ({name:?}, include_str!({:?})),\n", text.display().to_string()));
        }
        code.push_str("];\n");
    }
    let lock = root.join("hooks-wasm/Cargo.lock");
    println!("cargo:rerun-if-changed={}", lock.display());
    fs::write(out.join("sdk-Cargo.lock"), registered(&fs::read_to_string(lock)?))?;
    code.push_str(&format!(
        "pub(super) const LOCK: &str = include_str!({:?});\n",
        out.join("sdk-Cargo.lock").display().to_string()
    ));
    fs::write(out.join("sdks.rs"), code)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if path.is_dir() {
        if !matches!(&*name, "testdata" | "node_modules" | "target" | "__pycache__") {
            for entry in fs::read_dir(path)? {
                collect(&entry?.path(), files)?;
            }
        }
    } else if !name.starts_with('.') && !name.ends_with("_test.go") && !name.ends_with(".pyc") {
        files.push(path.components().collect());
    }
    Ok(())
}

/// The manifest of a crate outside of the workspace, whose values it takes over; without what only its tests need.
fn alone(manifest: &Path, root: &Path) -> io::Result<String> {
    let workspace = root.join("Cargo.toml");
    println!("cargo:rerun-if-changed={}", workspace.display());
    let workspace = fs::read_to_string(workspace)?;
    let shared = workspace.lines().skip_while(|line| *line != "[workspace.package]").skip(1);
    let shared: Vec<&str> = shared.take_while(|line| !line.starts_with('[')).collect();
    let mut text = String::new();
    let mut kept = true;
    for line in fs::read_to_string(manifest)?.lines() {
        if line.starts_with('[') {
            kept = !matches!(line, "[dev-dependencies]" | "[lints]");
        }
        let value = line.strip_suffix(".workspace = true").map(|key| {
            let found = shared.iter().find(|line| line.starts_with(&format!("{key} = ")));
            found.copied().ok_or_else(|| io::Error::other(format!("{line}: the workspace has no such key")))
        });
        if kept {
            text.push_str(value.transpose()?.unwrap_or(line));
            text.push('\n');
        }
    }
    Ok(text.trim_end().to_owned() + "\n")
}

/// Of a lock file, the packages that come from a registry. Hooks are tested with these versions, and a machine that
/// built this repository has them. Cargo removes what a project does not need.
fn registered(lock: &str) -> String {
    let mut parts = lock.split("\n[[package]]\n");
    let head = parts.next().unwrap_or_default().to_owned();
    let packages = parts.filter(|package| package.lines().any(|line| line.starts_with("source = ")));
    packages.fold(head, |text, package| format!("{text}\n[[package]]\n{package}")).trim_end().to_owned() + "\n"
}
