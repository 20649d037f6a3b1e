//! The calls themselves, in the order in which they are made.
//!
//! It judges no answer.

use crate::{Tester, report, report_write, shorten};
use boathook_sdk::kube::{self, EventType, IfExists, Object, ObjectRef, Operation, Propagation};
use boathook_sdk::serde_json::{Value, json};
use std::time::Duration;

impl Tester<'_> {
    pub(crate) fn reads_and_creates(&self) {
        let create = |name: &str, value: &str| Operation::create_object(&self.object(name, value));
        report_write("create", create("a", "1").run());
        report_write("create-again", create("a", "2").run());
        report_write("create-keep", create("a", "3").if_exists(IfExists::Keep).run());
        report_write("create-replace", create("a", "4").if_exists(IfExists::Replace).run());
        let mut nameless = self.object("", "5");
        nameless["metadata"] =
            json!({"generateName": "gen-", "namespace": self.namespace, "labels": {"made-by": "allkube"}});
        report_write("create-generate-name", Operation::create_object(&nameless).run());
        report_write("create-invalid", create("Not A Name", "6").run());
        report_write("create-no-json-object", Operation::create_object(&json!([1])).run());

        report("get", self.get("a"));
        report("get-missing", self.get("missing"));
        report("list", self.names(None, None, "made-by=allkube"));
        report("list-pages", self.names(Some(1), None, "made-by=allkube"));
        report("list-field", self.names(None, Some("metadata.name=a"), ""));
        report("list-bad-selector", self.names(None, None, "a in b in c"));
        report("list-unknown-kind", kube::list_objects::<Object>("v1", "Teapot").all().map(|all| json!(all.len())));
    }

    pub(crate) fn updates_and_patches(&self) {
        let target = || self.configmap("a");
        report_write("update", Operation::update_object(&self.object("a", "u")).run());
        let mut stale = self.object("a", "v");
        stale["metadata"]["resourceVersion"] = json!("1");
        report_write("update-stale", Operation::update_object(&stale).run());
        report_write("update-missing", Operation::update_object(&self.object("missing", "v")).run());

        let json_patch = json!([{"op": "add", "path": "/data/json", "value": "1"}]);
        report_write("patch-json", Operation::json_patch(target(), &json_patch).run());
        let failing = json!([{"op": "test", "path": "/data/json", "value": "2"}]);
        report_write("patch-json-test-fails", Operation::json_patch(target(), &failing).run());
        report_write(
            "patch-merge",
            Operation::merge_patch(target(), &json!({"data": {"merge": "1", "json": null}})).run(),
        );
        report_write("patch-jq", Operation::jq_patch(target(), r#".data.jq = "1""#).run());
        report_write("patch-jq-same", Operation::jq_patch(target(), ".").run());
        report_write("patch-jq-bad", Operation::jq_patch(target(), ".data | nonsense(").run());
        let label = json!({"metadata": {"labels": {"x": "y"}}});
        report_write("patch-missing", Operation::merge_patch(self.configmap("missing"), &label).run());
        report_write(
            "patch-ignore-missing",
            Operation::merge_patch(self.configmap("missing"), &label).ignore_missing().run(),
        );

        let apply = |name: &str, value: &str| Operation::apply_object(&self.object(name, value));
        report_write("apply-creates", apply("applied", "1").run());
        report_write("apply-conflict", apply("applied", "2").field_manager("somebody-else").run());
        report_write("apply-force", apply("applied", "3").field_manager("somebody-else").force().run());
    }

    pub(crate) fn deployment(&self) {
        let labels = json!({"app": "web"});
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": self.namespace},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
                },
            },
        });
        let target = || self.deployment_ref();
        report_write("deployment-create", Operation::create_object(&deployment).run());
        let container = json!({"name": "side", "image": "side:1"});
        let strategic = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        report("patch-strategic", self.containers(Operation::strategic_patch(target(), &strategic)));
        let status = json!({"status": {"observedGeneration": 1, "replicas": 1}});
        report_write("patch-status", Operation::merge_patch(target(), &status).subresource("status").run());
        report("get-scale", kube::get_subresource::<Object>(&target(), "scale").map(|o| shorten(Ok(o))));
        let scale = json!({"spec": {"replicas": 2}});
        report_write("patch-scale", Operation::merge_patch(target(), &scale).subresource("scale").run());
    }

    pub(crate) fn deletes(&self) {
        let target = |name: &str| self.configmap(name);
        report_write("delete-missing", Operation::delete(target("missing")).run());
        report_write("delete-ignore-missing", Operation::delete(target("missing")).ignore_missing().run());
        report_write("delete-other-uid", Operation::delete(target("a")).if_uid("no-such-uid").run());
        report_write("delete-other-version", Operation::delete(target("a")).if_resource_version("1").run());
        report_write("delete", Operation::delete(target("a")).run());
        let wait = Duration::from_secs(5);
        let deletion = Operation::delete(target("applied")).propagation(Propagation::Foreground).wait(wait);
        report_write("delete-wait", deletion.run());
        report_write("delete-orphan", Operation::delete(self.deployment_ref()).propagation(Propagation::Orphan).run());
    }

    pub(crate) fn batch(&self) {
        let b = || self.configmap("b");
        let operations = [
            ("batch-1-create", Operation::create_object(&self.object("b", "1"))),
            ("batch-2-patch", Operation::merge_patch(b(), &json!({"data": {"key": "2"}}))),
            ("batch-3-other", Operation::create_object(&self.object("c", "1"))),
            ("batch-4-malformed", Operation::apply_object(&json!({"kind": "ConfigMap"}))),
            ("batch-5-delete", Operation::delete(b())),
            ("batch-6-patch-deleted", Operation::merge_patch(b(), &json!({"data": {"key": "3"}}))),
        ];
        let (calls, operations): (Vec<_>, Vec<_>) = operations.into_iter().unzip();
        for (call, answer) in calls.into_iter().zip(kube::batch(operations)) {
            report_write(call, answer);
        }
        report("batch-empty", Ok(json!(kube::batch([]).len())));
    }

    pub(crate) fn others(&self, woken_by: &ObjectRef) {
        let emitted = kube::emit_event(woken_by, EventType::Normal, "Tested", "All calls were made.");
        report("emit-event", emitted.map(|()| Value::Null));
        let secret = ObjectRef::new("v1", "Secret", self.namespace, "any");
        report("get-forbidden", kube::get_object::<Object>(&secret).map(|o| shorten(Ok(o))));
        report_write("delete-forbidden", Operation::delete(secret).run());
    }

    fn get(&self, name: &str) -> Result<Value, kube::Error> {
        kube::get_object::<Object>(&self.configmap(name)).map(|object| shorten(Ok(object)))
    }

    fn names(&self, page: Option<u32>, fields: Option<&str>, labels: &str) -> Result<Value, kube::Error> {
        let mut list = kube::list_objects::<Object>("v1", "ConfigMap").namespace(self.namespace).labels(labels);
        if let Some(page) = page {
            list = list.page_size(page);
        }
        if let Some(fields) = fields {
            list = list.fields(fields);
        }
        Ok(list.all()?.iter().map(Object::name).collect())
    }

    fn containers(&self, patch: Operation) -> Result<Value, kube::Error> {
        let answer = patch.run()?.and_then(|json| json.parse::<Object>().ok());
        let containers = answer.as_ref().and_then(|o| o.pointer("/spec/template/spec/containers")?.as_array());
        Ok(containers.into_iter().flatten().map(|container| container["name"].clone()).collect())
    }
}
