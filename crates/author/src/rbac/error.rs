//! Why no roles can be made for a hook.

use boathook_core::model::HookName;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedsError {
    /// The kind of a binding is unknown, and so is its group.
    #[error(
        "hook {hook}, binding {binding}: no kind, plural or short name {kind:?} is known: write its apiVersion in the \
         hook's document, or give its definition with --crds FILE, or a cluster that serves it with --kubeconfig FILE"
    )]
    UnknownKind {
        hook: HookName,
        binding: String,
        /// As the author wrote it.
        kind: String,
    },
    /// A hook of a HookBundle is not allowed to have it.
    #[error("hook {hook}: {what}, and a HookBundle in namespace {namespace} is confined to that: {remedy}")]
    Confined {
        hook: HookName,
        /// What is outside of the namespace.
        what: String,
        namespace: String,
        remedy: &'static str,
    },
    /// The combinations of the lists are more than a role should have.
    #[error(
        "hook {hook}: its bindings and permissions name more than {max} single accesses (groups × resources × verbs × \
         names × namespaces): leave out resourceNames or namespaces where there are so many"
    )]
    TooMany { hook: HookName, max: usize },
}
