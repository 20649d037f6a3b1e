//! A permission that a hook asks for: in the words of an RBAC rule, for HTTP, or for a directory.
//!
//! Asking grants nothing: the admin's grants decide.

use super::document::Fields;

/// One rule: these verbs on these resources.
///
/// ```
/// use boathook_sdk::prelude::*;
///
/// Permission::new().groups(["apps"]).resources(["deployments", "deployments/scale"]).verbs(["get", "patch"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Permission(pub(super) Fields);

impl Default for Permission {
    fn default() -> Self {
        Self::new()
    }
}

impl Permission {
    /// A rule for the core API group; [`groups`](Self::groups) names others.
    pub fn new() -> Self {
        let mut map = Fields::default();
        map.texts("apiGroups", [""]);
        Self(map)
    }

    /// The API groups, instead of the core group (`""`).
    pub fn groups<S: Into<String>>(mut self, groups: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("apiGroups", groups);
        self
    }

    /// Plural resource names, with `/sub` for subresources.
    pub fn resources<S: Into<String>>(mut self, resources: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("resources", resources);
        self
    }

    /// `get`, `list`, `create`, `update`, `patch`, `delete`.
    pub fn verbs<S: Into<String>>(mut self, verbs: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("verbs", verbs);
        self
    }

    /// Only objects with these names.
    pub fn names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("resourceNames", names);
        self
    }

    /// Only in these namespaces.
    pub fn namespaces<S: Into<String>>(mut self, namespaces: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("namespaces", namespaces);
        self
    }
}

/// HTTP requests: these methods at these hosts.
///
/// ```
/// use boathook_sdk::prelude::*;
///
/// HttpPermission::new(["api.example.com", "*.example.org:8443"]).methods(["GET", "POST"]).paths(["/v1/*"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HttpPermission(pub(super) Fields);

impl HttpPermission {
    /// `GET` and `HEAD` of all paths at these hosts, with TLS at port 443: `api.example.com`, or `*.example.com` for
    /// all below a name. A host can have another port, and `http://` before it if it has no TLS.
    pub fn new<S: Into<String>>(hosts: impl IntoIterator<Item = S>) -> Self {
        let mut map = Fields::default();
        map.texts("hosts", hosts);
        Self(map)
    }

    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH`, `DELETE`, `OPTIONS`, instead of `GET` and `HEAD`; `*` is all.
    pub fn methods<S: Into<String>>(mut self, methods: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("methods", methods);
        self
    }

    /// Only these paths, without the query. A `*` at the end stands for all that begin so.
    pub fn paths<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.0.texts("paths", paths);
        self
    }
}

/// A directory of the operator's machine, which the operator's admin offers by this name.
///
/// The hook opens its files with [`std::fs`], below `/NAME`.
///
/// ```
/// use boathook_sdk::prelude::*;
///
/// DirectoryPermission::new("keys").write();
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DirectoryPermission(pub(super) Fields);

impl DirectoryPermission {
    /// Reads the files of the directory.
    pub fn new(name: impl Into<String>) -> Self {
        let mut map = Fields::default();
        map.text("name", &name.into());
        Self(map)
    }

    /// Also writes, creates, renames and removes files and directories in it.
    pub fn write(mut self) -> Self {
        self.0.text("access", "write");
        self
    }
}
