//! Scripts that say what a custom resource becomes: the example in both languages, what such a script sees and may
//! return, and what is reported of one that is wrong.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use boathook_author::author::{PythonScripts, Scripts};
use boathook_core::model::{
    BindingName, Cause, Child, EventType, Failure, FailureKind, ObjectRef, OwnCondition, OwnEvent, Reconcile,
    Reconciled, RelatedObject, error_chain,
};
use boathook_operator::app::load;
use boathook_sandbox::{ReconcileRequest, Sandbox};
use serde_json::{Value, json};

use super::{build, interpreters, js, packed, python};
use crate::{
    pipeline::fixture::Pipeline,
    sandbox::support::{self, Memory, caller, name, plenty, trigger},
    support::{cluster::TestCluster, until},
};

const CRD: &str = include_str!("../../../hooks-wasm/hello-app/crd.yaml");

fn app(size: u32) -> Value {
    json!({
        "apiVersion": "example.com/v1alpha1", "kind": "HelloApp", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"image": "example.com/web:1", "size": size},
    })
}

fn child(api_version: &str, kind: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "web", "namespace": "default"}})
}

fn built(component: PathBuf) -> Vec<u8> {
    let bytes = fs::read(component).unwrap();
    assert!(bytes.len() < 50_000, "the example has {} bytes", bytes.len());
    bytes
}

#[tokio::test]
async fn the_example_in_typescript_becomes_objects_and_a_status() {
    let scripts = Scripts::new(&[js()]);
    let package = scripts.package(&build::examples().join("hello-app")).unwrap();
    becomes_objects_and_a_status(built(scripts.build(&package).unwrap())).await;
}

#[tokio::test]
async fn the_example_in_python_becomes_objects_and_a_status() {
    python::sandbox().await;
    let scripts = PythonScripts::new(&[python::python()]);
    let package = scripts.package(&python::scenarios::example("hello-app")).unwrap();
    becomes_objects_and_a_status(built(scripts.build(&package).unwrap())).await;
}

async fn becomes_objects_and_a_status(component: Vec<u8>) {
    let cluster = TestCluster::start().await;
    cluster.admin.create(&serde_json::from_value(yaml_serde::from_str(CRD).unwrap()).unwrap()).await.unwrap();
    let places = |options: &mut boathook_operator::app::Options| options.sandbox.interpreters = vec![interpreters()];
    let pipeline = Pipeline::on(cluster, &[("hello-app", component)], places).await;
    pipeline.operator.ready().await;
    pipeline.create(app(1)).await;
    until("the Service is there", async || pipeline.get(child("v1", "Service")).await).await;
    pipeline.apply(app(2)).await;
    let deployment = until("the Deployment has two replicas", async || {
        pipeline.get(child("apps/v1", "Deployment")).await.filter(|found| found["spec"]["replicas"] == 2)
    })
    .await;
    assert_eq!(deployment["metadata"]["ownerReferences"][0]["kind"], "HelloApp");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!((&container["name"], &container["image"]), (&json!("web"), &json!("example.com/web:1")));
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], deployment["spec"]["template"]["metadata"]["labels"]);
    let status = until("the status is of the newest spec", async || {
        let status = pipeline.get(app(2)).await?["status"].clone();
        (status["observedGeneration"] == 2 && status["readyReplicas"] == 0).then_some(status)
    })
    .await;
    assert_eq!(ready(&status)["status"], "False", "{status}");

    // The hook reads its children.
    roll_out(&pipeline, &deployment).await;
    until("both replicas are ready", async || {
        let status = pipeline.get(app(2)).await?["status"].clone();
        let said = ready(&status)["message"] == "2 of 2 replicas are ready" && ready(&status)["status"] == "True";
        (said && status["readyReplicas"] == 2).then_some(())
    })
    .await;
}

