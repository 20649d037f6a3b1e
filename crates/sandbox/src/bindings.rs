//! What `bindgen!` makes of `wit/`, and nothing else.
//!
//! Never seen outside this stage: the rest of the host speaks `model`.

// Generated code: its documentation is the WIT's, and it names functions that it type-checked
// itself by `new_unchecked`.
#![allow(missing_docs, unsafe_code, rust_2018_idioms)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "hook",
    // Parameters of exports borrow: triggers are written into the guest from where they are.
    ownership: Borrowing { duplicate_if_necessary: true },
    imports: {
        // What never waits is a plain call.
        "boathook:hook/log": trappable,
        "boathook:hook/snapshots": trappable,
        "boathook:hook/metrics": trappable,
        "boathook:hook/settings": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    with: {
        "boathook:hook/snapshots.snapshot": super::snapshots::Cursor,
    },
});

/// What scripts and their interpreters say to each other and to the host.
pub(super) mod interpreter {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../interpreters/wit"],
        inline: "
            package boathook:host;
            world joined {
                import boathook:interpreter/source@0.1.0;
                export boathook:interpreter/script@0.1.0;
            }
        ",
        world: "boathook:host/joined",
        imports: { default: trappable },
        exports: { default: async },
    });
}

/// What an interpreter of scripts with functions for single bindings exports, too.
pub(super) mod functions {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../interpreters/wit"],
        inline: "
            package boathook:host;
            world listed {
                export boathook:interpreter/functions@0.1.0;
            }
        ",
        world: "boathook:host/listed",
        exports: { default: async },
    });
}

/// The exports that answer the API server, which not every hook has.
pub(super) mod webhooks {
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package boathook:host;
            world answers {
                export boathook:hook/validating@0.1.0;
                export boathook:hook/mutating@0.1.0;
                export boathook:hook/conversion@0.1.0;
            }
        ",
        world: "boathook:host/answers",
        ownership: Borrowing { duplicate_if_necessary: true },
        exports: { default: async },
        with: { "boathook:hook/types": super::boathook::hook::types },
    });
}
