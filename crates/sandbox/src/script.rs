//! A script, in the terms of its interpreter.

use std::sync::Arc;

use boathook_core::model::{
    AdmissionKind, Script, ScriptFunction, ScriptPlace, ScriptProblem, ScriptRequest, ScriptUses,
};

use super::wit::{
    functions::exports::boathook::interpreter::functions as listed,
    interpreter::exports::boathook::interpreter::script as wit, uses::exports::boathook::interpreter::uses as used,
};

/// What an interpreter reads.
#[derive(Clone)]
pub(super) struct Source {
    /// The script with its files.
    pub(super) script: Arc<Script>,
    /// What the interpreter itself compiled from the entry.
    pub(super) compiled: Option<Vec<u8>>,
}

/// What turns an interpreter into a hook.
pub(super) struct Scripted {
    pub(super) source: Arc<Source>,
    /// The document that the script's `config` returned.
    pub(super) document: String,
    pub(super) handlers: Vec<wit::Handler>,
    /// Absent if the interpreter does not report functions, for example because its scripts have no functions for
    /// single bindings.
    pub(super) functions: Option<Vec<ScriptFunction>>,
    /// The CustomResourceDefinitions that it makes of its types.
    pub(super) definitions: Vec<String>,
}

impl Scripted {
    /// Whether there is a function for such requests.
    pub(super) fn reviews(&self, kind: AdmissionKind) -> bool {
        let wanted = match kind {
            AdmissionKind::Validating => wit::Handler::Validating,
            AdmissionKind::Mutating => wit::Handler::Mutating,
        };
        self.handlers.contains(&wanted)
    }

    /// Whether there is a function that converts.
    pub(super) fn converts(&self) -> bool {
        self.handlers.contains(&wit::Handler::Conversion)
    }

    /// Whether there is a function that says what a custom resource becomes.
    pub(super) fn reconciles(&self) -> bool {
        self.handlers.contains(&wit::Handler::Reconciling)
    }

    /// Whether there is a function for objects that are being deleted.
    pub(super) fn finalizes(&self) -> bool {
        self.handlers.contains(&wit::Handler::Finalizing)
    }

    /// Whether the script answers this export of the interpreter.
    pub(super) fn exports(&self, export: &str) -> bool {
        let named = |interface: &str| export.starts_with(&format!("boathook:hook/{interface}@"));
        match export {
            "config" | "run" => true,
            _ if named("validating") => self.reviews(AdmissionKind::Validating),
            _ if named("mutating") => self.reviews(AdmissionKind::Mutating),
            _ if named("conversion") => self.converts(),
            _ if named("reconciling") => self.reconciles(),
            _ => named("finalizing") && self.finalizes(),
        }
    }
}

/// Converts a function to the type of `model`.
pub(super) fn function(function: listed::Function) -> ScriptFunction {
    let listed::Function { purpose, name } = function;
    match purpose {
        listed::Purpose::Run => ScriptFunction::Run,
        listed::Purpose::Startup => ScriptFunction::Startup,
        listed::Purpose::Event => ScriptFunction::Event(name),
        listed::Purpose::Synchronization => ScriptFunction::Synchronization(name),
        listed::Purpose::Schedule => ScriptFunction::Schedule(name),
        listed::Purpose::Group => ScriptFunction::Group(name),
        listed::Purpose::Validating => ScriptFunction::Validating(name),
        listed::Purpose::Mutating => ScriptFunction::Mutating(name),
        listed::Purpose::Conversion => ScriptFunction::Conversion(name),
        listed::Purpose::Reconciling => ScriptFunction::Reconcile(name),
        listed::Purpose::Finalizing => ScriptFunction::Finalize(name),
    }
}

/// Converts what a script uses to the type of `model`.
pub(super) fn uses(listing: used::Listing) -> ScriptUses {
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let at = |file, line| ScriptPlace { file, line: Some(line).filter(|line| *line > 0) };
    let request = |one: used::Request| ScriptRequest {
        at: at(one.file, one.line),
        command: one.command,
        verb: one.verb,
        group: one.group,
        resource: one.resource,
        namespace: some(one.namespace),
        name: some(one.name),
        unknown: one.unknown,
    };
    let problem =
        |one: used::Problem| ScriptProblem { at: at(one.file, one.line), text: one.text, refused: one.refused };
    ScriptUses {
        requests: listing.requests.into_iter().map(request).collect(),
        problems: listing.problems.into_iter().map(problem).collect(),
    }
}
