//! What a script finds without importing it, beyond the language: `console`. QuickJS itself has `atob`, `btoa`,
//! `queueMicrotask` and `performance`.
//!
//! Never anything that waits or that reaches out of the sandbox.

use rquickjs::{Ctx, Function, Object, Result, Value, function::Rest};

use crate::{
    boathook::hook::log::{self, Level},
    failure,
};

/// The longest text of one value.
const MAX_SHOWN: usize = 16 * 1024;

/// Puts them there.
pub fn add(ctx: &Ctx<'_>) -> Result<()> {
    let console = Object::new(ctx.clone())?;
    console.set("debug", Function::new(ctx.clone(), debug)?)?;
    console.set("trace", Function::new(ctx.clone(), debug)?)?;
    console.set("log", Function::new(ctx.clone(), info)?)?;
    console.set("info", Function::new(ctx.clone(), info)?)?;
    console.set("warn", Function::new(ctx.clone(), warn)?)?;
    console.set("error", Function::new(ctx.clone(), error)?)?;
    ctx.globals().set("console", console)
}

fn debug<'js>(ctx: Ctx<'js>, values: Rest<Value<'js>>) {
    say(&ctx, Level::Debug, &values.0);
}

fn info<'js>(ctx: Ctx<'js>, values: Rest<Value<'js>>) {
    say(&ctx, Level::Info, &values.0);
}

fn warn<'js>(ctx: Ctx<'js>, values: Rest<Value<'js>>) {
    say(&ctx, Level::Warn, &values.0);
}

fn error<'js>(ctx: Ctx<'js>, values: Rest<Value<'js>>) {
    say(&ctx, Level::Error, &values.0);
}

fn say<'js>(ctx: &Ctx<'js>, level: Level, values: &[Value<'js>]) {
    let words: Vec<_> = values.iter().map(|value| shown(ctx, value)).collect();
    log::write(level, &words.join(" "), &[]);
}

/// A value for people: texts as they are, errors with their trace, anything else as JSON.
pub fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    let mut text = whole(ctx, value);
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push('…');
    }
    text
}

fn whole<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if let Some(text) = value.as_string() {
        return text.to_string().unwrap_or_default();
    }
    if value.is_error() {
        return failure::Failure::thrown(ctx, value).into_text();
    }
    if let Some(symbol) = value.as_symbol() {
        return format!(
            "Symbol({})",
            symbol.description().ok().and_then(|name| name.get::<String>().ok()).unwrap_or_default()
        );
    }
    // What JSON can't say is said as text; what can't even be that was asked for its own `toString`, which threw.
    let json =
        if value.is_object() && !value.is_function() { ctx.json_stringify(value.clone()).ok().flatten() } else { None };
    let text = match json {
        Some(json) => json.to_string().ok(),
        None => value.get::<rquickjs::Coerced<String>>().ok().map(|text| text.0),
    };
    text.unwrap_or_else(|| {
        ctx.catch();
        format!("[{}]", value.type_name())
    })
}
