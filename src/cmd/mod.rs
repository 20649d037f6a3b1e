//! The subcommands, one file each: from the parsed command line to exit code and output. Those for authors, and those of
//! the local cluster, are behind features, and the operator's image does not include them.

mod admin;
#[cfg(feature = "author")]
mod advise;

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::Context as _;
use boathook_core::child::Bounds;
use boathook_sandbox::Engines;
use serde_json::Value;

use crate::cli::{Command, CompileFor, Output, WorkerBounds, webhooks::Remove};

#[cfg(feature = "author")]
mod browser;
#[cfg(feature = "author")]
mod build;
#[cfg(feature = "author")]
mod bundle;
#[cfg(feature = "cluster")]
mod cluster;
mod connect;
#[cfg(feature = "author")]
mod credential_helper;
#[cfg(feature = "author")]
mod definitions;
#[cfg(feature = "cluster")]
mod demo;
#[cfg(feature = "author")]
mod dev;
mod directories;
mod effects;
mod hookbundles;
mod http_client;
#[cfg(feature = "author")]
mod import;
#[cfg(feature = "author")]
mod inspect;
mod interpreters;
#[cfg(feature = "author")]
mod language;
#[cfg(feature = "author")]
mod modules;
#[cfg(feature = "author")]
mod new;
mod offered;
#[cfg(feature = "author")]
mod operators;
mod place;
#[cfg(feature = "author")]
mod projects;
#[cfg(feature = "author")]
mod rbac;
#[cfg(feature = "author")]
mod replay;
#[cfg(feature = "author")]
mod run;
mod runtime;
#[cfg(feature = "author")]
mod sandbox;
mod serve;
#[cfg(feature = "author")]
mod summary;
#[cfg(feature = "author")]
mod table;
#[cfg(feature = "author")]
mod test;
mod uninstall;
mod variables;

#[cfg(feature = "author")]
use crate::cli::{author::Author, record::Record};

/// Runs a subcommand to its end.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(*args),
        #[cfg(feature = "cluster")]
        Command::Cluster(args) => cluster::run(args),
        #[cfg(feature = "author")]
        Command::Inspect(args) => inspect::run(args),
        Command::Schema => print_whole(boathook_core::hooks::SCHEMA.as_bytes()),
        Command::Crd(args) => {
            let definitions = [boathook_operator::hookbundle::definition(), boathook_operator::module::definition()];
            let text = match args.output {
                Output::Json => {
                    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": definitions});
                    format!("{list:#}\n")
                }
                Output::Text | Output::Yaml => {
                    let each = definitions.iter().map(yaml_serde::to_string).collect::<Result<Vec<_>, _>>()?;
                    each.join("---\n")
                }
            };
            print_whole(text.as_bytes())
        }
        #[cfg(feature = "author")]
        Command::Test(args) => test::run(args),
        #[cfg(feature = "author")]
        Command::Run(args) => run::run(args),
        #[cfg(feature = "cluster")]
        Command::Demo(args) => demo::run(args),
        #[cfg(feature = "author")]
        Command::Rbac(args) => rbac::run(args),
        #[cfg(feature = "author")]
        Command::Bundle(args) => bundle::run(args),
        #[cfg(feature = "author")]
        Command::Modules(args) => modules::run(args),
        #[cfg(feature = "author")]
        Command::Operators(args) => Ok(operators::run(args)),
        Command::Interpreters(args) => interpreters::run(args),
        Command::CompileWorker(args) => {
            Ok(boathook_sandbox::compiler::serve(args.bounds.into(), args.engine.into(), args.keep.as_deref()))
        }
        #[cfg(feature = "author")]
        Command::Dev(args) => dev::run(args),
        #[cfg(feature = "author")]
        Command::Author(Author::New(args)) => new::run(args),
        #[cfg(feature = "author")]
        Command::Author(Author::Build(args)) => build::run(args),
        #[cfg(feature = "author")]
        Command::Author(Author::Import(args)) => import::run(*args),
        #[cfg(feature = "author")]
        Command::Author(Author::Completion(args)) => print_whole(&args.script()),
        #[cfg(feature = "author")]
        Command::Record(Record::Replay(args)) => replay::run(&args),
        #[cfg(feature = "author")]
        Command::Record(Record::Advise(args)) => advise::run(&args),
        Command::Remove(Remove::Uninstall(args)) => uninstall::run(args),
        Command::Admin(args) => admin::run(args),
        Command::SettingsWorker(args) => Ok(boathook_operator::app::serve_settings(args.into())),
    }
}

impl From<CompileFor> for Engines {
    fn from(args: CompileFor) -> Self {
        match args {
            CompileFor { pooled: true, .. } => Self::Pooled,
            CompileFor { filters: true, .. } => Self::Filters,
            CompileFor { charts: true, .. } => Self::Charts,
            _ => Self::OnDemand,
        }
    }
}

impl From<WorkerBounds> for Bounds {
    fn from(args: WorkerBounds) -> Self {
        Self { memory: args.memory, cpu: args.cpu, time: args.time }
    }
}

/// As of `diff`: 0 if all is well, 1 if something differs or is wrong, 2 for an error.
#[cfg(feature = "author")]
fn exit_code(done: anyhow::Result<bool>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("boathook: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Prints a document for a file or for another program.
fn print_whole(text: &[u8]) -> anyhow::Result<ExitCode> {
    match io::stdout().lock().write_all(text) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        done => done?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a result as text or as data.
fn print(output: Output, data: &Value, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    match output {
        Output::Text => print!("{}", text()),
        Output::Json => println!("{data:#}"),
        Output::Yaml => print!("{}", yaml_serde::to_string(data)?),
    }
    Ok(())
}

/// Writes with a rename, so that a reader sees the old file or the new one, and never a part.
fn put(to: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut beside = OsString::from(to);
    beside.push(".new");
    let folder = to.parent().map_or(Ok(()), fs::create_dir_all);
    let written = folder.and_then(|()| fs::write(&beside, bytes)).and_then(|()| fs::rename(&beside, to));
    written.with_context(|| format!("cannot write {}", to.display()))
}
