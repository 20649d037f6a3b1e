//! The real kubectl against the local cluster.
//!
//! Without kubectl on the machine these tests print a line and pass.

use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::support::{Fixture, soon, start};

struct Kubectl {
    _fixture: Fixture,
    home: TempDir,
}

impl Kubectl {
    async fn start() -> Option<Self> {
        let found = Command::new("kubectl").args(["version", "--client"]).output().await.is_ok();
        if !found {
            println!("skipped: there is no kubectl on this machine");
            return None;
        }
        let fixture = start().await;
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("kubeconfig"), fixture.cluster.kubeconfig()).unwrap();
        Some(Self { _fixture: fixture, home })
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new("kubectl");
        // A middle dot stands for a space inside an argument.
        command.args(args.split_whitespace().map(|a| a.replace('\u{b7}', " ")));
        command.env("KUBECONFIG", self.home.path().join("kubeconfig")).env("HOME", self.home.path()).kill_on_drop(true);
        command
    }

    async fn run(&self, args: &str, input: Option<&str>) -> (bool, String) {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.unwrap_or_default().as_bytes()).await.unwrap();
        drop(stdin);
        let output = soon(args, child.wait_with_output()).await.unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    async fn ok(&self, args: &str) -> String {
        let (ok, text) = self.run(args, None).await;
        assert!(ok, "kubectl {args}: {text}");
        text
    }

    async fn with(&self, args: &str, input: &str) -> String {
        let (ok, text) = self.run(args, Some(input)).await;
        assert!(ok, "kubectl {args}: {text}");
        text
    }

    async fn fails(&self, args: &str) -> String {
        let (ok, text) = self.run(args, None).await;
        assert!(!ok, "kubectl {args} went well: {text}");
        text
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

const APP: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: 'nginx:1', env: [{name: A, value: '1'}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
";

#[tokio::test]
async fn create_get_and_delete() {
    let Some(k) = Kubectl::start().await else {
        return;
    };
    k.ok("create namespace foo").await;
    k.ok("-n foo create secret generic s --from-literal=a=b").await;
    k.ok("-n foo create configmap c --from-literal=a=b").await;
    k.ok("-n foo create deployment d --image=nginx:1 --replicas=2 --port=80").await;
    let secret = k.ok("-n foo get secret s -o jsonpath={.data.a}").await;
    assert_eq!(secret, "Yg==");
    let table = k.ok("-n foo get deployment -o wide").await;
    let header: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(header, ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]);
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((&row[..2], &row[5..]), (&["d", "0/2"][..], &["nginx", "nginx:1", "app=d"][..]));
    assert!(k.ok("get configmap -A --field-selector metadata.name=c").await.starts_with("NAMESPACE"));
    assert!(k.ok("-n foo get secret -l nothing=here").await.contains("No resources found"));
    assert!(k.ok("-n foo describe deployment d").await.contains("Replicas:               2 desired"));
    assert!(k.ok("-n foo get all").await.contains("deployment.apps/d"));
    assert!(k.fails("-n foo get pod x").await.contains("Error from server (NotFound): pods \"x\" not found"));
    k.ok("delete namespace foo").await;
    assert!(k.fails("get namespace foo").await.contains("namespaces \"foo\" not found"));
}

#[tokio::test]
async fn apply_from_the_client_and_from_the_server() {
    let Some(k) = Kubectl::start().await else {
        return;
    };
    let file = k.file("app.yaml", APP);
    let apply = format!("apply -f {}", file.display());
    assert!(k.ok(&apply).await.contains("deployment.apps/web created"));
    assert!(k.ok(&apply).await.contains("deployment.apps/web unchanged"));
    k.file("app.yaml", &APP.replace("name: A", "name: B"));
    assert!(k.ok(&apply).await.contains("deployment.apps/web configured"));
    let env = "get deployment web -o jsonpath={.spec.template.spec.containers[0].env[*].name}";
    assert_eq!(k.ok(env).await, "B");
    k.file("app.yaml", &APP.replace("nginx:1", "nginx:2"));
    let server = format!("apply --server-side -f {}", file.display());
    let conflict = k.fails(&server).await;
    assert!(conflict.contains("conflict with \"kubectl-client-side-apply\" using apps/v1"), "{conflict}");
    k.ok(&format!("{server} --force-conflicts")).await;
    assert_eq!(k.ok(env).await, "A");
    assert!(k.ok("get deployment web -o yaml --show-managed-fields").await.contains("operation: Apply"));
}

#[tokio::test]
async fn change_in_every_way() {
    let Some(k) = Kubectl::start().await else {
        return;
    };
    k.with("apply -f -", APP).await;
    k.ok("label deployment web a=b").await;
    k.ok("annotate deployment web note=yes").await;
    assert_eq!(k.ok("get deployment -l a=b -o name").await, "deployment.apps/web\n");
    k.ok(r#"patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"c","tty":true}]}}}}"#).await;
    k.ok(r#"patch deployment web --type=merge -p {"spec":{"paused":true}}"#).await;
    k.ok(r#"patch deployment web --type=json -p [{"op":"remove","path":"/spec/paused"}]"#).await;
    k.ok("scale deployment web --replicas=5").await;
    let edit = k.command("edit deployment web").env("EDITOR", "sed -i s/nginx:1/nginx:9/").output().await.unwrap();
    assert!(edit.status.success(), "{edit:?}");
    let state = "get deployment web -o jsonpath={.spec.replicas}:{.spec.paused}:{.spec.template.spec.containers[0].image}:{.spec.template.spec.containers[0].tty}";
    assert_eq!(k.ok(state).await, "5::nginx:9:true");
    k.ok("wait --for=jsonpath={.spec.replicas}=5 deployment/web --timeout=5s").await;
    let node = "---\n{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {conditions: [{type: Ready, status: 'True'}]}}";
    k.with("create -f -", node).await;
    k.ok("taint node n1 dedicated=x:NoSchedule").await;
    assert_eq!(k.ok("get node n1 -o jsonpath={.spec.taints[0].key}").await, "dedicated");
    k.ok("taint node n1 dedicated-").await;
    assert_eq!(k.ok("get node n1 -o jsonpath={.spec.taints}").await, "");
    k.ok("wait --for=condition=Ready node/n1 --timeout=5s").await;
    assert!(k.ok("get nodes").await.contains("Ready"));
    k.ok("delete service web").await;
    k.ok("wait --for=delete service/web --timeout=5s").await;
}

#[tokio::test]
async fn watch_as_it_happens() {
    let Some(k) = Kubectl::start().await else {
        return;
    };
    k.ok("create configmap a --from-literal=x=y").await;
    let mut child = k.command("get configmap -w --output-watch-events").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for wanted in ["EVENT NAME", "ADDED a", "MODIFIED a", "DELETED a"] {
        match wanted {
            "MODIFIED a" => k.ok("label configmap a l=m").await,
            "DELETED a" => k.ok("delete configmap a").await,
            _ => String::new(),
        };
        let line = soon("a line of kubectl get -w", lines.next_line()).await.unwrap().expect("kubectl ended");
        assert_eq!(line.split_whitespace().take(2).collect::<Vec<_>>().join(" "), wanted);
    }
    child.kill().await.unwrap();
}

#[tokio::test]
async fn discovery_and_definitions() {
    let Some(k) = Kubectl::start().await else {
        return;
    };
    let versions = k.ok("api-versions").await;
    assert!(versions.lines().any(|l| l == "apps/v1") && versions.lines().any(|l| l == "v1"));
    assert!(k.ok("version").await.contains("Server Version: v1.36"));
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Color, type: string, jsonPath: .spec.color}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {color: {type: string}}}}}}
";
    k.with("apply -f -", definition).await;
    k.ok("wait --for=condition=Established crd/widgets.example.com --timeout=5s").await;
    let widget = "---\n{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}, spec: {color: blue}}";
    assert!(k.with("apply -f -", widget).await.contains("created"));
    assert!(k.with("apply -f -", &widget.replace("blue", "red")).await.contains("configured"));
    let table = k.ok("get wd").await;
    assert_eq!(table.split_whitespace().collect::<Vec<_>>(), ["NAME", "COLOR", "w", "red"]);
    assert!(k.ok("api-resources --api-group=example.com").await.contains("Widget"));
    k.ok("delete crd widgets.example.com").await;
    k.fails("get wd").await;
}

#[tokio::test]
async fn refusals_read_well() {
    let Some(k) = Kubectl::start().await else {
        return;
    };
    let unknown = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, dataa: {}}";
    let (ok, text) = k.run("create -f -", Some(unknown)).await;
    assert!(!ok && text.contains("strict decoding error: unknown field \"dataa\""), "{text}");
    let (ok, text) =
        k.run("create -f -", Some("---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: Bad_Name}}")).await;
    assert!(!ok && text.contains("The ConfigMap \"Bad_Name\" is invalid: metadata.name"), "{text}");
    assert!(k.fails("-n nope create configmap x").await.contains("namespaces \"nope\" not found"));
    assert!(k.fails("delete namespace default").await.contains("this namespace may not be deleted"));
}
