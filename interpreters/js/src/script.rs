//! A script that is loaded, and its functions.
//!
//! Never decides what a failure means: `failure.rs` reads that from what was thrown.

use std::{cell::RefCell, mem};

use rquickjs::{
    Array, CatchResultExt as _, Ctx, Function, Module, Object, Promise, Value, function::Args, promise::PromiseState,
};

use crate::{
    answers,
    boathook::{
        hook::{reconciliation::Parent, types},
        interpreter::source,
    },
    context,
    engine::Engine,
    exports::boathook::{
        hook::{finalizing, mutating, reconciling, validating},
        interpreter::script::Handler,
    },
    failure::Failure,
    globals,
    host::http,
};

type Outcome<T> = Result<T, Failure>;

/// The functions that a script exports.
pub struct Script<'js> {
    ctx: Ctx<'js>,
    exports: Object<'js>,
}

/// Loads the script and works with it.
pub fn with_script<T>(work: impl FnOnce(&Script<'_>) -> Outcome<T>) -> Outcome<T> {
    let engine = Engine::taken().map_err(|error| Failure::ours(&error))?;
    let outcome = engine.context.with(|ctx| {
        globals::start(&ctx);
        work(&Script::load(ctx)?)
    });
    // The instance ends here: to free everything first would only take time.
    mem::forget(engine);
    outcome
}

thread_local! {
    static REJECTED: RefCell<Vec<(usize, Failure)>> = const { RefCell::new(Vec::new()) };
}

/// Remembers promises that failed with nobody waiting for them.
pub fn note_rejection<'js>(ctx: Ctx<'js>, promise: Value<'js>, reason: Value<'js>, handled: bool) {
    // The same promise, as long as it lives; and what was rejected is not collected within a run.
    // SAFETY: it only reads the address out of the value.
    let id = unsafe { rquickjs::qjs::JS_VALUE_GET_PTR(promise.as_raw()) } as usize;
    REJECTED.with_borrow_mut(|rejected| {
        if handled {
            rejected.retain(|(other, _)| *other != id);
        } else {
            rejected.push((id, Failure::thrown(&ctx, &reason)));
        }
    });
}

impl<'js> Script<'js> {
    fn load(ctx: Ctx<'js>) -> Outcome<Self> {
        let entry = source::entry();
        let imported = Module::import(&ctx, entry.as_str()).catch(&ctx).map_err(|error| Failure::caught(&ctx, error));
        let namespace: Object<'js> = settled(&ctx, imported?.into_value())?
            .into_object()
            .ok_or_else(|| Failure::permanent(format!("{entry} is no module")))?;
        let exports: Value<'js> = namespace.get("default").map_err(|error| Failure::ours(&error))?;
        let Some(exports) = exports.into_object() else {
            return Err(Failure::permanent(format!(
                "{entry} has no default export: write `export default hook({{ config, run }})`"
            )));
        };
        let script = Self { ctx, exports };
        if script.function("run").is_none() && script.handlers().is_empty() {
            return Err(Failure::permanent(format!(
                "the default export of {entry} has none of the functions run, validate, mutate, convert, reconcile and finalize"
            )));
        }
        Ok(script)
    }

    /// The configuration document: `config` itself, or what it returns; what is no text, as JSON.
    pub fn document(&self) -> Outcome<String> {
        let config: Value<'js> = self.js(self.exports.get("config"))?;
        let config = match config.clone().into_function() {
            Some(function) => settled(&self.ctx, self.js(function.call(()))?)?,
            None => config,
        };
        if let Some(text) = config.as_string() {
            return self.js(text.to_string());
        }
        let json = if config.is_object() { self.js(self.ctx.json_stringify(config))? } else { None };
        match json {
            Some(text) => self.js(text.to_string()),
            None => Err(Failure::permanent("config gives neither an object nor a text".to_owned())),
        }
    }

    /// What there are functions for.
    pub fn handlers(&self) -> Vec<Handler> {
        const NAMES: [(&str, Handler); 5] = [
            ("validate", Handler::Validating),
            ("mutate", Handler::Mutating),
            ("convert", Handler::Conversion),
            ("reconcile", Handler::Reconciling),
            ("finalize", Handler::Finalizing),
        ];
        NAMES.into_iter().filter_map(|(name, handler)| self.function(name).map(|_| handler)).collect()
    }

    /// `run(info, contexts)`.
    pub fn run(&self, info: &types::RunInfo, contexts: &[types::BindingContext]) -> Outcome<()> {
        let info = self.js(context::info(&self.ctx, info))?;
        let contexts = self.js(context::contexts(&self.ctx, contexts))?;
        self.call("run", [info.into_value(), contexts.into_value()]).map(drop)
    }

    /// `validate(info, binding, request)`.
    pub fn validate(&self, info: &types::RunInfo, binding: &str, request: &str) -> Outcome<validating::Verdict> {
        let answer = self.ask("validate", info, binding, request)?;
        self.js(answers::verdict(&answer))
    }

