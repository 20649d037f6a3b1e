//! What the `hook!` macro expands to: the exported functions of a component.
//!
//! Not for use by hand; no promise of stability is made for it.

use crate::bindings::boathook::hook::types as wire;
use crate::config::IntoConfig;
use crate::context::Context;
use crate::error::Result;
use crate::logger;

pub mod bindings;

pub use bindings::Guest;
pub use bindings::boathook::hook::types::{BindingContext, Failure, RunInfo};
pub use bindings::export_hook;

/// The type of the export `run`.
pub type Run = fn(RunInfo, Vec<BindingContext>) -> std::result::Result<(), Failure>;

/// The export `config`.
pub fn config<C: IntoConfig>(config: fn() -> C) -> String {
    logger::install();
    config().into_config()
}

/// The export `run`.
pub fn run(
    run: fn(Context) -> Result<()>,
    info: wire::RunInfo,
    contexts: Vec<wire::BindingContext>,
) -> std::result::Result<(), wire::Failure> {
    logger::install();
    run(Context::from_wire(info, contexts)).map_err(crate::error::Error::into_wire)
}

/// What comes before the hook's code runs.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn prepare() {
    logger::install();
}

/// Makes a component of two functions: `config`, which returns a [`Config`](crate::Config) or a
/// text, and `run`, which takes a [`Context`](crate::Context) and returns a
/// [`Result<()>`](crate::Result).
///
/// In a native build it only checks their types; the module `testing` runs them.
#[macro_export]
macro_rules! hook {
    ($config:path, $run:path $(,)?) => {
        const _: () = {
            struct Hook;

            impl $crate::entry::Guest for Hook {
                fn config() -> ::std::string::String {
                    $crate::entry::config($config)
                }

                fn run(
                    info: $crate::entry::RunInfo,
                    contexts: ::std::vec::Vec<$crate::entry::BindingContext>,
                ) -> ::std::result::Result<(), $crate::entry::Failure> {
                    $crate::entry::run($run, info, contexts)
                }
            }

            // Natively nothing calls the hook; this keeps it from being dead code.
            #[cfg(not(target_family = "wasm"))]
            const _: fn() -> ::std::string::String = <Hook as $crate::entry::Guest>::config;
            #[cfg(not(target_family = "wasm"))]
            const _: $crate::entry::Run = <Hook as $crate::entry::Guest>::run;

            #[cfg(target_family = "wasm")]
            #[allow(unsafe_code)]
            const _: () = {
        $crate::entry::export_hook!(Hook with_types_in $crate::entry::bindings);
            };
        };
    };
}
