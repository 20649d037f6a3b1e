//! Why a version does not run: one word for programs, and a text for people. Pure.

use boathook_bundle::{BundleError, RegistryError, RegistryProblem, StoreError, TrustError};
use boathook_core::model::{InstallError, error_chain};

/// Texts are truncated to this many bytes.
const MAX_TEXT: usize = 2048;

/// Why a version does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// One word, which is the reason in conditions and Events.
    pub reason: &'static str,
    /// The whole chain of causes.
    pub message: String,
    /// Whether the version was checked and refused. If not, the result is unknown, for example because a registry is
    /// unavailable.
    pub refused: bool,
}

impl Problem {
    /// A problem that may go away with time.
    pub fn passing(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: cut(message.into()), refused: false }
    }

    /// A problem that somebody has to fix.
    pub fn refused(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: cut(message.into()), refused: true }
    }

    /// Why a bundle cannot be fetched.
    pub fn of_bundle(error: &BundleError) -> Self {
        let (reason, refused) = match error {
            BundleError::Trust { source, .. } => (of_trust(source), true),
            BundleError::Contents { .. } => ("NotABundle", true),
            BundleError::Registry(error) => of_registry(error),
            BundleError::Store(error) => of_store(error),
            BundleError::Layout(_)
            | BundleError::Pack(_)
            | BundleError::Attach { .. }
            | BundleError::Interrupted(_) => ("Interrupted", false),
        };
        Self { reason, message: cut(error_chain(error)), refused }
    }

    /// Why a version that was fetched does not run.
    pub fn of_install(error: &InstallError) -> Self {
        let reason = match error {
            InstallError::Name(_) => "NameInvalid",
            InstallError::Settings { .. } => "SettingsRefused",
            InstallError::Taken { .. } => "NameTaken",
            InstallError::Refused { .. } => "HookRefused",
            InstallError::Ungranted(_) => "MissingGrants",
            InstallError::Forbidden { .. } => "ServiceAccountForbidden",
            InstallError::Definition { .. } => "DefinitionRefused",
            InstallError::RolledBack { .. } => "RolledBack",
            InstallError::Defect(_) => "Defect",
        };
        Self { reason, message: cut(error_chain(error)), refused: true }
    }
}

/// Truncates a text for a condition.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        text.truncate(text.floor_char_boundary(MAX_TEXT - 3));
        text.push_str("...");
    }
    text
}

fn of_trust(error: &TrustError) -> &'static str {
    match error {
        TrustError::NoRule(_) => "SourceNotAllowed",
        TrustError::NotListed { .. } => "DigestNotAllowed",
        TrustError::Unsigned { .. } => "Unsigned",
        TrustError::WrongKey { .. } => "WrongKey",
        TrustError::NotIdentity { .. } => "WrongIdentity",
        TrustError::OtherDigest { .. } => "SignedForAnother",
        TrustError::OtherTag { .. } => "TagMoved",
        TrustError::TooFew { .. } => "TooFewSignatures",
        TrustError::Unattested { .. } => "AttestationMissing",
        TrustError::TooMuch { .. } | TrustError::Defines(_) => "BeyondPolicy",
        TrustError::Silent { .. } => "PermissionsUnknown",
        TrustError::Understated { .. } => "PermissionsUnderstated",
        TrustError::Unreadable(_) => "SignatureUnreadable",
        TrustError::Key(_) => "KeyInvalid",
    }
}

fn of_registry(error: &RegistryError) -> (&'static str, bool) {
    match error.problem() {
        RegistryProblem::Missing => ("NotFound", false),
        RegistryProblem::Digest { .. } => ("Tampered", true),
        RegistryProblem::TooLarge(_) => ("TooLarge", true),
        RegistryProblem::Challenge(_)
        | RegistryProblem::NoToken(_)
        | RegistryProblem::Refused { .. }
        | RegistryProblem::Credentials(_) => ("LoginRefused", false),
        RegistryProblem::Insecure(_) | RegistryProblem::NotPublic(_) => ("RegistryNotAllowed", false),
        RegistryProblem::Authority => ("CertificateInvalid", false),
        RegistryProblem::Store(error) => of_store(error),
        _ => ("RegistryUnavailable", false),
    }
}

fn of_store(error: &StoreError) -> (&'static str, bool) {
    match error {
        StoreError::Digest { .. } | StoreError::TooLong { .. } => ("Tampered", true),
        StoreError::TooShort { .. } => ("RegistryUnavailable", false),
        StoreError::Full { .. } => ("StoreFull", false),
        StoreError::Io { .. } => ("StoreUnusable", false),
    }
}

#[cfg(test)]
mod tests {
    use boathook_bundle::Digest;

    use super::*;

    #[test]
    fn what_was_looked_at_and_refused_is_distinguished_from_what_nobody_knows() {
        let trust = |source| Problem::of_bundle(&BundleError::Trust { at: "r.io/a:v1".to_owned(), source });
        let unsigned = trust(TrustError::Unsigned { digest: Digest::of(b""), wanted: "\"ci\"".to_owned() });
        assert_eq!((unsigned.reason, unsigned.refused), ("Unsigned", true));
        assert!(unsigned.message.contains("r.io/a:v1") && unsigned.message.contains("bundle sign"), "{unsigned:?}");
        let short = StoreError::TooShort { layer: "a".to_owned(), got: 1, size: 2 };
        let short = Problem::of_bundle(&BundleError::Store(short));
        assert_eq!((short.reason, short.refused), ("RegistryUnavailable", false));
        let (got, want) = (Digest::of(b"a"), Digest::of(b"b"));
        let changed = StoreError::Digest { layer: "a".to_owned(), got, want };
        let changed = Problem::of_bundle(&BundleError::Store(changed));
        assert_eq!((changed.reason, changed.refused), ("Tampered", true));
    }

    #[test]
    fn texts_are_bounded() {
        let text = Problem::passing("X", "ä".repeat(5000)).message;
        assert!(text.len() <= MAX_TEXT && text.ends_with("..."));
    }
}
