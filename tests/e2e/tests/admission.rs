//! Hooks that allow, deny and change what somebody asks of the API server, as people see it by kubectl.
//! It never looks at how the API server asks them.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Operator, Said, Test};
use crate::webhooks::reviewer::{HOOK, LENIENT, MUTATE, VALIDATE, config_map};
use crate::webhooks::{OWN, Site};

const IMAGE_POLICY: &str = "image-policy.boathook.dev";
/// `spec.containers[0]`
const CONTAINER: &str = "/spec/containers/0";

pub async fn images_are_reviewed(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let operator = site.operator(&["image-policy"]).await;
    operator.ready().await;
    let cluster = &site.cluster;
    cluster.kubectl(&["create", "namespace", "web"]).await;
    let policy = |registries: &str| format!("--from-literal=registries={registries}");
    let make = ["create", "configmap", "image-policy", "--namespace=web"];
    cluster.kubectl(&[make.as_slice(), &[&policy("registry.example.com/team")]].concat()).await;

    let run = |name, image| ["run", name, "--namespace=web", image];
    let dry = [run("nginx", "--image=nginx").as_slice(), &["--dry-run=server"]].concat();
    let refused = format!(
        "admission webhook \"{IMAGE_POLICY}\" denied the request: image nginx is not from a place that the ConfigMap \
         web/image-policy allows in namespace web"
    );
    site.until_said("a dry run is denied", &dry, |said| said.err.contains(&refused).then_some(())).await;
    let said = cluster.kubectl_says(&run("nginx", "--image=nginx")).await;
    assert!(!said.ok && said.err.contains(&refused), "{said:?}");
    assert_eq!(site.object(&["pods", "nginx", "--namespace=web"]).await, None);
    cluster.kubectl(&run("own", "--image=registry.example.com/team/web:1")).await;
    let said = cluster.kubectl_says(&["debug", "own", "--namespace=web", "--image=busybox", "--quiet"]).await;
    assert!(!said.ok && said.err.contains("image busybox is not"), "{said:?}");

    // What the policy has become decides from then on.
    cluster.kubectl(&["label", "configmap", "image-policy", "--namespace=web", MODE_WARN]).await;
    let warning = "Warning: image nginx is not from a place that the ConfigMap web/image-policy allows";
    site.until_said("only a warning", &dry, |said| (said.ok && said.err.contains(warning)).then_some(())).await;
    let allow = json!({"metadata": {"labels": null}, "data": {"registries": "docker.io"}}).to_string();
    cluster
        .kubectl(&["patch", "configmap", "image-policy", "--namespace=web", "--type=merge", "--patch", &allow])
        .await;
    site.until_said("no warning", &dry, |said| (said.ok && said.err.is_empty()).then_some(())).await;
    cluster.kubectl(&run("nginx", "--image=nginx")).await;
    operator.stop().await;
}

const MODE_WARN: &str = "image-policy.boathook.dev/mode=warn";

