//! The `log` facade's way to the operator's log.
//!
//! Installed by the `hook!` macro before the hook's code runs; it drops nothing itself.

use crate::bindings::boathook::hook::log::Level as Wire;
use crate::host;
use log::kv::{Error, Key, Value, VisitSource};
use log::{Level, LevelFilter, Log, Metadata, Record};

struct Logger;

/// Makes `log::info!` and its siblings reach the host, from `debug` upwards.
pub(crate) fn install() {
    // An error means that the hook brought a logger of its own: that one stays.
    if log::set_logger(&Logger).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

impl Log for Logger {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        let level = match record.level() {
            Level::Error => Wire::Error,
            Level::Warn => Wire::Warn,
            Level::Info => Wire::Info,
            Level::Debug | Level::Trace => Wire::Debug,
        };
        let mut fields = Fields(Vec::new());
        // A visitor that never fails leaves nothing to handle.
        let _ = record.key_values().visit(&mut fields);
        match record.args().as_str() {
            Some(text) => host::log(level, text, &fields.0),
            None => host::log(level, &record.args().to_string(), &fields.0),
        }
    }

    fn flush(&self) {}
}

struct Fields(Vec<(String, String)>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: Key<'kvs>, value: Value<'kvs>) -> Result<(), Error> {
        self.0.push((key.to_string(), value.to_string()));
        Ok(())
    }
}