fn ready(status: &Value) -> Value {
    let all = status["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|one| one["type"] == "Ready").unwrap_or_default()
}

/// Writes what the Deployment's controller would write.
async fn roll_out(pipeline: &Pipeline, deployment: &Value) {
    let condition = |of: &str, reason: &str| json!({"type": of, "status": "True", "reason": reason});
    let status = json!({"status": {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
        "conditions": [
            condition("Progressing", "NewReplicaSetAvailable"),
            condition("Available", "MinimumReplicasAvailable"),
        ],
    }});
    let request = http::Request::patch("/apis/apps/v1/namespaces/default/deployments/web/status")
        .header("content-type", "application/merge-patch+json")
        .body(status.to_string().into_bytes())
        .unwrap();
    pipeline.cluster.admin.client.request::<Value>(request).await.unwrap();
}

const SITE: &str = r#"{"apiVersion": "example.com/v1", "kind": "Site",
    "metadata": {"name": "web", "namespace": "shop"}, "spec": {"size": 2}}"#;

fn page(namespace: &str) -> Child {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}, "data": {"of": namespace}});
    let target = ObjectRef {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: Some(namespace.into()),
        name: "page".into(),
    };
    Child { target, object: object.to_string().into() }
}

/// What a script says of [`SITE`], which has two children.
async fn reconciled(sandbox: &Sandbox, component: &[u8]) -> Result<Reconciled, Failure> {
    of_parent(sandbox, component, SITE).await
}

async fn of_parent(sandbox: &Sandbox, component: &[u8], parent: &str) -> Result<Reconciled, Failure> {
    asked(sandbox, component, parent, false).await
}

/// What a script says of the end of [`SITE`].
async fn finalized(sandbox: &Sandbox, component: &[u8]) -> Result<Reconciled, Failure> {
    asked(sandbox, component, SITE, true).await
}

async fn asked(sandbox: &Sandbox, component: &[u8], parent: &str, finalizes: bool) -> Result<Reconciled, Failure> {
    let hook = support::load(sandbox, "h", component).await;
    assert!(hook.reconciles() && hook.finalizes(&BindingName::new("sites")) == finalizes);
    for (interface, exported) in [("reconciling", true), ("finalizing", finalizes)] {
        let export = format!("boathook:hook/{interface}@0.1.0");
        assert_eq!(hook.exports().contains(&export), exported, "{:?}", hook.exports());
    }
    let plan = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gold"}});
    let reconcile = Reconcile {
        binding: BindingName::new("sites"),
        parent: parent.into(),
        finalizes,
        children: vec![page("other"), page("shop")],
        related: vec![RelatedObject { entry: "plan".into(), object: plan.to_string().into() }],
        snapshots: Arc::new([BindingName::new("plans")]),
    };
    let (caller, trigger) = (caller("h"), trigger("h", "sites", Cause::Synchronization));
    let request = ReconcileRequest { caller, attempt: 3, trigger, reconcile, limits: plenty() };
    sandbox.reconcile(&hook, request, Arc::new(Memory::default())).await.outcome
}

const TYPESCRIPT: &str = r#"import { type Parent, hook } from "@boathook/sdk";

export default hook({
  config: { reconcile: [{ name: "sites", apiVersion: "example.com/v1", kind: "Site", owns: [{ apiVersion: "v1", kind: "ConfigMap" }] }] },
  async reconcile(site: Parent<{ size: number }>, binding, info) {
    const conditions = [
      { type: "Ready", status: true, reason: "Served", message: "it is served" },
      { type: "Paid", status: false, reason: "Bill", message: "it is not paid" },
      { type: "Known", status: "Unknown" as const, reason: "NoAnswer", message: "" },
    ];
    const place = (name?: string) => site.child("ConfigMap", "page", name)?.object as { data?: object } | undefined;
    const status = {
      binding, attempt: info.attempt, hook: info.hook, name: site.name, namespace: site.namespace, size: site.spec.size,
      kind: site.object.kind, snapshots: site.snapshots, targets: site.children.map(({ target }) => target),
      own: place()?.data, other: place("other")?.data, gone: site.child("Secret", "page") === undefined,
      related: site.related.map(({ name, object }) => `${name} ${object.metadata?.name}`),
    };
    const events = [{ reason: "Seen", message: "it is seen" }, { type: "Warning" as const, reason: "Late", message: "" }];
    return { children: [{ kind: "ConfigMap" }], status, conditions, requeueAfter: 1500, events };
  },
});
"#;

const PYTHON: &str = r#"import boathook
from boathook import Condition, Desired, Parent, ReconcileEvent

boathook.configure({"reconcile": [
    {"name": "sites", "apiVersion": "example.com/v1", "kind": "Site", "owns": [{"apiVersion": "v1", "kind": "ConfigMap"}]}
]})

