# Turns a WebApp into a Deployment and a Service, and shows in its status how many replicas are ready.
#
# It writes nothing itself: the operator applies what `reconcile` returns, repairs it, and deletes it with the WebApp.

from typing import Annotated, NotRequired, TypedDict

import boathook
from boathook import Condition, Desired, Parent
from boathook.crd import Column, Field


class Spec(TypedDict):
    image: Annotated[str, Field(min_length=1)]
    size: NotRequired[Annotated[int, Field(minimum=0, default=1)]]


class Status(TypedDict, total=False):
    readyReplicas: Annotated[int, Field(minimum=0)]


# The custom resource. After a change of these types, `boathook build --write-crd` writes crd.yaml.
boathook.define(
    "example.com/v1alpha1",
    "WebApp",
    spec=Spec,
    status=Status,
    columns=[
        Column("Image", "string", ".spec.image"),
        Column("Size", "integer", ".spec.size"),
        Column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
    ],
)

# The kind of the custom resource, and the kinds that `reconcile` may return.
boathook.configure(
    {
        "reconcile": [
            {
                "name": "apps",
                "apiVersion": "example.com/v1alpha1",
                "kind": "WebApp",
                "owns": [{"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "v1", "kind": "Service"}],
            }
        ]
    }
)


# Runs when a WebApp or one of its children changes. It returns all children, each with the fields that it decides.
@boathook.on_reconcile("apps")
def reconcile(app: Parent) -> Desired:
    image, size = app.spec["image"], app.spec.get("size", 1)
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
