//! The configuration document: what is read, what is refused, and that all errors come at once.

mod hostile;
mod names;
mod print;
mod reconcile;
mod schema;
mod v0;
mod v1;
mod webhooks;

use boathook_core::{
    hooks::{DocumentError, parse},
    model::{HookName, HookSpec},
};

fn read(text: &str) -> Result<HookSpec, DocumentError> {
    let check = |program: &str| if program.contains("bad") { Err("unexpected token".to_owned()) } else { Ok(()) };
    parse(&HookName::new("test").unwrap(), text, &check)
}

fn good(text: &str) -> HookSpec {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

/// `path: message` of each problem.
fn problems(text: &str) -> Vec<String> {
    read(text).expect_err("the document is accepted").problems.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn refused(text: &str, path: &str, hint: &str) {
    let found = problems(text);
    assert!(
        found.iter().any(|problem| problem.starts_with(&format!("{path}: ")) && problem.contains(hint)),
        "expected a problem at {path} about {hint:?}, found {found:#?}"
    );
}

fn kubernetes(fields: &str) -> String {
    format!(
        "configVersion: v1\nkubernetes:\n- kind: Pod\n{}",
        fields.trim_end().replace("\n|", "\n  ").replacen('|', "  ", 1)
    )
}

/// A schedule of every hour with these fields, in YAML's flow style.
fn schedule(fields: &str) -> String {
    format!("configVersion: v1\nschedule: [{{crontab: \"0 * * * *\", {fields}}}]")
}
