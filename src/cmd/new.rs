//! `boathook new`: creates a project. It never overwrites a file.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use boathook_author::author::{File, Language, ProjectName, SDK_FOLDER, Sdk, Template, write_project};
use boathook_modules::ModuleName;

use crate::cli::author::{self as cli, New};

pub(super) fn run(args: New) -> anyhow::Result<ExitCode> {
    let is_module = args.from == cli::Template::Module;
    let usual = if is_module { cli::Language::Shell } else { cli::Language::Rust };
    let language = match args.lang.unwrap_or(usual) {
        cli::Language::Rust => Language::Rust,
        cli::Language::Go => Language::Go,
        cli::Language::TypeScript => Language::TypeScript,
        cli::Language::JavaScript => Language::JavaScript,
        cli::Language::Python => Language::Python,
        cli::Language::Shell => Language::Shell,
    };
    let name = ProjectName::new(&args.name, language)?;
    if is_module {
        args.name.parse::<ModuleName>()?;
        if language != Language::Shell {
            bail!(
                "a new module has a hook in Shell: leave out --lang. To add a hook in {language}, make a project of its own, \
                 and put its component into the module's folder hooks"
            );
        }
    }
    let sdk = match &args.sdk_path {
        Some(path) => Sdk::Path(sdk(path, language)?),
        None if args.published_sdk => Sdk::of(env!("CARGO_PKG_VERSION")),
        None => Sdk::Bundled,
    };
    let folder = args.dir.unwrap_or_else(|| PathBuf::from(name.as_str()));
    let Some(files) = template(args.from).files(language, &name, &sdk) else {
        bail!("{language} hooks cannot have `reconcile` bindings: name another language, for example --lang python");
    };
    write_project(&folder, &files)?;
    let (sdk, own): (Vec<&File>, Vec<&File>) = files.iter().partition(|file| file.path.starts_with(SDK_FOLDER));
    for file in own {
        println!("{}", folder.join(&file.path).display());
    }
    if !sdk.is_empty() {
        println!("{}/", folder.join(SDK_FOLDER).display());
    }
    if is_module {
        eprintln!("next: boathook test {}; see its README.md for the next steps", shown(&folder));
        return Ok(ExitCode::SUCCESS);
    }
    let setup = language.setup().map(|command| format!("{command} && ")).unwrap_or_default();
    eprintln!("next: cd {} && {setup}boathook build; see README.md for the next steps", shown(&folder));
    Ok(ExitCode::SUCCESS)
}

fn template(name: cli::Template) -> Template {
    match name {
        cli::Template::LabelWatcher => Template::LabelWatcher,
        cli::Template::Module => Template::Module,
        cli::Template::Operator => Template::Operator,
        cli::Template::Schedule => Template::Schedule,
        cli::Template::Startup => Template::Startup,
        cli::Template::Validating => Template::Validating,
    }
}

/// Absolute, because the project may be in any folder.
fn sdk(path: &Path, language: Language) -> anyhow::Result<PathBuf> {
    let Some(manifest) = language.sdk_manifest() else {
        bail!("{language} hooks need no SDK: leave out --sdk-path");
    };
    let found = path.canonicalize().with_context(|| format!("cannot use the SDK in {}", path.display()))?;
    if !found.join(manifest).is_file() {
        bail!("there is no SDK for {language} in {}: it has no {manifest}", path.display());
    }
    if language.setup().is_some() && !found.join("dist").is_dir() {
        bail!("the SDK in {} is not compiled: run `npm install && npm run build` there", path.display());
    }
    Ok(found)
}

/// Quoted as one word of a shell.
fn shown(folder: &Path) -> String {
    let text = folder.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./~".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
