//! The subcommands, one file each: from the parsed command line to exit code and output. Those for authors are behind a
//! feature, and the operator's image does not include them.

mod admin;
#[cfg(feature = "author")]
mod build;
#[cfg(feature = "author")]
mod bundle;
#[cfg(feature = "author")]
mod cluster;
mod compile_worker;
#[cfg(feature = "author")]
mod completion;
mod connect;
mod crds;
#[cfg(feature = "author")]
mod demo;
#[cfg(feature = "author")]
mod dev;
mod directories;
mod effects;
pub mod filter_worker;
mod hookbundles;
#[cfg(feature = "author")]
mod inspect;
mod interpreters;
#[cfg(feature = "author")]
mod language;
#[cfg(feature = "author")]
mod new;
mod place;
#[cfg(feature = "author")]
mod rbac;
#[cfg(feature = "author")]
mod replay;
#[cfg(feature = "author")]
mod run;
mod runtime;
#[cfg(feature = "author")]
mod sandbox;
mod schema;
mod serve;
mod settings_worker;
#[cfg(feature = "author")]
mod summary;
#[cfg(feature = "author")]
mod test;
#[cfg(feature = "author")]
mod tools;
mod uninstall;

use std::process::ExitCode;

use crate::cli::{Command, webhooks::Remove};
#[cfg(feature = "author")]
use crate::cli::{author::Author, record::Record};

/// Runs a subcommand to its end.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(*args),
        #[cfg(feature = "author")]
        Command::Cluster(args) => cluster::run(args),
        #[cfg(feature = "author")]
        Command::Inspect(args) => inspect::run(args),
        Command::Schema => schema::run(),
        Command::Crd(args) => crds::run(&args),
        #[cfg(feature = "author")]
        Command::Test(args) => test::run(args),
        #[cfg(feature = "author")]
        Command::Run(args) => run::run(args),
        #[cfg(feature = "author")]
        Command::Demo(args) => demo::run(args),
        #[cfg(feature = "author")]
        Command::Rbac(args) => rbac::run(args),
        #[cfg(feature = "author")]
        Command::Bundle(args) => bundle::run(args),
        Command::Interpreters(args) => interpreters::run(args),
        Command::CompileWorker(args) => Ok(compile_worker::run(&args)),
        #[cfg(feature = "author")]
        Command::Dev(args) => dev::run(args),
        #[cfg(feature = "author")]
        Command::Author(Author::New(args)) => new::run(args),
        #[cfg(feature = "author")]
        Command::Author(Author::Build(args)) => build::run(args),
        #[cfg(feature = "author")]
        Command::Author(Author::Completion(args)) => completion::run(&args),
        #[cfg(feature = "author")]
        Command::Record(Record::Replay(args)) => replay::run(&args),
        Command::Remove(Remove::Uninstall(args)) => uninstall::run(args),
        Command::Admin(args) => admin::run(args),
        Command::FilterWorker(args) => Ok(filter_worker::run(args.into())),
        Command::SettingsWorker(args) => Ok(settings_worker::run(args.into())),
    }
}
