//! What a script uses, as its interpreter reads it before a run.

/// A request to the API server that a command of a script can make.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScriptRequest {
    pub at: ScriptPlace,
    /// The command, shortened.
    pub command: String,
    /// `get`, `create`, …
    pub verb: String,
    /// The API group. `*` if the kind is not known before a run.
    pub group: String,
    /// The plural, with `/SUBRESOURCE` if it is one. `*` if the kind is not known before a run.
    pub resource: String,
    /// None for all namespaces, and if it is not known before a run.
    pub namespace: Option<String>,
    /// None for a list, and if it is not known before a run.
    pub name: Option<String>,
    /// What is not known before a run, such as `the name is $name`.
    pub unknown: Vec<String>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScriptPlace {
    /// As the script sees it: `/hooks/copy.sh`.
    pub file: String,
    /// None for the whole file.
    pub line: Option<u32>,
}

/// Something in a script that a person has to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScriptProblem {
    pub at: ScriptPlace,
    pub text: String,
    /// Whether the script cannot be loaded, or the command always fails.
    pub refused: bool,
}

/// What a script uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptUses {
    pub requests: Vec<ScriptRequest>,
    pub problems: Vec<ScriptProblem>,
}
