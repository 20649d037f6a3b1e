//! `boathook dev MODULE`: renders a module's chart whenever one of its files or the values that it shares change, and shows
//! what is different.

use std::{path::Path, process::ExitCode};

use anyhow::{Context as _, bail};
use boathook_author::{
    dev::{Folder, Show},
    module::{Alone, manifests, name_of, shared, unified},
};
use boathook_sandbox::Sandbox;
use serde_json::json;

use super::{Loaded, render::compiles};
use crate::{
    cli::dev::Dev,
    cmd::{
        runtime::{Stop, block_on},
        sandbox,
    },
};

/// Renders until a signal.
pub(in crate::cmd) fn run(args: &Dev, directory: &Path, show: &Show) -> anyhow::Result<ExitCode> {
    let flags = [
        ("--kubeconfig", args.kubeconfig.is_some()),
        ("--plan", args.plan),
        ("--rerun", args.rerun),
        ("--state", !args.state.is_empty()),
        ("--save", args.save.is_some()),
        ("--write-kubeconfig", args.write_kubeconfig.is_some()),
        ("--hooks", args.hooks.is_some()),
        ("--open", args.open),
        ("--http-private-host and BOATHOOK_HTTP_PRIVATE_HOSTS", !args.http.http_private_host.is_empty()),
        ("--http-insecure-host and BOATHOOK_HTTP_INSECURE_HOSTS", !args.http.http_insecure_host.is_empty()),
        ("--http-ca and BOATHOOK_HTTP_CA", args.http.http_ca.is_some()),
        ("--http-credentials and BOATHOOK_HTTP_CREDENTIALS", args.http.http_credentials.is_some()),
        ("--dir and BOATHOOK_DIRS", !args.directories.directories.is_empty()),
        ("--var", !args.variables.variables.is_empty()),
    ];
    if let Some((flag, _)) = flags.iter().find(|(_, is_set)| *is_set) {
        bail!("{} is a module, whose chart is rendered without a cluster: leave out {flag}", directory.display());
    }
    let name = name_of(directory)?;
    block_on(async {
        let mut stop = Stop::new()?;
        let files: Vec<_> =
            [shared(directory)].into_iter().chain(args.config.clone()).chain(args.patch.clone()).collect();
        // What changes during a rendering is rendered next.
        let mut folder = Folder::new(directory, &files)?;
        let sandbox = Sandbox::new(sandbox::config(None).map(compiles)?)?;
        let mut last: Option<String> = None;
        loop {
            let rendered = tokio::select! {
                rendered = render(&sandbox, args, directory) => rendered,
                () = stop.requested() => return Ok(ExitCode::SUCCESS),
            };
            match rendered {
                Ok(text) => {
                    let difference = last.as_ref().map(|last| unified(last, &text));
                    let shown = match &difference {
                        None => format!("{name} renders to {} manifests\n", text.matches("# Source: ").count()),
                        Some(difference) if difference.is_empty() => format!("{name} renders to the same manifests\n"),
                        Some(difference) => format!("{name} renders to other manifests:\n{difference}"),
                    };
                    let fields = json!({"module": name.as_str(), "difference": difference, "manifests": text});
                    show.say(&shown, "rendered", fields);
                    last = Some(text);
                }
                Err(error) => {
                    let why = format!("{error:#}");
                    let shown = format!("{name} does not render: {}\n", why.replace('\n', "\n  "));
                    show.say(&shown, "failed", json!({"module": name.as_str(), "error": why}));
                }
            }
            tokio::select! {
                () = folder.changed() => {}
                () = stop.requested() => return Ok(ExitCode::SUCCESS),
            }
        }
    })
}

/// What the module renders to now.
async fn render(sandbox: &Sandbox, args: &Dev, directory: &Path) -> anyhow::Result<String> {
    let alone = Alone::new(directory)?;
    let (module, catalogue) = alone.read(None).map_err(anyhow::Error::msg)?;
    let name = &module.name;
    let mut loaded = Loaded::new(&catalogue);
    if let Some(path) = &args.config {
        loaded.configure_for(path, Some(name))?;
    }
    args.patch.iter().try_for_each(|path| loaded.patch(path, Some(name)))?;
    for key in ["global", name.key()] {
        let found = loaded.store.problems(key, true)?;
        loaded.problems.extend(found.iter().map(ToString::to_string));
    }
    if !loaded.problems.is_empty() {
        let problems = alone.shown(&loaded.problems.join("\n"));
        bail!(
            "{problems}\ncorrect the values, name what users configure with --config, and what hooks write with --patch"
        );
    }
    let values = loaded.store.values(name.key()).context("the module has no values")??;
    manifests(sandbox, &module, values).await.map_err(|why| anyhow::Error::msg(alone.shown(&why)))
}