pub async fn pods_get_defaults(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let operator = site.operator(&["pod-defaults"]).await;
    operator.ready().await;
    let cluster = &site.cluster;
    cluster.kubectl(&["create", "namespace", "web"]).await;
    cluster.kubectl(&["label", "namespace", "web", "team=shop"]).await;
    let run = ["run", "nginx", "--namespace=web", "--image=nginx", "--output=json"];
    let dry = [run.as_slice(), &["--dry-run=server"]].concat();
    let team = |said: &Said| {
        let pod: Value = serde_json::from_str(&said.out).ok()?;
        (pod["metadata"]["labels"]["team"] == "shop").then_some(pod)
    };
    let pod = site.until_said("the namespace's label is on a Pod", &dry, team).await;
    // What kubectl gave the Pod stays.
    assert_eq!(pod["metadata"]["labels"], json!({"run": "nginx", "team": "shop"}));

    cluster.kubectl(&run).await;
    let stored = cluster.kubectl(&["get", "pod", "nginx", "--namespace=web", "--output=json"]).await;
    let stored: Value = serde_json::from_str(&stored).expect("kubectl prints JSON");
    assert_eq!(stored["metadata"]["labels"], pod["metadata"]["labels"]);
    assert_eq!(stored["spec"]["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    let container = stored.pointer(CONTAINER).expect("a Pod has a container");
    assert_eq!(container["resources"]["requests"], json!({"cpu": "50m", "memory": "64Mi"}));
    assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);

    let skip = ["run", "plain", "--namespace=web", "--image=nginx", "--labels=pod-defaults.boathook.dev/skip=true"];
    let plain = cluster.kubectl(&[skip.as_slice(), &["--output=json", "--dry-run=server"]].concat()).await;
    let plain: Value = serde_json::from_str(&plain).expect("kubectl prints JSON");
    assert_eq!(plain.pointer(CONTAINER).map(|container| &container["resources"]), Some(&json!({})));
    operator.stop().await;
}

/// Both kinds of webhooks of one hook, and what is no decision.
pub async fn only_a_hook_denies(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let operator = site.operator(&[HOOK]).await;
    operator.ready().await;
    site.reviewed().await;
    let create = async |name: &str, labels: Value, wishes: &[(&str, &str, &str)], flags: &[&str]| {
        let mut map = config_map("default", name, wishes);
        map["metadata"]["labels"] = labels;
        let file = site.file("map.json", &map);
        let arguments = [["create", "--output=json", "--filename", &file].as_slice(), flags].concat();
        site.cluster.kubectl_says(&arguments).await
    };

    let wishes = [(VALIDATE, "deny", "not here"), (VALIDATE, "warn", "mind the gap"), (VALIDATE, "code", "422")];
    let said = create("denied", json!({}), &wishes, &[]).await;
    let denied = format!("admission webhook \"{VALIDATE}\" denied the request: not here");
    assert!(!said.ok && said.err.contains(&denied) && said.err.contains("Warning: mind the gap"), "{said:?}");
    let wishes = [(VALIDATE, "warn", "mind the gap"), (MUTATE, "label", "yes")];
    let said = create("mutated", json!({}), &wishes, &[]).await;
    let map: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!(map["metadata"]["labels"]["reviewed"], "yes");
    assert!(said.err.contains("Warning: mind the gap"), "{said:?}");

    // A hook writes, too, but not in a dry run.
    for (name, flags, there) in [("dry", ["--dry-run=server"].as_slice(), false), ("wet", &[], true)] {
        let written = format!("{name}-written");
        let said = create(name, json!({}), &[(VALIDATE, "write", written.as_str())], flags).await;
        assert!(said.ok, "{said:?}");
        assert_eq!(site.cluster.try_kubectl(&["get", "configmap", &written]).await.is_ok(), there, "{written}");
    }

    // Whatever goes wrong otherwise is for the policy to decide.
    let said = create("trapped", json!({}), &[(VALIDATE, "trap", "oh no")], &[]).await;
    let names = |text: &str| text.contains("hook reviewer") && text.contains(VALIDATE) && text.contains("oh no");
    assert!(!said.ok && said.err.contains("failed calling webhook") && names(&said.err), "{said:?}");
    let lenient = json!({"lenient": "yes"});
    let said = create("let-through", lenient.clone(), &[(LENIENT, "trap", "oh no")], &[]).await;
    assert!(said.ok, "{said:?}");
    let said = create("not-let-through", lenient, &[(LENIENT, "deny", "a denial is one")], &[]).await;
    assert!(!said.ok && said.err.contains("denied the request: a denial is one"), "{said:?}");
    let trap = |binding: &str| {
        let of = |line: &Value| line["why"] == "trap" && line["binding"] == binding;
        operator.log().iter().filter(|line| of(line)).count()
    };
    assert_eq!((trap(VALIDATE), trap(LENIENT)), (1, 1), "the log tells of traps");
    operator.stop().await;
}

/// Names that Kubernetes has no objects of, over a Service: the API server is stricter with its paths.
pub async fn a_hook_of_any_name(test: Arc<Test>) {
    let site = Site::new(&test).await;
    let odd = "Odd_One.=test/reviewer";
    let operator = site.operator(&[odd]).await;
    operator.ready().await;
    site.reviewed().await;
    operator.stop().await;

    let flags = ["--webhook-listen", "127.0.0.1:0", "--webhook-service", "boathook"];
    let operator = Operator::start_with(test.dir(), &site.kubeconfig, &[], &flags).await;
    for (kind, path) in [("validating", "/validate/"), ("mutating", "/mutate/")] {
        let kind = format!("{kind}webhookconfigurations");
        let service = site
            .until(&[&kind, "--selector=boathook.dev/hook=Odd_One"], |list| {
                list.pointer("/items/0/webhooks/0/clientConfig/service").cloned()
            })
            .await;
        assert_eq!((&service["name"], &service["namespace"]), (&json!("boathook"), &json!(OWN)));
        assert!(service["path"].as_str().is_some_and(|found| found.starts_with(path)), "{service}");
    }
    operator.stop().await;
}
