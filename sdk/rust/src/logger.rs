//! The `log` facade's way to the operator's log.
//!
//! Installed by the `hook!` macro before the hook's code runs; it drops nothing itself.

use crate::bindings::boathook::hook::log::Level as Wire;
use crate::host;
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
        let fields = fields(record);
        match record.args().as_str() {
            Some(text) => host::log(level, text, &fields),
            None => host::log(level, &record.args().to_string(), &fields),
        }
    }

    fn flush(&self) {}
}

#[cfg(feature = "kv")]
fn fields(record: &Record<'_>) -> Vec<(String, String)> {
    struct Fields(Vec<(String, String)>);

    impl<'kvs> log::kv::VisitSource<'kvs> for Fields {
        fn visit_pair(&mut self, key: log::kv::Key<'kvs>, value: log::kv::Value<'kvs>) -> Result<(), log::kv::Error> {
            self.0.push((key.to_string(), value.to_string()));
            Ok(())
        }
    }

    let mut fields = Fields(Vec::new());
    // A visitor that never fails leaves nothing to handle.
    let _ = record.key_values().visit(&mut fields);
    fields.0
}

#[cfg(not(feature = "kv"))]
fn fields(_: &Record<'_>) -> Vec<(String, String)> {
    Vec::new()
}
