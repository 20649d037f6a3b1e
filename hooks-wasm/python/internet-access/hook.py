"""Lays down the NetworkPolicy `allow-internet` in a namespace exactly while the namespace carries the label
`internet-access.boathook.dev/allow: "true"`.

It never touches a NetworkPolicy that is not labelled as its own.
"""

import boathook
from boathook import Context, KubeError, Snapshot, kube, log
from boathook.kube import Create, Delete, Operation, Update

from policy import MANAGED_LABEL, NAME, SPEC, policy, reference

#: On a namespace, with `true`: its Pods may reach the internet.
ALLOW_LABEL = "internet-access.boathook.dev/allow"
#: Writes in one call to the host.
BATCH = 250

boathook.configure(
    {
        "kubernetes": [
            {
                "name": "namespaces",
                "apiVersion": "v1",
                "kind": "Namespace",
                "labelSelector": {"matchLabels": {ALLOW_LABEL: "true"}},
                "jqFilter": ".status.phase",
                "content": "none",
                "includeSnapshotsFrom": ["policies"],
            },
            # Only `namespaces` runs at the start: that run looks at everything.
            {
                "name": "policies",
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "nameSelector": {"matchNames": [NAME]},
                "labelSelector": {"matchLabels": {MANAGED_LABEL: "true"}},
                "executeHookOnSynchronization": False,
                "jqFilter": ".spec",
                "content": "none",
                "includeSnapshotsFrom": ["namespaces"],
            },
        ],
        "permissions": {
            "kubernetes": [
                {
                    "apiGroups": ["networking.k8s.io"],
                    "resources": ["networkpolicies"],
                    "verbs": ["get", "create", "update", "delete"],
                    "resourceNames": [NAME],
                }
            ]
        },
    }
)


@boathook.on_run
def run(ctx: Context) -> None:
    namespaces = ctx.snapshot("namespaces")
    policies = ctx.snapshot("policies")
    names = everything(namespaces, policies) if ctx.synchronized("namespaces") else touched(ctx)
    needed = ((name, mend(name, namespaces, policies)) for name in sorted(names))
    write([(name, operation) for name, operation in needed if operation is not None])


def everything(namespaces: Snapshot, policies: Snapshot) -> set[str]:
    """Every namespace that has a policy or should have one."""
    names = {namespace.name for namespace in namespaces}
    return names | {policy.namespace for policy in policies if policy.namespace}


def touched(ctx: Context) -> set[str]:
    """The namespaces that the events are about."""
    names = {event.target.name for event in ctx.events("namespaces")}
    return names | {event.target.namespace for event in ctx.events("policies") if event.target.namespace}


def mend(name: str, namespaces: Snapshot, policies: Snapshot) -> Operation | None:
    """The write that a namespace needs."""
    found = policies.get(name, NAME)
    namespace = namespaces.get(None, name)
    if namespace is None:
        return None if found is None else Delete(reference(name), ignore_missing=True, uid=found.uid)
    # Nothing can be created there, and what is there goes by itself.
    if namespace.filter_result == "Terminating":
        return None
    # `create`, not `apply`: it cannot take over a policy that somebody else put there.
    if found is None:
        return Create(policy(name))
    return None if found.filter_result == SPEC else Update(policy(name, found.resource_version))


def write(writes: list[tuple[str, Operation]]) -> None:
    failures: list[KubeError] = []
    for start in range(0, len(writes), BATCH):
        batch = writes[start : start + BATCH]
        results = kube.batch([operation for _, operation in batch])
        for (name, _), result in zip(batch, results, strict=True):
            if result.error is not None and (failure := judge(name, result.error)):
                failures.append(failure)
    if failures:
        raise failures[0]


def judge(namespace: str, error: KubeError) -> KubeError | None:
    """What of a failed write is a failure of the run."""
    # The namespace goes or is gone: nothing is missing there.
    if error.reason == "not-found" or error.namespace_terminating:
        return None
    if error.reason != "already-exists":
        return error
    # If it is ours, the snapshot was a moment behind, and its event will bring us here again.
    try:
        found = kube.find(reference(namespace))
    except KubeError as failure:
        return failure
    if found is not None and (found["metadata"].get("labels") or {}).get(MANAGED_LABEL) != "true":
        log.warn(f"NetworkPolicy {namespace}/{NAME} is not managed by this hook: left alone")
    return None
