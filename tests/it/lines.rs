//! `hello-app` is as short in each language as its authors are promised.

#[path = "../../bench/src/operators/lines.rs"]
mod counted;

use counted::{Language, count};

/// The lines of the function `reconcile` and what it calls.
const MOST: usize = 15;

#[test]
fn the_logic_of_hello_app_is_short_in_each_language() {
    for (language, file) in [
        (Language::Rust, "hooks-wasm/hello-app/src/lib.rs"),
        (Language::TypeScript, "hooks-wasm/js/hello-app/src/hook.ts"),
        (Language::Go, "hooks-wasm/go/hello-app/main.go"),
        (Language::Python, "hooks-wasm/python/hello-app/hook.py"),
    ] {
        let lines = count(&[(language, file)], &["reconcile"]).unwrap();
        assert!((5..=MOST).contains(&lines.logic), "{file}: {} lines", lines.logic);
        println!("{file}: {} lines", lines.logic);
    }
}
