//! `reconcile[]`.

use boathook_core::model::{Adopt, Role};

use super::{good, refused};

fn reconcile(fields: &str) -> String {
    format!(
        "configVersion: v1\nkubernetes: [{{name: maps, kind: ConfigMap}}]\nreconcile:\n- {{apiVersion: example.com/v1, \
         kind: App, {fields}}}"
    )
}

#[test]
fn defaults_are_careful() {
    let spec = good(&reconcile("owns: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: Service}]"));
    let [binding] = &spec.reconcilers[..] else { panic!("{:?}", spec.reconcilers) };
    assert_eq!((binding.name.as_str(), binding.adopt, binding.resync), ("reconcile", Adopt::Never, None));
    assert_eq!((binding.prune.max_share.get(), binding.prune.max_objects), (50, 20));
    // Parents are independent of each other.
    assert_eq!((spec.concurrency, spec.combine), (8, false));
    let informers: Vec<_> = spec.kubernetes.iter().filter(|binding| binding.role.is_some()).collect();
    let names: Vec<_> = informers.iter().map(|binding| binding.name.as_str()).collect();
    assert_eq!(names, ["reconcile", "reconcile/Deployment.apps", "reconcile/Service"]);
    assert_eq!(informers[0].role, Some(Role::Parents));
    // Only members are watched.
    assert_eq!(informers[1].label_selector.as_deref(), Some("applyset.kubernetes.io/part-of"));
    assert_eq!(
        good(&format!("{}\nconcurrency: 3", reconcile("owns: [{apiVersion: v1, kind: Service}]"))).concurrency,
        3
    );
}

/// Nothing is reconciled before everything that a parent refers to was listed.
#[test]
fn related_objects_are_watched_where_parents_are_or_where_the_document_says() {
    let related = "related: [{name: own, apiVersion: v1, kind: Secret, nameFrom: .spec.secret}, \
        {name: shared, apiVersion: v1, kind: ConfigMap, namespace: infra, labelSelector: {matchLabels: {a: b}}}]";
    let spec = good(&reconcile(&format!(
        "owns: [{{apiVersion: v1, kind: Service}}], namespace: {{nameSelector: {{matchNames: [apps]}}}}, \
         includeSnapshotsFrom: [maps], {related}"
    )));
    let of = |name: &str| spec.kubernetes.iter().find(|binding| binding.name.as_str() == name).unwrap();
    let (own, shared) = (of("reconcile/related/own"), of("reconcile/related/shared"));
    assert_eq!((&*own.namespaces, &*shared.namespaces), (&["apps".to_owned()][..], &["infra".to_owned()][..]));
    assert_eq!((own.label_selector.as_deref(), shared.label_selector.as_deref()), (None, Some("a=b")));
    let inputs: Vec<_> = of("reconcile").include_snapshots_from.iter().map(|name| name.as_str().to_owned()).collect();
    assert_eq!(inputs, ["maps", "reconcile/Service", "reconcile/related/own", "reconcile/related/shared"]);
    let asks: Vec<_> = spec.asks().iter().map(ToString::to_string).collect();
    assert!(asks.contains(&"watch secrets in apps".to_owned()), "{asks:?}");
    assert!(asks.contains(&"watch configmaps in infra".to_owned()), "{asks:?}");
}

/// Each has sets of its own, and writes no status.
#[test]
fn any_number_of_bindings_decorate_one_kind() {
    let one = "owns: [{apiVersion: v1, kind: Service}], decorates: true, name";
    let other = format!("- {{apiVersion: example.com/v1, kind: App, {one}: second}}");
    let spec = good(&format!("{}\n{other}", reconcile(&format!("{one}: first"))));
    assert_eq!(spec.reconcilers.len(), 2);
    let asks: Vec<_> = spec.asks().iter().map(ToString::to_string).collect();
    assert!(asks.iter().any(|asks| *asks == "get, patch apps of example.com"), "{asks:?}");
    assert!(!asks.iter().any(|asks| asks.contains("status")), "{asks:?}");
}

