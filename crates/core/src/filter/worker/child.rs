//! The worker process itself: compiles one program, then answers objects until its input ends.
//!
//! After its bounds are set, it opens neither files nor connections. It never outlives its parent: the main thread only
//! reads, and exits at the end of the input even while the other thread evaluates.

use std::{
    io::{self, Write as _},
    process::ExitCode,
    sync::mpsc,
    thread,
};

use super::{
    frame::{Frame, Tag, malformed},
    limits::{Limits, STACK},
};
use crate::{
    child::Bounds,
    filter::jq::{self, Compiled},
};

/// Runs the worker on the process's standard streams. Call it from a process that does nothing else.
pub fn serve(bounds: Bounds) -> ExitCode {
    match bounds.apply().and_then(|()| work()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => ExitCode::SUCCESS,
        Err(error) => {
            // The parent reads this stream when the process has ended.
            let _ = writeln!(io::stderr(), "filter worker: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let (limits, program) = Limits::from_frame(Frame::read(&mut input)?)?;
    let (program, _) = jq::compile(&program).map_err(io::Error::other)?;
    let (objects, next) = mpsc::sync_channel::<String>(1);
    thread::Builder::new().name("filter".into()).stack_size(STACK).spawn(move || {
        if let Err(error) = answer(&program, &next, limits) {
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

fn answer(program: &Compiled, objects: &mpsc::Receiver<String>, limits: Limits) -> io::Result<()> {
    let mut output = io::stdout().lock();
    Frame::text(Tag::Ready, "").write(&mut output)?;
    for object in objects {
        limits.allow_cpu()?;
        Frame::from_result(jq::run(program, &object)).write(&mut output)?;
    }
    Ok(())
}
