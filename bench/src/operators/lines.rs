//! The lines that an author writes: code without blank lines, comments, imports and tests.

use anyhow::{Context as _, Result};

/// How comments and functions look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Go,
    Python,
    /// `tests/it/lines.rs` counts it. The bench has no contender in it.
    #[allow(dead_code)]
    TypeScript,
    Yaml,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lines {
    /// The functions that make children and the status, and what they call.
    pub logic: usize,
    /// The programs.
    pub program: usize,
    /// The programs, and the CustomResourceDefinition if it is not made from a type.
    pub all: usize,
}

/// Counts files, which are in the working directory. `logic`: names of functions.
pub fn count(files: &[(Language, &str)], logic: &[&str]) -> Result<Lines> {
    let mut lines = Lines::default();
    for (language, file) in files {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        lines.add(*language, &text, logic);
    }
    Ok(lines)
}

impl Lines {
    fn add(&mut self, language: Language, text: &str, logic: &[&str]) {
        let code = code(language, text);
        self.all += code.len();
        if language == Language::Yaml {
            return;
        }
        self.program += code.len();
        // The indent of the function around a line.
        let mut inside = None;
        for line in code {
            let trimmed = line.trim_start();
            let indent = line.len() - trimmed.len();
            if function(language, line).is_some_and(|name| logic.contains(&name)) {
                inside = Some(indent);
            } else if inside.is_some_and(|of| indent <= of) && !trimmed.starts_with([')', '}', ']']) {
                inside = None;
            }
            self.logic += usize::from(inside.is_some());
            // A signature of several lines ends with a bracket in the column of the function, too.
            if inside == Some(indent) && matches!(trimmed, "}" | "},") && language != Language::Python {
                inside = None;
            }
        }
    }
}

/// The lines of code.
fn code(language: Language, text: &str) -> Vec<&str> {
    let tests = text.find("#[cfg(test)]").filter(|_| language == Language::Rust);
    let text = tests.and_then(|at| text.get(..at)).unwrap_or(text);
    let mut skips_until = None;
    let mut code = Vec::new();
    for line in text.lines().map(str::trim_end) {
        let trimmed = line.trim_start();
        if let Some(end) = skips_until {
            if trimmed.ends_with(end) {
                skips_until = None;
            }
            continue;
        }
        let is_comment = match language {
            // Markers are instructions to a generator.
            Language::Go => trimmed.starts_with("//") && !trimmed.starts_with("// +kubebuilder"),
            Language::Rust | Language::TypeScript => trimmed.starts_with("//"),
            Language::Python | Language::Yaml => trimmed.starts_with('#'),
        };
        let is_docstring = language == Language::Python && trimmed.starts_with("\"\"\"");
        if trimmed.is_empty() || is_comment || is_docstring {
            continue;
        }
        let (is_import, end) = match language {
            Language::Rust => (line.starts_with("use "), (!line.ends_with(';')).then_some("};")),
            Language::Go => (line.starts_with("import "), line.ends_with('(').then_some(")")),
            Language::Python => (line.starts_with("import ") || line.starts_with("from "), None),
            Language::TypeScript => (line.starts_with("import "), (!line.ends_with(';')).then_some(";")),
            Language::Yaml => (false, None),
        };
        if is_import {
            skips_until = end;
            continue;
        }
        code.push(line);
    }
    code
}

/// The name of the function that begins at a line: in the first column, or in TypeScript, in the object that is the hook.
fn function(language: Language, line: &str) -> Option<&str> {
    let rest = match language {
        Language::Rust => line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?,
        Language::Python => line.strip_prefix("def ")?,
        Language::Go => {
            let rest = line.strip_prefix("func ")?;
            // A receiver comes first.
            rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(rest, |(_, rest)| rest)
        }
        Language::TypeScript => line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?,
        Language::Yaml => return None,
    };
    rest.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(language: Language, text: &str) -> (usize, usize, usize) {
        let mut lines = Lines::default();
        lines.add(language, text, &["reconcile"]);
        (lines.logic, lines.program, lines.all)
    }

    #[test]
    fn rust() {
        let text = "//! Head.\nuse a::{\n    b,\n};\nuse c;\n\nstruct S;\n\n// Why.\nfn reconcile(\n    a: B,\n) -> C {\n    d\n}\n\nfn main() {}\n\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(lines(Language::Rust, text), (5, 7, 7));
    }

    #[test]
    fn go() {
        let text = "// Package p.\npackage p\n\nimport (\n\t\"a\"\n)\n\n// +kubebuilder:rbac:groups=a\ntype T struct {\n\tA int\n}\n\nfunc (t *T) reconcile(a B) error {\n\treturn nil\n}\n";
        assert_eq!(lines(Language::Go, text), (3, 8, 8));
    }

    #[test]
    fn yaml() {
        assert_eq!(lines(Language::Yaml, "# Why.\na:\n  - b\n\nc: 1\n"), (0, 0, 3));
    }

    #[test]
    fn type_script() {
        let text = "// Head.\nimport { a } from \"a\";\nimport {\n  b,\n} from \"b\";\n\nexport default hook({\n  config: {},\n\n  reconcile(app: P) {\n    // Why.\n    return [\n      app,\n    ];\n  },\n});\n";
        assert_eq!(lines(Language::TypeScript, text), (5, 8, 8));
    }

    #[test]
    fn python() {
        let text = "\"\"\"Head.\"\"\"\n\nimport a\n\n\n@on\ndef reconcile(a):\n    \"\"\"Why.\"\"\"\n    b = {\n        1\n    }\n\n    return a\n\n\nX = 1\n";
        assert_eq!(lines(Language::Python, text), (5, 7, 7));
    }
}
