"""Lets only Pods in whose images come from where the namespace's policy allows.

It never changes a Pod, and never asks the API server for anything: policies come from a snapshot.
"""

from typing import TypedDict

import boathook
from boathook import Object, Review, Verdict, allow, deny, snapshots

from image import is_allowed

#: The name of every policy, a ConfigMap.
NAME = "image-policy"
#: The namespace whose policy is for all namespaces that have none.
FALLBACK = "default"
#: On a policy, with `warn`: nothing is denied.
MODE_LABEL = "image-policy.boathook.dev/mode"


class Policy(TypedDict):
    registries: str | None
    mode: str | None


boathook.configure(
    {
        "kubernetes": [
            {
                "name": "policies",
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "nameSelector": {"matchNames": [NAME]},
                "executeHookOnEvent": [],
                "executeHookOnSynchronization": False,
                "jqFilter": f'{{registries: .data.registries, mode: .metadata.labels["{MODE_LABEL}"]}}',
                "content": "none",
            }
        ],
        "kubernetesValidating": [
            {
                "name": "image-policy.boathook.dev",
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": ["pods", "pods/ephemeralcontainers"],
                    }
                ],
                "includeSnapshotsFrom": ["policies"],
                "timeoutSeconds": 5,
            }
        ],
    }
)


@boathook.on_validating("image-policy.boathook.dev")
def validate(review: Review) -> Verdict:
    namespace = review.namespace or ""
    found = policy(namespace)
    if found is None:
        return allow()
    place, rules = found
    # A Pod that is there may be labelled and finish, whatever the policy has become.
    known = images(review.old_object or {})
    refused = (
        image for image in images(review.object) if image not in known and not is_allowed(image, rules["registries"] or "")
    )
    texts = [
        f"image {image} is not from a place that the ConfigMap {place}/{NAME} allows in namespace {namespace}"
        for image in refused
    ]
    if not texts:
        return allow()
    return allow(*texts) if rules["mode"] == "warn" else deny("; ".join(texts))


def images(pod: Object) -> list[str]:
    """Each image of a Pod once, in order."""
    spec = pod.get("spec") or {}
    containers = [
        container
        for field in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(field) or []
    ]
    return sorted({container["image"] for container in containers if container.get("image")})


def policy(namespace: str) -> tuple[str, Policy] | None:
    """The namespace's own policy, or the one for all, with where it is from."""
    policies = snapshots.open("policies")
    for place in (namespace, FALLBACK):
        item = policies.get(place, NAME)
        if item is not None:
            return place, item.filter_result
    return None
