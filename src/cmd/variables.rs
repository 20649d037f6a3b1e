//! The values of variables in selectors, from the flags and the environment.

use anyhow::{Context as _, anyhow};
use boathook_core::model::Variables;

use crate::cli::node;

/// The variable that the environment may give, too.
pub(super) const NODE_NAME: &str = "NODE_NAME";

pub(super) fn variables(args: &node::Variables) -> anyhow::Result<Variables> {
    with(args, std::env::var(NODE_NAME).ok().filter(|name| !name.is_empty()))
}

fn with(args: &node::Variables, node: Option<String>) -> anyhow::Result<Variables> {
    let mut variables = Variables::default();
    if let Some(node) = node {
        variables.set(NODE_NAME, &node).map_err(|why| anyhow!(why)).context("the environment variable NODE_NAME")?;
    }
    for text in &args.variables {
        let (name, value) = text.split_once('=').with_context(|| format!("--var {text:?}: write NAME=VALUE"))?;
        variables.set(name, value).map_err(|why| anyhow!(why)).context("--var")?;
    }
    Ok(variables)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_flag_is_stronger_than_the_environment() {
        let read = |flags: &[&str], node: Option<&str>| {
            let variables = flags.iter().map(|flag| (*flag).to_owned()).collect();
            with(&node::Variables { variables }, node.map(str::to_owned))
        };
        assert_eq!(read(&[], None).unwrap(), Variables::default());
        assert_eq!(read(&[], Some("n1")).unwrap().get("NODE_NAME"), Some("n1"));
        let both = read(&["NODE_NAME=n2", "ZONE=a"], Some("n1")).unwrap();
        assert_eq!((both.get("NODE_NAME"), both.get("ZONE")), (Some("n2"), Some("a")));
        for (flag, part) in
            [("ZONE", "write NAME=VALUE"), ("zone=a", "not the name of a variable"), ("Z=a b", "the value of Z")]
        {
            assert!(format!("{:#}", read(&[flag], None).unwrap_err()).contains(part), "{flag}");
        }
        assert!(
            format!("{:#}", read(&[], Some("n 1")).unwrap_err()).starts_with("the environment variable NODE_NAME: ")
        );
    }
}
