//! `metrics`, `log`, `settings` and `values`.

use rquickjs::{Ctx, Object, Result, Value, function::Opt};

use super::{err, ok};
use crate::{
    boathook::hook::{
        log::{self, Level},
        metrics, settings, values,
    },
    convert::pairs,
};

type Labels<'js> = Opt<Option<Object<'js>>>;
type Group = Opt<Option<String>>;

/// `metricAdd(name, value, labels?, group?)`.
pub fn metric_add<'js>(
    ctx: Ctx<'js>,
    name: String,
    value: f64,
    labels: Labels<'js>,
    group: Group,
) -> Result<Object<'js>> {
    reported(&ctx, metrics::add(&name, value, &named(labels)?, group.0.flatten().as_deref()))
}

/// `metricSet(name, value, labels?, group?)`.
pub fn metric_set<'js>(
    ctx: Ctx<'js>,
    name: String,
    value: f64,
    labels: Labels<'js>,
    group: Group,
) -> Result<Object<'js>> {
    reported(&ctx, metrics::set(&name, value, &named(labels)?, group.0.flatten().as_deref()))
}

/// `metricObserve(name, value, buckets, labels?, group?)`.
pub fn metric_observe<'js>(
    ctx: Ctx<'js>,
    name: String,
    value: f64,
    buckets: Vec<f64>,
    labels: Labels<'js>,
    group: Group,
) -> Result<Object<'js>> {
    reported(&ctx, metrics::observe(&name, value, &buckets, &named(labels)?, group.0.flatten().as_deref()))
}

/// `metricExpire(group)`.
pub fn metric_expire<'js>(ctx: Ctx<'js>, group: String) -> Result<Object<'js>> {
    reported(&ctx, metrics::expire(&group))
}

fn named(labels: Labels<'_>) -> Result<Vec<(String, String)>> {
    pairs(labels.0.flatten().as_ref())
}

fn reported<'js>(ctx: &Ctx<'js>, result: std::result::Result<(), String>) -> Result<Object<'js>> {
    match result {
        Ok(()) => ok(ctx, Value::new_undefined(ctx.clone())),
        Err(message) => err(ctx, message),
    }
}

/// `log(level, message, fields?)`.
pub fn log(level: String, message: String, fields: Labels<'_>) -> Result<()> {
    let level = match level.as_str() {
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    };
    log::write(level, &message, &named(fields)?);
    Ok(())
}

/// `settings()`.
pub fn settings(ctx: Ctx<'_>) -> Result<Value<'_>> {
    ctx.json_parse(settings::get())
}

/// `moduleValues()`.
pub fn module_values(ctx: Ctx<'_>) -> Result<Object<'_>> {
    match values::get() {
        Ok(found) => {
            let both = Object::new(ctx.clone())?;
            both.set("values", ctx.json_parse(found.values)?)?;
            both.set("config", ctx.json_parse(found.config)?)?;
            ok(&ctx, both)
        }
        Err(message) => err(&ctx, message),
    }
}

/// `patchValues(operations)`.
pub fn patch_values<'js>(ctx: Ctx<'js>, operations: String) -> Result<Object<'js>> {
    reported(&ctx, values::patch(&operations))
}

/// `patchConfigValues(operations)`.
pub fn patch_config_values<'js>(ctx: Ctx<'js>, operations: String) -> Result<Object<'js>> {
    reported(&ctx, values::patch_config(&operations))
}
