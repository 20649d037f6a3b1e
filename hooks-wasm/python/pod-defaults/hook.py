"""Gives Pods what they do not say themselves: labels of their namespace, requests, a security context.

It never overrides what a Pod says, and never denies one.
"""

import boathook
from boathook import Mutation, Review, mutate, snapshots

from defaults import fill

#: Labels of a namespace that its Pods inherit.
LABELS = ("team", "cost-center")
#: On a Pod or its namespace, with `true`: it stays as it is.
SKIP_LABEL = "pod-defaults.boathook.dev/skip"

boathook.configure(
    {
        "kubernetes": [
            {
                "name": "namespaces",
                "apiVersion": "v1",
                "kind": "Namespace",
                "executeHookOnEvent": [],
                "executeHookOnSynchronization": False,
                "jqFilter": "{labels: .metadata.labels}",
                "content": "none",
            }
        ],
        "kubernetesMutating": [
            {
                "name": "pod-defaults.boathook.dev",
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
                "includeSnapshotsFrom": ["namespaces"],
                # Containers that another webhook adds later get their defaults, too.
                "reinvocationPolicy": "IfNeeded",
                "timeoutSeconds": 5,
            }
        ],
    }
)


@boathook.on_mutating("pod-defaults.boathook.dev")
def complete(review: Review) -> Mutation | None:
    pod = review.object
    found = snapshots.open("namespaces").get(None, review.namespace or "")
    labels: dict[str, str] = (found.filter_result["labels"] if found else None) or {}
    own = (pod.get("metadata") or {}).get("labels") or {}
    if own.get(SKIP_LABEL) == "true" or labels.get(SKIP_LABEL) == "true":
        return None
    fill(pod, {key: value for key, value in labels.items() if key in LABELS})
    return mutate(pod)
