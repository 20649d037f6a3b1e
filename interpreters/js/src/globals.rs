//! What a script finds without importing it, beyond the language and `fetch`: `console`. QuickJS itself has `atob`, `btoa`,
//! `queueMicrotask` and `performance`. What is to differ from run to run starts with the run.
//!
//! Never anything that waits or that reaches out of the sandbox.

use std::{cell::Cell, time::SystemTime};

use rquickjs::{Ctx, Function, Object, Result, Value, function::Rest, object::Property};

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
    ctx.globals().set("console", console)?;
    let math: Object<'_> = ctx.globals().get("Math")?;
    math.prop(
        "random",
        Property::from(Function::new(ctx.clone(), random)?.with_name("random")?).writable().configurable(),
    )
}

/// Lets the time of `performance` begin.
pub fn start(ctx: &Ctx<'_>) {
    // SAFETY: the context exists; the call creates a new object `performance`.
    unsafe { rquickjs::qjs::JS_AddPerformance(ctx.as_raw().as_ptr()) };
}

thread_local! {
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// `Math.random`, in the place of QuickJS's own, whose seed is as old as the interpreter. The first number of a run is
/// made of the time, as there.
fn random() -> f64 {
    let before = match RANDOM.get() {
        0 => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64),
        some => some,
    };
    let state = before.wrapping_add(0x9e37_79b9_7f4a_7c15);
    RANDOM.set(state);
    // SplitMix64; 53 bits are what a double has below 1.
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
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
    // What JSON cannot say is said as text; what cannot even be that was asked for its own `toString`, which threw.
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
