"""The NetworkPolicy that the hook lays down. It makes no calls."""

from boathook import Object, ObjectRef

#: Its name in every namespace.
NAME = "allow-internet"
#: Marks it as laid down by this hook.
MANAGED_LABEL = "internet-access.boathook.dev/managed"

#: All of the internet, and no private network.
SPEC: Object = {
    "podSelector": {},
    "policyTypes": ["Egress"],
    "egress": [
        {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]}}]}
    ],
}


def reference(namespace: str) -> ObjectRef:
    """The policy in a namespace."""
    return ObjectRef("networking.k8s.io/v1", "NetworkPolicy", NAME, namespace)


def policy(namespace: str, resource_version: str | None = None) -> Object:
    """The whole object; to replace only the version that was seen, with its resource version."""
    metadata: Object = {"name": NAME, "namespace": namespace, "labels": {MANAGED_LABEL: "true"}}
    if resource_version is not None:
        metadata["resourceVersion"] = resource_version
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": SPEC}
