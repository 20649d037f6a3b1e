//! The page that shows the SDKs side by side. Its code is cut out of hooks in `hooks-wasm`, which are built and tested in
//! each language; so it cannot be wrong.

use std::{fmt::Write as _, fs, path::Path};

use super::generated::head;

/// The name on the tab, the tag of the block, and the folder below `hooks-wasm`.
const LANGUAGES: [(&str, &str, &str); 4] = [
    ("Rust", "rust,ignore", ""),
    ("TypeScript", "ts ignore", "js/"),
    ("Go", "go", "go/"),
    ("Python", "python", "python/"),
];

struct Part {
    title: &'static str,
    about: &'static str,
    /// The file and the first line of what is cut out, in the order of [`LANGUAGES`].
    of: [(&'static str, &'static str); 4],
}

const PARTS: [Part; 7] = [
    Part {
        title: "The configuration",
        about: "What wakes the hook, what it may do, and its limits: the [document](document.md), typed. In TypeScript and \
                Python it has the document's own keys; Rust and Go have names of their own for some. This is a hook that \
                changes Pods, with a snapshot of namespaces.",
        of: [
            ("pod-defaults/src/lib.rs", "fn config() -> Config {"),
            ("pod-defaults/src/hook.ts", "  config: {"),
            ("pod-defaults/main.go", "func init() {"),
            ("pod-defaults/hook.py", "boathook.configure("),
        ],
    },
    Part {
        title: "Events",
        about: "A run is given triggers, the oldest first; events are those of a `kubernetes` binding. This one writes an object \
                for each, by server-side apply.",
        of: [
            ("test/pod-images/src/lib.rs", "fn run(ctx: Context) -> Result<()> {"),
            ("test/pod-images/src/hook.ts", "  run(ctx) {"),
            ("test/pod-images/main.go", "func run(ctx *boathook.Context) error {"),
            ("test/pod-images/hook.py", "@boathook.on_run"),
        ],
    },
    Part {
        title: "Other triggers, and snapshots",
        about: "What a run is about can be asked of its context. A snapshot is read page by page, or object by object.",
        of: [
            ("registry-secret/src/lib.rs", "fn run(ctx: Context) -> Result<()> {"),
            ("registry-secret/src/hook.ts", "  run(ctx) {"),
            ("registry-secret/main.go", "func run(ctx *boathook.Context) error {"),
            ("registry-secret/hook.py", "@boathook.on_run"),
        ],
    },
    Part {
        title: "Reading, writing, and trying again",
        about: "Each call says which failure it met: here a conflict is answered by reading again. What ends a run as a failure is \
                tried again with growing pauses, unless it is permanent.",
        of: [
            ("node-taint/src/lib.rs", "fn mend("),
            ("node-taint/src/hook.ts", "function mend("),
            ("node-taint/main.go", "func mend("),
            ("node-taint/hook.py", "def mend("),
        ],
    },
    Part {
        title: "Many writes at once",
        about: "One call to the host brings as many operations as fit, and an answer for each.",
        of: [
            ("registry-secret/src/writer.rs", "    fn flush("),
            ("registry-secret/src/writer.ts", "  #flush("),
            ("registry-secret/writer.go", "func (w *writer) flush("),
            ("registry-secret/writer.py", "    def _flush("),
        ],
    },
    Part {
        title: "A verdict on a request",
        about: "Of a [`kubernetesValidating`](document.md) binding: allowed, allowed with warnings, or denied.",
        of: [
            ("image-policy/src/lib.rs", "fn validate("),
            ("image-policy/src/hook.ts", "  validate(review) {"),
            ("image-policy/main.go", "func validate("),
            ("image-policy/hook.py", "@boathook.on_validating("),
        ],
    },
    Part {
        title: "A changed object",
        about: "Of a [`kubernetesMutating`](document.md) binding: the host makes the patch of it.",
        of: [
            ("pod-defaults/src/lib.rs", "fn mutate("),
            ("pod-defaults/src/hook.ts", "  mutate(review) {"),
            ("pod-defaults/main.go", "func mutate("),
            ("pod-defaults/hook.py", "@boathook.on_mutating("),
        ],
    },
];

const ABOUT: &str = "One job in each language, cut out of hooks in `hooks-wasm`. What can be called at all says \
                     [the contract](wit.md); the packages say the rest where you write: `cargo doc`, `go doc`, and the types of \
                     `@boathook/sdk` and `boathook`, which also has [a page](sdk-python.md).";

/// The whole page.
pub fn page() -> String {
    let mut page = head("The SDKs side by side", ABOUT, "`hooks-wasm/`");
    for Part { title, about, of } in &PARTS {
        write!(page, "\n## {title}\n\n{about}\n\n<div class=\"tabs\">\n").unwrap();
        for ((name, tag, folder), (file, first)) in LANGUAGES.iter().zip(of) {
            let path = Path::new("hooks-wasm").join(folder).join(file);
            let code =
                cut(&fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())), first);
            write!(page, "\n{name}:\n\n```{tag}\n{code}\n```\n").unwrap();
        }
        page.push_str("\n</div>\n");
    }
    page
}

/// From the line that begins so to its end: what is indented more, and a last line that closes it.
fn cut(text: &str, first: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(first)).peekable();
    let indent = lines.peek().map_or_else(|| panic!("no line begins with {first:?}"), |line| indent_of(line));
    let mut found: Vec<&str> = Vec::new();
    for line in lines {
        let begins = found.is_empty() || found.iter().all(|line| line.trim_start().starts_with('@'));
        let within = begins || line.trim().is_empty() || indent_of(line) > indent;
        let closes = line.trim_start().starts_with(['}', ')', ']']);
        if !within && !closes {
            break;
        }
        found.push(line.get(indent..).unwrap_or_default());
        // `) -> Result<()> {` closes one thing and opens the next.
        if !within && !line.ends_with('{') && !line.ends_with(':') {
            break;
        }
    }
    found.join("\n").trim_end().to_owned()
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
