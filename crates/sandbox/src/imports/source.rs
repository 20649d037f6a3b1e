//! `source`: the files of the script that runs, for its interpreter. The files of other scripts cannot be reached from
//! here.

use std::sync::Arc;

use crate::{bindings::interpreter::boathook::interpreter::source, script::Source, store::State};

/// These calls are not counted as host calls. A script needs them before it does anything. It may repeat them as often
/// as it likes, because the guest's own memory and time limit them.
impl source::Host for State {
    fn entry(&mut self) -> wasmtime::Result<String> {
        Ok(self.script()?.script.entry.clone())
    }

    fn read(&mut self, path: String) -> wasmtime::Result<Option<Vec<u8>>> {
        let source = self.script()?.clone();
        let file = source.script.file(&path);
        self.begin_call(file.map_or(0, <[u8]>::len))?;
        Ok(file.map(<[u8]>::to_vec))
    }

    fn compiled(&mut self) -> wasmtime::Result<Option<Vec<u8>>> {
        self.begin_call(self.script()?.compiled.as_ref().map_or(0, Vec::len))?;
        Ok(self.script()?.compiled.clone())
    }
}

impl State {
    fn script(&self) -> wasmtime::Result<&Arc<Source>> {
        self.source.as_ref().ok_or_else(|| wasmtime::Error::msg("there is no script to interpret"))
    }
}
