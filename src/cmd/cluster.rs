//! `boathook cluster`: runs only the local cluster, in the foreground.

use std::{collections::BTreeSet, io::Write as _, path::Path, process::ExitCode};

use anyhow::Context as _;
use boathook_cluster::{Cluster, Controller, Options, State};

use super::runtime::{Stop, block_on};
use crate::cli;

pub(super) fn run(args: cli::Cluster) -> anyhow::Result<ExitCode> {
    block_on(async {
        let mut stop = Stop::new()?;
        let cluster = Cluster::start(options(&args)?).await?;
        if let Some(file) = &args.write_kubeconfig {
            write_kubeconfig(file, &cluster.kubeconfig())?;
        }
        announce(&cluster, args.write_kubeconfig.as_deref())?;
        stop.requested().await;
        if let Some(file) = &args.save {
            write_private(file, &cluster.save())
                .with_context(|| format!("cannot write the cluster's state to {}", file.display()))?;
        }
        cluster.shutdown().await;
        Ok(ExitCode::SUCCESS)
    })
}

fn options(args: &cli::Cluster) -> anyhow::Result<Options> {
    let mut state = State::default();
    for path in &args.load {
        state.append(State::read(path)?);
    }
    let options = Options::default().listen(args.listen).state(state).garbage_collection(!args.no_garbage_collection);
    let options = args
        .services
        .iter()
        .fold(options, |options, service| options.service(&service.namespace, &service.name, service.address));
    Ok(options.rbac(args.rbac).controllers(controllers(&args.controllers)?))
}

/// The controllers with these names, each once. `all` stands for all of them.
fn controllers(names: &[String]) -> anyhow::Result<BTreeSet<Controller>> {
    let mut wanted = BTreeSet::new();
    for name in names {
        match name.as_str() {
            "all" => wanted.extend(Controller::ALL),
            name => wanted.extend([name.parse::<Controller>().context("--controllers")?]),
        }
    }
    Ok(wanted)
}

/// Prints the line `ready`, which other programs wait for.
fn announce(cluster: &Cluster, kubeconfig: Option<&Path>) -> anyhow::Result<()> {
    match kubeconfig {
        Some(file) => {
            eprintln!("serving on {}; try: kubectl --kubeconfig {} get namespaces", cluster.url(), file.display())
        }
        None => eprintln!("serving on {}; --write-kubeconfig FILE makes a kubeconfig for it", cluster.url()),
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "ready").and_then(|()| stdout.flush()).context("cannot write to stdout")
}

/// Writes a kubeconfig that only its owner may read.
pub(super) fn write_kubeconfig(file: &Path, text: &str) -> anyhow::Result<()> {
    write_private(file, text).with_context(|| format!("cannot write the kubeconfig to {}", file.display()))
}

/// Writes a file that only its owner may read. An existing file is replaced and never written into, because others
/// could read it, or another program could have it open. A symbolic link is refused, because it may belong to somebody
/// else.
pub(super) fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    let other = match file.symlink_metadata() {
        Ok(found) if found.is_symlink() => Some("a symbolic link"),
        Ok(found) if !found.is_file() => Some("no regular file"),
        Ok(_) => None,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(other) = other {
        return Err(std::io::Error::other(format!("it is {other}: name a regular file")));
    }
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Created with mode 0600, under a name that nobody can guess.
    let mut new = tempfile::NamedTempFile::new_in(directory)?;
    new.write_all(text.as_bytes())?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    // mutant: src/cmd/cluster.rs: `if found.is_symlink() => Some("a symbolic link")` => `if found.is_symlink() => None`
    // mutant: src/cmd/cluster.rs: `    new.persist(file)?;` => `    std::fs::write(file, text)?;`
    #[test]
    fn what_others_can_read_is_never_written_into() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kubeconfig");
        fs::write(&file, "before").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        // Somebody has the file open and continues to read it.
        let mut open = fs::File::open(&file).unwrap();
        write_private(&file, "token").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "token");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::io::read_to_string(&mut open).unwrap(), "before");

        let (others, link) = (directory.path().join("others"), directory.path().join("link"));
        fs::write(&others, "before").unwrap();
        std::os::unix::fs::symlink(&others, &link).unwrap();
        let error = write_private(&link, "token").unwrap_err().to_string();
        assert_eq!(error, "it is a symbolic link: name a regular file");
        assert_eq!(fs::read_to_string(&others).unwrap(), "before");
        assert!(write_private(directory.path(), "token").is_err());
        // No temporary file is left.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
    }
}
