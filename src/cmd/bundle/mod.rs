//! `boathook bundle`: packs, pushes, pulls, shows, verifies and signs. The crate `bundle` decides about trust.

mod module;

use std::{
    fmt::Write as _,
    io::{IsTerminal as _, Write as _},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, bail};
use boathook_author::author::{WIT_VERSION, about, output, wit_package};
use boathook_bundle::{
    self as bundle, Annotations, Attestation, BundleError, Document, FileInput, HookInput, Input, Layout, LayoutError,
    Packed, Policy, PrivateKey, Progress, Pushed, Reference, Seen, SeenAttestation, Store, Verified,
};
use boathook_core::{
    definition::Definition,
    hooks::HookFile,
    model::{HookName, InterpreterRef, error_chain},
};
use boathook_operator::app::{component, load};
use boathook_sandbox::Sandbox;
use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{
    directories,
    place::{self, policy},
    runtime::block_on,
};
use crate::{
    cli::bundle::{
        Annotations as AnnotationFlags, Attach, Bundle, BundleCommand, InspectBundle, Load, Pack, Pull, Push, Save,
        Sign, Verify, Wit,
    },
    cmd::{projects, sandbox, summary},
};

/// Exit code if `verify` refuses.
const REFUSED: u8 = 1;
/// Exit code if `verify` cannot decide.
const UNKNOWN: u8 = 2;

pub(super) fn run(args: Bundle) -> anyhow::Result<ExitCode> {
    let done = |result: anyhow::Result<()>| result.map(|()| ExitCode::SUCCESS);
    match args.command {
        BundleCommand::Pack(args) => done(block_on(pack(&args))),
        BundleCommand::Push(args) => done(block_on(push(&args))),
        BundleCommand::Pull(args) => done(block_on(pull(&args))),
        BundleCommand::Inspect(args) => done(block_on(inspect(&args))),
        BundleCommand::Sign(args) => done(block_on(sign(&args))),
        BundleCommand::Attach(args) => done(block_on(attach(&args))),
        BundleCommand::Save(args) => done(block_on(save(&args))),
        BundleCommand::Load(args) => done(block_on(load_file(&args))),
        BundleCommand::Wit(args) => done(wit(&args)),
        BundleCommand::Verify(args) => Ok(match block_on(verify(&args)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {}", error_chain(error.as_ref()));
                ExitCode::from(if is_refusal(&error) { REFUSED } else { UNKNOWN })
            }
        }),
    }
}

fn is_refusal(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<BundleError>();
    matches!(error, Some(BundleError::Trust { .. } | BundleError::Layout(LayoutError::Digest { .. })))
}

async fn pack(args: &Pack) -> anyhow::Result<()> {
    let packed = packed(input(&args.directory, &args.annotations).await?, args.wasm)?;
    write(&packed, &args.output, &args.tag)?;
    println!("{}", packed.manifest.digest);
    Ok(())
}

/// Packs a directory as `boathook bundle pack DIR -o LAYOUT` does, and returns the digest.
pub(super) async fn pack_directory(directory: &Path, output: &Path) -> anyhow::Result<String> {
    let packed = packed(input(directory, &AnnotationFlags::default()).await?, false)?;
    write(&packed, output, "latest")?;
    Ok(packed.manifest.digest.to_string())
}

/// Packs the WIT package of hooks in the layout of the CNCF.
fn wit(args: &Wit) -> anyhow::Result<()> {
    let mut annotations = Annotations::default();
    for (key, value) in [
        ("title", "boathook:hook"),
        ("version", WIT_VERSION),
        ("description", "The WIT package of Boathook's hooks"),
        ("licenses", env!("CARGO_PKG_LICENSE")),
        ("source", env!("CARGO_PKG_REPOSITORY")),
    ] {
        annotations.set(key, value)?;
    }
    let package = HookInput { name: HookName::new("hook")?, component: wit_package()?.into(), asks: Vec::new() };
    let packed =
        bundle::pack_wasm(Input { hooks: vec![package], created: created()?, annotations, ..Input::default() })?;
    write(&packed, &args.output, WIT_VERSION)?;
    println!("{}", packed.manifest.digest);
    Ok(())
}

