"""A HelloApp becomes a Deployment and a Service, as users of kopf write it."""

from datetime import UTC, datetime

import kopf
import kubernetes

MANAGER = "hello-app"
LABELS = {"app.kubernetes.io/managed-by": MANAGER}
# Concurrency of the other contenders. The limit on workers is another one: a worker stays with its object for seconds.
CONCURRENCY = 8


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.execution.max_workers = CONCURRENCY


@kopf.index("example.com", "v1alpha1", "helloapps")
def parents(namespace, name, body, **_):
    return {(namespace, name): dict(body)}


@kopf.index("apps", "v1", "deployments", labels=LABELS)
def ready(namespace, name, status, **_):
    return {(namespace, name): status.get("readyReplicas", 0)}


@kopf.on.resume("example.com", "v1alpha1", "helloapps")
@kopf.on.create("example.com", "v1alpha1", "helloapps")
@kopf.on.update("example.com", "v1alpha1", "helloapps")
def reconcile(body, namespace, name, patch, ready, **_):
    for kind, child in children(body).items():
        apply(kind, child)
    observed = next(iter(ready.get((namespace, name), [])), 0)
    patch.status.update(status_of(body, observed))


@kopf.on.event("apps", "v1", "deployments", labels=LABELS)
@kopf.on.event("", "v1", "services", labels=LABELS)
def repair(type, body, namespace, name, parents, **_):
    parent = next(iter(parents.get((namespace, name), [])), None)
    if parent is None or "deletionTimestamp" in parent["metadata"]:
        return
    kind = body["kind"]
    wanted = children(parent)[kind]
    if type == "DELETED" or not holds(body, wanted):
        apply(kind, wanted)
    if kind == "Deployment" and type != "DELETED":
        status = status_of(parent, body.get("status", {}).get("readyReplicas", 0))
        if status["readyReplicas"] != parent.get("status", {}).get("readyReplicas", 0):
            kubernetes.client.CustomObjectsApi().patch_namespaced_custom_object_status(
                "example.com", "v1alpha1", namespace, "helloapps", name, {"status": status}
            )


def children(app):
    name, spec = app["metadata"]["name"], app["spec"]
    labels = {"app.kubernetes.io/name": name}
    metadata = {"name": name, "labels": labels | LABELS}
    web = {"name": "web", "image": spec["image"], "ports": [{"containerPort": 8080}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [web]}}
    pods = {"replicas": spec.get("size", 0), "selector": {"matchLabels": labels}, "template": template}
    port = {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}
    made = {
        "Deployment": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": pods},
        "Service": {"apiVersion": "v1", "kind": "Service", "metadata": dict(metadata), "spec": port},
    }
    kopf.adopt(list(made.values()), owner=app)
    return made


def apply(kind, child):
    metadata = child["metadata"]
    if kind == "Deployment":
        patch = kubernetes.client.AppsV1Api().patch_namespaced_deployment
    else:
        patch = kubernetes.client.CoreV1Api().patch_namespaced_service
    content = "application/apply-patch+yaml"
    patch(metadata["name"], metadata["namespace"], child, field_manager=MANAGER, force=True, _content_type=content)


def holds(actual, wanted):
    """Whether the object has all the wanted fields. Lists that the API server adds nothing to have the same length."""
    if isinstance(wanted, dict):
        return isinstance(actual, dict | kopf.Body) and all(holds(actual.get(key), wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(actual or []) == len(wanted) and all(map(holds, actual, wanted))
    return actual == wanted


def status_of(app, ready):
    size = app["spec"].get("size", 0)
    generation = app["metadata"]["generation"]
    state = "True" if ready == size else "False"
    old = next((one for one in app.get("status", {}).get("conditions", []) if one["type"] == "Ready"), {})
    now = datetime.now(UTC).isoformat(timespec="seconds")
    condition = {
        "type": "Ready",
        "status": state,
        "observedGeneration": generation,
        "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == state else now,
        "reason": "Replicas",
        "message": f"{ready} of {size} replicas are ready",
    }
    return {"readyReplicas": ready, "observedGeneration": generation, "conditions": [condition]}