@boathook.on_reconcile("sites")
def reconcile(site: Parent) -> Desired:
    conditions = [
        Condition("Ready", True, "Served", "it is served"),
        Condition("Paid", False, "Bill", "it is not paid"),
        Condition("Known", "Unknown", "NoAnswer", ""),
    ]
    targets = [child.target for child in site.children]
    status = {
        "binding": site.binding, "attempt": site.info.attempt, "hook": boathook.info().hook, "name": site.name,
        "namespace": site.namespace, "size": site.spec["size"], "kind": site.object["kind"], "snapshots": site.snapshots,
        "targets": [
            {"apiVersion": it.api_version, "kind": it.kind, "namespace": it.namespace, "name": it.name} for it in targets
        ],
        "own": site.child("ConfigMap", "page").object["data"],
        "other": site.child("ConfigMap", "page", "other").object["data"],
        "gone": site.child("Secret", "page") is None,
        "related": [f"{one.name} {one.object['metadata']['name']}" for one in site.related],
    }
    events = [ReconcileEvent("Seen", "it is seen"), ReconcileEvent("Late", "", "Warning")]
    return Desired([{"kind": "ConfigMap"}], status=status, conditions=conditions, requeue_after=1.5, events=events)
"#;

fn typescript(text: &str) -> Vec<u8> {
    fs::read(build::built(build::project(text).path()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_script_sees_the_parent_and_says_what_should_be() {
    let of_typescript = reconciled(&super::sandbox(), &typescript(TYPESCRIPT)).await.unwrap();
    let of_python = reconciled(&python::sandbox().await, &python::packed(&[("hook.py", PYTHON)])).await.unwrap();
    let target =
        |namespace: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "page"});
    let seen = json!({
        "binding": "sites", "attempt": 3, "hook": "h", "name": "web", "namespace": "shop", "size": 2, "kind": "Site",
        "snapshots": ["plans"], "targets": [target("other"), target("shop")],
        "own": {"of": "shop"}, "other": {"of": "other"}, "gone": true, "related": ["plan gold"],
    });
    let event = |r#type, reason: &str, message: &str| {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        OwnEvent { r#type, reason, message }
    };
    let condition = |of: &str, holds, reason: &str, message: &str| {
        let (r#type, reason, message) = (of.to_owned(), reason.to_owned(), message.to_owned());
        OwnCondition { r#type, holds, reason, message }
    };
    for mut found in [of_typescript, of_python] {
        let status: Value = serde_json::from_str(&found.status.take().unwrap()).unwrap();
        assert_eq!(status, seen);
        let children: Vec<Value> = found.children.drain(..).map(|one| serde_json::from_str(&one).unwrap()).collect();
        assert_eq!(children, [json!({"kind": "ConfigMap"})]);
        let expected = Reconciled {
            children: Vec::new(),
            none_wanted: false,
            status: None,
            conditions: vec![
                condition("Ready", Some(true), "Served", "it is served"),
                condition("Paid", Some(false), "Bill", "it is not paid"),
                condition("Known", None, "NoAnswer", ""),
            ],
            requeue_after: Some(Duration::from_millis(1500)),
            done: false,
            events: vec![event(EventType::Normal, "Seen", "it is seen"), event(EventType::Warning, "Late", "")],
        };
        assert_eq!(found, expected);
    }
}

fn nothing() -> Reconciled {
    Reconciled {
        children: Vec::new(),
        none_wanted: false,
        done: false,
        status: None,
        conditions: Vec::new(),
        requeue_after: None,
        events: Vec::new(),
    }
}

#[tokio::test]
async fn a_script_says_when_a_parent_may_end() {
    let js = super::sandbox();
    let script = |answer: &str| {
        let text = format!(
            "export default {{ config: {{}}, reconcile() {{ return {{}} }}, finalize(info, binding, parent) {{\n{answer}\n}} }};\n"
        );
        packed(&[("hook.js", &text)])
    };
    let done = Reconciled { none_wanted: true, done: true, ..nothing() };
    assert_eq!(finalized(&js, &script("return { done: true }")).await, Ok(done.clone()));
    let left = "return { done: false, children: [JSON.parse(parent.children[0].object)], requeueAfter: 200 }";
    let found = finalized(&js, &script(left)).await.unwrap();
    assert!(!found.done && found.children.len() == 1 && found.children[0].contains("ConfigMap"), "{found:?}");
    assert_eq!(found.requeue_after, Some(Duration::from_millis(200)));
    for (answer, told) in [
        ("return", "it must be an object with done, children, status, conditions, requeueAfter, events"),
        ("return {}", "done must be true or false"),
        ("return { done: 1 }", "done must be true or false"),
        ("return { done: true, noneWanted: true }", "noneWanted is unknown: the keys are done, children"),
    ] {
        let failure = finalized(&js, &script(answer)).await.unwrap_err();
        let told = format!("finalize returned an invalid answer: {told}");
        assert!(failure.kind == FailureKind::Permanent && failure.message.starts_with(&told), "{answer}: {failure}");
    }

    let python = python::sandbox().await;
    let script = |answer: &str| {
        let text = format!(
            "import boathook\nfrom boathook import Desired, Finalized\nboathook.configure('configVersion: v1')\n\
             @boathook.on_reconcile('sites')\ndef reconcile(site): return Desired()\n\
             @boathook.on_finalize('sites')\ndef finalize(site):\n    {answer}\n"
        );
        python::packed(&[("hook.py", &text)])
    };
    assert_eq!(finalized(&python, &script("return Finalized(done=True)")).await, Ok(done));
    let left = "return Finalized(False, [site.children[0].object], requeue_after=0.2)";
    let found = finalized(&python, &script(left)).await.unwrap();
    assert!(!found.done && found.children.len() == 1 && found.children[0].contains("ConfigMap"), "{found:?}");
    for (answer, told) in [
        ("return None", "it must be a Finalized, and is NoneType"),
        ("return Desired()", "it must be a Finalized, and is Desired"),
        ("return Finalized(done='yes')", "done must be True or False, and is str"),
    ] {
        let failure = finalized(&python, &script(answer)).await.unwrap_err();
        let told = format!("@on_finalize(\"sites\") returned an invalid answer: {told}");
        assert!(failure.kind == FailureKind::Permanent && failure.message.starts_with(&told), "{answer}: {failure}");
    }
}

#[tokio::test]
async fn nothing_is_wanted_only_if_the_script_says_so() {
    let (js, python) = (super::sandbox(), python::sandbox().await);
    for (none_wanted, script, snake) in [(false, "{}", ""), (true, "{ noneWanted: true }", "none_wanted=True")] {
        let nothing = Reconciled { none_wanted, ..nothing() };
        let of_js = reconciled(&js, &in_javascript(&format!("return {script}"))).await;
        assert_eq!(of_js, Ok(nothing.clone()));
        let of_python = reconciled(&python, &in_python(&format!("return Desired({snake})"))).await;
        assert_eq!(of_python, Ok(nothing));
    }
}

/// The body is line 2 of `hook.js`.
fn in_javascript(body: &str) -> Vec<u8> {
    packed(&[(
        "hook.js",
        &format!("export default {{ config: {{}}, reconcile(info, binding, parent) {{\n{body}\n}} }};\n"),
    )])
}

/// The body is line 6 of `hook.py`.
fn in_python(body: &str) -> Vec<u8> {
    let text = format!(
        "import boathook\nfrom boathook import Condition, Desired, Permanent, ReconcileEvent, Retry\nboathook.configure('configVersion: v1')\n\
         @boathook.on_reconcile('sites')\ndef reconcile(site):\n    {body}\n"
    );
    python::packed(&[("hook.py", &text)])
}

#[tokio::test]
async fn an_answer_of_a_wrong_type_is_reported_with_its_key() {
    let sandbox = super::sandbox();
    for (answer, told) in [
        ("undefined", "it must be an object with children, noneWanted, status, conditions, requeueAfter, events"),
        ("[]", "it must be an object"),
        ("'children'", "it must be an object"),
        (
            "{ child: [] }",
            "child is unknown: the keys are children, noneWanted, status, conditions, requeueAfter, events",
        ),
        ("{ children: {} }", "children must be an array"),
        ("{ children: [{}, null] }", "children[1] must be an object"),
        ("{ children: [[]] }", "children[0] must be an object"),
        ("{ children: [() => 1] }", "children[0] must be an object"),
        ("{ children: [{ size: 1n }] }", "children[0] cannot be written as JSON: TypeError: "),
        ("(() => { const a = {}; a.a = a; return { status: a } })()", "status cannot be written as JSON: TypeError: "),
        ("{ noneWanted: 'no' }", "noneWanted must be true or false"),
        ("{ status: [] }", "status must be an object"),
        ("{ conditions: 'Ready' }", "conditions must be an array"),
        ("{ conditions: ['Ready'] }", "conditions[0] must be an object with type, status, reason, message"),
        ("{ conditions: [{ status: true, reason: 'A', message: '' }] }", "conditions[0].type must be a text"),
        (
            "{ conditions: [{ type: 'A', status: 'yes', reason: 'A', message: '' }] }",
            "conditions[0].status must be true, false, \"True\", \"False\" or \"Unknown\"",
        ),
        (
            "{ conditions: [{ type: 'A', status: true, reason: 'A', message: '', since: 1 }] }",
            "conditions[0].since is unknown: the keys are type, status, reason, message",
        ),
        ("{ events: [{ reason: 'A' }] }", "events[0].message must be a text"),
        ("{ events: [{ type: 'Bad', reason: 'A', message: '' }] }", "events[0].type must be \"Normal\" or \"Warning\""),
        ("{ requeueAfter: '1s' }", "requeueAfter must be a number of milliseconds that is not negative"),
        ("{ requeueAfter: -1 }", "requeueAfter must be a number of milliseconds that is not negative"),
        ("{ requeueAfter: NaN }", "requeueAfter must be a number of milliseconds that is not negative"),
    ] {
        let failure = reconciled(&sandbox, &in_javascript(&format!("return {answer}"))).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Permanent, "{answer}: {failure}");
        let told = format!("reconcile returned an invalid answer: {told}");
        assert!(failure.message.starts_with(&told), "{answer}: {failure}");
    }

    let sandbox = python::sandbox().await;
    for (answer, told) in [
        ("None", "it must be a Desired, and is NoneType"),
        ("{'children': []}", "it must be a Desired, and is dict"),
        ("Desired({})", "children must be a list, and is dict"),
        ("Desired([{}, 'page'])", "children[1] must be a dictionary, and is str"),
        ("Desired([{'a': {1}}])", "children[0] cannot be written as JSON: Object of type set"),
        ("Desired(none_wanted='no')", "none_wanted must be True or False, and is str"),
        ("Desired(status=[])", "status must be a dictionary, and is list"),
        ("Desired(conditions=['Ready'])", "conditions[0] must be a Condition, and is str"),
        (
            "Desired(conditions=[Condition('A', 'yes', 'A', '')])",
            "conditions[0].status must be True, False or \"Unknown\"",
        ),
        ("Desired(conditions=[Condition('A', True, 'A', 1)])", "conditions[0].message must be a text, and is int"),
        ("Desired(events=['A'])", "events[0] must be a ReconcileEvent, and is str"),
        ("Desired(events=[ReconcileEvent('A', 1)])", "events[0].message must be a text, and is int"),
        ("Desired(requeue_after='1s')", "requeue_after must be a number of seconds or a timedelta, and is str"),
    ] {
        let failure = reconciled(&sandbox, &in_python(&format!("return {answer}"))).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Permanent, "{answer}: {failure}");
        let told = format!("@on_reconcile(\"sites\") returned an invalid answer: {told}");
        assert!(failure.message.starts_with(&told), "{answer}: {failure}");
    }
}

