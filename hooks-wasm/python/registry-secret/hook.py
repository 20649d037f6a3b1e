"""Copies the Secret `default/registry-credentials` into every namespace, and keeps the copies as the source is.

It never touches a Secret that is not labelled as its copy, and puts nothing on a copy but that label.
"""

from collections.abc import Iterable

import boathook
from boathook import Context, Item, Snapshot, kube

from plan import decide
from secret import COPY_LABEL, NAME, SKIP_LABEL, SOURCE, reference
from writer import Writer

boathook.configure(
    {
        "kubernetes": [
            {
                "name": "namespaces",
                "apiVersion": "v1",
                "kind": "Namespace",
                "executeHookOnEvent": ["Added", "Modified"],
                "jqFilter": f'{{skip: .metadata.labels["{SKIP_LABEL}"], phase: .status.phase}}',
                "content": "none",
                "includeSnapshotsFrom": ["source", "copies"],
            },
            # Only `namespaces` runs at the start: that run looks at everything.
            {
                "name": "source",
                "apiVersion": "v1",
                "kind": "Secret",
                "namespace": {"nameSelector": {"matchNames": [SOURCE]}},
                "nameSelector": {"matchNames": [NAME]},
                "executeHookOnSynchronization": False,
                "jqFilter": "{type: .type, data: .data}",
                "content": "none",
                "includeSnapshotsFrom": ["namespaces", "copies"],
            },
            {
                "name": "copies",
                "apiVersion": "v1",
                "kind": "Secret",
                "nameSelector": {"matchNames": [NAME]},
                "labelSelector": {"matchLabels": {COPY_LABEL: "true"}},
                "executeHookOnSynchronization": False,
                "jqFilter": "{type: .type, data: .data, immutable: .immutable}",
                "content": "none",
                "includeSnapshotsFrom": ["namespaces", "source"],
            },
            # What stands in the way of a copy: when it goes, the copy can come.
            {
                "name": "others",
                "apiVersion": "v1",
                "kind": "Secret",
                "nameSelector": {"matchNames": [NAME]},
                "labelSelector": {"matchExpressions": [{"key": COPY_LABEL, "operator": "NotIn", "values": ["true"]}]},
                "executeHookOnSynchronization": False,
                "executeHookOnEvent": ["Deleted"],
                "jqFilter": ".metadata.name",
                "content": "none",
                "includeSnapshotsFrom": ["namespaces", "source", "copies"],
            },
        ],
        "permissions": {
            "kubernetes": [
                {
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "verbs": ["get", "create", "patch", "delete"],
                    "resourceNames": [NAME],
                }
            ]
        },
        # Room for a 10 kB Secret in 5 000 namespaces.
        "limits": {"time": "60s", "hostCalls": 20_000, "hostBytes": "256Mi"},
    }
)


@boathook.on_run
def run(ctx: Context) -> None:
    namespaces = ctx.snapshot("namespaces")
    copies = ctx.snapshot("copies")
    found = ctx.snapshot("source").get(SOURCE, NAME)
    writer = Writer(None if found is None else found.filter_result)
    if found is None:
        if is_gone(copies):
            for copy in copies:
                writer.remove(copy)
    else:
        for namespace in touched(ctx, namespaces):
            if namespace.name == SOURCE:
                continue
            known = copies.get(namespace.name, NAME)
            action = decide(found.filter_result, namespace.filter_result, None if known is None else known.filter_result)
            writer.add(namespace.name, action, known)
    writer.finish()


def is_gone(copies: Snapshot) -> bool:
    """Whether the source is really gone: before all copies go with it, the API server is asked."""
    return len(copies) == 0 or kube.find(reference(SOURCE)) is None


def touched(ctx: Context, namespaces: Snapshot) -> Iterable[Item]:
    """The namespaces to look at: all of them at the start and when the source changed, then those that changed."""
    if ctx.synchronized("namespaces") or ctx.has("source"):
        return namespaces
    names = {event.target.name for event in ctx.events("namespaces")}
    for binding in ("copies", "others"):
        names |= {event.target.namespace for event in ctx.events(binding) if event.target.namespace}
    found = (namespaces.get(None, name) for name in sorted(names))
    return [namespace for namespace in found if namespace is not None]
