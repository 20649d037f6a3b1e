//! Modules of the script: its own files, as the host gives them, and `boathook:host`.
//!
//! Never looks anywhere else: there is no file system and no network.

use std::cell::RefCell;

use rquickjs::{
    Ctx, Error, Exception, Module, Result, WriteOptions,
    loader::{ImportAttributes, Loader, Resolver},
};

use crate::{boathook::interpreter::source, host};

/// The module of native functions.
pub const HOST: &str = "boathook:host";

/// What becomes of the entry's compiled form.
enum Compiled {
    /// It is taken from the host, if that has it.
    Used,
    /// It is made, for the host to keep.
    Wanted,
    Made(Vec<u8>),
}

thread_local! {
    // A call has an instance, and with it a thread, of its own.
    static COMPILED: RefCell<Compiled> = const { RefCell::new(Compiled::Used) };
}

/// Has the entry's compiled form kept when it is loaded.
pub fn keep_compiled() {
    COMPILED.set(Compiled::Wanted);
}

/// The entry's compiled form, if it was kept.
pub fn compiled() -> Option<Vec<u8>> {
    match COMPILED.replace(Compiled::Used) {
        Compiled::Made(bytes) => Some(bytes),
        Compiled::Used | Compiled::Wanted => None,
    }
}

/// Says which file a module specifier means.
pub struct Names;

impl Resolver for Names {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        // The entry has nobody that imports it.
        if name == HOST || base.is_empty() {
            return Ok(name.to_owned());
        }
        if name.starts_with("./") || name.starts_with("../") {
            return joined(base, name).ok_or_else(|| refuse(ctx, base, name, "it leads out of the hook's files"));
        }
        let why = "a script has no packages at run time; bundle them with `boathook build`";
        Err(refuse(ctx, base, name, why))
    }
}

/// `../b.js` seen from `lib/a.js` is `b.js`.
fn joined(base: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn refuse(ctx: &Ctx<'_>, base: &str, name: &str, why: &str) -> Error {
    Exception::throw_reference(ctx, &format!("{base} cannot import {name:?}: {why}"))
}

/// Brings the files.
pub struct Files;

impl Loader for Files {
    fn load<'js>(&mut self, ctx: &Ctx<'js>, name: &str, _: Option<ImportAttributes<'js>>) -> Result<Module<'js>> {
        if name == HOST {
            return Module::declare_def::<host::Functions, _>(ctx.clone(), HOST);
        }
        if name == source::entry() { entry(ctx, name) } else { declared(ctx, name) }
    }
}

fn entry<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Module<'js>> {
    COMPILED.with_borrow_mut(|state| {
        if matches!(state, Compiled::Used)
            && let Some(bytes) = source::compiled()
        {
            // What is loaded points into it, and lives as long as the instance.
            let bytes = bytes.leak();
            // SAFETY: these are the bytes that this very component wrote in `describe`. Were they others, they
            // could harm nobody but the script itself, in its own sandbox.
            return unsafe { Module::load(ctx.clone(), bytes) };
        }
        let module = declared(ctx, name)?;
        if matches!(state, Compiled::Wanted) {
            let options = WriteOptions { strip_source: true, ..WriteOptions::default() };
            *state = Compiled::Made(module.write(options)?);
        }
        Ok(module)
    })
}

fn declared<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Module<'js>> {
    let Some(text) = source::read(name) else {
        return Err(Exception::throw_reference(ctx, &format!("the hook has no file {name:?}")));
    };
    Module::declare(ctx.clone(), name, text)
}
