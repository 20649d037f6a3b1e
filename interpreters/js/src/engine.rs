//! QuickJS before it has a script. It is made once, when the interpreter is built: an instance begins with it.
//!
//! Never holds anything of a run, nor anything that is to differ from run to run.

use std::cell::Cell;

use rquickjs::{Context, Result, Runtime};

use crate::{files, globals, host::http, script};

/// Bytes of the interpreter's own stack, of the 1 MiB that it has: a script that recurses too deeply gets a
/// RangeError with a trace.
const STACK: usize = 256 * 1024;
/// Garbage goes with the instance. What is over the hook's memory ends the run either way.
const GARBAGE: usize = 16 * 1024 * 1024;

thread_local! {
    static MADE: Cell<Option<Engine>> = const { Cell::new(None) };
}

/// A context that scripts are loaded in.
pub struct Engine {
    /// The context, with everything that scripts find in it.
    pub context: Context,
    _runtime: Runtime,
}

impl Engine {
    fn new() -> Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_loader(files::Names, files::Files);
        runtime.set_max_stack_size(STACK);
        runtime.set_gc_threshold(GARBAGE);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(script::note_rejection)));
        let context = Context::full(&runtime)?;
        context.with(|ctx| globals::add(&ctx).and_then(|()| http::add(&ctx)))?;
        Ok(Self { context, _runtime: runtime })
    }

    /// The one that this instance began with.
    pub fn taken() -> Result<Self> {
        MADE.take().map_or_else(Self::new, Ok)
    }
}

/// What the build runs, before it writes the instance's memory into the interpreter.
#[unsafe(export_name = "start-once")]
extern "C" fn start_once() {
    // Without it the build ends.
    MADE.set(Some(Engine::new().expect("QuickJS starts")));
}
