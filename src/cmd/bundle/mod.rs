//! `boathook bundle`: packs, pushes, pulls, shows, verifies and signs. The crate `bundle` decides about trust.

mod hooks;
mod show;

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use boathook_bundle as bundle;
use boathook_bundle::{BundleError, Layout, LayoutError, Policy, PrivateKey, Progress, Store};
use boathook_core::model::error_chain;

use super::{
    directories,
    place::{self, policy},
    runtime::block_on,
};
use crate::cli::bundle::{Bundle, BundleCommand, InspectBundle, Pack, Pull, Push, Sign, Verify};

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
    let packed = bundle::pack(hooks::input(&args.directory, args.source.clone()).await?)?;
    let layout = Layout::create(&args.output)?;
    bundle::save(&packed, &layout, Some(&args.tag))?;
    println!("{}", packed.manifest.digest);
    Ok(())
}

async fn push(args: &Push) -> anyhow::Result<()> {
    let at = place::reference(&args.to)?;
    if at.digest().is_some() {
        bail!("{at} has a digest, which a push can't choose: leave it out");
    }
    let to = place::registry(&at, &args.registry)?;
    let progress = Progress::default();
    let pushed = if Layout::is_at(&args.from) {
        let from = bundle::Place::layout(Layout::open(&args.from, args.tag.as_deref())?);
        show::during(&progress, bundle::copy(&from, &to, &progress)).await?
    } else {
        let packed = bundle::pack(hooks::input(&args.from, args.source.clone()).await?)?;
        show::during(&progress, bundle::push(&packed, &to, &progress)).await?
    };
    eprintln!("pushed: {} blobs sent, {} there already, {} signatures", pushed.sent, pushed.present, pushed.signatures);
    println!("{}", at.pinned(&pushed.digest));
    Ok(())
}

async fn pull(args: &Pull) -> anyhow::Result<()> {
    let policy = if args.unverified { Policy::unchecked() } else { policy(&args.trust, "or --unverified")? };
    let from = place::named(&args.from, &args.registry)?;
    let store = args
        .store
        .clone()
        .or_else(directories::bundles)
        .context("there is no cache directory: name one with --store")?;
    let store = Store::open(&store)?;
    let progress = Progress::default();
    let pulled = show::during(&progress, bundle::pull(&from, &store, &policy, &progress)).await?;
    let unpacked = bundle::unpack(&pulled, &args.output)?;
    if pulled.verified.is_unchecked() {
        eprintln!("warning: nothing was checked about who made it");
    }
    eprintln!(
        "{} hooks, {} layers brought, {} there already, {} files of the version before removed",
        pulled.hooks.len(),
        pulled.fetched,
        pulled.reused,
        unpacked.removed.len()
    );
    println!("{}", pulled.seen.digest);
    store.collect(args.store_size.saturating_mul(1 << 20), std::time::SystemTime::now())?;
    Ok(())
}

async fn inspect(args: &InspectBundle) -> anyhow::Result<()> {
    let from = place::named(&args.from, &args.registry)?;
    let seen = bundle::inspect(&from).await?;
    show::print(args.output, &serde_json::to_value(&seen)?, || show::seen(&seen))
}

async fn verify(args: &Verify) -> anyhow::Result<()> {
    let policy = policy(&args.trust, "")?;
    let from = place::named(&args.from, &args.registry)?;
    bundle::inspect(&from).await?;
    let (seen, verified) = bundle::verify(&from, &policy).await?;
    let data = serde_json::json!({ "reference": seen.reference, "digest": seen.digest, "verified": verified });
    show::print(args.output, &data, || show::verified(&seen, &verified))
}

async fn sign(args: &Sign) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(&args.key).with_context(|| format!("can't read {}", args.key.display()))?;
    let key = PrivateKey::from_pem(&text).with_context(|| format!("{} can't be used", args.key.display()))?;
    let at = place::named(&args.from, &args.registry)?;
    let signed = bundle::sign(&at, &key).await?;
    eprintln!("signed: {} signatures under the tag {}", signed.signatures, signed.tag);
    println!("{}", signed.digest);
    Ok(())
}
