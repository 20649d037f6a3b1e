"""A HelloApp becomes a Deployment and a Service."""

import boathook
from boathook import Condition, Desired, Parent

boathook.configure(
    {
        "reconcile": [
            {
                "name": "hello",
                "apiVersion": "example.com/v1alpha1",
                "kind": "HelloApp",
                "owns": [{"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "v1", "kind": "Service"}],
            }
        ]
    }
)


@boathook.on_reconcile("hello")
def reconcile(app: Parent) -> Desired:
    image, size = app.spec["image"], app.spec.get("size", 0)
    labels = {"app.kubernetes.io/name": app.name}
    metadata = {"name": app.name, "labels": labels}
    web = {"name": "web", "image": image, "ports": [{"containerPort": 8080}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [web]}}
    pods = {"replicas": size, "selector": {"matchLabels": labels}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": pods}
    port = {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": port}
    ready = app.child_status("Deployment", app.name, "readyReplicas", 0)
    condition = Condition("Ready", ready == size, "Replicas", f"{ready} of {size} replicas are ready")
    return Desired([deployment, service], status={"readyReplicas": ready}, conditions=[condition])