#[tokio::test]
async fn what_is_thrown_says_what_happens_next() {
    let later = FailureKind::RetryAfter(Duration::from_millis(1500));
    let sandbox = super::sandbox();
    for (body, kind, told) in [
        ("throw new Error('x')", FailureKind::Retry, "x (reconcile hook.js:2:"),
        ("throw new RangeError('x')", FailureKind::Retry, "RangeError: x (reconcile hook.js:2:"),
        ("throw Object.assign(new Error('x'), {'boathook:next': 1500})", later, "x"),
        ("throw Object.assign(new Error('x'), {'boathook:next': 'permanent'})", FailureKind::Permanent, "x"),
        ("return Promise.reject(new Error('x'))", FailureKind::Retry, "x (reconcile hook.js:2:"),
        (
            "return new Promise(() => {})",
            FailureKind::Permanent,
            "the script waits for a promise that nothing can resolve",
        ),
    ] {
        let failure = reconciled(&sandbox, &in_javascript(body)).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{body}: {failure}");
        assert!(failure.message.starts_with(told), "{body}: {failure}");
    }

    let sandbox = python::sandbox().await;
    for (body, kind, told) in [
        ("raise ValueError('x')", FailureKind::Retry, "ValueError: x (reconcile hook.py:6)"),
        ("return site.spec['gone']", FailureKind::Retry, "KeyError: 'gone' (reconcile hook.py:6)"),
        ("raise Retry('x', after=1.5)", later, "x"),
        ("raise Permanent('x')", FailureKind::Permanent, "x"),
    ] {
        let failure = reconciled(&sandbox, &in_python(body)).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{body}: {failure}");
        assert!(failure.message.starts_with(told), "{body}: {failure}");
    }
}

