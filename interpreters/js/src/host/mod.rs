//! The module `boathook:host`: the host's functions as they are, for the SDK to make pleasant ones of. Requests of `fetch`
//! are in no module.
//!
//! What can be refused answers `{ok}` or `{err}`: errors are thrown by the SDK, where a trace shows the caller.

pub mod http;
mod kube;
mod rest;
mod snapshots;

use rquickjs::{
    Ctx, Function, IntoJs, Object, Result, Value,
    module::{Declarations, Exports, ModuleDef},
};

/// Its functions.
pub struct Functions;

const NAMES: [&str; 18] = [
    "get",
    "list",
    "write",
    "batch",
    "emitEvent",
    "openSnapshot",
    "snapshotLen",
    "snapshotNext",
    "snapshotGet",
    "metricAdd",
    "metricSet",
    "metricObserve",
    "metricExpire",
    "log",
    "settings",
    "moduleValues",
    "patchValues",
    "patchConfigValues",
];

impl ModuleDef for Functions {
    fn declare(decl: &Declarations<'_>) -> Result<()> {
        NAMES.iter().try_for_each(|name| decl.declare(*name).map(drop))
    }

    fn evaluate<'js>(ctx: &Ctx<'js>, exports: &Exports<'js>) -> Result<()> {
        let ctx = || ctx.clone();
        exports.export("get", Function::new(ctx(), kube::get)?)?;
        exports.export("list", Function::new(ctx(), kube::list)?)?;
        exports.export("write", Function::new(ctx(), kube::write)?)?;
        exports.export("batch", Function::new(ctx(), kube::batch)?)?;
        exports.export("emitEvent", Function::new(ctx(), kube::emit_event)?)?;
        exports.export("openSnapshot", Function::new(ctx(), snapshots::open)?)?;
        exports.export("snapshotLen", Function::new(ctx(), snapshots::len)?)?;
        exports.export("snapshotNext", Function::new(ctx(), snapshots::next)?)?;
        exports.export("snapshotGet", Function::new(ctx(), snapshots::get)?)?;
        exports.export("metricAdd", Function::new(ctx(), rest::metric_add)?)?;
        exports.export("metricSet", Function::new(ctx(), rest::metric_set)?)?;
        exports.export("metricObserve", Function::new(ctx(), rest::metric_observe)?)?;
        exports.export("metricExpire", Function::new(ctx(), rest::metric_expire)?)?;
        exports.export("log", Function::new(ctx(), rest::log)?)?;
        exports.export("settings", Function::new(ctx(), rest::settings)?)?;
        exports.export("moduleValues", Function::new(ctx(), rest::module_values)?)?;
        exports.export("patchValues", Function::new(ctx(), rest::patch_values)?)?;
        exports.export("patchConfigValues", Function::new(ctx(), rest::patch_config_values)?)?;
        Ok(())
    }
}

/// `{ok: value}`.
fn ok<'js>(ctx: &Ctx<'js>, value: impl IntoJs<'js>) -> Result<Object<'js>> {
    answer(ctx, "ok", value)
}

/// `{err: value}`.
fn err<'js>(ctx: &Ctx<'js>, value: impl IntoJs<'js>) -> Result<Object<'js>> {
    answer(ctx, "err", value)
}

fn answer<'js>(ctx: &Ctx<'js>, key: &str, value: impl IntoJs<'js>) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set(key, value)?;
    Ok(object)
}

/// JSON of the host as a value.
fn parsed<'js>(ctx: &Ctx<'js>, text: Option<String>) -> Result<Value<'js>> {
    match text {
        Some(text) => ctx.json_parse(text),
        None => Ok(Value::new_undefined(ctx.clone())),
    }
}
