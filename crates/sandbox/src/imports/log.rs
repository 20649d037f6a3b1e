//! `log`: the lines that a hook writes on purpose. `output.rs` limits and writes them.

use tracing::Level;

use crate::{bindings::boathook::hook::log, store::State};

impl log::Host for State {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) -> wasmtime::Result<()> {
        let bytes: usize = fields.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.spend(message.len() + bytes)?;
        let level = match level {
            log::Level::Debug => Level::DEBUG,
            log::Level::Info => Level::INFO,
            log::Level::Warn => Level::WARN,
            log::Level::Error => Level::ERROR,
        };
        self.log.line(level, &message, &json(fields));
        Ok(())
    }
}

/// The fields as a JSON object, or empty if there are none. Of equal keys, the last one counts.
fn json(fields: Vec<(String, String)>) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let object: serde_json::Map<_, _> = fields.into_iter().map(|(key, value)| (key, value.into())).collect();
    serde_json::Value::Object(object).to_string()
}
