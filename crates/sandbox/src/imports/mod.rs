//! What a hook can request from the host, with one file for each larger interface. Each call is taken from the run's
//! budget, and [`Host`](super::host::Host) answers it.

mod convert;
mod http;
mod kube;
mod metrics;
mod snapshots;

use std::sync::Arc;

use boathook_core::model::{AccessQuestion, FieldValidation, Limit, Resource, ValuesPatch, WriteOptions};
use tracing::Level;

use crate::{
    script::Source,
    store::State,
    wit::{
        boathook::hook::{log, settings, types},
        interpreter::boathook::interpreter::{kinds, rights, source, values, writes},
        values::boathook::hook::values as of_module,
    },
};

impl types::Host for State {}

impl State {
    /// Takes a call of a function that has no error. If the budget does not cover it, the run ends.
    fn spend(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.budget.take(1, bytes)?;
        self.begin_call(bytes)
    }

    /// Takes the bytes of an answer to such a call.
    fn spend_answer(&mut self, bytes: usize) -> wasmtime::Result<()> {
        self.budget.take_bytes(bytes)?;
        self.room.copy(bytes).map_err(|refused| refused.error(Limit::HostBytes))
    }

    /// Notes that what the last call copied is gone, and that this call has copied this much.
    pub(super) fn begin_call(&self, bytes: usize) -> wasmtime::Result<()> {
        self.room.begin_call(bytes).map_err(|refused| refused.error(Limit::HostBytes))
    }
}