/// Writes an artifact as a layout, or as a tar of one.
fn write(packed: &Packed, output: &Path, tag: &str) -> anyhow::Result<()> {
    if output.extension().is_some_and(|extension| extension == "tar") {
        let directory = tempfile::tempdir()?;
        let layout = Layout::create(directory.path())?;
        bundle::save(packed, &layout, Some(tag))?;
        layout.write_file(output)?;
    } else {
        bundle::save(packed, &Layout::create(output)?, Some(tag))?;
    }
    Ok(())
}

fn packed(input: Input, wasm: bool) -> anyhow::Result<Packed> {
    if !wasm {
        return Ok(bundle::pack(input)?);
    }
    if let Some(module) = &input.module {
        bail!("{} is a module, and not a single component: leave --wasm out", module.name);
    }
    let definitions = input.definitions.iter().map(Definition::name);
    for name in input.files.iter().map(|file| file.name.as_str()).chain(definitions) {
        eprintln!("warning: {name}: left out, because a single component's artifact has no files");
    }
    Ok(bundle::pack_wasm(input)?)
}

/// The reference to push to.
fn target(text: &str) -> anyhow::Result<Reference> {
    let at = place::reference(text)?;
    if at.digest().is_some() {
        bail!("{at} has a digest, which a push cannot choose: leave it out");
    }
    Ok(at)
}

async fn push(args: &Push) -> anyhow::Result<()> {
    let at = target(&args.to)?;
    let to = place::registry(&at, &args.registry).await?;
    let progress = Progress::default();
    let pushed = if Layout::is_at(&args.from) {
        if args.wasm {
            bail!("{} is packed already: use --wasm when you pack it", args.from.display());
        }
        let from = bundle::Place::layout(Layout::open(&args.from, args.tag.as_deref())?);
        during(&progress, bundle::copy(&from, &to, &progress)).await?
    } else {
        let packed = packed(input(&args.from, &args.annotations).await?, args.wasm)?;
        during(&progress, bundle::push(&packed, &to, &progress)).await?
    };
    report(&at, &pushed);
    Ok(())
}

fn report(at: &Reference, pushed: &Pushed) {
    let Pushed { digest, sent, present, companions } = pushed;
    eprintln!("pushed: {sent} blobs sent, {present} there already, {companions} signatures and attachments");
    println!("{}", at.pinned(digest));
}

async fn save(args: &Save) -> anyhow::Result<()> {
    let from = place::named(&args.from, &args.registry).await?;
    let progress = Progress::default();
    let saved = during(&progress, bundle::archive(&from, &args.output, &progress)).await?;
    eprintln!("saved: {} signatures and attachments with it", saved.companions);
    println!("{}", saved.digest);
    Ok(())
}

async fn load_file(args: &Load) -> anyhow::Result<()> {
    let from = Layout::open(&args.from, args.tag.as_deref())?;
    let to = match &args.to {
        Some(to) => to.clone(),
        None => from.saved_from()?.with_context(|| {
            format!("{} does not say where it was saved from: name the reference to push to", args.from.display())
        })?,
    };
    let at = target(&to)?;
    let to = place::registry(&at, &args.registry).await?;
    let progress = Progress::default();
    let pushed = during(&progress, bundle::copy(&bundle::Place::layout(from), &to, &progress)).await?;
    report(&at, &pushed);
    Ok(())
}

