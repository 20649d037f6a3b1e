//! Why no roles can be made for a hook.

use boathook_core::model::HookName;

/// A hook whose needs can't be told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedsError {
    /// A binding's kind is not known, and its group neither.
    #[error(
        "hook {hook}, binding {binding}: no kind, plural or short name {kind:?} is known: write its apiVersion in the \
         hook's document, or give its definition with --crds FILE, or a cluster that serves it with --kubeconfig FILE"
    )]
    UnknownKind {
        /// The hook.
        hook: HookName,
        /// Its binding.
        binding: String,
        /// As the author wrote it.
        kind: String,
    },
    /// A hook of a HookBundle can't have it.
    #[error("hook {hook}: {what}, and a HookBundle in namespace {namespace} is confined to that: {mend}")]
    Confined {
        /// The hook.
        hook: HookName,
        /// What reaches out.
        what: String,
        /// The namespace.
        namespace: String,
        /// What to do about it.
        mend: &'static str,
    },
    /// The lists of names multiply to more than is worth a role.
    #[error(
        "hook {hook}: its bindings and permissions name more than {max} single accesses (groups × resources × verbs × \
         names × namespaces): leave out resourceNames or namespaces where there are so many"
    )]
    TooMany {
        /// The hook.
        hook: HookName,
        /// How many are allowed.
        max: usize,
    },
}
