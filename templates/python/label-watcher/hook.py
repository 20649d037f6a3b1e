# Every namespace with the label `team` has a ConfigMap `team`, from which the programs in it learn
# whose they are.
#
# It never touches an object with another name. A label that goes while the operator is down is not
# noticed: nothing remembers it.

import boathook
from boathook import Event, KubeError, Object, ObjectRef, Snapshot, kube, log, snapshots

# The label, and the name of the ConfigMap.
TEAM = "team"

# What wakes the hook, and what it may do.
boathook.configure(
    {
        "kubernetes": [
            {
                "name": "namespaces",
                "apiVersion": "v1",
                "kind": "Namespace",
                "labelSelector": {"matchExpressions": [{"key": TEAM, "operator": "Exists"}]},
                # Run when this changes, and at no other change of a namespace.
                "jqFilter": ".metadata.labels.team",
                "content": "none",
            }
        ],
        "permissions": {
            "kubernetes": [
                {
                    "apiGroups": [""],
                    "resources": ["configmaps"],
                    "verbs": ["create", "patch", "delete"],
                    "resourceNames": [TEAM],
                }
            ]
        },
    }
)


@boathook.on_synchronization("namespaces")
def begun(namespaces: Snapshot) -> None:
    for namespace in namespaces:
        mend(namespace.name, namespace.filter_result)


@boathook.on_event("namespaces")
def changed(event: Event) -> None:
    # None when it is gone, or its label is.
    namespace = snapshots.open("namespaces").get(None, event.target.name)
    mend(event.target.name, None if namespace is None else namespace.filter_result)


def mend(name: str, team: str | None) -> None:
    """Makes the namespace's ConfigMap as it should be."""
    try:
        if team is None:
            kube.delete(ObjectRef("v1", "ConfigMap", TEAM, name))
        else:
            kube.apply(config_map(name, team))
    except KubeError as error:
        # It goes away, and everything in it.
        if error.reason == "not-found" or error.namespace_terminating:
            return
        # The run fails, and is repeated after a while.
        raise
    log.info(f"namespace {name}: done")


def config_map(namespace: str, team: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": TEAM},
        "data": {"team": team},
    }
