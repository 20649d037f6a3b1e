//! An error with its sources, as one text.

use std::error::Error;

/// Joins an error and its sources with `: `. A source is left out if its error already contains its text, as errors of
/// some libraries do.
pub fn error_chain(error: &dyn Error) -> String {
    let (mut text, mut source) = one(error);
    while let Some(error) = source {
        let (more, next) = one(error);
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = next;
    }
    text
}

/// An error's own text, and its source. Some errors only show their source, followed by its Rust debug form. kube does
/// this with the API server's answers. Such an error adds nothing for people, so its source replaces it.
fn one(error: &dyn Error) -> (String, Option<&(dyn Error + 'static)>) {
    let (text, source) = (error.to_string(), error.source());
    match source {
        Some(source) if text.ends_with(&format!(": {source} ({source:?})")) => (source.to_string(), source.source()),
        _ => (text, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Link {
        text: &'static str,
        #[source]
        source: Option<Box<Link>>,
    }

    fn link(text: &'static str, source: Option<Link>) -> Link {
        Link { text, source: source.map(Box::new) }
    }

    #[test]
    fn says_everything_once() {
        let chain = link("no cluster", Some(link("read file: not found", Some(link("not found", None)))));
        assert_eq!(error_chain(&chain), "no cluster: read file: not found");
        assert_eq!(error_chain(&link("a", Some(link("b", Some(link("c", None)))))), "a: b: c");
    }

    /// An error like kube's.
    #[derive(Debug, thiserror::Error)]
    #[error("ApiError: {0} ({0:?})")]
    struct Api(#[source] Link);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot create x")]
    struct Call(#[source] Api);

    // mutant: crates/core/src/model/chain.rs: `Some(source) if text.ends_with(` => `Some(source) if false && text.ends_with(`
    #[test]
    fn nothing_is_shown_as_rust_has_it() {
        let status = || Api(link("x is invalid: Invalid", None));
        assert_eq!(error_chain(&Call(status())), "cannot create x: x is invalid: Invalid");
        assert_eq!(error_chain(&status()), "x is invalid: Invalid");
    }
}