async fn pull(args: &Pull) -> anyhow::Result<()> {
    let policy = if args.unverified { Policy::unchecked() } else { policy(&args.trust, "or --unverified")? };
    let from = place::named(&args.from, &args.registry).await?;
    let store =
        args.store.clone().or_else(directories::bundles).context("no cache directory is set: name one with --store")?;
    let store = Store::open(&store)?;
    let progress = Progress::default();
    let pulled = during(&progress, bundle::pull(&from, &store, &policy, &progress)).await?;
    let removed = match module::unpack(&pulled, &args.output)? {
        true => 0,
        false => bundle::unpack(&pulled, &args.output)?.removed.len(),
    };
    if pulled.verified.is_unchecked() {
        eprintln!("warning: nothing was checked about who made it");
    }
    eprintln!(
        "{} hooks, {} layers brought, {} there already, {} files of the version before removed",
        pulled.hooks.len(),
        pulled.fetched,
        pulled.reused,
        removed
    );
    println!("{}", pulled.seen.digest);
    store.collect(args.store_size.saturating_mul(1 << 20), std::time::SystemTime::now())?;
    Ok(())
}

async fn inspect(args: &InspectBundle) -> anyhow::Result<()> {
    let from = place::named(&args.from, &args.registry).await?;
    let seen = bundle::inspect(&from).await?;
    super::print(args.output, &serde_json::to_value(&seen)?, || seen_text(&seen))
}

async fn verify(args: &Verify) -> anyhow::Result<()> {
    let policy = policy(&args.trust, "")?;
    let from = place::named(&args.from, &args.registry).await?;
    bundle::check(&from).await?;
    let (seen, verified) = bundle::verify(&from, &policy).await?;
    let data = serde_json::json!({ "reference": seen.reference, "digest": seen.digest, "verified": verified });
    super::print(args.output, &data, || verified_text(&seen, &verified))
}

fn private_key(path: &Path) -> anyhow::Result<PrivateKey> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    PrivateKey::from_pem(&text).with_context(|| format!("{} cannot be used", path.display()))
}

async fn attach(args: &Attach) -> anyhow::Result<()> {
    let key = private_key(&args.key)?;
    let at = place::named(&args.from, &args.registry).await?;
    let sboms = args.sbom.iter().map(|path| (Attestation::Sbom, path));
    let documents = sboms.chain(args.provenance.iter().map(|path| (Attestation::Provenance, path)));
    for (kind, path) in documents {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {file}"))?;
        let attached = bundle::attach(&at, &Document { kind, bytes }, &file, &key).await?;
        eprintln!("attached: {file} as {} to {}", attached.predicate_type, attached.digest);
        println!("{}", attached.referrer);
    }
    Ok(())
}

async fn sign(args: &Sign) -> anyhow::Result<()> {
    let key = private_key(&args.key)?;
    let at = place::named(&args.from, &args.registry).await?;
    let signed = bundle::sign(&at, &key).await?;
    eprintln!("signed: {} signatures under the tag {}", signed.signatures, signed.tag);
    println!("{}", signed.digest);
    Ok(())
}

/// What a bundle takes of a project, whose other files are for its tools.
const OF_A_PROJECT: [&str; 2] = ["settings.schema.json", "README.md"];

/// All hooks, schemas and texts of a directory. Reports all files that are not hooks before it fails.
async fn input(directory: &Path, flags: &AnnotationFlags) -> anyhow::Result<Input> {
    if let Some(input) = module::input(directory, flags).await? {
        return Ok(input);
    }
    let found = projects::hooks(directory)?;
    let sandbox = Sandbox::new(sandbox::config(None)?)?;
    let annotations = annotations(directory, flags)?;
    let (files, definitions) = (files(directory)?, definitions(directory)?);
    let mut input = Input { created: created()?, annotations, files, definitions, ..Input::default() };
    let mut wrong = 0_usize;
    for file in found {
        let path = file.path.clone();
        match hook(file, &sandbox).await {
            Ok(hook) => input.hooks.push(hook),
            Err(error) => {
                wrong += 1;
                let shown = path.display();
                eprintln!("{shown}: {}; see `boathook inspect {shown}`", error_chain(error.as_ref()));
            }
        }
    }
    match wrong {
        0 => Ok(input),
        1 => bail!("1 file is not a hook that Boathook can use: build it again, or leave it out"),
        n => bail!("{n} files are not hooks that Boathook can use: build them again, or leave them out"),
    }
}

