//! The subcommands, one file each: from what was typed to exit code and output.

mod admin;
mod build;
mod bundle;
mod cluster;
mod compile_worker;
mod completion;
mod connect;
mod crds;
mod demo;
mod dev;
mod effects;
pub mod filter_worker;
mod hookbundles;
mod inspect;
mod interpreters;
mod language;
mod new;
mod rbac;
mod replay;
mod run;
mod runtime;
mod sandbox;
mod schema;
mod serve;
mod settings_worker;
mod summary;
mod test;
mod tools;
mod uninstall;

use std::process::ExitCode;

use crate::cli::{Command, author::Author, record::Record, webhooks::Remove};

/// Runs a subcommand to its end.
pub fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(args) => serve::run(*args),
        Command::Cluster(args) => cluster::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Schema => schema::run(),
        Command::Crd(args) => crds::run(&args),
        Command::Test(args) => test::run(args),
        Command::Run(args) => run::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Rbac(args) => rbac::run(args),
        Command::Bundle(args) => bundle::run(args),
        Command::Interpreters(args) => interpreters::run(args),
        Command::CompileWorker(args) => Ok(compile_worker::run(&args)),
        Command::Dev(args) => dev::run(args),
        Command::Author(Author::New(args)) => new::run(args),
        Command::Author(Author::Build(args)) => build::run(args),
        Command::Author(Author::Completion(args)) => completion::run(&args),
        Command::Record(Record::Replay(args)) => replay::run(&args),
        Command::Remove(Remove::Uninstall(args)) => uninstall::run(args),
        Command::Admin(args) => admin::run(args),
        Command::FilterWorker(args) => Ok(filter_worker::run(args.into())),
        Command::SettingsWorker(args) => Ok(settings_worker::run(args.into())),
    }
}
