//! The generated glue between Rust and the WIT package `boathook:hook`.
//!
//! Never seen by a hook author: everything public wraps these types.
#![allow(unsafe_code, missing_docs, rust_2018_idioms, clippy::all, clippy::restriction)]

wit_bindgen::generate!({
    path: "wit",
    // What a hook does not call, its component does not import.
    world: "module-hook",
    pub_export_macro: true,
    export_macro_name: "export_hook",
    default_bindings_module: "boathook_sdk::entry::bindings",
});

/// What a component exports in addition to the world `hook`: only what it has functions for. The linker's tool makes
/// one world of all.
macro_rules! answering {
    ($module:ident, $world:literal, $export:literal, $text:literal $(, $types:literal from $path:path)?) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "wit",
                inline: $text,
                world: $world,
                with: {
                    "boathook:hook/types@0.1.0": crate::entry::bindings::boathook::hook::types,
                    $($types: $path,)?
                },
                generate_all,
                pub_export_macro: true,
                export_macro_name: $export,
            });
        }
    };
}

answering!(
    validate,
    "boathook:sdk/validate",
    "export_validate",
    "package boathook:sdk; world validate { export boathook:hook/validating@0.1.0; }"
);
answering!(
    mutate,
    "boathook:sdk/mutate",
    "export_mutate",
    "package boathook:sdk; world mutate { export boathook:hook/mutating@0.1.0; }",
    "boathook:hook/admission@0.1.0" from crate::entry::bindings::validate::boathook::hook::admission
);
answering!(
    reconcile,
    "boathook:sdk/reconcile",
    "export_reconcile",
    "package boathook:sdk; world reconcile { export boathook:hook/reconciling@0.1.0; }"
);
answering!(
    finalize,
    "boathook:sdk/finalize",
    "export_finalize",
    "package boathook:sdk; world finalize { export boathook:hook/finalizing@0.1.0; }",
    "boathook:hook/reconciliation@0.1.0" from crate::entry::bindings::reconcile::boathook::hook::reconciliation
);
answering!(
    convert,
    "boathook:sdk/convert",
    "export_convert",
    "package boathook:sdk; world convert { export boathook:hook/conversion@0.1.0; }"
);

/// The export for `boathook build`.
#[cfg(feature = "crd")]
pub mod define {
    wit_bindgen::generate!({
        path: "wit",
        inline: "package boathook:sdk; world define { export boathook:hook/defining@0.1.0; }",
        world: "boathook:sdk/define",
        generate_all,
        pub_export_macro: true,
        export_macro_name: "export_define",
    });
}
