"""Taints nodes by their labels: `taint.boathook.dev/NAME: EFFECT` gives a taint with that key and effect, which
leaves when the label does.

It never touches a taint with another key.
"""

import json

import boathook
from boathook import Context, KubeError, ObjectRef, Retry, Snapshot, kube, log, with_context
from boathook.kube import Patch

from taints import Seen, invalid, seen, wanted

#: Writes of one node before a conflict becomes a failure of the run.
TRIES = 5

boathook.configure(
    {
        "kubernetes": [
            {
                "name": "nodes",
                "apiVersion": "v1",
                "kind": "Node",
                "executeHookOnEvent": ["Added", "Modified"],
                "jqFilter": "{labels: .metadata.labels, taints: .spec.taints}",
                "content": "none",
            }
        ],
        "permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]}]},
    }
)


@boathook.on_run
def run(ctx: Context) -> None:
    nodes = ctx.snapshot("nodes")
    failure: Exception | None = None
    for name in names(ctx, nodes):
        node = nodes.get(None, name)
        # The node is gone by now: nothing to do.
        if node is None:
            continue
        for key, value in invalid(node.filter_result):
            log.warn(f"node {name}: label {key}={value} names no taint effect, ignored")
        try:
            mend(name, node.filter_result, node.resource_version)
        except (KubeError, Retry) as error:
            failure = with_context(f"node {name}", error)
    if failure is not None:
        raise failure


def names(ctx: Context, nodes: Snapshot) -> list[str]:
    """The nodes to look at: all of them at the start, then those that changed."""
    changed = {event.target.name for event in ctx.events("nodes")}
    return sorted(changed | {node.name for node in nodes} if ctx.synchronized("nodes") else changed)


def mend(name: str, node: Seen, version: str) -> None:
    """Writes the taints that a node should have.

    The list is shared with others, so it is only written over the version it was made from; after a conflict it is made
    anew.
    """
    target = ObjectRef("v1", "Node", name)
    for _ in range(TRIES):
        taints = wanted(node)
        if taints is None:
            return
        patch = {"metadata": {"resourceVersion": version}, "spec": {"taints": taints or None}}
        try:
            kube.write(Patch(target, "merge", patch, ignore_missing=True))
            log.info(f"node {name}: taints are now {json.dumps(taints or None)}")
            return
        except KubeError as error:
            if error.reason != "conflict":
                raise
        fresh = kube.find(target)
        if fresh is None:
            return
        version, node = fresh["metadata"]["resourceVersion"], seen(fresh)
    raise Retry(f"others changed it {TRIES} times meanwhile")