// mutant: crates/core/src/model/reconcile.rs: `self.annotations.iter().all(|rule| rule.holds(&head.metadata.annotations))` => `true`
#[test]
fn decorators_select_by_annotations_too() {
    let selector = "annotationSelector: {matchAnnotations: {a/b: any text}, matchExpressions: [\
        {key: c, operator: NotIn, values: [no]}, {key: d, operator: Exists}, {key: e, operator: DoesNotExist}]}";
    let spec = good(&reconcile(&format!("owns: [{{apiVersion: v1, kind: Service}}], decorates: true, {selector}")));
    let selects = |annotations: &str| {
        spec.reconcilers[0].selects(&format!(r#"{{"metadata": {{"name": "x", "annotations": {annotations}}}}}"#))
    };
    assert!(selects(r#"{"a/b": "any text", "d": ""}"#) && selects(r#"{"a/b": "any \u0074ext", "c": "yes", "d": "1"}"#));
    for other in [
        r#"{"a/b": "text", "d": ""}"#,
        r#"{"d": ""}"#,
        r#"{"a/b": "any text", "c": "no", "d": ""}"#,
        r#"{"a/b": "any text"}"#,
        r#"{"a/b": "any text", "d": "", "e": ""}"#,
        "{}",
    ] {
        assert!(!selects(other), "{other}");
    }
    assert!(!spec.reconcilers[0].selects("{}"));
}

#[test]
fn what_cannot_be_is_refused() {
    const OWNS: &str = "owns: [{apiVersion: v1, kind: Service}]";
    for (fields, path, hint) in [
        ("name: x", "reconcile[0].owns", "is missing"),
        ("owns: [{apiVersion: v1}]", "reconcile[0].owns[0].kind", "is missing"),
        ("owns: [{kind: Service}]", "reconcile[0].owns[0].apiVersion", "is missing"),
        ("owns: [{apiVersion: v1, kind: services}]", "reconcile[0].owns[0].kind", "write it as objects do"),
        ("owns: [{apiVersion: v1, kind: A}, {apiVersion: v1, kind: A}]", "reconcile[0].owns[1].kind", "once more"),
        (
            "owns: [{apiVersion: x.com/v1, kind: A}, {apiVersion: x.com/v2, kind: A}]",
            "reconcile[0].owns[1].kind",
            "once more",
        ),
        ("owns: [{apiVersion: example.com/v2, kind: App}]", "reconcile[0].owns[0].kind", "the kind of the parents"),
        (&format!("{OWNS}, prune: {{maxShare: 0%}}"), "reconcile[0].prune.maxShare", r#"from "1%" to "100%""#),
        (&format!("{OWNS}, prune: {{maxShare: '50'}}"), "reconcile[0].prune.maxShare", r#"from "1%" to "100%""#),
        (&format!("{OWNS}, prune: {{maxObjects: -1}}"), "reconcile[0].prune.maxObjects", "from 0"),
        (&format!("{OWNS}, adopt: sometimes"), "reconcile[0].adopt", "ifUnowned"),
        (&format!("{OWNS}, resync: 10ms"), "reconcile[0].resync", "1s"),
        (&format!("{OWNS}, revisions: 1"), "reconcile[0].revisions", "from 2 to 100"),
        (
            &format!("{OWNS}, revisions: 5, decorates: true"),
            "reconcile[0].revisions",
            "leave it out with `decorates: true`",
        ),
        (
            &format!("{OWNS}, includeSnapshotsFrom: [other]"),
            "reconcile[0].includeSnapshotsFrom[0]",
            "names no kubernetes binding",
        ),
        (&format!("{OWNS}, name: maps"), "reconcile[0].name", "clashes with the kubernetes binding"),
        // Its watches would have the names of those of the binding "reconcile".
        (&format!("{OWNS}, name: reconcile/related"), "reconcile[0].name", r#"cannot contain "/""#),
        (
            &format!("{OWNS}}}\n- {{name: other, apiVersion: example.com/v2, kind: App, {OWNS}"),
            "reconcile[1].kind",
            r#"is App.example.com, and the binding "reconcile" has this kind, too"#,
        ),
        (&format!("{OWNS}, related: []"), "reconcile[0].related", "is an empty list"),
        (
            &format!("{OWNS}, related: [{{name: a, apiVersion: v1, kind: Secret}}]"),
            "reconcile[0].related[0].nameFrom",
            "is missing; name the parent's field",
        ),
        (
            &format!("{OWNS}, related: [{{name: a, apiVersion: v1, kind: Secret, nameFrom: spec.x}}]"),
            "reconcile[0].related[0].nameFrom",
            r#"is "spec.x"; a path looks like ".spec.secretName""#,
        ),
        (
            &format!("{OWNS}, related: [{{name: a, apiVersion: v1, kind: Secret, nameFrom: .x, namespace: a/b}}]"),
            "reconcile[0].related[0].namespace",
            "cannot be a namespace",
        ),
        (
            &format!(
                "{OWNS}, related: [{{name: a, apiVersion: v1, kind: Secret, nameFrom: .x}}, \
                 {{name: a, apiVersion: v1, kind: Pod, nameFrom: .y}}]"
            ),
            "reconcile[0].related[1].name",
            "once more",
        ),
        (&format!("{OWNS}, decorates: []"), "reconcile[0].decorates", "must be true or false"),
        (
            &format!("{OWNS}, annotationSelector: {{matchAnnotations: {{a: b}}}}"),
            "reconcile[0].annotationSelector",
            "is for objects of others; add `decorates: true`",
        ),
        (
            &format!("{OWNS}, decorates: true, annotationSelector: {{}}"),
            "reconcile[0].annotationSelector.matchAnnotations",
            "is missing",
        ),
        (
            &format!("{OWNS}, decorates: true, annotationSelector: {{matchExpressions: [{{key: a, operator: In}}]}}"),
            "reconcile[0].annotationSelector.matchExpressions[0].values",
            "must not be empty",
        ),
        (
            &format!("{OWNS}, decorates: true, annotationSelector: {{matchAnnotations: {{-a: b}}}}"),
            "reconcile[0].annotationSelector.matchAnnotations.-a",
            "which is not a label key",
        ),
        (
            &format!("{OWNS}, namespace: {{labelSelector: {{}}}}"),
            "reconcile[0].namespace.labelSelector",
            "is not known here",
        ),
    ] {
        refused(&reconcile(fields), path, hint);
    }
}
