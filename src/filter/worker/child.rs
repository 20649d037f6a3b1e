//! The worker process itself: compiles one program, then answers objects until its input ends.
//!
//! Never opens a file or a connection, and never outlives its parent: the main thread only reads,
//! and exits at the end of the input even while the other thread evaluates.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    sync::mpsc,
    thread,
    time::Instant,
};

use super::{
    frame::{Frame, Tag, malformed},
    limits::{Limits, STACK},
};
use crate::filter::jq::{self, Compiled};

/// Runs the worker on the process's standard streams. Call it from a process that does nothing else.
pub fn serve() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => ExitCode::SUCCESS,
        Err(error) => {
            // The host reads the end of this stream.
            let _ = writeln!(io::stderr(), "filter worker: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> io::Result<()> {
    let started = Instant::now();
    let mut input = io::stdin().lock();
    let (limits, program) = Limits::from_frame(Frame::read(&mut input)?)?;
    let (program, _) = jq::compile(&program).map_err(io::Error::other)?;
    limits.apply()?;
    die_first();
    let (objects, next) = mpsc::sync_channel::<String>(1);
    thread::Builder::new().name("filter".into()).stack_size(STACK).spawn(move || {
        if let Err(error) = answer(&program, &next, limits, started) {
            let _ = writeln!(io::stderr(), "filter worker: {error}");
            std::process::exit(1);
        }
    })?;
    loop {
        let frame = Frame::read(&mut input)?;
        if frame.tag != Tag::Object {
            return Err(malformed("something else than an object"));
        }
        if objects.send(frame.into_text()?).is_err() {
            return Err(io::Error::other("the evaluating thread ended"));
        }
    }
}

fn answer(program: &Compiled, objects: &mpsc::Receiver<String>, limits: Limits, started: Instant) -> io::Result<()> {
    let mut output = io::stdout().lock();
    Frame::text(Tag::Ready, "").write(&mut output)?;
    for object in objects {
        limits.allow_cpu(started)?;
        Frame::from_result(jq::run(program, &object)).write(&mut output)?;
    }
    Ok(())
}

/// When the machine or the container runs out of memory, the kernel should take this process, not
/// its parent. Where that can't be said, nothing is lost.
fn die_first() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}
