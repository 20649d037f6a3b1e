//! The `kubernetesValidating` and `kubernetesMutating` bindings: asked before the API server stores an
//! object.
//!
//! One method per field of the document; CEL is never parsed.

use std::time::Duration;

use super::{
    Labels,
    document::{Fields, Node},
};

/// One rule: these operations on these resources. Without more, on `v1` of the core group.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule(Fields);

impl Rule {
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT` or `*` on plural resource names, with `/sub` for
    /// subresources.
    pub fn new<O: Into<String>, R: Into<String>>(
        operations: impl IntoIterator<Item = O>,
        resources: impl IntoIterator<Item = R>,
    ) -> Self {
        let mut map = Fields::default();
        map.texts("apiGroups", [""]);
        map.texts("apiVersions", ["v1"]);
        map.texts("operations", operations);
        map.texts("resources", resources);
        Self(map)
    }

    /// The API groups, instead of the core group (`""`).
    pub fn groups<S: Into<String>>(mut self, groups: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("apiGroups", groups);
        self
    }

    /// The versions, instead of `v1`.
    pub fn versions<S: Into<String>>(mut self, versions: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("apiVersions", versions);
        self
    }

    /// `Cluster`, `Namespaced` or `*`, the default.
    pub fn scope(mut self, scope: &str) -> Self {
        self.0.text("scope", scope);
        self
    }
}

/// What becomes of a request when the hook fails or does not answer in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It goes on.
    Ignore,
    /// It is refused. The default.
    Fail,
}

macro_rules! admission {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(pub(super) Fields);

        impl $name {
            /// A webhook with this name, a domain name of three parts or more.
            pub fn new(name: &str) -> Self {
                let mut map = Fields::default();
                map.text("name", name);
                Self(map)
            }

            /// The requests that the hook is asked about. May be given many times; at least once.
            pub fn rule(mut self, rule: Rule) -> Self {
                self.0.push("rules", rule.0);
                self
            }

            /// Default [`FailurePolicy::Fail`].
            pub fn failure_policy(mut self, policy: FailurePolicy) -> Self {
                let text = match policy {
                    FailurePolicy::Ignore => "Ignore",
                    FailurePolicy::Fail => "Fail",
                };
                self.0.text("failurePolicy", text);
                self
            }

            /// The hook writes to the cluster when it is asked, dry runs aside. Without it, it only answers.
            pub fn has_side_effects(mut self) -> Self {
                self.0.text("sideEffects", "NoneOnDryRun");
                self
            }

            /// How long the API server waits, in whole seconds from 1 to 30. Default 10 s.
            pub fn timeout(mut self, timeout: Duration) -> Self {
                self.0.plain("timeoutSeconds", timeout.as_secs());
                self
            }

            /// Only requests for which this CEL expression holds. May be given many times.
            pub fn match_condition(mut self, name: &str, expression: &str) -> Self {
                let mut condition = Fields::default();
                condition.text("name", name);
                condition.text("expression", expression);
                self.0.push("matchConditions", condition);
                self
            }

            /// Only requests by exactly the groups and versions of the rules; by default also by equivalent
            /// ones.
            pub fn exact_match(mut self) -> Self {
                self.0.text("matchPolicy", "Exact");
                self
            }

            /// Only objects with this label.
            pub fn label(mut self, key: &str, value: &str) -> Self {
                self.0.within("labelSelector", |selector| {
                    selector.within("matchLabels", |labels| labels.text(key, value));
                });
                self
            }

            /// Only objects with these labels.
            pub fn labels(mut self, labels: Labels) -> Self {
                self.0.set("labelSelector", Node::Map(labels.0));
                self
            }

            /// Only objects in namespaces with these labels, and those without a namespace.
            pub fn in_namespaces_with(mut self, labels: Labels) -> Self {
                self.0.within("namespace", |namespace| namespace.set("labelSelector", Node::Map(labels.0)));
                self
            }

            /// Also objects in `kube-system` and in the operator's own namespace, which are left out
            /// otherwise.
            pub fn include_system(mut self) -> Self {
                self.0.within("namespace", |namespace| namespace.plain("includeSystem", true));
                self
            }

            /// Added to each answer, for the API server's audit log.
            pub fn audit_annotation(mut self, key: &str, value: &str) -> Self {
                self.0.within("auditAnnotations", |annotations| annotations.text(key, value));
                self
            }

            /// The runs may open the snapshots of all `kubernetes` bindings of this group.
            pub fn group(mut self, group: &str) -> Self {
                self.0.text("group", group);
                self
            }

            /// The `kubernetes` bindings whose snapshots its runs may open.
            pub fn include_snapshots_from<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
                self.0.texts("includeSnapshotsFrom", names);
                self
            }
        }
    };
}

admission!(
    /// A webhook that allows or denies.
    Validating
);
admission!(
    /// A webhook that changes objects, and may deny.
    Mutating
);

impl Mutating {
    /// The hook may be asked again when others have changed the object after it.
    pub fn reinvocation_if_needed(mut self) -> Self {
        self.0.text("reinvocationPolicy", "IfNeeded");
        self
    }
}