async fn hook(file: HookFile, sandbox: &Sandbox) -> anyhow::Result<HookInput> {
    let (name, bytes) = component(file, sandbox).await?;
    let hook = load(&name, &bytes, sandbox).await?;
    Ok(HookInput { name, component: bytes.into(), asks: hook.spec.asks() })
}

fn files(directory: &Path) -> anyhow::Result<Vec<FileInput>> {
    let unreadable = || format!("{} cannot be read", directory.display());
    let project = output(directory).is_some();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        let wanted = path.extension().is_some_and(|extension| extension == "json" || extension == "md");
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|_| wanted && path.is_file()) else {
            continue;
        };
        if project && !OF_A_PROJECT.contains(&name) {
            continue;
        }
        // A directory that was pulled into contains this file, and it describes the bundle that was pulled.
        if name != "bundle.json" {
            let content = std::fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            files.push(FileInput { name: name.to_owned(), content: content.into() });
        }
    }
    Ok(files)
}

/// The file of a project with its CustomResourceDefinitions.
const DEFINITION_FILE: &str = "crd.yaml";

/// The CustomResourceDefinitions of a directory: each document of `crd.yaml`, and of each YAML or JSON file in `crds/`.
fn definitions(directory: &Path) -> anyhow::Result<Vec<Definition>> {
    let unreadable = |path: &Path| format!("{} cannot be read", path.display());
    let (file, folder) = (directory.join(DEFINITION_FILE), directory.join(bundle::DEFINITIONS));
    let mut paths = Vec::new();
    if folder.is_dir() {
        for entry in std::fs::read_dir(&folder).with_context(|| unreadable(&folder))? {
            let path = entry.with_context(|| unreadable(&folder))?.path();
            if path.extension().is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known))
            {
                paths.push(path);
            }
        }
    }
    paths.extend(file.is_file().then_some(file));
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).with_context(|| unreadable(&path))?;
        for document in yaml_serde::Deserializer::from_str(&text) {
            let value = Value::deserialize(document).with_context(|| unreadable(&path))?;
            if !value.is_null() {
                all.push(Definition::read(value).with_context(|| format!("{} cannot be packed", path.display()))?);
            }
        }
    }
    Ok(all)
}

/// What the flags say, and else what the manifest of a project says. Nothing comes from git, because a work tree may
/// differ from its commit.
fn annotations(directory: &Path, flags: &AnnotationFlags) -> anyhow::Result<Annotations> {
    let mut all = Annotations::default();
    if output(directory).is_some() {
        for (key, value) in about(directory) {
            if let Err(error) = all.set(key, &value) {
                eprintln!("warning: {}: left out: {error}", directory.display());
            }
        }
    }
    for pair in &flags.annotations {
        all.set_pair(pair)?;
    }
    if let Some(url) = &flags.source {
        all.set("source", url)?;
    }
    Ok(all)
}

/// The same for the same sources, as reproducible builds require.
fn created() -> anyhow::Result<Timestamp> {
    let Some(text) = std::env::var_os("SOURCE_DATE_EPOCH") else { return Ok(Timestamp::UNIX_EPOCH) };
    let seconds = text.to_str().and_then(|text| text.parse().ok()).and_then(|n| Timestamp::from_second(n).ok());
    seconds.with_context(|| format!("SOURCE_DATE_EPOCH is {text:?}, and must be seconds since 1970"))
}

const REDRAW: Duration = Duration::from_millis(200);

