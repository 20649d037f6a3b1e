//! What the `hook!` macro expands to: the exported functions of a component.
//!
//! Not for use by hand; no promise of stability is made for it.

use crate::bindings::boathook::hook::types as wire;
use crate::config::IntoConfig;
use crate::context::Context;
use crate::error::Result;
use crate::logger;

pub mod answers;
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

/// Makes a component of functions: `config`, which returns a [`Config`](crate::Config) or a text, and what the hook's
/// bindings need.
///
/// ```
/// # use boathook_sdk::prelude::*;
/// # mod both {
/// # use boathook_sdk::prelude::*;
/// # fn config() -> Config { Config::new().on_startup(1) }
/// # fn run(_: Context) -> Result<()> { Ok(()) }
/// # fn is_allowed(_: Review) -> Result<Verdict> { Ok(Verdict::allow()) }
/// boathook_sdk::hook!(config, run, validate = is_allowed);
/// # }
/// # mod other {
/// # use boathook_sdk::prelude::*;
/// # fn config() -> Config { Config::new() }
/// # fn changed(_: Review) -> Result<Mutation> { Ok(Mutation::unchanged()) }
/// # fn converted(request: conversion::Request) -> Result<conversion::Converted> { request.each(|_| Ok(())) }
/// boathook_sdk::hook!(config, mutate = changed, convert = converted);
/// # }
/// ```
///
/// | function | type | for the bindings |
/// | --- | --- | --- |
/// | `run` | `fn(`[`Context`](crate::Context)`) -> `[`Result<()>`](crate::Result) | `onStartup`, `schedule`, `kubernetes` |
/// | `validate = …` | `fn(`[`Review`](crate::admission::Review)`) -> Result<`[`Verdict`](crate::admission::Verdict)`>` | `kubernetesValidating` |
/// | `mutate = …` | `fn(Review) -> Result<`[`Mutation`](crate::admission::Mutation)`>` | `kubernetesMutating` |
/// | `convert = …` | `fn(`[`Request`](crate::conversion::Request)`) -> Result<`[`Converted`](crate::conversion::Converted)`>` | `kubernetesCustomResourceConversion` |
/// | `reconcile = …` | `fn(`[`Parent`](crate::reconcile::Parent)`) -> Result<`[`Desired`](crate::reconcile::Desired)`>` | `reconcile` |
/// | `finalize = …` | `fn(Parent) -> Result<`[`Finalized`](crate::reconcile::Finalized)`>` | `reconcile` |
/// | `define = …` | `fn() -> Definition`, or several of them: see the module `crd` | none: `boathook build` calls it |
///
/// In this order, and only those that the hook has: a component exports no others. A hook without `run` only answers;
/// triggers of `kubernetes` bindings that it has for their snapshots count as done.
///
/// In a native build it only checks their types; the module `testing` runs them.
#[macro_export]
macro_rules! hook {
    ($config:path $(,)?) => {
        ::std::compile_error!("hook!(config, run) or, without run, one of validate = …, mutate = …, convert = …, reconcile = … (with finalize = …, define = …)");
    };
    ($config:path $(, validate = $validate:path)? $(, mutate = $mutate:path)? $(, convert = $convert:path)? $(, reconcile = $reconcile:path)? $(, finalize = $finalize:path)? $(, define = $define:path)? $(,)?) => {
        const _: () = {
            fn run(_: $crate::Context) -> $crate::Result<()> {
                ::std::result::Result::Ok(())
            }

            $crate::hook!($config, run $(, validate = $validate)? $(, mutate = $mutate)? $(, convert = $convert)? $(, reconcile = $reconcile)? $(, finalize = $finalize)? $(, define = $define)?);
        };
    };
    (
        $config:path, $run:path
        $(, validate = $validate:path)? $(, mutate = $mutate:path)? $(, convert = $convert:path)? $(, reconcile = $reconcile:path)? $(, finalize = $finalize:path)? $(, define = $define:path)? $(,)?
    ) => {
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

            $($crate::hook!(@validate $validate);)?
            $($crate::hook!(@mutate $mutate);)?
            $($crate::hook!(@convert $convert);)?
            $($crate::hook!(@reconcile $reconcile);)?
            $($crate::hook!(@finalize $finalize);)?
            $($crate::__define!($define);)?
        };
    };
    (@validate $validate:path) => {
        impl $crate::entry::answers::Validate for Hook {
            fn validate(
                info: $crate::entry::RunInfo,
                binding: ::std::string::String,
                request: ::std::string::String,
            ) -> ::std::result::Result<$crate::entry::answers::WireVerdict, $crate::entry::Failure> {
                $crate::entry::answers::validate($validate, info, binding, request)
            }
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::admission::Review) -> $crate::Result<$crate::admission::Verdict> = $validate;
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            $crate::entry::answers::export_validate!(Hook with_types_in $crate::entry::bindings::validate);
        };
    };
    (@mutate $mutate:path) => {
        impl $crate::entry::answers::Mutate for Hook {
            fn mutate(
                info: $crate::entry::RunInfo,
                binding: ::std::string::String,
                request: ::std::string::String,
            ) -> ::std::result::Result<
                ($crate::entry::answers::WireVerdict, $crate::entry::answers::WireMutation),
                $crate::entry::Failure,
            > {
                $crate::entry::answers::mutate($mutate, info, binding, request)
            }
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::admission::Review) -> $crate::Result<$crate::admission::Mutation> = $mutate;
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            $crate::entry::answers::export_mutate!(Hook with_types_in $crate::entry::bindings::mutate);
        };
    };
    (@convert $convert:path) => {
        impl $crate::entry::answers::Convert for Hook {
            fn convert(
                binding: ::std::string::String,
                from: ::std::string::String,
                to: ::std::string::String,
                objects: ::std::vec::Vec<::std::string::String>,
            ) -> ::std::result::Result<::std::vec::Vec<::std::string::String>, ::std::string::String> {
                $crate::entry::answers::convert($convert, binding, from, to, objects)
            }
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::conversion::Request) -> $crate::Result<$crate::conversion::Converted> = $convert;
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            $crate::entry::answers::export_convert!(Hook with_types_in $crate::entry::bindings::convert);
        };
    };
    (@reconcile $reconcile:path) => {
        impl $crate::entry::answers::Reconcile for Hook {
            fn reconcile(
                info: $crate::entry::RunInfo,
                binding: ::std::string::String,
                parent: $crate::entry::answers::WireParent,
            ) -> ::std::result::Result<$crate::entry::answers::WireDesired, $crate::entry::Failure> {
                $crate::entry::answers::reconcile($reconcile, info, binding, parent)
            }
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::reconcile::Parent) -> $crate::Result<$crate::reconcile::Desired> = $reconcile;
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            $crate::entry::answers::export_reconcile!(Hook with_types_in $crate::entry::bindings::reconcile);
        };
    };
    (@finalize $finalize:path) => {
        impl $crate::entry::answers::Finalize for Hook {
            fn finalize(
                info: $crate::entry::RunInfo,
                binding: ::std::string::String,
                parent: $crate::entry::answers::WireParent,
            ) -> ::std::result::Result<$crate::entry::answers::WireFinalized, $crate::entry::Failure> {
                $crate::entry::answers::finalize($finalize, info, binding, parent)
            }
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn($crate::reconcile::Parent) -> $crate::Result<$crate::reconcile::Finalized> = $finalize;
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
            $crate::entry::answers::export_finalize!(Hook with_types_in $crate::entry::bindings::finalize);
        };
    };
}

/// The export that `define = …` of [`hook!`] stands for.
#[cfg(feature = "crd")]
#[doc(hidden)]
#[macro_export]
macro_rules! __define {
    ($define:path) => {
        impl $crate::entry::answers::Define for Hook {
            fn definitions() -> ::std::result::Result<::std::vec::Vec<::std::string::String>, ::std::string::String> {
                $crate::entry::answers::define($define)
            }
        }
        #[cfg(not(target_family = "wasm"))]
        const _: fn() -> ::std::result::Result<::std::vec::Vec<::std::string::String>, ::std::string::String> =
            <Hook as $crate::entry::answers::Define>::definitions;
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)]
        const _: () = {
    $crate::entry::answers::export_define!(Hook with_types_in $crate::entry::bindings::define);
        };
    };
}

/// Without the feature, there are no schemas.
#[cfg(not(feature = "crd"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __define {
    ($define:path) => {
        ::std::compile_error!("define = … needs the feature crd of boathook-sdk");
    };
}
