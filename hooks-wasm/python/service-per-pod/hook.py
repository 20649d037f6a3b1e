"""Each Pod of a StatefulSet gets a Service of its own, if the StatefulSet asks for that with an annotation."""

import boathook
from boathook import Desired, Object, Parent, Permanent

#: The port of the Services, and of the Pods.
PORT = "service-per-pod.boathook.dev/port"
#: The number of Services, as a label of the StatefulSet.
SERVICES = "service-per-pod.boathook.dev/services"

boathook.configure(
    {
        "reconcile": [
            {
                "name": "sets",
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "decorates": True,
                "annotationSelector": {"matchExpressions": [{"key": PORT, "operator": "Exists"}]},
                "owns": [{"apiVersion": "v1", "kind": "Service"}],
                "prune": {"maxShare": "100%", "maxObjects": 100},
            }
        ]
    }
)


@boathook.on_reconcile("sets")
def reconcile(set: Parent) -> Desired:
    port = port_of(set)
    replicas = set.spec.get("replicas", 1)
    first = set.spec.get("ordinals", {}).get("start", 0)
    services = [service(f"{set.name}-{ordinal}", port) for ordinal in range(first, first + replicas)]
    metadata = {"name": set.name, "labels": {SERVICES: str(replicas)}}
    counted = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata}
    return Desired([*services, counted], none_wanted=replicas == 0)


def port_of(set: Parent) -> int:
    text = set.object["metadata"].get("annotations", {}).get(PORT, "")
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise Permanent(f'the annotation {PORT} of {set.name} is "{text}": write a port')
    return int(text)


def service(pod: str, port: int) -> Object:
    spec = {"selector": {"statefulset.kubernetes.io/pod-name": pod}, "ports": [{"port": port, "targetPort": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": pod}, "spec": spec}
