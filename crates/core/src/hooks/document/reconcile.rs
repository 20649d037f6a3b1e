//! Reads `reconcile[]`.

use std::{collections::HashSet, num::NonZeroU8, time::Duration};

use super::{
    fields::{Fields, quoted},
    kubernetes, policy,
    schedule::{include_snapshots_from, name},
    selector,
};
use crate::model::{
    Adopt, FieldPath, HookName, OwnedKind, PruneLimits, QueueName, ReconcileBinding, Related, RetryPolicy,
};

/// Each time, all parents are reconciled.
const LEAST_RESYNC: Duration = Duration::from_secs(1);
/// Each kind needs a watch.
const MAX_KINDS: usize = 50;
const MAX_RELATED: usize = 20;
/// The newest one is what the cluster has, so a history has one more.
const REVISIONS: (i64, i64) = (2, 100);

pub(super) fn read(fields: &Fields<'_, '_>, hook: &HookName, retry: RetryPolicy) -> ReconcileBinding {
    fields.need("owns", Some(()));
    let name = name(fields, "reconcile");
    fields.check(!name.as_str().contains('/'), "name", || {
        format!("is {}; it cannot contain \"/\", because the names of its watches do", quoted(name.as_str()))
    });
    let binding = ReconcileBinding {
        name,
        parent: kind(fields),
        namespaces: fields.fields("namespace").map(|namespace| namespaces(&namespace)).unwrap_or_default(),
        label_selector: fields.fields("labelSelector").and_then(|labels| selector::labels(&labels)),
        decorates: fields.boolean("decorates").unwrap_or_default(),
        annotations: fields.fields("annotationSelector").map(|all| selector::annotations(&all)).unwrap_or_default(),
        owns: fields.items("owns").map(|item| owned(&item)).collect(),
        related: fields.items("related").map(|item| related(&item)).collect(),
        prune: fields.fields("prune").map(|fields| prune(&fields)).unwrap_or_default(),
        adopt: fields
            .word("adopt", &[("never", Adopt::Never), ("ifUnowned", Adopt::IfUnowned), ("always", Adopt::Always)])
            .unwrap_or_default(),
        revisions: revisions(fields),
        resync: fields.duration("resync", LEAST_RESYNC),
        include_snapshots_from: include_snapshots_from(fields),
        queue: QueueName::Own(hook.clone()),
        retry: policy::binding_retry(fields, retry),
    };
    fields.check(binding.decorates || !fields.has("annotationSelector"), "annotationSelector", || {
        "is for objects of others; add `decorates: true`, or select by labels".to_owned()
    });
    fields.check(!binding.decorates || binding.revisions.is_none(), "revisions", || {
        "is for a custom resource of the hook; leave it out with `decorates: true`".to_owned()
    });
    check_kinds(fields, &binding);
    check_related(fields, &binding);
    fields.finish();
    binding
}

fn revisions(fields: &Fields<'_, '_>) -> Option<usize> {
    let (least, most) = REVISIONS;
    fields.integer_in("revisions", least, most).and_then(|number| usize::try_from(number).ok())
}

fn kind(fields: &Fields<'_, '_>) -> OwnedKind {
    let kind = fields.required_string("kind").unwrap_or_default();
    let upper = kind.chars().next().is_none_or(|first| first.is_ascii_uppercase());
    // Unlike a watch, a write needs the kind as objects have it.
    fields.check(upper, "kind", || format!("is {}; write it as objects do, like \"Deployment\"", quoted(kind)));
    let api_version = fields.need("apiVersion", kubernetes::api_version(fields)).unwrap_or_default();
    OwnedKind { api_version: api_version.into(), kind: kind.into() }
}

fn owned(fields: &Fields<'_, '_>) -> OwnedKind {
    let kind = kind(fields);
    fields.finish();
    kind
}

fn related(fields: &Fields<'_, '_>) -> Related {
    let name_from = fields.string("nameFrom").and_then(|text| {
        let path = FieldPath::parse(text);
        path.map_err(|problem| fields.wrong("nameFrom", format!("is {}; {problem}", quoted(text)))).ok()
    });
    let related = Related {
        name: fields.required_string("name").unwrap_or_default().into(),
        kind: kind(fields),
        namespace: fields.some_string("namespace").map(str::to_owned),
        name_from,
        label_selector: fields.fields("labelSelector").and_then(|labels| selector::labels(&labels)),
    };
    if let Some(namespace) = &related.namespace {
        let valid = namespace.len() <= 63 && namespace.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        fields.check(valid, "namespace", || format!("is {}, which cannot be a namespace", quoted(namespace)));
    }
    if !fields.has("nameFrom") && !fields.has("labelSelector") {
        let message = "is missing; name the parent's field with the object's name, or give a labelSelector";
        fields.wrong("nameFrom", message);
    }
    fields.finish();
    related
}

/// Hooks find related objects by the entries' names.
fn check_related(fields: &Fields<'_, '_>, binding: &ReconcileBinding) {
    let mut known = HashSet::new();
    for (i, related) in binding.related.iter().enumerate().filter(|(_, related)| !related.name.is_empty()) {
        fields.check(known.insert(&related.name), &format!("related[{i}].name"), || {
            format!("is {} once more; each needs a name of its own", quoted(&related.name))
        });
    }
    fields.check(binding.related.len() <= MAX_RELATED, "related", || {
        format!("has {} items; at most {MAX_RELATED} are allowed, because each needs a watch", binding.related.len())
    });
}

fn namespaces(fields: &Fields<'_, '_>) -> Vec<String> {
    let names = fields.need("nameSelector", fields.fields("nameSelector")).map(|names| selector::names(&names));
    fields.finish();
    names.unwrap_or_default()
}

/// Two versions of one kind are the same objects, and a parent of its own kind would reconcile itself without end.
fn check_kinds(fields: &Fields<'_, '_>, binding: &ReconcileBinding) {
    let same = |kind: &OwnedKind| (kind.group().to_owned(), kind.kind.clone());
    let mut known = HashSet::new();
    for (i, owned) in binding.owns.iter().enumerate().filter(|(_, owned)| !owned.kind.is_empty()) {
        let (path, kind) = (format!("owns[{i}].kind"), quoted(&owned.kind));
        fields.check(known.insert(same(owned)), &path, || format!("is {kind} once more; write each kind once"));
        fields.check(same(owned) != same(&binding.parent), &path, || {
            format!("is {kind}, the kind of the parents: an object cannot be a member of a set of its own kind")
        });
    }
    fields.check(binding.owns.len() <= MAX_KINDS, "owns", || {
        format!("has {} items; at most {MAX_KINDS} are allowed, because each needs a watch", binding.owns.len())
    });
}

fn prune(fields: &Fields<'_, '_>) -> PruneLimits {
    let default = PruneLimits::default();
    let share = fields.string("maxShare").and_then(|text| {
        let percent = text.strip_suffix('%').and_then(|number| number.parse::<NonZeroU8>().ok());
        let percent = percent.filter(|percent| percent.get() <= 100);
        fields.check(percent.is_some(), "maxShare", || {
            format!("is {}; from \"1%\" to \"100%\" is allowed", quoted(text))
        });
        percent
    });
    let objects = fields.integer_in("maxObjects", 0, 1_000_000).and_then(|number| usize::try_from(number).ok());
    fields.finish();
    PruneLimits { max_share: share.unwrap_or(default.max_share), max_objects: objects.unwrap_or(default.max_objects) }
}