#[tokio::test]
async fn a_parent_without_a_spec_is_named() {
    let bare = r#"{"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "web", "namespace": "shop"}}"#;
    let of_typescript = of_parent(&super::sandbox(), &typescript(TYPESCRIPT), bare).await.unwrap_err();
    let of_python =
        of_parent(&python::sandbox().await, &python::packed(&[("hook.py", PYTHON)]), bare).await.unwrap_err();
    for failure in [of_typescript, of_python] {
        assert_eq!(failure.kind, FailureKind::Permanent, "{failure}");
        assert_eq!(failure.message, "there is no spec of Site shop/web");
    }
}

const SITES: &str =
    "reconcile: [{name: sites, apiVersion: example.com/v1, kind: Site, owns: [{apiVersion: v1, kind: ConfigMap}]}]";

/// What is reported of a hook that does not load.
async fn refused(sandbox: &Sandbox, component: Vec<u8>) -> String {
    let Err(error) = load(&name("h"), &component, sandbox).await else { panic!("it is loaded") };
    error_chain(&error)
}

#[tokio::test]
async fn a_function_and_its_binding_need_each_other() {
    let js = super::sandbox();
    let script = |document: &str, functions: &str| {
        let text = format!("export default {{ config: `configVersion: v1\n{document}\n`, {functions} }};\n");
        packed(&[("hook.js", &text)])
    };
    assert!(load(&name("h"), &script(SITES, "reconcile() { return {} }"), &js).await.is_ok());
    let told = refused(&js, script(SITES, "run() {}")).await;
    assert!(told.contains("no function is reconcile, which the configuration's reconcile bindings need"), "{told}");
    let told = refused(&js, script("onStartup: 1", "run() {}, reconcile() { return {} }")).await;
    assert!(told.contains("the function reconcile: the configuration has no reconcile binding; add one"), "{told}");
    let told = refused(&js, script("onStartup: 1", "run() {}, finalize() { return { done: true } }")).await;
    assert!(told.contains("the function finalize: the configuration has no reconcile binding; add one"), "{told}");

    let python = python::sandbox().await;
    // The SDK compares a dictionary, and the operator a text.
    let dictionary = "{'reconcile': [{'name': 'sites', 'apiVersion': 'example.com/v1', 'kind': 'Site', 'owns': [{'apiVersion': 'v1', 'kind': 'ConfigMap'}]}]}";
    let text = format!("'configVersion: v1\\n{SITES}'");
    for document in [dictionary, text.as_str()] {
        let script = |function: &str| {
            let head = format!("import boathook\nfrom boathook import Desired\nboathook.configure({document})\n");
            python::packed(&[("hook.py", &format!("{head}{function}"))])
        };
        let function = |binding: &str| format!("@boathook.on_reconcile('{binding}')\ndef f(site): return Desired()\n");
        assert!(load(&name("h"), &script(&function("sites")), &python).await.is_ok(), "{document}");
        let told = refused(&python, script("@boathook.on_run\ndef f(ctx): pass\n")).await;
        assert!(told.contains("no function is @on_reconcile(\"sites\"), which the configuration needs"), "{told}");
        let told = refused(&python, script(&function("site"))).await;
        assert!(told.contains("@on_reconcile(\"site\"): the configuration has no such binding"), "{told}");
    }
}