    /// `mutate(info, binding, request)`.
    pub fn mutate(
        &self,
        info: &types::RunInfo,
        binding: &str,
        request: &str,
    ) -> Outcome<(mutating::Verdict, mutating::Mutation)> {
        let answer = self.ask("mutate", info, binding, request)?;
        Ok((self.js(answers::verdict(&answer))?, self.js(answers::mutation(&self.ctx, &answer))?))
    }

    /// `convert(binding, from, to, objects)`.
    pub fn convert(&self, binding: &str, from: &str, to: &str, objects: Vec<String>) -> Outcome<Vec<String>> {
        let given = self.js(Array::new(self.ctx.clone()))?;
        for (index, object) in objects.into_iter().enumerate() {
            let object = self.js(self.ctx.json_parse(object))?;
            self.js(given.set(index, object))?;
        }
        let text = |text: &str| self.js(rquickjs::String::from_str(self.ctx.clone(), text)).map(|s| s.into_value());
        let arguments = [text(binding)?, text(from)?, text(to)?, given.into_value()];
        let answer = self.call("convert", arguments)?;
        self.js(answers::objects(&self.ctx, answer))
    }

    /// `reconcile(info, binding, parent)`.
    pub fn reconcile(&self, info: &types::RunInfo, binding: &str, parent: Parent) -> Outcome<reconciling::Desired> {
        let answer = self.about("reconcile", info, binding, parent)?;
        // A retry would return the same.
        self.js(answers::desired(answer)).map_err(Failure::without_retry)
    }

    /// `finalize(info, binding, parent)`.
    pub fn finalize(&self, info: &types::RunInfo, binding: &str, parent: Parent) -> Outcome<finalizing::Finalized> {
        let answer = self.about("finalize", info, binding, parent)?;
        self.js(answers::finalized(answer)).map_err(Failure::without_retry)
    }

    fn about(&self, name: &str, info: &types::RunInfo, binding: &str, parent: Parent) -> Outcome<Value<'js>> {
        let info = self.js(context::info(&self.ctx, info))?.into_value();
        let binding = self.js(rquickjs::String::from_str(self.ctx.clone(), binding))?.into_value();
        let parent = self.js(context::parent(&self.ctx, parent))?.into_value();
        self.call(name, [info, binding, parent])
    }

    fn ask(&self, name: &str, info: &types::RunInfo, binding: &str, request: &str) -> Outcome<Object<'js>> {
        let info = self.js(context::info(&self.ctx, info))?.into_value();
        let binding = self.js(rquickjs::String::from_str(self.ctx.clone(), binding))?.into_value();
        let request = self.js(self.ctx.json_parse(request))?;
        let answer = self.call(name, [info, binding, request])?;
        answer.into_object().ok_or_else(|| Failure::permanent(format!("{name} returned no verdict")))
    }

    /// Calls a function, and waits for its promise if it gives one.
    fn call<const N: usize>(&self, name: &str, arguments: [Value<'js>; N]) -> Outcome<Value<'js>> {
        let Some(function) = self.function(name) else {
            return Err(Failure::permanent(format!("the script has no function {name}")));
        };
        let mut args = Args::new(self.ctx.clone(), N);
        self.js(args.this(self.exports.clone()))?;
        self.js(args.push_args(arguments))?;
        let answer = settled(&self.ctx, self.js(function.call_arg(args))?)?;
        match REJECTED.with_borrow_mut(|rejected| rejected.pop()) {
            None => Ok(answer),
            Some((_, failure)) => Err(failure.in_the_background()),
        }
    }

    fn function(&self, name: &str) -> Option<Function<'js>> {
        self.exports.get::<_, Value<'js>>(name).ok()?.into_function()
    }

    fn js<T>(&self, result: rquickjs::Result<T>) -> Outcome<T> {
        result.catch(&self.ctx).map_err(|error| Failure::caught(&self.ctx, error))
    }
}

/// What a promise is resolved with; other values are themselves. Does all work that waits, and sends the requests of
/// `fetch` when there is no other.
fn settled<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Outcome<Value<'js>> {
    loop {
        while ctx.execute_pending_job() {}
        if !http::send_waiting(ctx).catch(ctx).map_err(|error| Failure::caught(ctx, error))? {
            break;
        }
    }
    let Some(promise) = value.clone().into_promise() else { return Ok(value) };
    outcome(ctx, &promise)
}

fn outcome<'js>(ctx: &Ctx<'js>, promise: &Promise<'js>) -> Outcome<Value<'js>> {
    if promise.state() == PromiseState::Pending {
        return Err(Failure::permanent(
            "the script waits for a promise that nothing can resolve: there are no timers".to_owned(),
        ));
    }
    match promise.result::<Value<'js>>() {
        Some(result) => result.catch(ctx).map_err(|error| Failure::caught(ctx, error)),
        None => Err(Failure::permanent("a promise gave nothing".to_owned())),
    }
}
