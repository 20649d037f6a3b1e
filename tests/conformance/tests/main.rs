//! Plays each case on the local cluster and on a real kube-apiserver, and compares what comes back.
//! It never says itself what is right: the real server does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod case;
mod diff;
mod hooks;
mod normal;
mod play;
mod published;
mod request;
mod servers;
mod table;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::sync::RwLock;

use case::{Case, Known};
use servers::Servers;
use table::Row;

/// So many cases are under way at a time; most of a case is waiting.
const AT_ONCE: usize = 12;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(AT_ONCE));
    let known = Arc::new(case::known());
    let cases = case::all();
    case::check(&cases, &known);
    let whole = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    let runtime = tokio::runtime::Runtime::new().expect("start a runtime");
    let servers = (!arguments.list).then(|| Arc::new(runtime.block_on(Servers::start())));
    // Before the cases, which add definitions of their own.
    if whole
        && let Some(servers) = &servers
        && let Err(problem) = runtime.block_on(published::check_or_write(&servers.real.client))
    {
        eprintln!("{problem}");
        return ExitCode::FAILURE;
    }
    let rows = Arc::new(Mutex::new(Vec::new()));
    let trials = cases.into_iter().map(|case| {
        let (known, rows, servers, handle) = (known.clone(), rows.clone(), servers.clone(), runtime.handle().clone());
        Trial::test(case.id(), move || {
            let servers = servers.as_ref().expect("a list plays no case");
            let (row, verdict) = handle.block_on(one(&case, servers, &known));
            rows.lock().expect("no case panics here").push(row);
            verdict
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    let rows = std::mem::take(&mut *rows.lock().expect("no case panics here"));
    if whole && let Err(problem) = table::check_or_write(rows) {
        eprintln!("{problem}");
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// Held by each case that is under way.
static UNDER_WAY: RwLock<()> = RwLock::const_new(());

/// Plays a case, and once more if it fails: alone, since the other cases can make a server late. What differs then, fails.
async fn one(case: &Case, servers: &Servers, known: &Known) -> (Row, Result<(), Failed>) {
    let (row, verdict) = {
        let _beside_others = UNDER_WAY.read().await;
        once(case, servers, known).await
    };
    let Err(failed) = &verdict else { return (row, verdict) };
    let _alone = UNDER_WAY.write().await;
    eprintln!("{} is played again, alone. {}", case.id(), failed.message().unwrap_or_default());
    let again = Case { namespace: format!("{}-again", case.namespace), ..case.clone() };
    once(&again, servers, known).await
}

async fn once(case: &Case, servers: &Servers, known: &Known) -> (Row, Result<(), Failed>) {
    let (local, real) = futures::join!(
        play::play(case, &servers.local, &servers.hooks),
        play::play(case, &servers.real, &servers.hooks)
    );
    let differences = diff::differences(&local.steps, &real.steps, &case.ignore);
    let reason = known.get(&case.id());
    let row = Row::new(case, &local, &real, reason);
    let verdict = match (&real.broken, differences.is_empty(), reason) {
        (Some(broken), _, _) => Err(format!("the case does not work on the real server: {broken}").into()),
        (None, true, None) | (None, false, Some(_)) => Ok(()),
        (None, true, Some(_)) => Err("it no longer differs: take it out of known.yaml".into()),
        (None, false, None) => Err(format!("the local cluster differs:\n{}", differences.join("\n")).into()),
    };
    (row, verdict)
}
