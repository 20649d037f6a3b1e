//! The JavaScript interpreter that script hooks share: the hook's exports, answered by the functions of a
//! script that the host hands over.
//!
//! Knows nothing of Kubernetes. Each call comes to a fresh instance: nothing is kept from one to the next.

mod answers;
mod context;
mod convert;
mod engine;
mod failure;
mod files;
mod globals;
mod host;
mod script;
mod source_map;

wit_bindgen::generate!({
    path: ["../../wit", "../wit"],
    world: "boathook:interpreter/interpreter",
    generate_all,
});

use boathook::hook::{reconciliation, types};
use exports::boathook::{
    hook::{conversion, finalizing, mutating, reconciling, validating},
    interpreter::script as description,
};
use script::with_script;

struct Interpreter;

impl Guest for Interpreter {
    fn config() -> String {
        // The host asks `describe` instead, which can say what is wrong.
        match with_script(|script| script.document()) {
            Ok(document) => document,
            Err(failure) => panic!("{}", failure.text()),
        }
    }

    fn run(info: types::RunInfo, contexts: Vec<types::BindingContext>) -> Result<(), types::Failure> {
        with_script(|script| script.run(&info, &contexts)).map_err(failure::Failure::into_wire)
    }
}

impl description::Guest for Interpreter {
    fn describe() -> Result<description::Description, String> {
        files::keep_compiled();
        let described = with_script(|script| Ok((script.document()?, script.handlers())));
        let (document, handlers) = described.map_err(failure::Failure::into_text)?;
        Ok(description::Description { document, handlers, compiled: files::compiled() })
    }
}

impl validating::Guest for Interpreter {
    fn validate(info: types::RunInfo, binding: String, request: String) -> Result<validating::Verdict, types::Failure> {
        with_script(|script| script.validate(&info, &binding, &request)).map_err(failure::Failure::into_wire)
    }
}

impl mutating::Guest for Interpreter {
    fn mutate(
        info: types::RunInfo,
        binding: String,
        request: String,
    ) -> Result<(mutating::Verdict, mutating::Mutation), types::Failure> {
        with_script(|script| script.mutate(&info, &binding, &request)).map_err(failure::Failure::into_wire)
    }
}

impl conversion::Guest for Interpreter {
    fn convert(
        binding: String,
        from_version: String,
        to_version: String,
        objects: Vec<String>,
    ) -> Result<Vec<String>, String> {
        with_script(|script| script.convert(&binding, &from_version, &to_version, objects))
            .map_err(failure::Failure::into_text)
    }
}

impl reconciling::Guest for Interpreter {
    fn reconcile(
        info: types::RunInfo,
        binding: String,
        parent: reconciliation::Parent,
    ) -> Result<reconciling::Desired, types::Failure> {
        with_script(|script| script.reconcile(&info, &binding, parent)).map_err(failure::Failure::into_wire)
    }
}

impl finalizing::Guest for Interpreter {
    fn finalize(
        info: types::RunInfo,
        binding: String,
        parent: reconciliation::Parent,
    ) -> Result<finalizing::Finalized, types::Failure> {
        with_script(|script| script.finalize(&info, &binding, parent)).map_err(failure::Failure::into_wire)
    }
}

export!(Interpreter);
