//! What `bindgen!` generates from `wit/`, and nothing else. Only this crate sees it. The rest of the operator uses
//! `model`.

// Generated code. Its documentation is in the WIT. It uses `new_unchecked` for functions whose types it has checked
// itself.
#![allow(missing_docs, unsafe_code, rust_2018_idioms)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "hook",
    // Parameters of exports borrow, so triggers are written into the guest from where they are.
    ownership: Borrowing { duplicate_if_necessary: true },
    imports: {
        // Functions that never wait are plain calls.
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

/// The values of modules. Only hooks of modules import them.
pub(super) mod values {
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package boathook:host;
            world valued {
                import boathook:hook/values@0.1.0;
            }
        ",
        world: "boathook:host/valued",
        imports: { default: trappable },
    });
}

/// The interfaces between scripts, their interpreters and the host. Only responses, kinds and rights take time.
pub(super) mod interpreter {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../interpreters/wit"],
        inline: "
            package boathook:host;
            world joined {
                import boathook:interpreter/source@0.1.0;
                import boathook:interpreter/http@0.1.0;
                import boathook:interpreter/kinds@0.1.0;
                import boathook:interpreter/writes@0.1.0;
                import boathook:interpreter/rights@0.1.0;
                import boathook:interpreter/values@0.1.0;
                export boathook:interpreter/script@0.1.0;
            }
        ",
        world: "boathook:host/joined",
        imports: {
            "boathook:interpreter/http": async | trappable,
            "boathook:interpreter/kinds": async | trappable,
            "boathook:interpreter/rights": async | trappable,
            default: trappable,
        },
        exports: { default: async },
    });
}

/// The additional exports of an interpreter whose scripts have functions for single bindings.
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

/// The additional export of an interpreter whose scripts define custom resources.
pub(super) mod definitions {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../interpreters/wit"],
        inline: "
            package boathook:host;
            world defined {
                export boathook:interpreter/definitions@0.1.0;
            }
        ",
        world: "boathook:host/defined",
        exports: { default: async },
    });
}

/// The additional export of an interpreter that reports what a script uses.
pub(super) mod uses {
    wasmtime::component::bindgen!({
        path: ["../../wit", "../../interpreters/wit"],
        inline: "
            package boathook:host;
            world used {
                export boathook:interpreter/uses@0.1.0;
            }
        ",
        world: "boathook:host/used",
        exports: { default: async },
    });
}

/// The engine of charts.
pub(super) mod charts {
    wasmtime::component::bindgen!({
        path: "../../interpreters/helm/wit",
        world: "charts",
        // The files of a chart are written into the guest from where they are.
        ownership: Borrowing { duplicate_if_necessary: true },
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

/// The exports that not every hook has.
pub(super) mod optional {
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "
            package boathook:host;
            world optional {
                export boathook:hook/validating@0.1.0;
                export boathook:hook/mutating@0.1.0;
                export boathook:hook/conversion@0.1.0;
                export boathook:hook/reconciling@0.1.0;
                export boathook:hook/finalizing@0.1.0;
                export boathook:hook/defining@0.1.0;
            }
        ",
        world: "boathook:host/optional",
        ownership: Borrowing { duplicate_if_necessary: true },
        exports: { default: async },
        with: { "boathook:hook/types": super::boathook::hook::types },
    });
}
