//! An error with its sources, as one text.

use std::error::Error;

/// Joins an error and its sources with `: `. A source that its error has said already, as those of
/// some libraries do, is not said again.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    text
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
}
