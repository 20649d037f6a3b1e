//! Hides values that nobody may see: those of Secrets, and tokens. The names of the fields stay visible.

use serde_json::Value;

use super::{Change, Effect, Path, Segment};

/// Shown instead of a hidden value.
pub(super) const SENSITIVE: &str = "(sensitive)";

/// This annotation holds a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether the object's values must be hidden.
pub(super) fn applies(effect: &Effect) -> bool {
    let secret = effect.object.kind == "Secret" && effect.object.api_version == "v1";
    // A TokenRequest of a ServiceAccount, and a TokenReview, which contains the token to check.
    secret || effect.subresource.as_deref() == Some("token") || effect.object.kind == "TokenReview"
}

/// A change with its values hidden.
pub(super) fn change(change: Change) -> Change {
    let Change { path, before, after, reordered } = change;
    let hidden = |value: Option<Value>| value.map(|value| part(&mut path.clone(), value));
    let (before, after) = (hidden(before), hidden(after));
    Change { path, before, after, reordered }
}

/// A whole object with its values hidden.
pub(super) fn object(object: Value) -> Value {
    part(&mut Path::default(), object)
}

/// Whether the change is one of a hidden value.
pub(super) fn is_hidden(change: &Change) -> bool {
    let is = |value: &Option<Value>| value.as_ref().and_then(Value::as_str) == Some(SENSITIVE);
    is(&change.before) && is(&change.after)
}

fn part(path: &mut Path, value: Value) -> Value {
    if is_sensitive(path) {
        return SENSITIVE.into();
    }
    let Value::Object(fields) = value else { return value };
    let field = |(key, value): (String, Value)| {
        let mut hidden = Value::Null;
        path.within(Segment::Key(key.clone()), |path| hidden = part(path, value));
        (key, hidden)
    };
    fields.into_iter().map(field).collect()
}

fn is_sensitive(path: &Path) -> bool {
    let of_data = path.0.len() >= 2 && (path.is_within(&["data"]) || path.is_within(&["stringData"]));
    let token = path.is_within(&["status", "token"]) || path.is_within(&["spec", "token"]);
    of_data || token || path.is_within(&["metadata", "annotations", LAST_APPLIED])
}