fn seen_text(seen: &Seen) -> String {
    let mut out = String::new();
    let contents = &seen.contents;
    // Writing to a String cannot fail.
    let _ = writeln!(out, "Bundle:   {}", seen.reference);
    let _ = writeln!(out, "Digest:   {}", seen.digest);
    let _ = writeln!(out, "Size:     {} bytes in {} layers", contents.size(), contents.layers().count());
    for (name, value) in [("Created:", &contents.created), ("Source: ", &contents.source)] {
        if let Some(value) = value {
            let _ = writeln!(out, "{name}  {}", clean(value));
        }
    }
    for (key, value) in contents.annotations.iter().filter(|(key, _)| *key != "org.opencontainers.image.source") {
        let _ = writeln!(out, "Annotation: {}: {}", clean(key), clean(value));
    }
    if let Some(module) = &contents.module {
        let _ =
            writeln!(out, "Module:   {}, {} bytes, {}", clean(&module.name), module.layer.size, module.layer.digest);
    }
    for hook in &contents.hooks {
        let _ = writeln!(out, "Hook:     {}, {} bytes, {}", hook.name, hook.layer.size, hook.layer.digest);
        if let Some(InterpreterRef { name, version, digest }) = &hook.interpreter {
            let _ = writeln!(out, "  a script  of {} {}, {}", clean(name), clean(version), clean(digest));
        }
        let may = match &hook.permissions {
            Some(permissions) => summary::may(&json!(permissions)),
            None => vec!["what its document requests; the artifact does not say".to_owned()],
        };
        for (n, line) in may.iter().enumerate() {
            let _ = writeln!(out, "  {} {}", if n == 0 { "Requests:" } else { "         " }, clean(line));
        }
    }
    for definition in &contents.custom_resource_definitions {
        let (name, layer) = (clean(&definition.name), &definition.layer);
        let _ = writeln!(out, "Defines:  {name}, {} bytes, {}", layer.size, layer.digest);
    }
    if let Some(permission) = contents.defines() {
        for (n, line) in summary::may(&json!([permission])).iter().enumerate() {
            let _ = writeln!(out, "  {} {}", if n == 0 { "Requests:" } else { "         " }, clean(line));
        }
    }
    for attestation in &seen.attestations {
        let SeenAttestation { kind, predicate_type, about, digest, size } = attestation;
        let kind = kind.map_or("another kind", Attestation::as_str);
        let other = if *about { "" } else { ", about another digest" };
        let _ = writeln!(out, "Attested: {kind}, {}, {size} bytes, {digest}{other}", clean(predicate_type));
    }
    for file in &contents.files {
        let title = file.annotations.get(boathook_bundle::TITLE).map_or("?", String::as_str);
        let _ = writeln!(out, "File:     {}, {} bytes, {}", clean(title), file.size, clean(&file.media_type));
    }
    out
}

/// A bundle's texts must not move a terminal's cursor.
fn clean(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(500).collect()
}

fn verified_text(seen: &Seen, verified: &Verified) -> String {
    let why = match (verified.by_digest, verified.by_keys.as_slice()) {
        (true, _) => "its digest is allowed".to_owned(),
        (false, []) => "no requests".to_owned(),
        (false, keys) => format!("signed by {}", keys.join(", ")),
    };
    let attested: String = verified.attested.iter().map(|kind| format!(", with {kind}")).collect();
    format!("trusted: {} is {}: {why}{attested}\n", seen.reference, seen.digest)
}

/// Shows the progress of a transfer while it runs.
async fn during<T>(progress: &Progress, work: impl Future<Output = Result<T, BundleError>>) -> Result<T, BundleError> {
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let mut work = std::pin::pin!(work);
    let mut clock = tokio::time::interval(REDRAW);
    loop {
        tokio::select! {
            result = &mut work => {
                eprint!("\r\x1b[K");
                return result;
            }
            _ = clock.tick() => draw(progress),
        }
    }
}

fn draw(progress: &Progress) {
    let (done, total) = progress.get();
    if total > 0 {
        eprint!("\r\x1b[K{:.1} of {:.1} MB", megabytes(done), megabytes(total));
        let _ = std::io::stderr().flush();
    }
}

#[allow(clippy::cast_precision_loss)]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