fn len(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

impl settings::Host for State {
    fn get(&mut self) -> wasmtime::Result<String> {
        let settings = self.caller.settings.clone();
        self.spend(settings.len())?;
        Ok(settings.to_string())
    }
}

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

/// These calls are not counted as host calls. A script needs them before it does anything. It may repeat them as often
/// as it likes, because the guest's own memory and time limit them.
impl source::Host for State {
    fn entry(&mut self) -> wasmtime::Result<String> {
        Ok(self.script()?.script.entry.clone())
    }

    fn files(&mut self) -> wasmtime::Result<Vec<String>> {
        let source = self.script()?.clone();
        let paths: Vec<_> = source.script.files.iter().map(|file| file.path.clone()).collect();
        self.begin_call(paths.iter().map(|path| path.len() + size_of::<String>()).sum())?;
        Ok(paths)
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

impl kinds::Host for State {
    async fn resolve(
        &mut self,
        name: String,
        api_version: Option<String>,
    ) -> wasmtime::Result<Result<kinds::Kind, String>> {
        self.spend(name.len() + len(api_version.as_ref()))?;
        self.waiting_in = Some("kinds.resolve");
        let found = self.host.resolve(&self.caller, name, api_version).await;
        self.waiting_in = None;
        let found = found.map_err(|error| error.message).map(kind);
        self.spend_answer(found.as_ref().map_or_else(String::len, kind_bytes))?;
        Ok(found)
    }

    async fn all(&mut self) -> wasmtime::Result<Result<kinds::Listing, String>> {
        self.spend(0)?;
        self.waiting_in = Some("kinds.all");
        let found = self.host.kinds(&self.caller).await;
        self.waiting_in = None;
        let found = found.map_err(|error| error.message).map(|listing| kinds::Listing {
            kinds: listing
                .kinds
                .into_iter()
                .map(|one| kinds::Listed {
                    kind: kind(one.resource),
                    short_names: one.short_names,
                    verbs: one.verbs,
                    categories: one.categories,
                })
                .collect(),
            silent: listing.silent,
        });
        self.spend_answer(found.as_ref().map_or_else(String::len, listing_bytes))?;
        Ok(found)
    }
}

fn kind(resource: Resource) -> kinds::Kind {
    kinds::Kind {
        api_version: resource.api_version(),
        kind: resource.kind,
        plural: resource.plural,
        namespaced: resource.namespaced,
    }
}

fn kind_bytes(kind: &kinds::Kind) -> usize {
    kind.api_version.len() + kind.kind.len() + kind.plural.len()
}

fn listing_bytes(listing: &kinds::Listing) -> usize {
    let texts = |texts: &[String]| texts.iter().map(|text| text.len() + size_of::<String>()).sum::<usize>();
    let of = |one: &kinds::Listed| {
        size_of::<kinds::Listed>()
            + kind_bytes(&one.kind)
            + texts(&one.short_names)
            + texts(&one.verbs)
            + texts(&one.categories)
    };
    listing.kinds.iter().map(of).sum::<usize>() + texts(&listing.silent)
}

/// This call is not counted as a host call, because it asks for nothing.
impl writes::Host for State {
    fn set_options(&mut self, options: writes::Options) -> wasmtime::Result<()> {
        self.writes = WriteOptions {
            dry_run: options.dry_run,
            field_validation: options.validation.map(|validation| match validation {
                writes::Validation::Strict => FieldValidation::Strict,
                writes::Validation::Ignore => FieldValidation::Ignore,
            }),
            grace_period: options.grace_period,
        };
        Ok(())
    }
}

impl rights::Host for State {
    async fn allowed(
        &mut self,
        verb: String,
        group: String,
        resource: String,
        namespace: String,
        name: String,
    ) -> wasmtime::Result<Result<bool, String>> {
        self.spend([&verb, &group, &resource, &namespace, &name].into_iter().map(String::len).sum())?;
        self.waiting_in = Some("rights.allowed");
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let question = AccessQuestion { verb, group, resource, namespace: given(namespace), name: given(name) };
        let answer = self.host.allowed(&self.caller, question).await;
        self.waiting_in = None;
        let answer = answer.map_err(|error| error.message);
        self.spend_answer(answer.as_ref().err().map_or(0, String::len))?;
        Ok(answer)
    }
}

impl values::Host for State {
    fn get(&mut self) -> wasmtime::Result<Option<values::ModuleValues>> {
        // Every script asks, and most belong to no module.
        let Some(known) = self.caller.values.clone() else { return Ok(None) };
        self.spend(known.values.len() + known.config.len())?;
        Ok(Some(values::ModuleValues { values: known.values.to_string(), config: known.config.to_string() }))
    }

    fn patch(&mut self, operations: String) -> wasmtime::Result<Result<(), String>> {
        self.keep_patch(operations, |patch| &mut patch.values)
    }

    fn patch_config(&mut self, operations: String) -> wasmtime::Result<Result<(), String>> {
        self.keep_patch(operations, |patch| &mut patch.config)
    }
}

/// The same for components, whose authors asked for it.
impl of_module::Host for State {
    fn get(&mut self) -> wasmtime::Result<Result<of_module::ModuleValues, String>> {
        let known = self.caller.values.clone();
        self.spend(known.as_ref().map_or(0, |known| known.values.len() + known.config.len()))?;
        Ok(known.ok_or_else(|| NO_MODULE.to_owned()).map(|known| of_module::ModuleValues {
            values: known.values.to_string(),
            config: known.config.to_string(),
        }))
    }

    fn patch(&mut self, operations: String) -> wasmtime::Result<Result<(), String>> {
        self.keep_patch(operations, |patch| &mut patch.values)
    }

    fn patch_config(&mut self, operations: String) -> wasmtime::Result<Result<(), String>> {
        self.keep_patch(operations, |patch| &mut patch.config)
    }
}

/// Why there are no values.
const NO_MODULE: &str =
    "the hook belongs to no module, so it has no values: put it into the `hooks` folder of a module";
/// Why values cannot be changed.
const READ_ONLY: &str = "values cannot be changed here: reviews, conversions and reconcile only read them; change them in a run, for \
                         example at a stage, on a schedule or on an event";

impl State {
    /// Keeps a patch until the run has succeeded. What it says is checked then.
    fn keep_patch(
        &mut self,
        operations: String,
        of: impl FnOnce(&mut ValuesPatch) -> &mut Vec<String>,
    ) -> wasmtime::Result<Result<(), String>> {
        self.spend(operations.len())?;
        match &self.caller.values {
            None => return Ok(Err(NO_MODULE.to_owned())),
            Some(values) if !values.changeable => return Ok(Err(READ_ONLY.to_owned())),
            Some(_) => {}
        }
        self.room.keep(operations.len()).map_err(|refused| refused.error(Limit::HostBytes))?;
        of(&mut self.patch).push(operations);
        Ok(Ok(()))
    }

    fn script(&self) -> wasmtime::Result<&Arc<Source>> {
        self.source.as_ref().ok_or_else(|| wasmtime::Error::msg("there is no script to interpret"))
    }
}
